//! Steps by layouts lose time: kernels vary between GPUs, hosts are slow, and collectives run beside kernels.

use std::collections::BTreeMap;

use linkwright::program::{Operation, Program, RankProgram};
use linkwright::training::{
    BesideTimes, ClassTimes, Execution, FreeExchanges, LayoutStep, ModelLayout, TakenShare,
    Variation,
};
use linkwright::units::{Bandwidth, Picoseconds};

use super::layout_step::{model, on, play, step, times, training};

/// Gives the program of all ranks, with the kernels of each as many times as long as its factor says.
fn slowed(program: &Program, factors: &[f64]) -> Program {
    let rank = |(program, times): (&RankProgram, &f64)| {
        program.mapped(|operation| match operation {
            Operation::Compute { duration } => {
                Operation::Compute { duration: Picoseconds((duration.0 as f64 * times) as u64) }
            }
            other => other,
        })
    };
    let ranks = program.ranks.iter().zip(factors).map(rank).collect();
    Program { ranks, ..program.clone() }
}

/// The program of all ranks, whose exchanges last as long as they do by classes; all ranks of an exchange wait for one another.
fn timed(step: &LayoutStep, times: &ClassTimes) -> Program {
    let (whole, classes) = (step.by_rank(), step.by_class_in_full(times));
    let mut communicators = whole.communicators.clone();
    let mut pairs: BTreeMap<(u32, u32, u32), u32> = BTreeMap::new();
    let mut pair = |from, to, tag| {
        *pairs.entry((from, to, tag)).or_insert_with(|| {
            communicators.push(vec![from, to]);
            communicators.len() as u32 - 1
        })
    };
    let mut stages = BTreeMap::new();
    for stage in 0..step.layout().pp {
        stages.extend(step.peers(stage, stage).into_iter().map(|(rank, _)| (rank as u32, stage)));
    }
    let mut ranks = Vec::new();
    for (rank, program) in (0..).zip(&whole.ranks) {
        let mut known = classes.ranks[stages[&rank] as usize].operations().iter();
        ranks.push(program.mapped(|operation| {
            let Some(Operation::Timed { kind, size, duration, .. }) = known.next().copied() else {
                return operation;
            };
            let communicator = match operation {
                Operation::Collective { communicator, .. } => communicator,
                Operation::Send { to, tag, .. } => pair(rank, to, tag),
                Operation::Receive { from: Some(from), tag: Some(tag), .. } => {
                    pair(from, rank, tag)
                }
                other => return other,
            };
            Operation::Timed { kind, communicator, size, duration }
        }));
    }
    Program { ranks, communicators, ..whole }
}

/// Gives the mean and the ninetieth percentile.
fn summary(times: &mut [f64]) -> [f64; 2] {
    times.sort_by(f64::total_cmp);
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    [mean, times[times.len() * 9 / 10]]
}

/// Holds one rank of each stage to all ranks over 50 seeds: the slowest replica stands for all.
fn holds(layout: &str, micro_batches: u64, program: &dyn Fn(&LayoutStep, &ClassTimes) -> Program) {
    let layout_of = ModelLayout::read(layout).unwrap();
    let cluster = match layout_of.gpus() {
        8 => on("machine = \"hgx-h100\""),
        gpus => {
            on(&format!("kind = \"single-switch\"\nservers = {}\nmachine = \"hgx-h100\"", gpus / 8))
        }
    };
    let model = model(4, layout_of.ep > 1);
    let training = training(&model, layout, micro_batches);
    let step = step(&cluster, &training, Execution::default());
    let mut times = times(&cluster, &step);
    let whole = program(&step, &times);
    let variation = Variation::PUBLISHED;
    let varied = step.varied(variation, &mut times.clone());
    let (mut by_class, mut by_rank) = (Vec::new(), Vec::new());
    let gpus: Vec<u32> = (0..layout_of.gpus() as u32).collect();
    for seed in 0..50 {
        by_class.push(varied.time(seed, &mut times).as_seconds());
        let program = slowed(&whole, &step.factors(seed, variation));
        by_rank.push(play(&cluster, program, gpus.clone()));
    }
    let even = step.by_turns(&mut times).as_seconds();
    let ([mean, most], [mean_by_rank, most_by_rank]) =
        (summary(&mut by_class), summary(&mut by_rank));
    let off = [mean / mean_by_rank - 1.0, most / most_by_rank - 1.0];
    println!("{layout}: {:+.2} % in the mean, {:+.2} % at most", off[0] * 100.0, off[1] * 100.0);
    assert!(off[0].abs() < 0.01 && off[1].abs() < 0.03, "{layout}: {off:?}");
    assert!(mean > even, "{layout}: {mean} with variation, {even} without");
}

