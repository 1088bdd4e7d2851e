//! Jobs as fluids: between one arrival or end and the next, each has a rate of iterations.
//!
//! The model: the jobs that run are fixed until one comes or goes. Where nobody else wants a job's
//! links at their full rate, an iteration takes the time that it takes alone.
//! [`time`](crate::collectives::time) says that time for its plan. Other jobs together want more of
//! a link than it has. For them, computing and moving the gradients are played in turns for some
//! iterations ([`lengths`]). The average time of one is its length until the next change. Jobs are
//! looked at again only if they share something with the one that came or went. So are jobs that
//! depend on these in turn, as long as all are few. Where many hang together from server to server,
//! an event at one end hardly reaches the other.
//!
//! Images that are copied from hosts are a phase of their own. Buckets that are reduced while
//! others are computed are one phase. It lasts from the first on its way to the end of the last, at
//! the rate that they have in that time.
//!
//! Where a PCIe bus has an arbiter, what goes first over it takes what it can, and the rest what that leaves ([`arbiter`]).
//!
//! The model leaves out the steps of a collective, which all move at one steady rate here. Of many
//! jobs that hang together, it leaves out those far from the one that came or went. It leaves out
//! how long two jobs need to find their rhythm beside each other, beyond the iterations that are
//! averaged. It leaves out all that flows leave out: packets, buffers and a fabric's own switches.

mod arbiter;
mod iteration;
mod lengths;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use self::arbiter::Arbiter;
use self::iteration::{Iteration, Phase};
use self::lengths::{FEW, WHOLE, lengths};
use super::PlayedOutcome;
use super::allocations::{AllocationPlans, Ranks};
use super::deadlines::CopyDeadline;
use super::exchange::Exchange;
use super::failing::{Failing, Heard};
use super::iteration::ProgramsBySettings;
use super::loads::{ChannelLoads, add, add_exchange, add_ways, of_schedule};
use super::plans::{PlannerChoice, PlanningFault, as_placed};
use super::speeds::at_rate;
use super::ways::{Ways, Wirings};
use super::{host_ways, sites};
use crate::engine::{Engine, Hook, Model, Scheduler};
use crate::network::{
    ChannelShares, GpuSite, HostChannels, LoadHistory, PcieSettings, ResourceId, Route, RouteClass,
    Routes,
};
use crate::simulation::cluster::Cluster;
use crate::simulation::error::SimulationError;
use crate::simulation::job::Job;
use crate::simulation::queue::{Ends, Queue, Sharing};
use crate::system::System;
use crate::system::fabric::ChannelId;
use crate::units::{Bytes, Picoseconds};

