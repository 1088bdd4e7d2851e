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

use super::agenda::Agenda;
use super::flow::{FlowId, FlowNetwork};
use super::node_links::NodeLinks;
use super::outstanding::{AlarmIndex, Outstanding};
use super::packet::{
    ChannelStatistics, NicPolicy, PacketSettings, SettingsError, Switching, serialisation,
};
use super::routing::{Load, PacketRoute, Routing};
use super::transport::{Message, MessageIndex, Occurrence, Transport, TransportError};
use crate::system::fabric::{ChannelId, End, Fabric, NodeId};
use crate::units::{Bandwidth, Picoseconds};

/// What is to happen, besides the ends of flows.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// A message reaches its network interface.
    Queue(MessageIndex),
    /// A message between GPUs of one node has left its source.
    Leave(MessageIndex),
    /// A message has arrived.
    Deliver(MessageIndex),
    /// A time has come that the caller waits for.
    Alarm(AlarmIndex),
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
    fabric: &'a Fabric,
    settings: PacketSettings,
    routing: R,
    /// How many messages an interface sends at once.
    turns: usize,
    now: u64,
    agenda: Agenda<Event>,
    flows: FlowNetwork,
    /// What each flow carries, by its slot.
    of_flow: Vec<Carried>,
    messages: Messages,
    interfaces: Vec<Interface>,
    inside: NodeLinks,
    outstanding: Outstanding<()>,
    /// What each channel has carried; a message counts as one packet.
    carried: Vec<ChannelStatistics>,
    /// The way of the message that starts, as its channels and as the flow model wants it.
    way: Vec<ChannelId>,
    uses: Vec<(usize, f64)>,
    handled: u64,
}

impl<'a, R: Routing> FlowTransport<'a, R> {
    /// A network at rest at time zero.
    ///
    /// # Errors
    /// Settings out of range.
    pub fn new(
        fabric: &'a Fabric,
        settings: PacketSettings,
        routing: R,
        nic: NicPolicy,
    ) -> Result<Self, SettingsError> {
        settings.check()?;
        let capacities: Vec<Bandwidth> =
            fabric.channels().iter().map(|channel| channel.bandwidth).collect();
        let turns = match nic {
            NicPolicy::Fcfs => 1,
            NicPolicy::RoundRobin => usize::MAX,
            NicPolicy::RoundRobinOf(turns) => usize::from(turns),
        };
        Ok(Self {
            fabric,
            settings,
            routing,
            turns,
            now: 0,
            agenda: Agenda::new(),
            flows: FlowNetwork::new(&capacities),
            of_flow: Vec::new(),
            messages: Messages { on_channel: vec![0; capacities.len()] },
            interfaces: vec![Interface::default(); fabric.nodes() as usize],
            inside: NodeLinks::new(settings.node, fabric.nodes()),
            outstanding: Outstanding::new(),
            carried: vec![ChannelStatistics::default(); capacities.len()],
            way: Vec::new(),
            uses: Vec::new(),
            handled: 0,
        })
    }

    /// What each channel has carried so far, by its index: messages in place of packets, and
    /// as the longest queue the most messages at one time.
    #[must_use]
    pub fn statistics(&self) -> Vec<ChannelStatistics> {
        self.carried.clone()
    }

    fn schedule(&mut self, time: u64, event: Event) {
        if !self.agenda.schedule(time, event) {
            self.outstanding.working();
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Queue(index) => {
                let message = self.outstanding[index].message;
                let node = self.inside.node_of(message.source);
                let interface = &mut self.interfaces[node as usize];
                if message.control {
                    self.start(index, node);
                } else if interface.active < self.turns {
                    interface.active += 1;
                    self.start(index, node);
                } else {
                    interface.waiting.push_back(index);
                }
            }
            Event::Leave(index) => self.outstanding.sent(index),
            Event::Deliver(index) => self.outstanding.delivered(index),
            Event::Alarm(alarm) => self.outstanding.woken(alarm),
        }
    }

