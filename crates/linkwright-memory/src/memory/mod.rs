//! Models the inside of GPUs: wavefronts, caches, shared memory, and the protocols that keep their
//! copies in agreement. Memory holds real data.
//!
//! It represents several GPUs that run kernels on real data, cycle by cycle, through caches and
//! memory. They run under the memory systems that the MGPU-TSM dissertation compares
//! ([`MemorySystem`]). The program is a [`kernel`]. A [`protocol`] decides how a cache treats a
//! line. [`run`] puts them on the clock.

mod access_trace;
mod address;
mod cache;
mod code;
mod compute_unit;
mod consistency;
mod controller;
mod costs;
mod crossing;
mod dispatch;
mod dram;
mod driver;
mod error;
mod evicting;
mod first_level;
mod home;
mod issue;
pub mod kernel;
mod levels;
pub mod litmus;
mod loads;
mod memory_system;
mod migration;
mod placement;
mod probing;
pub mod protocol;
mod requests;
mod run;
mod second_level;
mod shared_bytes;
mod statistics;
mod stepped;
mod system;
pub mod tables;
#[cfg(test)]
mod tests;
mod timeline;
mod tlb;
mod tracker;
mod wavefronts;
pub mod wiring;

pub use access_trace::{AccessRecord, AccessTrace, AccessesAsked};
pub use address::{Distribution, OutOfMemory, Pages};
pub use consistency::Consistency;
pub use costs::costs;
pub use crossing::Leaving;
pub use dram::DramTiming;
pub use driver::DriverStep;
pub use error::{GpuRunError, MOST_GPUS};
pub use memory_system::{
    AnyProtocol, InOrder, MemorySystem, VisitMemorySystems, memory_system, memory_systems,
    visit_memory_systems,
};
pub use placement::{RemoteError, can_be_remote};
pub use requests::ServedBy;
pub use run::{GpuOptions, GpuRun, Play, build, run, step};
pub use shared_bytes::{SharedBytes, shared_bytes};
pub use statistics::{CacheCounts, InstructionCounts, MemoryCounts};
pub use stepped::SteppedRun;
pub use timeline::{GroupSpan, Timeline};
