//! The flow model of a fabric: messages as fluids on the ways that packets would take.
//!
//! What it represents: a message takes one way, which the routing chooses when it starts by the
//! number of messages on each channel, and shares each channel's bandwidth max-min fairly with
//! the others ([`FlowNetwork`]). A network interface starts as many messages at once as its
//! policy takes turns among. Behind the last byte's departure come the latencies of the way,
//! the delays of its routers, and, under store-and-forward, one packet's time on each channel
//! but the slowest. What it leaves out: buffers and credits, and so the trees of full buffers behind a
//! hot spot; adaptive routing of single packets.

use std::collections::VecDeque;

use super::flow::{FlowId, FlowNetwork};
use super::flow_bus::FlowBus;
use super::opened::Insides;
use super::outstanding::{Outstanding, Transfer};
use super::packet::{
    ChannelStatistics, NicPolicy, PacketSettings, SettingsError, Switching, serialisation,
};
use super::paths::{PathIndex, Way};
use super::routing::{Load, PacketRoute, Routing};
use super::site::GpuSite;
use super::transport::{
    DeviceIndex, GpuIndex, Message, MessageIndex, Occurrence, Transport, TransportError,
};
use crate::engine::{Model, Scheduler};
use crate::system::composition::System;
use crate::system::fabric::{ChannelId, End, Fabric, NodeId};
use crate::units::{Bandwidth, Picoseconds};

/// What is to happen in a network of flows, besides their ends.
#[derive(Debug, Clone, Copy)]
pub enum FlowEvent {
    /// A message reaches its network interface.
    Queue(MessageIndex),
    /// A message that went as a whole within a server has left its source.
    Leave(MessageIndex),
    /// A message has arrived.
    Deliver(MessageIndex),
}

/// How many messages are on each channel.
struct Messages {
    on_channel: Vec<u32>,
}

impl Load for Messages {
    fn queued(&mut self, channel: ChannelId) -> u32 {
        self.on_channel[channel as usize]
    }
}

/// What a flow carries.
#[derive(Debug, Clone, Default)]
struct Carried {
    message: MessageIndex,
    /// The channels of its way.
    way: Vec<ChannelId>,
    /// From its last byte's departure to its arrival.
    behind: u64,
}

/// A network interface.
#[derive(Debug, Clone, Default)]
struct Interface {
    active: usize,
    waiting: VecDeque<MessageIndex>,
}

/// The flow model of a fabric; see the module for what it represents.
pub struct FlowTransport<'a, R> {
    fabric: Option<&'a Fabric>,
    settings: PacketSettings,
    routing: R,
    /// How many messages an interface sends at once.
    turns: usize,
    flows: FlowNetwork,
    /// What each flow carries, by its slot.
    of_flow: Vec<Carried>,
    messages: Messages,
    interfaces: Vec<Interface>,
    inside: Insides<'a>,
    /// The host channels of servers, where the settings tell their classes of traffic apart.
    bus: Option<FlowBus>,
    /// The way of each message between GPUs.
    outstanding: Outstanding<Way>,
    /// What each channel has carried; a message counts as one packet.
    carried: Vec<ChannelStatistics>,
    /// The way of the message that starts, as its channels and as the flow model wants it.
    way: Vec<ChannelId>,
    uses: Vec<(usize, f64)>,
    /// How many flows have ended.
    ended: u64,
    /// The first thing that cannot happen, after which everything would be wrong.
    fault: Option<TransportError>,
}

impl<'a, R: Routing> FlowTransport<'a, R> {
    /// A network at rest at time zero.
    ///
    /// # Errors
    /// Settings out of range, or a server in which a GPU reaches no network interface.
    pub fn new(
        system: &'a System,
        settings: PacketSettings,
        routing: R,
        nic: NicPolicy,
    ) -> Result<Self, SettingsError> {
        settings.check()?;
        let fabric = system.fabric();
        let channels = fabric.map_or(&[][..], Fabric::channels);
        let capacities: Vec<Bandwidth> = channels.iter().map(|it| it.bandwidth).collect();
        let turns = match nic {
            NicPolicy::Fcfs => 1,
            NicPolicy::RoundRobin => usize::MAX,
            NicPolicy::RoundRobinOf(turns) => usize::from(turns),
        };
        let inside = Insides::new(system)?;
        let bus = settings.pcie.map(|pcie| FlowBus::new(pcie, &inside));
        Ok(Self {
            fabric,
            settings,
            routing,
            turns,
            flows: FlowNetwork::new(&capacities),
            of_flow: Vec::new(),
            messages: Messages { on_channel: vec![0; capacities.len()] },
            interfaces: vec![Interface::default(); fabric.map_or(0, Fabric::nodes) as usize],
            inside,
            bus,
            outstanding: Outstanding::new(),
            carried: vec![ChannelStatistics::default(); capacities.len()],
            way: Vec::new(),
            uses: Vec::new(),
            ended: 0,
            fault: None,
        })
    }

    /// What each channel of the fabric has carried so far, by its index: messages in place of
    /// packets, and as the longest queue the most messages at one time.
    #[must_use]
    pub fn statistics(&self) -> Vec<ChannelStatistics> {
        self.carried[..self.inside.system.fabric_channels()].to_vec()
    }

