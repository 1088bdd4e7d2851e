//! Runs over the links of machines: answers stay right, and links decide how long they take.

use std::sync::Arc;

use super::*;
use crate::memory::wiring::{pcie, shared as shared_of_file, shared_of};
use crate::network::wires::{self, Wires};
use crate::system::System;
use crate::system::presets::preset;
use crate::system::toml_format;

/// Gives the memory systems that a machine has the memory for.
fn unshared() -> Vec<&'static str> {
    let all = memory_systems();
    all.iter().filter(|it| it.pages() != Pages::Shared).map(|it| it.name()).collect()
}

fn machine(name: &str) -> System {
    System::of_server(Arc::new(preset(name).expect("it is a preset")))
}

fn wires(system: &System, gpus: &[u32]) -> Wires {
    wires::between(system, gpus).expect("links join them").wires
}

/// Plays over wires between four GPUs.
fn over(wires: &Wires, (benchmark, size): (Benchmark, u64), memory: &str) -> GpuRun {
    let options = GpuOptions { between: Some(wires), ..options(memory) };
    let workload = benchmark_of(benchmark, size);
    let run = run(r9_nano(), &workload, &options, None).unwrap();
    let is_coherent = options.memory.is_coherent() || benchmark == Benchmark::MatrixTranspose;
    assert!(!is_coherent || (workload.check)(run.image.as_ref().unwrap()).is_ok(), "{memory}");
    run
}

const TRANSPOSE: (Benchmark, u64) = (Benchmark::MatrixTranspose, 128);

#[test]
fn answers_are_right_over_nvlinks_nvswitches_and_pcie() {
    for (name, gpus) in [
        ("dgx1-v100", [0, 3, 4, 7]),
        // No NVLink joins 0 and 5, nor 3 and 5, nor 0 and 6: these go over the host.
        ("dgx1-v100", [0, 3, 5, 6]),
        ("hgx-h100", [0, 1, 2, 7]),
        ("8x-rtx-4090", [0, 1, 4, 5]),
    ] {
        let wires = wires(&machine(name), &gpus);
        for memory in unshared() {
            let run = over(&wires, TRANSPOSE, memory);
            let bytes = run.links.iter().map(|(_, carried)| carried.bytes).sum::<u64>();
            assert!(bytes > 0, "{name} {memory}");
            over(&wires, (Benchmark::BreadthFirstSearch, 256), memory);
        }
    }
}

/// A GPU's file and a preset are of the same systems, to the last channel.
#[test]
fn the_dissertation_s_systems_are_machines_like_any_other() {
    for name in ["mgpu-rdma", "mgpu-tsm"] {
        for gpus in 1..=4 {
            let all: Vec<u32> = (0..gpus).collect();
            assert_eq!(wires(&machine(name), &all), pcie(r9_nano(), gpus), "{name} {gpus}");
        }
    }
    let all = [0, 1, 2, 3];
    assert_eq!(wires::shared_ways(&machine("mgpu-rdma"), &all), Ok(None));
    let ways = wires::shared_ways(&machine("mgpu-tsm"), &all).unwrap().expect("it has a memory");
    let bandwidth = GpuOptions::default().shared_bandwidth;
    assert_eq!(shared_of(r9_nano(), &ways), shared_of_file(r9_nano(), 4, bandwidth));
}

/// The wires of a machine's shared memory carry what those of a GPU's file do, and no others serve.
#[test]
fn shared_memory_of_a_machine_is_played_as_that_of_a_file() {
    let machine = machine("mgpu-tsm");
    let ways = wires::shared_ways(&machine, &[0, 1, 2, 3]).unwrap().expect("it has a memory");
    let shared = shared_of(r9_nano(), &ways);
    let workload = benchmark_of(TRANSPOSE.0, TRANSPOSE.1);
    for memory in ["tsm-wt-c-rc", "mesi"] {
        let own = run(r9_nano(), &workload, &options(memory), None).unwrap();
        let found = over(&shared, TRANSPOSE, memory);
        assert_eq!((found.time, found.events, &found.links), (own.time, own.events, &own.links));
        let pcie = wires(&machine, &[0, 1, 2, 3]);
        let wrong = GpuOptions { between: Some(&pcie), ..options(memory) };
        let refused = run(r9_nano(), &workload, &wrong, None).unwrap_err();
        assert!(matches!(refused, GpuRunError::NoSharedMemory { .. }), "{refused}");
    }
}

/// Nothing is lost between links: all that leaves a GPU enters others or the host.
#[test]
fn links_carry_what_was_sent() {
    let wires = wires(&machine("hgx-h100"), &[0, 1, 2, 3]);
    let run = over(&wires, TRANSPOSE, "rdma");
    let sum = |of: &dyn Fn(&str) -> bool| {
        let those = run.links.iter().filter(|(name, _)| of(name));
        those
            .map(|(_, carried)| (carried.messages, carried.bytes))
            .fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1))
    };
    let into = sum(&|name| name.contains(" to NVSW"));
    assert!(into.0 > 0);
    assert_eq!(into, sum(&|name| name.starts_with("NVSW")));
    // The copies of the matrix in, and of its transpose out.
    let pages = 128 * 128 * 4;
    assert_eq!(sum(&|name| name.starts_with("CPU") && name.contains(" to PCIE")).1, pages);
    assert_eq!(sum(&|name| name.starts_with("memory of")).1, 2 * pages);
}

/// Gives a DGX-1V whose links between GPUs have a share of their bandwidth.
fn narrower(share: u64) -> System {
    let text = toml_format::write(&preset("dgx1-v100").unwrap());
    let wide = "bandwidth = \"25 GB/s\"\n";
    assert!(text.contains(wide));
    let bandwidth = format!("bandwidth = \"{} MB/s\"\n", 25_000 / share);
    let text = text.replace(wide, &bandwidth);
    System::of_server(Arc::new(toml_format::read("dgx1.toml", &text).unwrap()))
}

#[test]
fn narrower_and_absent_links_change_the_result() {
    let gpus = [0, 1, 2, 3];
    let of = |system: &System| over(&wires(system, &gpus), TRANSPOSE, "rdma").kernel_time();
    let whole = of(&narrower(1));
    assert_eq!(whole, of(&machine("dgx1-v100")));
    let times = [1, 4, 16].map(|share| of(&narrower(share)));
    assert!(times.is_sorted_by(|wider, other| wider < other), "{times:?}");
    // Without their NVLinks two GPUs of one board meet at the host.
    let apart = machine("dgx1-v100").without(&["GPU0-GPU3"]).unwrap();
    assert!(of(&apart) > whole);
    // A part that none of them uses changes nothing.
    assert_eq!(of(&machine("dgx1-v100").without(&["mlx5_3", "GPU6"]).unwrap()), whole);
}

#[test]
fn memory_that_all_share_is_refused_on_a_machine() {
    let wires = wires(&machine("dgx1-v100"), &[0, 1, 2, 3]);
    let options = GpuOptions { between: Some(&wires), ..options("tsm-wt-c-rc") };
    let workload = benchmark_of(Benchmark::Relu, 4096);
    assert_eq!(
        run(r9_nano(), &workload, &options, None).unwrap_err().to_string(),
        "`tsm-wt-c-rc` needs a memory that GPUs share, but the machine's links lead to none; use \
         rdma, \
         hmg, g-tsc, zero-copy, unified"
    );
}
