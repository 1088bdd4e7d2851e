//! Jobs on the GPUs of several servers: which servers each gets, how many GPUs of each, and which there.
//!
//! The choice of servers is of [`ServerRules`], which the queue of a simulated day follows, too; which GPUs of a
//! server a job gets is a policy's. [`ClusterAllocator`] keeps the state of a live cluster by both.
//!
//! What it leaves out: the links between servers but for the leaf that each is on.

mod allocator;
mod explanation;
mod rules;
mod saved;
mod servers;
mod shares;
#[cfg(test)]
mod tests;

pub use allocator::{ClusterAllocator, ClusterRequest, Part, Servers};
pub use explanation::ClusterExplanation;
pub use rules::{Ask, ServerRules};
pub use servers::ServerChoice;
pub use shares::{leaves, shares};