    /// The same of each channel of a server that has carried something, by its number in the
    /// system.
    #[must_use]
    pub fn inside_statistics(&self) -> Vec<(ChannelId, ChannelStatistics)> {
        let carried = &self.carried[self.inside.system.fabric_channels()..];
        self.inside.statistics(carried.iter().copied())
    }

    fn check(&self) -> Result<(), TransportError> {
        self.fault.as_ref().map_or(Ok(()), |fault| Err(fault.clone()))
    }

    /// A message reaches the interface that sends it, or, within a server, its source's memory.
    fn queue(&mut self, index: MessageIndex, now: Picoseconds) {
        let Transfer { message, progress: way } = self.outstanding[index];
        let Way::Across { from, .. } = way else { return self.start(index, now) };
        let interface = &mut self.interfaces[from as usize];
        if message.class.control {
            self.start(index, now);
        } else if interface.active < self.turns {
            interface.active += 1;
            self.start(index, now);
        } else {
            interface.waiting.push_back(index);
        }
    }

    /// Makes the channels of a device's server, if they are not made.
    fn open(&mut self, end: DeviceIndex) {
        if self.inside.is_of_nodes() {
            return;
        }
        let server = self.inside.place(end).server;
        let before = self.inside.all_opened().len();
        self.inside.open(server);
        for opened in &self.inside.all_opened()[before..] {
            let on_bus = self.bus.as_ref().and_then(|bus| bus.data_rate(&self.inside, opened.at));
            self.flows.add_resource(on_bus.unwrap_or(opened.bandwidth));
            self.carried.push(ChannelStatistics::default());
            self.messages.on_channel.push(0);
        }
    }

    /// Adds the channels of a path within a device's server to the way of the message that starts.
    fn follow(&mut self, end: DeviceIndex, path: PathIndex) {
        if self.inside.is_of_nodes() {
            return;
        }
        let server = self.inside.place(end).server;
        let channels = self.inside.channels(server, path).iter();
        self.way.extend(channels.map(|channel| self.inside.number(server, *channel)));
    }

    /// Adds the fabric's channels between two ports; returns how many routers they pass.
    fn cross_fabric(&mut self, from: NodeId, to: NodeId) -> u64 {
        let Some(fabric) = self.fabric else { return 0 };
        let injection = Fabric::injection(from);
        self.way.push(injection);
        let mut route = PacketRoute::new(from, to);
        let mut routers = 0;
        let mut at = fabric.channels()[injection as usize].to;
        while let End::Switch(switch) = at {
            let hop = self.routing.route(switch, &mut route, &mut self.messages);
            route.hops += 1;
            route.virtual_channel = hop.virtual_channel;
            routers += 1;
            self.way.push(hop.channel);
            at = fabric.channels()[hop.channel as usize].to;
        }
        routers
    }

    /// A channel's bandwidth and latency.
    fn rate_of(&self, channel: ChannelId) -> (Bandwidth, Picoseconds) {
        match (self.inside.opened(channel), self.fabric) {
            (Some(opened), _) => {
                let on_bus =
                    self.bus.as_ref().and_then(|bus| bus.data_rate(&self.inside, opened.at));
                (on_bus.unwrap_or(opened.bandwidth), opened.latency)
            }
            (None, Some(fabric)) => {
                let data = fabric.channels()[channel as usize];
                (data.bandwidth, data.latency)
            }
            (None, None) => unreachable!("without a fabric all channels are servers'"),
        }
    }

    /// Starts the flow of a message.
    fn start(&mut self, index: MessageIndex, now: Picoseconds) {
        let Transfer { message, progress: way } = self.outstanding[index];
        self.way.clear();
        let routers = match way {
            Way::Inside(path) => {
                self.follow(message.source, path);
                0
            }
            Way::Across { from, to, out, back } => {
                self.follow(message.source, out);
                let routers = self.cross_fabric(from, to);
                self.follow(message.destination, back);
                routers
            }
        };
        let first_packet = match (&self.bus, way) {
            (Some(bus), Way::Inside(_)) => bus.first_packet(message.size),
            _ => message.size.0.min(self.settings.packet_size.0),
        };
        let mut behind = self.settings.router_delay.0.saturating_mul(routers);
        let (mut slowest, mut latencies) = (0, 0_u64);
        self.uses.clear();
        for channel in &self.way {
            let (bandwidth, latency) = self.rate_of(*channel);
            behind = behind.saturating_add(latency.0);
            latencies = latencies.saturating_add(latency.0);
            if self.settings.switching == Switching::StoreAndForward {
                let packet = serialisation(first_packet, bandwidth);
                slowest = slowest.max(packet);
                behind = behind.saturating_add(packet);
            }
            let on_channel = &mut self.messages.on_channel[*channel as usize];
            *on_channel += 1;
            let carried = &mut self.carried[*channel as usize];
            carried.packets += 1;
            carried.data.0 += message.size.0;
            carried.longest_queue = carried.longest_queue.max(*on_channel);
            self.uses.push((*channel as usize, 1.0));
        }
        let flow = self.flows.start(&self.uses, message.size, None, now);
        if flow.slot() >= self.of_flow.len() {
            self.of_flow.resize_with(flow.slot() + 1, Carried::default);
        }
        let carried = &mut self.of_flow[flow.slot()];
        carried.message = index;
        // The fluid takes the slowest channel's time for all of the message.
        carried.behind = behind - slowest;
        std::mem::swap(&mut carried.way, &mut self.way);
        if let Some(bus) = &mut self.bus
            && matches!(way, Way::Inside(_))
        {
            let transfer = &self.outstanding[index];
            let shared = (&self.inside, &mut self.flows);
            if bus.begin((index, flow), transfer, shared, now) {
                // What asks for it goes the other way first.
                carried.behind = carried.behind.saturating_add(latencies);
            }
        }
    }

