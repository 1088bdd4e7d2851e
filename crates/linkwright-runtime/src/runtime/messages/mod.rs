//! Takes a message its way: from its send's call to its receive's buffer.
//!
//! An eager message goes at once, and its send is complete when the library has copied it. A
//! large one sends a request first, which matches as the message would; the receiver answers
//! with leave, and then the data goes. The send is complete when the data has left. Where the
//! receiver announces its receives, an announcement stands for request and leave
//! ([`announcements`]).

mod announcements;
mod bins;
mod envelope;
mod matching;
mod pairs;

pub(super) use envelope::Envelope;
pub(super) use matching::classes_of;

use crate::engine::{Scheduler, Within};
use crate::network::{Message, RouteClass, TrafficClass, Transport};
use crate::program::lowering::Lowering;
use crate::units::{Bytes, Picoseconds};

use self::announcements::Announcements;
use self::envelope::Leg;
use self::matching::{EXACT_ONLY, Matcher, Posted};
use self::pairs::Pairs;
use super::error::RuntimeError;
use super::event::RuntimeEvent;
use super::frames::OperationRef;
use super::lanes::{LIBRARY, Work, WorkKind};
use super::observer::{MessageRecord, Observer};
use super::plan::STARTED;
use super::protocols::{MpiProtocol, Rendezvous};
use super::shared::Shared;
use super::slab::{NONE, Slab};

/// The messages under way, and the receives that wait for one.
#[derive(Debug)]
pub(super) struct Messages {
    protocol: MpiProtocol,
    envelopes: Slab<Envelope>,
    announcements: Announcements,
    matcher: Matcher,
    pairs: Pairs,
}

impl Messages {
    pub(super) fn new(protocol: MpiProtocol) -> Self {
        let (envelopes, announcements) = (Slab::new(), Announcements::new());
        Self { protocol, envelopes, announcements, matcher: Matcher::new(), pairs: Pairs::new() }
    }

    /// The largest message that is sent without waiting for its receive.
    pub(super) const fn eager_limit(&self) -> Bytes {
        self.protocol.eager_limit
    }

    /// How many keys were compared to match messages with receives and to keep their order.
    pub(super) fn comparisons(&self) -> u64 {
        self.matcher.comparisons() + self.pairs.comparisons()
    }

    /// Lists the messages that no receive took.
    pub(super) fn unexpected(&self) -> impl Iterator<Item = &Envelope> {
        self.matcher.unexpected().map(move |envelope| &self.envelopes[envelope])
    }

    /// The receives to which no message came.
    pub(super) fn posted(&self) -> impl Iterator<Item = &Posted> {
        self.matcher.posted()
    }

    /// How many messages and announcements are under way, and for how many there is room.
    #[cfg(test)]
    pub(super) fn counts(&self) -> [[usize; 2]; 2] {
        let Self { envelopes, announcements, .. } = self;
        [
            [envelopes.kept().count(), announcements.kept()],
            [envelopes.capacity(), announcements.capacity()],
        ]
    }
}

