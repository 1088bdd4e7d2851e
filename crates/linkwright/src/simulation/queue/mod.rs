//! Plays the jobs of shared servers: they arrive, wait in a queue, get GPUs by an allocation
//! policy, run, and give their GPUs back.
//!
//! A run-time model says how a job with its GPUs runs: [`formula`] or [`played`](super::played). A
//! job runs within one server, the first in which its policy finds GPUs, in the order of a
//! [`ServerChoice`]. A job that is played gets GPUs of several servers in two cases. It asks for
//! more than any has, or its choice does not wait for one. The choice says how many GPUs each
//! server gives, and the policy says which.
//!
//! The model leaves out how near servers are to one another in the fabric, preemption, and time
//! taken by the decision itself.

mod backfill;
pub mod formula;
mod ideal;
mod named;
mod record;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use self::ideal::best_parts;
use self::named::NamedGpus;
pub use self::record::{EarlierTry, JobRecord, Part, Try, gpus_of};
use super::error::SimulationError;
use super::failures::{State, States};
use super::job::Job;
use crate::allocation::bandwidth::published;
pub use crate::allocation::cluster::ServerChoice;
use crate::allocation::cluster::{ClusterAsk, ServerRules, leaves};
use crate::allocation::{
    BandwidthModel, ChosenPolicy, Effort, Pattern, PatternShape, Policy, PreparedMachine, Request,
    Selection, ServerState,
};
use crate::diagnostic::Named;
use crate::engine::Scheduler;
use crate::system::System;
use crate::system::fabric::Fabric;
use crate::units::{Bandwidth, Picoseconds};

/// Says in which order waiting jobs start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum QueueDiscipline {
    /// First in, first out: the first job blocks all behind it until it fits, as in the paper.
    #[default]
    Fifo,
    /// First in, first out, but a later job may start if the first is not delayed by it (EASY
    /// backfilling). Run times are known exactly, or by a job's time limit. A job that has neither
    /// never starts before its turn.
    Backfill,
}

impl Named for QueueDiscipline {
    const WHAT: &'static str = "queue discipline";
    const NAMED: &'static [(&'static str, Self)] =
        &[("fifo", Self::Fifo), ("backfill", Self::Backfill)];
}

/// Says how jobs get their GPUs.
#[derive(Clone, Copy)]
pub struct Sharing<'a> {
    /// Holds a machine for each kind of server of the system.
    pub machines: &'a [PreparedMachine],
    /// Who gets which GPUs.
    pub policy: &'a dyn Policy,
    /// In which server each looks first.
    pub servers: ServerChoice,
    /// In which order waiting jobs start. Backfilling expects what the formula says.
    pub discipline: QueueDiscipline,
    /// Lists the GPUs that are out of order, each behind its server.
    pub unhealthy: &'a [(usize, usize)],
    /// Names the servers that reach no others.
    pub cut_off: &'a BTreeSet<usize>,
    /// Holds the states of the system, if parts of it fail.
    pub states: Option<&'a States>,
    /// Gives each job its place, as no policy does; then jobs run one after another, each alone.
    pub alone: Option<&'a [JobPlace]>,
    /// Keeps the loads of each job's iterations.
    pub keeps_loads: bool,
}

/// Names no server.
static NOWHERE: BTreeSet<usize> = BTreeSet::new();

impl<'a> Sharing<'a> {
    /// Lets jobs queue first in, first out, for the first server that has room, where nothing fails. There is a machine for each
    /// kind of server.
    #[must_use]
    pub fn new(machines: &'a [PreparedMachine], policy: &'a dyn Policy) -> Self {
        Self {
            machines,
            policy,
            servers: ServerChoice::default(),
            discipline: QueueDiscipline::default(),
            unhealthy: &[],
            cut_off: &NOWHERE,
            states: None,
            alone: None,
            keeps_loads: false,
        }
    }
}

/// Lists a job's GPUs in each of its servers, in the order of its ranks.
pub type JobPlace = Vec<(usize, Vec<usize>)>;

/// A pattern by its shape, its size, and the job whose own it is, if its edges are.
type PatternKey = (PatternShape, usize, Option<usize>);

/// Names the pattern of a job on a number of its GPUs.
fn pattern_key(jobs: &[Job], job: usize, size: usize) -> PatternKey {
    (jobs[job].pattern, size, jobs[job].edges.is_some().then_some(job))
}

