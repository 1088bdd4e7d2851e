//! Plays jobs on a shared server.
//!
//! A [`Job`] runs one of the published [`Workload`](crate::training::Workload)s on some GPUs. Jobs come from a
//! [`job_file`] or from [`generate()`], which draws the mix of MAPA's evaluation.

pub mod attribution;
pub mod cluster;
mod day;
pub mod error;
mod failures;
pub mod generate;
pub mod heat;
pub mod job;
pub mod job_file;
mod job_formats;
mod nearness;
mod offers;
pub mod played;
pub mod power;
pub mod queue;
pub mod sensitivity;
mod shared_memory;
pub mod summary;
pub mod tables;
mod written;

pub use attribution::{Attribution, Slowdown};
pub use day::{DayChoices, DayOutcome, play_day};
pub use error::SimulationError;
pub use failures::{Endured, States, Stretch, without};
pub use generate::{DrawnModel, MOST_JOBS, MixOptions, generate, generate_from};
pub use job::Job;
pub use job_formats::other_format;
pub use nearness::nearness;
pub use offers::PlannedBy;
pub use queue::formula::{simulate, simulate_on};
pub use queue::{EarlierTry, JobRecord, Part, QueueDiscipline, ServerChoice, Sharing};
pub use shared_memory::SharedMemoryChoice;
pub use written::{Task, WrittenJob};

use crate::allocation::BandwidthModel;
use crate::diagnostic::Named;

/// Says how the run time of a job is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunTime {
    /// It is MAPA's formula, from the links that it got:
    /// [`Workload::run_time`](crate::training::Workload::run_time), at the bandwidth of the sound
    /// model.
    #[default]
    Formula,
    /// The same formula at the bandwidth of MAPA's regression, as if that were what GPUs reach.
    Regression,
    /// Its program is played on the system: [`played`].
    Played,
}

impl Named for RunTime {
    const WHAT: &'static str = "run-time model";
    const NAMED: &'static [(&'static str, Self)] =
        &[("formula", Self::Formula), ("regression", Self::Regression), ("played", Self::Played)];
}

impl RunTime {
    /// Whether a formula says it, in which no message is sent.
    #[must_use]
    pub const fn is_formula(self) -> bool {
        !matches!(self, Self::Played)
    }

    /// The model whose bandwidth a formula takes; that which backfilling expects of played jobs.
    #[must_use]
    pub const fn bandwidth_model(self) -> BandwidthModel {
        match self {
            Self::Regression => BandwidthModel::Published,
            Self::Formula | Self::Played => BandwidthModel::Sound,
        }
    }
}
