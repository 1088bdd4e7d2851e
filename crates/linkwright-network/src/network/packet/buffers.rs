//! Sizes the buffers of switches, and tells the rate that a buffer allows.
//!
//! A packet takes a place when it leaves for the buffer. The place is the sender's again once the
//! packet has left it and the credit is back. A channel with places for all that it sends in that time
//! is busy as long as it has packets; one with fewer waits.

use super::settings::{PacketSettings, Switching, serialisation};
use crate::system::fabric::{End, Fabric};
use crate::units::{Bandwidth, Picoseconds};

/// A buffer holds this many packets where nobody says and its channel needs no more. The number is that
/// of the TraceR-CODES study.
pub const LEAST_BUFFER_PACKETS: u16 = 8;

/// A message of a line takes no more bytes of a buffer: 64 of data, its own header, and a packet's.
const MOST_OF_LINE: u64 = 128;

/// For how long a packet that never waits takes a place, by the clock of its channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RoundTrip {
    /// How long the channel takes for a full packet.
    pub(super) packet: u64,
    /// From the first byte's departure to when the credit is back.
    pub(super) time: u64,
}

impl RoundTrip {
    /// How many packets the channel sends in that time.
    fn packets(self) -> u64 {
        self.time.div_ceil(self.packet.max(1))
    }
}

impl PacketSettings {
    /// Returns the packets that every buffer holds at least.
    #[must_use]
    pub fn least_buffer(&self) -> u16 {
        self.buffer_packets.unwrap_or(LEAST_BUFFER_PACKETS)
    }

    /// Returns the round trip over a channel that takes the time `packet` for a full packet. The packet
    /// may go on a `delay` later, over a channel that is no slower; the credit takes `credit`.
    pub(super) fn round_trip(&self, packet: u64, delay: u64, credit: u64) -> RoundTrip {
        let packets = match self.switching {
            Switching::StoreAndForward => 2,
            // A packet leaves as it comes.
            Switching::CutThrough => 1,
        };
        let crossing = packet.saturating_mul(packets);
        RoundTrip { packet, time: crossing.saturating_add(delay).saturating_add(credit) }
    }

    /// Returns the messages of a kernel's caches that a buffer holds in each of their classes, whose round trip is
    /// that of the smallest. They are as large as its packets together. Where nobody asks for a number of these, they are as
    /// many as the channel sends in a round trip where that is more.
    pub(super) fn lines_behind(&self, packets: u16, smallest: RoundTrip) -> u16 {
        let lines = (u64::from(packets) * self.packet_size.0).div_ceil(MOST_OF_LINE);
        let needed = if self.buffer_packets.is_none() { smallest.packets() } else { 0 };
        u16::try_from(lines.max(needed)).unwrap_or(u16::MAX)
    }

    /// Returns the packets that a buffer holds: the number that is asked for. Without one it is
    /// [`LEAST_BUFFER_PACKETS`], or what its channel sends in a round trip where that is more.
    pub(super) fn buffer_behind(&self, trip: RoundTrip) -> u16 {
        let needed = || u16::try_from(trip.packets()).unwrap_or(u16::MAX);
        self.buffer_packets.unwrap_or_else(|| needed().max(LEAST_BUFFER_PACKETS))
    }
}

/// A link of a fabric that waits for credits though nothing is in its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NarrowBuffer {
    /// How many packets the buffer behind it holds.
    pub packets: u16,
    /// How many it would need.
    pub needed: u64,
    /// The link could carry this.
    pub bandwidth: Bandwidth,
    /// It carries this with that buffer, at most.
    pub carried: Bandwidth,
    /// After how long a place is free again.
    pub round_trip: Picoseconds,
}

impl NarrowBuffer {
    /// Finds the link of a fabric that these settings let carry the least share of its bandwidth. Returns
    /// None where none waits.
    #[must_use]
    pub fn find(fabric: &Fabric, settings: &PacketSettings) -> Option<Self> {
        let into_switches = fabric.channels().iter().filter(|it| matches!(it.to, End::Switch(_)));
        let narrow = into_switches.filter_map(|channel| {
            let packet = serialisation(settings.packet_size.0, channel.bandwidth);
            let delay = channel.latency.0.saturating_add(settings.router_delay.0);
            let trip = settings.round_trip(packet, delay, channel.latency.0);
            let (packets, needed) = (settings.buffer_behind(trip), trip.packets());
            (u64::from(packets) < needed).then(|| {
                let carried =
                    u128::from(channel.bandwidth.0) * u128::from(packets) * u128::from(packet)
                        / u128::from(trip.time);
                Self {
                    packets,
                    needed,
                    bandwidth: channel.bandwidth,
                    carried: Bandwidth(carried as u64),
                    round_trip: Picoseconds(trip.time),
                }
            })
        });
        // Shares are compared in parts of 2^64; the first of equal ones is told.
        narrow.min_by_key(|it| {
            u128::from(it.carried.0) * u128::from(u64::MAX) / u128::from(it.bandwidth.0)
        })
    }
}
