//! The jobs of shared servers: they arrive, wait in a queue, get GPUs by an allocation policy, run,
//! and give their GPUs back.
//!
//! What becomes of a job that has its GPUs is a run-time model's: [`formula`] or
//! [`played`](super::played). A job runs within one server, the first in which its policy finds
//! GPUs, in the order of a [`ServerChoice`].
//!
//! What it leaves out: jobs of several servers, preemption, and time taken by the decision itself.

mod backfill;
pub mod formula;
mod servers;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

pub use self::servers::ServerChoice;
use super::error::SimulationError;
use super::job::Job;
use crate::allocation::{
    Effort, GpuSet, Match, Objective, Pattern, Policy, PreparedMachine, Request, Selection,
    ServerState,
};
use crate::diagnostic::Named;
use crate::engine::Scheduler;
use crate::system::System;
use crate::units::{Bandwidth, Picoseconds};

/// In which order waiting jobs start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum QueueDiscipline {
    /// First in, first out: the first job blocks all behind it until it fits, as in the paper.
    #[default]
    Fifo,
    /// First in, first out, but a later job may start if the first is not delayed by it
    /// (EASY backfilling, with run times known exactly).
    Backfill,
}

impl Named for QueueDiscipline {
    const WHAT: &'static str = "queue discipline";
    const NAMED: &'static [(&'static str, Self)] =
        &[("fifo", Self::Fifo), ("backfill", Self::Backfill)];
}

/// How jobs get their GPUs.
#[derive(Clone, Copy)]
pub struct Sharing<'a> {
    /// A machine for each kind of server of the system.
    pub machines: &'a [PreparedMachine],
    /// Who gets which GPUs.
    pub policy: &'a dyn Policy,
    /// In which server each looks first.
    pub servers: ServerChoice,
    /// In which order waiting jobs start. Backfilling expects what the formula says.
    pub discipline: QueueDiscipline,
    /// Servers and their GPUs that are out of order.
    pub unhealthy: &'a [(usize, usize)],
}

/// What happened to one job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobRecord {
    /// The job's index in the list.
    pub job: usize,
    /// The server that it ran in.
    pub server: u32,
    /// When it got its GPUs.
    pub start: Picoseconds,
    /// When it gave them back.
    pub finish: Picoseconds,
    /// Its GPUs, by their ids in the server, and their scores.
    pub chosen: Match,
    /// Effective bandwidth by the sound model, GB/s, which a run time by the formula followed; `None`
    /// for one GPU.
    pub sound_bandwidth: Option<f64>,
    /// The most aggregated bandwidth that its pattern could have on the idle machine.
    pub ideal_aggregated_bandwidth: Bandwidth,
    /// How many sets of GPUs competed.
    pub candidates: u64,
    /// Whether no match was better for certain, as [`Selection::optimal`].
    pub optimal: bool,
}

/// Where a job is to run.
pub(super) struct Choice {
    server: usize,
    selection: Selection,
}

