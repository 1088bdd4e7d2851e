//! Moves a packet from its interface, through the queues of switches, over channels.

use super::super::packets::{AT_SOURCE, INSIDE, NO_PACKET, Packet, PacketIndex, TO_NODE};
use super::super::queues::Sendable;
use super::super::settings::{Switching, serialisation};
use super::super::trace::PacketStep;
use super::{PacketEvent, PacketNetwork};
use crate::engine::Scheduler;
use crate::network::opened::Opened;
use crate::network::outstanding::Transfer;
use crate::network::paths::Way;
use crate::network::routing::{Hop, PacketRoute, Routing};
use crate::network::transport::MessageIndex;
use crate::system::fabric::{ChannelId, Fabric, NodeId};
use crate::system::server::Link;
use crate::units::{Bytes, Picoseconds};

impl<R: Routing> PacketNetwork<'_, R> {
    /// A packet arrives: at its end, or at a switch or device where it waits for its next channel.
    pub(super) fn arrive(
        &mut self,
        index: PacketIndex,
        scheduler: &mut impl Scheduler<PacketEvent>,
    ) {
        let packet = &mut self.packets[index];
        let Packet { message, size, to, port, request, mut route, .. } = *packet;
        if to == TO_NODE {
            if request {
                self.respond(index, scheduler);
            } else {
                self.end(index, message, size, scheduler);
            }
            return;
        }
        let hop = if to == INSIDE {
            let Some(channel) = self.inside_hop(index) else {
                // A CPU takes what comes, and passes on what is for others.
                let packet = self.packets[index];
                let taken = self.write_to_memory(&packet);
                self.leave_buffer(&packet, taken, scheduler);
                if taken > self.state.now {
                    let packet = &mut self.packets[index];
                    (packet.to, packet.channel) = (TO_NODE, AT_SOURCE);
                    scheduler.schedule(Picoseconds(taken), PacketEvent::Arrive(index));
                } else {
                    self.end(index, message, size, scheduler);
                }
                return;
            };
            Hop { channel, virtual_channel: self.class_on(channel, index) }
        } else {
            let hop = self.routing.route(to, &mut route, &mut self.state);
            route.hops += 1;
            packet.route = route;
            hop
        };
        let line = &mut self.state.lines[hop.channel as usize];
        line.waiting += 1;
        self.state.load[hop.channel as usize] += 1;
        line.carried.longest_queue = line.carried.longest_queue.max(line.waiting);
        let slot = line.bank.slot(hop.virtual_channel, port);
        if let Some(bus) = &mut self.bus
            && self.queues.waits_nowhere(&line.bank, slot)
        {
            bus.begins_to_wait(hop.channel, slot, self.state.now);
        }
        self.queues.push(&mut line.bank, slot, index, &mut self.packets);
        self.note(hop.channel, PacketStep::Wait, size, route.hops);
        self.send_when_free(hop.channel, scheduler);
    }

    /// A packet is at its message's end.
    fn end(
        &mut self,
        index: PacketIndex,
        message: MessageIndex,
        size: u32,
        scheduler: &mut impl Scheduler<PacketEvent>,
    ) {
        self.packets.remove(index);
        let progress = &mut self.outstanding[message].progress;
        progress.missing -= u64::from(size);
        let all = progress.missing == 0;
        if self.bus.is_some() && !self.inside.is_of_nodes() {
            let reader = self.is_read(message).then(|| self.interface_of(message));
            self.command_progress(message, u64::from(size), all);
            if let Some(reader) = reader {
                self.pull(reader, scheduler);
            }
        }
        if all {
            self.outstanding.delivered(message);
        }
    }

    /// The last byte of a packet leaves a buffer at a time: its place is the sender's again.
    #[inline]
    pub(super) fn leave_buffer(
        &mut self,
        packet: &Packet,
        sent: u64,
        scheduler: &mut impl Scheduler<PacketEvent>,
    ) {
        let (came_by, virtual_channel) = (packet.channel, packet.route.virtual_channel);
        self.state.load[came_by as usize] -= 1;
        let line = self.bus.as_ref().and_then(|bus| bus.line(came_by));
        let back = match (line, &mut self.bus) {
            (Some(line), Some(bus)) => bus.give_back(line, packet, virtual_channel, sent),
            _ => self.state.credits.give_back(came_by, virtual_channel, sent),
        };
        if let Some(time) = back {
            self.wake_by(came_by, time, scheduler);
        }
    }

    /// Sends at once, or once the channel is free.
    pub(super) fn send_when_free(
        &mut self,
        channel: ChannelId,
        scheduler: &mut impl Scheduler<PacketEvent>,
    ) {
        let busy = self.state.lines[channel as usize].busy;
        if busy <= self.state.now {
            self.send_next(channel, scheduler);
        } else {
            self.wake_by(channel, busy, scheduler);
        }
    }

    pub(super) fn wake_by(
        &mut self,
        channel: ChannelId,
        time: u64,
        scheduler: &mut impl Scheduler<PacketEvent>,
    ) {
        if time == u64::MAX {
            self.too_long();
        }
        let line = &mut self.state.lines[channel as usize];
        if time < line.wake {
            line.wake = time;
            scheduler.schedule(Picoseconds(time), PacketEvent::Wake(channel));
        }
    }

    /// Sends the next packet over a free channel, if one may go.
    fn send_next(&mut self, channel: ChannelId, scheduler: &mut impl Scheduler<PacketEvent>) {
        if self.is_injection(channel) && self.state.lines[channel as usize].bank.is_none() {
            self.inject(channel / 2, channel, scheduler);
        } else if self.is_of_bus(channel) {
            self.forward_on_bus(channel, scheduler);
        } else {
            self.forward(channel, scheduler);
        }
    }

    /// Whether a channel leads from an interface into the fabric.
    fn is_injection(&self, channel: ChannelId) -> bool {
        // The first channels are those from and to ports, in turn.
        channel < self.of_ports && channel == Fabric::injection(channel / 2)
    }

    /// Makes the next packet of an abstract node's messages.
    fn inject(
        &mut self,
        node: NodeId,
        channel: ChannelId,
        scheduler: &mut impl Scheduler<PacketEvent>,
    ) {
        let Some(message) = self.interfaces[node as usize].next() else { return };
        if self.state.credits.available(channel, 0, self.state.now) == 0 {
            self.wait_for_credit(channel, 1, scheduler);
            return;
        }
        let (index, left) = self.make_packet(message, channel, self.settings.packet_size.0);
        self.interfaces[node as usize].packetised(left);
        self.state.load[channel as usize] += 1;
        let sent = self.cross(index, channel, 0, scheduler);
        if left.0 == 0 {
            scheduler.schedule(Picoseconds(sent), PacketEvent::Leave(message));
        }
        if self.interfaces[node as usize].next().is_some() {
            self.wake_by(channel, sent, scheduler);
        }
    }

    /// Makes the next packet of a message, up to a given size; returns the rest of the message.
    pub(super) fn make_packet(
        &mut self,
        message: MessageIndex,
        channel: ChannelId,
        most: u64,
    ) -> (PacketIndex, Bytes) {
        let Transfer { message: data, progress } = &mut self.outstanding[message];
        // A message of nothing is one packet of nothing but its header.
        let size = progress.unsent.min(most);
        progress.unsent -= size;
        let left = Bytes(progress.unsent);
        let (from, to) = match progress.way {
            Way::Across { from, to, .. } => (from, to),
            Way::Inside(_) => (NodeId::MAX, NodeId::MAX),
        };
        if from != NodeId::MAX
            && let Some(trace) = &mut self.trace
        {
            trace.release(Fabric::injection(from), Picoseconds(self.state.now));
        }
        let mut route = PacketRoute::new(from, to);
        self.routing.start(&mut route, data);
        let packet = Packet {
            message,
            next: NO_PACKET,
            tail: NO_PACKET,
            channel,
            to: TO_NODE,
            size: size as u32,
            created: self.state.now,
            complete: self.state.now,
            route,
            port: 0,
            priority: data.class.priority,
            request: false,
        };
        (self.packets.add(packet), left)
    }

    /// Passes on the next of the packets that wait at a switch or device.
    fn forward(&mut self, channel: ChannelId, scheduler: &mut impl Scheduler<PacketEvent>) {
        let now = self.state.now;
        let line = &mut self.state.lines[channel as usize];
        if line.waiting == 0 {
            return;
        }
        let mut credited = u32::MAX;
        if line.to != TO_NODE {
            credited = 0;
            for virtual_channel in 0..self.virtual_channels {
                let available = self.state.credits.available(channel, virtual_channel, now);
                credited |= u32::from(available > 0) << virtual_channel;
            }
        }
        let sendable = Sendable {
            now,
            queues: &self.queues,
            bank: &line.bank,
            packets: &self.packets,
            outstanding: &self.outstanding,
            credited,
            has_kernels: self.has_kernels,
        };
        let Some(slot) = self.arbitration.choose(&mut line.memory, &sendable) else {
            self.wait_for_credit(channel, !credited, scheduler);
            return;
        };
        let index = self.queues.pop(&mut line.bank, slot, &mut self.packets);
        line.waiting -= 1;
        let virtual_channel = line.bank.virtual_channel(slot);
        let more = line.waiting > 0;
        let packet = self.packets[index];
        if packet.channel == AT_SOURCE {
            self.read_from_memory(index);
        }
        let sent = self.cross(index, channel, virtual_channel, scheduler);
        if packet.channel == AT_SOURCE {
            self.left_source(packet.message, sent, scheduler);
        } else {
            self.leave_buffer(&packet, sent, scheduler);
        }
        if more {
            self.wake_by(channel, sent, scheduler);
        }
        if self.is_injection(channel) {
            self.arrived_at_interface(channel / 2, scheduler);
        }
    }

    /// Puts a packet on a channel; returns when its last byte has left.
    fn cross(
        &mut self,
        index: PacketIndex,
        channel: ChannelId,
        virtual_channel: u8,
        scheduler: &mut impl Scheduler<PacketEvent>,
    ) -> u64 {
        let packet = &self.packets[index];
        let line = &self.state.lines[channel as usize];
        let opened = self.inside.opened(channel);
        let is_copied = |_: &Opened| self.outstanding[packet.message].message.by_copy_engine;
        let length = if let Some((opened, link)) = self.link_of_line(packet.message, opened) {
            let wire = link.kind.packet_format().on_the_wire(u64::from(packet.size));
            serialisation(wire, opened.line(link))
        } else if let Some(Opened { copied, .. }) = opened.filter(is_copied) {
            serialisation(u64::from(packet.size), copied)
        } else if u64::from(packet.size) == self.settings.packet_size.0 {
            line.full
        } else {
            let fabric = || self.channels[channel as usize].bandwidth;
            let bandwidth = opened.map_or_else(fabric, |it| it.bandwidth);
            serialisation(u64::from(packet.size), bandwidth)
        };
        self.carry(index, channel, virtual_channel, length, scheduler)
    }

    /// Gives the link of a server's channel that a message of a kernel's caches crosses; None of any other message.
    fn link_of_line(
        &self,
        message: MessageIndex,
        opened: Option<Opened>,
    ) -> Option<(Opened, &Link)> {
        let opened = opened.filter(|_| self.has_kernels)?;
        self.outstanding[message].message.class.memory?;
        Some((opened, self.inside.link(opened.at)?))
    }

    /// Puts a packet on a channel for so long; returns when its last byte has left.
    #[inline]
    pub(super) fn carry(
        &mut self,
        index: PacketIndex,
        channel: ChannelId,
        virtual_channel: u8,
        length: u64,
        scheduler: &mut impl Scheduler<PacketEvent>,
    ) -> u64 {
        let now = self.state.now;
        let packet = &mut self.packets[index];
        let line = &mut self.state.lines[channel as usize];
        debug_assert!(line.busy <= now, "a channel carries one packet at a time");
        // Under cut-through, the last byte may still be on its way here.
        let sent = now.saturating_add(length).max(packet.complete);
        line.busy = sent;
        let through = sent.saturating_add(line.delay);
        let arrival = match self.settings.switching {
            Switching::CutThrough if line.to != TO_NODE => {
                packet.complete = through;
                // Not after the last byte, which is there in time.
                now.saturating_add(line.delay)
            }
            _ => through,
        };
        packet.channel = channel;
        packet.to = line.to;
        packet.port = line.port;
        packet.route.virtual_channel = virtual_channel;
        line.carried.packets += 1;
        line.carried.data.0 += if packet.request { 0 } else { u64::from(packet.size) };
        if line.to == TO_NODE {
            self.state.load[channel as usize] -= 1;
        } else if let Some(bus) = &mut self.bus
            && let Some(line) = bus.line(channel)
        {
            bus.spend(line, virtual_channel, packet.size, packet.request);
        } else {
            self.state.credits.spend(channel, virtual_channel);
        }
        let (size, hops) = (packet.size, packet.route.hops);
        self.note(channel, PacketStep::Cross, size, hops);
        scheduler.schedule(Picoseconds(arrival), PacketEvent::Arrive(index));
        if through == u64::MAX {
            self.too_long();
        }
        sent
    }

    /// Notes which virtual channels want credits, and wakes with the first that comes.
    fn wait_for_credit(
        &mut self,
        channel: ChannelId,
        wanted: u32,
        scheduler: &mut impl Scheduler<PacketEvent>,
    ) {
        let mut first = u64::MAX;
        for virtual_channel in 0..self.virtual_channels {
            let awaited = wanted & (1 << virtual_channel) != 0;
            let next = self.state.credits.wait(channel, virtual_channel, awaited);
            if awaited {
                first = first.min(next);
            }
        }
        if first < u64::MAX {
            self.wake_by(channel, first, scheduler);
        }
    }
}
