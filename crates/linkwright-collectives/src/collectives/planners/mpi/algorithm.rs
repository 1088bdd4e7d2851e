//! The algorithms by name, and which collective takes which.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::diagnostic::{Diagnose, Diagnosis, instead_of, one_of};
use crate::program::CollectiveKind;
use crate::units::Bytes;

/// Says how a collective is performed with point-to-point messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum MpiAlgorithm {
    /// Takes a complete binary tree, numbered as a heap from the root: children `2i + 1`, `2i + 2`.
    BinaryTree,
    /// A binomial tree: a rank's parent is its number without the lowest set bit.
    BinomialTree,
    /// Sends from the root to each rank at once, or back; for scan it is a chain of ranks.
    Linear,
    /// Signals over distances of 1, 2, 4 and so on (Hensgen, Finkel, Manber 1988).
    Dissemination,
    /// Sends from every rank to its right neighbour, one block at a time.
    Ring,
    /// Exchanges of all that a rank has over distances of 1, 2, 4 and so on.
    RecursiveDoubling,
    /// Exchanges of halves, then of quarters (Rabenseifner 2004); for all-reduce followed by
    /// the way back.
    RecursiveHalving,
    /// Does an all-to-all in one exchange after another: `ranks - 1` phases.
    Pairwise,
    /// All-to-all with up to 32 sends and receives under way at once, as TraceR and MPICH do.
    Blocked,
    /// Sends logarithmically many messages of many blocks each (Bruck et al. 1997).
    Bruck,
}

/// A collective that cannot be performed as asked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum MpiError {
    /// It refuses an algorithm that performs other collectives.
    Unfit {
        /// It was to be performed.
        kind: CollectiveKind,
        /// It was asked for.
        algorithm: MpiAlgorithm,
    },
    /// It refuses a name that no algorithm of the collective has.
    Unknown {
        /// It was to be performed.
        kind: CollectiveKind,
        /// It was asked for.
        name: String,
    },
    /// A root that the communicator does not have.
    Outside {
        /// It lies outside.
        index: u32,
        /// How many ranks there are.
        ranks: u32,
    },
}

impl Diagnose for MpiError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Unfit { kind, algorithm } => {
                Diagnosis::of(format!("`{algorithm}` cannot perform {}", kind.name()))
                    .remedy(one_of(&names(*kind)))
            }
            Self::Unknown { kind, name } => {
                Diagnosis::of(format!("{} has no algorithm `{name}`", kind.name()))
                    .remedy(instead_of(name, &names(*kind)))
            }
            Self::Outside { index, ranks } => Diagnosis::of(format!(
                "there is no index {index} in a communicator of {ranks} \
                    ranks"
            )),
        }
    }
}

fn names(kind: CollectiveKind) -> Vec<&'static str> {
    MpiAlgorithm::of(kind).iter().map(|algorithm| algorithm.name()).collect()
}

/// The largest part of an all-to-all that goes by Bruck's algorithm by default: TraceR's
/// `TRACER_A2A_ALG_CUTOFF`.
const BRUCK_ALL_TO_ALL: u64 = 512;
/// The largest result of an all-gather that goes by Bruck's algorithm by default: TraceR's
/// `TRACER_ALLGATHER_ALG_CUTOFF`.
const BRUCK_ALL_GATHER: u64 = 163_840;
/// The largest vector of an all-reduce that goes by a tree by default: MPICH's
/// `MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE`.
const TREE_ALL_REDUCE: u64 = 2_048;
/// The smallest vector of a reduce-scatter that goes around a ring by default: MPICH's
/// `MPIR_CVAR_REDUCE_SCATTER_COMMUTATIVE_LONG_MSG_SIZE`.
const RING_REDUCE_SCATTER: u64 = 524_288;

impl MpiAlgorithm {
    /// Lists all of them.
    pub const ALL: [Self; 10] = [
        Self::BinaryTree,
        Self::BinomialTree,
        Self::Linear,
        Self::Dissemination,
        Self::Ring,
        Self::RecursiveDoubling,
        Self::RecursiveHalving,
        Self::Pairwise,
        Self::Blocked,
        Self::Bruck,
    ];

