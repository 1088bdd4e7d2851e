//! Plays small messages as trains of a few packets that stay together.
//!
//! A train waits for each channel behind those that came before, and crosses it at the bandwidth
//! that fluids leave. It is ready for the next channel when a switch may pass its first packet on.
//! Adaptive routing chooses for each train. The model leaves out that packets of several trains
//! take turns, and that buffers are full.
//!
//! Packet trains as what a network carries: R. Jain and S. Routhier, "Packet Trains: Measurements and a
//! New Model for Computer Network Traffic", IEEE JSAC 4(6), 1986.

use super::{FlowEvent, FlowTransport};
use crate::engine::Scheduler;
use crate::network::outstanding::Transfer;
use crate::network::packet::{Switching, serialisation};
use crate::network::paths::{PathIndex, Way};
use crate::network::routing::{PacketRoute, Routing};
use crate::network::transport::{DeviceIndex, MessageIndex};
use crate::system::fabric::{ChannelId, End, Fabric, SwitchId};
use crate::units::{Bandwidth, Picoseconds};

/// Limits the packets of a train: one message sends no more before another one has its turn.
const TRAIN_PACKETS: u64 = 4;

pub(super) type TrainIndex = u32;

/// Where a train is.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// Says that it has the given number of channels of its source's server behind it.
    Leaving(u16),
    Switch(SwitchId),
    /// Says that it has the given number of channels of its destination's server behind it.
    Entering(u16),
}

/// Holds a few packets of one message.
#[derive(Debug, Clone, Copy)]
struct Train {
    message: MessageIndex,
    size: u64,
    place: Place,
    route: PacketRoute,
    /// When its last byte is where it is.
    complete: u64,
}

/// Holds the trains under way.
#[derive(Debug, Clone, Default)]
pub(super) struct Trains {
    trains: Vec<Train>,
    free: Vec<TrainIndex>,
    /// For each message, the bytes that have not reached its end, and when the last of the others do.
    messages: Vec<(u64, u64)>,
}

impl Trains {
    fn add(&mut self, train: Train) -> TrainIndex {
        match self.free.pop() {
            Some(index) => {
                self.trains[index as usize] = train;
                index
            }
            None => {
                self.trains.push(train);
                self.trains.len() as TrainIndex - 1
            }
        }
    }

    /// Notes that `size` bytes of a message arrive at `time`. Returns when all of the message will
    /// have arrived, once no more is to come.
    fn arrives(&mut self, message: MessageIndex, size: u64, time: u64) -> Option<u64> {
        let (missing, last) = &mut self.messages[message as usize];
        *missing -= size;
        *last = time.max(*last);
        (*missing == 0).then_some(*last)
    }
}