/// Plays the jobs on an idle system.
pub(super) fn play(
    (cluster, bus): (&Cluster, Option<&PcieSettings>),
    (planner, programs): (PlannerChoice, ProgramsBySettings),
    sharing: Sharing<'_>,
    jobs: &[Job],
    hook: Hook<'_>,
) -> Result<PlayedOutcome, SimulationError> {
    let PlannerChoice::Plan(by) = planner else { return Err(SimulationError::NoFluid) };
    let system = &*cluster.system;
    let wirings = Wirings::of(cluster, sharing.states)?;
    let ways = Ways::over(&wirings);
    let (wiring, routes) = (ways.whole().wiring(), ways.whole());
    if let Some(job) = jobs.iter().find(|job| !job.is_fluid()) {
        return Err(SimulationError::NotFluid { job: job.name.clone() });
    }
    let copies = programs.copies() || jobs.iter().any(|job| !job.is_workload());
    let sites = if copies { sites(system, wiring)? } else { Vec::new() };
    let mut fluid = Fluid {
        system,
        arbiter: Arbiter::of(bus),
        deadline: CopyDeadline::of(bus.filter(|_| copies), jobs)?,
        programs,
        sites,
        jobs,
        queue: Queue::on(system, jobs, sharing, Ends::Played)?,
        plans: AllocationPlans::new(by),
        users: vec![Vec::new(); routes.capacities().len()],
        tight: vec![false; routes.capacities().len()],
        channels: HostChannels::new(routes, bus),
        shares: ChannelShares::new(system, routes),
        history: LoadHistory::default(),
        kept: sharing.keeps_loads.then(|| vec![ChannelLoads::default(); jobs.len()]),
        routes,
        ways: &ways,
        failing: sharing.states.map(|states| Failing::new(states, jobs.len())),
        of_state: BTreeMap::new(),
        running: BTreeMap::new(),
        computed: vec![0.0; jobs.len()],
        ends: BTreeSet::new(),
        reached: BTreeSet::new(),
    };
    let mut engine = Engine::new(hook);
    for (time, state) in sharing.states.into_iter().flat_map(|states| &states.changes) {
        engine.schedule(*time, Event::Change(*state));
    }
    for (index, job) in jobs.iter().enumerate() {
        engine.schedule(job.arrival, Event::Arrival(index));
    }
    engine.run(&mut fluid)?;
    fluid.queue.check_all_started()?;
    let others = fluid.of_state.values().map(AllocationPlans::made);
    let plans = fluid.plans.made() + others.sum::<usize>();
    let endured = fluid.failing.map(|failing| failing.endured).unwrap_or_default();
    let records = fluid.queue.into_records();
    let exposed = records.iter().map(|record| {
        let lost = endured.get(record.job).map_or(0, |it| it.lost.0);
        let run_time = (record.finish.0 - record.start.0 - lost) as f64;
        (run_time > 0.0).then(|| (1.0 - fluid.computed[record.job] / run_time).max(0.0))
    });
    let exposed = exposed.collect();
    let loads = fluid.history.finished(fluid.shares.inner());
    let of_iterations = fluid.kept.unwrap_or_default();
    Ok(PlayedOutcome { records, plans, exposed, loads, of_iterations, endured })
}

/// Says what happens to shared servers.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// The system is in another state.
    Change(usize),
    Arrival(usize),
}

/// A job that runs.
struct Running {
    iteration: Iteration,
    /// Holds the loads of one.
    loads: ChannelLoads,
    /// Gives the rest at `since`, in parts of an iteration of [`WHOLE`].
    left: u128,
    since: Picoseconds,
    /// How long an iteration takes since then.
    length: Picoseconds,
    end: Picoseconds,
}

impl Running {
    /// Takes up what has been done until now.
    fn settle(&mut self, now: Picoseconds, history: &mut LoadHistory) {
        let elapsed = u128::from(now.0 - self.since.0);
        let done = elapsed * u128::from(WHOLE) / u128::from(self.length.0);
        self.advance(done.min(self.left), now, history);
    }

    /// Does more of it, in parts of an iteration.
    fn advance(&mut self, done: u128, now: Picoseconds, history: &mut LoadHistory) {
        if done > 0 {
            let iterations = done as f64 / WHOLE as f64;
            for (channel, bytes) in &self.loads {
                history.add(*channel, (self.since, now), bytes * iterations);
            }
        }
        self.left -= done;
        self.since = now;
    }

    /// The part of its iteration that it has done.
    fn done(&self) -> u64 {
        let whole = u128::from(WHOLE);
        ((whole - self.left % whole) % whole) as u64
    }

    /// When nothing is left at this length; None where that is beyond what is counted.
    fn end_with(&self, length: Picoseconds) -> Option<Picoseconds> {
        let span = self.left.checked_mul(u128::from(length.0))?.div_ceil(u128::from(WHOLE));
        self.since.checked_add(Picoseconds(u64::try_from(span).ok()?))
    }
}

