//! Lists the parts of a block on one GPU: kernels, and exchanges with the GPUs that have its other parts.

use super::works::TokenWork;
use crate::program::CollectiveKind;
use crate::training::layout::RankGroup;
use crate::units::Bytes;

/// A collective that one of a rank's groups runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupCall {
    /// The group that runs it.
    pub group: RankGroup,
    /// It is of this kind.
    pub kind: CollectiveKind,
    /// It counts as in operations of a program.
    pub size: Bytes,
}

/// Which computing a collective may hide behind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Hidden {
    /// It hides behind nothing: it waits for the kernel before it, and the next kernel waits for it.
    Nothing,
    /// It hides behind this last part of the kernel before it.
    Before(f64),
    /// It hides behind this first part of the kernel after it.
    Behind(f64),
}

/// A collective that stands between kernels, forward and backward.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Meeting {
    pub forward: Option<(GroupCall, Hidden)>,
    pub backward: Option<(GroupCall, Hidden)>,
    /// Recomputation knows it by this name: kernels of the same name come with it.
    pub with: &'static str,
}

/// A part of a block; parts are in the order of the forward pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Piece {
    Work(TokenWork),
    Meeting(Meeting),
    /// Attention in turns. Each turn takes keys and values of one part of the sequence, while the next ones come.
    Ring {
        work: TokenWork,
        turns: u64,
        /// Each turn receives these, forward and backward.
        sizes: [Bytes; 2],
    },
}
