//! The plans of jobs' collectives, made when a job is admitted and shared by class of allocation.

use thiserror::Error;

use super::classes::Classes;
use crate::collectives::Collective as Planning;
use crate::collectives::messages::MessageSchedule;
use crate::collectives::mpi;
use crate::collectives::plan::{Algorithm, Links, PlanError, plan};
use crate::collectives::time::TimeError;
use crate::diagnostic::instead_of;
use crate::program::lowering::{CollectiveCall, Lowering};
use crate::program::{Collective, CommunicatorId, RankProgram};
use crate::system::System;
use crate::units::Bytes;

/// The variant of a job whose collectives take no plan.
const BY_RULE: u32 = 0;

/// How the collectives of jobs are planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Planner {
    /// A planner of [`collectives::plan`](crate::collectives::plan), for the GPUs that a job got.
    Plan(Algorithm),
    /// MPI's algorithm for the size, which knows nothing of the links.
    Mpi,
}

/// A name that no planner has.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no planner `{name}`; {remedy}")]
pub struct UnknownPlanner {
    /// The name asked for.
    pub name: String,
    /// What would work.
    pub remedy: String,
}

impl Planner {
    /// What [`Planner::Mpi`] is called.
    const MPI: &'static str = "mpi";

    /// The names of all.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        let plans = Algorithm::all().into_iter().map(Algorithm::name);
        plans.chain([Self::MPI]).collect()
    }

    /// The planner of a name.
    ///
    /// # Errors
    /// A name that none has.
    pub fn named(name: &str) -> Result<Self, UnknownPlanner> {
        if name == Self::MPI {
            return Ok(Self::Mpi);
        }
        let found = Algorithm::all().into_iter().find(|algorithm| algorithm.name() == name);
        found.map(Self::Plan).ok_or_else(|| UnknownPlanner {
            name: name.to_owned(),
            remedy: instead_of(name, &Self::names()),
        })
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plan(algorithm) => algorithm.name(),
            Self::Mpi => Self::MPI,
        }
    }
}

/// A plan that cannot be had.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum PlanningFault {
    /// GPUs or links that the planner cannot use.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A schedule that does not run.
    #[error(transparent)]
    Schedule(#[from] TimeError),
}

/// The plans that have been made, and the one of each job.
pub(super) struct Plans {
    planner: Planner,
    /// What one message carries at most.
    longest: Bytes,
    classes: Classes,
    /// The plan of each class, once a job has needed it.
    of_class: Vec<Option<u32>>,
    messages: Vec<MessageSchedule>,
    /// The variant of each admitted job.
    of_job: Vec<u32>,
}

impl Plans {
    pub(super) fn new(planner: Planner, longest: Bytes) -> Self {
        let (of_class, messages, of_job) = (Vec::new(), Vec::new(), Vec::new());
        Self { planner, longest, classes: Classes::default(), of_class, messages, of_job }
    }

    /// How many plans were made.
    pub(super) fn made(&self) -> usize {
        self.messages.len()
    }

    /// The GPUs of a job within its server in the order of its ranks, and its variant.
    pub(super) fn of_allocation(
        &mut self,
        system: &System,
        server: u32,
        gpus: &[usize],
    ) -> Result<(Vec<usize>, u32), PlanningFault> {
        let Planner::Plan(algorithm) = self.planner else { return Ok((gpus.to_vec(), BY_RULE)) };
        if gpus.len() < 2 {
            return Ok((gpus.to_vec(), BY_RULE));
        }
        let template = system.kind_of(server).server();
        let (class, order) = self.classes.of(system.kind_index_of(server), template, gpus);
        if self.of_class.len() <= class {
            self.of_class.resize(class + 1, None);
        }
        if let Some(variant) = self.of_class[class] {
            return Ok((order.to_vec(), variant));
        }
        let of_system: Vec<usize> =
            order.iter().map(|gpu| system.gpu_at(server, *gpu as u32) as usize).collect();
        let found = plan(system, &of_system, Planning::AllReduce, algorithm, Links::Auto)?;
        self.messages.push(MessageSchedule::new(found.schedule)?);
        let variant = self.messages.len() as u32;
        self.of_class[class] = Some(variant);
        Ok((order.to_vec(), variant))
    }

    /// The next job that is admitted has this variant.
    pub(super) fn admit(&mut self, variant: u32) {
        self.of_job.push(variant);
    }
}

impl Lowering for Plans {
    fn lower(&self, call: &CollectiveCall) -> RankProgram {
        match call.variant.checked_sub(1) {
            Some(plan) => {
                self.messages[plan as usize].program(call.index as usize, call.size, self.longest)
            }
            None => rule_of(call).lower(call),
        }
    }

    fn part(&self, call: &CollectiveCall, from: u32) -> (RankProgram, Option<u32>) {
        match call.variant {
            BY_RULE => rule_of(call).part(call, from),
            _ => (self.lower(call), None),
        }
    }

    fn variant(&self, job: u32, _: CommunicatorId, _: Collective, _: u32) -> u32 {
        self.of_job[job as usize]
    }
}

fn rule_of(call: &CollectiveCall) -> mpi::Algorithm {
    mpi::Algorithm::default_for(call.kind, call.ranks, call.size)
}
