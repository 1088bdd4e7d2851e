//! What a replay finds.

use crate::units::{Bytes, Picoseconds};

/// What a replay found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Each job, in the order given.
    pub jobs: Vec<JobOutcome>,
    /// How many operations were played; those of a collective count too.
    pub operations: u64,
    /// How many keys were compared to match messages with receives and to keep their order.
    pub comparisons: u64,
    /// How many events were handled, the network's included.
    pub events: u64,
}

/// What became of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobOutcome {
    /// What people call it.
    pub name: String,
    /// When it arrived.
    pub arrival: Picoseconds,
    /// When it had its GPUs, and its ranks started.
    pub start: Picoseconds,
    /// When its last rank ended.
    pub end: Picoseconds,
    /// Each rank.
    pub ranks: Vec<RankOutcome>,
}

impl JobOutcome {
    /// How long it ran, from its start.
    #[must_use]
    pub fn time(&self) -> Picoseconds {
        Picoseconds(self.end.0 - self.start.0)
    }
}

/// What became of a rank.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RankOutcome {
    /// When its last operation completed.
    pub end: Picoseconds,
    /// How long its processor computed.
    pub computing: Picoseconds,
    /// How long at least one of its sends, receives or collectives was under way.
    pub communicating: Picoseconds,
    /// How long it communicated without computing: what overlap did not hide. With `computing`
    /// this makes up the time from the job's start to the rank's end, because a rank that does
    /// not compute waits for a message.
    pub exposed_communication: Picoseconds,
    /// Messages sent, collectives' included, control messages not.
    pub messages: u64,
    /// Bytes sent in them.
    pub bytes: Bytes,
}
