//! A multi-tenant server that plays a list of jobs.
//!
//! What it represents: jobs arrive, wait in a queue, get GPUs by an allocation policy, run,
//! and give their GPUs back. A job's run time follows from the links that it was given, by
//! [`Workload::run_time`](super::Workload::run_time), so that a bad allocation holds its
//! GPUs for longer and the queue behind it waits.
//!
//! The run time always follows the sound bandwidth model, whichever model the policy ranks
//! by: the published regression can turn negative, and policies are compared in one world.
//!
//! What it leaves out: interference of jobs on shared wires, preemption, and time taken by
//! the decision itself.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::error::SimulationError;
use super::job::Job;
use crate::allocation::{
    Effort, GpuSet, Match, Objective, Pattern, Policy, PreparedMachine, Request, Selection,
    ServerState,
};
use crate::diagnostic::shown;
use crate::engine::{Engine, Hook, Model, Scheduler};
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

/// What happened to one job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobRecord {
    /// The job's index in the list.
    pub job: usize,
    /// When it got its GPUs.
    pub start: Picoseconds,
    /// When it gave them back.
    pub finish: Picoseconds,
    /// Its GPUs and their scores.
    pub chosen: Match,
    /// Effective bandwidth by the sound model, GB/s, which the run time followed; `None` for
    /// one GPU.
    pub sound_bandwidth: Option<f64>,
    /// The most aggregated bandwidth that its pattern could have on the idle machine.
    pub ideal_aggregated_bandwidth: Bandwidth,
    /// How many sets of GPUs competed.
    pub candidates: u64,
    /// Whether no match was better for certain, as [`Selection::optimal`].
    pub optimal: bool,
}

/// Plays the jobs on an idle server and returns what happened to each, in the jobs' order.
///
/// # Errors
/// Two jobs of one name; a job that asks for more GPUs than are healthy, so that it could never
/// start; a run that the hook ended; a time beyond 213 days.
pub fn simulate(
    machine: &PreparedMachine,
    jobs: &[Job],
    policy: &dyn Policy,
    discipline: QueueDiscipline,
    unhealthy: GpuSet,
    hook: Hook<'_>,
) -> Result<Vec<JobRecord>, SimulationError> {
    let mut server = Server::new(machine, jobs, policy, discipline, unhealthy)?;
    let mut engine = Engine::new(hook);
    for (index, job) in jobs.iter().enumerate() {
        engine.schedule(job.arrival, Event::Arrival(index));
    }
    engine.run(&mut server)?;
    Ok(server.records.into_iter().flatten().collect())
}

/// What happens to a server's queue.
#[derive(Debug, Clone, Copy)]
enum Event {
    Arrival(usize),
    Finish(usize),
}

struct Server<'a> {
    machine: &'a PreparedMachine,
    jobs: &'a [Job],
    policy: &'a dyn Policy,
    patterns: Vec<Pattern>,
    discipline: QueueDiscipline,
    waiting: VecDeque<usize>,
    state: ServerState,
    records: Vec<Option<JobRecord>>,
    /// Most aggregated bandwidth on the idle machine, by pattern name and size.
    ideal: BTreeMap<(&'static str, usize), Bandwidth>,
    finished: u64,
}

impl Model for Server<'_> {
    type Event = Event;
    type Error = SimulationError;
    const SETTLES: bool = true;

    fn handle(
        &mut self,
        event: Event,
        _: &mut impl Scheduler<Event>,
    ) -> Result<(), SimulationError> {
        match event {
            Event::Arrival(job) => self.waiting.push_back(job),
            Event::Finish(job) => {
                self.state.release(&self.key(job))?;
                self.finished += 1;
            }
        }
        Ok(())
    }

    /// All that ends or arrives now is known before anything starts.
    fn settle(
        &mut self,
        scheduler: &mut impl Scheduler<Event>,
    ) -> Result<Option<Picoseconds>, SimulationError> {
        self.start_jobs(scheduler)?;
        match scheduler.ask(self.done()) {
            ControlFlow::Continue(()) => Ok(None),
            ControlFlow::Break(()) => Err(self.interrupted()),
        }
    }

    fn done(&self) -> (u64, u64) {
        (self.finished, self.jobs.len() as u64)
    }
}

impl<'a> Server<'a> {
    fn new(
        machine: &'a PreparedMachine,
        jobs: &'a [Job],
        policy: &'a dyn Policy,
        discipline: QueueDiscipline,
        unhealthy: GpuSet,
    ) -> Result<Self, SimulationError> {
        let mut state = ServerState::new("simulated", machine.graph());
        for gpu in unhealthy.iter() {
            state.mark_unhealthy(gpu)?;
        }
        let healthy = state.free().len();
        let mut patterns = Vec::with_capacity(jobs.len());
        let mut names = BTreeSet::new();
        for job in jobs {
            if !names.insert(&job.name) {
                return Err(SimulationError::DuplicateJob { job: job.name.clone() });
            }
            let size = job.gpus as usize;
            if size > healthy {
                return Err(SimulationError::JobTooLarge {
                    job: job.name.clone(),
                    size,
                    gpus: healthy,
                });
            }
            patterns.push(Pattern::new(job.pattern, size)?);
        }
        let (waiting, records) = (VecDeque::new(), vec![None; jobs.len()]);
        let (ideal, finished) = (BTreeMap::new(), 0);
        Ok(Self {
            machine,
            jobs,
            policy,
            patterns,
            discipline,
            waiting,
            state,
            records,
            ideal,
            finished,
        })
    }

    /// The state's name for a job, from which `reservation` gets its index back.
    fn key(&self, job: usize) -> String {
        job.to_string()
    }

