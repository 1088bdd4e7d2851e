//! What leaving out instruction caches changes: kernels whose wavefronts first read their code.
//!
//! Each reads so many lines of it, one after another, through the cache that its neighbours share,
//! as through one of instructions. That is the most that fetching can cost: nothing is fetched
//! ahead, and nothing runs meanwhile.

use std::rc::Rc;

use super::*;
use crate::memory::kernel::KernelBuffer;
use crate::units::Bytes;

const GPUS: u64 = 4;
/// Of a kernel's code and arguments: by how much the open simulator reads more for relu, a GPU.
const LINES: u64 = 8;

/// A workload of one launch with its code, of which each GPU has a copy in its own memory.
fn with_code(mut workload: KernelWorkload) -> KernelWorkload {
    let page = r9_nano().page.0;
    let pages =
        workload.buffers.iter().map(|buffer| (buffer.address + buffer.size.0).div_ceil(page));
    let first = pages.max().unwrap();
    workload.buffers.push(KernelBuffer {
        name: "code".into(),
        address: first * page,
        size: Bytes(GPUS * page),
        initial: None,
        copied_out: false,
    });
    let kernel = Rc::new(workload.launches.pop().unwrap());
    assert!(workload.launches.is_empty());
    let (name, lds) = (kernel.name.clone(), kernel.lds);
    let shape = (u64::from(kernel.groups), kernel.wavefronts);
    let fetching = move |wavefront: Wavefront| {
        let kernel = Rc::clone(&kernel);
        async move {
            // Pages go over the GPUs in turn.
            let gpu = u64::from(wavefront.place().gpu);
            let own = (first..first + GPUS).find(|page| page % GPUS == gpu).unwrap();
            for line in 0..LINES {
                let loaded = wavefront.load_scalar(64, own * page + 64 * line).await;
                wavefront.arrived(loaded).await;
            }
            kernel.program(wavefront).await;
        }
    };
    workload.launches.push(Launch::new(name, shape, fetching).sharing(lds));
    workload
}

/// A run without code, and one with it.
fn both(benchmark: Benchmark, size: u64, memory: MemorySystem) -> [GpuRun; 2] {
    let options = GpuOptions { with_data: false, ..options(memory) };
    let plain = benchmark_of(benchmark, size);
    let code = with_code(benchmark_of(benchmark, size));
    [plain, code].map(|workload| run(r9_nano(), &workload, &options, None).unwrap())
}

#[test]
fn eight_lines_of_code_for_each_gpu_are_what_the_open_simulator_reads_more() {
    let [plain, code] = both(Benchmark::Relu, 65_536, MemorySystem::Rdma);
    let read = |run: &GpuRun| run.memory_sum().reads + run.memory_sum().copied_out;
    assert_eq!((read(&plain), read(&code)), (8_192, 8_224));
}

#[test]
fn code_is_read_once_a_launch_at_a_cost_that_does_not_grow() {
    for size in [256, 512] {
        let [plain, code] = both(Benchmark::MatrixTranspose, size, MemorySystem::Rdma);
        assert!(code.time.0 as f64 <= 1.04 * plain.time.0 as f64, "{} {}", code.time, plain.time);
        // Over the switch of shared memory, eight ways there and back.
        let [plain, code] = both(Benchmark::MatrixTranspose, size, MemorySystem::TsmWriteBack);
        let longer = code.time.0 - plain.time.0;
        assert!((3_000_000..4_000_000).contains(&longer), "{longer}");
    }
}
