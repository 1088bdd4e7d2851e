//! Jobs on a shared server.
//!
//! A [`Job`] runs one of the published [`Workload`]s on some GPUs. Jobs come from a
//! [`job_file`] or from [`generate()`], which draws the mix of MAPA's evaluation.

pub mod cluster;
pub mod error;
pub(crate) mod fields;
pub mod generate;
pub mod job;
pub mod job_file;
pub mod played;
pub mod queue;
pub mod tables;
pub mod workload;

pub use error::SimulationError;
pub use generate::{MOST_JOBS, MixOptions, generate};
pub use job::Job;
pub use queue::formula::{simulate, simulate_on};
pub use queue::{JobRecord, Part, QueueDiscipline, ServerChoice, Sharing};
pub use workload::{Work, Workload};

use crate::diagnostic::Named;

/// What says how long a job runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunTime {
    /// MAPA's formula, from the links that it got: [`Workload::run_time`].
    #[default]
    Formula,
    /// Its program, played on the system: [`played`].
    Played,
}

impl Named for RunTime {
    const WHAT: &'static str = "run-time model";
    const NAMED: &'static [(&'static str, Self)] =
        &[("formula", Self::Formula), ("played", Self::Played)];
}
