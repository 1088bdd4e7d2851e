//! The flow model of an interconnect: messages as fluids on the ways that packets would take.
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
use super::node_links::NodeLinks;
use super::packet::{
    ChannelStatistics, NicPolicy, PacketSettings, SettingsError, Switching, serialisation,
};
use super::routing::{Load, PacketRoute, Routing};
use super::transport::{Message, Occurrence, Stuck, Transport};
use crate::engine::EventQueue;
use crate::topology::interconnect::{ChannelId, End, Interconnect, NodeId};
use crate::units::{Bandwidth, Picoseconds};

/// The index of a message in the model.
type MessageIndex = u32;

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
    Alarm(u32),
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

/// A message under way.
#[derive(Debug, Clone, Default)]
struct Transfer {
    message: Option<Message>,
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

/// The flow model of an interconnect; see the module for what it represents.
pub struct FlowTransport<'a, R> {
    interconnect: &'a Interconnect,
    settings: PacketSettings,
    routing: R,
    /// How many messages an interface sends at once.
    turns: usize,
    now: u64,
    events: EventQueue<Event>,
    flows: FlowNetwork,
    /// The message of each flow, by its slot.
    of_flow: Vec<MessageIndex>,
    messages: Messages,
    interfaces: Vec<Interface>,
    inside: NodeLinks,
    transfers: Vec<Transfer>,
    free_transfers: Vec<MessageIndex>,
    alarms: Vec<u64>,
    free_alarms: Vec<u32>,
    occurred: VecDeque<Occurrence>,
    /// What each channel has carried; a message counts as one packet.
    carried: Vec<ChannelStatistics>,
    /// The way of the message that starts, as the flow model wants it.
    uses: Vec<(usize, f64)>,
    handled: u64,
}

