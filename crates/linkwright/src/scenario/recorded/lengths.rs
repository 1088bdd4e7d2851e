//! Plays one iteration of what recorded jobs are taken to have run, alone on the system on which they were recorded.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::named::Ran;
use super::work::Machine;
use crate::allocation::{AllocationError, BandwidthModel, PreparedMachine, policy};
use crate::simulation::cluster::{Cluster, Fidelity};
use crate::simulation::played::{IterationSettings, PlannerChoice, play};
use crate::simulation::{Job, RunTime, Sharing, SimulationError, simulate_on};
use crate::system::{BandwidthProfile, System};
use crate::units::Picoseconds;

/// An idle system gives a job the GPUs of this policy: those with the most effective bandwidth.
const POLICY: &str = "greedy";

/// Counts the iterations from whose time that of one is taken, where they cost nothing to play.
const FLUID_ITERATIONS: u64 = 1_000;

/// Tells what jobs ran apart: by the entry of their names, or by their workload's name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum WhatRan {
    /// An entry has this index.
    Named(usize),
    /// It has this name.
    Workload(String),
}

/// Makes the jobs that are played, each kind once.
pub(super) struct Made<'a> {
    system: &'a System,
    iteration: IterationSettings,
    known: BTreeMap<(WhatRan, u32), Job>,
}

impl<'a> Made<'a> {
    /// Makes none yet.
    pub(super) const fn new(system: &'a System, iteration: IterationSettings) -> Self {
        Self { system, iteration, known: BTreeMap::new() }
    }

    /// Gives the job of a kind, without its name.
    pub(super) fn of(&mut self, key: &(WhatRan, u32), ran: &Ran) -> Result<Job, SimulationError> {
        if let Some(known) = self.known.get(key) {
            return Ok(known.clone());
        }
        let job = ran.job(key.1, self.system, self.iteration)?;
        self.known.insert(key.clone(), job.clone());
        Ok(job)
    }
}

/// Finds how long an iteration takes, once for each kind of job and number of GPUs.
pub(super) struct Lengths<'a> {
    machine: &'a Machine,
    cluster: Cluster,
    known: BTreeMap<(WhatRan, u32), Picoseconds>,
}

impl<'a> Lengths<'a> {
    /// Knows none yet.
    pub(super) const fn new(machine: &'a Machine, cluster: Cluster) -> Self {
        Self { machine, cluster, known: BTreeMap::new() }
    }

    /// Gives the system on which jobs were recorded.
    pub(super) fn system(&self) -> &System {
        &self.cluster.system
    }

    /// Gives how long an iteration of a kind takes.
    pub(super) fn of(
        &mut self,
        key: &(WhatRan, u32),
        ran: &Ran,
    ) -> Result<Picoseconds, SimulationError> {
        if let Some(known) = self.known.get(key) {
            return Ok(*known);
        }
        let system = &*self.cluster.system;
        let job = ran.job(key.1, system, self.machine.iteration)?;
        let (fidelity, iterations) = match (self.machine.run_time, self.machine.planner) {
            (RunTime::Played, PlannerChoice::Mpi) => (Fidelity::Flow, 1),
            _ if !job.is_fluid() => (Fidelity::Flow, 1),
            _ => (Fidelity::Fluid, FLUID_ITERATIONS),
        };
        let mut jobs = [Job { iterations, ..job }];
        self.machine.measured.apply(&mut jobs);
        let machines = system.kinds().iter().map(|kind| {
            let profile = BandwidthProfile::default_of(kind.server());
            PreparedMachine::new(kind.server(), profile, BandwidthModel::Sound)
        });
        let machines: Vec<_> = machines.collect::<Result<_, _>>()?;
        let policy = policy(POLICY).map_err(AllocationError::from)?;
        let sharing = Sharing::new(&machines, policy);
        let mut hook = |_| ControlFlow::Continue(());
        let records = match self.machine.run_time {
            RunTime::Formula | RunTime::Regression => {
                let model = self.machine.run_time.bandwidth_model();
                simulate_on(system, sharing, model, &jobs, &mut hook)?
            }
            RunTime::Played => {
                let cluster = Cluster { fidelity, ..self.cluster.clone() };
                let how = (self.machine.planner, self.machine.iteration);
                play(&cluster, how, sharing, &jobs, &mut hook)?.records
            }
        };
        let taken = records.iter().map(|record| record.finish.0 - record.start.0).max();
        let length = Picoseconds((taken.unwrap_or(0) / iterations).max(1));
        self.known.insert(key.clone(), length);
        Ok(length)
    }
}
