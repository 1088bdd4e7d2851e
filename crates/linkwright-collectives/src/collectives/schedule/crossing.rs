//! How a connection gets from one server to another.

use serde::{Deserialize, Serialize};

/// Says by which network interfaces a connection leaves its server and arrives at another.
///
/// An interface is named by its place among those of its server, in the order of their devices: its rail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Crossing {
    /// It sends.
    pub from: usize,
    /// It receives.
    pub to: usize,
    /// The GPU that hands the data to the interface where the sender does not, by its id in the machine. The sender
    /// writes to its memory over NVLink (NCCL's PXN).
    pub through: Option<usize>,
    /// The interface by which data leaves.
    pub leaves: u8,
    /// The interface by which it arrives.
    pub arrives: u8,
    /// Whether the data waits in the memory of the sender's host, since no GPUDirect leads to the interface.
    pub leaves_by_memory: bool,
    /// Says the same of the receiver's host.
    pub arrives_by_memory: bool,
}
