//! What a rank does one after another: its processor's computation, its library's calls.

use super::bins::NONE;
use super::frames::OperationRef;
use super::slab::Slab;

/// What occupies a lane for a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    pub(super) kind: WorkKind,
    pub(super) operation: OperationRef,
    pub(super) duration: u64,
    pub(super) next: u32,
}

/// What happens at the end of a work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkKind {
    /// The operation has computed.
    Compute,
    /// The call of a send returns; the message is this envelope.
    Send(u32),
    /// The message is in the receive's buffer.
    Receive,
}

/// Works in the order in which they came; the first is under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lane {
    head: u32,
    tail: u32,
}

impl Lane {
    pub(super) const EMPTY: Self = Self { head: NONE, tail: NONE };

    pub(super) fn is_empty(self) -> bool {
        self.head == NONE
    }

    /// Its works, in their order.
    pub(super) fn works(self, works: &Slab<Work>) -> impl Iterator<Item = &Work> {
        let at = |index: u32| (index != NONE).then(|| &works[index]);
        std::iter::successors(at(self.head), move |work| at(work.next))
    }

    /// Its works become those of later iterations.
    pub(super) fn move_on(self, works: &mut Slab<Work>, iterations: u32) {
        let mut next = self.head;
        while next != NONE {
            works[next].operation.iteration += iterations;
            next = works[next].next;
        }
    }

    /// Adds a work; whether it is the only one, so that it starts now.
    pub(super) fn push(&mut self, works: &mut Slab<Work>, work: Work) -> bool {
        let index = works.insert(work);
        let starts = self.head == NONE;
        if starts {
            self.head = index;
        } else {
            works[self.tail].next = index;
        }
        self.tail = index;
        starts
    }

    /// Takes the first work; returns it and the one that starts then.
    pub(super) fn pop(&mut self, works: &mut Slab<Work>) -> Option<(Work, Option<Work>)> {
        if self.head == NONE {
            return None;
        }
        let work = works[self.head];
        works.release(self.head);
        self.head = work.next;
        let next = (self.head != NONE).then(|| works[self.head]);
        Some((work, next))
    }
}
