//! What can go wrong in this layer.

use thiserror::Error;

use crate::allocation::AllocationError;
use crate::diagnostic::{InputError, shown};
use crate::engine::{EngineError, Progress};
use crate::units::Bandwidth;

use super::cluster::ClusterError;
use super::generate::MOST_JOBS;
use super::played::PlanningFault;

/// Any failure of the simulation layer.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum SimulationError {
    /// A text that no reader accepts, with its place.
    #[error(transparent)]
    Input(#[from] InputError),
    /// An allocation that cannot be.
    #[error(transparent)]
    Allocation(#[from] AllocationError),
    /// A job that could never start.
    #[error(
        "job `{}` asks for {size} GPUs; only {gpus} are healthy, so it can never start", shown(.job)
    )]
    JobTooLarge {
        /// The job.
        job: String,
        /// The GPUs asked for.
        size: usize,
        /// The healthy GPUs.
        gpus: usize,
    },
    /// Two jobs of one name.
    #[error("two jobs are named `{}`; give each job a name of its own", shown(.job))]
    DuplicateJob {
        /// The name.
        job: String,
    },
    /// A job that would run for longer than time is counted.
    #[error(
        "job `{}` would run for more than 213 days, with {iterations} iterations at {bandwidth}; \
         lower its iterations or give it links with more bandwidth", shown(.job)
    )]
    RunTooLong {
        /// The job.
        job: String,
        /// The effective bandwidth of its GPUs.
        bandwidth: Bandwidth,
        /// Its iterations.
        iterations: u64,
    },
    /// A run that its caller ended.
    #[error("stopped after {done} of {total} jobs")]
    Interrupted {
        /// Jobs finished by then.
        done: u64,
        /// Jobs in all.
        total: u64,
    },
    /// Something would happen in the past or too late.
    #[error(transparent)]
    Engine(EngineError),
    /// A job whose iterations are too many to be played.
    #[error(
        "job `{}` has {iterations} iterations, and 1 to {} are played one by one; lower them, or let \
         `run_time` follow the formula", shown(.job), u32::MAX
    )]
    TooManyIterations {
        /// The job.
        job: String,
        /// Its iterations.
        iterations: u64,
    },
    /// Collectives of a job that cannot be planned.
    #[error("job `{}`: {fault}", shown(.job))]
    Planning {
        /// The job.
        job: String,
        /// Why not.
        fault: Box<PlanningFault>,
    },
    /// Jobs as fluids whose collectives go by rule.
    #[error(
        "`mpi` makes no plan that would say what a job wants of its links, so that there is no fluid of \
         it; use the fidelity `flow` or `packet`, or another planner"
    )]
    NoFluid,
    /// Programs that cannot be played.
    #[error(transparent)]
    Played(#[from] Box<ClusterError>),
    /// A workload that the table does not hold.
    #[error("there is no workload `{}`; the workloads are {known}", shown(.name))]
    UnknownWorkload {
        /// The name asked for.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// A mix of more jobs than are drawn.
    #[error("a mix of {count} jobs is more than {MOST_JOBS}; ask for 1 to {MOST_JOBS}")]
    TooManyJobs {
        /// The jobs asked for.
        count: u32,
    },
    /// A mix of jobs without workloads to draw from.
    #[error("the mix has no workloads; name at least one of {known}")]
    NoWorkloads {
        /// The names that exist.
        known: String,
    },
    /// A mix of jobs that may use no GPU.
    #[error("the largest job of the mix has 0 GPUs; allow at least 1")]
    NoGpus,
    /// A time that does not fit 64 bits of picoseconds.
    #[error("{what} lies more than 213 days after the start; {remedy}")]
    TimeTooLong {
        /// What is that late.
        what: String,
        /// What the user can do.
        remedy: &'static str,
    },
}

impl SimulationError {
    /// Of a job that ends beyond what is counted.
    pub(super) fn end_too_late(job: &str) -> Self {
        let what = format!("the end of job `{}`", shown(job));
        Self::TimeTooLong { what, remedy: "lower its iterations or its arrival" }
    }
}

impl From<ClusterError> for SimulationError {
    fn from(error: ClusterError) -> Self {
        Self::Played(Box::new(error))
    }
}

impl From<EngineError> for SimulationError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Interrupted(Progress { done, total, .. }) => {
                Self::Interrupted { done, total }
            }
            other => Self::Engine(other),
        }
    }
}
