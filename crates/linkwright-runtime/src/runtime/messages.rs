//! The way of a message: from its send's call to its receive's buffer.
//!
//! An eager message goes at once, and its send is complete when the library has copied it. A
//! large one sends a request first, which matches as the message would; the receiver answers
//! with leave, and then the data goes. The send is complete when the data has left. Where the
//! receiver announces its receives, an announcement stands for request and leave
//! ([`super::announcements`]).

use crate::engine::{Scheduler, Within};
use crate::network::{Message, RouteClass, TrafficClass, Transport};
use crate::program::lowering::Lowering;
use crate::units::{Bytes, Picoseconds};

use super::bins::NONE;
use super::envelope::{Envelope, Leg};
use super::error::RuntimeError;
use super::lanes::{LIBRARY, Work, WorkKind};
use super::matching::Posted;
use super::observer::{MessageRecord, Observer};
use super::plan::STARTED;
use super::state::Runtime;
use super::works::RuntimeEvent;

impl<T: Transport, L: Lowering, O: Observer> Runtime<'_, T, L, O> {
    /// The call of a send returns: the message, or its request, goes to the network.
    pub(super) fn depart(
        &mut self,
        index: u32,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let envelope = &mut self.envelopes[index];
        envelope.sent = self.now;
        let envelope = *envelope;
        self.observer.sent(&self.record(&envelope));
        if envelope.source == envelope.destination {
            self.complete_communication(envelope.send, STARTED);
            self.observer.delivered(&self.record(&envelope), Picoseconds(self.now));
            return self.accept(index, scheduler);
        }
        if !envelope.announced {
            self.pairs.depart(&mut self.envelopes, index);
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
    pub(super) fn send_leg(
        &mut self,
        leg: Leg,
        index: u32,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) {
        let envelope = &mut self.envelopes[index];
        envelope.owed += 2;
        let ends = [self.ranks.device(envelope.source), self.ranks.device(envelope.destination)];
        let of_control = self.protocol.control_size;
        let ([from, to], size, control) = match leg {
            Leg::Eager | Leg::Data => (ends, Bytes(envelope.size), false),
            Leg::Request => (ends, of_control, true),
            Leg::Leave => ([ends[1], ends[0]], of_control, true),
            Leg::Announcement | Leg::Copy => unreachable!("no part of a message's way"),
        };
        let route = if control { RouteClass::Any } else { envelope.route };
        let priority = self.jobs.priority(self.ranks.id(envelope.source).job);
        let class = TrafficClass { priority, control, ..TrafficClass::default() };
        let message = Message { class, route, ..Message::new(from, to, size, leg.token(index)) };
        self.transport.send(message, &mut Within::<_, RuntimeEvent<T::Event>>::new(scheduler));
    }

    /// The last byte of a part of a message's way has left.
    pub(super) fn sent(&mut self, leg: Leg, index: u32) {
        match leg {
            Leg::Announcement => return self.announcement_sent(index),
            Leg::Copy => return self.copy_left(index),
            Leg::Eager | Leg::Request | Leg::Leave | Leg::Data => {}
        }
        self.envelopes[index].owed -= 1;
        if leg == Leg::Data {
            self.complete_communication(self.envelopes[index].send, 0);
        }
        self.release_finished(index);
    }

    /// The last byte of a part of a message's way has arrived.
    pub(super) fn delivered(
        &mut self,
        leg: Leg,
        index: u32,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        if !matches!(leg, Leg::Announcement | Leg::Copy) {
            self.envelopes[index].owed -= 1;
        }
        match leg {
            Leg::Announcement => self.announcement_arrived(index, scheduler)?,
            Leg::Copy => self.copy_arrived(index, scheduler),
            Leg::Eager | Leg::Request => {
                if leg == Leg::Eager {
                    let record = self.record(&self.envelopes[index]);
                    self.observer.delivered(&record, Picoseconds(self.now));
                }
                let envelope = &mut self.envelopes[index];
                if envelope.announced {
                    envelope.arrived = true;
                    return if envelope.matched {
                        self.finish_envelope(index, scheduler)
                    } else {
                        Ok(())
                    };
                }
                let mut next = self.pairs.arrive(&mut self.envelopes, index);
                while next != NONE {
                    let admitted = next;
                    next = std::mem::replace(&mut self.envelopes[next].next, NONE);
                    self.accept(admitted, scheduler)?;
                }
            }
            Leg::Leave => self.go(index, scheduler)?,
            Leg::Data => {
                let envelope = self.envelopes[index];
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
        let envelope = &self.envelopes[index];
        let classes = self.classes(envelope.destination, envelope.within.is_some());
        let key = envelope.key();
        match self.matcher.arrive(&key, classes, index) {
            Some(posted) => self.matched(index, &posted, scheduler),
            None => Ok(()),
        }
    }

    /// A message or request and a receive have found each other.
    pub(super) fn matched(
        &mut self,
        index: u32,
        posted: &Posted,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let envelope = &mut self.envelopes[index];
        (envelope.receive, envelope.matched) = (posted.operation, true);
        if envelope.size > posted.size {
            let id = self.ranks.id(posted.receiver);
            return Err(RuntimeError::Truncated {
                job: self.jobs.name(id.job).to_owned(),
                rank: id.rank,
                call: self.frames.origin(posted.operation).0,
                peer: self.ranks.id(self.envelopes[index].source).rank,
                tag: self.envelopes[index].tag,
                size: Bytes(self.envelopes[index].size),
                capacity: Bytes(posted.size),
            });
        }
        let Envelope { eager, announced, arrived, .. } = *envelope;
        if posted.announcement != NONE {
            self.pair(posted.announcement, index, scheduler)?;
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
        let envelope = &mut self.envelopes[index];
        envelope.finished = true;
        let (operation, size, eager) = (envelope.receive, Bytes(envelope.size), envelope.eager);
        self.release_finished(index);
        let Some(duration) = self.protocol.receive_cost(size, eager) else {
            return Err(self.too_long(operation));
        };
        self.occupy(
            LIBRARY,
            Work { kind: WorkKind::Receive, operation, duration, next: NONE },
            scheduler,
        )
    }

    /// Forgets a message of which nothing will be heard any more.
    fn release_finished(&mut self, index: u32) {
        let envelope = &self.envelopes[index];
        if envelope.finished && envelope.owed == 0 {
            let job = self.ranks.id(envelope.source).job;
            self.envelopes.release(index);
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
