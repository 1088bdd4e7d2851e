//! Runs over each wiring of a package: answers stay right, and one switch is what it was.

use super::*;
use crate::system::gpus::{PackageWiring, WiringShape};

/// Gives the GPUs of Table 3.1 a wiring, whose links take `link` cycles.
fn wired(shape: WiringShape, link: u32) -> Hierarchy {
    let wiring = PackageWiring { shape, link, bandwidth: None, middle: None, between: None };
    Hierarchy { wiring: Some(wiring), ..r9_nano().clone() }
}

fn played(hierarchy: &Hierarchy, (benchmark, size): (Benchmark, u64), memory: &str) -> GpuRun {
    let workload = benchmark.workload(hierarchy.page, size, 4).unwrap();
    let run = run(hierarchy, &workload, &options(memory), None).unwrap();
    assert_eq!((workload.check)(run.image.as_ref().unwrap()), Ok(()), "{memory}");
    run
}

#[test]
fn one_switch_is_what_a_file_without_a_wiring_has() {
    let switch = wired(WiringShape::Switch, 70);
    for memory in ["tsm-wb-nc-rc", "tsm-wt-c-rc", "mesi", "rdma"] {
        let of = (Benchmark::MatrixTranspose, 128);
        let [one, other] = [&switch, r9_nano()].map(|hierarchy| played(hierarchy, of, memory));
        assert_eq!((one.time, one.events), (other.time, other.events), "{memory}");
        assert_eq!(one.links, other.links, "{memory}");
    }
}

/// Requests, answers, probes and write-backs of every protocol of shared memory find their way.
#[test]
fn answers_are_right_over_every_wiring_and_longer_links_take_longer() {
    for (name, shape) in WiringShape::NAMED {
        for memory in ["tsm-wb-nc-rc", "tsm-wt-c-rc", "tsm-wt-c-sc", "mesi"] {
            let of = (Benchmark::BreadthFirstSearch, 256);
            let [near, far] = [20, 200].map(|link| played(&wired(shape, link), of, memory));
            assert!(near.time < far.time, "{name}, {memory}");
            let carried = near.links.iter().map(|(_, carried)| carried.bytes).sum::<u64>();
            assert!(carried > 0, "{name}, {memory}");
        }
    }
    // A system without shared memory heeds no wiring.
    let of = (Benchmark::Relu, 4096);
    let [one, other] =
        [&wired(WiringShape::Ring, 9), r9_nano()].map(|hierarchy| played(hierarchy, of, "rdma"));
    assert_eq!((one.time, one.events), (other.time, other.events));
}
