//! Charges messages and collectives for their costs beyond the network, and lets them wait.
//!
//! A protocol of collectives is a type with a state of its own that implements [`ProtocolState`], and one
//! line of [`all`]. Messages are the runtime's own ([`MpiProtocol`]).

mod mpi;
mod nccl;
mod protocol;
mod timed;

pub use mpi::{MpiProtocol, Rendezvous};
pub use protocol::{Ports, ProtocolCall, ProtocolKind, ProtocolOffer, ProtocolState, StuckCall};

/// Linkwright's own, in the order in which calls are offered to them.
pub(super) fn all() -> Vec<Box<dyn ProtocolState>> {
    vec![Box::new(timed::TimedCalls::default()), Box::new(nccl::Kernels::new())]
}
