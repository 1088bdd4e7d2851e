//! How a collective becomes messages.

use super::{Algorithm, lower};
use crate::program::{Collective, CommunicatorId, RankProgram};
use crate::units::Bytes;

/// One rank's part of a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CollectiveCall {
    /// Which collective.
    pub kind: Collective,
    /// How many ranks the communicator has.
    pub ranks: u32,
    /// This rank's place among them.
    pub index: u32,
    /// The root's place among them; zero where there is no root.
    pub root: u32,
    /// What each rank contributes; for all-to-all what it sends to each other rank.
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

    /// The variant that one communicator of a job, by its index, takes for a collective with that
    /// place of the root: what depends on where its ranks run. Calls of one variant that agree in
    /// all else have one program.
    fn variant(&self, job: u32, communicator: CommunicatorId, kind: Collective, root: u32) -> u32 {
        let _ = (job, communicator, kind, root);
        0
    }
}

impl<F: Fn(&CollectiveCall) -> RankProgram> Lowering for F {
    fn lower(&self, call: &CollectiveCall) -> RankProgram {
        self(call)
    }
}

/// Every collective by its default algorithm.
#[derive(Debug, Clone, Copy, Default)]
pub struct ByDefault;

impl Lowering for ByDefault {
    fn lower(&self, call: &CollectiveCall) -> RankProgram {
        let CollectiveCall { kind, ranks, index, root, size, .. } = *call;
        let algorithm = Algorithm::default_for(kind, ranks, size);
        lower(kind, algorithm, ranks, index, root, size)
            .expect("a call names places of its communicator")
    }
}
