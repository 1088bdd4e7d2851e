//! Tells a person why nothing is left to happen, although something should have happened.

use std::fmt;

use thiserror::Error;

use crate::diagnostic::{Diagnose, Diagnosis, shown};
use crate::network::GpuIndex;
use crate::program::{CollectiveKind, CommunicatorId, Rank};
use crate::units::{Bytes, Picoseconds};

use super::call::Pending;

/// Nothing is left to happen, but ranks have not ended or messages were not received.
///
/// Each list holds the first few, in the order of time. Its count tells of all.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub struct Stalled {
    /// Says when the last thing happened.
    pub time: Picoseconds,
    /// How many ranks have started and not ended.
    pub ranks: usize,
    /// Jobs that wait for GPUs that others do not give back.
    pub jobs: Vec<WaitingJob>,
    /// How many there are.
    pub job_count: usize,
    /// Ranks that wait for nothing but sends, each to the next of them and the last to the
    /// first, all larger than the eager limit.
    pub circle: Vec<Pending>,
    /// How many there are.
    pub circle_count: usize,
    /// Holds the eager limit, and the largest message of the circle.
    pub eager: (Bytes, Bytes),
    /// Collectives that some ranks of their communicator have not called.
    pub absences: Vec<Absence>,
    /// How many there are.
    pub absence_count: usize,
    /// Lists messages that no receive took.
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

/// A job that has arrived and does not get its GPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingJob {
    /// Names the job that waits.
    pub job: String,
    /// Gives one of the GPUs.
    pub gpu: GpuIndex,
    /// The job that has it, or is to have it first.
    pub behind: String,
}

impl fmt::Display for WaitingJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { job, gpu, behind } = self;
        write!(f, "job `{}` for GPU {gpu} behind job `{}`", shown(job), shown(behind))
    }
}

/// A collective that some ranks of a communicator have called and others have not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absence {
    /// Names the job.
    pub job: String,
    /// Gives the communicator.
    pub communicator: CommunicatorId,
    /// Names the collective.
    pub kind: CollectiveKind,
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

impl Diagnose for Stalled {
    fn diagnosis(&self) -> Diagnosis {
        let remedy = if self.circle_count > 0 {
            format!(
                "post a receive before one of these sends, make one non-blocking, or raise \
                 `protocol.eager_limit` to {}",
                self.eager.1
            )
        } else if self.absence_count > 0 {
            "make all ranks of a communicator call its collectives".to_owned()
        } else {
            "give every send a receive of the same communicator and tag".to_owned()
        };
        Diagnosis::of(Problem(self).to_string()).remedy(remedy)
    }
}

/// Tells a person which ranks wait, without a remedy.
struct Problem<'a>(&'a Stalled);

impl fmt::Display for Problem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stalled { time, ranks, circle_count, absence_count, .. } = self.0;
        write!(f, "at {time} nothing is left to happen, but ")?;
        if *ranks == 0 {
            write!(f, "messages were sent that nobody receives")?;
        } else {
            let wait = if *ranks == 1 { "rank waits" } else { "ranks wait" };
            write!(f, "{ranks} {wait} for ever")?;
        }
        let jobs = self.0.job_count;
        if jobs > 0 {
            let wait = if jobs == 1 { "job waits" } else { "jobs wait" };
            write!(f, ", and {jobs} {wait} for GPUs: ")?;
            list(f, &self.0.jobs, jobs)?;
        }
        if *circle_count > 0 {
            let (limit, _) = self.0.eager;
            write!(
                f,
                "; {circle_count} sends wait for one another in a circle, since messages of more than \
                 {limit} are not sent before their receive is called: "
            )?;
            return list(f, &self.0.circle, *circle_count);
        }
        // The entries of the other lists follow from a rank that stays away.
        if *absence_count > 0 {
            write!(f, "; ")?;
            list(f, &self.0.absences, *absence_count)?;
        }
        let lists = [
            ("collectives not complete", &self.0.collectives, self.0.collective_count),
            ("sends without a receive", &self.0.sends, self.0.send_count),
            ("receives without a message", &self.0.receives, self.0.receive_count),
        ];
        for (title, pending, count) in lists {
            if count > 0 {
                write!(f, "; {title}: {count}: ")?;
                list(f, pending, count)?;
            }
        }
        Ok(())
    }
}
