//! Collectives that cannot be planned.

use thiserror::Error;

use crate::collectives::mpi::MpiAlgorithm;
use crate::collectives::plan::PlanError;
use crate::diagnostic::{Diagnose, Diagnosis, shown};
use crate::program::{CollectiveKind, CommunicatorId};

/// Why there is no plan for a collective of a job.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{}", self.diagnosis())]
pub struct PlanningError {
    /// Names the job.
    pub job: String,
    /// Names the communicator.
    pub communicator: CommunicatorId,
    /// How many ranks it has.
    pub ranks: usize,
    /// Names the collective.
    pub kind: CollectiveKind,
    /// Says why it has no plan.
    pub problem: PlanningProblem,
}

impl Diagnose for PlanningError {
    fn diagnosis(&self) -> Diagnosis {
        let Self { job, communicator, ranks, kind, problem } = self;
        let Diagnosis { problem, remedy } = problem.diagnosis();
        let first = MpiAlgorithm::of(*kind)[0];
        let another = format!("use another algorithm, such as `{first}`");
        Diagnosis::of(format!(
            "job `{}` has no plan for {} among the {ranks} ranks of communicator {communicator}: \
             {problem}",
            shown(job),
            kind.name()
        ))
        .remedy(match remedy {
            Some(remedy) => format!("{remedy}; {another}"),
            None => another,
        })
    }
}

/// Says why a collective has no plan.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{}", self.diagnosis())]
pub enum PlanningProblem {
    /// More GPUs than are planned for.
    TooManyGpus {
        /// Gives the limit.
        most: usize,
    },
    /// Passes on the planner's error.
    Plan(#[from] PlanError),
}

impl Diagnose for PlanningProblem {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::TooManyGpus { most } => {
                Diagnosis::of(format!("a plan can have at most {most} GPUs"))
            }
            Self::Plan(error) => error.diagnosis(),
        }
    }
}
