//! Synthetic traffic: every node of a fabric sends by a pattern, at a rate or in a closed loop.
//!
//! It represents the standard experiment on networks. Under a rate, a node sends a message in each slot
//! of time with a chance. A slot is the time that its own link takes for one message, so that the chance
//! is the load offered. In a closed loop each node has the same number of messages under way, and sends
//! another as one arrives. After a warm-up, arrivals are counted over a window. Messages sent within the
//! window are followed to their ends, and the load stays on meanwhile.
//!
//! It leaves out software at both ends, and messages that wait for others.
//!
//! Open loops, warm-up, measurement and drain are from W. J. Dally and B. Towles, "Principles and
//! Practices of Interconnection Networks", 2004, sections 23.1 and 24.2.

mod pattern;
#[cfg(test)]
mod tests;

pub use pattern::{Destinations, Places, TrafficPattern};

use super::packet::serialisation;
use super::traffic::Traffic;
use super::transport::{Message, Occurrence, Transport, TransportError};
use crate::engine::{Engine, Hook, Model, Random, Scheduler, Within};
use crate::system::fabric::{Fabric, NodeId};
use crate::units::{Bytes, Picoseconds};

/// Draws when nodes send, and to whom.
const SENDING: u64 = 2;
/// Limits the pairs over which a latency without load is a mean.
const MOST_PAIRS: u32 = 1024;

/// Says when nodes send.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Injection {
    /// Each node sends with this chance in each slot, from 0 to 1: an open loop.
    Rate(f64),
    /// So that this number of messages of each node is under way: a closed loop.
    Window(u32),
}

/// Says what is sent and measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SyntheticLoad {
    /// Says when nodes send.
    pub injection: Injection,
    /// How large each message is.
    pub message: Bytes,
    /// Says how many slots pass before anything counts.
    pub warm_up: u32,
    /// Over how many slots arrivals are counted.
    pub window: u32,
    /// Sets every choice by chance.
    pub seed: u64,
}

/// Holds what was measured under one load.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadOutcome {
    /// Gives what was sent in the window, as a share of what all links of nodes carry.
    pub offered: f64,
    /// Gives what arrived in the window, as the same share.
    pub accepted: f64,
    /// Says how long the messages sent in the window took, in picoseconds from their making, sorted.
    pub latencies: Vec<u64>,
    /// How many messages sent in the window had not arrived when as much time again had passed.
    pub unfinished: u64,
}

impl LoadOutcome {
    /// Returns the mean latency in picoseconds; None where no message arrived.
    #[must_use]
    pub fn mean_latency(&self) -> Option<f64> {
        let total: u128 = self.latencies.iter().map(|latency| u128::from(*latency)).sum();
        (!self.latencies.is_empty()).then(|| total as f64 / self.latencies.len() as f64)
    }

    /// Returns the latency in picoseconds that `thousandths` of a thousand messages do not exceed.
    #[must_use]
    pub fn latency_of(&self, thousandths: usize) -> Option<u64> {
        let count = self.latencies.len();
        let at = (count * thousandths).div_ceil(1000).saturating_sub(1);
        self.latencies.get(at).copied()
    }
}

/// Returns the mean latency of the pattern's messages alone on the network, in picoseconds.
///
/// Up to 1,024 nodes send one after another, each when the message before has arrived.
///
/// # Errors
/// A network that is stuck.
pub fn latency_without_load<T: Transport>(
    network: &mut T,
    fabric: &Fabric,
    destinations: &Destinations,
    load: &SyntheticLoad,
) -> Result<f64, TransportError> {
    let mut random = Random::stream(load.seed, SENDING);
    let nodes = fabric.nodes();
    let step = nodes.div_ceil(MOST_PAIRS);
    let mut traffic = Traffic::new(network);
    let (mut total, mut count) = (0_u128, 0_u32);
    for node in (0..nodes).step_by(step as usize) {
        let ends = [node, destinations.of(node, &mut random)];
        let [source, destination] = ends.map(|end| traffic.network().gpu_device(end));
        let sent = traffic.now().0;
        traffic.send(Message::new(source, destination, load.message, 0));
        while let Some(occurrence) = traffic.next_occurrence()? {
            if matches!(occurrence, Occurrence::Delivered { .. }) {
                total += u128::from(traffic.now().0 - sent);
            }
        }
        count += 1;
    }
    Ok(total as f64 / f64::from(count.max(1)))
}

/// Plays a load on a network at rest, with one of its GPUs at each port.
///
/// # Errors
/// A network that is stuck, or a run that the hook ended.
pub fn play<T: Transport>(
    network: &mut T,
    fabric: &Fabric,
    destinations: &Destinations,
    load: &SyntheticLoad,
    hook: Hook<'_>,
) -> Result<LoadOutcome, TransportError> {
    let slots: Vec<u64> = (0..fabric.nodes())
        .map(|node| {
            let link = fabric.channels()[Fabric::injection(node) as usize].bandwidth;
            serialisation(load.message.0, link).max(1)
        })
        .collect();
    let longest = slots.iter().copied().max().unwrap_or(1);
    let from = longest.saturating_mul(load.warm_up.into());
    let to = from.saturating_add(longest.saturating_mul(load.window.into()));
    let mut source = Source {
        network,
        destinations,
        load: *load,
        random: Random::stream(load.seed, SENDING),
        slots,
        window: (from, to),
        sent: Vec::new(),
        measured: Measured::default(),
    };
    let mut engine = Engine::new(hook);
    source.begin(&mut engine);
    let last = to.saturating_mul(2);
    while engine.step(&mut source)? {
        let now = engine.now().0;
        if now > to && (source.measured.pending == 0 || now > last) {
            break;
        }
    }
    Ok(source.outcome())
}

