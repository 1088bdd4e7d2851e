//! Holds the results of a replay.

use crate::units::{Bytes, Picoseconds};

/// Holds the results of a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Holds the outcome of each job, in the order given.
    pub jobs: Vec<JobOutcome>,
    /// How many operations were played; those of a collective count too.
    pub operations: u64,
    /// How many keys were compared to match messages with receives and to keep their order.
    pub comparisons: u64,
    /// How many events were handled, the network's included.
    pub events: u64,
}

/// Holds the outcome of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobOutcome {
    /// Names it for people.
    pub name: String,
    /// Says when it arrived.
    pub arrival: Picoseconds,
    /// When it had its GPUs, and its ranks started.
    pub start: Picoseconds,
    /// Says when its last rank ended.
    pub end: Picoseconds,
    /// Holds the outcome of each rank.
    pub ranks: Vec<RankOutcome>,
}

impl JobOutcome {
    /// Returns the time that it ran, from its start.
    #[must_use]
    pub fn time(&self) -> Picoseconds {
        Picoseconds(self.end.0 - self.start.0)
    }
}

/// Holds the outcome of a rank.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RankOutcome {
    /// Says when its last operation completed.
    pub end: Picoseconds,
    /// Says how long its processor computed.
    pub computing: Picoseconds,
    /// How long at least one of its sends, receives or collectives was under way.
    pub communicating: Picoseconds,
    /// Says how long it communicated without computing: overlap did not hide this time. With
    /// `computing` this makes up the time from the job's start to the rank's end. A rank that does
    /// not compute waits for a message.
    pub exposed_communication: Picoseconds,
    /// Counts messages sent, collectives' included, control messages not.
    pub messages: u64,
    /// Counts the bytes sent in them.
    pub bytes: Bytes,
}