    /// Starts the flow of a message at its network interface.
    fn start(&mut self, index: MessageIndex, node: NodeId) {
        let message = self.outstanding[index].message;
        let destination = self.inside.node_of(message.destination);
        self.way.clear();
        self.way.push(Fabric::injection(node));
        let mut route = PacketRoute::new(node, destination);
        let mut at = self.fabric.channels()[self.way[0] as usize].to;
        while let End::Switch(switch) = at {
            let hop = self.routing.route(switch, &mut route, &mut self.messages);
            route.hops += 1;
            route.virtual_channel = hop.virtual_channel;
            self.way.push(hop.channel);
            at = self.fabric.channels()[hop.channel as usize].to;
        }
        let first_packet = message.size.0.min(self.settings.packet_size.0);
        let mut behind = self.settings.router_delay.0.saturating_mul(self.way.len() as u64 - 1);
        let mut slowest = 0;
        self.uses.clear();
        for channel in &self.way {
            let data = self.fabric.channels()[*channel as usize];
            behind = behind.saturating_add(data.latency.0);
            if self.settings.switching == Switching::StoreAndForward {
                let packet = serialisation(first_packet, data.bandwidth);
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
        let flow = self.flows.start(&self.uses, message.size, None, Picoseconds(self.now));
        if flow.slot() >= self.of_flow.len() {
            self.of_flow.resize_with(flow.slot() + 1, Carried::default);
        }
        let carried = &mut self.of_flow[flow.slot()];
        carried.message = index;
        // The fluid takes the slowest channel's time for all of the message.
        carried.behind = behind - slowest;
        std::mem::swap(&mut carried.way, &mut self.way);
    }

    /// A flow has ended: its message has left, and its interface may start the next one.
    fn finish(&mut self, flow: FlowId) {
        let Carried { message: index, ref way, behind } = self.of_flow[flow.slot()];
        for channel in way {
            self.messages.on_channel[*channel as usize] -= 1;
        }
        self.outstanding.sent(index);
        self.schedule(self.now.saturating_add(behind), Event::Deliver(index));
        let message = self.outstanding[index].message;
        if message.control {
            return;
        }
        let node = self.inside.node_of(message.source);
        let interface = &mut self.interfaces[node as usize];
        match interface.waiting.pop_front() {
            Some(next) => self.start(next, node),
            None => interface.active -= 1,
        }
    }
}

impl<R: Routing> Transport for FlowTransport<'_, R> {
    fn now(&self) -> Picoseconds {
        Picoseconds(self.now)
    }

    fn send(&mut self, message: Message) {
        let index = self.outstanding.begin(message, ());
        let Message { source, destination, size, .. } = message;
        if self.inside.node_of(source) == self.inside.node_of(destination) {
            let (sent, arrived) = self.inside.send(source, destination, size.0, self.now);
            self.schedule(sent, Event::Leave(index));
            self.schedule(arrived, Event::Deliver(index));
        } else {
            self.schedule(self.now.saturating_add(self.settings.nic_delay.0), Event::Queue(index));
        }
    }

    fn wake_at(&mut self, time: Picoseconds, token: u64) {
        let alarm = self.outstanding.set_alarm(token);
        self.schedule(time.0.max(self.now), Event::Alarm(alarm));
    }

    fn next(&mut self) -> Result<Option<Occurrence>, TransportError> {
        while self.outstanding.all_told() {
            let event = self.agenda.peek_time();
            // Rates are worked out once all that starts at a moment has started.
            let at_once = event.is_some_and(|time| time.0 == self.now);
            let end = if at_once { None } else { self.flows.next_completion() };
            self.handled += 1;
            match (event, end) {
                (None, None) if self.flows.active() == 0 => return Ok(None),
                (None, None) => {
                    // What is under way ends beyond the last time that is counted.
                    self.agenda.too_long();
                    break;
                }
                (event, Some((time, _))) if event.is_none_or(|event| time < event) => {
                    self.now = time.0;
                    if let Some((_, flow)) = self.flows.complete_next() {
                        self.finish(flow);
                    }
                }
                _ => {
                    let Some((time, event)) = self.agenda.pop() else { return Ok(None) };
                    self.now = time.0;
                    self.handle(event);
                }
            }
        }
        self.agenda.check()?;
        Ok(self.outstanding.tell())
    }

    fn events(&self) -> u64 {
        self.handled
    }
}
