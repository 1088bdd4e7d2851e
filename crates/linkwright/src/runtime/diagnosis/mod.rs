//! What an error names, and who waits for whom when nothing is left to happen.

pub(in crate::runtime) mod call;
pub(in crate::runtime) mod pending;
pub(in crate::runtime) mod stalled;