/// The end of a job that nobody knows.
const UNKNOWN: Picoseconds = Picoseconds(u64::MAX);

/// Says where a job is to run: the part of each server, in their order.
pub(super) struct Choice {
    parts: Vec<(usize, Selection)>,
}

impl Choice {
    /// How many GPUs it takes of these servers.
    fn gpus_in(&self, servers: &[usize]) -> usize {
        let there = self.parts.iter().filter(|(server, _)| servers.contains(server));
        there.map(|(_, selection)| selection.chosen.placement.len()).sum()
    }
}

/// Says how jobs end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// The formula says when, of GPUs of one server, at the bandwidth of a model.
    ByFormula(BandwidthModel),
    /// Says only that they have ended. Backfilling expects the formula's time; they may run on
    /// several servers.
    Played,
}

/// Holds the jobs that wait, and the servers' GPUs.
pub(super) struct Queue<'a> {
    /// The machine of each server, and who holds its GPUs.
    servers: Vec<(&'a PreparedMachine, ServerState)>,
    jobs: &'a [Job],
    policy: &'a dyn Policy,
    /// Of every shape and size that a job may have within a server.
    patterns: BTreeMap<PatternKey, Pattern>,
    rules: ServerRules,
    discipline: QueueDiscipline,
    waiting: VecDeque<usize>,
    records: Vec<Option<JobRecord>>,
    /// Keeps the most aggregated bandwidth on any idle server, by the pattern's shape and its size.
    ideal: BTreeMap<PatternKey, Bandwidth>,
    finished: u64,
    ends: Ends,
    /// Gives the bandwidth at which the narrowest of the servers can send to others, as an estimate
    /// for jobs of several.
    between: Bandwidth,
    /// Holds the GPUs of jobs that name theirs.
    named: NamedGpus,
    /// Lets one job run at a time.
    is_alone: bool,
    /// Counts the jobs that run.
    running: usize,
    /// Names the servers that reach no others all day.
    cut_off: BTreeSet<usize>,
}

impl<'a> Queue<'a> {
    /// No job of a system has arrived yet.
    pub(super) fn on(
        system: &System,
        jobs: &'a [Job],
        sharing: Sharing<'a>,
        ends: Ends,
    ) -> Result<Self, SimulationError> {
        let machine = |server| &sharing.machines[system.kind_index_of(server)];
        let machines = (0..system.servers()).map(machine).collect();
        let named = match sharing.alone {
            Some(places) => NamedGpus::at(places),
            None => NamedGpus::of(system, jobs)?,
        };
        if let Some((job, place)) = named.hopeless(sharing.unhealthy) {
            let gpu = system.gpu_at(place.0 as u32, place.1 as u32);
            return Err(SimulationError::UnhealthyGpu { job: jobs[job].name.clone(), gpu });
        }
        let mut queue = Self::new(machines, jobs, sharing, ends)?;
        for (job, size) in named.sizes() {
            if let Entry::Vacant(entry) = queue.patterns.entry(pattern_key(jobs, job, size)) {
                entry.insert(jobs[job].pattern_on(size)?);
            }
        }
        let rules = queue.rules.with_leaves(leaves(system));
        Ok(Self { between: between(system), named, rules, ..queue })
    }

