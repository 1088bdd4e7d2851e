//! Measures kernels inside GPUs, timed without data.
//!
//! `cargo bench --bench memory` runs it. It measures processor time of the user, median of 5. It
//! counts the instructions of wavefronts and the accesses to lines (of both levels, other GPUs and
//! memory) in a second of that time. It also gives the most memory for each GPU.

use std::hint::black_box;

use linkwright::memory::kernel::benchmarks::Benchmark;
use linkwright::memory::{GpuOptions, GpuRun, memory_system, run};
use linkwright::system::gpus;
use linkwright_bench::user_seconds;

const REPEATS: usize = 5;

fn main() {
    let hierarchy = gpus::find("r9-nano").and_then(|model| model.hierarchy()).expect("a preset");
    let cases = [
        (Benchmark::Fir, 65_536, 1, "rdma"),
        (Benchmark::MatrixMultiplication, 256, 1, "rdma"),
        (Benchmark::MatrixTranspose, 1024, 4, "rdma"),
        (Benchmark::MatrixTranspose, 1024, 4, "tsm-wt-c-rc"),
    ];
    for (benchmark, size, gpus, memory) in cases {
        let memory = memory_system(memory).expect("it is known");
        let options = GpuOptions { gpus, memory, with_data: false, ..GpuOptions::default() };
        let workload = benchmark.workload(hierarchy.page, size, gpus).expect("a size");
        // A clock of hundredths needs several runs to a reading.
        const RUNS: u32 = 10;
        let mut times: Vec<f64> = (0..REPEATS)
            .map(|_| {
                let begun = user_seconds();
                for _ in 0..RUNS {
                    black_box(run(hierarchy, &workload, &options, None).expect("it ends"));
                }
                (user_seconds() - begun) / f64::from(RUNS)
            })
            .collect();
        times.sort_by(f64::total_cmp);
        let time = times[REPEATS / 2];
        let mut found = None;
        let most = allocation_counter::measure(|| {
            found = run(hierarchy, &workload, &options, None).ok();
        })
        .bytes_max;
        let found = found.expect("it ends");
        let lines = |counts| {
            let sum = GpuRun::sum(counts);
            sum.hits + sum.merged + sum.misses
        };
        let memory = found.memory_sum();
        let accesses = lines(&found.vector)
            + lines(&found.scalar)
            + lines(&found.second)
            + found.instructions.remote
            + memory.reads
            + memory.writes;
        println!(
            "{} on {gpus} GPUs: {time:.3} s, {:.2} million instructions and {:.1} million accesses a second, \
             {:.1} MB of a GPU",
            workload.name,
            found.instructions.instructions as f64 / time / 1e6,
            accesses as f64 / time / 1e6,
            most as f64 / f64::from(gpus) / 1e6,
        );
    }
}
