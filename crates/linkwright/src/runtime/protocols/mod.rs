//! What messages and transfers cost beyond the network, and what they wait for.

mod mpi;

pub use mpi::{MpiProtocol, Rendezvous};
