//! Buffers that a kernel finds in its own GPU's memory, and those that it finds in another's.
//!
//! It represents section 1.3.2 of the MGPU-TSM dissertation. There the first of several GPUs runs a
//! kernel ([`Distribution::First`]) and the second holds some of its buffers. It leaves out remote
//! buffers in the memories of several GPUs, and buffers with only a part that is remote.

use super::address::{Distribution, Pages};
use super::error::GpuRunError;
use super::kernel::KernelWorkload;
use super::memory_system::memory_systems;
use super::run::GpuOptions;
use crate::diagnostic::{Diagnose, Diagnosis, Named as _, UnknownName, instead_of, shown};
use thiserror::Error;

/// Why buffers cannot lie in another GPU's memory.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum RemoteError {
    /// A buffer that the kernel does not have.
    #[error(transparent)]
    Buffer(#[from] UnknownName),
    /// A distribution under which every GPU runs the kernel.
    Distribution {
        /// Gives its name.
        distribution: &'static str,
    },
    /// Tells that there is no other GPU.
    Alone,
    /// Tells of a memory that all GPUs share, or of the host's.
    Memory {
        /// Names the memory system.
        memory: &'static str,
        /// Those under which each GPU has a memory.
        own: Vec<&'static str>,
    },
}

impl Diagnose for RemoteError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Buffer(error) => error.diagnosis(),
            Self::Distribution { distribution } => Diagnosis::of(format!(
                "under `{distribution}`, no buffer is remote to all GPUs that run a kernel"
            ))
            .remedy("use the distribution `first`"),
            Self::Alone => Diagnosis::of("with one GPU, no buffer can be in another GPU's memory")
                .remedy("use 2 GPUs or more"),
            Self::Memory { memory, own } => Diagnosis::of(format!(
                "under `{memory}`, no buffer is remote, since no GPU has a memory of its own"
            ))
            .remedy(format!("use {}", own.join(", "))),
        }
    }
}

/// Whether there is another GPU in whose memory buffers can lie.
///
/// # Errors
/// Why there is none.
pub fn can_be_remote(options: &GpuOptions) -> Result<(), RemoteError> {
    if options.distribution != Distribution::First {
        return Err(RemoteError::Distribution { distribution: options.distribution.name() });
    }
    if options.gpus < 2 {
        return Err(RemoteError::Alone);
    }
    if options.memory.pages() != Pages::Own {
        let own = memory_systems();
        let own = own.iter().filter(|memory| memory.pages() == Pages::Own);
        let own = own.map(|memory| memory.name()).collect();
        return Err(RemoteError::Memory { memory: options.memory.name(), own });
    }
    Ok(())
}

impl KernelWorkload {
    /// Puts buffers into the memory of the second GPU, by their names.
    ///
    /// # Errors
    /// A name that no buffer has.
    pub fn put_remote(&mut self, names: &[String]) -> Result<(), RemoteError> {
        for name in names {
            let Some(buffer) = self.buffers.iter_mut().find(|buffer| buffer.name == *name) else {
                let known: Vec<&str> = self.buffers.iter().map(|buffer| &*buffer.name).collect();
                return Err(RemoteError::Buffer(UnknownName {
                    what: "buffer",
                    name: shown(name),
                    instead: instead_of(name, &known),
                }));
            };
            buffer.is_remote = true;
        }
        Ok(())
    }
}

/// Whether the options have room for the buffers that a workload says are remote.
///
/// # Errors
/// Says why they do not.
pub(super) fn check(workload: &KernelWorkload, options: &GpuOptions) -> Result<(), GpuRunError> {
    if workload.buffers.iter().any(|buffer| buffer.is_remote) {
        can_be_remote(options)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::kernel::benchmarks::Benchmark;
    use super::super::{GpuRun, memory_system, run};
    use super::*;
    use crate::system::gpus::{self, Hierarchy};

    const SIZE: u64 = 64;
    /// Lines of a matrix.
    const LINES: u64 = SIZE * SIZE * 4 / 64;

    fn r9_nano() -> &'static Hierarchy {
        gpus::find("r9-nano").and_then(|model| model.hierarchy()).expect("it is known")
    }

    fn product(remote: &[&str]) -> KernelWorkload {
        let benchmark = Benchmark::MatrixMultiplication;
        let mut workload = benchmark.workload(r9_nano().page, SIZE, 1).unwrap();
        let names: Vec<String> = remote.iter().map(|name| (*name).to_owned()).collect();
        workload.put_remote(&names).unwrap();
        workload
    }

    fn options(memory: &str) -> GpuOptions<'static> {
        let distribution = Distribution::First;
        let memory = memory_system(memory).unwrap();
        GpuOptions { gpus: 2, memory, distribution, with_code: false, ..GpuOptions::default() }
    }

    fn play(remote: &[&str], memory: &str) -> GpuRun {
        let workload = product(remote);
        let run = run(r9_nano(), &workload, &options(memory), None).unwrap();
        let image = run.image.as_ref().unwrap();
        assert_eq!((workload.check)(image), Ok(()), "{remote:?} under {memory}");
        run
    }

    #[test]
    fn lines_of_remote_buffers_alone_are_remote() {
        let remote = |buffers: &[&str]| play(buffers, "rdma").instructions.remote;
        assert_eq!(remote(&[]), 0);
        // Each line of the product is written once. Tiles of 32 rows read each line of the others
        // as often as there are tiles, unless a first level still has it.
        assert_eq!(remote(&["c"]), LINES);
        let [a, b] = [["a"], ["b"]].map(|buffer| remote(&buffer));
        for read in [a, b] {
            assert!((LINES..=SIZE / 32 * LINES).contains(&read), "{read}");
        }
        assert_eq!(remote(&["c", "a", "b"]), a + b + LINES);
    }

    #[test]
    fn what_is_remote_takes_longer() {
        for memory in ["rdma", "hmg", "g-tsc"] {
            let of = |buffers: &[&str]| play(buffers, memory).kernel_time();
            let times = [of(&[]), of(&["c"]), of(&["b", "c"]), of(&["a", "b", "c"])];
            assert!(times.is_sorted_by(|fewer, more| fewer < more), "{memory:?}: {times:?}");
        }
    }

    #[test]
    fn a_gpu_beside_that_does_nothing_changes_no_kernel() {
        let of = |gpus| {
            let options = GpuOptions { gpus, ..options("rdma") };
            run(r9_nano(), &product(&[]), &options, None).unwrap().kernel_time()
        };
        assert_eq!(of(1), of(2));
        assert_eq!(of(1), of(4));
    }

    #[test]
    fn what_cannot_be_remote_is_refused() {
        let refused = |options: &GpuOptions| {
            run(r9_nano(), &product(&["a"]), options, None).unwrap_err().to_string()
        };
        let rdma = options("rdma");
        assert_eq!(
            refused(&GpuOptions { distribution: Distribution::Unified, ..rdma }),
            "under `unified`, no buffer is remote to all GPUs that run a kernel; use the \
             distribution `first`"
        );
        assert_eq!(
            refused(&GpuOptions { gpus: 1, ..rdma }),
            "with one GPU, no buffer can be in another GPU's memory; use 2 GPUs or more"
        );
        assert_eq!(
            refused(&options("tsm-wt-c-rc")),
            "under `tsm-wt-c-rc`, no buffer is remote, since no GPU has a memory of its own; use \
             rdma, hmg, g-tsc"
        );
        assert_eq!(
            product(&[]).put_remote(&["d".to_owned()]).unwrap_err().to_string(),
            "there is no buffer `d`; use one of a, b, c"
        );
    }
}
