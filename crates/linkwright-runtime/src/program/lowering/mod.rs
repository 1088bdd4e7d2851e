//! Turns collectives into point-to-point messages.
//!
//! A program says that its ranks broadcast, not how. A player or writer of a program hands over a
//! [`Lowering`]. It says how one rank takes part in one [`CollectiveCall`]. The lowerings of MPI's
//! algorithms and of planned schedules stand above this layer. The player of a call maps places to
//! ranks and gives every call a tag space of its own. [`lower_program`] does it for a whole
//! program.

#[cfg(test)]
pub(crate) mod pairs;
mod whole;

pub use whole::{LoweringError, lower_program};

use super::kernel::KernelCall;
use super::{CollectiveKind, CommunicatorId, RankProgram};
use crate::units::Bytes;

/// Describes one rank's part of a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CollectiveCall {
    /// Says which collective it is.
    pub kind: CollectiveKind,
    /// How many ranks the communicator has.
    pub ranks: u32,
    /// Gives this rank's place among them.
    pub index: u32,
    /// The root's place among them; zero where there is no root.
    pub root: u32,
    /// Counts the bytes that each rank contributes, as in
    /// [`Operation::Collective`](super::Operation). For broadcast, the reductions and scan it is
    /// the whole vector. For gather, scatter, all-gather and all-to-all it is each rank's part. In
    /// reduce-scatter a rank keeps the share `size * me / ranks` to `size * (me + 1) / ranks` of
    /// the vector, rounded down.
    pub size: Bytes,
    /// Gives the lowering's number of the way in which this communicator does it; zero for its
    /// usual one.
    pub variant: u32,
}

/// Writes a collective as sends, receives and computation.
///
/// The ranks of its operations are places in the communicator, their tags number the phases, and
/// receives name their source. The communicator that they name is ignored. The program has no
/// collectives and no main loop. The same call always gives the same program.
pub trait Lowering {
    /// Returns the program of one rank in a collective.
    fn lower(&self, call: &CollectiveCall) -> RankProgram;

    /// Returns the same program in parts, so that a long one need not stand in memory as a whole. A
    /// part begins at a place in the program, zero first. With it comes the place from which to go
    /// on when all of the part is complete; none behind the last. A part is empty only where the
    /// whole is.
    fn part(&self, call: &CollectiveCall, from: u32) -> (RankProgram, Option<u32>) {
        let _ = from;
        (self.lower(call), None)
    }

    /// Returns the kernel as which the collective is played under NCCL's protocol, the same for all
    /// of its ranks. By default there is none, and the collective is played as messages under
    /// MPI's.
    fn kernel(&self, call: &CollectiveCall) -> Option<KernelCall> {
        let _ = call;
        None
    }

    /// Returns the variant that one communicator of a job, by its index, takes for a collective
    /// with that place of the root. It covers everything that depends on where the ranks run. Calls
    /// of one variant that agree in all else have one program.
    fn variant(
        &self,
        job: u32,
        communicator: CommunicatorId,
        kind: CollectiveKind,
        root: u32,
    ) -> u32 {
        let _ = (job, communicator, kind, root);
        0
    }
}

impl<F: Fn(&CollectiveCall) -> RankProgram> Lowering for F {
    fn lower(&self, call: &CollectiveCall) -> RankProgram {
        self(call)
    }
}
