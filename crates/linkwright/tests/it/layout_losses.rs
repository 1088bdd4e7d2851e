//! What steps by layouts lose: kernels that vary between GPUs, a slow host, and collectives beside kernels.

use linkwright::program::{Operation, Program};
use linkwright::training::{
    BesideTimes, Execution, LanguageModel, LayoutStep, TakenShare, Variation,
};
use linkwright::units::{Bandwidth, Picoseconds};

use super::layout_step::{model, on, play, step, times, training};

/// The program of all ranks, with the kernels of each so many times as long.
fn slowed(program: &Program, factors: &[f64]) -> Program {
    let rank = |(program, times): (&linkwright::program::RankProgram, &f64)| {
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

/// The mean, and what nine of ten are below.
fn summary(times: &mut [f64]) -> [f64; 2] {
    times.sort_by(f64::total_cmp);
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    [mean, times[times.len() * 9 / 10]]
}

/// One rank of each stage stands for all, as slow as the slowest of the last replica. Over 50 seeds it takes what all ranks take
/// that wait for one another by themselves. Each case plays eight ranks 50 times, in up to two seconds of CPU.
#[test]
fn the_slowest_replica_takes_what_all_ranks_take() {
    let cluster = on("machine = \"hgx-h100\"");
    let (dense, experts) = (model(4, false), model(4, true));
    let cases: [(&LanguageModel, &str, u64); 7] = [
        (&dense, "dp=8", 1),
        (&dense, "fsdp=8", 1),
        (&dense, "tp=8", 1),
        (&dense, "dp=4,pp=2", 4),
        (&dense, "tp=2,pp=4", 4),
        (&dense, "dp=2,tp=2,pp=2,vp=2", 4),
        (&experts, "dp=8,ep=4", 1),
    ];
    for (model, layout, micro_batches) in cases {
        let training = training(model, layout, micro_batches);
        let step = step(&cluster, &training, Execution::default());
        let mut times = times(&cluster, &step);
        let whole = step.by_rank();
        let variation = Variation::PUBLISHED;
        let varied = step.varied(variation, &mut times.clone());
        let (mut by_class, mut by_rank) = (Vec::new(), Vec::new());
        for seed in 0..50 {
            by_class.push(varied.time(seed, &mut times).as_seconds());
            let program = slowed(&whole, &step.factors(seed, variation));
            by_rank.push(play(&cluster, program, (0..8).collect()));
        }
        let even = step.by_turns(&mut times).as_seconds();
        let even_by_rank = play(&cluster, whole, (0..8).collect());
        let ([mean, most], [mean_by_rank, most_by_rank]) =
            (summary(&mut by_class), summary(&mut by_rank));
        let found = format!(
            "{layout}: {mean} and {most} by classes, {mean_by_rank} and {most_by_rank} by ranks; \
             without variation {even} and {even_by_rank}"
        );
        assert!((mean / mean_by_rank - 1.0).abs() < 0.01, "{found}");
        assert!((most / most_by_rank - 1.0).abs() < 0.03, "{found}");
        assert!(mean > even && mean_by_rank > even_by_rank, "{found}");
    }
}

/// The step waits for the slowest of all: the more GPUs, the longer it takes, as the mean of the greatest of as many normal
/// numbers says (1.4236 deviations of 8, 2.3547 of 64: Harter, Biometrika 48, 1961, table 1).
#[test]
fn a_step_waits_for_the_slowest_of_all() {
    let dense = model(4, false);
    let cluster = on("machine = \"hgx-h100\"");
    for (layout, deviations) in [("dp=1", 0.0), ("dp=8", 1.4236), ("dp=64", 2.3547)] {
        let step = step(&cluster, &training(&dense, layout, 1), Execution::default());
        let variation = Variation { gpu: 0.02, step: 0.0 };
        let mut free = linkwright::training::FreeExchanges;
        let varied = step.varied(variation, &mut free);
        let all = (0..400).map(|seed| varied.time(seed, &mut free).as_seconds());
        let mean = all.sum::<f64>() / 400.0;
        let framework = step.framework().as_seconds();
        let even = step.by_turns(&mut free).as_seconds() - framework;
        let lost = (mean - framework) / even - 1.0;
        assert!((lost - 0.02 * deviations).abs() < 0.001, "{layout}: {lost}");
    }
}

fn one_gpu(tokens: u64) -> LayoutStep {
    let cluster = on("machine = \"hgx-h100\"");
    let small = model(4, false).with_tokens(tokens);
    step(&cluster, &training(&small, "dp=1", 1), Execution::default())
}

/// A host that launches later than the GPU computes decides how long a step takes; one that is ahead costs nothing.
#[test]
fn the_host_falls_behind_where_kernels_are_short() {
    let mut free = linkwright::training::FreeExchanges;
    let [long, short] = [8192, 16].map(one_gpu);
    let even = long.by_turns(&mut free);
    assert_eq!(long.launched().by_turns(&mut free), even);
    let behind = short.launched().by_turns(&mut free).as_seconds();
    assert!(behind > 1.2 * short.by_turns(&mut free).as_seconds(), "{behind}");
    // It is no longer than all kernels one after the other with all launches.
    assert!(behind < 0.02, "{behind}");
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
        let of_stage = |calls: &std::collections::BTreeMap<_, _>| {
            calls.keys().map(|call| (*call, share)).collect()
        };
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
