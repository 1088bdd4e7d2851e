//! The network at work: what happens when a packet arrives or a channel falls free.

use super::arbitration::{Arbitration, ArbitrationPolicy, Memory};
use super::credits::Credits;
use super::nic::{AnyNicScheduler, NicPolicy, NicScheduler};
use super::packets::{NO_PACKET, Packet, PacketIndex, Packets, TO_NODE};
use super::queues::{Bank, Queues, Sendable};
use super::settings::{PacketSettings, SettingsError, Switching, serialisation};
use super::statistics::ChannelStatistics;
use super::watchdog::{self, Blocked};
use crate::engine::EventQueue;
use crate::network::node_links::NodeLinks;
use crate::network::outstanding::{AlarmIndex, Outstanding};
use crate::network::routing::{Load, PacketRoute, Routing};
use crate::network::transport::{Message, MessageIndex, Occurrence, Stuck, Transport};
use crate::topology::interconnect::{ChannelId, End, Interconnect, NodeId, SwitchId};
use crate::units::Picoseconds;

/// What is to happen.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// A packet is at the far end of its channel, and through the switch's router.
    Arrive(PacketIndex),
    /// A channel is free again, or has a credit again.
    Wake(ChannelId),
    /// A message reaches its network interface.
    Queue(MessageIndex),
    /// A message between GPUs of one node has left its source.
    Leave(MessageIndex),
    /// A message has arrived.
    Deliver(MessageIndex),
    /// A time has come that the caller waits for.
    Alarm(AlarmIndex),
}

/// A channel at work; two cache lines, the first of which holds what every packet needs.
#[derive(Debug, Clone, Copy)]
#[repr(align(128))]
struct Line {
    /// Until when it carries a packet.
    busy: u64,
    /// The earliest [`Event::Wake`] that is scheduled; `u64::MAX` where none is.
    wake: u64,
    /// How long a full packet takes.
    full: u64,
    latency: u64,
    bank: Bank,
    /// How many packets wait.
    waiting: u32,
    memory: Memory,
    /// The switch to which it leads; [`TO_NODE`] where it leads to a node.
    to: SwitchId,
    /// The port of that switch.
    port: u16,
    carried: ChannelStatistics,
}

/// How far a message is.
#[derive(Debug, Clone, Copy)]
struct Progress {
    /// Bytes of which no packet has been made.
    unsent: u64,
    /// Bytes that have not arrived.
    missing: u64,
}

/// Everything but the routing, which asks it for its load.
struct State {
    now: u64,
    lines: Vec<Line>,
    credits: Credits,
    /// Packets that wait for each channel, cross it, or fill the buffer behind it: in an array
    /// of its own, because adaptive routing asks many channels for each packet.
    load: Vec<u32>,
}

impl Load for State {
    fn queued(&mut self, channel: ChannelId) -> u32 {
        self.load[channel as usize]
    }
}

/// A network of packets; see the [module](super) for what it models.
pub struct PacketNetwork<'a, R> {
    interconnect: &'a Interconnect,
    settings: PacketSettings,
    routing: R,
    virtual_channels: u8,
    arbitration: ArbitrationPolicy,
    events: EventQueue<Event>,
    state: State,
    queues: Queues,
    packets: Packets,
    interfaces: Vec<AnyNicScheduler>,
    inside: NodeLinks,
    outstanding: Outstanding<Progress>,
    handled: u64,
}

/// After how many events without an occurrence the caller is told that the run goes on.
const EVENTS_PER_REPORT: u64 = 65_536;

