//! Turns the collectives of a cluster's jobs into messages.
//!
//! A scenario chooses for each kind of collective ([`CollectiveChoices`]). It takes an algorithm of
//! [`crate::collectives::mpi`], or the schedule that the planner of [`crate::collectives`] makes
//! for the GPUs of the communicator. Under NCCL's protocol schedules are kernels, one for each
//! size. Plans are made before anything runs, so that a limit is told before a long run. There is
//! one for each kind of place, collective and root that the jobs call.

mod choices;
mod error;
mod kernels;
mod lowering;
mod placement;
mod planner;
#[cfg(test)]
mod tests;

pub use choices::{CollectiveChoices, CollectiveMethod, CollectiveMethodError, CollectiveProtocol};
pub use error::{PlanningError, PlanningProblem};
pub(in crate::simulation) use kernels::Opening;
pub(in crate::simulation) use lowering::ClusterLowering;
pub(in crate::simulation) use planner::Planned;
pub use planner::{MOST_PACKED_GPUS, MOST_PLANNED_GPUS, PlannedCollective};
