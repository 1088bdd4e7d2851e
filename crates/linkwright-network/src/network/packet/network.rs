//! Keeps the state of the network at work and handles each event.

mod bus;
mod commands;
mod forwarding;
mod inside;
mod line;
mod memory;
mod pulling;

use bus::Bus;
use line::{Line, line};

use super::arbitration::Arbitration;
use super::credits::Credits;
use super::nic::{NetworkInterface, NicPolicy};
use super::packets::{AT_SOURCE, PacketIndex, Packets, TO_NODE};
use super::queues::Queues;
use super::settings::{PacketSettings, SettingsError};
use super::statistics::ChannelStatistics;
use super::trace::{PacketRecord, PacketStep, PacketTrace};
use super::watchdog::{self, Blocked};
use crate::engine::{Model, Scheduler};
use crate::network::opened::Insides;
use crate::network::outstanding::Outstanding;
use crate::network::paths::Way;
use crate::network::routing::{Load, Routing};
use crate::network::site::GpuSite;
use crate::network::transport::{
    DeviceIndex, GpuIndex, MemoryClass, Message, MessageIndex, Occurrence, Stuck, Transport,
    TransportError,
};
use crate::system::composition::System;
use crate::system::fabric::{ChannelId, End, Fabric, FabricChannel};
use crate::units::Picoseconds;

/// Lists the events of a network of packets.
#[derive(Debug, Clone, Copy)]
pub enum PacketEvent {
    /// A packet is at the far end of its channel, and through the switch's router.
    Arrive(PacketIndex),
    /// A channel is free again, or has a credit again.
    Wake(ChannelId),
    /// A message reaches its network interface.
    Queue(MessageIndex),
    /// A message has left its source.
    Leave(MessageIndex),
    /// A message has arrived.
    Deliver(MessageIndex),
}

/// How far a message is.
#[derive(Debug, Clone, Copy)]
struct Progress {
    /// Counts the bytes that no packet holds yet.
    unsent: u64,
    /// Bytes that have not arrived.
    missing: u64,
    /// How it gets to its destination.
    way: Way,
    /// Packets that have been made and have not left their source's memory.
    at_source: u32,
    /// How many packets may be on their way to the interface when the next is made.
    window: u16,
}

/// Everything but the routing, which asks it for its load.
struct State {
    now: u64,
    lines: Vec<Line>,
    credits: Credits,
    /// Counts the packets that wait for each channel, cross it, or fill the buffer behind it. It is
    /// an array of its own, because adaptive routing asks many channels for each packet.
    load: Vec<u32>,
}

impl Load for State {
    fn queued(&mut self, channel: ChannelId) -> u32 {
        self.load[channel as usize]
    }
}

/// Plays a network of packets; see the [module](super) for what it models.
pub struct PacketNetwork<'a, R> {
    /// Lists the fabric's channels, which come before all others.
    channels: &'a [FabricChannel],
    /// Counts the first channels, which join the fabric's ports to it: from and to each in turn.
    of_ports: u32,
    settings: PacketSettings,
    routing: R,
    /// Counts those of the routing, or of servers where these have more.
    virtual_channels: u8,
    has_kernels: bool,
    arbitration: &'static dyn Arbitration,
    state: State,
    queues: Queues,
    packets: Packets,
    /// Those of the fabric's ports, then the copy engines of GPUs whose servers are at work.
    interfaces: Vec<NetworkInterface>,
    /// How many packets of each interface are on their way to it.
    pulled: Vec<u16>,
    /// Gives the first copy engine of each server at work ([`Self::engine_of`]).
    engines: Vec<u32>,
    inside: Insides<'a>,
    /// Holds the host channels of servers, where the settings tell their classes of traffic apart.
    bus: Option<Box<Bus>>,
    outstanding: Outstanding<Progress>,
    /// Keeps the steps of packets, where somebody asks for them.
    trace: Option<Box<PacketTrace>>,
    /// The first thing that cannot happen, after which everything would be wrong.
    fault: Option<TransportError>,
}

