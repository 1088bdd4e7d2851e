//! Plays large messages as fluids and small ones as trains of packets: the flow model of a fabric.
//!
//! A message that one buffer could hold goes in [trains]: a few packets that stay together. A train
//! waits for one channel after another, first come, first served. A larger message is a
//! [fluid](fluids) on the ways that its packets would take. It shares each channel's bandwidth
//! max-min fairly with the others ([`FlowNetwork`]). A network interface sends as many messages at
//! once as its policy says, and asks the policy for the next. Behind the last byte's departure come
//! the latencies of the way and the delays of its routers. Store-and-forward adds one packet's time
//! on each channel but the slowest. The model leaves out buffers and credits, and so the trees of
//! full buffers behind a hot spot.

mod fluids;
mod interfaces;
mod load;
mod trains;

use super::flow::FlowNetwork;
use super::flow_bus::FlowBus;
use super::opened::Insides;
use super::outstanding::Outstanding;
use super::packet::{ChannelStatistics, NicPolicy, PacketSettings, SettingsError};
use super::paths::Way;
use super::routing::Routing;
use super::site::GpuSite;
use super::transport::{
    DeviceIndex, GpuIndex, Message, MessageIndex, Occurrence, Transport, TransportError,
};
use crate::engine::{Model, Scheduler};
use crate::system::composition::System;
use crate::system::fabric::{ChannelId, Fabric, NodeId};
use crate::units::{Bandwidth, Picoseconds};
use fluids::Carried;
use interfaces::Interface;
use load::Channels;
use trains::{TrainIndex, Trains};

/// Lists the events of a network of flows, besides the ends of flows.
#[derive(Debug, Clone, Copy)]
pub enum FlowEvent {
    /// A message reaches its network interface.
    Queue(MessageIndex),
    /// A network interface may send its next train.
    Turn(NodeId),
    /// A train is ready for its next channel.
    Hop(TrainIndex),
    /// A message has left its source.
    Leave(MessageIndex),
    /// A message has arrived.
    Deliver(MessageIndex),
}

/// Plays a fabric by the flow model; see the module for what it represents.
pub struct FlowTransport<'a, R> {
    fabric: Option<&'a Fabric>,
    settings: PacketSettings,
    routing: R,
    nic: NicPolicy,
    /// How many messages an interface sends at once.
    turns: usize,
    flows: FlowNetwork,
    /// Describes the message that each flow carries, by its slot.
    of_flow: Vec<Carried>,
    interfaces: Vec<Interface>,
    inside: Insides<'a>,
    /// Holds the host channels of servers, where the settings tell their classes of traffic apart.
    bus: Option<FlowBus>,
    /// Holds the way of each message between GPUs.
    outstanding: Outstanding<Way>,
    trains: Trains,
    channels: Channels,
    /// The way of the message that starts, as its channels and as the flow model wants it.
    way: Vec<ChannelId>,
    uses: Vec<(usize, f64)>,
    /// Lists the channels of all its ways, each with how many ways cross it.
    ways: Vec<(ChannelId, u32)>,
    /// How often a flow has ended, or all of it but what the first buffer holds.
    ended: u64,
    /// The first thing that cannot happen, after which everything would be wrong.
    fault: Option<TransportError>,
}

impl<'a, R: Routing> FlowTransport<'a, R> {
    /// Makes a network at rest at time zero.
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
        let inside = Insides::new(system)?;
        let mut on_channels = Channels::new(settings);
        capacities.iter().for_each(|capacity| on_channels.add(*capacity));
        let bus = settings.pcie.map(|pcie| FlowBus::new(pcie, &inside));
        Ok(Self {
            fabric,
            settings,
            routing,
            nic,
            turns: nic.at_once(),
            flows: FlowNetwork::new(&capacities),
            of_flow: Vec::new(),
            interfaces: (0..fabric.map_or(0, Fabric::nodes))
                .map(|_| Interface::default())
                .collect(),
            inside,
            bus,
            outstanding: Outstanding::new(),
            trains: Trains::default(),
            channels: on_channels,
            way: Vec::new(),
            uses: Vec::new(),
            ways: Vec::new(),
            ended: 0,
            fault: None,
        })
    }

    /// Returns the traffic that each channel of the fabric has carried so far, by its index. It
    /// counts fluids and trains in place of packets. As the longest queue it gives the most fluids
    /// and packets of trains at one time.
    #[must_use]
    pub fn statistics(&self) -> Vec<ChannelStatistics> {
        self.channels.carried()[..self.inside.system.fabric_channels()].to_vec()
    }

    /// The same of each channel of a server that has carried something, by its number in the
    /// system.
    #[must_use]
    pub fn inside_statistics(&self) -> Vec<(ChannelId, ChannelStatistics)> {
        let carried = &self.channels.carried()[self.inside.system.fabric_channels()..];
        self.inside.statistics(carried.iter().copied())
    }

    fn check(&self) -> Result<(), TransportError> {
        self.fault.as_ref().map_or(Ok(()), |fault| Err(fault.clone()))
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
            let bandwidth = on_bus.unwrap_or(opened.bandwidth);
            self.flows.add_resource(bandwidth);
            self.channels.add(bandwidth);
        }
    }

    /// The bytes that every buffer of the fabric holds at least.
    fn buffer_size(&self) -> u64 {
        u64::from(self.settings.least_buffer()) * self.settings.packet_size.0
    }

    /// Returns a channel's bandwidth and latency, for the traffic of copy engines or for all other
    /// traffic.
    fn rate_of(&self, channel: ChannelId, by_copy_engine: bool) -> (Bandwidth, Picoseconds) {
        match (self.inside.opened(channel), self.fabric) {
            (Some(opened), _) => {
                let on_bus =
                    self.bus.as_ref().and_then(|bus| bus.data_rate(&self.inside, opened.at));
                let reached = if by_copy_engine { opened.copied } else { opened.bandwidth };
                (on_bus.unwrap_or(reached), opened.latency)
            }
            (None, Some(fabric)) => {
                let data = fabric.channels()[channel as usize];
                (data.bandwidth, data.latency)
            }
            (None, None) => unreachable!("without a fabric all channels are servers'"),
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
            FlowEvent::Queue(index) => self.queue(index, scheduler),
            FlowEvent::Turn(node) => self.take_turn(node, scheduler),
            FlowEvent::Hop(train) => {
                self.hop(train, scheduler);
            }
            FlowEvent::Leave(index) => self.leave(index, scheduler),
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
                bus.classes.raise(&mut self.flows, scheduler.now())
            }
            None => None,
        };
        let Some((time, _)) = self.flows.next_completion() else { return Ok(None) };
        if time == scheduler.now() {
            self.finish_next(scheduler);
        }
        Ok(Some(look.map_or(time, |look| look.min(time))))
    }

    fn at_rest(&self, now: Picoseconds) -> Result<(), TransportError> {
        self.check()?;
        // The flows that are still under way would end beyond the last time that is counted.
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
                let whole = self.inside.send_whole(server, path, (message.size.0, false), now.0);
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
