//! What a person reads when nothing is left to happen, but something should have.

use std::fmt;

use thiserror::Error;

use crate::diagnostic::shown;
use crate::program::{Collective, CommunicatorId, Rank};
use crate::units::{Bytes, Picoseconds};

use super::call::Pending;

/// Nothing is left to happen, but ranks have not ended or messages were not received.
///
/// The lists hold the first few, in the order of time; the counts tell of all.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct Stalled {
    /// When the last thing happened.
    pub time: Picoseconds,
    /// How many ranks have not ended.
    pub ranks: usize,
    /// Ranks that wait for nothing but sends, each to the next of them and the last to the
    /// first, all larger than the eager limit.
    pub circle: Vec<Pending>,
    /// How many there are.
    pub circle_count: usize,
    /// The eager limit, and the largest message of the circle.
    pub eager: (Bytes, Bytes),
    /// Collectives that some ranks of their communicator have not called.
    pub absences: Vec<Absence>,
    /// How many there are.
    pub absence_count: usize,
    /// Messages that no receive took.
    pub sends: Vec<Pending>,
    /// How many there are.
    pub send_count: usize,
    /// Receives to which no message came.
    pub receives: Vec<Pending>,
    /// How many there are.
    pub receive_count: usize,
    /// Collectives that are not complete.
    pub collectives: Vec<Pending>,
    /// How many there are.
    pub collective_count: usize,
}

/// A collective that some ranks of a communicator have called and others have not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absence {
    /// The job's name.
    pub job: String,
    /// The communicator.
    pub communicator: CommunicatorId,
    /// The collective.
    pub kind: Collective,
    /// How many ranks the communicator has.
    pub ranks: usize,
    /// The first few ranks that have not called it, from the lowest.
    pub absent: Vec<Rank>,
    /// How many there are.
    pub absent_count: usize,
}

impl fmt::Display for Absence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { communicator, kind, ranks, absent, absent_count, .. } = self;
        let (noun, has) = if *absent_count == 1 { ("rank", "has") } else { ("ranks", "have") };
        write!(f, "job `{}`: {noun} ", shown(&self.job))?;
        list(f, absent, *absent_count)?;
        let there = ranks - absent_count;
        let wait = if there == 1 { "waits" } else { "wait" };
        write!(
            f,
            " {has} not called {kind:?}, in which {there} of the {ranks} ranks of communicator \
             {communicator} {wait}"
        )
    }
}

/// The first few of something, and how many more there are.
fn list<T: fmt::Display>(f: &mut fmt::Formatter<'_>, few: &[T], count: usize) -> fmt::Result {
    for (index, one) in few.iter().enumerate() {
        write!(f, "{}{one}", if index == 0 { "" } else { ", " })?;
    }
    if count > few.len() {
        write!(f, " and {} more", count - few.len())?;
    }
    Ok(())
}

impl fmt::Display for Stalled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { time, ranks, .. } = self;
        write!(f, "at {time} nothing is left to happen, but ")?;
        if *ranks == 0 {
            write!(f, "messages were sent that nobody receives")?;
        } else {
            let wait = if *ranks == 1 { "rank waits" } else { "ranks wait" };
            write!(f, "{ranks} {wait} for ever")?;
        }
        let (limit, largest) = self.eager;
        if self.circle_count > 0 {
            write!(
                f,
                "; {} sends wait for one another in a circle, since messages of more than \
                 {limit} are not sent before their receive is called: ",
                self.circle_count
            )?;
            list(f, &self.circle, self.circle_count)?;
            return write!(
                f,
                "; call a receive before one of these sends, make one of them non-blocking, or \
                 raise `protocol.eager_limit` to {largest}"
            );
        }
        // What the other lists tell follows from a rank that stays away.
        if self.absence_count > 0 {
            write!(f, "; ")?;
            list(f, &self.absences, self.absence_count)?;
        }
        let lists = [
            ("collectives not complete", &self.collectives, self.collective_count),
            ("sends without a receive", &self.sends, self.send_count),
            ("receives without a message", &self.receives, self.receive_count),
        ];
        for (title, pending, count) in lists {
            if count > 0 {
                write!(f, "; {title}: {count}: ")?;
                list(f, pending, count)?;
            }
        }
        if self.absence_count > 0 {
            return write!(f, "; let all ranks of a communicator call its collectives");
        }
        write!(f, "; give every send a receive of the same communicator and tag")
    }
}
