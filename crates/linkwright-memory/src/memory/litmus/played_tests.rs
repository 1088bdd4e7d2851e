//! Litmus tests on the simulator, at few seeds.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::*;
use crate::memory::{GpuOptions, GpuRun, MemorySystem, Pages, memory_system, memory_systems, run};
use crate::network::wires;
use crate::system::System;
use crate::system::gpus::{self, Hierarchy, LeasedLines, Merging, RequestTracker};
use crate::system::presets::preset;
use crate::units::{Bytes, Picoseconds};

/// GPUs whose second levels are small, so that a start takes a fraction of a millisecond.
fn small() -> Hierarchy {
    let found = gpus::find("r9-nano").and_then(|model| model.hierarchy()).expect("it is known");
    let mut small = found.clone();
    small.second.size = Bytes(8 << 10);
    small.compute.units = 8;
    small
}

fn options(memory: &str) -> GpuOptions<'static> {
    let memory = memory_system(memory).unwrap();
    GpuOptions { gpus: 4, memory, limit: Picoseconds(1_000_000_000), ..GpuOptions::default() }
}

fn outcomes(hierarchy: &Hierarchy, test: &str, memory: &str, seeds: u64) -> Vec<Observed> {
    let litmus = &Litmus::from_name(test).unwrap();
    let mut hook = |_| ControlFlow::Continue(());
    let mut play = |warm| {
        let played = Played::new(hierarchy, litmus, warm, &options(memory)).unwrap();
        played.outcomes(0..seeds, &mut hook).unwrap()
    };
    [play(false), play(true)].concat()
}

fn any(found: &[Observed], verdict: Verdict) -> bool {
    found.iter().any(|seen| seen.verdict == verdict)
}

#[test]
fn coherent_memory_shows_nothing_forbidden() {
    let hierarchy = small();
    for memory in memory_systems().iter().filter(|memory| memory.is_coherent()) {
        let name = memory.name();
        for litmus in LITMUS_TESTS {
            let found = outcomes(&hierarchy, litmus.name, name, 12);
            let wrong = found.iter().find(|seen| seen.verdict != Verdict::Allowed);
            assert_eq!(wrong, None, "{} under {name}", litmus.name);
        }
    }
}

/// Plays over the links of machines, on four GPUs and on two. Some pairs have no NVLink and meet at the
/// host, and NVSwitches are in parallel. Three seconds of CPU: 1,900 starts.
#[test]
fn coherent_memory_shows_nothing_forbidden_over_the_links_of_machines() {
    let hierarchy = small();
    let mut hook = |_| ControlFlow::Continue(());
    for (name, gpus) in [
        ("dgx1-v100", &[0, 1, 5, 6][..]),
        ("dgx1-v100", &[0, 3]),
        ("hgx-h100", &[0, 2, 5, 7]),
        ("dgx2", &[1, 14]),
    ] {
        let system = System::of_server(Arc::new(preset(name).expect("it is a preset")));
        let wires = wires::between(&system, gpus).expect("links join them").wires;
        let has_memory =
            |it: &&'static dyn MemorySystem| it.is_coherent() && it.pages() != Pages::Shared;
        for memory in memory_systems().iter().filter(has_memory) {
            let over = GpuOptions {
                gpus: gpus.len() as u32,
                between: Some(&wires),
                ..options(memory.name())
            };
            for litmus in LITMUS_TESTS {
                for warm in [false, true] {
                    let played = Played::new(&hierarchy, litmus, warm, &over).unwrap();
                    let found = played.outcomes(0..3, &mut hook).unwrap();
                    let wrong = found.iter().find(|seen| seen.verdict != Verdict::Allowed);
                    let of = (name, memory.name(), litmus.name);
                    assert_eq!(wrong, None, "{of:?}");
                }
            }
        }
    }
}

/// Plays with each switch of controllers and caches alone; the tests above have all of them.
#[test]
fn nothing_is_forbidden_with_each_switch() {
    let plain = Hierarchy { tracker: None, leases: LeasedLines::default(), ..small() };
    let tracker = |depth, merging| Some(RequestTracker { depth, latency: 3, merging });
    let each = [
        Hierarchy { tracker: tracker(2, Merging::Never), ..plain.clone() },
        Hierarchy { tracker: tracker(64, Merging::Always), ..plain.clone() },
        Hierarchy { leases: LeasedLines { spared: true, locked: true }, ..plain.clone() },
        Hierarchy { leases: LeasedLines { spared: false, locked: false }, ..plain },
    ];
    for hierarchy in &each {
        for name in ["tsm-wt-c-rc", "tsm-wt-c-sc"] {
            for litmus in LITMUS_TESTS {
                let found = outcomes(hierarchy, litmus.name, name, 8);
                let wrong = found.iter().find(|seen| seen.verdict != Verdict::Allowed);
                assert_eq!(wrong, None, "{} under {name}", litmus.name);
            }
        }
    }
}

