//! Plays a tenant's GPU that shares its host's PCIe bus: copy, then execute.
//!
//! Each rank copies the input of an iteration from its host to its GPU, computes, and copies the
//! output back. After Li et al., "Priority-Based PCIe Scheduling for Multi-Tenant Multi-GPU
//! Systems" (IEEE CAL 2019), Section 1: a kernel cannot start until its data is there. Ranks do not
//! talk to each other. The model leaves out the launch of a kernel, and copies that overlap with
//! the kernel of the iteration before.

use serde::Deserialize;

use super::exchange::compute;
use super::{Skeleton, SkeletonError, check_ranks, parameters, program_of};
use crate::network::RouteClass;
use crate::program::{CopyDirection, Operation, Program, RankBuilder};
use crate::units::{Bytes, Picoseconds};

/// The application, for the list of all. Its kernels' times are those of GPUs already.
pub const APPLICATION: Skeleton = Skeleton {
    name: NAME,
    summary: "copies from the host, kernels, and copies back, on each GPU for itself",
    gpu_speedup: 1.0,
    placed: None,
    generate: |ranks, options| parameters::<CopyExecute>(NAME, options)?.program(ranks),
};

const NAME: &str = "copy-execute";

/// Holds the parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CopyExecute {
    /// Counts the bytes that an iteration copies to the GPU; 1 MiB by default.
    pub input: Bytes,
    /// Counts the bytes that it copies back; nothing by default.
    pub output: Bytes,
    /// Holds the time that the GPU computes; 10 µs by default.
    pub kernel: Picoseconds,
}

impl Default for CopyExecute {
    fn default() -> Self {
        Self { input: Bytes(1 << 20), output: Bytes(0), kernel: Picoseconds(10_000_000) }
    }
}

impl CopyExecute {
    /// Writes the program.
    ///
    /// # Errors
    /// Refuses no ranks, and too many of them.
    pub fn program(&self, ranks: u32) -> Result<Program, SkeletonError> {
        check_ranks(NAME, ranks)?;
        program_of(NAME, ranks, |_| {
            let mut rank = RankBuilder::default();
            rank.begin_body();
            let copy = |rank: &mut RankBuilder, direction, size: Bytes| {
                if size.0 > 0 {
                    rank.run(Operation::Copy { direction, size, route: RouteClass::Any });
                }
            };
            copy(&mut rank, CopyDirection::HostToDevice, self.input);
            compute(&mut rank, self.kernel);
            copy(&mut rank, CopyDirection::DeviceToHost, self.output);
            rank.end_body();
            rank.finish()
        })
    }
}
