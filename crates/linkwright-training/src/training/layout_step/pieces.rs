//! What a block is made of on one GPU: kernels, and exchanges with the GPUs that have its other parts.

use super::works::TokenWork;
use crate::program::CollectiveKind;
use crate::training::layout::RankGroup;
use crate::units::Bytes;

/// A collective of one of a rank's groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupCall {
    /// Whose.
    pub group: RankGroup,
    /// Which.
    pub kind: CollectiveKind,
    /// As operations of a program count it.
    pub size: Bytes,
}

/// Which computing a collective may hide behind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Hidden {
    /// None: what follows waits for it, and it waits for what was before.
    Nothing,
    /// The last part of the kernel before it.
    Before(f64),
    /// The first part of the kernel behind it.
    Behind(f64),
}

/// A collective between kernels, forward and backward.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Meeting {
    pub forward: Option<(GroupCall, Hidden)>,
    pub backward: Option<(GroupCall, Hidden)>,
    /// What names it to a recomputation: kernels of this name come with it.
    pub with: &'static str,
}

/// A part of a block, in the order of the forward pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Piece {
    Work(TokenWork),
    Meeting(Meeting),
    /// Attention of which each turn takes keys and values of one part of the sequence while those of the next come.
    Ring {
        work: TokenWork,
        turns: u64,
        /// What comes in each turn, forward and backward.
        sizes: [Bytes; 2],
    },
}
