//! Large receives that are announced to their sender before it asks.
//!
//! Where receives are announced ([`Rendezvous::Receiver`]), a receiver without wildcards takes the
//! messages of one sender, tag and context in the order in which they were sent, whatever the
//! network does in between. So message and receive are paired when the later of them is called,
//! which costs nothing, as both ends count alike: the `n`th of one is for the `n`th of the other. An
//! announcement then only has to travel.

use crate::engine::{Scheduler, Within};
use crate::network::{Message, TrafficClass, Transport};
use crate::program::lowering::Lowering;
use crate::units::Picoseconds;

use super::bins::NONE;
use super::envelope::Leg;
use super::error::RuntimeError;
use super::matching::{EXACT_ONLY, Posted};
use super::observer::Observer;
use super::protocols::Rendezvous;
use super::state::Runtime;
use super::works::RuntimeEvent;

/// The announcement of a receive, until its message is found and the network is done with it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Announcement {
    /// The large message that waits for it.
    envelope: u32,
    /// Whether its sender has it.
    arrived: bool,
    /// Whether the receive has its message, large or small.
    matched: bool,
    /// How many occurrences the network still owes for it.
    owed: u8,
}

impl<T: Transport, L: Lowering, O: Observer> Runtime<'_, T, L, O> {
    /// Whether a rank announces its large receives, in its program or in a collective.
    pub(super) fn announces(&self, receiver: u32, in_collective: bool) -> bool {
        self.protocol.rendezvous == Rendezvous::Receiver
            && self.classes(receiver, in_collective) == EXACT_ONLY
    }

    /// A receive that a message is to find or has found: it is announced if it is large, and from
    /// another rank that names it, unless its message is there.
    pub(super) fn post(
        &mut self,
        mut posted: Posted,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let Posted { receiver, source, size, operation, .. } = posted;
        let in_collective = self.frames.collective_of(operation).is_some();
        let classes = self.classes(receiver, in_collective);
        let sender = source.filter(|source| {
            let large = size > self.protocol.eager_limit.0 && *source != receiver;
            large && self.announces(receiver, in_collective)
        });
        if sender.is_some() {
            let (envelope, arrived, matched, owed) = (NONE, false, false, 0);
            let announcement = Announcement { envelope, arrived, matched, owed };
            posted.announcement = self.announcements.insert(announcement);
        }
        let found = self.matcher.post(posted, classes);
        if let Some(sender) = sender {
            let is_there = found.is_some_and(|envelope| self.envelopes[envelope].arrived);
            if is_there {
                self.announcements.release(posted.announcement);
                posted.announcement = NONE;
            } else {
                self.announce(posted.announcement, [receiver, sender], scheduler);
            }
        }
        match found {
            Some(envelope) => self.matched(envelope, &posted, scheduler),
            None => Ok(()),
        }
    }

    fn announce(
        &mut self,
        index: u32,
        [receiver, sender]: [u32; 2],
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) {
        self.announcements[index].owed = 2;
        let priority = self.jobs.priority(self.ranks.id(receiver).job);
        let class = TrafficClass { priority, control: true, ..TrafficClass::default() };
        let ends = [self.ranks.device(receiver), self.ranks.device(sender)];
        let (size, token) = (self.protocol.control_size, Leg::Announcement.token(index));
        let message = Message { class, ..Message::new(ends[0], ends[1], size, token) };
        self.transport.send(message, &mut Within::<_, RuntimeEvent<T::Event>>::new(scheduler));
    }

    /// A message and an announced receive have found each other: a large one goes when its sender
    /// has the announcement.
    pub(super) fn pair(
        &mut self,
        index: u32,
        envelope: u32,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let is_large = !self.envelopes[envelope].eager;
        let announcement = &mut self.announcements[index];
        announcement.matched = true;
        let goes = is_large && announcement.arrived;
        if is_large && !goes {
            announcement.envelope = envelope;
        }
        self.release_announcement(index);
        if goes { self.go(envelope, scheduler) } else { Ok(()) }
    }

    /// The last byte of an announcement has left.
    pub(super) fn announcement_sent(&mut self, index: u32) {
        self.announcements[index].owed -= 1;
        self.release_announcement(index);
    }

    /// An announcement is at its sender.
    pub(super) fn announcement_arrived(
        &mut self,
        index: u32,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let announcement = &mut self.announcements[index];
        announcement.arrived = true;
        announcement.owed -= 1;
        let envelope = announcement.envelope;
        self.release_announcement(index);
        if envelope == NONE { Ok(()) } else { self.go(envelope, scheduler) }
    }

    fn release_announcement(&mut self, index: u32) {
        let announcement = &self.announcements[index];
        if announcement.matched && announcement.owed == 0 {
            self.announcements.release(index);
        }
    }

    /// The sender of a large message has leave: its data goes after the protocol's delay.
    pub(super) fn go(
        &mut self,
        envelope: u32,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let delay = self.protocol.rendezvous_delay.0;
        if delay == 0 {
            self.send_leg(Leg::Data, envelope, scheduler);
        } else if let Some(end) = self.now.checked_add(delay) {
            scheduler.schedule(Picoseconds(end), RuntimeEvent::Rendezvous(envelope));
        } else {
            return Err(self.too_long(self.envelopes[envelope].send));
        }
        Ok(())
    }
}
