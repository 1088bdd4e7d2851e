//! Keeps how busy each channel is. Adaptive routing asks for it, and trains get the bandwidth that
//! fluids leave.

use crate::network::packet::{ChannelStatistics, PacketSettings, serialisation};
use crate::network::routing::Load;
use crate::system::fabric::ChannelId;
use crate::units::Bandwidth;

/// How many buffers fill with packets that wait for a channel, where fluids offer it twice what it
/// carries; up to what it carries, one. Chosen for the least error on the applications of
/// `docs/concepts/network.md`.
const FULL_BUFFERS: u128 = 4;

/// Describes the traffic on a channel.
#[derive(Debug, Clone, Copy)]
struct Busy {
    bandwidth: Bandwidth,
    /// Counts the fluids that cross it.
    fluids: u32,
    /// Sums the bandwidths at which their sources would send over it.
    offered: u64,
    /// When the trains that wait for it will have gone.
    free: u64,
    /// How long a full packet takes.
    packet: u64,
}

/// The channels of the fabric and of servers that are made, by their numbers.
#[derive(Debug, Clone)]
pub(super) struct Channels {
    busy: Vec<Busy>,
    carried: Vec<ChannelStatistics>,
    settings: PacketSettings,
    /// The time at which loads are asked for.
    pub(super) now: u64,
}

impl Channels {
    pub(super) fn new(settings: PacketSettings) -> Self {
        Self { busy: Vec::new(), carried: Vec::new(), settings, now: 0 }
    }

    pub(super) fn add(&mut self, bandwidth: Bandwidth) {
        let packet = serialisation(self.settings.packet_size.0, bandwidth).max(1);
        self.busy.push(Busy { bandwidth, fluids: 0, offered: 0, free: 0, packet });
        self.carried.push(ChannelStatistics::default());
    }

    /// Returns the traffic that each channel has carried. A fluid or a train counts as one packet.
    pub(super) fn carried(&self) -> &[ChannelStatistics] {
        &self.carried
    }

    /// Counts the fluids that cross a channel.
    pub(super) fn fluids(&self, channel: ChannelId) -> u32 {
        self.busy[channel as usize].fluids
    }

    /// Adds one more way of a fluid to a channel. The fluid's source would send on it at `rate`.
    pub(super) fn offer(&mut self, channel: ChannelId, rate: u64) {
        let offered = &mut self.busy[channel as usize].offered;
        *offered = offered.saturating_add(rate);
    }

    /// Notes that `size` bytes of a fluid go over a channel.
    pub(super) fn begin_fluid(&mut self, channel: ChannelId, size: u64) {
        self.busy[channel as usize].fluids += 1;
        self.carry(channel, size);
    }

    /// Notes the end of a fluid that offered `rate` to a channel.
    pub(super) fn end_fluid(&mut self, channel: ChannelId, rate: u64) {
        let busy = &mut self.busy[channel as usize];
        busy.fluids -= 1;
        busy.offered = busy.offered.saturating_sub(rate);
    }

    /// When a channel begins to carry a train that is there now, behind those that wait for it.
    pub(super) fn turn(&self, channel: ChannelId) -> u64 {
        self.busy[channel as usize].free.max(self.now)
    }

    /// Notes that a train crosses a channel, and that its last byte leaves at `end`.
    pub(super) fn cross(&mut self, channel: ChannelId, size: u64, end: u64) {
        let busy = &mut self.busy[channel as usize];
        busy.free = busy.free.max(end);
        self.carry(channel, size);
    }

    /// How many packets of trains have yet to go over a channel.
    fn waiting(&self, channel: ChannelId) -> u32 {
        let busy = &self.busy[channel as usize];
        let packets = busy.free.saturating_sub(self.now).div_ceil(busy.packet);
        u32::try_from(packets).unwrap_or(u32::MAX)
    }

    fn carry(&mut self, channel: ChannelId, size: u64) {
        let queue = self.fluids(channel).saturating_add(self.waiting(channel));
        let carried = &mut self.carried[channel as usize];
        carried.packets += 1;
        carried.data.0 += size;
        carried.longest_queue = carried.longest_queue.max(queue);
    }
}

impl Load for Channels {
    /// Packets of trains, and those of fluids: few where these offer no more than the channel
    /// carries, and many beyond.
    fn queued(&mut self, channel: ChannelId) -> u32 {
        let busy = &self.busy[channel as usize];
        let carried = busy.offered.min(busy.bandwidth.0);
        let buffers = u128::from(carried) + u128::from(busy.offered - carried) * FULL_BUFFERS;
        let packets = u128::from(self.settings.least_buffer());
        let of_fluids = buffers * packets / u128::from(busy.bandwidth.0.max(1));
        self.waiting(channel).saturating_add(u32::try_from(of_fluids).unwrap_or(u32::MAX))
    }
}
