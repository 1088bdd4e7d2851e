//! What a rank does one after another: its processor's computation, its library's calls.

use crate::runtime::matching::bins::NONE;
use crate::runtime::ranks::frame::OperationRef;
use crate::runtime::slab::Slab;

/// What occupies a lane for a time.
#[derive(Debug, Clone, Copy)]
pub(in crate::runtime) struct Work {
    pub(in crate::runtime) kind: WorkKind,
    pub(in crate::runtime) operation: OperationRef,
    pub(in crate::runtime) duration: u64,
    pub(in crate::runtime) next: u32,
}

/// What happens at the end of a work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::runtime) enum WorkKind {
    /// The operation has computed.
    Compute,
    /// The call of a send returns; the message is this envelope.
    Send(u32),
    /// The message is in the receive's buffer.
    Receive,
}

/// Works in the order in which they came; the first is under way.
#[derive(Debug, Clone, Copy)]
pub(in crate::runtime) struct Lane {
    head: u32,
    tail: u32,
}

impl Lane {
    pub(in crate::runtime) const EMPTY: Self = Self { head: NONE, tail: NONE };

    /// Adds a work; whether it is the only one, so that it starts now.
    pub(in crate::runtime) fn push(&mut self, works: &mut Slab<Work>, work: Work) -> bool {
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
    pub(in crate::runtime) fn pop(
        &mut self,
        works: &mut Slab<Work>,
    ) -> Option<(Work, Option<Work>)> {
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
