//! Holds MPI's algorithms, as rules that yield each rank's steps.
//!
//! They know nothing of the machine. They know only how many ranks there are, which of them is the
//! root, and which rank asks. The messages follow MPI implementations. The defaults
//! ([`MpiAlgorithm::default_for`]) follow TraceR, and MPICH where TraceR is silent. TraceR is the
//! replay tool of Bhowmik et al., "A Simulation Study of Hardware Parameters for Future GPU-based
//! HPC Platforms" (IPCCC 2021). No algorithm depends on buffering. The time of reductions and local
//! copies is left out.

mod algorithm;
mod exchange;
mod fold;
#[cfg(test)]
mod played;
mod ring;
#[cfg(test)]
mod tests;
mod tree;

use std::ops::Range;

pub use algorithm::{MpiAlgorithm, MpiError};

use crate::collectives::schedule::Slice;
use crate::collectives::schedule::collective::Collective as Of;
use crate::collectives::schedule::messages::{part, program};
use crate::collectives::schedule::source::{Group, ScheduleSource};
use crate::program::lowering::{CollectiveCall, Lowering};
use crate::program::{CollectiveKind, RankProgram};
use crate::units::Bytes;

/// The data of an algorithm that does not divide it.
const ONE: Range<u32> = 0..1;

/// How many operations of a long collective stand in memory at a time for each rank that plays it;
/// a group has whole.
const OPERATIONS_AT_ONCE: u32 = 64;

/// Describes one collective by one algorithm.
///
/// ```
/// use linkwright_collectives::collectives::messages::program;
/// use linkwright_collectives::collectives::mpi::{MpiAlgorithm, Source};
/// use linkwright_runtime::program::CollectiveKind;
/// use linkwright_ground::units::Bytes;
///
/// let broadcast = Source::new(CollectiveKind::Broadcast, MpiAlgorithm::BinaryTree, 7, 0)?;
/// let leaf = program(&broadcast, 6, Bytes(100));
/// assert_eq!(leaf.operations().len(), 1); // a leaf only receives
/// # Ok::<(), linkwright_collectives::collectives::mpi::MpiError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    kind: CollectiveKind,
    algorithm: MpiAlgorithm,
    ranks: u32,
    root: u32,
    /// Into how many blocks a vector is cut.
    blocks: u32,
}

impl Source {
    /// Makes the collective of `ranks` ranks. `root` is ignored where the collective has none.
    ///
    /// # Errors
    /// An algorithm that does not perform the collective, no ranks, and a root that is none of them.
    pub fn new(
        kind: CollectiveKind,
        algorithm: MpiAlgorithm,
        ranks: u32,
        root: u32,
    ) -> Result<Self, MpiError> {
        if !MpiAlgorithm::of(kind).contains(&algorithm) {
            return Err(MpiError::Unfit { kind, algorithm });
        }
        let root = if kind.has_root() { root } else { 0 };
        if root >= ranks {
            return Err(MpiError::Outside { index: root, ranks });
        }
        let divides = matches!(algorithm, MpiAlgorithm::RecursiveHalving | MpiAlgorithm::Ring);
        let blocks = if kind == CollectiveKind::AllReduce && divides { ranks } else { 1 };
        Ok(Self { kind, algorithm, ranks, root, blocks })
    }

    /// How often the number of ranks is halved, rounded up, until one is left.
    fn levels(&self) -> u32 {
        self.ranks.next_power_of_two().trailing_zeros()
    }
}

impl ScheduleSource for Source {
    fn collective(&self) -> Of {
        Of::of_program(self.kind, self.root as usize)
    }

    fn ranks(&self) -> usize {
        self.ranks as usize
    }

    fn chunks(&self) -> u32 {
        self.blocks
    }

    fn scratch_chunks(&self, rank: u32) -> u32 {
        use MpiAlgorithm as By;
        match (self.kind, self.algorithm) {
            _ if self.ranks == 1 => 0,
            (CollectiveKind::Reduce, _) => u32::from(rank != self.root),
            (CollectiveKind::Gather | CollectiveKind::Scatter, By::BinomialTree) => {
                self.binomial_scratch(rank)
            }
            (CollectiveKind::AllGather, By::Bruck) => self.ranks,
            (CollectiveKind::AllToAll, By::Bruck) => self.bruck_scratch(),
            (CollectiveKind::ReduceScatter, By::Ring) => 2,
            (CollectiveKind::ReduceScatter, _) => self.ranks,
            _ => 0,
        }
    }

