//! What a kernel's transfers cost beside their bytes.

use crate::units::Picoseconds;

/// Over what a connection leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// NVLink or xGMI.
    Fabric,
    /// PCIe and what joins sockets.
    Host,
    /// To another server.
    Network,
}

/// Latencies and data share of one of NCCL's protocols, and what its connections hold.
///
/// The latencies are those of NCCL 2.30 (`src/graph/tuning.cc`): one for the launch of each
/// operation and one for each hop by kind of link. What a long transfer reaches of its links'
/// peak stands on the links' kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NcclProtocol {
    /// Before anything moves: launching the kernel on a GPU.
    pub launch: Picoseconds,
    /// From the last byte sent to the next step of the receiver, over NVLink or xGMI.
    pub fabric_hop: Picoseconds,
    /// The same over PCIe.
    pub host_hop: Picoseconds,
    /// The same between servers.
    pub network_hop: Picoseconds,
    /// The part of the bytes on a link that is data: 1 for the protocol `Simple`.
    pub data_share: f64,
    /// How many sends a connection holds that the receiver has not taken yet.
    pub slots: u32,
    /// Whether the trees between two GPUs take turns chunk by chunk (Blink's reuse of CUDA
    /// streams), so that each gets a link in proportion to its data; else they share it
    /// equally, however much each has to move.
    pub stream_reuse: bool,
    /// Time to switch peer access off before PCIe carries data beside NVLink (Blink's T_dpa).
    pub peer_access_switch: Picoseconds,
}

impl NcclProtocol {
    /// From the last byte sent over such a connection to the next step of its receiver.
    #[must_use]
    pub const fn hop(&self, reach: Reach) -> Picoseconds {
        match reach {
            Reach::Fabric => self.fabric_hop,
            Reach::Host => self.host_hop,
            Reach::Network => self.network_hop,
        }
    }
}
