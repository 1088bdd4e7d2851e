//! Large messages: fluids on the ways that their packets would take.
//!
//! Adaptive routing sends the packets of one message on many ways. A fluid asks it for a few ways,
//! one after the other, and goes over all of them. Each channel carries its part of these ways.
//!
//! The first switch's buffer holds the end of a message that is slowed on its way. So an interface
//! that sends one message at a time need not wait for that end. It begins the next message once no
//! more than that is left, and it has had time to send all.

use super::{FlowEvent, FlowTransport};
use crate::engine::Scheduler;
use crate::network::flow::FlowId;
use crate::network::outstanding::Transfer;
use crate::network::packet::{Switching, serialisation};
use crate::network::paths::{PathIndex, Way};
use crate::network::routing::{PacketRoute, Routing};
use crate::network::transport::{DeviceIndex, Message, MessageIndex};
use crate::system::fabric::{ChannelId, End, Fabric, NodeId};
use crate::units::{Bandwidth, Bytes, Picoseconds};

/// On how many ways of an adaptive routing a fluid goes.
const WAYS: u64 = 8;

/// Describes the message that a flow carries.
#[derive(Debug, Clone, Default)]
pub(super) struct Carried {
    message: MessageIndex,
    /// Lists the channels of its ways, each with how many ways cross it.
    uses: Vec<(ChannelId, u32)>,
    /// Holds the bandwidth at which its source would send on each way.
    rate: u64,
    /// Holds the time from its last byte's departure to its arrival.
    behind: u64,
    /// Gives the bytes that the first buffer may hold of it, once the rest is through.
    held: Bytes,
    /// When its interface has had time to send all of it.
    injected: u64,
    /// Whether it has left its interface.
    has_left: bool,
}

/// Holds the times that a way takes beside the fluid.
#[derive(Debug, Clone, Copy)]
struct Delays {
    latencies: u64,
    /// Sums router delays and the time that the packets of a message take longer than a fluid.
    others: u64,
}

