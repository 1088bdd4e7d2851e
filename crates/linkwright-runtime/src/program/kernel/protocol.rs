//! Holds the costs of a kernel's transfers beside their bytes.

use crate::units::{Bandwidth, Bytes, Picoseconds};

/// Over what a connection leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Uses NVLink or xGMI, from GPU to GPU or through switches.
    Fabric,
    /// PCIe and what joins sockets.
    Host,
    /// Leads to another server.
    Network,
}

/// Holds the costs of one of NCCL's protocols on a generation of GPUs, and the room of its
/// connections.
///
/// Each term has a cause of its own. The source of its value stands beside it in
/// `collectives/schedule/time/terms.toml`. The part of their peak that links reach in a long
/// transfer stands on the links' kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NcclProtocol {
    /// Before anything moves: launching the kernel on a GPU.
    pub launch: Picoseconds,
    /// Holds the time from the last byte sent to the next step of the receiver, over NVLink or
    /// xGMI. It covers the sender's fence, the way of its flag, and the receiver's look at it.
    pub fabric_hop: Picoseconds,
    /// Holds the same time over PCIe.
    pub host_hop: Picoseconds,
    /// Holds the same time between servers.
    pub network_hop: Picoseconds,
    /// The part of the bytes on a link that is data: 1 for the protocol `Simple`.
    pub data_share: f64,
    /// Holds the rate at which a block writes data to its own GPU's memory that it takes and does
    /// not send on.
    pub copy_bandwidth: Bandwidth,
    /// The most that a block sends, on the wire, however wide its link is; none where a block
    /// fills any link.
    pub send_bandwidth: Option<Bandwidth>,
    /// How many sends a connection holds that the receiver has not taken yet.
    pub slots: u32,
    /// Says whether the trees between two GPUs take turns chunk by chunk (Blink's reuse of CUDA
    /// streams). Then each tree gets a link in proportion to its data. Else they share it equally,
    /// however much each has to move.
    pub stream_reuse: bool,
    /// Time to switch peer access off before PCIe carries data beside NVLink (Blink's T_dpa).
    pub peer_access_switch: Picoseconds,
}

impl NcclProtocol {
    /// Returns the time from the last byte sent over such a connection to the next step of its
    /// receiver.
    #[must_use]
    pub const fn hop(&self, reach: Reach) -> Picoseconds {
        match reach {
            Reach::Fabric => self.fabric_hop,
            Reach::Host => self.host_hop,
            Reach::Network => self.network_hop,
        }
    }

    /// Counts the bytes on a link that carry `data`.
    #[must_use]
    pub fn on_wire(&self, data: Bytes) -> Bytes {
        if self.data_share >= 1.0 {
            data
        } else {
            Bytes((data.0 as f64 / self.data_share).round() as u64)
        }
    }

    /// Returns the time that a block takes to write `data` to its own GPU's memory.
    #[must_use]
    pub fn copy_time(&self, data: Bytes) -> Picoseconds {
        Picoseconds((data.0 as f64 / self.copy_bandwidth.0 as f64 * 1e12).round() as u64)
    }
}