#[test]
fn incoherent_memory_fails_message_passing_and_may_spin_for_ever() {
    let hierarchy = small();
    let wrong = |test, memory, verdict| any(&outcomes(&hierarchy, test, memory, 120), verdict);
    for memory in ["rdma", "tsm-wb-nc-rc"] {
        let passed = "message-passing-leased";
        assert!(wrong(passed, memory, Verdict::Forbidden), "{memory}");
    }
    for memory in memory_systems().iter().filter(|memory| !memory.is_coherent()) {
        let name = memory.name();
        assert!(wrong("store-buffering", name, Verdict::Forbidden), "{name}");
        let found = outcomes(&hierarchy, "message-passing-spinning", name, 8);
        assert!(any(&found, Verdict::NeverEnds), "{name}");
    }
}

#[test]
fn a_seed_s_outcome_comes_again() {
    let hierarchy = small();
    let litmus = &Litmus::from_name("message-passing-leased").unwrap();
    let played = Played::new(&hierarchy, litmus, false, &options("rdma")).unwrap();
    let mut hook = |_| ControlFlow::Continue(());
    for seen in played.outcomes(0..30, &mut hook).unwrap() {
        assert_eq!(played.play(seen.seed, None).unwrap(), seen.outcome);
        let again = played.outcomes(seen.seed..seen.seed + 1, &mut hook).unwrap();
        assert_eq!(again, [Observed { count: 1, ..seen }]);
    }
}

#[test]
fn a_seed_draws_units_starts_and_places_and_the_workload_is_so() {
    let hierarchy = small();
    let litmus = &Litmus::from_name("message-passing").unwrap();
    let system = options("tsm-wt-c-rc");
    let played = Played::new(&hierarchy, litmus, false, &system).unwrap();
    let draws: Vec<Draw> = (0..200).map(|seed| played.draw(seed)).collect();
    // One compute unit, two of a GPU, two GPUs; one line, one bank, two banks.
    let units = hierarchy.compute.units;
    let gpu = |draw: &Draw, wave: usize| draw.units[wave] / units;
    assert!(draws.iter().any(|draw| draw.units[0] == draw.units[1]));
    assert!(
        draws.iter().any(|draw| draw.units[0] != draw.units[1] && gpu(draw, 0) == gpu(draw, 1))
    );
    assert!(draws.iter().any(|draw| gpu(draw, 0) != gpu(draw, 1)));
    assert!(draws.iter().all(|draw| draw.starts.iter().all(|start| *start <= 500)));
    let page = hierarchy.page.0;
    let bank = |place: u64| place / page % u64::from(hierarchy.second.banks);
    let kind = |draw: &Draw| {
        let [x, y] = draw.places[..] else { panic!("two addresses") };
        (x / 64 == y / 64, bank(x) == bank(y))
    };
    let kinds: Vec<_> = draws.iter().map(kind).collect();
    for kind in [(true, true), (false, true), (false, false)] {
        let count = kinds.iter().filter(|it| **it == kind).count();
        assert!((40..=95).contains(&count), "{kind:?} {count}");
    }
    // The wavefronts run where they were drawn, and no other cache is touched.
    for draw in &draws[..6] {
        let (workload, _) = played.workload(draw);
        let run = run(&hierarchy, &workload, &system, None).unwrap();
        let used = |unit: &u32| run.vector[*unit as usize] != Default::default();
        let found: Vec<u32> = (0..units * 4).filter(used).collect();
        let mut drawn = draw.units.clone();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(found, drawn);
        assert_eq!(GpuRun::sum(&run.scalar), Default::default());
    }
}

#[test]
fn programs_and_outcomes_are_told_in_words() {
    let litmus = &Litmus::from_name("message-passing-spinning").unwrap();
    assert_eq!(litmus.program(), "x=1; y=1 ‖ until y=1; read x");
    assert_eq!(litmus.told(&Some(vec![vec![], vec![0]])), "1: x=0");
    assert_eq!(litmus.told(&None), "");
    let atomics = &Litmus::from_name("atomics").unwrap();
    assert_eq!(atomics.told(&Some(vec![vec![0, 1], vec![1, 2]])), "0: x=0 x=1, 1: x=1 x=2");
}
