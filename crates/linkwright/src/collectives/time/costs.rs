//! What a transfer costs beside its bytes.

use crate::units::Picoseconds;

use super::super::schedule::Protocol;

/// Where a connection leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    Fabric,
    Host,
    Network,
}

/// Latencies and data share of one protocol.
///
/// They are those of NCCL 2.30 (`src/graph/tuning.cc`): one base latency for each operation and
/// one for each hop by kind of link. What a long transfer reaches of its links' peak stands on
/// the links' kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Costs {
    /// Before anything moves: launching the kernel on all GPUs.
    pub base: Picoseconds,
    /// From the last byte sent to the next step of the receiver, over NVLink or xGMI.
    pub fabric_hop: Picoseconds,
    /// The same over PCIe.
    pub host_hop: Picoseconds,
    /// The same between servers.
    pub network_hop: Picoseconds,
    /// The part of the bytes on a link that is data: 1 for [`Protocol::Simple`].
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

const fn nanoseconds(value: u64) -> Picoseconds {
    Picoseconds(value * 1_000)
}

impl Costs {
    /// NCCL's constants for a protocol's trees, of which a schedule in general is made.
    #[must_use]
    pub const fn of(protocol: Protocol) -> Self {
        let (base, fabric, host, network, data_share) = match protocol {
            Protocol::LL => (6_800, 600, 1_000, 5_000, 0.5),
            Protocol::LL128 => (14_000, 1_250, 1_900, 8_500, 0.92),
            Protocol::Simple => (8_400, 4_000, 4_000, 14_000, 1.0),
        };
        Self {
            base: nanoseconds(base),
            fabric_hop: nanoseconds(fabric),
            host_hop: nanoseconds(host),
            network_hop: nanoseconds(network),
            data_share,
            slots: 2,
            stream_reuse: true,
            peer_access_switch: Picoseconds(0),
        }
    }

    pub(super) const fn hop(&self, reach: Reach) -> Picoseconds {
        match reach {
            Reach::Fabric => self.fabric_hop,
            Reach::Host => self.host_hop,
            Reach::Network => self.network_hop,
        }
    }
}