    /// Lists the algorithms that perform a collective, for any number of ranks and any root.
    #[must_use]
    pub fn of(kind: CollectiveKind) -> &'static [Self] {
        match kind {
            CollectiveKind::Barrier => &[Self::Dissemination, Self::BinaryTree],
            CollectiveKind::Broadcast | CollectiveKind::Reduce => {
                &[Self::BinaryTree, Self::BinomialTree]
            }
            CollectiveKind::AllReduce => &[
                Self::BinaryTree,
                Self::BinomialTree,
                Self::RecursiveDoubling,
                Self::RecursiveHalving,
                Self::Ring,
            ],
            CollectiveKind::Gather | CollectiveKind::Scatter => &[Self::BinomialTree, Self::Linear],
            CollectiveKind::AllGather => &[Self::Ring, Self::Bruck],
            CollectiveKind::ReduceScatter => &[Self::RecursiveHalving, Self::Ring],
            CollectiveKind::AllToAll => &[Self::Blocked, Self::Pairwise, Self::Bruck],
            CollectiveKind::Scan => &[Self::RecursiveDoubling, Self::Linear],
        }
    }

    /// Chooses one for a collective of this many ranks and this size where nothing else is asked.
    ///
    /// Broadcast, reduce and small all-reduce take binary trees, as TraceR. All-to-all takes Bruck
    /// up to 512 B a pair, as TraceR. Above it takes blocks of 32 messages, as TraceR does where
    /// the parts differ. All-gather takes Bruck up to 163,840 B in all, else the ring, as TraceR.
    /// The others follow MPICH. All-reduce above 2 KiB takes recursive halving. Reduce-scatter
    /// takes recursive halving below 512 KiB, else the ring. Gather and scatter take binomial
    /// trees, and scan recursive doubling. Barrier takes dissemination.
    #[must_use]
    pub fn default_for(kind: CollectiveKind, ranks: u32, size: Bytes) -> Self {
        match kind {
            CollectiveKind::Barrier => Self::Dissemination,
            CollectiveKind::Broadcast | CollectiveKind::Reduce => Self::BinaryTree,
            CollectiveKind::AllReduce if size.0 <= TREE_ALL_REDUCE => Self::BinaryTree,
            CollectiveKind::AllReduce => Self::RecursiveHalving,
            CollectiveKind::Gather | CollectiveKind::Scatter => Self::BinomialTree,
            CollectiveKind::AllGather
                if size.0.saturating_mul(u64::from(ranks)) <= BRUCK_ALL_GATHER =>
            {
                Self::Bruck
            }
            CollectiveKind::AllGather => Self::Ring,
            CollectiveKind::ReduceScatter if size.0 < RING_REDUCE_SCATTER => Self::RecursiveHalving,
            CollectiveKind::ReduceScatter => Self::Ring,
            CollectiveKind::AllToAll if size.0 <= BRUCK_ALL_TO_ALL => Self::Bruck,
            CollectiveKind::AllToAll => Self::Blocked,
            CollectiveKind::Scan => Self::RecursiveDoubling,
        }
    }

    /// Finds the algorithm of a name among those that perform a collective; the error tells these alone.
    ///
    /// # Errors
    /// A name that none of them has.
    pub fn named(kind: CollectiveKind, name: &str) -> Result<Self, MpiError> {
        let found = Self::of(kind).iter().find(|algorithm| algorithm.name() == name);
        found.copied().ok_or_else(|| MpiError::Unknown { kind, name: name.to_owned() })
    }

    /// Gives the name that people use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BinaryTree => "binary-tree",
            Self::BinomialTree => "binomial-tree",
            Self::Linear => "linear",
            Self::Dissemination => "dissemination",
            Self::Ring => "ring",
            Self::RecursiveDoubling => "recursive-doubling",
            Self::RecursiveHalving => "recursive-halving",
            Self::Pairwise => "pairwise",
            Self::Blocked => "blocked",
            Self::Bruck => "bruck",
        }
    }
}

linkwright_ground::named_by_all!(MpiAlgorithm, "algorithm of MPI");

impl fmt::Display for MpiAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
