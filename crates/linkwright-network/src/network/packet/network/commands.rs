//! Commands on the PCIe bus: their packets from memory to memory, and which of them goes next.

use super::super::packets::{AT_SOURCE, NO_PACKET, Packet, PacketIndex, TO_NODE};
use super::super::settings::serialisation;
use super::bus::UnderWay;
use super::{PacketEvent, PacketNetwork};
use crate::engine::Scheduler;
use crate::network::paths::Way;
use crate::network::pcie::arbiter::{Head, choose};
use crate::network::pcie::{Command, OfServer, PcieSettings, command};
use crate::network::routing::{PacketRoute, Routing};
use crate::network::transport::MessageIndex;
use crate::system::fabric::{ChannelId, NodeId};
use crate::units::Picoseconds;

impl<R: Routing> PacketNetwork<'_, R> {
    /// A message reaches what sends it: on the bus, a new command.
    pub(super) fn begin_command(&mut self, index: MessageIndex) {
        let Some(bus) = &mut self.bus else { return };
        let transfer = &self.outstanding[index];
        let of = (&transfer.message, transfer.progress.way);
        let command = command(&bus.settings, &bus.roots, &self.inside, of, self.state.now);
        if bus.commands.len() <= index as usize {
            bus.commands.resize(index as usize + 1, UnderWay::default());
        }
        bus.commands[index as usize] = UnderWay { command, ..UnderWay::default() };
        bus.schedule.begin_at_both(index, &command, transfer.message.size.0);
    }

    /// Bytes of a message are there, all of them perhaps.
    pub(super) fn command_progress(&mut self, index: MessageIndex, bytes: u64, all: bool) {
        let Some(bus) = &mut self.bus else { return };
        let under_way = &mut bus.commands[index as usize];
        if under_way.command.is_read {
            under_way.outstanding -= bytes;
        }
        for root in under_way.command.roots() {
            bus.schedule.progress(index, root, bytes);
            if all {
                bus.schedule.end(index, root);
            }
        }
    }

    /// Says whether copy engines make a message's packets.
    pub(super) fn is_copy(&self, message: MessageIndex) -> bool {
        self.bus.as_ref().is_some_and(|bus| bus.command(message).is_copy)
    }

    /// Whether a message is read, packet by packet as it is asked for.
    pub(super) fn is_read(&self, message: MessageIndex) -> bool {
        self.bus.as_ref().is_some_and(|bus| bus.command(message).is_read)
    }

    /// Whether a channel is one of the bus.
    pub(super) fn is_of_bus(&self, channel: ChannelId) -> bool {
        self.bus.as_ref().is_some_and(|bus| bus.line(channel).is_some())
    }

    /// Gives the virtual channel of a message's packets on a channel of the bus. On other channels
    /// it is the first, or the one of a kernel's class.
    pub(super) fn class_on(&self, channel: ChannelId, index: PacketIndex) -> u8 {
        if self.has_kernels
            && let Some(class) = self.outstanding[self.packets[index].message].message.class.memory
        {
            return class.virtual_channel();
        }
        let (Some(bus), Some(opened)) = (&self.bus, self.inside.opened(channel)) else { return 0 };
        if bus.line(channel).is_none() {
            return 0;
        }
        let packet = &self.packets[index];
        let class = bus.class(packet.message, opened.at.server).virtual_channel;
        // A packet that asks for a response is a request.
        if packet.request { class ^ 1 } else { class }
    }

    /// Makes the next packet of a copy, if the queue of its virtual channel has room; whether it did.
    pub(super) fn inject_copy(
        &mut self,
        interface: usize,
        message: MessageIndex,
        scheduler: &mut impl Scheduler<PacketEvent>,
    ) -> bool {
        let Some(bus) = &mut self.bus else { return false };
        let transfer = &self.outstanding[message];
        let Way::Inside(path) = transfer.progress.way else { return false };
        let UnderWay { command: Command { ends, is_read, .. }, outstanding, .. } =
            bus.commands[message as usize];
        let OfServer { server, virtual_channel, .. } = ends[0];
        let channels = self.inside.channels(server, path);
        let (first, class, most) = if is_read {
            // A request goes the other way: a link's two channels follow one another.
            (channels[channels.len() - 1] ^ 1, virtual_channel ^ 1, bus.settings.read_request)
        } else {
            (channels[0], virtual_channel, bus.settings.payload)
        };
        let size = transfer.progress.unsent.min(most.0);
        let limit = bus.settings.outstanding_reads.0;
        if is_read && outstanding > 0 && outstanding + size > limit {
            // It goes on when some of it has arrived.
            return false;
        }
        let first = self.inside.number(server, first);
        let Some(line) = bus.line(first) else { return false };
        let wire = bus.wire(size as u32, is_read);
        let line = &mut bus.lines[line];
        let injected = &mut line.injected[usize::from(class)];
        if *injected > 0 && *injected + wire > bus.settings.buffer.0 {
            let waiting = &mut line.waiting[usize::from(class)];
            if !waiting.contains(&(interface as u32)) {
                waiting.push_back(interface as u32);
            }
            return false;
        }
        *injected += wire;
        if is_read {
            let under_way = &mut bus.commands[message as usize];
            under_way.asked += size;
            under_way.outstanding += size;
        }
        let (index, left) = self.make_packet(message, AT_SOURCE, most.0);
        self.packets[index].request = is_read;
        self.interfaces[interface].packetised(left);
        if !is_read {
            self.outstanding[message].progress.at_source += 1;
        }
        self.wait_at_source(first, index, scheduler);
        true
    }

    /// A request for a part of a message is at the GPU that has it: responses go back.
    pub(super) fn respond(
        &mut self,
        index: PacketIndex,
        scheduler: &mut impl Scheduler<PacketEvent>,
    ) {
        let Packet { message, size, priority, .. } = self.packets[index];
        self.packets.remove(index);
        let Some(bus) = &mut self.bus else { return };
        let under_way = &mut bus.commands[message as usize];
        under_way.asked -= u64::from(size);
        let server = under_way.command.ends[0].server;
        let payload = u32::try_from(bus.settings.payload.0).unwrap_or(u32::MAX);
        let transfer = &self.outstanding[message];
        let Way::Inside(path) = transfer.progress.way else { return };
        let first = self.inside.number(server, self.inside.channels(server, path)[0]);
        let mut left = size;
        loop {
            let part = left.min(payload);
            left -= part;
            let now = self.state.now;
            let response = self.packets.add(Packet {
                message,
                next: NO_PACKET,
                tail: NO_PACKET,
                channel: AT_SOURCE,
                to: TO_NODE,
                size: part,
                created: now,
                complete: now,
                route: PacketRoute::new(NodeId::MAX, NodeId::MAX),
                port: 0,
                priority,
                request: false,
            });
            self.outstanding[message].progress.at_source += 1;
            self.wait_at_source(first, response, scheduler);
            if left == 0 {
                return;
            }
        }
    }

    /// Passes on the next of the packets that wait for a channel of the bus.
    pub(super) fn forward_on_bus(
        &mut self,
        channel: ChannelId,
        scheduler: &mut impl Scheduler<PacketEvent>,
    ) {
        let now = self.state.now;
        let Some(bus) = &mut self.bus else { return };
        let Some(at) = bus.line(channel) else { return };
        let Some(opened) = self.inside.opened(channel) else { return };
        let line = &mut self.state.lines[channel as usize];
        if line.waiting == 0 {
            return;
        }
        let mut heads = std::mem::take(&mut bus.heads);
        heads.clear();
        let mut credits_by = u64::MAX;
        for (slot, head) in self.queues.waiting(&line.bank) {
            let packet = &self.packets[head];
            let virtual_channel = line.bank.virtual_channel(slot);
            let wire = bus.wire(packet.size, packet.request);
            let credits = &mut bus.lines[at].credits;
            if line.to != TO_NODE && credits.available(virtual_channel, now) < wire {
                credits_by = credits_by.min(credits.wait(virtual_channel));
                continue;
            }
            let root = bus.class(packet.message, opened.at.server).root;
            let level = bus.schedule.level(root, virtual_channel, now);
            heads.push(Head { slot, since: bus.lines[at].since[slot as usize], level });
        }
        let PcieSettings { arbitration, bound, .. } = bus.settings;
        let chosen = choose(arbitration, bound.0, now, &mut line.memory, &heads);
        bus.heads = heads;
        let Some(slot) = chosen else {
            if credits_by < u64::MAX {
                self.wake_by(channel, credits_by, scheduler);
            }
            return;
        };
        let index = self.queues.pop(&mut line.bank, slot, &mut self.packets);
        bus.lines[at].since[slot as usize] = now;
        line.waiting -= 1;
        let virtual_channel = line.bank.virtual_channel(slot);
        let more = line.waiting > 0;
        let packet = self.packets[index];
        let length = serialisation(bus.wire(packet.size, packet.request), bus.lines[at].rate);
        if packet.channel == AT_SOURCE {
            self.read_from_memory(index);
        }
        let sent = self.carry(index, channel, virtual_channel, length, scheduler);
        if packet.channel == AT_SOURCE {
            self.left_memory(&packet, at, virtual_channel, sent, scheduler);
        } else {
            self.leave_buffer(&packet, sent, scheduler);
        }
        if more {
            self.wake_by(channel, sent, scheduler);
        }
    }

    /// A packet has begun to leave its source's memory over the bus.
    fn left_memory(
        &mut self,
        packet: &Packet,
        line: usize,
        virtual_channel: u8,
        sent: u64,
        scheduler: &mut impl Scheduler<PacketEvent>,
    ) {
        let message = packet.message;
        if !self.is_copy(message) {
            self.left_source(message, sent, scheduler);
            return;
        }
        let Some(bus) = &mut self.bus else { return };
        let UnderWay { command, asked, .. } = bus.commands[message as usize];
        if !packet.request {
            let progress = &mut self.outstanding[message].progress;
            progress.at_source -= 1;
            if progress.at_source == 0 && progress.unsent == 0 && asked == 0 {
                scheduler.schedule(Picoseconds(sent), PacketEvent::Leave(message));
            }
            if command.is_read {
                // It was not injected by an engine: its GPU sent it as it was asked to.
                return;
            }
        }
        let wire = bus.wire(packet.size, packet.request);
        let class = usize::from(virtual_channel);
        bus.lines[line].injected[class] -= wire;
        while let Some(interface) = self.next_waiting(line, class) {
            self.pull(interface as usize, scheduler);
            let bus = self.bus.as_ref();
            if bus.is_some_and(|bus| bus.lines[line].waiting[class].contains(&interface)) {
                return;
            }
        }
    }

    /// The copy engine that has waited longest for room in a queue.
    fn next_waiting(&mut self, line: usize, class: usize) -> Option<u32> {
        self.bus.as_mut()?.lines[line].waiting[class].pop_front()
    }
}
