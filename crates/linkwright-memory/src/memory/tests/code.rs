//! Tests code that wavefronts read: how much of it, from where, and at which cost.

use super::*;
use crate::memory::kernel::KernelCode;
use crate::units::Bytes;

const GPUS: u64 = 4;
/// Lines that a wavefront's buffer holds behind that of the instruction that it is at.
const AHEAD: u64 = 3;

fn without_data(memory: &str) -> GpuOptions<'static> {
    GpuOptions { with_data: false, ..options(memory) }
}

/// Returns a run, and one without code.
fn both(benchmark: Benchmark, size: u64, options: &GpuOptions) -> [GpuRun; 2] {
    [true, false]
        .map(|with_code| play(benchmark, size, &GpuOptions { with_code, ..*options }).unwrap())
}

/// Returns the number of lines of a workload's code, each kernel's once. The most includes those
/// that are read ahead of its end. Wavefronts may have ended before these come.
fn lines_of_code(benchmark: Benchmark, size: u64) -> std::ops::RangeInclusive<u64> {
    let workload = benchmark_of(benchmark, size);
    let mut kernels: Vec<_> =
        workload.launches.iter().map(|launch| (&launch.name, launch.code.size.0)).collect();
    kernels.sort();
    kernels.dedup();
    let lines = kernels.iter().map(|(_, size)| size.div_ceil(64)).sum();
    lines..=lines + kernels.len() as u64 * AHEAD
}

#[test]
fn all_code_is_read_from_memory_once() {
    // So each launch has a wavefront that issues as many instructions as its code is said to have.
    let options = GpuOptions { gpus: 1, ..without_data("rdma") };
    for (benchmark, size) in SMALL {
        let [with, without] = both(benchmark, size, &options);
        let more = with.memory_sum().reads - without.memory_sum().reads;
        assert!(lines_of_code(benchmark, size).contains(&more), "{}: {more}", benchmark.name());
    }
}

#[test]
fn each_gpu_reads_code_of_its_own() {
    let size = 16_384;
    let lines = lines_of_code(Benchmark::Relu, size);
    let times = |count: u64| count * lines.start()..=count * lines.end();
    for name in memory_systems().names() {
        let [with, without] = both(Benchmark::Relu, size, &without_data(name));
        // Eight caches of eight compute units each.
        let misses = GpuRun::sum(&with.instruction).misses;
        assert!(times(8 * GPUS).contains(&misses), "{name}: {misses}");
        // Once through each second level, but where that holds nothing.
        let more = with.memory_sum().reads - without.memory_sum().reads;
        let through_none = name == "zero-copy";
        // A tracker under sequential consistency reads a line once for several GPUs that wait for it.
        let least = if name.contains("-c-sc") { *lines.start() } else { GPUS * lines.start() };
        let most = *times(GPUS).end();
        let expected = if through_none { misses..=misses } else { least..=most };
        assert!(expected.contains(&more), "{name}: {more}");
        // Nor does code come from afar.
        assert_eq!(with.instructions.remote, without.instructions.remote, "{name}");
        assert_eq!(with.migrations, without.migrations, "{name}");
    }
}

#[test]
fn a_wavefront_reads_as_far_as_it_comes() {
    // There are 40 instructions of 8 bytes, and a wavefront issues 9 of them: the second line is
    // the last that it comes to.
    let mut workload = bare((1, 1), |wavefront| async move { wavefront.compute(9).await });
    let play =
        |workload: &KernelWorkload| run(r9_nano(), workload, &options("rdma"), None).unwrap();
    let plain = play(&workload);
    workload.launches[0].code = KernelCode { size: Bytes(320), instructions: 40 };
    let read = play(&workload);
    let counts = GpuRun::sum(&read.instruction);
    assert!((2..=5).contains(&counts.misses), "{}", counts.misses);
    // It waits for the first line, its page's translation among it, and may wait for the second.
    let waited = read.time.0 - plain.time.0;
    assert!((300_000..500_000).contains(&waited), "{waited}");
}

#[test]
fn what_is_in_the_cache_costs_no_time() {
    // The second launch of a kernel finds all.
    let kernel = |wavefront: Wavefront| async move { wavefront.compute(500).await };
    let mut workload = bare((1, 1), kernel);
    workload.launches.push(Launch::new("bare", (1, 1), kernel));
    let times = |workload: &KernelWorkload| {
        let run = run(r9_nano(), workload, &options("rdma"), None).unwrap();
        let counts = GpuRun::sum(&run.instruction);
        let kernels = run.steps.iter().filter(|(step, _)| matches!(step, DriverStep::Kernel(_)));
        (kernels.map(|(_, time)| time.0).collect::<Vec<_>>(), counts.misses, counts.hits)
    };
    let (plain, ..) = times(&workload);
    for launch in &mut workload.launches {
        launch.code = KernelCode { size: Bytes(4000), instructions: 500 };
    }
    let (read, misses, hits) = times(&workload);
    assert_eq!(misses, 63 + AHEAD);
    assert!(hits >= 63);
    assert!(read[0] > plain[0] && read[1] == plain[1], "{read:?} {plain:?}");
}

#[test]
fn caches_that_hold_little_code_are_read_into_again() {
    let mut small = r9_nano().clone();
    small.instruction.size = Bytes(128);
    small.instruction.ways = 1;
    small.instruction.mshrs = 1;
    let workload = benchmark_of(Benchmark::MatrixMultiplication, 64);
    for name in memory_systems().names() {
        let run = run(&small, &workload, &options(name), None).unwrap();
        let counts = GpuRun::sum(&run.instruction);
        assert!(counts.evictions > 0 && counts.misses > counts.evictions, "{name}");
        assert_eq!((workload.check)(&run.image.unwrap()), Ok(()), "{name}");
    }
}
