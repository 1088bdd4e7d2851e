//! The communicators of all jobs: who is in which, and who has called which collective.

use std::collections::VecDeque;
use std::ops::Range;

use crate::program::{CollectiveKind, CommunicatorId, Rank};

use super::call::Call;
use super::error::RuntimeError;
use super::jobs::Jobs;
use super::ranges::Ranges;
use super::ranks::put;

/// A collective that some rank has entered and another has not.
#[derive(Debug, Clone, Copy)]
struct OpenCall {
    kind: CollectiveKind,
    root: Option<Rank>,
    context: u32,
    entered: u32,
    /// Says who entered first.
    rank: Rank,
    call: Call,
}

/// Records a rank's entry into a collective.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) rank: Rank,
    pub(super) call: Call,
    pub(super) kind: CollectiveKind,
    /// The root's rank in the program, where there is one.
    pub(super) root: Option<Rank>,
}

/// Where a rank is that has entered a collective.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entered {
    /// Tells this collective from all others of the runtime.
    pub(super) context: u32,
    pub(super) job: u32,
    /// Names the communicator among those of its job.
    pub(super) id: CommunicatorId,
    pub(super) ranks: u32,
    /// Are the places of the rank and of the root.
    pub(super) index: u32,
    pub(super) root: u32,
}

/// A collective that only some members of a communicator have entered.
#[derive(Debug)]
pub(super) struct HalfEntered {
    pub(super) job: u32,
    pub(super) id: CommunicatorId,
    pub(super) kind: CollectiveKind,
    pub(super) ranks: usize,
    /// Those that have not, in the order of their ranks.
    pub(super) absent: Vec<Rank>,
}

/// A communicator as it runs.
#[derive(Debug, Clone)]
struct Communicator {
    job: u32,
    id: CommunicatorId,
    members: Vec<Rank>,
    /// Gives the context that messages of its own match within.
    context: u32,
    /// Lists the places of the members, in the order of their ranks.
    by_rank: Vec<u32>,
    /// How many collectives each member has entered.
    entered: Vec<u64>,
    /// The collectives that not all members have entered, in their order.
    open: VecDeque<OpenCall>,
    /// How many collectives all members have entered.
    closed: u64,
}

impl Communicator {
    fn new(job: u32, id: CommunicatorId, members: Vec<Rank>, context: u32) -> Self {
        let mut by_rank: Vec<u32> = (0..members.len() as u32).collect();
        by_rank.sort_unstable_by_key(|place| members[*place as usize]);
        let entered = vec![0; members.len()];
        Self { job, id, members, context, by_rank, entered, open: VecDeque::new(), closed: 0 }
    }

    /// Returns a member's place.
    fn index_of(&self, rank: Rank) -> u32 {
        if self.members.get(rank as usize) == Some(&rank) {
            return rank;
        }
        let found = self.by_rank.binary_search_by_key(&rank, |place| self.members[*place as usize]);
        found.map_or(0, |position| self.by_rank[position])
    }

    /// A member enters its next collective; returns what the messages of this collective match
    /// within, for which the first to enter takes the context offered.
    fn enter(
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
    fn absent(&self) -> Option<(CollectiveKind, Vec<Rank>)> {
        let open = self.open.front()?;
        let away =
            self.by_rank.iter().filter(|place| self.entered[**place as usize] == self.closed);
        Some((open.kind, away.map(|place| self.members[*place as usize]).collect()))
    }
}

/// Holds the communicators of all jobs.
#[derive(Debug)]
pub(super) struct Communicators {
    all: Vec<Communicator>,
    places: Ranges,
    next_context: u32,
}

impl Communicators {
    pub(super) fn new() -> Self {
        Self { all: Vec::new(), places: Ranges::default(), next_context: 0 }
    }

    /// Gives those of a job their places.
    pub(super) fn add(&mut self, job: u32, members: &[Vec<Rank>]) -> Range<u32> {
        let places = self.places.take(members.len() as u32);
        for ((id, place), members) in (0..).zip(places.clone()).zip(members) {
            let communicator = Communicator::new(job, id, members.clone(), self.next_context);
            self.next_context += 1;
            put(&mut self.all, place, communicator);
        }
        places
    }

    /// Gives the places of a job's communicators back.
    pub(super) fn give_back(&mut self, places: Range<u32>) {
        self.places.give_back(places);
    }

    /// Tells within which context the messages of a communicator match.
    #[inline]
    pub(super) fn context(&self, communicator: u32) -> u32 {
        self.all[communicator as usize].context
    }

    /// Gives the rank of its program at a place of a communicator.
    #[inline]
    pub(super) fn member(&self, communicator: u32, place: u32) -> Rank {
        self.all[communicator as usize].members[place as usize]
    }

    /// A member of a communicator enters its next collective.
    pub(super) fn enter(
        &mut self,
        communicator: u32,
        entry: Entry,
        jobs: &Jobs,
    ) -> Result<Entered, RuntimeError> {
        let of = &mut self.all[communicator as usize];
        let context = of.enter(entry, jobs.name(of.job), &mut self.next_context)?;
        Ok(Entered {
            context,
            job: of.job,
            id: of.id,
            ranks: of.members.len() as u32,
            index: of.index_of(entry.rank),
            root: entry.root.map_or(0, |root| of.index_of(root)),
        })
    }

    /// The first collective of each communicator that only some of its ranks have entered.
    pub(super) fn half_entered(&self) -> impl Iterator<Item = HalfEntered> {
        self.all.iter().filter_map(|of| {
            let (kind, absent) = of.absent()?;
            let Communicator { job, id, .. } = *of;
            Some(HalfEntered { job, id, kind, ranks: of.members.len(), absent })
        })
    }

    /// For how many there is room.
    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        self.all.len()
    }
}
