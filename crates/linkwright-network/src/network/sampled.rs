//! Looks at a model of the network now and then, so that the loads of its channels are known over time.

use super::link_loads::{LinkLoads, LoadHistory};
use super::transport::{
    ConnectionIndex, DeviceIndex, GpuIndex, Message, Occurrence, Transport, TransportError,
};
use super::{Connections, FlowTransport, GpuSite, InnerCounts, PacketNetwork, Routing};
use crate::engine::{Model, Scheduler};
use crate::system::fabric::ChannelId;
use crate::units::{Bytes, Picoseconds};

/// Counts the loads of its channels.
pub trait CountsLoads: Transport {
    /// Tells the bytes of channels since the last call, by their numbers in the system. `told` keeps between calls all
    /// that was told, and is empty before the first.
    fn count(&mut self, told: &mut Vec<u64>, tell: &mut dyn FnMut(ChannelId, f64));

    /// Says how much is counted of the links between the fabric's switches.
    fn inner(&self) -> InnerCounts {
        InnerCounts::All
    }
}

/// Tells by how much sums have grown.
fn tell_new(
    told: &mut Vec<u64>,
    sums: impl Iterator<Item = (ChannelId, u64)>,
    tell: &mut dyn FnMut(ChannelId, f64),
) {
    for (channel, sum) in sums {
        let place = channel as usize;
        if told.len() <= place {
            told.resize(place + 1, 0);
        }
        if sum > told[place] {
            tell(channel, (sum - told[place]) as f64);
            told[place] = sum;
        }
    }
}

impl CountsLoads for Connections<'_> {
    fn count(&mut self, told: &mut Vec<u64>, tell: &mut dyn FnMut(ChannelId, f64)) {
        self.count_new(told, tell);
    }

    fn inner(&self) -> InnerCounts {
        self.shares().map_or(InnerCounts::All, super::ChannelShares::inner)
    }
}

impl<R: Routing> CountsLoads for FlowTransport<'_, R> {
    fn count(&mut self, told: &mut Vec<u64>, tell: &mut dyn FnMut(ChannelId, f64)) {
        let across = (0..).zip(self.statistics()).map(|(at, of)| (at, of.data.0));
        let inside = self.inside_statistics().into_iter().map(|(at, of)| (at, of.data.0));
        tell_new(told, across.chain(inside), tell);
    }
}

impl<R: Routing> CountsLoads for PacketNetwork<'_, R> {
    fn count(&mut self, told: &mut Vec<u64>, tell: &mut dyn FnMut(ChannelId, f64)) {
        let across = (0..).zip(self.statistics()).map(|(at, of)| (at, of.data.0));
        let inside = self.inside_statistics().into_iter().map(|(at, of)| (at, of.data.0));
        tell_new(told, across.chain(inside), tell);
    }
}

/// Keeps the loads of a network's channels over time.
pub struct Sampled<'n, T> {
    /// It is the network.
    pub network: &'n mut T,
    history: LoadHistory,
    told: Vec<u64>,
    last: Picoseconds,
    next: Picoseconds,
}

impl<'n, T: CountsLoads> Sampled<'n, T> {
    /// Looks at a network from time zero on.
    pub fn new(network: &'n mut T) -> Self {
        let history = LoadHistory::default();
        let next = history.span();
        Self { network, history, told: Vec::new(), last: Picoseconds(0), next }
    }

    /// Lets a channel carry bytes that the network was not told of, evenly from a time to another.
    pub fn add(&mut self, channel: ChannelId, span: (Picoseconds, Picoseconds), bytes: f64) {
        self.history.add(channel, span, bytes);
    }

    /// Looks again, if a span is over.
    #[inline]
    fn look(&mut self, now: Picoseconds) {
        if now >= self.next {
            self.sample(now);
        }
    }

    #[cold]
    fn sample(&mut self, now: Picoseconds) {
        let (history, span) = (&mut self.history, (self.last, now));
        self.network.count(&mut self.told, &mut |channel, bytes| history.add(channel, span, bytes));
        self.last = now;
        self.next = Picoseconds(now.0.saturating_add(self.history.span().0));
    }

    /// Gives the loads of channels until now.
    #[must_use]
    pub fn finished(mut self, now: Picoseconds) -> LinkLoads {
        self.sample(now.max(self.last));
        self.history.finished(self.network.inner())
    }
}

impl<T: CountsLoads> Model for Sampled<'_, T> {
    type Event = T::Event;
    type Error = TransportError;
    const SETTLES: bool = T::SETTLES;

    #[inline]
    fn handle(
        &mut self,
        event: T::Event,
        scheduler: &mut impl Scheduler<T::Event>,
    ) -> Result<(), TransportError> {
        self.look(scheduler.now());
        self.network.handle(event, scheduler)
    }

    #[inline]
    fn settle(
        &mut self,
        scheduler: &mut impl Scheduler<T::Event>,
    ) -> Result<Option<Picoseconds>, TransportError> {
        self.look(scheduler.now());
        self.network.settle(scheduler)
    }

    fn at_rest(&self, now: Picoseconds) -> Result<(), TransportError> {
        self.network.at_rest(now)
    }
}

impl<T: CountsLoads> Transport for Sampled<'_, T> {
    fn gpu_device(&self, gpu: GpuIndex) -> DeviceIndex {
        self.network.gpu_device(gpu)
    }

    fn gpu_site(&self, gpu: GpuIndex) -> GpuSite {
        self.network.gpu_site(gpu)
    }

    #[inline]
    fn send(&mut self, message: Message, scheduler: &mut impl Scheduler<T::Event>) {
        self.network.send(message, scheduler);
    }

    #[inline]
    fn transfer(
        &mut self,
        connection: ConnectionIndex,
        size: Bytes,
        token: u64,
        scheduler: &mut impl Scheduler<T::Event>,
    ) -> Result<(), TransportError> {
        self.network.transfer(connection, size, token, scheduler)
    }

    #[inline]
    fn tell(&mut self) -> Option<Occurrence> {
        self.network.tell()
    }

    #[inline]
    fn may_end_at(&self, now: Picoseconds) -> bool {
        self.network.may_end_at(now)
    }

    fn own_events(&self) -> u64 {
        self.network.own_events()
    }
}
