//! Times bytes of truly shared memory on a GPU's links, whose banks are busy alike.

use super::address::LINE;
use super::costs::messages;
use super::memory_system::MemorySystem;
use super::wiring::shared_time;
use crate::system::gpus::Hierarchy;
use crate::units::{Bandwidth, Picoseconds};

/// Seconds for which a byte keeps the links between a GPU and truly shared memory: to memory, and from it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SharedBytes {
    /// Of a byte that is read.
    pub read: [f64; 2],
    /// Of a byte that is written.
    pub written: [f64; 2],
}

/// Gives what bytes take whose lines are read and written whole, by the messages of a memory system.
///
/// The links are those that runs of kernels go over ([`wiring::shared`](super::wiring::shared)).
#[must_use]
pub fn shared_bytes(
    hierarchy: &Hierarchy,
    memory: &dyn MemorySystem,
    bandwidth: Bandwidth,
) -> SharedBytes {
    let [ask, write, give, written] = messages(hierarchy, memory).map(|(_, bytes, _)| {
        let time = Picoseconds(shared_time(hierarchy, bandwidth, bytes)).as_seconds();
        time / (LINE * u64::from(hierarchy.second.banks)) as f64
    });
    SharedBytes { read: [ask, give], written: [write, written] }
}
