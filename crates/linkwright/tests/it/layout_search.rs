//! The search for layouts, held to plays of all of them; and bounds of steps, held to plays.

use linkwright::collectives::baselines::{ExpectError, GroupTimes, Settings};
use linkwright::simulation::cluster::Cluster;
use linkwright::training::{
    ClassTimes, Execution, LayoutCandidate, LayoutSearch, LayoutStep, LinkPeaks, ModelLayout,
    ModelTraining, Order, Recompute, SearchedMachine,
};
use linkwright::units::Bytes;
use proptest::prelude::*;

use super::layout_step::{model, on, play, roofline, training};

fn pod(servers: u32) -> Cluster {
    on(&format!("kind = \"single-switch\"\nservers = {servers}\nmachine = \"hgx-h100\""))
}

fn machine(cluster: &Cluster, training: &ModelTraining<'_>) -> SearchedMachine {
    let (costs, roofline) = roofline(cluster, training);
    let gpus: Vec<u32> = (0..cluster.system.gpus()).collect();
    SearchedMachine {
        rooflines: vec![roofline],
        costs,
        peaks: LinkPeaks::of(&cluster.system, &gpus),
        order: Order::default(),
        execution: Execution::default(),
    }
}

fn search<'a>(
    cluster: &Cluster,
    training: ModelTraining<'a>,
    machine: &'a SearchedMachine,
    capacity: u64,
) -> LayoutSearch<'a> {
    LayoutSearch {
        training,
        gpus: u64::from(cluster.system.gpus()),
        micro_batch: None,
        zero: None,
        recompute: None,
        capacity: Some(Bytes(capacity << 20)),
        context: Bytes(0),
        machine,
    }
}

fn times(known: &mut GroupTimes<'_>, step: &LayoutStep) -> Result<ClassTimes, ExpectError> {
    step.class_times(|groups, kind, sizes| {
        let of_group = |ranks: &Vec<u64>| ranks.iter().map(|rank| *rank as usize).collect();
        let groups: Vec<Vec<usize>> = groups.iter().map(of_group).collect();
        known.times(&groups, kind, sizes)
    })
}

fn played(cluster: &Cluster, step: &LayoutStep, times: &ClassTimes) -> f64 {
    let gpus = (0..step.layout().pp).map(|stage| step.peers(0, stage)[0].1 as u32).collect();
    play(cluster, step.by_class(times), gpus)
}

/// All that fits on 16 GPUs is timed, with every recomputation; the search finds as good a layout. It takes some seconds, as
/// exchanges of every layout and size are timed.
#[test]
fn the_best_of_all_layouts_is_found() {
    let cluster = pod(2);
    for (experts, capacity) in [(false, 12_000), (true, 20_000)] {
        let model = model(4, experts).with_tokens(2048);
        let plain = ModelTraining { batch: 8, ..training(&model, "dp=1", 1) };
        let machine = machine(&cluster, &plain);
        // Experts are divided in more ways, so that they have one size of micro-batches.
        let micro_batch = experts.then_some(1);
        let search = LayoutSearch { micro_batch, ..search(&cluster, plain, &machine, capacity) };
        let mut known = GroupTimes::new(&cluster.system, Settings::default());
        let found = search.candidates();
        let bound =
            |step: &LayoutStep| times(&mut known, step).map(|mut times| step.by_turns(&mut times));
        let closest = search.closest(&found, 10, bound).unwrap();
        let time = |candidate: &LayoutCandidate, known: &mut GroupTimes<'_>| {
            let step = machine.step(&search.training(candidate)).unwrap().unwrap();
            let mut times = times(known, &step).unwrap();
            let turns = step.by_turns(&mut times).as_seconds();
            (turns, step, times)
        };
        let mut best = f64::INFINITY;
        for candidate in &closest.candidates {
            let (_, step, times) = time(candidate, &mut known);
            best = best.min(played(&cluster, &step, &times));
        }
        // Every recomputation of every sound layout, whether the search would look at it or not. Turns are near what is
        // played, so that few of those far behind are played.
        let mut of_all = f64::INFINITY;
        let mut count = 0;
        for again in ["none", "layernorm", "layernorm+mlp", "full:1", "full"] {
            let recompute = Recompute::read(again).unwrap();
            let given = LayoutSearch { recompute: Some(recompute), ..search.clone() };
            for candidate in given.candidates().candidates {
                let (turns, step, times) = time(&candidate, &mut known);
                assert!(
                    candidate.least.as_seconds() <= turns * (1.0 + 1e-9),
                    "{} {again}",
                    candidate.layout
                );
                if turns < best * 1.02 || count % 64 == 0 {
                    of_all = of_all.min(played(&cluster, &step, &times));
                }
                count += 1;
            }
        }
        assert!(count > 200, "{count}");
        assert!(best <= of_all * 1.01, "{best} found, {of_all} of all");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// A bound is never above the played time, and the turns are near it. They leave out samples that come from the host, and
    /// collectives of two kinds that wait for each other.
    #[test]
    fn bounds_are_never_above_what_is_played(
        layers in 3_u64..9, experts in any::<bool>(), servers in 1_u32..3, batch in 3_u32..6,
        at in any::<prop::sample::Index>(), zero in prop::option::of(0_u8..4), capacity in 6_000_u64..60_000,
    ) {
        let cluster = pod(servers);
        let model = model(layers, experts).with_tokens(2048);
        let plain = ModelTraining { batch: 1 << batch, ..training(&model, "dp=1", 1) };
        let machine = machine(&cluster, &plain);
        let search = LayoutSearch { zero, ..search(&cluster, plain, &machine, capacity) };
        let found = search.candidates();
        if found.candidates.is_empty() {
            return Ok(());
        }
        let candidate = at.get(&found.candidates);
        let step = machine.step(&search.training(candidate)).unwrap().unwrap();
        let mut known = GroupTimes::new(&cluster.system, Settings::default());
        let mut times = times(&mut known, &step).unwrap();
        let time = played(&cluster, &step, &times);
        let turns = step.by_turns(&mut times).as_seconds();
        let told = format!("{} mb {} zero {} {}", candidate.layout, candidate.micro_batch, candidate.zero, candidate.recompute.name());
        prop_assert!(candidate.least.as_seconds() <= turns * (1.0 + 1e-9), "{told}: {} {turns}", candidate.least.as_seconds());
        prop_assert!(turns <= time * (1.0 + 1e-9), "{told}: {turns} {time}");
        prop_assert!(turns >= time * 0.9, "{told}: {turns} {time}");
        prop_assert!(candidate.layout.gpus() == u64::from(cluster.system.gpus()) && candidate.layout != ModelLayout::default());
    }
}