/// Each layout has its micro-batches.
const LAYOUTS: [(&str, u64); 7] = [
    ("dp=8", 1),
    ("fsdp=8", 1),
    ("tp=8", 1),
    ("dp=4,pp=2", 4),
    ("tp=2,pp=4", 4),
    ("dp=2,tp=2,pp=2,vp=2", 4),
    ("dp=8,ep=4", 1),
];

/// Each case plays all ranks 50 times, in half a second of CPU.
#[test]
fn the_slowest_replica_takes_what_all_ranks_take_that_wait_for_one_another() {
    for (layout, micro_batches) in [("dp=4,tp=2,pp=4", 4), ("fsdp=4,tp=4,cp=2", 1)] {
        holds(layout, micro_batches, &timed);
    }
    for (layout, micro_batches) in LAYOUTS {
        holds(layout, micro_batches, &timed);
    }
}

#[test]
#[ignore = "minutes: every exchange of all ranks is played 50 times"]
fn the_slowest_replica_takes_what_all_ranks_take() {
    for (layout, micro_batches) in LAYOUTS {
        holds(layout, micro_batches, &|step, _| step.by_rank());
    }
}

/// The step waits for the slowest of all, so that it takes longer on more GPUs. The greatest of normal numbers is 1.4236 deviations
/// above the mean of 8, and 2.3547 of 64 (Harter, Biometrika 48, 1961, table 1).
#[test]
fn a_step_waits_for_the_slowest_of_all() {
    let dense = model(4, false);
    let cluster = on("machine = \"hgx-h100\"");
    for (layout, deviations) in [("dp=1", 0.0), ("dp=8", 1.4236), ("dp=64", 2.3547)] {
        let step = step(&cluster, &training(&dense, layout, 1), Execution::default());
        let variation = Variation { gpu: 0.02, step: 0.0 };
        let mut free = FreeExchanges;
        let varied = step.varied(variation, &mut free);
        let all = (0..400).map(|seed| varied.time(seed, &mut free).as_seconds());
        let mean = all.sum::<f64>() / 400.0;
        let framework = step.framework().as_seconds();
        let even = step.by_turns(&mut free).as_seconds() - framework;
        let lost = (mean - framework) / even - 1.0;
        assert!((lost - 0.02 * deviations).abs() < 0.001, "{layout}: {lost}");
    }
}

/// A host that is ahead costs nothing. On a GPU whose kernels take no time it decides. Fused kernels have 13 operators of 10 us in a
/// block forward, and 22 of 5 us backward. An embedding has one each; norm, head and loss have five and seven.
#[test]
fn the_host_falls_behind_where_kernels_are_short() {
    let cluster = on("machine = \"hgx-h100\"");
    let small = model(4, false);
    let step = step(&cluster, &training(&small, "dp=1", 1), Execution::default());
    let mut free = FreeExchanges;
    assert_eq!(step.launched().by_turns(&mut free), step.by_turns(&mut free));
    let fast = step.slowed(&[0.0]);
    assert_eq!(fast.by_turns(&mut free), step.framework());
    let launched = fast.launched().by_turns(&mut free).0 - step.framework().0;
    assert_eq!(launched, (4 * (13 * 10 + 22 * 5) + (10 + 5) + (5 * 10 + 7 * 5)) * 1_000_000);
}

/// Kernels go on with what collectives leave. So a step is longer, by no more than what these take while they run.
#[test]
fn collectives_slow_the_kernels_beside_them() {
    let cluster = on("machine = \"hgx-h100\"");
    let dense = model(8, false);
    let step = step(&cluster, &training(&dense, "fsdp=8", 1), Execution::default());
    let times = times(&cluster, &step);
    let taken = |units, memory| {
        let share = TakenShare { units, memory };
        let of_stage = |calls: &BTreeMap<_, _>| calls.keys().map(|call| (*call, share)).collect();
        let taken = times.calls.iter().map(of_stage).collect();
        let mut beside = BesideTimes { times: times.clone(), taken };
        step.by_turns(&mut beside).as_seconds()
    };
    let even = taken(0.0, 0.0);
    let some = [0.1, 0.2, 0.3].map(|share| taken(share, share));
    assert!(even < some[0] && some.is_sorted(), "{even}, {some:?}");
    let calls = step.calls()[0].clone();
    let busy: f64 =
        calls.iter().map(|(call, count)| times.calls[0][call].as_seconds() * *count as f64).sum();
    assert!(some[2] < even + 0.3 / 0.7 * busy, "{even}, {some:?} with {busy}");
    let share = step.taken(24, Bandwidth(350_000_000_000));
    assert!((share.units - 24.0 / 132.0).abs() < 1e-9 && share.memory < 0.25, "{share:?}");
}