impl<'a, R: Routing> FlowTransport<'a, R> {
    /// A network at rest at time zero.
    ///
    /// # Errors
    /// Settings out of range.
    pub fn new(
        interconnect: &'a Interconnect,
        settings: PacketSettings,
        routing: R,
        nic: NicPolicy,
    ) -> Result<Self, SettingsError> {
        settings.check()?;
        let capacities: Vec<Bandwidth> =
            interconnect.channels().iter().map(|channel| channel.bandwidth).collect();
        let turns = match nic {
            NicPolicy::Fcfs => 1,
            NicPolicy::RoundRobin => usize::MAX,
            NicPolicy::RoundRobinOf(turns) => usize::from(turns),
        };
        Ok(Self {
            interconnect,
            settings,
            routing,
            turns,
            now: 0,
            events: EventQueue::new(),
            flows: FlowNetwork::new(&capacities),
            of_flow: Vec::new(),
            messages: Messages { on_channel: vec![0; capacities.len()] },
            interfaces: vec![Interface::default(); interconnect.nodes() as usize],
            inside: NodeLinks::new(settings.node, interconnect.nodes()),
            transfers: Vec::new(),
            free_transfers: Vec::new(),
            alarms: Vec::new(),
            free_alarms: Vec::new(),
            occurred: VecDeque::new(),
            carried: vec![ChannelStatistics::default(); capacities.len()],
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
        let pushed = self.events.push(Picoseconds(time), event);
        debug_assert!(pushed.is_ok(), "{pushed:?}");
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Queue(index) => {
                let node = self.inside.node_of(self.message(index).source);
                let interface = &mut self.interfaces[node as usize];
                if interface.active < self.turns {
                    interface.active += 1;
                    self.start(index, node);
                } else {
                    interface.waiting.push_back(index);
                }
            }
            Event::Leave(index) => {
                let token = self.message(index).token;
                self.occurred.push_back(Occurrence::Sent { token });
            }
            Event::Deliver(index) => {
                let token = self.message(index).token;
                self.transfers[index as usize].message = None;
                self.free_transfers.push(index);
                self.occurred.push_back(Occurrence::Delivered { token });
            }
            Event::Alarm(alarm) => {
                let token = self.alarms[alarm as usize];
                self.free_alarms.push(alarm);
                self.occurred.push_back(Occurrence::Woken { token });
            }
        }
    }

    fn message(&self, index: MessageIndex) -> Message {
        self.transfers[index as usize].message.expect("the message is under way")
    }

    /// Starts the flow of a message at its network interface.
    fn start(&mut self, index: MessageIndex, node: NodeId) {
        let message = self.message(index);
        let destination = self.inside.node_of(message.destination);
        let mut way = std::mem::take(&mut self.transfers[index as usize].way);
        way.clear();
        way.push(Interconnect::injection(node));
        let mut route = PacketRoute::new(node, destination);
        let mut at = self.interconnect.channels()[way[0] as usize].to;
        while let End::Switch(switch) = at {
            let hop = self.routing.route(switch, &mut route, &mut self.messages);
            route.hops += 1;
            route.virtual_channel = hop.virtual_channel;
            way.push(hop.channel);
            at = self.interconnect.channels()[hop.channel as usize].to;
        }
        let first_packet = message.size.0.min(self.settings.packet_size.0);
        let mut behind = self.settings.router_delay.0 * (way.len() as u64 - 1);
        let mut slowest = 0;
        self.uses.clear();
        for channel in &way {
            let data = self.interconnect.channels()[*channel as usize];
            behind += data.latency.0;
            if self.settings.switching == Switching::StoreAndForward {
                let packet = serialisation(first_packet, data.bandwidth);
                slowest = slowest.max(packet);
                behind += packet;
            }
            let on_channel = &mut self.messages.on_channel[*channel as usize];
            *on_channel += 1;
            let carried = &mut self.carried[*channel as usize];
            carried.packets += 1;
            carried.data.0 += message.size.0;
            carried.longest_queue = carried.longest_queue.max(*on_channel);
            self.uses.push((*channel as usize, 1.0));
        }
        let transfer = &mut self.transfers[index as usize];
        transfer.way = way;
        // The fluid takes the slowest channel's time for all of the message.
        transfer.behind = behind - slowest;
        let flow = self.flows.start(&self.uses, message.size, None, Picoseconds(self.now));
        if flow.slot() >= self.of_flow.len() {
            self.of_flow.resize(flow.slot() + 1, MessageIndex::MAX);
        }
        self.of_flow[flow.slot()] = index;
    }

    /// A flow has ended: its message has left, and its interface may start the next one.
    fn finish(&mut self, flow: FlowId) {
        let index = self.of_flow[flow.slot()];
        let message = self.message(index);
        let transfer = &self.transfers[index as usize];
        for channel in &transfer.way {
            self.messages.on_channel[*channel as usize] -= 1;
        }
        let arrival = self.now + transfer.behind;
        self.occurred.push_back(Occurrence::Sent { token: message.token });
        self.schedule(arrival, Event::Deliver(index));
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
        let index = match self.free_transfers.pop() {
            Some(index) => index,
            None => {
                self.transfers.push(Transfer::default());
                self.transfers.len() as u32 - 1
            }
        };
        self.transfers[index as usize].message = Some(message);
        let Message { source, destination, size, .. } = message;
        if self.inside.node_of(source) == self.inside.node_of(destination) {
            let (sent, arrived) = self.inside.send(source, destination, size.0, self.now);
            self.schedule(sent, Event::Leave(index));
            self.schedule(arrived, Event::Deliver(index));
        } else {
            self.schedule(self.now + self.settings.nic_delay.0, Event::Queue(index));
        }
    }

    fn wake_at(&mut self, time: Picoseconds, token: u64) {
        let alarm = match self.free_alarms.pop() {
            Some(alarm) => {
                self.alarms[alarm as usize] = token;
                alarm
            }
            None => {
                self.alarms.push(token);
                self.alarms.len() as u32 - 1
            }
        };
        self.schedule(time.0.max(self.now), Event::Alarm(alarm));
    }

    fn next(&mut self) -> Result<Option<Occurrence>, Stuck> {
        while self.occurred.is_empty() {
            let event = self.events.peek_time();
            // Rates are worked out once all that starts at a moment has started.
            let at_once = event.is_some_and(|time| time.0 == self.now);
            let end = if at_once { None } else { self.flows.next_completion() };
            self.handled += 1;
            match (event, end) {
                (None, None) => return Ok(None),
                (event, Some((time, _))) if event.is_none_or(|event| time < event) => {
                    self.now = time.0;
                    if let Some((_, flow)) = self.flows.complete_next() {
                        self.finish(flow);
                    }
                }
                _ => {
                    let Some((time, event)) = self.events.pop() else { return Ok(None) };
                    self.now = time.0;
                    self.handle(event);
                }
            }
        }
        Ok(self.occurred.pop_front())
    }

    fn events(&self) -> u64 {
        self.handled
    }
}
