//! Decisions that take long: they end, can be interrupted, and say what they are worth.

use std::ops::ControlFlow;

use linkwright::allocation::{
    AllocationError, Allocator, BandwidthModel, Effort, GpuSet, Objective, POLICIES, Pattern,
    PatternShape, PreparedMachine, Request, ServerState, policy,
};
use linkwright::simulation::{Job, QueueDiscipline, SimulationError, simulate};
use linkwright::system::presets::preset;
use linkwright::system::{BandwidthProfile, DeviceKind, GpuGraph, LinkKind, Server, ServerBuilder};
use linkwright::training::Workload;

/// GPUs on one bridge; some pairs have one or two NVLinks, as on a torus of rows of eight.
fn torus(gpus: usize) -> Server {
    let mut builder = ServerBuilder::new("torus", "test");
    let bridge = builder.device("bridge", DeviceKind::HostBridge, None).unwrap();
    for gpu in 0..gpus {
        let id = builder.device(&format!("GPU{gpu}"), DeviceKind::Gpu, None).unwrap();
        builder.data_sheet_link(id, bridge, LinkKind::Pcie3, 1).unwrap();
        for before in [1, 8].into_iter().filter(|before| *before <= gpu) {
            let count = 1 + u32::from(gpu.is_multiple_of(2));
            builder.data_sheet_link(id, id - before, LinkKind::Nvlink2, count).unwrap();
        }
    }
    builder.build().unwrap()
}

fn prepared(machine: &Server, model: BandwidthModel) -> PreparedMachine {
    PreparedMachine::new(machine, BandwidthProfile::Mapa, model).unwrap()
}

fn graph(machine: &Server) -> GpuGraph {
    GpuGraph::new(machine, BandwidthProfile::Mapa).unwrap()
}

fn allocator(machine: &Server, policy_name: &str) -> Allocator {
    let state = ServerState::new(machine.name(), &graph(machine));
    let machine = prepared(machine, BandwidthModel::Sound);
    Allocator::new(machine, policy(policy_name).unwrap(), state).unwrap()
}

#[test]
fn decisions_on_128_gpus_end_with_a_match() {
    let machine = torus(128);
    let free = GpuSet::first(100).without(GpuSet(0b101));
    for model in [BandwidthModel::Sound, BandwidthModel::Published] {
        let machine = prepared(&machine, model);
        for (shape, size) in [(PatternShape::AllToAll, 90), (PatternShape::Ring, 2)] {
            let pattern = Pattern::new(shape, size).unwrap();
            for policy in POLICIES {
                let request = Request { pattern: &pattern, sensitive: true };
                let mut effort = Effort::new();
                let selection = policy.choose(&machine, &request, free, &mut effort).unwrap();
                let gpus = selection.chosen.gpus();
                assert_eq!((gpus.len(), gpus.is_subset_of(free)), (size, true));
            }
        }
    }
}

#[test]
fn a_spent_effort_still_gives_a_match_and_says_so() {
    let machine = prepared(&torus(40), BandwidthModel::Published);
    let pattern = Pattern::new(PatternShape::RingTree, 20).unwrap();
    for objective in [Objective::Aggregated, Objective::Effective, Objective::Preserved] {
        let mut effort = Effort::new();
        effort.spend(Effort::LIMIT - 3);
        let selection = machine.best(&pattern, GpuSet::first(40), objective, &mut effort).unwrap();
        assert!(effort.is_spent() && !selection.optimal);
        assert_eq!(selection.chosen.gpus().len(), 20);
    }
}

#[test]
fn all_to_all_needs_no_search() {
    let machine = prepared(&preset("cubemesh-16").unwrap(), BandwidthModel::Sound);
    for size in [4, 8, 12, 16] {
        let pattern = Pattern::new(PatternShape::AllToAll, size).unwrap();
        let mut effort = Effort::new();
        let free = GpuSet::first(16);
        let selection = machine.best(&pattern, free, Objective::Effective, &mut effort).unwrap();
        assert!(selection.optimal);
        assert!(Effort::LIMIT - effort.left() < 100_000, "{} left", effort.left());
    }
}

#[test]
fn grown_sets_are_no_proof() {
    let machine = prepared(&torus(40), BandwidthModel::Sound);
    let pattern = Pattern::new(PatternShape::AllToAll, 20).unwrap();
    let mut effort = Effort::new();
    let free = GpuSet::first(40);
    let selection = machine.best(&pattern, free, Objective::Aggregated, &mut effort).unwrap();
    assert!(!effort.is_spent() && !selection.optimal);
    let inside = machine.bandwidth_inside(selection.chosen.gpus());
    assert!(inside >= machine.bandwidth_inside(GpuSet::first(20)), "better than the lowest ids");
}

