//! Packets are read from the memories of CPUs and written to them.
//!
//! A memory moves one packet after another at its data sheet's rate, whoever reads or writes. A packet
//! leaves a CPU once it has been read, and the buffer before one once it has been written. Queues of the
//! memory take one packet of each channel of its server. So nothing waits where all channels together
//! bring no more than it carries.
//!
//! Banks, open pages, and turns between reading and writing are left out.

use super::super::packets::{Packet, PacketIndex};
use super::super::settings::serialisation;
use super::line::Line;
use super::{PacketNetwork, State};
use crate::network::routing::Routing;
use crate::system::fabric::ChannelId;
use crate::units::Bandwidth;

impl State {
    /// Adds a memory, by its bandwidth, the largest packet and the number of its server's links.
    pub(super) fn add_memory(&mut self, bandwidth: Bandwidth, packet: u64, links: usize) {
        let at_once = packet.saturating_mul(2 * links as u64);
        let delay = serialisation(at_once, bandwidth);
        self.lines.push(Line { delay, ..Line::REST });
        self.credits.add(0, |_| 0);
        self.load.push(0);
    }
}

impl<R: Routing> PacketNetwork<'_, R> {
    /// Lets a packet that leaves a CPU's memory be complete once it has been read.
    pub(super) fn read_from_memory(&mut self, index: PacketIndex) {
        let Packet { message, size, request, complete, .. } = self.packets[index];
        let from = self.outstanding[message].message.source;
        if let Some(memory) = self.inside.memory_of(from).filter(|_| !request) {
            self.packets[index].complete = complete.max(self.move_by_memory(memory, size));
        }
    }

    /// Returns when a packet that is at its end has been taken by the memory there, if it has one.
    pub(super) fn write_to_memory(&mut self, packet: &Packet) -> u64 {
        let to = self.outstanding[packet.message].message.destination;
        match self.inside.memory_of(to) {
            Some(memory) => self.move_by_memory(memory, packet.size),
            None => self.state.now,
        }
    }

    /// Returns when a memory has a packet in its queues, behind what it moves already.
    fn move_by_memory(&mut self, memory: ChannelId, size: u32) -> u64 {
        let (now, opened) = (self.state.now, self.inside.opened(memory));
        let line = &mut self.state.lines[memory as usize];
        let length = opened.map_or(0, |it| serialisation(u64::from(size), it.bandwidth));
        line.busy = line.busy.max(now).saturating_add(length);
        line.busy.saturating_sub(line.delay).max(now)
    }
}
