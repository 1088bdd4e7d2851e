//! Keeps messages of one sender to one receiver in one context from overtaking one another.
//!
//! A network that routes adaptively may deliver them in another order. MPI matches them in the
//! order of their sends (MPI 4.1, 3.5), so that one which arrives early is held back.

use super::bins::{Bins, Key};
use super::envelope::Envelope;
use crate::runtime::slab::{NONE, Slab};

/// The messages under way of each pair and context, in the order of their sends.
#[derive(Debug, Clone)]
pub(super) struct Pairs {
    queues: Bins,
}

impl Pairs {
    pub(super) fn new() -> Self {
        Self { queues: Bins::new() }
    }

    pub(super) fn comparisons(&self) -> u64 {
        self.queues.comparisons
    }

    /// Notes that a message is under way.
    pub(super) fn depart(&mut self, envelopes: &mut Slab<Envelope>, envelope: u32) {
        let key = key(&envelopes[envelope]);
        let last = self.queues.append(&key, envelope);
        if last != NONE {
            envelopes[last].next = envelope;
        }
    }

    /// Notes that a message has arrived; returns the first of those that may be matched now,
    /// which are linked by `next` up to [`NONE`].
    pub(super) fn arrive(&mut self, envelopes: &mut Slab<Envelope>, envelope: u32) -> u32 {
        envelopes[envelope].arrived = true;
        let key = key(&envelopes[envelope]);
        let Some(queue) = self.queues.find(&key) else { return NONE };
        let (first, tail) = (queue.head, queue.tail);
        if first != envelope {
            return NONE;
        }
        let mut last = first;
        while envelopes[last].next != NONE && envelopes[envelopes[last].next].arrived {
            last = envelopes[last].next;
        }
        let rest = std::mem::replace(&mut envelopes[last].next, NONE);
        self.queues.set(&key, rest, tail);
        first
    }
}

fn key(envelope: &Envelope) -> Key {
    [envelope.destination, envelope.context, envelope.source, 0]
}