impl<'a, R: Routing> PacketNetwork<'a, R> {
    /// A network at rest at time zero.
    ///
    /// # Errors
    /// Settings out of range, or a routing of more than 32 virtual channels.
    pub fn new(
        interconnect: &'a Interconnect,
        settings: PacketSettings,
        routing: R,
        nic: NicPolicy,
        arbitration: ArbitrationPolicy,
    ) -> Result<Self, SettingsError> {
        settings.check()?;
        let virtual_channels = routing.virtual_channels();
        if virtual_channels == 0 || virtual_channels > 32 {
            return Err(SettingsError::VirtualChannels { channels: virtual_channels });
        }
        for switch in 0..interconnect.switches() {
            let ports = interconnect.outgoing(switch).len();
            if ports > usize::from(u16::MAX) {
                return Err(SettingsError::Ports { switch, ports });
            }
        }
        let mut queues = Queues::default();
        let lines: Vec<_> = (0..interconnect.channels().len() as u32)
            .map(|channel| line(interconnect, channel, &settings, virtual_channels, &mut queues))
            .collect();
        let depth = settings.buffer_packets;
        let credits = Credits::new(interconnect.channels(), virtual_channels, depth);
        Ok(Self {
            interconnect,
            settings,
            routing,
            virtual_channels,
            arbitration,
            events: EventQueue::new(),
            state: State { now: 0, load: vec![0; lines.len()], lines, credits },
            queues,
            packets: Packets::new(),
            interfaces: vec![nic.scheduler(); interconnect.nodes() as usize],
            inside: NodeLinks::new(settings.node, interconnect.nodes()),
            outstanding: Outstanding::new(),
            handled: 0,
        })
    }

    /// What each channel has carried so far, by its index.
    #[must_use]
    pub fn statistics(&self) -> Vec<ChannelStatistics> {
        self.state.lines.iter().map(|line| line.carried).collect()
    }

    /// How many times a packet has crossed a channel so far.
    #[must_use]
    pub fn packet_hops(&self) -> u64 {
        self.state.lines.iter().map(|line| line.carried.packets).sum()
    }

