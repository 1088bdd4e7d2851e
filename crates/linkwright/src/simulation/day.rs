//! Plays a day of jobs on a system under one policy. Its choices are one value, and one place heeds them.

use std::collections::BTreeSet;

use super::RunTime;
use super::attribution::{Attribution, attribute};
use super::cluster::{Cluster, Fidelity};
use super::error::SimulationError;
use super::failures::{Endured, States};
use super::job::Job;
use super::offers::PlannedBy;
use super::played::{IterationSettings, PlannerChoice, PlayedOutcome, play};
use super::queue::formula::simulate_on;
use super::queue::{JobPlace, JobRecord, Part, QueueDiscipline, ServerChoice, Sharing};
use crate::allocation::{AllocationError, BandwidthModel, GpuSet, Policy, PreparedMachine, Ties};
use crate::collectives::plan::Packing;
use crate::engine::Hook;
use crate::network::LinkLoads;
use crate::system::fabric::ChannelId;
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
    /// Asks for the slowdown of each job; then jobs are played alone, too.
    pub attributes: bool,
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
            attributes: false,
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
    /// Is the share of each job's run time in which it only communicated, in the order of the records; None where
    /// nobody knows.
    pub exposed: Vec<Option<f64>>,
    /// Holds the loads of channels; None where a formula said how long jobs ran, and sent nothing.
    pub loads: Option<LinkLoads>,
    /// Holds the loads of an iteration of each job of the list, if slowdowns were asked for.
    pub of_iterations: Vec<Box<[(ChannelId, f64)]>>,
    /// Holds what failures cost each job, in the order of the list, if anything failed.
    pub endured: Vec<Endured>,
    /// Holds the slowdown of each job, in the order of the records, if that was asked for.
    pub attributions: Option<Vec<Attribution>>,
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
    let shared = SharedSystem::of(cluster, choices)?;
    let day = shared.play(cluster, choices, (policy, None), jobs, hook)?;
    if !choices.attributes {
        return Ok(day);
    }
    let found = attribute((cluster, choices), (&shared, policy), (jobs, &day), hook)?;
    Ok(DayOutcome { attributions: Some(found), ..day })
}

/// Holds a machine for each kind of server, and the GPUs that are out of order.
pub(super) struct SharedSystem {
    machines: Vec<PreparedMachine>,
    unhealthy: Vec<(usize, usize)>,
    cut_off: BTreeSet<usize>,
    states: Option<States>,
}

impl SharedSystem {
    /// Prepares a system.
    pub(super) fn of(cluster: &Cluster, choices: &DayChoices) -> Result<Self, SimulationError> {
        let system = &*cluster.system;
        let absent = cluster.failures.absent_gpus.iter().map(|gpu| *gpu as usize);
        let broken: Vec<usize> = choices.unhealthy.iter().copied().chain(absent).collect();
        let unhealthy = places(system, &broken)?;
        let states = States::of(cluster, &unhealthy, |system| machines(system, choices))?;
        let (machines, cut_off) = (machines(system, choices)?, cluster.failures.cut_off.clone());
        Ok(Self { machines, unhealthy, cut_off, states })
    }

    /// The same while the parts of a state are lost; None where nothing fails.
    pub(super) fn in_state(&self, state: usize) -> Option<(&Cluster, Self)> {
        let of = &self.states.as_ref()?.each[state];
        let unhealthy = self.unhealthy.iter().copied().chain(of.gpus.iter().copied()).collect();
        let cut_off = self.cut_off.union(&of.cut_off).copied().collect();
        let shared = Self { machines: of.machines.clone(), unhealthy, cut_off, states: None };
        Some((&of.cluster, shared))
    }

    /// Gives the machine of a server.
    pub(super) fn machine(&self, system: &System, server: u32) -> &PreparedMachine {
        &self.machines[system.kind_index_of(server)]
    }

    /// Gives the GPUs of a server that are in order.
    pub(super) fn healthy(&self, system: &System, server: u32) -> GpuSet {
        let broken = self.unhealthy.iter().filter(|(at, _)| *at == server as usize);
        let broken: GpuSet = broken.map(|(_, gpu)| *gpu).collect();
        GpuSet::first(self.machine(system, server).gpu_count()).without(broken)
    }

    /// Scores a place.
    pub(super) fn scored(
        &self,
        system: &System,
        job: &Job,
        place: &JobPlace,
    ) -> Result<Vec<Part>, SimulationError> {
        let of = |(server, gpus): &(usize, Vec<usize>)| {
            let server = *server as u32;
            let (pattern, free) = (job.pattern_on(gpus.len())?, self.healthy(system, server));
            let chosen = self.machine(system, server).score(&pattern, gpus.clone(), free);
            Ok(Part { server, chosen })
        };
        place.iter().map(of).collect()
    }

    /// Plays jobs under a policy, or one after another where each is alone.
    pub(super) fn play(
        &self,
        cluster: &Cluster,
        choices: &DayChoices,
        (policy, alone): (&dyn Policy, Option<&[JobPlace]>),
        jobs: &[Job],
        hook: Hook<'_>,
    ) -> Result<DayOutcome, SimulationError> {
        let discipline = if alone.is_some() { QueueDiscipline::Fifo } else { choices.discipline };
        let sharing = Sharing {
            machines: &self.machines,
            policy,
            servers: choices.server_choice,
            discipline,
            unhealthy: &self.unhealthy,
            cut_off: &self.cut_off,
            states: self.states.as_ref().filter(|_| alone.is_none()),
            alone,
            keeps_loads: choices.attributes && alone.is_none(),
        };
        if choices.run_time.is_formula() {
            let model = choices.run_time.bandwidth_model();
            let records = simulate_on(&cluster.system, sharing, model, jobs, hook)?;
            let exposed = records.iter().map(|it| exposed_by_formula(&jobs[it.job], it)).collect();
            return Ok(DayOutcome {
                records,
                plans: None,
                exposed,
                loads: None,
                of_iterations: Vec::new(),
                endured: Vec::new(),
                attributions: None,
            });
        }
        let cluster = Cluster { fidelity: choices.fidelity, ..cluster.clone() };
        let played = play(&cluster, (choices.planner, choices.iteration), sharing, jobs, hook)?;
        let PlayedOutcome { records, plans, exposed, loads, of_iterations, endured } = played;
        let (plans, loads, attributions) = (Some(plans), Some(loads), None);
        Ok(DayOutcome { records, plans, exposed, loads, of_iterations, endured, attributions })
    }
}

/// Gives the share of a job's run time in which it does not compute, where a formula says how long it ran.
fn exposed_by_formula(job: &Job, record: &JobRecord) -> Option<f64> {
    let computed = job.work().ok()?.compute_per_iteration().0 as f64 * job.iterations as f64;
    let run_time = (record.finish.0 - record.start.0) as f64;
    (run_time > 0.0).then(|| (1.0 - computed / run_time).max(0.0))
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