/// Shared servers on which each job has a rate.
struct Fluid<'a, 'r> {
    system: &'a System,
    /// Who goes first over PCIe, if not all share it evenly.
    arbiter: Option<Arbiter>,
    deadline: Option<CopyDeadline>,
    programs: ProgramsBySettings,
    /// Where each GPU sits, if images are copied.
    sites: Vec<GpuSite>,
    jobs: &'a [Job],
    queue: Queue<'a>,
    plans: AllocationPlans,
    routes: &'a Routes<'r>,
    ways: &'a Ways<'r>,
    /// Follows failures, if there may be any.
    failing: Option<Failing<'a>>,
    /// Keeps the plans of other states of the system.
    of_state: BTreeMap<usize, AllocationPlans>,
    /// Gives the load of channels.
    channels: HostChannels,
    /// Finds their channels.
    shares: ChannelShares,
    history: LoadHistory,
    /// Holds the loads of an iteration of each job that has ended, if these are kept.
    kept: Option<Vec<ChannelLoads>>,
    running: BTreeMap<usize, Running>,
    /// Says how long each job that has started computes in all, in picoseconds.
    computed: Vec<f64>,
    /// Lists the jobs that use each resource.
    users: Vec<Vec<usize>>,
    /// Whether these want more of it than it has.
    tight: Vec<bool>,
    ends: BTreeSet<(Picoseconds, usize)>,
    /// Lists jobs whose lengths a change reaches.
    reached: BTreeSet<usize>,
}

impl Model for Fluid<'_, '_> {
    type Event = Event;
    type Error = SimulationError;
    const SETTLES: bool = true;

    fn handle(
        &mut self,
        event: Event,
        scheduler: &mut impl Scheduler<Event>,
    ) -> Result<(), SimulationError> {
        match event {
            Event::Arrival(job) => self.queue.arrive(job),
            // Jobs that end now have ended before.
            Event::Change(state) => {
                let reached = self.end_all(scheduler.now())?;
                self.reached.extend(reached);
                self.change(state, scheduler.now())?;
            }
        }
        Ok(())
    }

    /// Ends what ends now, starts what may start, and finds the rates of all that this reaches.
    fn settle(
        &mut self,
        scheduler: &mut impl Scheduler<Event>,
    ) -> Result<Option<Picoseconds>, SimulationError> {
        let now = scheduler.now();
        let mut reached = std::mem::take(&mut self.reached);
        reached.append(&mut self.end_all(now)?);
        for job in self.queue.start_jobs(scheduler)? {
            self.start(job, now)?;
            reached.append(&mut self.next_to(job));
        }
        self.find_lengths(reached, now)?;
        match scheduler.ask(self.done()) {
            ControlFlow::Continue(()) => Ok(self.ends.first().map(|(time, _)| *time)),
            ControlFlow::Break(()) => Err(self.queue.interrupted()),
        }
    }

    fn done(&self) -> (u64, u64) {
        self.queue.done()
    }
}

