//! Plays a day of jobs on a system under one policy. Its choices are one value, and one place heeds them.

use super::RunTime;
use super::cluster::{Cluster, Fidelity};
use super::error::SimulationError;
use super::job::Job;
use super::offers::PlannedBy;
use super::played::{IterationSettings, PlannerChoice, play};
use super::queue::formula::simulate_on;
use super::queue::{JobRecord, QueueDiscipline, ServerChoice, Sharing};
use crate::allocation::{AllocationError, BandwidthModel, Policy, PreparedMachine, Ties};
use crate::collectives::plan::Packing;
use crate::engine::Hook;
use crate::system::{BandwidthProfile, Server, System};

/// Says how jobs share a system, but for the policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayChoices {
    /// It is the model that policies rank by.
    pub bandwidth_model: BandwidthModel,
    /// It labels the links; each machine has its own where it is absent.
    pub bandwidth_profile: Option<BandwidthProfile>,
    /// It decides between matches that tie in a policy's scores.
    pub ties: Ties,
    /// It says where a job looks for GPUs first.
    pub server_choice: ServerChoice,
    /// It says which waiting job starts next.
    pub discipline: QueueDiscipline,
    /// The ids of GPUs that are out of order from the start.
    pub unhealthy: Vec<usize>,
    /// It says how long a job runs.
    pub run_time: RunTime,
    /// The network of played jobs is simulated so closely.
    pub fidelity: Fidelity,
    /// It plans the collectives of played jobs.
    pub planner: PlannerChoice,
    /// An iteration of played jobs is made of this.
    pub iteration: IterationSettings,
}

impl Default for DayChoices {
    fn default() -> Self {
        Self {
            bandwidth_model: BandwidthModel::default(),
            bandwidth_profile: None,
            ties: Ties::default(),
            server_choice: ServerChoice::default(),
            discipline: QueueDiscipline::default(),
            unhealthy: Vec::new(),
            run_time: RunTime::default(),
            fidelity: Fidelity::Flow,
            planner: PlannerChoice::Plan(PlannedBy::Planner(&Packing)),
            iteration: IterationSettings::default(),
        }
    }
}

/// Holds what became of jobs under one policy.
#[derive(Debug, Clone, PartialEq)]
pub struct DayOutcome {
    /// It has each job, in the order of the list.
    pub records: Vec<JobRecord>,
    /// Counts the collectives that were planned for played jobs; None where a formula said how long jobs ran.
    pub plans: Option<usize>,
}

/// Plays jobs on an idle system under a policy.
///
/// The choices say the fidelity; the cluster says all else of the network.
///
/// # Errors
/// An unknown GPU; a job that can never start; two jobs of one name; and what
/// [`played::play`](super::played::play) refuses.
pub fn play_day(
    cluster: &Cluster,
    choices: &DayChoices,
    policy: &dyn Policy,
    jobs: &[Job],
    hook: Hook<'_>,
) -> Result<DayOutcome, SimulationError> {
    let system = &cluster.system;
    let unhealthy = places(system, &choices.unhealthy)?;
    let machines = machines(system, choices)?;
    let sharing = Sharing {
        machines: &machines,
        policy,
        servers: choices.server_choice,
        discipline: choices.discipline,
        unhealthy: &unhealthy,
    };
    if choices.run_time.is_formula() {
        let model = choices.run_time.bandwidth_model();
        let records = simulate_on(system, sharing, model, jobs, hook)?;
        return Ok(DayOutcome { records, plans: None });
    }
    let cluster = Cluster { fidelity: choices.fidelity, ..cluster.clone() };
    let outcome = play(&cluster, (choices.planner, choices.iteration), sharing, jobs, hook)?;
    Ok(DayOutcome { records: outcome.records, plans: Some(outcome.plans) })
}

/// Prepares a machine for each kind of server.
fn machines(
    system: &System,
    choices: &DayChoices,
) -> Result<Vec<PreparedMachine>, AllocationError> {
    let profile = |server: &Server| {
        choices.bandwidth_profile.unwrap_or_else(|| BandwidthProfile::default_of(server))
    };
    let prepared = |server: &Server| {
        let machine = PreparedMachine::new(server, profile(server), choices.bandwidth_model)?;
        Ok(machine.with_ties(choices.ties))
    };
    system.kinds().iter().map(|kind| prepared(kind.server())).collect()
}

/// Finds the servers of GPUs, and their ids there.
fn places(system: &System, gpus: &[usize]) -> Result<Vec<(usize, usize)>, AllocationError> {
    let known = system.gpus() as usize;
    let place = |gpu: &usize| {
        if *gpu >= known {
            return Err(AllocationError::UnknownGpu { gpu: *gpu, gpus: known });
        }
        let place = system.gpu(*gpu as u32);
        Ok((place.server as usize, place.index as usize))
    };
    gpus.iter().map(place).collect()
}