impl<'a, R: Routing> PacketNetwork<'a, R> {
    /// Makes a network at rest at time zero.
    ///
    /// # Errors
    /// Settings out of range, a routing of more than 32 virtual channels, or a server in which a
    /// GPU reaches no network interface.
    pub fn new(
        system: &'a System,
        settings: PacketSettings,
        routing: R,
        nic: NicPolicy,
        arbitration: &'static dyn Arbitration,
    ) -> Result<Self, SettingsError> {
        Self::over(system, settings, routing, (nic, arbitration), false)
    }

    /// The same, which carries messages of kernels' caches, too: in servers each of their classes has a virtual channel
    /// of its own ([`MemoryClass`](crate::network::MemoryClass)).
    ///
    /// # Errors
    /// Fails as [`new`](Self::new) does.
    pub fn for_kernels(
        system: &'a System,
        settings: PacketSettings,
        routing: R,
        nic: NicPolicy,
        arbitration: &'static dyn Arbitration,
    ) -> Result<Self, SettingsError> {
        Self::over(system, settings, routing, (nic, arbitration), true)
    }

    fn over(
        system: &'a System,
        settings: PacketSettings,
        routing: R,
        (nic, arbitration): (NicPolicy, &'static dyn Arbitration),
        has_kernels: bool,
    ) -> Result<Self, SettingsError> {
        settings.check()?;
        let of_routing = routing.virtual_channels();
        if of_routing == 0 || of_routing > 32 {
            return Err(SettingsError::VirtualChannels { channels: of_routing });
        }
        let of_kernels = if has_kernels { MemoryClass::ALL.len() as u8 } else { 0 };
        let virtual_channels = of_routing.max(of_kernels);
        let fabric = system.fabric();
        for switch in 0..fabric.map_or(0, Fabric::switches) {
            let ports = fabric.map_or(0, |fabric| fabric.outgoing(switch).len());
            if ports > usize::from(u16::MAX) {
                return Err(SettingsError::Ports { switch, ports });
            }
        }
        let channels = fabric.map_or(&[][..], Fabric::channels);
        let lines: Vec<_> = fabric.map_or_else(Vec::new, |fabric| {
            let ids = 0..channels.len() as u32;
            ids.map(|id| line(fabric, id, &settings, virtual_channels)).collect()
        });
        let mut credits = Credits::new(virtual_channels);
        for (line, channel) in lines.iter().zip(channels) {
            let latency = channel.latency.0;
            let trip = settings.round_trip(line.full, line.delay, latency);
            credits.add(latency, |_| settings.buffer_behind(trip));
        }
        let ports = fabric.map_or(0, Fabric::nodes);
        let inside = Insides::new(system)?;
        let bus = match settings.pcie {
            Some(pcie) => {
                pcie.check_packets(if fabric.is_some() { settings.packet_size.0 } else { 0 })?;
                Some(Box::new(Bus::new(pcie, &inside)))
            }
            None => None,
        };
        Ok(Self {
            channels,
            of_ports: 2 * ports,
            settings,
            routing,
            virtual_channels,
            has_kernels,
            arbitration,
            state: State { now: 0, load: vec![0; lines.len()], lines, credits },
            queues: Queues::default(),
            packets: Packets::new(),
            interfaces: (0..ports).map(|_| NetworkInterface::new(nic)).collect(),
            pulled: vec![0; ports as usize],
            engines: Vec::new(),
            inside,
            bus,
            outstanding: Outstanding::new(),
            trace: None,
            fault: None,
        })
    }

    /// Records what packets do on the fabric's channels from now on.
    #[must_use]
    pub fn with_trace(mut self, trace: PacketTrace) -> Self {
        self.trace = Some(Box::new(trace));
        self
    }

    /// Returns what was recorded, and records no more.
    pub fn take_trace(&mut self) -> Option<PacketTrace> {
        self.trace.take().map(|mut trace| {
            trace.finish();
            *trace
        })
    }

    /// Records a step of a packet, where somebody wants to know.
    #[inline(always)]
    fn note(&mut self, channel: ChannelId, step: PacketStep, size: u32, hops: u8) {
        if let Some(trace) = &mut self.trace
            && (channel as usize) < self.channels.len()
        {
            let queue = self.state.lines[channel as usize].waiting;
            let time = Picoseconds(self.state.now);
            trace.note(PacketRecord { time, channel, step, size, hops, queue });
        }
    }

    /// Returns the traffic that each channel of the fabric has carried so far, by its index.
    #[must_use]
    pub fn statistics(&self) -> Vec<ChannelStatistics> {
        self.state.lines[..self.channels.len()].iter().map(|line| line.carried).collect()
    }

    /// Returns the traffic of each channel of a server that has carried something so far, by its
    /// number in the system.
    #[must_use]
    pub fn inside_statistics(&self) -> Vec<(ChannelId, ChannelStatistics)> {
        let lines = &self.state.lines[self.channels.len()..];
        self.inside.statistics(lines.iter().map(|line| line.carried))
    }

    /// How many channels have been made: those of the fabric, and those of servers at work.
    #[must_use]
    pub fn channels_made(&self) -> usize {
        self.state.lines.len()
    }

    /// How many times a packet has crossed a channel so far.
    #[must_use]
    pub fn packet_hops(&self) -> u64 {
        self.state.lines.iter().map(|line| line.carried.packets).sum()
    }

    /// Notes that a packet would be under way beyond the last time that is counted.
    #[cold]
    fn too_long(&mut self) {
        let now = Picoseconds(self.state.now);
        self.fault.get_or_insert(TransportError::TooLong { now });
    }

    /// Names a buffer for people: by the channel into it, and its virtual channel.
    fn buffer_name(&self, (channel, virtual_channel): (ChannelId, u8)) -> String {
        let ends = match self.inside.opened(channel) {
            None => {
                let data = self.channels[channel as usize];
                let end = |end: End| match end {
                    End::Node(node) => format!("node {node}"),
                    End::Switch(switch) => format!("switch {switch}"),
                };
                format!("{} to {}", end(data.from), end(data.to))
            }
            Some(opened) => {
                let system = self.inside.system;
                let there = system.channel(system.channel_at(opened.at.server, opened.at.index));
                format!("{} to {}", system.device_name(there.from), system.device_name(there.to))
            }
        };
        format!("{ends}, virtual channel {virtual_channel}")
    }

    #[inline(always)]
    fn happen(&mut self, event: PacketEvent, scheduler: &mut impl Scheduler<PacketEvent>) {
        self.state.now = scheduler.now().0;
        match event {
            PacketEvent::Arrive(packet) => self.arrive(packet, scheduler),
            PacketEvent::Wake(channel) => {
                let line = &mut self.state.lines[channel as usize];
                // An earlier wake may have been scheduled after this one, and done its work. And a
                // credit of one virtual channel may come while a packet of another crosses.
                if line.wake == self.state.now {
                    line.wake = u64::MAX;
                    self.send_when_free(channel, scheduler);
                }
            }
            PacketEvent::Queue(message) => self.queue(message, scheduler),
            PacketEvent::Leave(message) => self.outstanding.sent(message),
            PacketEvent::Deliver(message) => self.outstanding.delivered(message),
        }
    }

    /// Says whether credits match packets, as they must between any two events. A credit is held
    /// for each packet that is in a buffer or on its way to it, and for nothing else.
    pub(super) fn credits_match_packets(&self) -> bool {
        let virtual_channels = usize::from(self.virtual_channels);
        let mut packets = vec![0_u16; self.state.lines.len() * virtual_channels];
        let counted = |packet: &&super::packets::Packet| {
            packet.channel != AT_SOURCE && !self.is_of_bus(packet.channel)
        };
        for packet in self.packets.iter().filter(counted) {
            let virtual_channel = usize::from(packet.route.virtual_channel);
            packets[packet.channel as usize * virtual_channels + virtual_channel] += 1;
        }
        let on_bus = self.bus.as_ref().is_none_or(|bus| bus.credits_match(self.packets.iter()));
        on_bus
            && self.state.lines.iter().enumerate().all(|(channel, line)| {
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
                if packet.channel == AT_SOURCE {
                    continue;
                }
                let buffer = (packet.channel, packet.route.virtual_channel);
                let waits_for = (channel as u32, virtual_channel);
                blocked.push(Blocked { buffer, waits_for });
            }
        }
        Stuck {
            time: Picoseconds(self.state.now),
            messages: self.outstanding.messages(),
            cycle: watchdog::cycle(
                &blocked,
                |buffer| self.buffer_name(buffer),
                |(channel, virtual_channel)| match self.bus.as_ref() {
                    Some(bus) if bus.line(channel).is_some() => {
                        let held = bus.held(channel, virtual_channel).unwrap_or_default();
                        format!("{held} bytes")
                    }
                    _ => format!("{} packets", self.state.credits.held(channel, virtual_channel)),
                },
            ),
        }
    }
}

impl<R: Routing> Model for PacketNetwork<'_, R> {
    type Event = PacketEvent;
    type Error = TransportError;
    const SETTLES: bool = false;

