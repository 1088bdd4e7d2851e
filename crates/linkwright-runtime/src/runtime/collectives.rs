//! Who is in which collective.

use std::collections::VecDeque;

use crate::program::{CollectiveKind, CommunicatorId, Rank};

use super::call::Call;
use super::error::RuntimeError;

/// A collective that some rank has entered and another has not.
#[derive(Debug, Clone, Copy)]
struct OpenCall {
    kind: CollectiveKind,
    root: Option<Rank>,
    context: u32,
    entered: u32,
    /// Who entered first.
    rank: Rank,
    call: Call,
}

/// A rank's entry into a collective.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) rank: Rank,
    pub(super) call: Call,
    pub(super) kind: CollectiveKind,
    /// The root's rank in the program, where there is one.
    pub(super) root: Option<Rank>,
}

/// A communicator as it runs.
#[derive(Debug, Clone)]
pub(super) struct Communicator {
    pub(super) job: u32,
    pub(super) id: CommunicatorId,
    pub(super) members: Vec<Rank>,
    /// What the messages of its own match within.
    pub(super) context: u32,
    /// The places of the members, in the order of their ranks.
    by_rank: Vec<u32>,
    /// How many collectives each member has entered.
    entered: Vec<u64>,
    /// The collectives that not all members have entered, in their order.
    open: VecDeque<OpenCall>,
    /// How many collectives all members have entered.
    closed: u64,
}

impl Communicator {
    pub(super) fn new(job: u32, id: CommunicatorId, members: Vec<Rank>, context: u32) -> Self {
        let mut by_rank: Vec<u32> = (0..members.len() as u32).collect();
        by_rank.sort_unstable_by_key(|place| members[*place as usize]);
        let entered = vec![0; members.len()];
        Self { job, id, members, context, by_rank, entered, open: VecDeque::new(), closed: 0 }
    }

    /// A member's place.
    pub(super) fn index_of(&self, rank: Rank) -> u32 {
        if self.members.get(rank as usize) == Some(&rank) {
            return rank;
        }
        let found = self.by_rank.binary_search_by_key(&rank, |place| self.members[*place as usize]);
        found.map_or(0, |position| self.by_rank[position])
    }

    /// A member enters its next collective; returns what the messages of this collective match
    /// within, for which the first to enter takes the context offered.
    pub(super) fn enter(
        &mut self,
        entry: Entry,
        job: &str,
        next_context: &mut u32,
    ) -> Result<u32, RuntimeError> {
        let index = self.index_of(entry.rank) as usize;
        let sequence = self.entered[index];
        self.entered[index] += 1;
        let position = (sequence - self.closed) as usize;
        if position == self.open.len() {
            let Entry { rank, call, kind, root } = entry;
            let context = *next_context;
            *next_context += 1;
            self.open.push_back(OpenCall { kind, root, context, entered: 0, rank, call });
        }
        let open = &mut self.open[position];
        if open.kind != entry.kind || open.root != entry.root {
            return Err(RuntimeError::CollectiveMismatch {
                job: job.to_owned(),
                communicator: self.id,
                sequence,
                ranks: [open.rank, entry.rank],
                calls: [open.call, entry.call],
                kinds: [open.kind, entry.kind],
                roots: [open.root, entry.root],
            });
        }
        open.entered += 1;
        let context = open.context;
        while self.open.front().is_some_and(|first| first.entered as usize == self.members.len()) {
            self.open.pop_front();
            self.closed += 1;
        }
        Ok(context)
    }

    /// The first collective that some members have entered and others have not, with these in
    /// the order of their ranks.
    pub(super) fn absent(&self) -> Option<(CollectiveKind, Vec<Rank>)> {
        let open = self.open.front()?;
        let away =
            self.by_rank.iter().filter(|place| self.entered[**place as usize] == self.closed);
        Some((open.kind, away.map(|place| self.members[*place as usize]).collect()))
    }
}

