//! A program as it runs: that of a rank, or that of its part in a collective.

use crate::program::lowering::CollectiveCall;

/// An operation of a frame, in one iteration of its loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OperationRef {
    pub(super) frame: u32,
    pub(super) operation: u32,
    pub(super) iteration: u32,
}

/// Where a frame comes from that plays a collective.
#[derive(Debug, Clone, Copy)]
pub(super) struct CollectiveFrame {
    /// The collective's operation.
    pub(super) parent: OperationRef,
    pub(super) call: CollectiveCall,
    /// The communicator, among all of the runtime.
    pub(super) communicator: u32,
    /// What its messages match within.
    pub(super) context: u32,
    pub(super) since: u64,
    /// Where the collective goes on when the part that is played is complete.
    pub(super) next: Option<u32>,
}

/// A program as it runs: a rank's, or that of its part in a collective.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    /// The rank, among all of the runtime.
    pub(super) rank: u32,
    pub(super) plan: u32,
    pub(super) collective: Option<CollectiveFrame>,
    /// How much each operation of the current iteration still waits for.
    pub(super) waits: Vec<u32>,
    pub(super) iteration: u32,
    pub(super) iterations: u32,
    /// How many operations of all iterations have not completed.
    pub(super) left: u64,
}