impl<R: Routing> FlowTransport<'_, R> {
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
    fn cross_fabric(&mut self, [from, to]: [NodeId; 2], message: &Message) -> u64 {
        let Some(fabric) = self.fabric else { return 0 };
        let injection = Fabric::injection(from);
        self.way.push(injection);
        let mut route = PacketRoute::new(from, to);
        self.routing.start(&mut route, message);
        let mut routers = 0;
        let mut at = fabric.channels()[injection as usize].to;
        while let End::Switch(switch) = at {
            let hop = self.routing.route(switch, &mut route, &mut self.channels);
            route.hops += 1;
            route.virtual_channel = hop.virtual_channel;
            routers += 1;
            self.way.push(hop.channel);
            at = fabric.channels()[hop.channel as usize].to;
        }
        routers
    }

    /// Finds one way of a message; returns how many routers it passes.
    fn find_way(&mut self, index: MessageIndex) -> u64 {
        let Transfer { message, progress } = self.outstanding[index];
        self.way.clear();
        match progress {
            Way::Inside(path) => {
                self.follow(message.source, path);
                0
            }
            Way::Across { from, to, out, back } => {
                self.follow(message.source, out);
                let routers = self.cross_fabric([from, to], &message);
                self.follow(message.destination, back);
                routers
            }
        }
    }

    /// How much of a channel's time data takes that copy engines move, of what other data takes.
    fn of_copy(&self, channel: ChannelId) -> f64 {
        let [(reached, _), (copied, _)] = [false, true].map(|copy| self.rate_of(channel, copy));
        reached.0 as f64 / copied.0 as f64
    }

    /// Gives the times that the found way takes beside the fluid.
    fn delays(&self, routers: u64, first_packet: u64, by_copy_engine: bool) -> Delays {
        let others = self.settings.router_delay.0.saturating_mul(routers);
        let mut delays = Delays { latencies: 0, others };
        let mut slowest = 0;
        for channel in &self.way {
            let (bandwidth, latency) = self.rate_of(*channel, by_copy_engine);
            delays.latencies = delays.latencies.saturating_add(latency.0);
            if self.settings.switching == Switching::StoreAndForward {
                let packet = serialisation(first_packet, bandwidth);
                slowest = slowest.max(packet);
                delays.others = delays.others.saturating_add(packet);
            }
        }
        // The fluid takes the slowest channel's time for all of the message.
        delays.others -= slowest;
        delays
    }

    /// Starts the flow of a message.
    pub(super) fn start_fluid(&mut self, index: MessageIndex, now: Picoseconds) {
        self.channels.now = now.0;
        let Transfer { message, progress } = self.outstanding[index];
        let size = message.size;
        let injection = self.injection(progress);
        let ways = match injection {
            Some(_) if !self.routing.in_order() => {
                size.0.div_ceil(self.settings.packet_size.0).clamp(1, WAYS)
            }
            _ => 1,
        };
        let rate = injection.map_or(0, |bandwidth| bandwidth.0 / ways);
        let first_packet = match (&self.bus, injection) {
            (Some(bus), None) => bus.first_packet(size),
            _ => size.0.min(self.settings.packet_size.0),
        };
        let (mut latencies, mut behind) = (0, 0_u64);
        let mut uses = std::mem::take(&mut self.ways);
        uses.clear();
        for _ in 0..ways {
            let routers = self.find_way(index);
            let delays = self.delays(routers, first_packet, message.by_copy_engine);
            latencies = delays.latencies;
            behind = behind.saturating_add(latencies.saturating_add(delays.others) / ways);
            for channel in &self.way {
                match uses.iter_mut().find(|(known, _)| known == channel) {
                    Some((_, ways)) => *ways += 1,
                    None => uses.push((*channel, 1)),
                }
                self.channels.offer(*channel, rate);
            }
        }
        for end in [message.source, message.destination] {
            if let Some(memory) = self.inside.memory_of(end) {
                uses.push((memory, ways as u32));
                self.channels.offer(memory, rate.saturating_mul(ways));
            }
        }
        self.uses.clear();
        for (channel, over) in &uses {
            let taken = if message.by_copy_engine { self.of_copy(*channel) } else { 1.0 };
            self.uses.push((*channel as usize, taken * f64::from(*over) / ways as f64));
            let part = u128::from(size.0) * u128::from(*over) / u128::from(ways);
            self.channels.begin_fluid(*channel, part as u64);
        }
        let held = match injection {
            Some(_) if self.turns == 1 => self.held_of(size),
            _ => Bytes(0),
        };
        let flow = self.flows.start(&self.uses, Bytes(size.0 - held.0), None, now);
        if flow.slot() >= self.of_flow.len() {
            self.of_flow.resize_with(flow.slot() + 1, Carried::default);
        }
        let carried = &mut self.of_flow[flow.slot()];
        self.ways = std::mem::replace(&mut carried.uses, uses);
        (carried.message, carried.rate, carried.behind) = (index, rate, behind);
        let sending = injection.map_or(0, |bandwidth| serialisation(size.0, bandwidth));
        carried.injected = now.0.saturating_add(sending);
        (carried.held, carried.has_left) = (held, false);
        if let Some(bus) = &mut self.bus
            && injection.is_none()
        {
            let transfer = &self.outstanding[index];
            let shared = (&self.inside, &mut self.flows);
            if bus.begin((index, flow), transfer, shared, now) {
                // The request for the data goes the other way first.
                carried.behind = carried.behind.saturating_add(latencies);
            }
        }
    }

    /// Gives the highest bandwidth at which an interface sends; None for a message within a server.
    fn injection(&self, way: Way) -> Option<Bandwidth> {
        let Way::Across { from, .. } = way else { return None };
        let channel = Fabric::injection(from);
        Some(self.fabric?.channels()[channel as usize].bandwidth)
    }

    /// Gives the most bytes of a message that the first buffer holds.
    fn held_of(&self, size: Bytes) -> Bytes {
        Bytes(self.buffer_size().min(size.0 / 4 * 3))
    }

    /// The next flow to end does so now, or all of it has that the first buffer does not hold.
    pub(super) fn finish_next(&mut self, scheduler: &mut impl Scheduler<FlowEvent>) {
        let Some((_, flow)) = self.flows.next_completion() else { return };
        self.ended += 1;
        let carried = &mut self.of_flow[flow.slot()];
        let held = std::mem::take(&mut carried.held);
        if held.0 > 0 {
            self.flows.prolong_next(held);
            if carried.injected <= scheduler.now().0 {
                carried.has_left = true;
                let index = carried.message;
                self.leave(index, scheduler);
            }
        } else {
            self.flows.complete_next();
            self.end_fluid(flow, scheduler);
        }
    }

    /// A flow has ended: its message has left.
    fn end_fluid(&mut self, flow: FlowId, scheduler: &mut impl Scheduler<FlowEvent>) {
        let Carried { message: index, ref uses, rate, behind, has_left, .. } =
            self.of_flow[flow.slot()];
        for (channel, ways) in uses {
            self.channels.end_fluid(*channel, rate * u64::from(*ways));
        }
        if let Some(bus) = &mut self.bus {
            bus.classes.end(index);
        }
        scheduler.schedule_in(Picoseconds(behind), FlowEvent::Deliver(index));
        if !has_left {
            self.leave(index, scheduler);
        }
    }
}