    fn schedule(&mut self, time: u64, event: Event) {
        let pushed = self.events.push(Picoseconds(time), event);
        debug_assert!(pushed.is_ok(), "{pushed:?}");
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Arrive(packet) => self.arrive(packet),
            Event::Wake(channel) => {
                let line = &mut self.state.lines[channel as usize];
                // An earlier wake may have been scheduled after this one, and done its work; and
                // a credit of one virtual channel may come while a packet of another crosses.
                if line.wake == self.state.now {
                    line.wake = u64::MAX;
                    self.send_when_free(channel);
                }
            }
            Event::Queue(message) => {
                let node = self.inside.node_of(self.outstanding[message].message.source);
                self.interfaces[node as usize].push(message);
                self.send_when_free(Interconnect::injection(node));
            }
            Event::Leave(message) => self.outstanding.sent(message),
            Event::Deliver(message) => self.outstanding.delivered(message),
            Event::Alarm(alarm) => self.outstanding.woken(alarm),
        }
    }

    /// A packet arrives: at its node, or at a switch where it waits for its next channel.
    fn arrive(&mut self, index: PacketIndex) {
        let packet = &mut self.packets[index];
        let Packet { message, size, to, port, mut route, .. } = *packet;
        if to == TO_NODE {
            self.packets.remove(index);
            let progress = &mut self.outstanding[message].progress;
            progress.missing -= u64::from(size);
            if progress.missing == 0 {
                self.outstanding.delivered(message);
            }
            return;
        }
        let hop = self.routing.route(to, &mut route, &mut self.state);
        route.hops += 1;
        packet.route = route;
        let line = &mut self.state.lines[hop.channel as usize];
        line.waiting += 1;
        self.state.load[hop.channel as usize] += 1;
        line.carried.longest_queue = line.carried.longest_queue.max(line.waiting);
        let slot = line.bank.slot(hop.virtual_channel, port);
        self.queues.push(&mut line.bank, slot, index, &mut self.packets);
        self.send_when_free(hop.channel);
    }

    /// Sends at once, or once the channel is free.
    fn send_when_free(&mut self, channel: ChannelId) {
        let busy = self.state.lines[channel as usize].busy;
        if busy <= self.state.now {
            self.send_next(channel);
        } else {
            self.wake_by(channel, busy);
        }
    }

    fn wake_by(&mut self, channel: ChannelId, time: u64) {
        let line = &mut self.state.lines[channel as usize];
        if time < line.wake {
            line.wake = time;
            self.schedule(time, Event::Wake(channel));
        }
    }

    /// Sends the next packet over a free channel, if one may go.
    fn send_next(&mut self, channel: ChannelId) {
        // The first channels are those from and to nodes, in turn.
        let node = channel / 2;
        if channel == Interconnect::injection(node) && node < self.interconnect.nodes() {
            self.inject(node, channel);
        } else {
            self.forward(channel);
        }
    }

    /// Makes the next packet of a node's messages.
    fn inject(&mut self, node: NodeId, channel: ChannelId) {
        let Some(message) = self.interfaces[node as usize].next() else { return };
        if self.state.credits.available(channel, 0, self.state.now) == 0 {
            self.wait_for_credit(channel, 1);
            return;
        }
        let transfer = &mut self.outstanding[message];
        let progress = &mut transfer.progress;
        // A message of nothing is one packet of nothing but its header.
        let size = progress.unsent.min(self.settings.packet_size.0);
        progress.unsent -= size;
        let (last, message_data) = (progress.unsent == 0, transfer.message);
        self.interfaces[node as usize].packetised(last);
        let destination = self.inside.node_of(message_data.destination);
        let index = self.packets.add(Packet {
            message,
            next: NO_PACKET,
            tail: NO_PACKET,
            channel,
            to: TO_NODE,
            size: size as u32,
            created: self.state.now,
            complete: self.state.now,
            route: PacketRoute::new(node, destination),
            port: 0,
            priority: message_data.priority,
        });
        self.state.load[channel as usize] += 1;
        let sent = self.cross(index, channel, 0);
        if last {
            self.schedule(sent, Event::Leave(message));
        }
        if self.interfaces[node as usize].next().is_some() {
            self.wake_by(channel, sent);
        }
    }

    /// Passes on the next of the packets that wait at a switch.
    fn forward(&mut self, channel: ChannelId) {
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
        let sendable =
            Sendable { queues: &self.queues, bank: &line.bank, packets: &self.packets, credited };
        let Some(slot) = self.arbitration.choose(&mut line.memory, &sendable) else {
            self.wait_for_credit(channel, !credited);
            return;
        };
        let index = self.queues.pop(&mut line.bank, slot, &mut self.packets);
        line.waiting -= 1;
        let virtual_channel = line.bank.virtual_channel(slot);
        let more = line.waiting > 0;
        let Packet { channel: came_by, route, .. } = self.packets[index];
        let sent = self.cross(index, channel, virtual_channel);
        self.state.load[came_by as usize] -= 1;
        let awaited = self.state.credits.give_back(came_by, route.virtual_channel, sent);
        if let Some(time) = awaited {
            self.wake_by(came_by, time);
        }
        if more {
            self.wake_by(channel, sent);
        }
    }

    /// Puts a packet on a channel; returns when its last byte has left.
    fn cross(&mut self, index: PacketIndex, channel: ChannelId, virtual_channel: u8) -> u64 {
        let now = self.state.now;
        let packet = &mut self.packets[index];
        let line = &mut self.state.lines[channel as usize];
        let length = if u64::from(packet.size) == self.settings.packet_size.0 {
            line.full
        } else {
            let bandwidth = self.interconnect.channels()[channel as usize].bandwidth;
            serialisation(u64::from(packet.size), bandwidth)
        };
        debug_assert!(line.busy <= now, "a channel carries one packet at a time");
        // Under cut-through, the last byte may still be on its way here.
        let sent = (now + length).max(packet.complete);
        line.busy = sent;
        let router_delay = self.settings.router_delay.0;
        let arrival = match self.settings.switching {
            _ if line.to == TO_NODE => sent + line.latency,
            Switching::StoreAndForward => sent + line.latency + router_delay,
            Switching::CutThrough => {
                packet.complete = sent + line.latency + router_delay;
                now + line.latency + router_delay
            }
        };
        packet.channel = channel;
        packet.to = line.to;
        packet.port = line.port;
        packet.route.virtual_channel = virtual_channel;
        line.carried.packets += 1;
        line.carried.data.0 += u64::from(packet.size);
        if line.to == TO_NODE {
            self.state.load[channel as usize] -= 1;
        } else {
            self.state.credits.spend(channel, virtual_channel);
        }
        self.schedule(arrival, Event::Arrive(index));
        sent
    }

    /// Notes which virtual channels want credits, and wakes with the first that comes.
    fn wait_for_credit(&mut self, channel: ChannelId, wanted: u32) {
        let mut first = u64::MAX;
        for virtual_channel in 0..self.virtual_channels {
            let awaited = wanted & (1 << virtual_channel) != 0;
            let next = self.state.credits.wait(channel, virtual_channel, awaited);
            if awaited {
                first = first.min(next);
            }
        }
        if first < u64::MAX {
            self.wake_by(channel, first);
        }
    }

    /// What must hold between any two events: a credit is held for each packet that is in a
    /// buffer or on its way to it, and for nothing else.
    pub(super) fn credits_match_packets(&self) -> bool {
        let virtual_channels = usize::from(self.routing.virtual_channels());
        let mut packets = vec![0_u16; self.state.lines.len() * virtual_channels];
        for packet in self.packets.iter() {
            let virtual_channel = usize::from(packet.route.virtual_channel);
            packets[packet.channel as usize * virtual_channels + virtual_channel] += 1;
        }
        self.state.lines.iter().enumerate().all(|(channel, line)| {
            (0..virtual_channels).all(|virtual_channel| {
                let held = self.state.credits.held(channel as u32, virtual_channel as u8);
                let here = packets[channel * virtual_channels + virtual_channel];
                held == if line.to == TO_NODE { 0 } else { here }
            })
        })
    }

    /// The error of a network in which nothing is left to happen but messages are under way.
    fn stuck(&self) -> Stuck {
        let mut blocked = Vec::new();
        for (channel, line) in self.state.lines.iter().enumerate() {
            for (virtual_channel, head) in self.queues.heads(&line.bank) {
                let packet = &self.packets[head];
                let buffer = (packet.channel, packet.route.virtual_channel);
                let waits_for = (channel as u32, virtual_channel);
                blocked.push(Blocked { buffer, waits_for });
            }
        }
        Stuck {
            time: Picoseconds(self.state.now),
            messages: self.outstanding.messages(),
            cycle: watchdog::cycle(self.interconnect, &blocked, &self.state.credits),
        }
    }
}