impl<'a> Fluid<'a, '_> {
    /// Ends what ends now; returns the jobs that this reaches.
    fn end_all(&mut self, now: Picoseconds) -> Result<BTreeSet<usize>, SimulationError> {
        let mut reached = BTreeSet::new();
        while let Some((time, job)) = self.ends.first().copied()
            && time == now
        {
            reached.append(&mut self.next_to(job));
            self.end(job);
            if let Some(failing) = &mut self.failing {
                let first = self.queue.record(job).map_or(now, |record| record.start);
                failing.end((job, &self.jobs[job]), first, now);
            }
            self.queue.finish(job, now)?;
        }
        Ok(reached)
    }

    /// Another state of the system holds. Jobs that it touches lose their GPUs, or are planned anew.
    fn change(&mut self, state: usize, now: Picoseconds) -> Result<(), SimulationError> {
        let Some(failing) = &mut self.failing else { return Ok(()) };
        let before = failing.now().0;
        let states = failing.change(state);
        self.queue.change(states)?;
        self.routes = self.ways.of(state);
        let plans = self.of_state.remove(&state).unwrap_or_else(|| self.plans.of_none());
        self.of_state.insert(before, std::mem::replace(&mut self.plans, plans));
        let mut touched = Vec::new();
        for (job, running) in &self.running {
            let record = self.queue.record(*job).expect("it has its GPUs");
            let uses = |lost: &BTreeSet<ChannelId>| {
                let lost = self.ways.resources(lost);
                running.iteration.peaks.iter().any(|(resource, _)| lost.contains(resource))
            };
            touched.extend(
                failing.heard(*job, record, (states, self.system), uses).map(|it| (*job, it)),
            );
        }
        for (job, heard) in touched {
            let mut near = self.next_to(job);
            near.remove(&job);
            self.reached.append(&mut near);
            self.interrupt(job, heard, now)?;
        }
        Ok(())
    }

    /// A job that runs loses its GPUs, or goes on by another plan.
    fn interrupt(
        &mut self,
        job: usize,
        heard: Heard,
        now: Picoseconds,
    ) -> Result<(), SimulationError> {
        let mut running = self.running.remove(&job).expect("it runs");
        self.ends.remove(&(running.end, job));
        running.settle(now, &mut self.history);
        for (resource, _) in &running.iteration.peaks {
            self.users[*resource].retain(|user| *user != job);
            self.tight[*resource] = self.is_tight(*resource);
        }
        let failing = self.failing.as_mut().expect("something fails");
        let of = (job, &self.jobs[job]);
        let left = running.left.div_ceil(u128::from(WHOLE)) as u64;
        failing.cut(of, heard, failing.left(job, of.1) - left, now);
        match heard {
            Heard::Lost => self.queue.lose(job, now),
            Heard::Replanned => {
                self.start(job, now)?;
                // It goes on within its iteration.
                let again = self.running.get_mut(&job).expect("it has just begun");
                again.left = running.left;
                self.reached.insert(job);
                Ok(())
            }
        }
    }

    /// Gives what is left of the system.
    fn left(&self) -> &'a System {
        self.failing.as_ref().map_or(self.system, |it| &*it.now().1.cluster.system)
    }

    /// A job that has got its GPUs begins.
    fn start(&mut self, job: usize, now: Picoseconds) -> Result<(), SimulationError> {
        let of = &self.jobs[job];
        let iterations = match &mut self.failing {
            None => of.iterations,
            Some(failing) => {
                failing.start(job, now);
                failing.left(job, of)
            }
        };
        let planning =
            |fault| SimulationError::Planning { job: of.name.clone(), fault: Box::new(fault) };
        let mut loads = BTreeMap::new();
        let iteration = self.iteration(job, &mut loads)?.map_err(planning)?;
        let loads: ChannelLoads = loads.into_iter().collect();
        let left = u128::from(iterations) * u128::from(WHOLE);
        let length = iteration.alone();
        let started = Running { iteration, loads, left, since: now, length, end: now };
        self.running.insert(job, started);
        for index in 0..self.running[&job].iteration.peaks.len() {
            let (resource, _) = self.running[&job].iteration.peaks[index];
            self.users[resource].push(job);
            self.tight[resource] = self.is_tight(resource);
        }
        Ok(())
    }

    fn iteration(
        &mut self,
        job: usize,
        loads: &mut BTreeMap<ChannelId, f64>,
    ) -> Result<Result<Iteration, PlanningFault>, SimulationError> {
        let record = self.queue.record(job).expect("it has just got its GPUs");
        let is_exchange = self.jobs[job].is_exchange();
        let left = self.left();
        let ranks = (!is_exchange).then(|| self.plans.ranks(left, &record.parts));
        let placed = || as_placed(self.system, &record.parts);
        let gpus = ranks.as_ref().map_or_else(placed, |ranks| Arc::clone(&ranks.gpus));
        // A model's ranks are where the job got their GPUs, in whatever order these reduce.
        let steps = self.programs.steps(&self.jobs[job], self.system, &placed())?;
        // All wait for the slowest.
        let slowest = self.programs.of(&self.jobs[job]).slowest(self.system, &steps, &gpus);
        let computed = steps.buckets.iter().map(|(compute, _)| *compute).chain([steps.update]);
        let computed = computed.map(|compute| at_rate(compute, slowest).0 as f64).sum::<f64>();
        self.computed[job] = computed * self.jobs[job].iterations as f64;
        let mut phases = Vec::new();
        if steps.copied.0 > 0 {
            phases.push(self.copying(job, steps.copied, &gpus, loads)?);
        }
        let computed =
            steps.buckets.iter().map(|(compute, size)| (at_rate(*compute, slowest), *size));
        let computed: Vec<(Picoseconds, Bytes)> = computed.collect();
        match (&steps.exchange, &ranks) {
            (Some(exchange), _) => {
                let device = |rank: u32| self.routes.wiring().gpu(gpus[rank as usize]);
                for (_, size) in &computed {
                    let moved = (exchange, *size);
                    add_exchange(moved, self.routes, device, &self.shares, loads);
                }
                phases.push(self.exchanging(&computed, exchange, &gpus));
            }
            (None, Some(ranks)) if gpus.len() > 1 && !computed.is_empty() => {
                match self.reducing(&computed, ranks, loads) {
                    Ok(phase) => phases.push(phase),
                    Err(fault) => return Ok(Err(fault)),
                }
            }
            _ => phases.extend(computed.iter().map(|(compute, _)| Phase::quiet(*compute))),
        }
        if steps.update.0 > 0 {
            phases.push(Phase::quiet(at_rate(steps.update, slowest)));
        }
        Ok(Ok(Iteration::new(phases)))
    }

    /// Gives the phase in which these ranks compute and reduce by their plans.
    fn reducing(
        &mut self,
        computed: &[(Picoseconds, Bytes)],
        ranks: &Ranks,
        loads: &mut BTreeMap<ChannelId, f64>,
    ) -> Result<Phase, PlanningFault> {
        let left = self.left();
        let mut buckets = Vec::with_capacity(computed.len());
        for (compute, size) in computed {
            let plan = self.plans.of(left, ranks, *size)?;
            buckets.push((*compute, *size, plan));
        }
        let mut known: BTreeMap<Bytes, ChannelLoads> = BTreeMap::new();
        let shares = &self.shares;
        let phase =
            Phase::reducing(&buckets, (left, &self.channels), self.routes, |size, lowered| {
                known.insert(size, of_schedule(lowered, size, shares));
            })?;
        for (_, size) in computed {
            add(&known[size], loads);
        }
        Ok(phase)
    }

    /// Gives the phase in which these GPUs compute and exchange along the edges of a pattern.
    fn exchanging(
        &self,
        computed: &[(Picoseconds, Bytes)],
        exchange: &Exchange,
        gpus: &[usize],
    ) -> Phase {
        let routes = self.routes;
        let device = |rank: u32| routes.wiring().gpu(gpus[rank as usize]);
        let copies = |size: &Bytes| -> Vec<(Route, Bytes)> {
            let parts = exchange.parts(*size).filter_map(|([from, to], bytes)| {
                let mut way = routes.route(device(from), device(to), RouteClass::Any)?;
                way.uses.iter_mut().for_each(|part| *part = self.channels.of_copy(*part));
                Some((way, bytes))
            });
            parts.collect()
        };
        Phase::exchanging(computed, copies, self.channels.capacities())
    }

    /// Returns the images on their way to all GPUs of a job.
    fn copying(
        &self,
        index: usize,
        size: Bytes,
        gpus: &[usize],
        loads: &mut BTreeMap<ChannelId, f64>,
    ) -> Result<Phase, SimulationError> {
        let job = || self.jobs[index].name.clone();
        let ways = host_ways(gpus.iter().map(|gpu| self.sites[*gpu]), self.routes);
        let mut ways = ways.ok_or_else(|| SimulationError::NoHost { job: job() })?;
        add_ways(&ways, size, &self.shares, loads);
        for part in ways.iter_mut().flat_map(|way| &mut way.uses) {
            *part = self.channels.of_copy(*part);
        }
        let own = self.jobs[index].own().and_then(|written| written.deadline);
        let within = own.or_else(|| self.deadline.and_then(|deadline| deadline.of_copies(size)));
        let ways: Vec<(Route, Bytes)> = ways.into_iter().map(|way| (way, size)).collect();
        Ok(Phase::copying((size, within), &ways, self.channels.capacities()))
    }

    /// A job gives its links back.
    fn end(&mut self, job: usize) {
        let Some(mut ended) = self.running.remove(&job) else { return };
        ended.advance(ended.left, ended.end, &mut self.history);
        if let Some(kept) = &mut self.kept {
            kept[job] = std::mem::take(&mut ended.loads);
        }
        self.ends.remove(&(ended.end, job));
        for (resource, _) in ended.iteration.peaks {
            self.users[resource].retain(|user| *user != job);
            self.tight[resource] = self.is_tight(resource);
        }
    }

    /// Whether the jobs of a resource want more of it than it has.
    fn is_tight(&self, resource: ResourceId) -> bool {
        let peak = |job: &usize| self.running[job].iteration.peak(resource);
        let users = &self.users[resource];
        let wanted: f64 = users.iter().map(peak).sum();
        users.len() > 1 && wanted > self.channels.capacities()[resource].0 as f64 * ROUNDED
    }

    /// The job, and those that want more with it of something than there is.
    fn next_to(&self, job: usize) -> BTreeSet<usize> {
        let resources = self.running[&job].iteration.peaks.iter().map(|(resource, _)| *resource);
        let tight = resources.filter(|resource| self.tight[*resource]);
        let found = tight.flat_map(|resource| self.users[resource].iter().copied());
        found.chain([job]).collect()
    }

    /// Returns these jobs, and up to `others` others that depend on them, the nearest first.
    fn beside(&self, jobs: impl Iterator<Item = usize>, others: usize) -> Vec<usize> {
        let mut found: Vec<usize> = jobs.collect();
        let mut known: BTreeSet<usize> = found.iter().copied().collect();
        let most = found.len().saturating_add(others);
        let mut next = 0;
        while next < found.len() && found.len() < most {
            let near = self.next_to(found[next]);
            found.extend(near.into_iter().filter(|other| known.insert(*other)));
            next += 1;
        }
        found.truncate(most);
        found
    }

    /// Jobs that are played together because one of them has been reached: those whose lengths are to be found, and others
    /// beside them. All that depend on one another where these are few.
    fn together(&self, job: usize, reached: &BTreeSet<usize>) -> (Vec<usize>, Vec<usize>) {
        let mut all = self.beside([job].into_iter(), usize::MAX);
        if all.len() <= FEW {
            all.sort_unstable();
            return (all, Vec::new());
        }
        let mut looked_at: Vec<usize> =
            all.into_iter().filter(|other| *other == job || reached.contains(other)).collect();
        looked_at.sort_unstable();
        let mut beside = self.beside(looked_at.iter().copied(), FEW);
        let others = beside.split_off(looked_at.len());
        (looked_at, others)
    }

    /// Finds the lengths of all that depend on these. Some of these may have ended.
    fn find_lengths(
        &mut self,
        mut reached: BTreeSet<usize>,
        now: Picoseconds,
    ) -> Result<(), SimulationError> {
        while let Some(job) = reached.pop_first() {
            if !self.running.contains_key(&job) {
                continue;
            }
            let (looked_at, others) = self.together(job, &reached);
            for job in looked_at.iter().chain(&others) {
                let running = self.running.get_mut(job).expect("it runs");
                running.settle(now, &mut self.history);
            }
            let own = |job: &usize| {
                let running = &self.running[job];
                (&running.iteration, running.done())
            };
            let phases: Vec<(&Iteration, u64)> = looked_at.iter().chain(&others).map(own).collect();
            let lengths = lengths(&phases, self.channels.capacities(), self.arbiter);
            for (job, length) in looked_at.iter().zip(lengths) {
                reached.remove(job);
                let running = self.running.get_mut(job).expect("it runs");
                self.ends.remove(&(running.end, *job));
                running.length = length;
                let end = running.end_with(length);
                running.end =
                    end.ok_or_else(|| SimulationError::end_too_late(&self.jobs[*job].name))?;
                self.ends.insert((running.end, *job));
            }
        }
        Ok(())
    }
}

/// Jobs may want this much more of a link than it has, for rounding.
const ROUNDED: f64 = 1.0 + 1e-9;
