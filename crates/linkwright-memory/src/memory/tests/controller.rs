//! The unified controller of the dissertation and what stands around it: one switch each.

use super::*;
use crate::units::Bytes;

/// GPUs with second levels so small that they evict, changed by a switch.
fn small(switch: impl FnOnce(&mut Hierarchy)) -> Hierarchy {
    let mut small = r9_nano().clone();
    small.second.size = Bytes(4 << 10);
    small.second.evicts_first = false;
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
        for of in [(Benchmark::MatrixTranspose, 256), (Benchmark::Fir, 8192)] {
            let (before, after) = (played(&free, of, memory), played(&waits, of, memory));
            let [one, other] = [&before, &after].map(|run| GpuRun::sum(&run.second));
            assert!(one.write_backs > 100, "{memory} evicts");
            assert!(other.time * one.answered > one.time * other.answered, "{memory}: slower");
        }
    }
    // What writes through has nothing to wait for.
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
