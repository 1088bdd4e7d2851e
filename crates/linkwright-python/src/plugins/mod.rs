//! Asks classes in Python as the core's rules are asked: policies, orders of network interfaces and routings.
//!
//! A rule of the core gives no errors. An exception of a class waits in [`crate::raised`] until the run is left,
//! which ends soon.

pub mod contract;
mod machine;
mod nic;
mod policy;
mod routing;

pub use machine::{Machine, Request, Selection};
pub use nic::QueuedMessage;
pub use routing::Packet;
