//! Jobs on the GPUs of several servers: which servers each gets, how many GPUs of each, and which there.
//!
//! [`ServerRules`] choose the servers, for the queue of a simulated day, too. A policy chooses the GPUs of each.
//! [`ClusterAllocator`] keeps the state of a live cluster by both.
//!
//! It leaves out the links between servers but for the leaf that each is on.

mod allocator;
mod explanation;
mod holders;
mod rules;
mod saved;
mod servers;
mod shares;
#[cfg(test)]
mod tests;

pub use allocator::{ClusterAllocator, ClusterRequest, ServerPart, Servers};
pub use explanation::ClusterExplanation;
pub use rules::{ClusterAsk, ServerRules};
pub use servers::ServerChoice;
pub use shares::{leaves, shares};