    fn interrupted(&self) -> SimulationError {
        SimulationError::Interrupted { done: self.finished, total: self.jobs.len() as u64 }
    }

    fn start_jobs(&mut self, scheduler: &mut impl Scheduler<Event>) -> Result<(), SimulationError> {
        while let Some(job) = self.waiting.front().copied() {
            let Some(selection) = self.choose(job, scheduler)? else { break };
            self.waiting.pop_front();
            self.start(job, selection, scheduler)?;
        }
        match self.discipline {
            QueueDiscipline::Fifo => Ok(()),
            QueueDiscipline::Backfill => self.backfill(scheduler),
        }
    }

    /// Starts jobs behind a first one that does not fit, where that does not delay it: they
    /// end before it can start, or leave enough GPUs for it when it does.
    fn backfill(&mut self, scheduler: &mut impl Scheduler<Event>) -> Result<(), SimulationError> {
        let Some(first) = self.waiting.front().copied() else { return Ok(()) };
        let (reservation, mut spare) = self.reservation(first);
        let mut index = 1;
        while let Some(job) = self.waiting.get(index).copied() {
            let size = self.jobs[job].gpus as usize;
            let Some(selection) = self.choose(job, scheduler)? else {
                index += 1;
                continue;
            };
            let finish = self.finish_time(job, &selection, scheduler.now())?;
            let ends_before = finish <= reservation;
            if !ends_before && size > spare {
                index += 1;
                continue;
            }
            if !ends_before {
                spare -= size;
            }
            self.waiting.remove(index);
            self.start(job, selection, scheduler)?;
        }
        Ok(())
    }

    /// When the job can start if nothing else does, and how many GPUs are spare then.
    fn reservation(&self, job: usize) -> (Picoseconds, usize) {
        let needed = self.jobs[job].gpus as usize;
        let mut free = self.state.free().len();
        let mut running: Vec<(Picoseconds, usize)> = self
            .state
            .held()
            .iter()
            .filter_map(|(key, gpus)| {
                let record = self.records[key.parse::<usize>().ok()?].as_ref()?;
                let healthy = gpus.iter().filter(|gpu| !self.state.unhealthy().contains(**gpu));
                Some((record.finish, healthy.count()))
            })
            .collect();
        running.sort_unstable();
        // All jobs that end at one moment give their GPUs back before anything starts then.
        for ending in running.chunk_by(|a, b| a.0 == b.0) {
            free += ending.iter().map(|(_, gpus)| gpus).sum::<usize>();
            if free >= needed {
                return (ending[0].0, free - needed);
            }
        }
        (Picoseconds(u64::MAX), 0)
    }

    /// What the policy gives the job now. The hook is asked after every decision, since a
    /// long queue may have many, and within those that take long.
    fn choose(
        &self,
        job: usize,
        scheduler: &mut impl Scheduler<Event>,
    ) -> Result<Option<Selection>, SimulationError> {
        let request = Request { pattern: &self.patterns[job], sensitive: self.jobs[job].sensitive };
        let done = self.done();
        let mut go_on = || scheduler.ask(done);
        let mut effort = Effort::interruptible(&mut go_on);
        let selection = self.policy.choose(self.machine, &request, self.state.free(), &mut effort);
        if effort.is_stopped() || scheduler.ask(done).is_break() {
            return Err(self.interrupted());
        }
        Ok(selection)
    }

    fn finish_time(
        &self,
        job: usize,
        selection: &Selection,
        now: Picoseconds,
    ) -> Result<Picoseconds, SimulationError> {
        let sound = self.machine.sound_bandwidth(selection.chosen.gpus());
        let run_time = self.jobs[job].run_time(Bandwidth((sound * 1e9).round() as u64))?;
        now.checked_add(run_time).ok_or_else(|| SimulationError::TimeTooLong {
            what: format!("the end of job `{}`", shown(&self.jobs[job].name)),
            remedy: "lower its iterations or its arrival",
        })
    }

    fn start(
        &mut self,
        job: usize,
        selection: Selection,
        scheduler: &mut impl Scheduler<Event>,
    ) -> Result<(), SimulationError> {
        let now = scheduler.now();
        let finish = self.finish_time(job, &selection, now)?;
        let Selection { chosen, candidates, optimal, .. } = selection;
        self.state.allocate(&self.key(job), &chosen.placement)?;
        scheduler.schedule(finish, Event::Finish(job));
        let sound = self.machine.sound_bandwidth(chosen.gpus());
        let sound_bandwidth = (chosen.placement.len() > 1).then_some(sound);
        let ideal_aggregated_bandwidth = self.ideal(job, scheduler)?;
        self.records[job] = Some(JobRecord {
            job,
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

    fn ideal(
        &mut self,
        job: usize,
        scheduler: &mut impl Scheduler<Event>,
    ) -> Result<Bandwidth, SimulationError> {
        let pattern = &self.patterns[job];
        let key = (self.jobs[job].pattern.name(), pattern.size());
        if let Some(known) = self.ideal.get(&key) {
            return Ok(*known);
        }
        let idle = GpuSet::first(self.machine.gpu_count());
        let done = self.done();
        let mut go_on = || scheduler.ask(done);
        let mut effort = Effort::interruptible(&mut go_on);
        let best = self.machine.best(pattern, idle, Objective::Aggregated, &mut effort);
        if effort.is_stopped() {
            return Err(self.interrupted());
        }
        let most = best.map_or(Bandwidth(0), |selection| selection.chosen.aggregated_bandwidth);
        self.ideal.insert(key, most);
        Ok(most)
    }
}
