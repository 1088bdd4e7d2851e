//! How errors and observers name what a rank does.

use std::fmt;

use crate::program::{CollectiveKind, Rank, Tag};
use crate::units::{Bytes, Picoseconds};

/// Names a rank of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RankId {
    /// Gives the job's index in the list.
    pub job: u32,
    /// Gives the rank in its program.
    pub rank: Rank,
}

/// An operation of a rank as it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Call {
    /// Gives its index in the rank's program.
    pub operation: u32,
    /// Gives the iteration of the main loop at that time, from zero.
    pub iteration: u32,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call {}", self.operation)?;
        if self.iteration > 0 {
            write!(f, " in iteration {}", self.iteration)?;
        }
        Ok(())
    }
}

/// Says of what kind an operation is that never completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PendingKind {
    /// Sends a message that no receive took.
    Send,
    /// Receives a message that never came.
    Receive,
    /// A collective that other ranks have not joined.
    Collective(CollectiveKind),
}

/// Describes an operation that never completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// Says of what kind it is.
    pub kind: PendingKind,
    /// Names its job.
    pub job: String,
    /// Gives the rank.
    pub rank: Rank,
    /// Gives the operation; for messages within a collective, the collective's.
    pub call: Call,
    /// The collective that it is part of.
    pub within: Option<CollectiveKind>,
    /// Gives the other rank; `None` for any, and for collectives.
    pub peer: Option<Rank>,
    /// Gives the tag; `None` for any, and for collectives.
    pub tag: Option<Tag>,
    /// Counts its bytes.
    pub size: Bytes,
    /// When it was called.
    pub since: Picoseconds,
}

impl fmt::Display for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { job, rank, call, size, since, .. } = self;
        let what = match self.kind {
            PendingKind::Send => "sends",
            PendingKind::Receive => "receives",
            PendingKind::Collective(kind) => {
                return write!(
                    f,
                    "job `{job}` rank {rank} waits in {kind:?} of {size} ({call}) since {since}"
                );
            }
        };
        write!(f, "job `{job}` rank {rank} {what} {size}")?;
        let way = if self.kind == PendingKind::Send { "to" } else { "from" };
        match self.peer {
            Some(peer) => write!(f, " {way} rank {peer}")?,
            None => write!(f, " {way} any rank")?,
        }
        match self.tag {
            Some(tag) => write!(f, " with tag {tag}")?,
            None => write!(f, " with any tag")?,
        }
        if let Some(within) = self.within {
            write!(f, " within {within:?}")?;
        }
        write!(f, " ({call}) since {since}")
    }
}
