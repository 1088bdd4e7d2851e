//! The unified controller of the dissertation and what stands around it: one switch each.

use super::*;
use crate::system::gpus::{LeasedLines, Merging, RequestTracker};
use crate::units::Bytes;

/// Gives GPUs whose second levels are so small that they evict, changed by a switch.
fn small(switch: impl FnOnce(&mut Hierarchy)) -> Hierarchy {
    let mut small = r9_nano().clone();
    small.second.size = Bytes(4 << 10);
    small.second.evicts_first = false;
    small.tracker = None;
    small.leases = LeasedLines::default();
    switch(&mut small);
    small
}

fn played(hierarchy: &Hierarchy, (benchmark, size): (Benchmark, u64), memory: &str) -> GpuRun {
    let workload = benchmark.workload(hierarchy.page, size, 4).unwrap();
    let run = run(hierarchy, &workload, &options(memory), None).unwrap();
    let right = (workload.check)(run.image.as_ref().unwrap());
    assert_eq!(right, Ok(()), "{} under {memory}", workload.name);
    run
}

#[test]
fn a_miss_waits_for_what_it_evicts_and_memory_takes_the_same_lines() {
    let (free, waits) = (small(|_| {}), small(|of| of.second.evicts_first = true));
    for memory in ["rdma", "tsm-wb-nc-rc", "mesi"] {
        for of in [(Benchmark::MatrixTranspose, 256), (Benchmark::Relu, 65_536)] {
            let (before, after) = (played(&free, of, memory), played(&waits, of, memory));
            let [one, other] = [&before, &after].map(|run| GpuRun::sum(&run.second));
            assert!(one.write_backs > 100, "{memory} evicts");
            assert!(other.time * one.answered > one.time * other.answered, "{memory}: slower");
        }
    }
    // A second level that writes through waits for nothing.
    for memory in ["tsm-wt-nc-rc", "tsm-wt-c-rc", "tsm-wt-c-sc"] {
        let of = (Benchmark::MatrixTranspose, 128);
        let (before, after) = (played(&free, of, memory), played(&waits, of, memory));
        assert_eq!((before.time, before.events), (after.time, after.events), "{memory}");
    }
}

/// Sixteen ways, each kept for a miss, and more misses of the set than ways.
#[test]
fn a_set_whose_every_place_is_kept_serves_on() {
    let one_set = small(|of| {
        of.second.evicts_first = true;
        of.second.size = Bytes(128);
        of.second.ways = 2;
    });
    for memory in ["rdma", "tsm-wb-nc-rc", "mesi", "unified"] {
        played(&one_set, (Benchmark::MatrixTranspose, 128), memory);
        played(&one_set, (Benchmark::Relu, 4096), memory);
    }
}

/// Gives trackers that hold few lines and take a while, one for each way of merging.
fn trackers() -> impl Iterator<Item = Hierarchy> {
    [Merging::Never, Merging::Sequential, Merging::Always].into_iter().map(|merging| {
        small(|of| of.tracker = Some(RequestTracker { depth: 2, latency: 7, merging }))
    })
}

#[test]
fn trackers_change_no_answers_and_save_accesses_where_they_merge() {
    for memory in ["tsm-wb-nc-rc", "tsm-wt-nc-rc", "tsm-wt-c-rc", "tsm-wt-c-sc"] {
        for of in [(Benchmark::Aes, 4096), (Benchmark::BreadthFirstSearch, 256)] {
            let reads = |hierarchy| played(&hierarchy, of, memory).memory_sum().reads;
            let found: Vec<u64> = trackers().map(reads).collect();
            assert!(found[2] <= found[0], "{memory}: {found:?}");
        }
    }
    // GPUs that read one line together have it from one access.
    let shared = (Benchmark::MatrixMultiplication, 64);
    let reads = |hierarchy| played(&hierarchy, shared, "tsm-wt-c-rc").memory_sum().reads;
    let found: Vec<u64> = trackers().map(reads).collect();
    assert!(found[1] == found[0] && found[2] < found[0], "{found:?}");
}

#[test]
fn what_others_wrote_is_seen_with_each_switch() {
    let spared = small(|of| of.leases.spared = true);
    let open = small(|of| of.leases.locked = false);
    for hierarchy in trackers().chain([spared, open]) {
        for memory in ["tsm-wt-c-rc", "tsm-wt-c-sc"] {
            for of in [(Benchmark::Xtreme3, 192), (Benchmark::Message, 256)] {
                played(&hierarchy, of, memory);
            }
        }
    }
}

#[test]
fn timestamps_take_no_time_beside_dram_unless_they_are_slower() {
    let of = (Benchmark::BreadthFirstSearch, 256);
    let time = |switch: fn(&mut Hierarchy)| played(&small(switch), of, "tsm-wt-c-rc").time;
    let plain = time(|of| of.tsu.latency = 0);
    assert_eq!(time(|of| of.tsu.latency = 50), plain);
    assert!(time(|of| of.tsu.latency = 300) > plain);
}

/// A timestamp storage unit with fewer entries than lines forgets some; its size is its own.
#[test]
fn storage_units_have_a_size_of_their_own_and_forget() {
    let of = (Benchmark::MatrixTranspose, 128);
    let forgotten = |entries, second: u64| {
        let hierarchy = small(|of| {
            (of.tsu.entries, of.second.size) = (entries, Bytes(second));
        });
        played(&hierarchy, of, "tsm-wt-c-rc").memory_sum().timestamp_evictions
    };
    // Two matrices of 64 KiB are 2,048 lines, and code. An entry follows each line of the second level.
    assert_eq!(forgotten(None, 256 << 10), 0);
    assert!(forgotten(None, 4 << 10) > 0, "four GPUs have 2,048 entries, unevenly used");
    assert_eq!(forgotten(Some(32 << 10), 4 << 10), 0, "the second level's size changes nothing");
    let few = forgotten(Some(64), 4 << 10);
    assert!(few >= 2_048 - 4 * 64, "{few}");
    // Nobody else has timestamps to forget.
    for memory in ["tsm-wt-nc-rc", "rdma", "mesi"] {
        let hierarchy = small(|of| of.tsu.entries = Some(64));
        assert_eq!(played(&hierarchy, of, memory).memory_sum().timestamp_evictions, 0, "{memory}");
    }
}
