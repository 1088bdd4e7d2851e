//! Runs of whole workloads.

use super::kernel::benchmarks::Benchmark;
use super::kernel::flat;
use super::*;
use crate::diagnostic::Named;
use crate::system::gpus::{self, Hierarchy};

fn r9_nano() -> &'static Hierarchy {
    gpus::find("r9-nano").and_then(|model| model.hierarchy()).expect("it is known")
}

fn play(benchmark: Benchmark, size: u64, options: &GpuOptions) -> GpuRun {
    let workload = benchmark.workload(r9_nano().page, size).unwrap();
    let run = run(r9_nano(), &workload, options, None).unwrap();
    if let Some(image) = &run.image {
        assert_eq!((workload.check)(image), Ok(()), "{} {:?}", workload.name, options);
    }
    run
}

#[test]
fn counts_look_like_this() {
    for (benchmark, size) in [("relu", 65536), ("mt", 256), ("fir", 16384), ("mm", 128)] {
        let benchmark = Benchmark::from_name(benchmark).unwrap();
        for (name, memory) in MemorySystem::NAMED {
            let options = GpuOptions { gpus: 4, memory: *memory, ..GpuOptions::default() };
            let run = play(benchmark, size, &options);
            let timed = play(benchmark, size, &GpuOptions { with_data: false, ..options });
            assert_eq!(run.time, timed.time);
            let (vector, second, memory) = (GpuRun::sum(&run.vector), GpuRun::sum(&run.second), run.memory_sum());
            println!("{} {name}: {} kernels {} instr {} events {}; L1 {}+{}/{} L2 {}+{}/{} remote {} DRAM {memory:?} {:?}",
                benchmark.name(), run.time, run.kernel_time(), run.instructions.instructions, run.events,
                vector.hits, vector.merged, vector.misses, second.hits, second.merged, second.misses, run.instructions.remote, run.steps);
        }
    }
}

#[test]
fn flat_memory_gives_the_right_answers() {
    for (name, size) in [("relu", 256), ("mt", 128), ("fir", 512), ("mm", 64)] {
        let workload = Benchmark::from_name(name).unwrap().workload(r9_nano().page, size).unwrap();
        let image = flat::run(&workload, 1 << 20);
        assert_eq!((workload.check)(&image), Ok(()), "{name}");
    }
}
