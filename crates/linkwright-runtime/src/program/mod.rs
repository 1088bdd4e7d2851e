//! Holds programs: the operations of every rank of a job.
//!
//! A [`Program`] is data. A replayed trace, an application's skeleton and a training step are
//! all the same thing: per rank, operations and what each of them waits for. Nothing here
//! knows of machines or networks.

use serde::{Deserialize, Serialize};
mod build;
pub mod goal;
pub mod kernel;
pub mod lowering;
mod operation;
pub mod otf2;
#[doc(hidden)]
pub mod rendezvous;
pub mod skeletons;
pub mod tables;
pub mod trace;
pub mod workload;

use crate::units::Bytes;
pub use build::{PendingOperation, RankBuilder};

pub use operation::{CollectiveKind, CopyDirection, Dependency, Operation, Rank, Tag};

/// The most that one message, or one collective for each rank, may carry: some times the memory
/// of any GPU. A packet network plays a message packet by packet, and one of an exabyte for ever.
pub const MOST_MESSAGE: Bytes = Bytes(1 << 40);

/// Gives the index of a communicator in [`Program::communicators`].
pub type CommunicatorId = u32;

/// The communicator of all ranks, which every program has.
pub const WORLD: CommunicatorId = 0;

/// Holds the operations of every rank of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Names it for people.
    pub name: String,
    /// The ranks of each communicator, in the order of their ranks in it; the first holds all.
    pub communicators: Vec<Vec<Rank>>,
    /// Names of regions, which [`Operation::Enter`] and [`Operation::Leave`] refer to.
    pub regions: Vec<String>,
    /// Holds the program of each rank.
    pub ranks: Vec<RankProgram>,
}

/// Holds the operations of one rank, each behind those that it depends on.
///
/// An operation depends only on operations before it, so that there is no cycle.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RankProgram {
    operations: Vec<Operation>,
    /// Where each operation's dependencies start; one more than there are operations.
    dependency_start: Vec<u32>,
    dependencies: Vec<Dependency>,
    /// Gives the range of the main loop's operations, which iterations repeat.
    body: Option<(u32, u32)>,
}

impl RankProgram {
    /// Returns the operations.
    #[must_use]
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Copies the program with other operations in the places of these.
    #[must_use]
    pub fn mapped(&self, with: impl FnMut(Operation) -> Operation) -> Self {
        Self { operations: self.operations.iter().copied().map(with).collect(), ..self.clone() }
    }

    /// Lists the dependencies of an operation.
    ///
    /// # Panics
    /// For an operation that is not there.
    #[must_use]
    pub fn dependencies(&self, operation: usize) -> &[Dependency] {
        let from = self.dependency_start[operation] as usize;
        let to = self.dependency_start[operation + 1] as usize;
        &self.dependencies[from..to]
    }

    /// Returns the operations of the main loop: the first and one past the last.
    #[must_use]
    pub fn body(&self) -> Option<(u32, u32)> {
        self.body
    }
}
