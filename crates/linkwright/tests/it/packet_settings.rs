//! Holds the settings of a packet network in most tests.

use linkwright::network::packet::{PacketSettings, Switching};
use linkwright::units::{Bytes, Picoseconds};

/// The packets and delays of a scenario that says nothing, with buffers in which no packet waits for a
/// credit.
pub fn deep_buffers() -> PacketSettings {
    PacketSettings {
        packet_size: Bytes(4_096),
        buffer_packets: Some(64),
        router_delay: Picoseconds(60_000),
        nic_delay: Picoseconds(400_000),
        switching: Switching::StoreAndForward,
        pcie: None,
        seed: 1,
    }
}