#[test]
fn a_long_decision_stops_when_told() {
    let machine = torus(24);
    let allocator = allocator(&machine, "greedy");
    let pattern = Pattern::new(PatternShape::RingTree, 23).unwrap();
    let request = Request { pattern: &pattern, sensitive: true };
    let mut asked = 0;
    let mut go_on = || {
        asked += 1;
        if asked == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let error = allocator.decide("long", &request, &mut Effort::interruptible(&mut go_on));
    assert_eq!(error, Err(AllocationError::Interrupted { job: "long".to_owned() }));
    assert_eq!(asked, 2, "nothing goes on after that");

    let mut long = Job::new("long", Workload::find("gmm").unwrap(), 23);
    long.pattern = PatternShape::RingTree;
    let mut asked = 0;
    let mut stop = |_| {
        asked += 1;
        if asked == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let (greedy, fifo) = (policy("greedy").unwrap(), QueueDiscipline::Fifo);
    let played = simulate(allocator.machine(), &[long], greedy, fifo, GpuSet::EMPTY, &mut stop);
    assert_eq!(played, Err(SimulationError::Interrupted { done: 0, total: 1 }));
    assert_eq!(asked, 2, "within the first decision");
}

#[test]
fn an_explanation_takes_one_more_effort_at_most() {
    let allocator = allocator(&preset("torus2d-16").unwrap(), "greedy");
    let pattern = Pattern::new(PatternShape::RingTree, 12).unwrap();
    let request = Request { pattern: &pattern, sensitive: true };
    let mut asked = 0;
    let mut count = || {
        asked += 1;
        ControlFlow::Continue(())
    };
    let mut effort = Effort::interruptible(&mut count);
    let why = allocator.explain("a", &request, 4, &mut effort).unwrap().unwrap();
    assert_eq!(why.certain, why.selection.optimal && !effort.is_spent());
    assert!(asked <= 2 * (Effort::LIMIT / Effort::INTERVAL + 1));
}

#[test]
fn the_verdict_does_not_depend_on_the_limit() {
    for policy in POLICIES {
        let allocator = allocator(&preset("dgx1-v100").unwrap(), policy.name());
        for (shape, size) in
            [(PatternShape::Ring, 3), (PatternShape::Chain, 4), (PatternShape::Ring, 8)]
        {
            let pattern = Pattern::new(shape, size).unwrap();
            let request = Request { pattern: &pattern, sensitive: true };
            let explain = |limit| {
                allocator.explain("a", &request, limit, &mut Effort::new()).unwrap().unwrap()
            };
            let many = explain(7);
            assert_eq!(many.verdict.starts_with("no other set"), size == 8, "{}", many.verdict);
            for limit in 0..3 {
                let few = explain(limit);
                assert_eq!(few.verdict, many.verdict);
                assert_eq!(few.ranking, many.ranking[..few.ranking.len()]);
                assert_eq!(few.ranking.len(), limit.max(1).min(many.ranking.len()));
            }
            let best = &many.selection.chosen;
            assert_eq!(&many.ranking[0], best);
        }
    }
}

#[test]
fn the_ranking_is_that_of_all_decisions_without_the_sets_before() {
    let machine = preset("dgx1-v100").unwrap();
    for model in [BandwidthModel::Sound, BandwidthModel::Published] {
        for shape in [PatternShape::Ring, PatternShape::Chain] {
            let state = ServerState::new(machine.name(), &graph(&machine));
            let prepared = prepared(&machine, model);
            let allocator = Allocator::new(prepared, policy("preserve").unwrap(), state).unwrap();
            let pattern = Pattern::new(shape, 4).unwrap();
            let request = Request { pattern: &pattern, sensitive: true };
            let mut effort = Effort::new();
            let why = allocator.explain("a", &request, 100, &mut effort).unwrap().unwrap();
            assert!(why.certain);
            assert_eq!(why.ranking.len(), 70, "all sets of 4 of 8");
            let key = |m: &linkwright::allocation::Match| {
                (m.effective_bandwidth.unwrap(), m.aggregated_bandwidth.0)
            };
            for pair in why.ranking.windows(2) {
                let (first, second) = (key(&pair[0]), key(&pair[1]));
                let ids = [&pair[0], &pair[1]].map(|m| m.gpus().lowest_ids_key());
                let free = allocator.state().free();
                let near =
                    [&pair[0], &pair[1]].map(|m| allocator.machine().nearness(m.gpus(), free));
                let by_ids = near[0] == near[1] && ids[0] < ids[1];
                let tie = near[0] < near[1] || by_ids;
                assert!(first > second || first == second && tie);
            }
        }
    }
}

#[test]
fn a_state_of_another_machine_is_refused() {
    let machine = prepared(&preset("dgx1-v100").unwrap(), BandwidthModel::Sound);
    for (name, of) in [("dgx1-p100", "dgx1-v100"), ("dgx1-v100", "summit-node")] {
        let state = ServerState::new(name, &graph(&preset(of).unwrap()));
        let error = Allocator::new(machine.clone(), POLICIES[0], state).err().unwrap();
        assert!(error.to_string().contains(name), "{error}");
    }
}

/// Builds GPUs with a given number of NVLinks each into one NVSwitch.
fn switched(gpus: usize) -> Server {
    let mut builder = ServerBuilder::new("switched", "test");
    let bridge = builder.device("bridge", DeviceKind::HostBridge, None).unwrap();
    let switch = builder.device("switch", DeviceKind::NvSwitch, None).unwrap();
    for gpu in 0..gpus {
        let id = builder.device(&format!("GPU{gpu}"), DeviceKind::Gpu, None).unwrap();
        builder.data_sheet_link(id, bridge, LinkKind::Pcie5, 1).unwrap();
        builder.data_sheet_link(id, switch, LinkKind::Nvlink5, 18).unwrap();
    }
    builder.build().unwrap()
}

#[test]
fn where_all_sets_are_alike_any_is_proven_to_be_the_best() {
    let machine = switched(72);
    for model in [BandwidthModel::Sound, BandwidthModel::Published] {
        let machine = prepared(&machine, model);
        let free = GpuSet::first(72).without(GpuSet(0b1010));
        for objective in [Objective::Aggregated, Objective::Effective, Objective::Preserved] {
            for shape in PatternShape::ALL {
                for size in [1, 2, 7, 16, 21, 36, 70] {
                    let pattern = Pattern::new(shape, size).unwrap();
                    let mut effort = Effort::new();
                    let found = machine.best(&pattern, free, objective, &mut effort).unwrap();
                    let context = (model, objective, shape.name(), size);
                    assert_eq!((found.optimal, found.gap), (true, Some(0.0)), "{context:?}");
                    assert!(!effort.is_spent(), "{context:?}");
                }
            }
        }
    }
}

#[test]
fn a_ring_of_double_links_is_found_among_many_gpus() {
    for (gpus, stride) in [(24, 7), (40, 11), (64, 19), (72, 25), (128, 37)] {
        let mut builder = ServerBuilder::new("hidden", "test");
        let bridge = builder.device("bridge", DeviceKind::HostBridge, None).unwrap();
        for gpu in 0..gpus {
            let id = builder.device(&format!("GPU{gpu}"), DeviceKind::Gpu, None).unwrap();
            builder.data_sheet_link(id, bridge, LinkKind::Pcie3, 1).unwrap();
        }
        for gpu in 0..gpus {
            // The ring goes round by strides; single links lie across it.
            let [here, next, aside] = [0, stride, 5].map(|by| 1 + (gpu + by) % gpus);
            builder.data_sheet_link(here, next, LinkKind::Nvlink2, 2).unwrap();
            builder.data_sheet_link(here, aside, LinkKind::Nvlink2, 1).unwrap();
        }
        let machine = prepared(&builder.build().unwrap(), BandwidthModel::Sound);
        let pattern = Pattern::new(PatternShape::Ring, gpus).unwrap();
        let all = GpuSet::first(gpus);
        let placed = machine.place(&pattern, all, all, &mut Effort::new());
        assert_eq!(placed.chosen.links.double, gpus, "{gpus}");
        assert!(placed.optimal, "{gpus}");
    }
}

#[test]
fn what_is_cut_short_lies_within_its_gap() {
    for name in ["dgx1-v100", "dgx1-p100"] {
        for model in [BandwidthModel::Sound, BandwidthModel::Published] {
            let machine = prepared(&preset(name).unwrap(), model);
            for (shape, size) in [PatternShape::RingTree, PatternShape::Tree, PatternShape::Chain]
                .map(|s| [(s, 6), (s, 8)])
                .concat()
            {
                let pattern = Pattern::new(shape, size).unwrap();
                let best = |left: u64| {
                    let mut effort = Effort::new();
                    effort.spend(Effort::LIMIT - left);
                    let free = GpuSet::first(8);
                    machine.best(&pattern, free, Objective::Effective, &mut effort).unwrap()
                };
                let whole = best(Effort::LIMIT);
                assert!(whole.optimal);
                for left in [1, 20, 100, 400, 2_000, 10_000] {
                    let found = best(left);
                    let context = (name, model, shape.name(), size, left, found.gap);
                    let values = [&whole, &found].map(|selection| match model {
                        // The first key is the set's, which the search does not change.
                        BandwidthModel::Sound if size == 8 => {
                            selection.chosen.aggregated_bandwidth.0 as f64
                        }
                        _ => selection.chosen.effective_bandwidth.unwrap(),
                    });
                    if let Some(gap) = found.gap {
                        assert!(values[0] <= values[1] * (1.0 + gap) * 1.000_001, "{context:?}");
                    }
                    assert!(!found.optimal || values[0] <= values[1], "{context:?}");
                }
            }
        }
    }
}

#[test]
fn large_irregular_patterns_say_how_far_from_the_best_they_may_be() {
    for name in ["torus2d-16", "cubemesh-16"] {
        let machine = prepared(&preset(name).unwrap(), BandwidthModel::Sound);
        for size in [12, 16] {
            let pattern = Pattern::new(PatternShape::RingTree, size).unwrap();
            let found = machine
                .best(&pattern, GpuSet::first(16), Objective::Aggregated, &mut Effort::new())
                .unwrap();
            let gap = found.gap.unwrap();
            assert!(gap < 0.15, "{name} {size}: {gap}");
            assert_eq!(found.optimal, gap == 0.0);
        }
    }
}
