//! Collectives lowered to point-to-point messages.
//!
//! A program says that its ranks broadcast, not how. What it is played or written with hands over a
//! [`Lowering`], which says what one rank does in one [`CollectiveCall`]; those of MPI's algorithms
//! and of planned schedules stand above this layer. Who plays a call maps places to ranks and gives
//! every call a tag space of its own; [`lower_program`] does it for a whole program.

#[cfg(test)]
pub(crate) mod pairs;
mod whole;

pub use whole::{LoweringError, lower_program};

use super::kernel::KernelCall;
use super::{CollectiveKind, CommunicatorId, RankProgram};
use crate::units::Bytes;

/// One rank's part of a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CollectiveCall {
    /// Which collective.
    pub kind: CollectiveKind,
    /// How many ranks the communicator has.
    pub ranks: u32,
    /// This rank's place among them.
    pub index: u32,
    /// The root's place among them; zero where there is no root.
    pub root: u32,
    /// What each rank contributes, as in [`Operation::Collective`](super::Operation): the whole
    /// vector for broadcast, the reductions and scan, and each rank's part for gather, scatter,
    /// all-gather and all-to-all. In reduce-scatter a rank keeps the share `size * me / ranks` to
    /// `size * (me + 1) / ranks` of the vector, rounded down.
    pub size: Bytes,
    /// What the lowering calls the way in which this communicator does it; zero for its usual one.
    pub variant: u32,
}

/// Writes a collective as sends, receives and computation.
///
/// The ranks of its operations are places in the communicator, their tags number the phases
/// and receives name their source; the communicator that they name is ignored. The program has
/// no collectives and no main loop. The same call always gives the same program.
pub trait Lowering {
    /// What one rank does in a collective.
    fn lower(&self, call: &CollectiveCall) -> RankProgram;

    /// The same in parts, so that a long one need not stand in memory as a whole: what begins at a
    /// place in it, zero first, and the place from which to go on when all of the part is complete;
    /// none behind the last. A part is empty only where the whole is.
    fn part(&self, call: &CollectiveCall, from: u32) -> (RankProgram, Option<u32>) {
        let _ = from;
        (self.lower(call), None)
    }

    /// The kernel as which the collective is played under NCCL's protocol, the same for all of its
    /// ranks; by default none, and it is played as messages under MPI's.
    fn kernel(&self, call: &CollectiveCall) -> Option<KernelCall> {
        let _ = call;
        None
    }

    /// The variant that one communicator of a job, by its index, takes for a collective with that
    /// place of the root: what depends on where its ranks run. Calls of one variant that agree in
    /// all else have one program.
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
