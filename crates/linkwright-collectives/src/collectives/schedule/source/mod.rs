//! A schedule as a rule that yields it rank by rank.
//!
//! A rank's steps in a collective of thousands of ranks need never stand in memory as a whole. A
//! [`ScheduleSource`] gives them group by group, and a run asks for the next when the last is done.
//! A [`Group`] is steps that post together with their neighbours and are waited for together. MPI's
//! `sendrecv`, or its `irecv`, `isend` and `waitall`, do the same. [`materialise`] writes the whole
//! down as a [`Schedule`](crate::collectives::Schedule), to be checked, executed or exported.

mod materialise;

use std::ops::Range;

use thiserror::Error;

use crate::diagnostic::{Diagnose, Diagnosis};

use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::{Slice, StepOperation};

pub use materialise::materialise;

/// The most ranks whose steps are written down as a whole.
pub const MOST_MATERIALISED: usize = 256;

/// A schedule that is not written down.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub struct TooManyRanks {
    /// Counts the ranks.
    pub ranks: usize,
}

impl Diagnose for TooManyRanks {
    fn diagnosis(&self) -> Diagnosis {
        let Self { ranks } = self;
        Diagnosis::of(format!(
            "a schedule of {ranks} ranks is too large to write down \
            whole"
        ))
        .remedy(format!("check, execute or export at most {MOST_MATERIALISED} ranks"))
    }
}

/// Describes one step of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceStep {
    /// Names its operation.
    pub operation: StepOperation,
    /// The other rank, where it sends or receives.
    pub peer: Option<u32>,
    /// Names the run that it reads: the data, or the run that is reduced with the received one.
    pub source: Option<Slice>,
    /// Names the run that it writes.
    pub destination: Option<Slice>,
    /// Counts the chunks.
    pub count: u32,
    /// Which chunks of the collective's data these are, since not all shards are equally long;
    /// none for a signal, whose message is empty.
    pub moved: Range<u32>,
}

/// Steps of one rank that post together.
///
/// Copies before the first message precede all messages, and those behind the last follow them. The
/// sent data is the rank's data before the group. A received run is reduced when the group's own
/// messages have been read. Several are reduced in the order in which they stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Marks its messages, so that both ends know them by it.
    pub tag: u32,
    /// Lists the steps, in the order in which they post.
    pub steps: Vec<SourceStep>,
    /// Whether copies within the rank are wanted, which take no time and are no messages.
    with_copies: bool,
}

impl Group {
    /// An empty group that is filled with messages and copies.
    #[must_use]
    pub const fn whole() -> Self {
        Self { tag: 0, steps: Vec::new(), with_copies: true }
    }

    /// An empty group that is filled with messages alone.
    #[must_use]
    pub const fn of_messages() -> Self {
        Self { tag: 0, steps: Vec::new(), with_copies: false }
    }

    /// Whether copies are wanted; [`Group::copy`] asks itself.
    #[must_use]
    pub const fn with_copies(&self) -> bool {
        self.with_copies
    }

    /// Adds a copy within the rank, where these are wanted.
    pub fn copy(&mut self, source: Slice, destination: Slice, count: u32) {
        if self.with_copies && count > 0 {
            let (source, destination) = (Some(source), Some(destination));
            let operation = StepOperation::Copy;
            let step =
                SourceStep { operation, peer: None, source, destination, count, moved: 0..0 };
            self.steps.push(step);
        }
    }

    /// Adds a message to a peer.
    pub fn send(&mut self, to: u32, source: Slice, count: u32, moved: Range<u32>) {
        let (operation, peer, source) = (StepOperation::Send, Some(to), Some(source));
        self.steps.push(SourceStep { operation, peer, source, destination: None, count, moved });
    }

    /// Adds a message from a peer.
    pub fn receive(&mut self, from: u32, destination: Slice, count: u32, moved: Range<u32>) {
        let (operation, peer) = (StepOperation::Receive, Some(from));
        let destination = Some(destination);
        self.steps.push(SourceStep { operation, peer, source: None, destination, count, moved });
    }

    /// Adds a message from a peer that is reduced with what the rank has.
    pub fn reduce(
        &mut self,
        from: u32,
        (with, destination): (Slice, Slice),
        count: u32,
        moved: Range<u32>,
    ) {
        let (operation, peer) = (StepOperation::ReceiveReduceCopy, Some(from));
        let (source, destination) = (Some(with), Some(destination));
        self.steps.push(SourceStep { operation, peer, source, destination, count, moved });
    }
}

/// Yields a schedule rank by rank.
///
/// Groups of a rank follow one another: one starts when all steps of the one before have ended.
/// The same question always has the same answer.
pub trait ScheduleSource {
    /// Returns the collective that it brings about.
    fn collective(&self) -> Collective;

    /// Counts the ranks that take part.
    fn ranks(&self) -> usize;

    /// Chunks in a shard.
    fn chunks(&self) -> u32;

    /// Returns the length of a rank's scratch buffer, in chunks.
    fn scratch_chunks(&self, rank: u32) -> u32;

    /// How many groups a rank has; some may be empty.
    fn groups(&self, rank: u32) -> u32;

    /// Adds the steps of one of a rank's groups, and sets its tag.
    fn group(&self, rank: u32, number: u32, group: &mut Group);
}
