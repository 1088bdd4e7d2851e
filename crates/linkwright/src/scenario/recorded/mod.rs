//! Jobs as a cluster recorded them: when each was submitted, its GPUs, and how long it ran.
//!
//! ```text
//! JobID|Submit|Start|Elapsed|AllocTRES|State
//! 4711|2024-03-01T08:15:30|2024-03-01T08:20:00|1-02:00:00|cpu=32,gres/gpu=4,node=1|COMPLETED
//! 4711.batch|2024-03-01T08:20:00|2024-03-01T08:20:00|1-02:00:00|cpu=32,node=1|COMPLETED
//! ```
//!
//! Slurm's `sacct --parsable2` prints such a file. Any of its columns may be asked for, in any
//! order. The file may also have comma-separated values:
//!
//! ```text
//! submit,gpus,duration
//! 2024-03-01 08:15:30,4,1-02:00:00
//! ```
//!
//! Other clusters tell their jobs otherwise; `formats` has a file for each, and [`AccountingFormat`] says what one is. A text's look
//! tells its format.
//!
//! Columns of a table are known by their names, whatever their case, or by the names that a
//! scenario's `[jobs.columns]` gives. All others are passed over. Some rows are left out and
//! counted: the steps of a job, jobs without GPUs, and jobs of no length. So are jobs that never
//! started or have not ended, and jobs of more GPUs than the system lets one have. So are jobs
//! outside of the part that is [played](Cut). A job that had parts of GPUs is played on whole ones,
//! and counted ([`PartOfGpu`]). The time that a job waited is not read: the simulation says when it
//! starts.
//!
//! Nobody recorded the work of such a job: `work` says how it is assumed.

mod accounting;
mod columns;
mod cut;
mod format;
mod formats;
mod lengths;
mod lines;
mod named;
#[cfg(test)]
mod tests;
mod values;
mod work;

pub use accounting::Accounting;
pub(super) use accounting::tells_workloads;
pub use columns::Columns;
pub use cut::Cut;
pub(super) use cut::{MOST_DAYS, Start};
pub use format::{
    AccountEntry, AccountedJob, AccountingFormat, Entries, NotPlayed, Written, accounting_formats,
};
pub(super) use named::NamedJobs;
pub use values::{GpuCount, Moment, PartOfGpu, duration, gpus_of};
pub(super) use work::{Limits, Machine, Recorded};

use crate::diagnostic::Position;
use crate::units::Picoseconds;

/// Describes a job that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedJob {
    /// Its id, or its number in the file where that gives none.
    pub name: String,
    /// Its user gave it this name, where a column says so; others may have it, too.
    pub title: Option<String>,
    /// When it was submitted, after the first that is not left out.
    pub submit: Picoseconds,
    /// How many GPUs it had.
    pub gpus: u32,
    /// Tells what part of each it had, where it had no whole ones.
    pub part: Option<PartOfGpu>,
    /// Says how long it ran.
    pub duration: Picoseconds,
    /// Names its workload, where a column says so.
    pub workload: Option<String>,
    /// On how many servers it was, where the file says so.
    pub servers: Option<u32>,
    /// Whether it had its servers for itself.
    pub exclusive: bool,
    /// Where the file says how long it ran.
    pub place: Position,
}

/// How many rows are no jobs to play, by why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LeftOut {
    /// Steps of jobs.
    pub steps: usize,
    /// Jobs that were cancelled before they started, or still wait.
    pub never_started: usize,
    /// Counts jobs that still ran.
    pub unfinished: usize,
    /// Counts jobs that had no GPU.
    pub without_gpus: usize,
    /// Counts jobs that ended as they started.
    pub without_length: usize,
    /// Counts jobs that ask for more GPUs than the system gives one job.
    pub too_wide: usize,
    /// Counts jobs outside of the part that is played.
    pub outside: usize,
}

impl LeftOut {
    pub(super) fn count(&mut self, why: NotPlayed) {
        *match why {
            NotPlayed::Step => &mut self.steps,
            NotPlayed::NeverStarted => &mut self.never_started,
            NotPlayed::Unfinished => &mut self.unfinished,
            NotPlayed::WithoutGpus => &mut self.without_gpus,
            NotPlayed::WithoutLength => &mut self.without_length,
        } += 1;
    }

    /// How many of what, in words; empty where nothing was left out.
    #[must_use]
    pub fn told(&self) -> String {
        let counts = [
            (self.steps, "step of a job", "steps of jobs"),
            (self.never_started, "job that never started", "jobs that never started"),
            (self.unfinished, "job that had not ended", "jobs that had not ended"),
            (self.without_gpus, "job without GPUs", "jobs without GPUs"),
            (self.without_length, "job of no length", "jobs of no length"),
            (
                self.too_wide,
                "job of more GPUs than one can get",
                "jobs of more GPUs than one can get",
            ),
            (self.outside, "job outside of the part", "jobs outside of the part"),
        ];
        let told = counts.iter().filter(|(count, ..)| *count > 0);
        let told = told.map(|(count, one, several)| {
            format!("{count} {}", if *count == 1 { one } else { several })
        });
        told.collect::<Vec<_>>().join(", ")
    }
}

/// Holds the jobs of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Lists them in the order of the file.
    pub jobs: Vec<RecordedJob>,
    /// Counts the rest of the file.
    pub left_out: LeftOut,
    /// Gives the assumption of its format, as a sentence.
    pub assumed: Option<&'static str>,
}