fn line(
    interconnect: &Interconnect,
    channel: ChannelId,
    settings: &PacketSettings,
    virtual_channels: u8,
    queues: &mut Queues,
) -> Line {
    let data = interconnect.channels()[channel as usize];
    let bank = match data.from {
        End::Switch(switch) => {
            queues.add(interconnect.outgoing(switch).len() as u16, virtual_channels)
        }
        End::Node(_) => Bank::default(),
    };
    let (to, port) = match data.to {
        End::Switch(switch) => {
            let ports = interconnect.outgoing(switch);
            let back = Interconnect::reverse(channel);
            (switch, ports.partition_point(|port| *port < back) as u16)
        }
        End::Node(_) => (TO_NODE, 0),
    };
    Line {
        busy: 0,
        wake: u64::MAX,
        full: serialisation(settings.packet_size.0, data.bandwidth),
        latency: data.latency.0,
        bank,
        waiting: 0,
        memory: Memory::default(),
        to,
        port,
        carried: ChannelStatistics::default(),
    }
}

impl<R: Routing> Transport for PacketNetwork<'_, R> {
    fn now(&self) -> Picoseconds {
        Picoseconds(self.state.now)
    }

    fn send(&mut self, message: Message) {
        let size = message.size.0;
        let index = self.outstanding.begin(message, Progress { unsent: size, missing: size });
        let now = self.state.now;
        if self.inside.node_of(message.source) == self.inside.node_of(message.destination) {
            let (sent, arrived) = self.inside.send(message.source, message.destination, size, now);
            self.schedule(sent, Event::Leave(index));
            self.schedule(arrived, Event::Deliver(index));
        } else {
            self.schedule(now + self.settings.nic_delay.0, Event::Queue(index));
        }
    }

    fn wake_at(&mut self, time: Picoseconds, token: u64) {
        let alarm = self.outstanding.set_alarm(token);
        self.schedule(time.0.max(self.state.now), Event::Alarm(alarm));
    }

    fn next(&mut self) -> Result<Option<Occurrence>, Stuck> {
        let report = self.handled + EVENTS_PER_REPORT;
        while self.outstanding.all_told() {
            let Some((time, event)) = self.events.pop() else {
                let under_way = self.outstanding.messages();
                return if under_way > 0 { Err(self.stuck()) } else { Ok(None) };
            };
            self.state.now = time.0;
            self.handled += 1;
            self.handle(event);
            if self.handled == report {
                debug_assert!(self.credits_match_packets());
                self.outstanding.working();
            }
        }
        Ok(self.outstanding.tell())
    }

    fn events(&self) -> u64 {
        self.handled
    }
}
