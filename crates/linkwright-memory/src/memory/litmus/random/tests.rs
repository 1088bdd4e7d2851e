//! Right memory systems at many seeds, and wrong ones found at few.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use super::*;
use crate::memory::memory_system::{InOrder, memory_system, memory_systems};
use crate::memory::protocol::faulty::{FAULTS, Faulty};

/// Gives the memory system of a seed: in half of them MGCC, then each other that is coherent.
fn coherent(seed: u64) -> &'static dyn MemorySystem {
    let all = memory_systems();
    let others: Vec<_> = all.iter().filter(|memory| memory.is_coherent()).collect();
    match seed % 4 {
        0 => memory_system("tsm-wt-c-rc").unwrap(),
        1 => memory_system("tsm-wt-c-sc").unwrap(),
        _ => others[(seed / 4) as usize % others.len()],
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
                    let wrong = LitmusRun::new(seed, coherent(seed)).wrong();
                    assert_eq!(wrong, None, "seed {seed}");
                }
            });
        }
    });
}

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
        let found = first_wrong(memory, 0..2_000);
        let (seed, _) = found.unwrap_or_else(|| panic!("{} passes", memory.name()));
        println!("{}: {} runs", memory.name(), seed + 1);
    }
}

#[test]
fn each_planted_fault_is_found() {
    for fault in FAULTS {
        let protocol: &'static Faulty = Box::leak(Box::new(Faulty::new(fault)));
        let in_order = Box::leak(Box::new(InOrder { name: "tsm-wt-c-sc-faulty", protocol }));
        for memory in [protocol as &'static dyn MemorySystem, in_order] {
            let found = first_wrong(memory, 0..4_000).map(|(seed, _)| seed + 1);
            println!("{fault:?} {}: {found:?} runs", memory.name());
        }
    }
}
