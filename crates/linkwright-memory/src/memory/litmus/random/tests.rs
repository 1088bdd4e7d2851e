//! Plays right memory systems at many seeds, and finds wrong ones at few.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use super::programs::SHAPES;
use super::*;
use crate::memory::memory_system::{memory_system, memory_systems};
use crate::memory::protocol::faulty::{FAULTS, Faulty};

/// Gives the memory system of a seed: in half of them MGCC, then each that is coherent in turn.
fn coherent(seed: u64) -> &'static dyn MemorySystem {
    let all = memory_systems();
    let each: Vec<_> = all.iter().filter(|memory| memory.is_coherent()).collect();
    match seed % 4 {
        0 => memory_system("tsm-wt-c-rc").unwrap(),
        1 => memory_system("tsm-wt-c-sc").unwrap(),
        _ => each[(seed / 4) as usize % each.len()],
    }
}

/// Plays all seeds up to one, on all cores, and fails where one is wrong.
fn all_are_right(seeds: u64) {
    let next = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, Into::into) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        break;
                    }
                    let memory = coherent(seed);
                    let wrong = LitmusRun::new(seed, memory).wrong();
                    assert_eq!(wrong, None, "seed {seed} under {}", memory.name());
                }
            });
        }
    });
    println!("{seeds} runs are right");
}

/// Takes two seconds for two thousand runs, as many as give each memory system some hundred.
#[test]
fn two_thousand_runs_are_sequential() {
    all_are_right(2_000);
}

#[test]
#[ignore = "minutes: make check-coherence"]
fn a_hundred_thousand_runs_are_sequential() {
    all_are_right(100_000);
}

#[test]
fn memory_that_is_not_coherent_is_found() {
    for memory in memory_systems().iter().filter(|memory| !memory.is_coherent()) {
        let found = first_wrong(memory, 0..200);
        let (seed, _) = found.unwrap_or_else(|| panic!("{} passes", memory.name()));
        println!("{}: wrong after {} runs", memory.name(), seed + 1);
    }
}

/// Takes two seconds: a write that ignores its writer's time is wrong once in some thousand runs.
#[test]
fn each_planted_fault_is_found() {
    for fault in FAULTS {
        let memory: &'static Faulty = Box::leak(Box::new(Faulty::new(fault)));
        let found = first_wrong(memory, 0..6_000);
        let (seed, _) = found.unwrap_or_else(|| panic!("{fault:?} passes"));
        println!("{fault:?}: wrong after {} runs", seed + 1);
    }
}

/// Fences that do not wait are none at all.
#[test]
fn relaxed_accesses_without_fences_are_found() {
    let memory = memory_system("tsm-wt-c-rc").unwrap();
    let wrong = |seed: &u64| LitmusRun::with_fences(*seed, memory, false).wrong().is_some();
    let found = (0..200).find(wrong).expect("some order is not kept");
    println!("without fences: wrong after {} runs", found + 1);
}

#[test]
fn the_draws_reach_what_they_should() {
    let memory = memory_system("tsm-wt-c-rc").unwrap();
    let runs: Vec<_> = (0..2_000).map(|seed| LitmusRun::new(seed, memory)).collect();
    let names: BTreeSet<_> = runs.iter().map(|run| run.name).collect();
    assert_eq!(names.len(), SHAPES.len() + 1);
    let random = runs.iter().filter(|run| run.name == "random");
    let waves: BTreeSet<_> = random.map(|run| run.programs.len()).collect();
    assert_eq!(waves, BTreeSet::from([2, 3, 4]));
    let kinds: BTreeSet<_> = runs
        .iter()
        .map(|run| (run.options.gpus, run.hierarchy.wiring.map(|wiring| wiring.shape.name())))
        .collect();
    assert_eq!(kinds.len(), 9, "{kinds:?}");
    assert!(runs.iter().all(|run| run.options.between.is_none()), "all GPUs share memory");
    let own = memory_system("hmg").unwrap();
    let machines: BTreeSet<_> = (0..200)
        .map(|seed| LitmusRun::new(seed, own))
        .map(|run| (run.options.gpus, run.machine))
        .collect();
    assert_eq!(machines.len(), 9, "{machines:?}");
    let lines = |run: &LitmusRun| {
        let Hierarchy { vector, second, .. } = &run.hierarchy;
        [vector.size.0, second.size.0].map(|size| size / 64)
    };
    assert!(runs.iter().all(|run| lines(run) == [4, 4]));
    let leases: BTreeSet<_> = runs.iter().map(|run| format!("{:?}", run.options.leases)).collect();
    for bits in 2..=16 {
        assert!(leases.iter().any(|it| it.contains(&format!("bits: {bits} "))), "{bits} bits");
    }
}

