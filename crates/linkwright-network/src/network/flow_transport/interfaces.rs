//! Network interfaces: which messages are under way at once, and whose train is next.

use std::collections::VecDeque;

use super::{FlowEvent, FlowTransport};
use crate::engine::Scheduler;
use crate::network::outstanding::Transfer;
use crate::network::packet::nic::{NicScheduler, QueuedMessage};
use crate::network::paths::Way;
use crate::network::routing::Routing;
use crate::network::transport::MessageIndex;
use crate::system::fabric::NodeId;
use crate::units::{Bytes, Picoseconds};

/// Holds the state of one network interface.
#[derive(Default)]
pub(super) struct Interface {
    /// How many messages are under way.
    active: usize,
    /// Orders those that wait, where any has waited.
    waiting: Option<Box<dyn NicScheduler>>,
    /// Messages that go in trains, in turn, each with what has not been sent.
    turns: VecDeque<(MessageIndex, u64)>,
    /// A train is leaving.
    sending: bool,
}

impl<R: Routing> FlowTransport<'_, R> {
    /// A message reaches the interface that sends it, or, within a server, its source's memory.
    pub(super) fn queue(&mut self, index: MessageIndex, scheduler: &mut impl Scheduler<FlowEvent>) {
        let Transfer { message, progress: way } = self.outstanding[index];
        let Way::Across { from, .. } = way else {
            return self.start_fluid(index, scheduler.now());
        };
        if message.class.control && self.goes_by_train(message.size.0) {
            self.expect_trains(index, message.size.0);
            let left = self.send_train(index, message.size.0, scheduler);
            scheduler.schedule(Picoseconds(left), FlowEvent::Leave(index));
        } else if message.class.control {
            self.start_fluid(index, scheduler.now());
        } else if self.interfaces[from as usize].active < self.turns {
            self.interfaces[from as usize].active += 1;
            self.begin(index, from, scheduler);
        } else {
            let waiting = &mut self.interfaces[from as usize].waiting;
            let waiting = waiting.get_or_insert_with(|| self.nic.scheduler());
            waiting.push(QueuedMessage { index, message, arrived: scheduler.now() });
        }
    }

    /// A message is among those that are under way.
    fn begin(
        &mut self,
        index: MessageIndex,
        node: NodeId,
        scheduler: &mut impl Scheduler<FlowEvent>,
    ) {
        let size = self.outstanding[index].message.size.0;
        if !self.goes_by_train(size) {
            return self.start_fluid(index, scheduler.now());
        }
        self.expect_trains(index, size);
        let interface = &mut self.interfaces[node as usize];
        interface.turns.push_back((index, size));
        if !interface.sending {
            self.take_turn(node, scheduler);
        }
    }

    /// Sends the next train of an interface.
    pub(super) fn take_turn(&mut self, node: NodeId, scheduler: &mut impl Scheduler<FlowEvent>) {
        let most = self.train_size();
        let interface = &mut self.interfaces[node as usize];
        interface.sending = false;
        let Some((index, unsent)) = interface.turns.pop_front() else { return };
        interface.sending = true;
        let size = unsent.min(most);
        if size < unsent {
            interface.turns.push_back((index, unsent - size));
        }
        let left = self.send_train(index, size, scheduler);
        if size == unsent {
            scheduler.schedule(Picoseconds(left), FlowEvent::Leave(index));
        }
        scheduler.schedule(Picoseconds(left), FlowEvent::Turn(node));
    }

    /// The last byte of a message has left its source: the interface may begin another one.
    pub(super) fn leave(&mut self, index: MessageIndex, scheduler: &mut impl Scheduler<FlowEvent>) {
        self.outstanding.sent(index);
        let Transfer { message, progress } = self.outstanding[index];
        let Way::Across { from, .. } = progress else { return };
        if message.class.control {
            return;
        }
        let interface = &mut self.interfaces[from as usize];
        let waiting = interface.waiting.as_mut();
        let next = waiting.and_then(|waiting| {
            let next = waiting.next()?;
            // It begins whole.
            waiting.packetised(Bytes(0));
            Some(next)
        });
        match next {
            Some(next) => self.begin(next, from, scheduler),
            None => interface.active -= 1,
        }
    }
}
