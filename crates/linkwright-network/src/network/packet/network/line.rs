//! Holds the state of a channel at work.

use super::super::arbitration::ArbiterMemory;
#[cfg(doc)]
use super::super::packets::INSIDE;
use super::super::packets::TO_NODE;
use super::super::queues::Bank;
use super::super::settings::{PacketSettings, serialisation};
use super::super::statistics::ChannelStatistics;
#[cfg(doc)]
use super::PacketEvent;
use crate::system::fabric::{ChannelId, End, Fabric, SwitchId};
use crate::units::Bytes;

/// Holds the state of a channel at work, in two cache lines. The first line holds everything that
/// each packet needs.
#[derive(Debug, Clone, Copy)]
#[repr(align(128))]
pub(super) struct Line {
    /// Until when it carries a packet.
    pub(super) busy: u64,
    /// The earliest [`PacketEvent::Wake`] that is scheduled; `u64::MAX` where none is.
    pub(super) wake: u64,
    /// How long a full packet takes.
    pub(super) full: u64,
    /// Holds the time from its last byte's departure to where it may go on: the latency, and the
    /// delay of a switch's router.
    pub(super) delay: u64,
    pub(super) bank: Bank,
    /// Counts the packets that wait.
    pub(super) waiting: u32,
    pub(super) memory: ArbiterMemory,
    /// The switch to which it leads; [`TO_NODE`] where it leads to a packet's end, [`INSIDE`]
    /// where it leads to another device of a server.
    pub(super) to: SwitchId,
    /// Gives the port of that switch.
    pub(super) port: u16,
    pub(super) carried: ChannelStatistics,
}

impl Line {
    /// One that has carried nothing.
    pub(super) const REST: Self = Self {
        busy: 0,
        wake: u64::MAX,
        full: 0,
        delay: 0,
        bank: Bank::NONE,
        waiting: 0,
        memory: ArbiterMemory { next: 0, passed: 0 },
        to: TO_NODE,
        port: 0,
        carried: ChannelStatistics { packets: 0, data: Bytes(0), longest_queue: 0 },
    };
}

/// A channel of the fabric at rest; where it leaves a switch, with a bank of queues for it.
pub(super) fn line(
    fabric: &Fabric,
    channel: ChannelId,
    settings: &PacketSettings,
    virtual_channels: u8,
) -> Line {
    let data = fabric.channels()[channel as usize];
    let bank = match data.from {
        End::Switch(switch) => Bank::new(fabric.outgoing(switch).len() as u16, virtual_channels),
        End::Node(_) => Bank::NONE,
    };
    let (to, port) = match data.to {
        End::Switch(switch) => {
            let ports = fabric.outgoing(switch);
            let back = Fabric::reverse(channel);
            (switch, ports.partition_point(|port| *port < back) as u16)
        }
        End::Node(_) => (TO_NODE, 0),
    };
    let router_delay = if to == TO_NODE { 0 } else { settings.router_delay.0 };
    Line {
        full: serialisation(settings.packet_size.0, data.bandwidth),
        delay: data.latency.0.saturating_add(router_delay),
        bank,
        to,
        port,
        ..Line::REST
    }
}
