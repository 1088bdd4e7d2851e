//! Lists all that a rank does one after another: its processor's computation, its library's calls.

use super::frames::OperationRef;
use super::ranks::put;
use super::slab::{NONE, Slab};

/// Describes work that holds a lane for a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    pub(super) kind: WorkKind,
    pub(super) operation: OperationRef,
    pub(super) duration: u64,
    pub(super) next: u32,
}

/// Tells what happens at the end of a work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkKind {
    /// The operation has computed.
    Compute,
    /// The call of a send returns; the message is this envelope.
    Send(u32),
    /// The message is in the receive's buffer.
    Receive,
}

/// Is the lane of computation.
pub(super) const PROCESSOR: usize = 0;
/// Is the lane of the messaging library's calls.
pub(super) const LIBRARY: usize = 1;

/// Works in the order in which they came; the first is under way.
#[derive(Debug, Clone, Copy)]
struct Lane {
    head: u32,
    tail: u32,
}

impl Lane {
    const EMPTY: Self = Self { head: NONE, tail: NONE };

    const fn is_empty(self) -> bool {
        self.head == NONE
    }

    /// Its works, in their order.
    fn works(self, works: &Slab<Work>) -> impl Iterator<Item = &Work> {
        let at = |index: u32| (index != NONE).then(|| &works[index]);
        std::iter::successors(at(self.head), move |work| at(work.next))
    }

    /// Its works become those of later iterations.
    fn move_on(self, works: &mut Slab<Work>, iterations: u32) {
        let mut next = self.head;
        while next != NONE {
            works[next].operation.iteration += iterations;
            next = works[next].next;
        }
    }

    /// Adds a work; whether it is the only one, so that it starts now.
    fn push(&mut self, works: &mut Slab<Work>, work: Work) -> bool {
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
    fn pop(&mut self, works: &mut Slab<Work>) -> Option<(Work, Option<Work>)> {
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

/// Is all that a rank does at the moment.
#[derive(Debug, Clone)]
struct RankLanes {
    lanes: [Lane; 2],
    /// When the first work of its processor is done.
    computes_until: u64,
    /// How many works of processors had begun before that: of those that are done at one time, the earlier is first.
    computes_since: u64,
    /// How much later than its event says that is.
    postponed: u64,
}

/// The lanes of all ranks, each at its rank's place.
#[derive(Debug)]
pub(super) struct Lanes {
    ranks: Vec<RankLanes>,
    works: Slab<Work>,
    /// How many works of processors have begun.
    computations: u64,
}

impl Lanes {
    pub(super) const fn new() -> Self {
        Self { ranks: Vec::new(), works: Slab::new(), computations: 0 }
    }

    /// A rank takes its place.
    pub(super) fn add(&mut self, rank: u32) {
        let lanes = [Lane::EMPTY; 2];
        let state = RankLanes { lanes, computes_until: 0, computes_since: 0, postponed: 0 };
        put(&mut self.ranks, rank, state);
    }

    /// Adds a work to a lane; whether it is the only one, so that it starts now.
    #[inline]
    pub(super) fn push(&mut self, rank: u32, lane: usize, work: Work) -> bool {
        self.ranks[rank as usize].lanes[lane].push(&mut self.works, work)
    }

    /// Takes the first work of a lane; returns it and the one that starts then.
    #[inline]
    pub(super) fn pop(&mut self, rank: u32, lane: usize) -> Option<(Work, Option<Work>)> {
        self.ranks[rank as usize].lanes[lane].pop(&mut self.works)
    }

    /// The first work of a rank's processor begins, and is done at a time.
    #[inline]
    pub(super) fn compute_until(&mut self, rank: u32, end: u64) {
        let of_rank = &mut self.ranks[rank as usize];
        (of_rank.computes_until, of_rank.computes_since) = (end, self.computations);
        self.computations += 1;
    }

    /// The first work of a rank's processor should be done: when it is, where iterations have passed meanwhile.
    #[inline]
    pub(super) fn take_postponed(&mut self, rank: u32) -> Option<u64> {
        let of_rank = &mut self.ranks[rank as usize];
        let postponed = std::mem::take(&mut of_rank.postponed);
        (postponed > 0).then_some(of_rank.computes_until)
    }

    /// Whether a rank computes, and its library has nothing to do.
    pub(super) fn only_computes(&self, rank: u32) -> bool {
        let [processor, library] = self.ranks[rank as usize].lanes;
        library.is_empty() && !processor.is_empty()
    }

    /// When the first work of a rank's processor is done, and how many had begun before.
    pub(super) fn computing(&self, rank: u32) -> (u64, u64) {
        let of_rank = &self.ranks[rank as usize];
        (of_rank.computes_until, of_rank.computes_since)
    }

    /// Lists all that a rank's processor has to compute, in its order.
    pub(super) fn computations(&self, rank: u32) -> impl Iterator<Item = &Work> {
        self.ranks[rank as usize].lanes[PROCESSOR].works(&self.works)
    }

    /// Lets iterations of a rank that only computes pass, in a span of time.
    pub(super) fn pass(&mut self, rank: u32, iterations: u32, span: u64) {
        let of_rank = &mut self.ranks[rank as usize];
        of_rank.computes_until += span;
        of_rank.postponed += span;
        of_rank.lanes[PROCESSOR].move_on(&mut self.works, iterations);
    }

    /// The works of all lanes.
    #[cfg(test)]
    pub(super) const fn works(&self) -> &Slab<Work> {
        &self.works
    }
}
