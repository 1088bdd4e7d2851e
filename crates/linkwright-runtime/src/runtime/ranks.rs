//! Knows the ranks of all jobs: who they are, where they run, and all that they have done.

use std::ops::Range;

use crate::network::DeviceIndex;
use crate::units::{Bytes, Picoseconds};

use super::call::RankId;
use super::outcome::RankOutcome;
use super::ranges::Ranges;

/// Belongs to a rank from its admission.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewRank {
    pub(super) id: RankId,
    pub(super) device: DeviceIndex,
    /// The classes of receives that its program uses.
    pub(super) classes: u8,
    /// Where its program runs.
    pub(super) frame: u32,
}

/// Holds a rank with all that it has done so far.
#[derive(Debug, Clone)]
struct RankState {
    is: NewRank,
    outcome: RankOutcome,
    /// How many communications of its program are under way, and since when any is.
    under_way: u32,
    since: u64,
}

/// All ranks, each at its place.
#[derive(Debug)]
pub(super) struct Ranks {
    ranks: Vec<RankState>,
    places: Ranges,
    /// Lists jobs with a rank that has nothing under way any more, if that is watched.
    rested: Option<Vec<u32>>,
}

impl Ranks {
    pub(super) fn new() -> Self {
        Self { ranks: Vec::new(), places: Ranges::default(), rested: None }
    }

    /// Takes places for ranks, which are added in their order.
    pub(super) fn take(&mut self, count: u32) -> Range<u32> {
        self.places.take(count)
    }

    /// A rank takes its place.
    pub(super) fn add(&mut self, place: u32, is: NewRank) {
        let outcome = RankOutcome::default();
        put(&mut self.ranks, place, RankState { is, outcome, under_way: 0, since: 0 });
    }

    /// Gives places back.
    pub(super) fn give_back(&mut self, ranks: Range<u32>) {
        self.places.give_back(ranks);
    }

    #[inline]
    pub(super) fn id(&self, rank: u32) -> RankId {
        self.ranks[rank as usize].is.id
    }

    #[inline]
    pub(super) fn device(&self, rank: u32) -> DeviceIndex {
        self.ranks[rank as usize].is.device
    }

    /// The classes of receives that its program uses.
    #[inline]
    pub(super) fn classes(&self, rank: u32) -> u8 {
        self.ranks[rank as usize].is.classes
    }

    /// Where its program runs.
    #[inline]
    pub(super) fn frame(&self, rank: u32) -> u32 {
        self.ranks[rank as usize].is.frame
    }

    /// A communication of its program starts.
    #[inline]
    pub(super) fn begin_communication(&mut self, rank: u32, now: u64) {
        let state = &mut self.ranks[rank as usize];
        if state.under_way == 0 {
            state.since = now;
        }
        state.under_way += 1;
    }

    /// Whether any communication of its program is under way.
    #[inline]
    pub(super) fn communicates(&self, rank: u32) -> bool {
        self.ranks[rank as usize].under_way > 0
    }

    /// A communication of its program is complete.
    #[inline]
    pub(super) fn end_communication(&mut self, rank: u32, now: u64) {
        let state = &mut self.ranks[rank as usize];
        state.under_way -= 1;
        if state.under_way == 0 {
            state.outcome.communicating.0 += now - state.since;
            if let Some(rested) = &mut self.rested {
                rested.push(state.is.id.job);
            }
        }
    }

    /// From now on tells of jobs with a rank that has nothing under way any more.
    pub(super) fn watch_rest(&mut self) {
        self.rested = Some(Vec::new());
    }

    /// Gives one of them, once.
    pub(super) fn next_rested(&mut self) -> Option<u32> {
        self.rested.as_mut()?.pop()
    }

    /// Counts what its processor has computed.
    #[inline]
    pub(super) fn count_computation(&mut self, rank: u32, duration: u64) {
        self.ranks[rank as usize].outcome.computing.0 += duration;
    }

    /// Counts messages sent.
    #[inline]
    pub(super) fn count_messages(&mut self, rank: u32, messages: u64, bytes: u64) {
        let outcome = &mut self.ranks[rank as usize].outcome;
        outcome.messages += messages;
        outcome.bytes = Bytes(outcome.bytes.0.saturating_add(bytes));
    }

    /// Its last operation is complete.
    pub(super) fn finish(&mut self, rank: u32, job_start: Picoseconds, now: Picoseconds) {
        let outcome = &mut self.ranks[rank as usize].outcome;
        outcome.end = now;
        let computing = outcome.computing.0;
        outcome.exposed_communication = Picoseconds(now.0 - job_start.0 - computing);
    }

    /// Counts `times` as often again what a rank has done between two times.
    pub(super) fn repeat(
        &mut self,
        rank: u32,
        (then, now): (&RankOutcome, &RankOutcome),
        times: u32,
    ) {
        let repeated = |then: u64, now: u64| (now - then).saturating_mul(u64::from(times));
        let outcome = &mut self.ranks[rank as usize].outcome;
        outcome.computing.0 += repeated(then.computing.0, now.computing.0);
        outcome.communicating.0 += repeated(then.communicating.0, now.communicating.0);
        outcome.messages += repeated(then.messages, now.messages);
        let bytes = repeated(then.bytes.0, now.bytes.0);
        outcome.bytes = Bytes(outcome.bytes.0.saturating_add(bytes));
    }

    /// Tells all that a rank has done.
    pub(super) fn outcome(&self, rank: u32) -> &RankOutcome {
        &self.ranks[rank as usize].outcome
    }

    /// For how many ranks there is room.
    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        self.ranks.len()
    }
}

/// Sets a place of an array, which may be the one behind its end.
pub(super) fn put<V>(array: &mut Vec<V>, place: u32, value: V) {
    match array.get_mut(place as usize) {
        Some(slot) => *slot = value,
        None => array.push(value),
    }
}
