//! The constants of NCCL's protocols.

use crate::program::kernel::NcclProtocol;
use crate::units::Picoseconds;

use super::super::schedule::Protocol;

const fn nanoseconds(value: u64) -> Picoseconds {
    Picoseconds(value * 1_000)
}

impl NcclProtocol {
    /// NCCL's constants for a protocol's trees, of which a schedule in general is made.
    #[must_use]
    pub const fn of(protocol: Protocol) -> Self {
        let (launch, fabric, host, network, data_share) = match protocol {
            Protocol::LL => (6_800, 600, 1_000, 5_000, 0.5),
            Protocol::LL128 => (14_000, 1_250, 1_900, 8_500, 0.92),
            Protocol::Simple => (8_400, 4_000, 4_000, 14_000, 1.0),
        };
        Self {
            launch: nanoseconds(launch),
            fabric_hop: nanoseconds(fabric),
            host_hop: nanoseconds(host),
            network_hop: nanoseconds(network),
            data_share,
            slots: 2,
            stream_reuse: true,
            peer_access_switch: Picoseconds(0),
        }
    }
}
