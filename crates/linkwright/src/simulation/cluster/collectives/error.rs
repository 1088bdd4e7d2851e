//! Collectives that cannot be planned.

use thiserror::Error;

use crate::collectives::mpi::Algorithm;
use crate::collectives::plan::PlanError;
use crate::diagnostic::shown;
use crate::program::{Collective, CommunicatorId};

/// Why there is no plan for a collective of a job.
#[derive(Debug, Clone, PartialEq, Error)]
#[error(
    "job `{}`: {} among the {ranks} ranks of communicator {communicator} has no plan: \
     {problem}; choose another algorithm for it, such as `{}`",
    shown(.job), .kind.name(), Algorithm::of(*.kind)[0]
)]
pub struct PlanningError {
    /// The job's name.
    pub job: String,
    /// The communicator.
    pub communicator: CommunicatorId,
    /// How many ranks it has.
    pub ranks: usize,
    /// The collective.
    pub kind: Collective,
    /// What is in the way.
    pub problem: PlanningProblem,
}

/// What is in the way of a plan.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum PlanningProblem {
    /// More GPUs than are planned for.
    #[error("plans are for {most} GPUs at most")]
    TooManyGpus {
        /// The limit.
        most: usize,
    },
    /// What the planner says.
    #[error("{0}")]
    Plan(#[from] PlanError),
}