    /// A flow has ended: its message has left, and its interface may start the next one.
    fn finish(&mut self, flow: FlowId, scheduler: &mut impl Scheduler<FlowEvent>) {
        let Carried { message: index, ref way, behind } = self.of_flow[flow.slot()];
        for channel in way {
            self.messages.on_channel[*channel as usize] -= 1;
        }
        if let Some(bus) = &mut self.bus {
            bus.end(index);
        }
        self.outstanding.sent(index);
        scheduler.schedule_in(Picoseconds(behind), FlowEvent::Deliver(index));
        let Transfer { message, progress } = self.outstanding[index];
        let Way::Across { from, .. } = progress else { return };
        if message.class.control {
            return;
        }
        let interface = &mut self.interfaces[from as usize];
        match interface.waiting.pop_front() {
            Some(next) => self.start(next, scheduler.now()),
            None => interface.active -= 1,
        }
    }
}

impl<R: Routing> Model for FlowTransport<'_, R> {
    type Event = FlowEvent;
    type Error = TransportError;
    const SETTLES: bool = true;

    fn handle(
        &mut self,
        event: FlowEvent,
        scheduler: &mut impl Scheduler<FlowEvent>,
    ) -> Result<(), TransportError> {
        match event {
            FlowEvent::Queue(index) => self.queue(index, scheduler.now()),
            FlowEvent::Leave(index) => self.outstanding.sent(index),
            FlowEvent::Deliver(index) => self.outstanding.delivered(index),
        }
        self.check()
    }

    /// Rates are worked out once all that starts at a moment has started; then the next flow to
    /// end is known.
    fn settle(
        &mut self,
        scheduler: &mut impl Scheduler<FlowEvent>,
    ) -> Result<Option<Picoseconds>, TransportError> {
        self.check()?;
        let look = match &mut self.bus {
            Some(bus) => {
                self.flows.advance(scheduler.now());
                bus.raise(&mut self.flows, scheduler.now())
            }
            None => None,
        };
        let Some((time, _)) = self.flows.next_completion() else { return Ok(None) };
        if time == scheduler.now()
            && let Some((_, flow)) = self.flows.complete_next()
        {
            self.ended += 1;
            self.finish(flow, scheduler);
        }
        Ok(Some(look.map_or(time, |look| look.min(time))))
    }

    fn at_rest(&self, now: Picoseconds) -> Result<(), TransportError> {
        self.check()?;
        // What is still under way would end beyond the last time that is counted.
        if self.flows.active() > 0 { Err(TransportError::TooLong { now }) } else { Ok(()) }
    }
}

impl<R: Routing> Transport for FlowTransport<'_, R> {
    fn gpu_device(&self, gpu: GpuIndex) -> DeviceIndex {
        self.inside.system.gpu_device(gpu) as DeviceIndex
    }

    fn gpu_site(&self, gpu: GpuIndex) -> GpuSite {
        self.inside.gpu_site(gpu)
    }

    fn send(&mut self, message: Message, scheduler: &mut impl Scheduler<FlowEvent>) {
        let way = match self.inside.way(&message) {
            Ok(way) => way,
            Err(error) => {
                self.fault.get_or_insert(error.into());
                return;
            }
        };
        let index = self.outstanding.begin(message, way);
        let now = scheduler.now();
        match way {
            Way::Across { .. } => {
                self.open(message.source);
                self.open(message.destination);
                scheduler.schedule_in(self.settings.nic_delay, FlowEvent::Queue(index));
            }
            Way::Inside(path) => {
                let server = self.inside.place(message.source).server;
                let whole = self.inside.send_whole(server, path, message.size.0, now.0);
                if let Some((sent, arrived)) = whole {
                    scheduler.schedule(Picoseconds(sent), FlowEvent::Leave(index));
                    scheduler.schedule(Picoseconds(arrived), FlowEvent::Deliver(index));
                } else {
                    self.open(message.source);
                    scheduler.schedule(now, FlowEvent::Queue(index));
                }
            }
        }
    }

    fn tell(&mut self) -> Option<Occurrence> {
        self.outstanding.tell()
    }

    /// The ends of flows; and the look that finds none left counts as one.
    fn own_events(&self) -> u64 {
        self.ended + 1
    }
}
