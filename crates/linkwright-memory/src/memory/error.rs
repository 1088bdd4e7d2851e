//! Why a run of GPUs cannot go on.

use thiserror::Error;

use super::address::{OutOfMemory, Pages};
use super::kernel::benchmarks::SizeError;
use super::memory_system::{MemorySystem, memory_systems};
use super::placement::RemoteError;
use crate::diagnostic::{Diagnose, Diagnosis};
use crate::engine::EngineError;
use crate::system::gpus::GpuError as ModelError;
use crate::units::{Bytes, Picoseconds};

/// Why a run of GPUs cannot go on.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{}", self.diagnosis())]
pub enum GpuRunError {
    /// A size of a benchmark that is not possible.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// Buffers that memory does not hold.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// Buffers that cannot lie in another GPU's memory.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// A model of GPU whose inside is not known.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Tells that the clock, or the caller, has ended the run.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Wavefronts that wait for what never comes.
    Stuck {
        /// Names the kernel.
        kernel: String,
        /// Counts those that wait.
        wavefronts: usize,
        /// Names the first of them, and why each waits.
        shown: String,
    },
    /// A run that takes longer than was allowed.
    TooLong {
        /// Names the kernel that ran.
        kernel: String,
        /// How long it was allowed to take.
        limit: Picoseconds,
        /// Names the first wavefronts that have not ended, and why each waits.
        shown: String,
        /// Whether its memory is coherent.
        is_coherent: bool,
    },
    /// No GPUs, or more than a run can have.
    Gpus {
        /// How many were asked for.
        gpus: u32,
    },
    /// Buffers whose bytes nobody should keep.
    Data {
        /// How many they have.
        asked: Bytes,
    },
    /// Pages where a protocol's way to a line's home does not lead.
    Pages {
        /// Names the memory system.
        memory: &'static str,
        /// Names its protocol.
        protocol: &'static str,
    },
    /// Accesses in order, under a protocol whose copies only a fence drops.
    Order {
        /// Names the memory system.
        memory: &'static str,
        /// Names its protocol.
        protocol: &'static str,
    },
    /// Shared memory on a machine, which has none.
    NoSharedMemory {
        /// Names the memory system.
        memory: &'static str,
    },
    /// A work-group that no compute unit has room for.
    Group {
        /// Names the kernel.
        kernel: String,
        /// Names its needs, and the supply.
        needs: String,
    },
}

/// Limits the GPUs of a run.
pub const MOST_GPUS: u32 = 32;

/// The most bytes of a run with data, which are kept: five times the largest of a benchmark in full.
pub const MOST_DATA: Bytes = Bytes(1 << 30);

impl Diagnose for GpuRunError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::OutOfMemory(error) => error.diagnosis(),
            Self::Remote(error) => error.diagnosis(),
            Self::Model(error) => error.diagnosis(),
            Self::Engine(error) => error.diagnosis(),
            Self::Stuck { kernel, wavefronts, shown } => {
                Diagnosis::of(format!("{wavefronts} wavefronts of {kernel} wait forever: {shown}"))
                    .remedy("make all wavefronts of the group or launch reach the barrier")
            }
            Self::TooLong { kernel, limit, shown, is_coherent } => {
                let remedy = if *is_coherent {
                    "allow more time, or check that something writes the words on which it spins"
                } else {
                    "allow more time; if it spins on words that others write, use a coherent \
                     memory such as tsm-wt-c-rc"
                };
                let problem = format!("{kernel} has not ended after {limit}: {shown}");
                Diagnosis::of(problem).remedy(remedy)
            }
            Self::Size(error) => error.diagnosis(),
            Self::Gpus { gpus } => Diagnosis::of(format!("a run cannot have {gpus} GPUs"))
                .remedy(format!("use 1 to {MOST_GPUS}")),
            Self::Data { asked } => Diagnosis::of(format!(
                "the buffers hold {asked} of data, but a run moves at most {MOST_DATA}"
            ))
            .remedy("run it without data, which gives the same times"),
            Self::Pages { memory, protocol } => Diagnosis::of(format!(
                "`{memory}` places pages where `{protocol}` does not look for a line's home"
            ))
            .remedy(
                "use shared or pinned pages with the path `OwnL2`, own or migrating ones with \
                `LineL2`, own ones with `HomeL2`",
            ),
            Self::Order { memory, protocol } => Diagnosis::of(format!(
                "`{memory}` keeps accesses in order, but `{protocol}` needs fences for that"
            ))
            .remedy("use relaxed consistency, or a protocol that has an `in_order`"),
            Self::NoSharedMemory { memory } => {
                let has_it = |it: &&'static dyn MemorySystem| {
                    it.pages() != Pages::Shared && *it.name() != **memory
                };
                let others = memory_systems();
                let others: Vec<&str> = others.iter().filter(has_it).map(|it| it.name()).collect();
                Diagnosis::of(format!(
                    "`{memory}` needs a memory that GPUs share, but the machine's links lead to \
                     none"
                ))
                .remedy(format!("use {}", others.join(", ")))
            }
            Self::Group { kernel, needs } => {
                Diagnosis::of(format!("no compute unit has room for a work-group of {kernel}"))
                    .remedy(needs.clone())
            }
        }
    }
}
