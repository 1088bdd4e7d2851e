//! One run of a scenario of any kind: from what it says to what it comes to.

use thiserror::Error;

use super::build::{Built, ReadyJobs};
use super::read::{Asked, Scenario};
use crate::diagnostic::{Diagnose, Diagnosis, UnknownName};
use crate::engine::Hook;
use crate::runtime::ProgramJob;
use crate::simulation::cluster::{
    ClusterError, ClusterOutcome, Mapping, PlacementError, Watch, place,
};
use crate::simulation::{DayOutcome, SimulationError, play_day};

/// Names one of the runs that a scenario has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Run<'a> {
    /// Jobs of GPUs get them from this policy; from the first that the scenario names where absent.
    pub policy: Option<&'a str>,
    /// A timeline of programs keeps no more intervals of each kind.
    pub intervals: usize,
}

/// Holds what became of a scenario's jobs.
#[derive(Debug)]
pub enum PlayedScenario {
    /// Jobs of GPUs have this outcome.
    Day(DayOutcome),
    /// Jobs of ranks have this one.
    Programs(Box<PlayedPrograms>),
}

/// Holds what became of programs.
#[derive(Debug)]
pub struct PlayedPrograms {
    /// Every job has its GPUs; the order is the scenario's.
    pub jobs: Vec<ProgramJob>,
    /// It holds the jobs' ends and the network's traffic.
    pub outcome: ClusterOutcome,
    /// It has the intervals of a timeline.
    pub watch: Watch,
}

/// A run that cannot be had.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{}", self.diagnosis())]
pub enum PlayError {
    /// A policy that the scenario's registry does not have.
    #[error(transparent)]
    Policy(#[from] UnknownName),
    /// Jobs of GPUs that cannot be placed or do not end.
    #[error(transparent)]
    Day(#[from] SimulationError),
    /// Programs that do not fit on the system.
    #[error(transparent)]
    Placement(#[from] PlacementError),
    /// Programs that cannot run or do not end.
    #[error(transparent)]
    Programs(#[from] ClusterError),
}

impl Diagnose for PlayError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Policy(error) => error.diagnosis(),
            Self::Day(error) => error.diagnosis(),
            Self::Placement(error) => error.diagnosis(),
            Self::Programs(error) => error.diagnosis(),
        }
    }
}

/// Plays one run of a scenario on the system and the jobs that [`Scenario::build`] made of it.
///
/// The hook learns how far the run is, and may end it.
///
/// # Errors
/// An unknown policy; jobs that do not fit, can never start or do not end; a run that the hook ended.
///
/// # Panics
/// If another scenario was built.
pub fn play(
    scenario: &Scenario,
    built: &Built,
    run: Run<'_>,
    hook: Hook<'_>,
) -> Result<PlayedScenario, PlayError> {
    let cluster = &built.cluster;
    match (&scenario.asked, &built.work) {
        (Asked::Mix(mix), ReadyJobs::Mix(jobs)) => {
            let name = run.policy.unwrap_or(&mix.policies[0]);
            let policy = scenario.registries.policies.get(name)?;
            Ok(PlayedScenario::Day(play_day(cluster, &mix.choices, policy, jobs, hook)?))
        }
        (Asked::Programs(_), ReadyJobs::Programs(jobs)) => {
            let in_order = Mapping::default();
            let wanted: Vec<(&str, u32, &Mapping)> = jobs
                .iter()
                .map(|job| {
                    let mapping = job.mapping.as_ref().unwrap_or(&in_order);
                    (job.name.as_str(), job.program.ranks.len() as u32, mapping)
                })
                .collect();
            let placed = place(&wanted, &cluster.system, scenario.seed)?;
            let jobs: Vec<ProgramJob> =
                jobs.iter().zip(placed).map(|(job, gpus)| job.on(gpus)).collect();
            for job in &jobs {
                let absent =
                    job.mapping.iter().find(|it| cluster.failures.absent_gpus.contains(it));
                if let Some(gpu) = absent {
                    let (job, gpu) = (job.name.clone(), *gpu);
                    return Err(SimulationError::UnhealthyGpu { job, gpu }.into());
                }
            }
            let mut watch = Watch::new(&jobs, &cluster.system, run.intervals);
            let outcome = cluster.replay(&jobs, &mut watch, hook)?;
            Ok(PlayedScenario::Programs(Box::new(PlayedPrograms { jobs, outcome, watch })))
        }
        _ => unreachable!("jobs of another scenario"),
    }
}