impl<R: Routing> FlowTransport<'_, R> {
    /// Whether a message of a size goes in trains: one that a buffer holds.
    pub(super) fn goes_by_train(&self, size: u64) -> bool {
        self.bus.is_none() && size <= self.buffer_size()
    }

    /// Gives the most bytes of a train.
    pub(super) fn train_size(&self) -> u64 {
        TRAIN_PACKETS.saturating_mul(self.settings.packet_size.0)
    }

    /// A message is about to go in trains.
    pub(super) fn expect_trains(&mut self, message: MessageIndex, size: u64) {
        let messages = &mut self.trains.messages;
        if messages.len() <= message as usize {
            messages.resize(message as usize + 1, (0, 0));
        }
        messages[message as usize] = (size, 0);
    }

    /// Sends a train; returns when its last byte has left its source.
    pub(super) fn send_train(
        &mut self,
        message: MessageIndex,
        size: u64,
        scheduler: &mut impl Scheduler<FlowEvent>,
    ) -> u64 {
        let Transfer { message: data, progress } = self.outstanding[message];
        let Way::Across { from, to, .. } = progress else {
            unreachable!("trains go from port to port");
        };
        let (place, mut route) = (Place::Leaving(0), PacketRoute::new(from, to));
        self.routing.start(&mut route, &data);
        let train = Train { message, size, place, route, complete: scheduler.now().0 };
        let index = self.trains.add(train);
        self.hop(index, scheduler)
    }

    /// A train takes its next channel; returns when its last byte has left for it.
    pub(super) fn hop(
        &mut self,
        index: TrainIndex,
        scheduler: &mut impl Scheduler<FlowEvent>,
    ) -> u64 {
        let now = scheduler.now().0;
        self.channels.now = now;
        let mut train = self.trains.trains[index as usize];
        let (channel, place) = self.next_channel(&mut train);
        let (bandwidth, latency) = self.rate_of(channel, false);
        let at_source = matches!(train.place, Place::Leaving(0));
        let control = at_source && self.outstanding[train.message].message.class.control;
        // An interface has queues enough to let control go first.
        let begin = if control { now } else { self.channels.turn(channel) };
        let rate = self.left_to_trains(channel, bandwidth);
        let packet = self.settings.packet_size.0;
        let last_packet = match train.size % packet {
            0 => train.size.min(packet),
            part => part,
        };
        let (first, last) = match self.settings.switching {
            Switching::StoreAndForward => (
                serialisation(train.size.min(packet), bandwidth),
                serialisation(last_packet, bandwidth),
            ),
            Switching::CutThrough => (0, 0),
        };
        let whole = begin.saturating_add(serialisation(train.size, rate));
        let end = if at_source { whole } else { whole.max(train.complete.saturating_add(last)) };
        self.channels.cross(channel, train.size, end);
        let router = match place {
            Place::Switch(_) => self.settings.router_delay.0,
            Place::Leaving(_) | Place::Entering(_) => 0,
        };
        let delay = latency.0.saturating_add(router);
        train.complete = end.saturating_add(delay);
        train.place = place;
        if self.is_at_end(&train) {
            self.trains.free.push(index);
            let all = self.trains.arrives(train.message, train.size, train.complete);
            if let Some(time) = all {
                scheduler.schedule(Picoseconds(time), FlowEvent::Deliver(train.message));
            }
        } else {
            let ready = begin.saturating_add(first).saturating_add(delay);
            self.trains.trains[index as usize] = train;
            scheduler.schedule(Picoseconds(ready), FlowEvent::Hop(index));
        }
        end
    }

    /// The next channel of a train, and where it leads.
    fn next_channel(&mut self, train: &mut Train) -> (ChannelId, Place) {
        let Transfer { message, progress } = self.outstanding[train.message];
        let (Way::Across { from, out, back, .. }, Some(fabric)) = (progress, self.fabric) else {
            unreachable!("trains go over a fabric");
        };
        let beyond = |channel: ChannelId| match fabric.channels()[channel as usize].to {
            End::Switch(switch) => Place::Switch(switch),
            End::Node(_) => Place::Entering(0),
        };
        match train.place {
            Place::Leaving(behind) => match self.inner(message.source, out, behind) {
                Some(channel) => (channel, Place::Leaving(behind + 1)),
                None => {
                    let channel = Fabric::injection(from);
                    (channel, beyond(channel))
                }
            },
            Place::Switch(switch) => {
                let hop = self.routing.route(switch, &mut train.route, &mut self.channels);
                train.route.hops += 1;
                train.route.virtual_channel = hop.virtual_channel;
                (hop.channel, beyond(hop.channel))
            }
            Place::Entering(behind) => {
                let channel = self.inner(message.destination, back, behind);
                let channel = channel.unwrap_or_else(|| unreachable!("trains end where ways do"));
                (channel, Place::Entering(behind + 1))
            }
        }
    }

    /// Gives the channel of a path within a device's server that comes after `behind` others; None
    /// if the path is shorter.
    fn inner(&self, end: DeviceIndex, path: PathIndex, behind: u16) -> Option<ChannelId> {
        if self.inside.is_of_nodes() {
            return None;
        }
        let server = self.inside.place(end).server;
        let channel = self.inside.channels(server, path).get(usize::from(behind))?;
        Some(self.inside.number(server, *channel))
    }

    fn is_at_end(&self, train: &Train) -> bool {
        let Transfer { message, progress } = self.outstanding[train.message];
        match (train.place, progress) {
            (Place::Entering(behind), Way::Across { back, .. }) => {
                self.inner(message.destination, back, behind).is_none()
            }
            _ => false,
        }
    }

    /// Gives the bandwidth that fluids leave of a channel, at least as much as one of them has.
    fn left_to_trains(&self, channel: ChannelId, bandwidth: Bandwidth) -> Bandwidth {
        match u64::from(self.channels.fluids(channel)) {
            0 => bandwidth,
            fluids => {
                let used = self.flows.used(channel as usize);
                let left = bandwidth.0.saturating_sub(used.0);
                Bandwidth(left.max(bandwidth.0 / (fluids + 1)).max(1))
            }
        }
    }
}