    /// No job has arrived yet on servers, each with its machine.
    fn new(
        machines: Vec<&'a PreparedMachine>,
        jobs: &'a [Job],
        Sharing { policy, servers: choice, discipline, unhealthy, cut_off, alone, .. }: Sharing<'a>,
        ends: Ends,
    ) -> Result<Self, SimulationError> {
        let state = |machine: &'a PreparedMachine| {
            (machine, ServerState::new("simulated", machine.graph()))
        };
        let mut servers: Vec<_> = machines.into_iter().map(state).collect();
        for (server, gpu) in unhealthy {
            servers[*server].1.mark_unhealthy(*gpu)?;
        }
        let healthy = servers.iter().map(|(_, state)| state.free().len());
        let mut rules = ServerRules::new(choice, healthy, ends == Ends::Played);
        rules.cut_off(cut_off.clone());
        let (largest, all) = (rules.largest(), rules.rooms().iter().sum::<usize>());
        let mut patterns = BTreeMap::new();
        let mut names = BTreeSet::new();
        for (index, job) in jobs.iter().enumerate() {
            if !names.insert(&job.name) {
                return Err(SimulationError::DuplicateJob { job: job.name.clone() });
            }
            let size = job.gpus as usize;
            if size > all {
                let job = job.name.clone();
                return Err(SimulationError::JobTooLarge { job, size, gpus: all });
            }
            if size > largest && ends != Ends::Played {
                let job = job.name.clone();
                return Err(SimulationError::JobOfServers { job, size, gpus: largest });
            }
            let ask = ask(job);
            rules.check(&job.name, ask)?;
            let is_of_servers = rules.wanted_servers(ask).is_some_and(|wanted| wanted > 1);
            if is_of_servers && ends != Ends::Played {
                let job = job.name.clone();
                return Err(SimulationError::JobOfServers { job, size, gpus: largest });
            }
            for size in rules.parts(ask).chain(best_parts(size, rules.rooms())) {
                if let Entry::Vacant(entry) = patterns.entry(pattern_key(jobs, index, size)) {
                    entry.insert(job.pattern_on(size)?);
                }
            }
        }
        Ok(Self {
            servers,
            jobs,
            policy,
            patterns,
            rules,
            discipline,
            waiting: VecDeque::new(),
            records: vec![None; jobs.len()],
            ideal: BTreeMap::new(),
            finished: 0,
            ends,
            between: Bandwidth(0),
            named: NamedGpus::default(),
            is_alone: alone.is_some(),
            running: 0,
            cut_off: cut_off.clone(),
        })
    }

    /// A job enters the queue.
    pub(super) fn arrive(&mut self, job: usize) {
        self.waiting.push_back(job);
    }

    /// A job gives its GPUs back.
    pub(super) fn finish(&mut self, job: usize, now: Picoseconds) -> Result<(), SimulationError> {
        if let Some(record) = &mut self.records[job] {
            record.finish = now;
            for server in record.servers() {
                self.servers[server as usize].1.release(&key(job))?;
            }
            self.finished += 1;
            self.running -= 1;
        }
        Ok(())
    }

    /// A job loses its GPUs, and waits for others. It comes before all that arrived after it.
    pub(super) fn lose(&mut self, job: usize, now: Picoseconds) -> Result<(), SimulationError> {
        let record = self.records[job].as_mut().expect("it has GPUs");
        let start = record.last_start.unwrap_or(record.start);
        record.earlier.push(EarlierTry { start, end: now, parts: record.parts.clone() });
        for server in record.servers() {
            self.servers[server as usize].1.release(&key(job))?;
        }
        self.running -= 1;
        let arrived = |job: usize| (self.jobs[job].arrival, job);
        let before = self.waiting.partition_point(|other| arrived(*other) < arrived(job));
        self.waiting.insert(before, job);
        Ok(())
    }

    /// Takes up which GPUs and servers are lost now, and which were.
    pub(super) fn change(&mut self, [were, are]: [&'a State; 2]) -> Result<(), SimulationError> {
        for (server, (machine, _)) in (0..).zip(&mut self.servers) {
            *machine = &are.machines[are.cluster.system.kind_index_of(server)];
        }
        for (server, gpu) in were.gpus.difference(&are.gpus) {
            self.servers[*server].1.mark_healthy(*gpu)?;
        }
        for (server, gpu) in are.gpus.difference(&were.gpus) {
            self.servers[*server].1.mark_unhealthy(*gpu)?;
        }
        self.rules.cut_off(self.cut_off.union(&are.cut_off).copied().collect());
        Ok(())
    }

    /// Refuses jobs that wait when nothing more can happen.
    pub(super) fn check_all_started(&self) -> Result<(), SimulationError> {
        self.waiting.front().map_or(Ok(()), |job| {
            let Job { name, gpus, .. } = &self.jobs[*job];
            Err(SimulationError::NeverStarts { job: name.clone(), size: *gpus as usize })
        })
    }

    /// How many jobs have ended, of all.
    pub(super) fn done(&self) -> (u64, u64) {
        (self.finished, self.jobs.len() as u64)
    }

    /// Returns the state of the work when the caller ended the run.
    pub(super) fn interrupted(&self) -> SimulationError {
        let (done, total) = self.done();
        SimulationError::Interrupted { done, total }
    }

    /// Returns the record of a job that has started.
    pub(super) fn record(&self, job: usize) -> Option<&JobRecord> {
        self.records[job].as_ref()
    }

    /// Returns the record of each job that has started.
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
            if self.is_alone && self.running > 0 {
                return Ok(started);
            }
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

    /// Returns the GPUs that the policy gives the job now. They are in the first server of its
    /// choice that has room, else in several if it may have them.
    fn choose<E>(
        &self,
        job: usize,
        scheduler: &mut impl Scheduler<E>,
    ) -> Result<Option<Choice>, SimulationError> {
        if let Some(wanted) = self.named.get(job) {
            return Ok(named::choice(wanted, &self.servers, |size| self.pattern(job, size)));
        }
        let free: Vec<usize> = self.free_for(job).collect();
        let select = |server, size| self.select(job, server, size, scheduler);
        let parts = self.rules.choose(self.ask(job), &free, select)?;
        Ok(parts.map(|parts| Choice { parts }))
    }

    /// Gives the pattern of a job on a number of its GPUs.
    fn pattern(&self, job: usize, size: usize) -> &Pattern {
        &self.patterns[&pattern_key(self.jobs, job, size)]
    }

    /// Gives the bandwidth by the sound model of what a job got of a server, GB/s.
    fn sound_bandwidth(&self, job: usize, (server, selection): &(usize, Selection)) -> f64 {
        let placement = &selection.chosen.placement;
        let pattern = self.pattern(job, placement.len());
        self.servers[*server].0.pattern_bandwidth(pattern, placement)
    }

    /// Gives the bandwidth by the sound model of all that a job got, GB/s. It is that of its slowest part, or what the
    /// narrowest server can send to others where that is less. None where its GPUs have nothing to say to one another.
    fn sound_bandwidth_of(&self, job: usize, choice: &Choice) -> Option<f64> {
        let speaks = |part: &&(usize, Selection)| {
            !self.pattern(job, part.1.chosen.placement.len()).edges().is_empty()
        };
        let parts = choice.parts.iter().filter(speaks);
        let within = parts.map(|part| self.sound_bandwidth(job, part)).min_by(f64::total_cmp);
        let between = (choice.parts.len() > 1).then(|| self.between.0 as f64 / 1e9);
        within.into_iter().chain(between).min_by(f64::total_cmp)
    }

    /// Gives what a job asks for of the servers.
    fn ask(&self, job: usize) -> ClusterAsk {
        ask(&self.jobs[job])
    }

    /// Counts the GPUs of each server that a job may have.
    fn free_for(&self, job: usize) -> impl Iterator<Item = usize> {
        let is_exclusive = self.rules.is_exclusive(self.ask(job));
        self.servers.iter().map(move |(_, state)| state.free_for(is_exclusive).len())
    }

    /// Selects a given number of GPUs of a server for a job, by the policy. The hook is asked after
    /// every decision, since a long queue may have many, and within those that take long.
    fn select<E>(
        &self,
        job: usize,
        server: usize,
        size: usize,
        scheduler: &mut impl Scheduler<E>,
    ) -> Result<Option<Selection>, SimulationError> {
        let sensitive = self.jobs[job].sensitive;
        let request = Request { pattern: self.pattern(job, size), sensitive };
        let done = self.done();
        let (machine, state) = &self.servers[server];
        let mut go_on = || scheduler.ask(done);
        let mut effort = Effort::interruptible(&mut go_on);
        let own = self.jobs[job].own().and_then(|written| written.policy);
        let policy = own.map_or(self.policy, |ChosenPolicy(policy)| policy);
        let selection = policy.choose(machine, &request, state.free(), &mut effort);
        if effort.is_stopped() || scheduler.ask(done).is_break() {
            return Err(self.interrupted());
        }
        Ok(selection)
    }

    /// When a job that starts now is expected to end: by its time limit, else by the formula; None where neither says.
    fn expected_end(
        &self,
        job: usize,
        choice: &Choice,
        now: Picoseconds,
    ) -> Result<Option<Picoseconds>, SimulationError> {
        if let Some(limit) = self.jobs[job].time_limit {
            return Ok(now.checked_add(limit));
        }
        match self.finish_by_formula(job, choice, now) {
            Err(_) if self.ends == Ends::Played => Ok(None),
            finish => finish.map(Some),
        }
    }

    /// When a job that starts now ends, as far as that is known.
    fn finish_time(
        &self,
        job: usize,
        choice: &Choice,
        now: Picoseconds,
    ) -> Result<Picoseconds, SimulationError> {
        if self.ends == Ends::Played {
            let expected = self.expected_end(job, choice, now)?;
            return Ok(expected.unwrap_or(UNKNOWN));
        }
        self.finish_by_formula(job, choice, now)
    }

    fn finish_by_formula(
        &self,
        job: usize,
        choice: &Choice,
        now: Picoseconds,
    ) -> Result<Picoseconds, SimulationError> {
        if !self.jobs[job].is_estimated() {
            return Err(SimulationError::NoFormula { job: self.jobs[job].name.clone() });
        }
        let is_exchange = self.jobs[job].is_exchange();
        let bandwidth = |sound: f64| Bandwidth((sound * 1e9).round() as u64);
        let within = |part: &(usize, Selection)| match self.ends {
            Ends::ByFormula(BandwidthModel::Published) => {
                bandwidth(published::effective_bandwidth(part.1.chosen.links))
            }
            Ends::ByFormula(BandwidthModel::Sound) => bandwidth(self.sound_bandwidth(job, part)),
            Ends::Played if is_exchange => bandwidth(self.sound_bandwidth(job, part)),
            Ends::Played => bandwidth(self.servers[part.0].0.sound_bandwidth(part.1.chosen.gpus())),
        };
        let effective = match &choice.parts[..] {
            [part] => within(part),
            parts => {
                let several = parts.iter().filter(|(_, it)| it.chosen.placement.len() > 1);
                several.map(within).fold(self.between, Bandwidth::min)
            }
        };
        let run_time = match self.ends {
            Ends::ByFormula(BandwidthModel::Sound) => self.jobs[job].run_time(effective)?,
            Ends::Played if is_exchange => self.jobs[job].run_time(effective)?,
            // The regression knows all-reduces alone, and other jobs that are played make them.
            Ends::ByFormula(BandwidthModel::Published) | Ends::Played => {
                self.jobs[job].run_time_of_all_reduces(effective)?
            }
        };
        now.checked_add(run_time).ok_or_else(|| SimulationError::end_too_late(&self.jobs[job].name))
    }

    fn start<E>(
        &mut self,
        job: usize,
        choice: Choice,
        scheduler: &mut impl Scheduler<E>,
    ) -> Result<(), SimulationError> {
        let start = scheduler.now();
        let finish = self.finish_time(job, &choice, start)?;
        let sound_bandwidth = self.sound_bandwidth_of(job, &choice);
        let ideal = self.ideal(job, scheduler)?;
        let (mut candidates, mut optimal) = (1_u64, true);
        let is_exclusive = self.rules.is_exclusive(self.ask(job));
        let mut parts = Vec::with_capacity(choice.parts.len());
        for (server, selection) in choice.parts {
            let state = &mut self.servers[server].1;
            state.allocate(&key(job), &selection.chosen.placement)?;
            if is_exclusive {
                state.share_with_nobody(&key(job))?;
            }
            candidates = candidates.saturating_mul(selection.candidates);
            optimal &= selection.optimal;
            parts.push(Part { server: server as u32, chosen: selection.chosen });
        }
        self.running += 1;
        let before = self.records[job].take();
        let first = before.as_ref().map_or(start, |earlier| earlier.start);
        let last_start = before.is_some().then_some(start);
        let earlier = before.map_or_else(Vec::new, |it| it.earlier);
        self.records[job] = Some(JobRecord {
            job,
            start: first,
            finish,
            parts,
            earlier,
            last_start,
            sound_bandwidth,
            ideal_aggregated_bandwidth: ideal,
            candidates,
            optimal,
        });
        Ok(())
    }
}

/// Gives what a job asks for of the servers.
fn ask(job: &Job) -> ClusterAsk {
    let servers = job.servers_wanted.map(|wanted| wanted as usize);
    ClusterAsk { gpus: job.gpus as usize, servers, exclusive: job.exclusive }
}

/// Returns the bandwidth at which the narrowest of a system's servers can send to others.
fn between(system: &System) -> Bandwidth {
    let Some(fabric) = system.fabric() else { return Bandwidth(0) };
    let of_server = |server: u32| -> u64 {
        let ports = (0..system.kind_of(server).nics().len() as u32)
            .map(|nic| system.port_of(system.nic_at(server, nic)));
        ports.map(|port| fabric.channels()[Fabric::injection(port) as usize].bandwidth.0).sum()
    };
    Bandwidth((0..system.servers()).map(of_server).min().unwrap_or(0))
}

/// A state's name for a job, from which [`Queue::reservation`] gets its index back.
fn key(job: usize) -> String {
    job.to_string()
}