#[test]
fn all_caches_and_timestamp_storage_units_evict() {
    let memory = memory_system("tsm-wt-c-rc").unwrap();
    let evictions = |seed| {
        let (_, run) = LitmusRun::new(seed, memory).play().expect("it ends");
        [GpuRun::sum(&run.vector).evictions, GpuRun::sum(&run.second).evictions]
            .map(|count| count > 0)
            .into_iter()
            .chain([run.memory_sum().timestamp_evictions > 0])
            .collect::<Vec<_>>()
    };
    let runs: Vec<_> = (0..200).map(evictions).collect();
    for (at, what) in ["first levels", "second levels", "timestamps"].iter().enumerate() {
        let count = runs.iter().filter(|run| run[at]).count();
        assert!(count >= 20, "{what} evict in {count} runs of 200");
    }
}

/// Holds the judge against what the literature forbids of each shape: reads, and the end of x, y
/// and z where it counts.
#[test]
fn the_judge_refuses_what_each_shape_forbids() {
    type Forbidden = (&'static str, &'static [&'static [u8]], [Option<u8>; 3]);
    const NONE: [Option<u8>; 3] = [None; 3];
    const FORBIDDEN: &[Forbidden] = &[
        ("S", &[&[], &[1]], [Some(2), Some(1), None]),
        ("R", &[&[], &[0]], [Some(1), Some(2), None]),
        ("SB", &[&[0], &[0]], NONE),
        ("LB", &[&[1], &[1]], NONE),
        ("MP", &[&[], &[1, 0]], NONE),
        ("WRC", &[&[], &[1], &[1, 0]], NONE),
        ("ISA2", &[&[], &[1], &[1, 0]], NONE),
        ("RWC", &[&[], &[1, 0], &[0]], NONE),
        ("IRIW", &[&[], &[], &[1, 0], &[1, 0]], NONE),
        ("2+2W", &[&[], &[]], [Some(1), Some(1), None]),
        ("Z6.3", &[&[], &[], &[1, 0]], [Some(1), Some(2), Some(1)]),
        ("CoRR", &[&[], &[1, 0]], NONE),
        ("CoRW", &[&[], &[1]], [Some(1), None, None]),
        ("CoWR", &[&[2], &[]], [Some(1), None, None]),
    ];
    assert!(SHAPES.iter().map(|(name, _)| name).eq(FORBIDDEN.iter().map(|(name, ..)| name)));
    let memory = memory_system("tsm-wt-c-rc").unwrap();
    for ((name, waves), (_, reads, end)) in SHAPES.iter().zip(FORBIDDEN) {
        let programs: Vec<_> = waves.iter().map(|wave| wave.to_vec()).collect();
        let run = LitmusRun { programs, ..LitmusRun::new(0, memory) };
        let reads: Reads = reads.iter().map(|reads| reads.to_vec()).collect();
        let of = |at: u8| [at & 3, at >> 2 & 3, at >> 4];
        let memories = (0..64).map(of).filter(|memory| {
            memory.iter().zip(end).all(|(value, end)| end.is_none_or(|end| end == *value))
        });
        for memory in memories {
            let outcome = Outcome { reads: reads.clone(), memory: memory.to_vec() };
            assert!(!run.allows(&outcome), "{name} {outcome:?}");
        }
        // Wavefronts one after another are one of the orders.
        let first = &ends(&run.programs, |_| true)[0];
        let memory = [&first.memory[..], &[0; 3]].concat()[..3].to_vec();
        let outcome = Outcome { reads: first.reads.clone(), memory };
        assert!(run.allows(&outcome), "{name} {outcome:?}");
    }
}