#[derive(Debug, Clone, Copy)]
enum Happening<E> {
    /// A slot comes in which a node sends.
    Inject(NodeId),
    Network(E),
}

impl<E> From<E> for Happening<E> {
    fn from(event: E) -> Self {
        Self::Network(event)
    }
}

#[derive(Default)]
struct Measured {
    /// Counts the messages sent in the window, and `arrived` those that arrived in it.
    sent: u64,
    arrived: u64,
    /// Those sent in the window that have not arrived.
    pending: u64,
    latencies: Vec<u64>,
}

/// Sends by the pattern, and follows what it sent.
struct Source<'n, T> {
    network: &'n mut T,
    destinations: &'n Destinations,
    load: SyntheticLoad,
    random: Random,
    /// Holds the slot of each node.
    slots: Vec<u64>,
    /// When counting begins and ends.
    window: (u64, u64),
    /// Holds the node and the time of each message, by its token.
    sent: Vec<(NodeId, u64)>,
    measured: Measured,
}

impl<T: Transport> Source<'_, T> {
    /// Plans the first message of every node.
    fn begin(&mut self, scheduler: &mut impl Scheduler<Happening<T::Event>>) {
        for node in 0..self.slots.len() as NodeId {
            let slot = self.slots[node as usize];
            // Nodes begin anywhere in a slot, so that they do not send at one instant for ever.
            let begin = (self.random.uniform() * slot as f64) as u64;
            match self.load.injection {
                Injection::Rate(_) => self.schedule(node, begin, scheduler),
                Injection::Window(most) => {
                    for _ in 0..most {
                        scheduler.schedule(Picoseconds(begin), Happening::Inject(node));
                    }
                }
            }
        }
    }

    /// Plans the next message of a node, in a slot from a time on.
    fn schedule(
        &mut self,
        node: NodeId,
        from: u64,
        scheduler: &mut impl Scheduler<Happening<T::Event>>,
    ) {
        let Injection::Rate(rate) = self.load.injection else { return };
        let (slot, last) = (self.slots[node as usize], self.window.1.saturating_mul(2));
        let mut time = from;
        while rate < 1.0 && self.random.uniform() >= rate {
            time = time.saturating_add(slot);
            if time > last {
                return;
            }
        }
        scheduler.schedule(Picoseconds(time), Happening::Inject(node));
    }

    fn send(&mut self, node: NodeId, scheduler: &mut impl Scheduler<Happening<T::Event>>) {
        let now = scheduler.now().0;
        let ends = [node, self.destinations.of(node, &mut self.random)];
        let [source, destination] = ends.map(|end| self.network.gpu_device(end));
        let token = self.sent.len() as u64;
        self.sent.push((node, now));
        if self.is_counted(now) {
            self.measured.sent += 1;
            self.measured.pending += 1;
        }
        let message = Message::new(source, destination, self.load.message, token);
        self.network.send(message, &mut Within::<_, Happening<T::Event>>::new(scheduler));
    }

    const fn is_counted(&self, time: u64) -> bool {
        time > self.window.0 && time <= self.window.1
    }

    /// Takes in what arrived.
    fn hear(&mut self, scheduler: &mut impl Scheduler<Happening<T::Event>>) {
        while let Some(occurrence) = self.network.tell() {
            let Occurrence::Delivered { token } = occurrence else { continue };
            let now = scheduler.now().0;
            let (node, sent) = self.sent[token as usize];
            if self.is_counted(now) {
                self.measured.arrived += 1;
            }
            if self.is_counted(sent) {
                self.measured.pending -= 1;
                self.measured.latencies.push(now - sent);
            }
            if matches!(self.load.injection, Injection::Window(_)) {
                self.send(node, scheduler);
            }
        }
    }

    fn outcome(mut self) -> LoadOutcome {
        self.measured.latencies.sort_unstable();
        let span = (self.window.1 - self.window.0) as f64;
        // All links of nodes would carry this in the window, in messages.
        let capacity: f64 = self.slots.iter().map(|slot| span / *slot as f64).sum();
        let share = |count: u64| if capacity > 0.0 { count as f64 / capacity } else { 0.0 };
        LoadOutcome {
            offered: share(self.measured.sent),
            accepted: share(self.measured.arrived),
            unfinished: self.measured.pending,
            latencies: self.measured.latencies,
        }
    }
}

impl<T: Transport> Model for Source<'_, T> {
    type Event = Happening<T::Event>;
    type Error = TransportError;
    const SETTLES: bool = T::SETTLES;

    fn handle(
        &mut self,
        event: Self::Event,
        scheduler: &mut impl Scheduler<Self::Event>,
    ) -> Result<(), TransportError> {
        match event {
            Happening::Inject(node) => {
                self.send(node, scheduler);
                let next = scheduler.now().0.saturating_add(self.slots[node as usize]);
                self.schedule(node, next, scheduler);
            }
            Happening::Network(event) => {
                self.network.handle(event, &mut Within::<_, Self::Event>::new(scheduler))?;
            }
        }
        self.hear(scheduler);
        Ok(())
    }

    fn settle(
        &mut self,
        scheduler: &mut impl Scheduler<Self::Event>,
    ) -> Result<Option<Picoseconds>, TransportError> {
        let next = self.network.settle(&mut Within::<_, Self::Event>::new(scheduler))?;
        self.hear(scheduler);
        Ok(next)
    }

    fn at_rest(&self, now: Picoseconds) -> Result<(), TransportError> {
        self.network.at_rest(now)
    }
}
