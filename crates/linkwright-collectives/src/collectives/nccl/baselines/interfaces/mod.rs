//! Tells how channels between servers are dealt to network interfaces.
//!
//! NCCL's search goes over all interfaces of a server in turn. For each it makes a chain through the server's GPUs that
//! enters by it. Where it can, the chain leaves by it again, so that a ring stays on one rail. It keeps the channels that
//! carry the most together (NCCL 2.30.7, `src/graph/search.cc`: `ncclTopoSearchRecNet`, `ncclTopoSelectNets`,
//! `ncclTopoCompute`). So does this. A way to deal channels carries what its fullest link lets it, as long transfers reach
//! that. Of about equal ways the first that NCCL would try is taken. RCCL goes by the same source without forwarding
//! GPUs (`PXN_DISABLE` is 1 in its `src/graph/paths.cc`), and lists the chains of eight MI300X.
//!
//! Left out are the rates that NCCL counts on in place of the links' own, and its limit of time.

mod chains;
mod crossings;
mod deal;
mod dealing;
mod reach;
mod side;

pub(in crate::collectives) use self::crossings::Messages;
pub(super) use self::deal::Deal;
pub use self::dealing::CrossNic;
pub(in crate::collectives) use self::dealing::Dealing;

#[cfg(test)]
mod tests;