impl<T: Transport, L: Lowering, O: Observer> Shared<'_, T, L, O> {
    /// A send is called: it occupies its rank's library first.
    #[inline]
    pub(super) fn send(
        &mut self,
        at: OperationRef,
        (destination, context): (u32, u32),
        tag: u32,
        (size, route): (Bytes, RouteClass),
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let source = self.frames.rank_of(at);
        // A message to oneself crosses no network, and is copied whatever its size.
        let eager = size <= self.messages.protocol.eager_limit || source == destination;
        let Some(duration) = self.messages.protocol.send_cost(size, eager) else {
            return Err(self.too_long(at));
        };
        let (call, within) = self.frames.origin(at);
        let announced = source != destination && self.announces(destination, within.is_some());
        let envelope = self.messages.envelopes.insert(Envelope {
            source,
            destination,
            context,
            tag,
            size: size.0,
            route,
            send: at,
            call,
            within,
            receive: at,
            since: self.now,
            sent: self.now,
            next: NONE,
            owed: 0,
            eager,
            announced,
            matched: false,
            arrived: false,
            finished: false,
        });
        self.ranks.count_messages(source, 1, size.0);
        self.jobs.begin_message(self.ranks.id(source).job);
        let kind = WorkKind::Send(envelope);
        self.occupy(LIBRARY, Work { kind, operation: at, duration, next: NONE }, scheduler)
    }

    /// A receive is called, and finds its message or waits for it. A large one from a named other
    /// rank is announced, unless its message is there.
    #[inline]
    pub(super) fn receive(
        &mut self,
        at: OperationRef,
        (source, context): (Option<u32>, u32),
        tag: Option<u32>,
        size: Bytes,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let receiver = self.frames.rank_of(at);
        self.frames.propagate(at, STARTED);
        let mut posted = Posted {
            operation: at,
            receiver,
            context,
            source,
            tag,
            size: size.0,
            since: self.now,
            announcement: NONE,
            order: 0,
            next: NONE,
        };
        let in_collective = self.frames.collective_of(at).is_some();
        let classes = self.classes(receiver, in_collective);
        let sender = source.filter(|source| {
            let large = size > self.messages.protocol.eager_limit && *source != receiver;
            large && self.announces(receiver, in_collective)
        });
        let Messages { envelopes, announcements, matcher, .. } = &mut self.messages;
        if sender.is_some() {
            posted.announcement = announcements.add();
        }
        let found = matcher.post(posted, classes);
        if let Some(sender) = sender {
            let is_there = found.is_some_and(|envelope| envelopes[envelope].arrived);
            if is_there {
                announcements.withdraw(posted.announcement);
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
        let priority = self.jobs.priority(self.ranks.id(receiver).job);
        let class = TrafficClass { priority, control: true, ..TrafficClass::default() };
        let ends = [self.ranks.device(receiver), self.ranks.device(sender)];
        let token = Leg::Announcement.token(index);
        let of_size = Message::new(ends[0], ends[1], self.messages.protocol.control_size, token);
        let message = Message { class, ..of_size };
        self.transport.send(message, &mut Within::<_, RuntimeEvent<T::Event>>::new(scheduler));
    }

    /// Whether a rank announces its large receives, in its program or in a collective.
    fn announces(&self, receiver: u32, in_collective: bool) -> bool {
        self.messages.protocol.rendezvous == Rendezvous::Receiver
            && self.classes(receiver, in_collective) == EXACT_ONLY
    }

    /// The classes of receives that a rank uses in its program; a collective names sources and
    /// tags.
    fn classes(&self, rank: u32, in_collective: bool) -> u8 {
        if in_collective { EXACT_ONLY } else { self.ranks.classes(rank) }
    }

    /// The sender of a large message has leave: its data goes after the protocol's delay.
    fn go(
        &mut self,
        envelope: u32,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let delay = self.messages.protocol.rendezvous_delay.0;
        if delay == 0 {
            self.send_leg(Leg::Data, envelope, scheduler);
        } else if let Some(end) = self.now.checked_add(delay) {
            scheduler.schedule(Picoseconds(end), RuntimeEvent::Rendezvous(envelope));
        } else {
            return Err(self.too_long(self.messages.envelopes[envelope].send));
        }
        Ok(())
    }

    /// The time between leave and a large message's first byte is over.
    pub(super) fn end_rendezvous(
        &mut self,
        envelope: u32,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) {
        self.send_leg(Leg::Data, envelope, scheduler);
    }

    /// The last byte of a message has left, or of what arranges for it.
    #[inline]
    pub(super) fn message_sent(&mut self, token: u64) {
        let (leg, index) = Leg::of_token(token);
        self.sent(leg, index);
    }

    /// The last byte of a message has arrived, or of what arranges for it.
    #[inline]
    pub(super) fn message_delivered(
        &mut self,
        token: u64,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let (leg, index) = Leg::of_token(token);
        self.delivered(leg, index, scheduler)
    }

    /// The call of a send returns: the message, or its request, goes to the network.
    pub(super) fn depart(
        &mut self,
        index: u32,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let envelope = &mut self.messages.envelopes[index];
        envelope.sent = self.now;
        let envelope = *envelope;
        self.observer.sent(&self.record(&envelope));
        if envelope.source == envelope.destination {
            self.complete_communication(envelope.send, STARTED);
            self.observer.delivered(&self.record(&envelope), Picoseconds(self.now));
            return self.accept(index, scheduler);
        }
        if !envelope.announced {
            self.messages.pairs.depart(&mut self.messages.envelopes, index);
        }
        if envelope.eager {
            self.send_leg(Leg::Eager, index, scheduler);
            self.complete_communication(envelope.send, STARTED);
        } else {
            if !envelope.announced {
                self.send_leg(Leg::Request, index, scheduler);
            }
            self.frames.propagate(envelope.send, STARTED);
        }
        if envelope.announced { self.accept(index, scheduler) } else { Ok(()) }
    }

    /// Hands one part of a message's way to the network.
    fn send_leg(
        &mut self,
        leg: Leg,
        index: u32,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) {
        let envelope = &mut self.messages.envelopes[index];
        envelope.owed += 2;
        let ends = [self.ranks.device(envelope.source), self.ranks.device(envelope.destination)];
        let of_control = self.messages.protocol.control_size;
        let ([from, to], size, control) = match leg {
            Leg::Eager | Leg::Data => (ends, Bytes(envelope.size), false),
            Leg::Request => (ends, of_control, true),
            Leg::Leave => ([ends[1], ends[0]], of_control, true),
            Leg::Announcement => unreachable!("no part of a message's way"),
        };
        let route = if control { RouteClass::Any } else { envelope.route };
        let priority = self.jobs.priority(self.ranks.id(envelope.source).job);
        let class = TrafficClass { priority, control, ..TrafficClass::default() };
        let message = Message { class, route, ..Message::new(from, to, size, leg.token(index)) };
        self.transport.send(message, &mut Within::<_, RuntimeEvent<T::Event>>::new(scheduler));
    }

    /// The last byte of a part of a message's way has left.
    fn sent(&mut self, leg: Leg, index: u32) {
        match leg {
            Leg::Announcement => return self.messages.announcements.sent(index),
            Leg::Eager | Leg::Request | Leg::Leave | Leg::Data => {}
        }
        self.messages.envelopes[index].owed -= 1;
        if leg == Leg::Data {
            self.complete_communication(self.messages.envelopes[index].send, 0);
        }
        self.release_finished(index);
    }

    /// The last byte of a part of a message's way has arrived.
    fn delivered(
        &mut self,
        leg: Leg,
        index: u32,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        if leg != Leg::Announcement {
            self.messages.envelopes[index].owed -= 1;
        }
        match leg {
            Leg::Announcement => {
                let envelope = self.messages.announcements.arrived(index);
                if envelope != NONE {
                    self.go(envelope, scheduler)?;
                }
            }
            Leg::Eager | Leg::Request => {
                if leg == Leg::Eager {
                    let record = self.record(&self.messages.envelopes[index]);
                    self.observer.delivered(&record, Picoseconds(self.now));
                }
                let envelope = &mut self.messages.envelopes[index];
                if envelope.announced {
                    envelope.arrived = true;
                    return if envelope.matched {
                        self.finish_envelope(index, scheduler)
                    } else {
                        Ok(())
                    };
                }
                let mut next = self.messages.pairs.arrive(&mut self.messages.envelopes, index);
                while next != NONE {
                    let admitted = next;
                    next = std::mem::replace(&mut self.messages.envelopes[next].next, NONE);
                    self.accept(admitted, scheduler)?;
                }
            }
            Leg::Leave => self.go(index, scheduler)?,
            Leg::Data => {
                let envelope = self.messages.envelopes[index];
                self.observer.delivered(&self.record(&envelope), Picoseconds(self.now));
                self.finish_envelope(index, scheduler)?;
            }
        }
        Ok(())
    }

    /// A message or request may be matched.
    fn accept(
        &mut self,
        index: u32,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let envelope = &self.messages.envelopes[index];
        let classes = self.classes(envelope.destination, envelope.within.is_some());
        let key = envelope.key();
        match self.messages.matcher.arrive(&key, classes, index) {
            Some(posted) => self.matched(index, &posted, scheduler),
            None => Ok(()),
        }
    }

    /// A message or request and a receive have found each other.
    fn matched(
        &mut self,
        index: u32,
        posted: &Posted,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let envelope = &mut self.messages.envelopes[index];
        (envelope.receive, envelope.matched) = (posted.operation, true);
        if envelope.size > posted.size {
            let id = self.ranks.id(posted.receiver);
            return Err(RuntimeError::Truncated {
                job: self.jobs.name(id.job).to_owned(),
                rank: id.rank,
                call: self.frames.origin(posted.operation).0,
                peer: self.ranks.id(self.messages.envelopes[index].source).rank,
                tag: self.messages.envelopes[index].tag,
                size: Bytes(self.messages.envelopes[index].size),
                capacity: Bytes(posted.size),
            });
        }
        let Envelope { eager, announced, arrived, .. } = *envelope;
        if posted.announcement != NONE {
            // A large one goes when its sender has the announcement.
            let goes = self.messages.announcements.pair(posted.announcement, index, !eager);
            if goes {
                self.go(index, scheduler)?;
            }
        }
        if eager && (arrived || !announced) {
            return self.finish_envelope(index, scheduler);
        }
        if !announced {
            self.send_leg(Leg::Leave, index, scheduler);
        }
        Ok(())
    }

    /// A message's data is at its receiver, whose library still has to handle it.
    fn finish_envelope(
        &mut self,
        index: u32,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let envelope = &mut self.messages.envelopes[index];
        envelope.finished = true;
        let (operation, size, eager) = (envelope.receive, Bytes(envelope.size), envelope.eager);
        self.release_finished(index);
        let Some(duration) = self.messages.protocol.receive_cost(size, eager) else {
            return Err(self.too_long(operation));
        };
        self.occupy(
            LIBRARY,
            Work { kind: WorkKind::Receive, operation, duration, next: NONE },
            scheduler,
        )
    }

    /// Forgets a message that is over: nothing will be heard of it any more.
    fn release_finished(&mut self, index: u32) {
        let envelope = &self.messages.envelopes[index];
        if envelope.finished && envelope.owed == 0 {
            let job = self.ranks.id(envelope.source).job;
            self.messages.envelopes.release(index);
            self.jobs.end_message(job);
            self.give_back(job);
        }
    }

    fn record(&self, envelope: &Envelope) -> MessageRecord {
        MessageRecord {
            source: self.ranks.id(envelope.source),
            destination: self.ranks.id(envelope.destination),
            tag: envelope.tag,
            size: Bytes(envelope.size),
            collective: envelope.within.is_some(),
            sent: Picoseconds(envelope.sent),
        }
    }
}
