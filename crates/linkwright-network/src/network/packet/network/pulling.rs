//! Moves a packet through servers: out of its source's memory, over the host, to its end.

use super::super::buffers::RoundTrip;
use super::super::nic::QueuedMessage;
use super::super::packets::{AT_SOURCE, PacketIndex};
use super::{PacketEvent, PacketNetwork};
use crate::engine::Scheduler;
use crate::network::outstanding::Transfer;
use crate::network::paths::{PathIndex, Way};
use crate::network::routing::Routing;
use crate::network::transport::{DeviceIndex, MemoryClass, MessageIndex};
use crate::system::fabric::{ChannelId, Fabric, NodeId};
use crate::units::Picoseconds;

impl<R: Routing> PacketNetwork<'_, R> {
    /// A message reaches the interface that sends it: that of its port, or, within a server, a
    /// copy engine ([`Self::engine_of`]).
    pub(super) fn queue(
        &mut self,
        message: MessageIndex,
        scheduler: &mut impl Scheduler<PacketEvent>,
    ) {
        if let Some(class) = self.outstanding[message].message.class.memory {
            self.send_of_memory(message, class, scheduler);
            return;
        }
        if self.bus.is_some() && !self.inside.is_of_nodes() {
            self.begin_command(message);
        }
        let interface = self.interface_of(message);
        let Transfer { message: data, .. } = self.outstanding[message];
        let arrived = Picoseconds(self.state.now);
        self.interfaces[interface].push(QueuedMessage { index: message, message: data, arrived });
        let channel = Fabric::injection(interface as NodeId);
        if let (Some(trace), Way::Across { .. }) =
            (&mut self.trace, self.outstanding[message].progress.way)
        {
            let packets = data.size.0.div_ceil(self.settings.packet_size.0).max(1);
            trace.hold(channel, arrived, packets);
        }
        if channel < self.of_ports && self.state.lines[channel as usize].bank.is_none() {
            self.send_when_free(channel, scheduler);
        } else {
            self.pull(interface, scheduler);
        }
    }

    /// Puts a message of a kernel's caches into the queue of its class at its source, as one packet. No copy engine
    /// has a part in it. A page is as many packets as any other message.
    fn send_of_memory(
        &mut self,
        message: MessageIndex,
        class: MemoryClass,
        scheduler: &mut impl Scheduler<PacketEvent>,
    ) {
        let transfer = &self.outstanding[message];
        let server = self.inside.place(transfer.message.source).server;
        let Way::Inside(path) = transfer.progress.way else { return };
        let first = self.inside.number(server, self.inside.channels(server, path)[0]);
        let is_page = class == MemoryClass::Page;
        let most = if is_page { self.settings.packet_size.0 } else { u64::from(u32::MAX) };
        loop {
            let (index, left) = self.make_packet(message, AT_SOURCE, most);
            self.wait_at_source(first, index, scheduler);
            if left.0 == 0 {
                return;
            }
        }
    }

    pub(super) fn interface_of(&self, message: MessageIndex) -> usize {
        let transfer = &self.outstanding[message];
        match transfer.progress.way {
            Way::Across { from, .. } => from as usize,
            Way::Inside(_) => self.engine_of(&transfer.message),
        }
    }

    /// Makes packets of an interface's messages in the memories of their sources, as many as may
    /// be on their way to it.
    pub(super) fn pull(&mut self, interface: usize, scheduler: &mut impl Scheduler<PacketEvent>) {
        while let Some(message) = self.interfaces[interface].next() {
            if self.is_copy(message) {
                if self.inject_copy(interface, message, scheduler) {
                    continue;
                }
                return;
            }
            if self.pulled[interface] >= self.outstanding[message].progress.window {
                return;
            }
            let most = self.settings.packet_size.0;
            let (index, left) = self.make_packet(message, AT_SOURCE, most);
            self.interfaces[interface].packetised(left);
            self.pulled[interface] += 1;
            let transfer = &mut self.outstanding[message];
            transfer.progress.at_source += 1;
            let server = self.inside.place(transfer.message.source).server;
            let (Way::Inside(path) | Way::Across { out: path, .. }) = transfer.progress.way;
            let first = self.inside.number(server, self.inside.channels(server, path)[0]);
            self.wait_at_source(first, index, scheduler);
        }
    }

    /// Returns how many packets may be on their way from a GPU's memory to a port. Where nobody says,
    /// the slowest channel of the way carries that many while one is.
    pub(super) fn window(&self, source: DeviceIndex, port: NodeId, out: PathIndex) -> u16 {
        if self.settings.buffer_packets.is_some() || self.inside.is_of_nodes() {
            return self.settings.least_buffer();
        }
        let server = self.inside.place(source).server;
        let mut trip =
            RoundTrip { packet: self.state.lines[Fabric::injection(port) as usize].full, time: 0 };
        for channel in self.inside.channels(server, out) {
            let line = &self.state.lines[self.inside.number(server, *channel) as usize];
            trip.packet = trip.packet.max(line.full);
            trip.time = trip.time.saturating_add(line.full).saturating_add(line.delay);
        }
        self.settings.buffer_behind(trip)
    }

    /// Lets a packet wait in a device's own memory for the first channel of its way.
    pub(super) fn wait_at_source(
        &mut self,
        first: ChannelId,
        index: PacketIndex,
        scheduler: &mut impl Scheduler<PacketEvent>,
    ) {
        let class = self.class_on(first, index);
        self.state.load[first as usize] += 1;
        let line = &mut self.state.lines[first as usize];
        line.waiting += 1;
        line.carried.longest_queue = line.carried.longest_queue.max(line.waiting);
        let slot = line.bank.slot(class, line.bank.own_port());
        if let Some(bus) = &mut self.bus
            && self.queues.waits_nowhere(&line.bank, slot)
        {
            bus.begins_to_wait(first, slot, self.state.now);
        }
        self.queues.push(&mut line.bank, slot, index, &mut self.packets);
        let time = line.busy.max(self.state.now);
        self.wake_by(first, time, scheduler);
    }

    /// A packet has begun to leave its source's memory, and will have left at a time.
    pub(super) fn left_source(
        &mut self,
        message: MessageIndex,
        sent: u64,
        scheduler: &mut impl Scheduler<PacketEvent>,
    ) {
        if self.outstanding[message].message.class.memory.is_some() {
            // Nobody asks when it has left, and nothing of its source waits for that.
            return;
        }
        let progress = &mut self.outstanding[message].progress;
        progress.at_source -= 1;
        let inside = matches!(progress.way, Way::Inside(_));
        if progress.at_source == 0 && progress.unsent == 0 {
            scheduler.schedule(Picoseconds(sent), PacketEvent::Leave(message));
        }
        if inside {
            let interface = self.interface_of(message);
            self.pulled[interface] -= 1;
            self.pull(interface, scheduler);
        }
    }

    /// A packet that an interface has pulled enters the fabric.
    pub(super) fn arrived_at_interface(
        &mut self,
        port: NodeId,
        scheduler: &mut impl Scheduler<PacketEvent>,
    ) {
        self.pulled[port as usize] -= 1;
        self.pull(port as usize, scheduler);
    }

    /// By which channel a packet leaves a device of a server; None at its message's end.
    pub(super) fn inside_hop(&self, index: PacketIndex) -> Option<ChannelId> {
        let packet = &self.packets[index];
        let transfer = &self.outstanding[packet.message];
        let Some(opened) = self.inside.opened(packet.channel) else {
            // It comes from the fabric.
            let Way::Across { back, .. } = transfer.progress.way else {
                unreachable!("only a message across the fabric leaves it")
            };
            let server = self.inside.place(transfer.message.destination).server;
            return Some(self.inside.number(server, self.inside.channels(server, back)[0]));
        };
        let at = opened.at;
        let after = |path| {
            let channels = self.inside.channels(at.server, path);
            if packet.request {
                // The channels of a link follow one another, and it goes back along the path.
                let place = channels.iter().position(|channel| *channel == at.index ^ 1);
                let next = place.and_then(|place| place.checked_sub(1));
                return next.map(|next| self.inside.number(at.server, channels[next] ^ 1));
            }
            let place = channels.iter().position(|channel| *channel == at.index);
            let next = channels.get(place.expect("a packet is on its message's path") + 1);
            next.map(|channel| self.inside.number(at.server, *channel))
        };
        match transfer.progress.way {
            Way::Inside(path) => after(path),
            Way::Across { out, back, from, .. } => {
                if at.server == self.inside.place(transfer.message.source).server {
                    after(out).or(Some(Fabric::injection(from)))
                } else {
                    after(back)
                }
            }
        }
    }
}