    fn groups(&self, _: u32) -> u32 {
        use CollectiveKind as Of;
        use MpiAlgorithm as By;
        let (ranks, levels) = (self.ranks, self.levels());
        if ranks == 1 {
            return 1;
        }
        match (self.kind, self.algorithm) {
            (Of::Barrier | Of::AllReduce, By::BinaryTree) => 4,
            (_, By::BinaryTree) => 2,
            (Of::AllReduce, By::BinomialTree) => 2 * levels,
            (Of::Scan, By::Linear) => 2,
            (_, By::Linear) => 1,
            (Of::Scan, _) | (_, By::Dissemination | By::BinomialTree | By::Bruck) => levels,
            (Of::AllReduce, By::RecursiveHalving) => self.fold_groups(2),
            (_, By::RecursiveDoubling | By::RecursiveHalving) => self.fold_groups(1),
            (Of::AllReduce, By::Ring) => 2 * (ranks - 1),
            (_, By::Ring | By::Pairwise) => ranks - 1,
            (_, By::Blocked) => (ranks - 1).div_ceil(exchange::BLOCK),
        }
    }

    fn group(&self, me: u32, number: u32, group: &mut Group) {
        use CollectiveKind as Of;
        use MpiAlgorithm as By;
        group.tag = number;
        if self.ranks == 1 {
            group.copy(Slice::input(0), Slice::output(0), self.blocks);
            return;
        }
        match (self.kind, self.algorithm) {
            (Of::Reduce, By::BinaryTree) => {
                self.binary_up(me, number, group);
                group.tag = 0;
            }
            (Of::Broadcast, By::BinaryTree) => {
                self.binary_down(me, number, group);
                group.tag = 0;
            }
            (_, By::BinaryTree) if number < 2 => {
                self.binary_up(me, number, group);
                group.tag = 0;
            }
            (_, By::BinaryTree) => {
                self.binary_down(me, number - 2, group);
                group.tag = 1;
            }
            (Of::Broadcast, By::BinomialTree) => self.binomial_down(me, number, group),
            (Of::Gather, By::BinomialTree) => self.binomial_gather(me, number, group),
            (Of::Scatter, By::BinomialTree) => self.binomial_scatter(me, number, group),
            (_, By::BinomialTree) => match number.checked_sub(self.levels()) {
                None => self.binomial_up(me, number, group),
                Some(step) => self.binomial_down(me, step, group),
            },
            (Of::Gather, By::Linear) => self.linear_gather(me, group),
            (Of::Scatter, By::Linear) => self.linear_scatter(me, group),
            (_, By::Linear) => self.scan_linear(me, number, group),
            (_, By::Dissemination) => self.dissemination(me, number, group),
            (Of::Scan, _) => self.scan_doubling(me, number, group),
            (_, By::RecursiveDoubling) => self.all_reduce_doubling(me, number, group),
            (Of::AllReduce, By::RecursiveHalving) => self.all_reduce_halving(me, number, group),
            (_, By::RecursiveHalving) => self.reduce_scatter_halving(me, number, group),
            (Of::AllGather, By::Ring) => self.ring_all_gather(me, number, group),
            (_, By::Ring) => match number.checked_sub(self.ranks - 1) {
                None => self.ring_reduce_scatter(me, number, group),
                Some(phase) => self.ring_all_gather(me, phase, group),
            },
            (Of::AllGather, By::Bruck) => self.all_gather_bruck(me, number, group),
            (_, By::Bruck) => self.all_to_all_bruck(me, number, group),
            (_, By::Pairwise) => self.all_to_all_pairwise(me, number, group),
            (_, By::Blocked) => self.all_to_all_blocked(me, number, group),
        }
    }
}

impl MpiAlgorithm {
    /// Returns the rule of a call and how much each rank contributes.
    fn source(self, call: &CollectiveCall) -> (Source, Bytes) {
        let CollectiveCall { kind, ranks, root, size, .. } = *call;
        let source = Source::new(kind, self, ranks, root);
        (source.expect("a call names places of its communicator and an algorithm"), size)
    }

    /// Returns the steps of one rank in a collective that the algorithm performs.
    ///
    /// # Panics
    /// Panics for another collective, and for places outside the communicator, which it does not
    /// know.
    #[must_use]
    pub fn lower(self, call: &CollectiveCall) -> RankProgram {
        let (source, size) = self.source(call);
        program(&source, call.index, size)
    }

    /// A part of it, as [`Lowering::part`] says.
    ///
    /// # Panics
    /// Panics as [`MpiAlgorithm::lower`] does.
    #[must_use]
    pub fn part(self, call: &CollectiveCall, from: u32) -> (RankProgram, Option<u32>) {
        let (source, size) = self.source(call);
        part(&source, call.index, size, from, OPERATIONS_AT_ONCE)
    }
}

/// Gives every collective its default algorithm.
#[derive(Debug, Clone, Copy, Default)]
pub struct ByDefault;

impl Lowering for ByDefault {
    fn lower(&self, call: &CollectiveCall) -> RankProgram {
        MpiAlgorithm::default_for(call.kind, call.ranks, call.size).lower(call)
    }

    fn part(&self, call: &CollectiveCall, from: u32) -> (RankProgram, Option<u32>) {
        MpiAlgorithm::default_for(call.kind, call.ranks, call.size).part(call, from)
    }
}