/// The jobs that wait, and the servers' GPUs.
pub(super) struct Queue<'a> {
    /// The machine of each server, and who holds its GPUs.
    servers: Vec<(&'a PreparedMachine, ServerState)>,
    jobs: &'a [Job],
    policy: &'a dyn Policy,
    patterns: Vec<Pattern>,
    choice: ServerChoice,
    discipline: QueueDiscipline,
    waiting: VecDeque<usize>,
    records: Vec<Option<JobRecord>>,
    /// Most aggregated bandwidth on an idle server, by its machine's name, the pattern's name and its
    /// size.
    ideal: BTreeMap<(String, &'static str, usize), Bandwidth>,
    finished: u64,
    /// Whether a job ends when the formula says; else that is no more than an estimate.
    by_formula: bool,
}

impl<'a> Queue<'a> {
    /// No job of a system has arrived yet.
    pub(super) fn on(
        system: &System,
        jobs: &'a [Job],
        sharing: Sharing<'a>,
    ) -> Result<Self, SimulationError> {
        let machine = |server| &sharing.machines[system.kind_index_of(server)];
        Self::new((0..system.servers()).map(machine).collect(), jobs, sharing)
    }

    /// No job has arrived yet on servers, each with its machine.
    fn new(
        machines: Vec<&'a PreparedMachine>,
        jobs: &'a [Job],
        Sharing { policy, servers: choice, discipline, unhealthy, .. }: Sharing<'a>,
    ) -> Result<Self, SimulationError> {
        let state = |machine: &'a PreparedMachine| {
            (machine, ServerState::new("simulated", machine.graph()))
        };
        let mut servers: Vec<_> = machines.into_iter().map(state).collect();
        for (server, gpu) in unhealthy {
            servers[*server].1.mark_unhealthy(*gpu)?;
        }
        let healthy = servers.iter().map(|(_, state)| state.free().len()).max().unwrap_or(0);
        let mut patterns = Vec::with_capacity(jobs.len());
        let mut names = BTreeSet::new();
        for job in jobs {
            if !names.insert(&job.name) {
                return Err(SimulationError::DuplicateJob { job: job.name.clone() });
            }
            let size = job.gpus as usize;
            if size > healthy {
                let (job, gpus) = (job.name.clone(), healthy);
                return Err(SimulationError::JobTooLarge { job, size, gpus });
            }
            patterns.push(Pattern::new(job.pattern, size)?);
        }
        Ok(Self {
            servers,
            jobs,
            policy,
            patterns,
            choice,
            discipline,
            waiting: VecDeque::new(),
            records: vec![None; jobs.len()],
            ideal: BTreeMap::new(),
            finished: 0,
            by_formula: true,
        })
    }

    /// The same for jobs of which only their ends tell how long they run; what the formula says is
    /// what backfilling expects.
    pub(super) fn with_estimates(mut self) -> Self {
        self.by_formula = false;
        self
    }

    /// A job enters the queue.
    pub(super) fn arrive(&mut self, job: usize) {
        self.waiting.push_back(job);
    }

    /// A job gives its GPUs back.
    pub(super) fn finish(&mut self, job: usize, now: Picoseconds) -> Result<(), SimulationError> {
        if let Some(record) = &mut self.records[job] {
            record.finish = now;
            self.servers[record.server as usize].1.release(&key(job))?;
            self.finished += 1;
        }
        Ok(())
    }

    /// How many jobs have ended, of all.
    pub(super) fn done(&self) -> (u64, u64) {
        (self.finished, self.jobs.len() as u64)
    }

    /// What was to be done when the caller ended the run.
    pub(super) fn interrupted(&self) -> SimulationError {
        let (done, total) = self.done();
        SimulationError::Interrupted { done, total }
    }

    /// What became of a job that has started.
    pub(super) fn record(&self, job: usize) -> Option<&JobRecord> {
        self.records[job].as_ref()
    }

    /// What became of each job that has started.
    pub(super) fn into_records(self) -> Vec<JobRecord> {
        self.records.into_iter().flatten().collect()
    }

    /// Gives GPUs to the jobs that may start now; returns these.
    pub(super) fn start_jobs<E>(
        &mut self,
        scheduler: &mut impl Scheduler<E>,
    ) -> Result<Vec<usize>, SimulationError> {
        let mut started = Vec::new();
        while let Some(job) = self.waiting.front().copied() {
            let Some(choice) = self.choose(job, scheduler)? else { break };
            self.waiting.pop_front();
            self.start(job, choice, scheduler)?;
            started.push(job);
        }
        if self.discipline == QueueDiscipline::Backfill {
            self.backfill(&mut started, scheduler)?;
        }
        Ok(started)
    }

    /// What the policy gives the job now, in the first server of its choice that has room. The hook is asked after
    /// every decision, since a long queue may have many, and within those that take long.
    fn choose<E>(
        &self,
        job: usize,
        scheduler: &mut impl Scheduler<E>,
    ) -> Result<Option<Choice>, SimulationError> {
        let request = Request { pattern: &self.patterns[job], sensitive: self.jobs[job].sensitive };
        let done = self.done();
        let free = self.servers.iter().map(|(_, state)| state.free().len());
        for server in self.choice.order(free, request.pattern.size()) {
            let (machine, state) = &self.servers[server];
            let mut go_on = || scheduler.ask(done);
            let mut effort = Effort::interruptible(&mut go_on);
            let selection = self.policy.choose(machine, &request, state.free(), &mut effort);
            if effort.is_stopped() || scheduler.ask(done).is_break() {
                return Err(self.interrupted());
            }
            if let Some(selection) = selection {
                return Ok(Some(Choice { server, selection }));
            }
        }
        Ok(None)
    }

    /// When a job that starts now ends, as far as that is known.
    fn finish_time(
        &self,
        job: usize,
        choice: &Choice,
        now: Picoseconds,
    ) -> Result<Picoseconds, SimulationError> {
        match self.finish_by_formula(job, choice, now) {
            Err(_) if !self.by_formula => Ok(Picoseconds(u64::MAX)),
            finish => finish,
        }
    }

    fn finish_by_formula(
        &self,
        job: usize,
        choice: &Choice,
        now: Picoseconds,
    ) -> Result<Picoseconds, SimulationError> {
        let (machine, _) = &self.servers[choice.server];
        let sound = machine.sound_bandwidth(choice.selection.chosen.gpus());
        let run_time = self.jobs[job].run_time(Bandwidth((sound * 1e9).round() as u64))?;
        now.checked_add(run_time).ok_or_else(|| SimulationError::end_too_late(&self.jobs[job].name))
    }

    fn start<E>(
        &mut self,
        job: usize,
        choice: Choice,
        scheduler: &mut impl Scheduler<E>,
    ) -> Result<(), SimulationError> {
        let now = scheduler.now();
        let finish = self.finish_time(job, &choice, now)?;
        let Choice { server, selection: Selection { chosen, candidates, optimal, .. } } = choice;
        let (machine, state) = &mut self.servers[server];
        state.allocate(&key(job), &chosen.placement)?;
        let sound = machine.sound_bandwidth(chosen.gpus());
        let sound_bandwidth = (chosen.placement.len() > 1).then_some(sound);
        let ideal_aggregated_bandwidth = self.ideal(job, server, scheduler)?;
        self.records[job] = Some(JobRecord {
            job,
            server: server as u32,
            start: now,
            finish,
            chosen,
            sound_bandwidth,
            ideal_aggregated_bandwidth,
            candidates,
            optimal,
        });
        Ok(())
    }

    fn ideal<E>(
        &mut self,
        job: usize,
        server: usize,
        scheduler: &mut impl Scheduler<E>,
    ) -> Result<Bandwidth, SimulationError> {
        let pattern = &self.patterns[job];
        let (machine, _) = &self.servers[server];
        let key = (machine.name().to_owned(), self.jobs[job].pattern.name(), pattern.size());
        if let Some(known) = self.ideal.get(&key) {
            return Ok(*known);
        }
        let idle = GpuSet::first(machine.gpu_count());
        let done = self.done();
        let mut go_on = || scheduler.ask(done);
        let mut effort = Effort::interruptible(&mut go_on);
        let best = machine.best(pattern, idle, Objective::Aggregated, &mut effort);
        if effort.is_stopped() {
            return Err(self.interrupted());
        }
        let most = best.map_or(Bandwidth(0), |selection| selection.chosen.aggregated_bandwidth);
        self.ideal.insert(key, most);
        Ok(most)
    }
}

/// A state's name for a job, from which [`Queue::reservation`] gets its index back.
fn key(job: usize) -> String {
    job.to_string()
}