    #[inline]
    fn handle(
        &mut self,
        event: PacketEvent,
        scheduler: &mut impl Scheduler<PacketEvent>,
    ) -> Result<(), TransportError> {
        self.happen(event, scheduler);
        self.fault.as_ref().map_or(Ok(()), |fault| Err(fault.clone()))
    }

    fn at_rest(&self, _: Picoseconds) -> Result<(), TransportError> {
        debug_assert!(self.credits_match_packets());
        match &self.fault {
            Some(fault) => Err(fault.clone()),
            None if self.outstanding.messages() > 0 => Err(self.stuck().into()),
            None => Ok(()),
        }
    }
}

impl<R: Routing> Transport for PacketNetwork<'_, R> {
    fn gpu_device(&self, gpu: GpuIndex) -> DeviceIndex {
        self.inside.system.gpu_device(gpu) as DeviceIndex
    }

    fn gpu_site(&self, gpu: GpuIndex) -> GpuSite {
        self.inside.gpu_site(gpu)
    }

    fn send(&mut self, message: Message, scheduler: &mut impl Scheduler<PacketEvent>) {
        let size = message.size.0;
        let way = match self.inside.way(&message) {
            Ok(way) => way,
            Err(error) => {
                self.fault.get_or_insert(error.into());
                return;
            }
        };
        let window = self.settings.least_buffer();
        let progress = Progress { unsent: size, missing: size, way, at_source: 0, window };
        let index = self.outstanding.begin(message, progress);
        let now = scheduler.now();
        match way {
            Way::Across { from, out, .. } => {
                self.open(message.source);
                self.open(message.destination);
                self.outstanding[index].progress.window = self.window(message.source, from, out);
                scheduler.schedule_in(self.settings.nic_delay, PacketEvent::Queue(index));
            }
            Way::Inside(path) => {
                let server = self.inside.place(message.source).server;
                let of_memory = message.class.memory.is_some();
                let of = (size, of_memory);
                if let Some((sent, arrived)) = self.inside.send_whole(server, path, of, now.0) {
                    // Nobody asks when a line has left.
                    if !of_memory {
                        scheduler.schedule(Picoseconds(sent), PacketEvent::Leave(index));
                    }
                    scheduler.schedule(Picoseconds(arrived), PacketEvent::Deliver(index));
                } else {
                    self.open(message.source);
                    scheduler.schedule(now, PacketEvent::Queue(index));
                }
            }
        }
    }

    fn tell(&mut self) -> Option<Occurrence> {
        self.outstanding.tell()
    }
}
