//! What messages and transfers cost beyond the network, and what they wait for.

mod mpi;
pub(super) mod nccl;

pub use mpi::{MpiProtocol, Rendezvous};
