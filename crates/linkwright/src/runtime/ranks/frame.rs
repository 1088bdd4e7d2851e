//! A program as it runs: that of a rank, or that of its part in a collective.

use crate::program::lowering::CollectiveCall;

/// An operation of a frame, in one iteration of its loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::runtime) struct OperationRef {
    pub(in crate::runtime) frame: u32,
    pub(in crate::runtime) operation: u32,
    pub(in crate::runtime) iteration: u32,
}

/// Where a frame comes from that plays a collective.
#[derive(Debug, Clone, Copy)]
pub(in crate::runtime) struct CollectiveFrame {
    /// The collective's operation.
    pub(in crate::runtime) parent: OperationRef,
    pub(in crate::runtime) call: CollectiveCall,
    /// The communicator, among all of the runtime.
    pub(in crate::runtime) communicator: u32,
    /// What its messages match within.
    pub(in crate::runtime) context: u32,
    pub(in crate::runtime) since: u64,
    /// Where the collective goes on when the part that is played is complete.
    pub(in crate::runtime) next: Option<u32>,
}

/// A program as it runs: a rank's, or that of its part in a collective.
#[derive(Debug, Clone)]
pub(in crate::runtime) struct Frame {
    /// The rank, among all of the runtime.
    pub(in crate::runtime) rank: u32,
    pub(in crate::runtime) plan: u32,
    pub(in crate::runtime) collective: Option<CollectiveFrame>,
    /// How much each operation of the current iteration still waits for.
    pub(in crate::runtime) waits: Vec<u32>,
    pub(in crate::runtime) iteration: u32,
    pub(in crate::runtime) iterations: u32,
    /// How many operations of all iterations have not completed.
    pub(in crate::runtime) left: u64,
}
