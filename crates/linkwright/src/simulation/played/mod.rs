//! Jobs whose run time is that of their programs, played on the real wiring.
//!
//! The model: an allocated job's workload becomes a program of one iteration
//! ([`IterationSettings`]), and its collectives are planned for the GPUs that it got. The
//! [runtime](crate::runtime) plays every message of every iteration beside those of all other jobs,
//! over the flows or the packets of the one system. The job's end gives its GPUs back. As fluids,
//! jobs have a rate of iterations between one arrival or end and the next ([`fluid`]).
//!
//! As flows, a planned collective runs as a kernel under NCCL's protocol, and takes alone as long as
//! [`time`](crate::collectives::time) says for the same chunks. As packets, and by MPI's algorithms, it
//! is messages under MPI's protocol.
//!
//! A job whose pattern stands for no all-reduce copies along its edges in its place ([`exchange`]).
//!
//! An iteration computes and then reduces all gradients. [`IterationSettings`] adds copies from
//! hosts, the speed of the GPUs that a job got, and gradients in buckets while others are computed.

mod allocations;
mod classes;
mod deadlines;
mod exchange;
mod failing;
mod fluid;
mod iteration;
mod loads;
mod lowering;
mod model_steps;
mod near;
mod own_speeds;
mod place_class;
mod plans;
mod relocation;
mod repeats;
mod speeds;
mod ways;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::sync::Arc;

pub use plans::{PlannerChoice, PlanningFault};

pub use iteration::{IterationSettings, LEAST_BUCKET};
pub use own_speeds::{OwnSpeed, SpeedBasis, own_speeds};
pub(in crate::simulation) use place_class::{PlaceClass, PlaceClasses};
pub use speeds::{GpuSpeed, MeasuredTimes};

use self::deadlines::CopyDeadline;
use self::failing::{Failing, Heard};
use self::iteration::{ProgramsBySettings, Steps};
use self::loads::ChannelLoads;
use self::lowering::DayLowering;
use self::plans::{Carries, Plans, as_placed, unplanned};
use self::repeats::Repeats;
use self::ways::{Ways, Wirings};
use super::cluster::{Cluster, ClusterError, Fidelity};
use super::error::SimulationError;
use super::failures::Endured;
use super::job::Job;
use super::queue::{Ends, JobRecord, Queue, Sharing};
use super::written::Task;
use crate::engine::{Engine, EngineError, Hook, Model, Scheduler};
use crate::network::packet::SettingsError;
use crate::network::{
    Connections, CountsLoads, GpuSite, LinkLoads, PacketNetwork, ResourceId, Route, RouteClass,
    Routes, Sampled, Transport as _, gpu_sites,
};
use crate::runtime::{self, JobOutcome, Runtime, RuntimeError, RuntimeEvent};
use crate::system::fabric::ChannelId;
use crate::system::views::wiring::WiredId;
use crate::system::{System, Wiring};
use crate::units::Picoseconds;

/// The most iterations of a job that are played one by one.
pub const MOST_PLAYED_ITERATIONS: u64 = u32::MAX as u64;

/// Says what becomes of jobs under one policy.
#[derive(Debug, Clone, PartialEq)]
pub struct PlayedOutcome {
    /// Lists each job, in the order of the list.
    pub records: Vec<JobRecord>,
    /// How many collectives were planned; allocations of one class share a plan.
    pub plans: usize,
    /// Is the share of each job's run time in which it only communicated, by record. A job without time has none.
    pub exposed: Vec<Option<f64>>,
    /// Holds the loads of channels.
    pub loads: LinkLoads,
    /// Holds the loads of an iteration of each job, in the order of the list, if these were to be kept. Jobs that nobody
    /// knows them of have none.
    pub of_iterations: Vec<Box<[(ChannelId, f64)]>>,
    /// Holds what failures cost each job, in the order of the list, if anything may fail.
    pub endured: Vec<Endured>,
}

/// Plays the jobs on an idle system, iteration by iteration. As flows, an iteration that begins as one before did,
/// beside the same neighbours, takes as long and is not played ([`repeats`]).
///
/// # Errors
/// Refuses two jobs of one name, and a job that asks for more GPUs than the system has. It refuses
/// a job of more than 4,294,967,295 iterations that are played one by one. It fails for a plan that
/// cannot be had, MPI's rules as fluids, and a GPU's own speed that is not known. It fails for
/// copies to a GPU without a host, a run that the hook ended, and a time beyond 213 days.
pub fn play(
    cluster: &Cluster,
    planned: (PlannerChoice, IterationSettings),
    sharing: Sharing<'_>,
    jobs: &[Job],
    hook: Hook<'_>,
) -> Result<PlayedOutcome, SimulationError> {
    play_iterations(Iterations::Unlike, cluster, planned, sharing, jobs, hook)
}

/// Which iterations are played as flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Iterations {
    /// Every one, which takes as much longer as jobs have iterations.
    All,
    /// Those that do not begin as one before did, where that can be told.
    Unlike,
}

/// As [`play`], which has [`Iterations::Unlike`].
///
/// # Errors
/// Fails as [`play`] does.
pub fn play_iterations(
    iterations: Iterations,
    cluster: &Cluster,
    (planner, settings): (PlannerChoice, IterationSettings),
    sharing: Sharing<'_>,
    jobs: &[Job],
    hook: Hook<'_>,
) -> Result<PlayedOutcome, SimulationError> {
    let Cluster { system, settings: of_packets, nic, arbitration, .. } = cluster;
    let longest = cluster.collectives.planned_message_size;
    let programs = ProgramsBySettings::new(cluster, settings, jobs)?;
    let bus = of_packets.pcie.as_ref();
    match cluster.fidelity {
        Fidelity::Fluid => fluid::play((cluster, bus), (planner, programs), sharing, jobs, hook),
        Fidelity::Flow => {
            let wirings = Wirings::of(cluster, sharing.states)?;
            let ways = Ways::over(&wirings);
            let (wiring, routes) = (ways.whole().wiring(), ways.whole());
            let gpus: Vec<usize> = (0..system.gpus() as usize).collect();
            let needs_sites = |job: &Job| !job.is_workload() || job.is_exchange();
            let needs_sites = programs.copies() || jobs.iter().any(needs_sites);
            let sites = if needs_sites { sites(system, wiring)? } else { Vec::new() };
            let mut network = Connections::over(routes, &gpus).with_sites(sites);
            network = network.counting_channels(system);
            if let Some(bus) = bus {
                let with_bus = network.with_bus(system, bus).map_err(SettingsError::from);
                network = with_bus.map_err(ClusterError::from)?;
            }
            let plans = Plans::new(planner, Some(routes), longest);
            let changes = sharing.states.into_iter().flat_map(|states| &states.changes);
            let arrivals = jobs.iter().map(|job| job.arrival);
            let events = arrivals.chain(changes.map(|(time, _)| *time));
            let repeats = (iterations == Iterations::Unlike && planner != PlannerChoice::Mpi)
                .then(|| Repeats::new(routes, bus, events));
            let of_day = (plans, programs, repeats);
            play_on((&mut network, Some(&ways)), cluster, of_day, sharing, jobs, hook)
        }
        Fidelity::Packet if sharing.states.is_some() => {
            Err(SimulationError::TimedFailures { played: "packets" })
        }
        Fidelity::Packet => {
            let routing = cluster.routing().map_err(ClusterError::from)?;
            let network = PacketNetwork::new(system, *of_packets, routing, *nic, *arbitration);
            let mut network = network.map_err(ClusterError::from)?;
            let plans = Plans::new(planner, None, longest);
            play_on((&mut network, None), cluster, (plans, programs, None), sharing, jobs, hook)
        }
    }
}

/// Says where GPUs sit, and names their hosts.
fn sites(system: &System, wiring: &Wiring) -> Result<Vec<GpuSite>, SimulationError> {
    Ok(gpu_sites(system, wiring).map_err(SettingsError::from).map_err(ClusterError::from)?)
}

/// The ways to GPUs from their hosts; None where one has none.
fn host_ways(sites: impl Iterator<Item = GpuSite>, routes: &Routes<'_>) -> Option<Vec<Route>> {
    let way = |site: GpuSite| {
        routes.route(site.host? as WiredId, site.device as WiredId, RouteClass::Any)
    };
    sites.map(way).collect()
}

/// Refuses jobs that could not be played, before any runs.
fn check_iterations(jobs: &[Job]) -> Result<(), SimulationError> {
    match jobs.iter().find(|job| !(1..=MOST_PLAYED_ITERATIONS).contains(&job.iterations)) {
        None => Ok(()),
        Some(job) => Err(SimulationError::TooManyIterations {
            job: job.name.clone(),
            iterations: job.iterations,
        }),
    }
}

fn play_on<'r, T: Carries<'r> + CountsLoads>(
    (network, ways): (&mut T, Option<&'r Ways<'r>>),
    cluster: &'r Cluster,
    (plans, programs, repeats): (Plans<'r>, ProgramsBySettings, Option<Repeats>),
    sharing: Sharing<'r>,
    jobs: &'r [Job],
    hook: Hook<'_>,
) -> Result<PlayedOutcome, SimulationError> {
    check_iterations(jobs)?;
    let system = &*cluster.system;
    let queue = Queue::on(system, jobs, sharing, Ends::Played)?;
    let routes = plans.routes();
    let lowering = DayLowering::new(plans, cluster);
    let mut network = Sampled::new(network);
    let runtime = Runtime::new(&mut network, system.gpus(), &[], cluster.protocol, lowering);
    let mut runtime = runtime.map_err(ClusterError::from)?;
    if repeats.is_some() {
        runtime.watch_rest();
    }
    let bus = cluster.settings.pcie.as_ref().filter(|_| programs.copies());
    let deadline = CopyDeadline::of(bus, jobs)?;
    let failing = sharing.states.map(|states| Failing::new(states, jobs.len()));
    let mut shared = Shared {
        system,
        failing,
        ways,
        cut: BTreeMap::new(),
        replanned: Vec::new(),
        links: BTreeMap::new(),
        jobs,
        queue,
        runtime,
        programs,
        deadline,
        routes,
        repeats,
        running: Vec::new(),
        loads: BTreeMap::new(),
        kept: sharing.keeps_loads.then(|| vec![ChannelLoads::default(); jobs.len()]),
        exposed: vec![(0.0, 0.0); jobs.len()],
        changed: false,
    };
    let mut engine = Engine::new(hook);
    for (time, state) in sharing.states.into_iter().flat_map(|states| &states.changes) {
        engine.schedule(*time, Event::Change(*state));
    }
    for (index, job) in jobs.iter().enumerate() {
        engine.schedule(job.arrival, Event::Arrival(index));
    }
    engine.run(&mut shared)?;
    shared.queue.check_all_started()?;
    let plans = shared.runtime.lowering_mut().plans.made();
    let endured = shared.failing.take().map(|failing| failing.endured).unwrap_or_default();
    let (records, exposed, kept) = shared.ended();
    let end = records.iter().map(|record| record.finish).max().unwrap_or_default();
    let loads = network.finished(end);
    let of_iterations = kept.unwrap_or_default();
    Ok(PlayedOutcome { records, plans, exposed, loads, of_iterations, endured })
}

/// Gives the loads of an iteration of a job of a variant.
fn iteration_loads<'r>(
    (network, lowering): (&impl Carries<'r>, &DayLowering<'r>),
    (steps, variant, gpus): (&Steps, u32, &[usize]),
    routes: &Routes<'_>,
) -> ChannelLoads {
    let mut loads = BTreeMap::new();
    let Some(shares) = network.channel_shares() else { return ChannelLoads::default() };
    if steps.copied.0 > 0 {
        let sites = gpus.iter().map(|gpu| network.gpu_site(*gpu as u32));
        let ways = host_ways(sites, routes).unwrap_or_default();
        loads::add_ways(&ways, steps.copied, shares, &mut loads);
    }
    let sizes = steps.buckets.iter().map(|(_, size)| *size);
    if let Some(exchange) = &steps.exchange {
        let device = |rank: u32| network.gpu_device(gpus[rank as usize] as u32) as WiredId;
        for size in sizes {
            loads::add_exchange((exchange, size), routes, device, shares, &mut loads);
        }
    } else {
        lowering.plans.add_loads(variant, sizes, &mut loads);
    }
    loads.into_iter().collect()
}

/// Gives the time in which a job's ranks only communicated, and all of their time.
fn exposed_time(outcome: &JobOutcome) -> (f64, f64) {
    let whole = outcome.time().0 as f64 * outcome.ranks.len() as f64;
    let exposed = outcome.ranks.iter().map(|rank| rank.exposed_communication.0 as f64).sum::<f64>();
    (exposed, whole)
}

/// Says what happens to shared servers, and to the programs `R` of their jobs.
#[derive(Debug, Clone, Copy)]
enum Event<R> {
    /// The system is in another state.
    Change(usize),
    Arrival(usize),
    Runtime(R),
}

/// Plays shared servers: the queue, and the programs of the jobs that run.
struct Shared<'n, 't, 'r, T: CountsLoads> {
    system: &'r System,
    /// Follows failures of parts, if the run has any.
    failing: Option<Failing<'r>>,
    /// The routes of each state, if the network has any.
    ways: Option<&'r Ways<'r>>,
    /// Holds for each that runs how a change reached it, and how many of its iterations it will not have.
    cut: BTreeMap<u32, (Heard, u32)>,
    /// Lists the jobs that go on by another plan.
    replanned: Vec<usize>,
    /// The links of each that runs, by its index in the runtime, as far as they are known.
    links: BTreeMap<u32, Option<BTreeSet<ResourceId>>>,
    jobs: &'r [Job],
    queue: Queue<'r>,
    runtime: Runtime<'n, Sampled<'t, T>, DayLowering<'r>>,
    programs: ProgramsBySettings,
    /// The deadline of copies, if a PCIe bus heeds any.
    deadline: Option<CopyDeadline>,
    /// Where connections are opened, if they are.
    routes: Option<&'r Routes<'r>>,
    /// Which jobs repeat their iterations, if any may.
    repeats: Option<Repeats>,
    /// The job of each that was admitted.
    running: Vec<usize>,
    /// Holds the loads of an iteration of each that runs, by its index in the runtime, if iterations may pass.
    loads: BTreeMap<u32, ChannelLoads>,
    /// Holds the same of each job that has ended, if that is kept.
    kept: Option<Vec<ChannelLoads>>,
    /// Holds the time of each job's ranks in which they only communicated, and all of their time.
    exposed: Vec<(f64, f64)>,
    /// Whether a job has arrived or ended since the queue was looked at.
    changed: bool,
}

impl<'r, T: Carries<'r> + CountsLoads> Model for Shared<'_, '_, 'r, T> {
    type Event = Event<RuntimeEvent<T::Event>>;
    type Error = SimulationError;
    const SETTLES: bool = true;

    #[inline]
    fn handle(
        &mut self,
        event: Self::Event,
        scheduler: &mut impl Scheduler<Self::Event>,
    ) -> Result<(), SimulationError> {
        match event {
            Event::Change(state) => self.change(state, scheduler.now()),
            Event::Arrival(job) => {
                self.queue.arrive(job);
                if let Some(repeats) = &mut self.repeats {
                    repeats.arrive();
                }
                self.changed = true;
                Ok(())
            }
            Event::Runtime(event) => {
                let mut part = Part { whole: scheduler, done: self.queue.done() };
                self.runtime.handle(event, &mut part).map_err(|error| self.fault(error))?;
                self.hear(scheduler.now())
            }
        }
    }

    /// All that ends or arrives now is known before anything starts.
    fn settle(
        &mut self,
        scheduler: &mut impl Scheduler<Self::Event>,
    ) -> Result<Option<Picoseconds>, SimulationError> {
        let mut part = Part { whole: scheduler, done: self.queue.done() };
        let own = self.runtime.settle(&mut part).map_err(|error| self.fault(error))?;
        self.hear(scheduler.now())?;
        if !std::mem::take(&mut self.changed) {
            self.repeat(scheduler.now());
            return Ok(own);
        }
        for job in std::mem::take(&mut self.replanned) {
            self.admit(job, scheduler)?;
        }
        for job in self.queue.start_jobs(scheduler)? {
            self.admit(job, scheduler)?;
        }
        self.repeat(scheduler.now());
        match scheduler.ask(self.done()) {
            ControlFlow::Continue(()) => Ok(own),
            ControlFlow::Break(()) => Err(self.queue.interrupted()),
        }
    }

    fn at_rest(&self, now: Picoseconds) -> Result<(), SimulationError> {
        self.runtime.at_rest(now).map_err(|error| self.fault(error))
    }

    fn done(&self) -> (u64, u64) {
        self.queue.done()
    }
}

impl<'r, T: Carries<'r> + CountsLoads> Shared<'_, '_, 'r, T> {
    /// Gives the records of jobs, the share of each one's run time in which it only communicated, and the loads that
    /// were kept.
    fn ended(self) -> (Vec<JobRecord>, Vec<Option<f64>>, Option<Vec<ChannelLoads>>) {
        let records = self.queue.into_records();
        let share = |(exposed, whole): (f64, f64)| (whole > 0.0).then(|| exposed / whole);
        let exposed = records.iter().map(|record| share(self.exposed[record.job])).collect();
        (records, exposed, self.kept)
    }

    /// Takes up which programs have ended.
    fn hear(&mut self, now: Picoseconds) -> Result<(), SimulationError> {
        while let Some(index) = self.runtime.next_end() {
            let job = self.running[index as usize];
            let loads = self.loads.remove(&index);
            if let (Some(kept), Some(loads)) = (&mut self.kept, loads) {
                kept[job] = loads;
            }
            self.links.remove(&index);
            let (exposed, whole) = exposed_time(&self.runtime.take_outcome(index));
            self.exposed[job].0 += exposed;
            self.exposed[job].1 += whole;
            self.end_try(index, now)?;
            if let Some(repeats) = &mut self.repeats {
                repeats.end(index, &self.runtime, now);
            }
            self.changed = true;
        }
        Ok(())
    }

    /// A job has ended, or a try of it.
    fn end_try(&mut self, index: u32, now: Picoseconds) -> Result<(), SimulationError> {
        let job = self.running[index as usize];
        let Some(failing) = &mut self.failing else { return self.queue.finish(job, now) };
        let of = (job, &self.jobs[job]);
        let Some((heard, undone)) = self.cut.remove(&index) else {
            let first = self.queue.record(job).map_or(now, |record| record.start);
            failing.end(of, first, now);
            return self.queue.finish(job, now);
        };
        // The iteration in which a job loses its GPUs does not count.
        let in_vain = u64::from(heard == Heard::Lost);
        let done = (failing.left(job, of.1) - u64::from(undone)).saturating_sub(in_vain);
        failing.cut(of, heard, done, now);
        match heard {
            Heard::Lost => self.queue.lose(job, now)?,
            Heard::Replanned => self.replanned.push(job),
        }
        Ok(())
    }

    /// Another state of the system holds. Jobs hear of it at the ends of their iterations.
    fn change(&mut self, state: usize, now: Picoseconds) -> Result<(), SimulationError> {
        let (Some(failing), Some(ways)) = (&mut self.failing, self.ways) else { return Ok(()) };
        let states = failing.change(state);
        self.queue.change(states)?;
        let routes = ways.of(state);
        let (network, lowering) = self.runtime.planning();
        network.network.reroute(routes);
        lowering.enter((state, &states[1].cluster), routes);
        self.routes = Some(routes);
        if let Some(repeats) = &mut self.repeats {
            repeats.arrive();
        }
        for (index, links) in &self.links {
            let job = self.running[*index as usize];
            let record = self.queue.record(job).expect("it has its GPUs");
            let uses = |lost: &BTreeSet<ChannelId>| {
                links.as_ref().is_none_or(|links| !ways.resources(lost).is_disjoint(links))
            };
            let heard = failing.heard(job, record, (states, self.system), uses);
            let Some(heard) = heard else { continue };
            let undone = self.runtime.stop(*index);
            let known = self.cut.entry(*index).or_insert((heard, 0));
            known.1 += undone;
            if heard == Heard::Lost {
                known.0 = heard;
            } else if *known == (Heard::Replanned, 0) {
                // It is in its last iteration.
                self.cut.remove(index);
            }
            if let Some(repeats) = &mut self.repeats {
                repeats.change(*index, &self.runtime, now);
            }
        }
        // Some have just come to the end of an iteration, and would go on where nothing is any more.
        for job in std::mem::take(&mut self.replanned) {
            let record = self.queue.record(job).expect("it has its GPUs");
            let heard = failing.heard(job, record, (states, self.system), |_| false);
            if heard == Some(Heard::Lost) {
                failing.restart((job, &self.jobs[job]));
                self.queue.lose(job, now)?;
            } else {
                self.replanned.push(job);
            }
        }
        self.changed = true;
        Ok(())
    }

    /// Lets iterations pass that are as those before.
    fn repeat(&mut self, now: Picoseconds) {
        let Some(repeats) = &mut self.repeats else { return };
        while let Some(job) = self.runtime.next_rested() {
            let Some(passed) = repeats.rested(job, &mut self.runtime, now) else { continue };
            let (network, _) = self.runtime.planning();
            for (job, iterations) in passed.iterations {
                for (channel, bytes) in self.loads.get(&job).into_iter().flatten() {
                    network.add(*channel, passed.span, bytes * iterations as f64);
                }
            }
        }
    }

    /// A job begins, or goes on; gives what is left of the system, and how many iterations it has to do.
    fn begin(&mut self, job: usize, now: Picoseconds) -> (&'r System, NonZeroU32) {
        let of = &self.jobs[job];
        let (system, left) = match &mut self.failing {
            None => (self.system, of.iterations),
            Some(failing) => {
                failing.start(job, now);
                (&*failing.now().1.cluster.system, failing.left(job, of))
            }
        };
        let iterations = u32::try_from(left).ok().and_then(NonZeroU32::new);
        (system, iterations.expect("the jobs were checked before the run"))
    }

    /// Lets the program of a job run on the GPUs that it was given.
    fn admit(
        &mut self,
        job: usize,
        scheduler: &mut impl Scheduler<Event<RuntimeEvent<T::Event>>>,
    ) -> Result<(), SimulationError> {
        let of = &self.jobs[job];
        if !of.is_fluid() {
            return self.admit_program(job, scheduler);
        }
        let (left, iterations) = self.begin(job, scheduler.now());
        let record = self.queue.record(job).expect("it has just got its GPUs");
        let (network, lowering) = self.runtime.planning();
        let placed = as_placed(self.system, &record.parts);
        let steps = self.programs.steps(of, self.system, &placed)?;
        let sizes = steps.buckets.iter().map(|(_, size)| *size);
        let planned = match &steps.exchange {
            Some(_) => Ok(unplanned(placed)),
            None => lowering.plans.of_allocation(network, left, &record.parts, sizes),
        };
        let (gpus, variant) = planned.map_err(|fault| SimulationError::Planning {
            job: of.name.clone(),
            fault: Box::new(fault),
        })?;
        lowering.plans.admit(variant);
        let on = gpus.iter().map(|gpu| *gpu as u32);
        let program = self.programs.of(of).of(self.system, &of.workload, &steps, &gpus);
        let own = of.own();
        let default = self.deadline.and_then(|deadline| deadline.of_copies(steps.copied));
        let job_of_runtime = runtime::ProgramJob {
            name: of.name.clone(),
            iterations,
            start: scheduler.now(),
            priority: own.map_or(0, |written| written.priority),
            deadline: own.and_then(|written| written.deadline).or(default),
            copies_at_once: steps.exchange.as_ref().and_then(|it| NonZeroU32::new(it.ranks())),
            ..runtime::ProgramJob::new(&program, on.collect())
        };
        let mut part = Part { whole: scheduler, done: self.queue.done() };
        let admitted = self.runtime.admit(&job_of_runtime, &mut part);
        let index = admitted.map_err(|error| self.fault(error))?;
        self.running.push(job);
        self.links.insert(index, None);
        if let Some(repeats) = &mut self.repeats {
            let copies = steps.copied.0 > 0;
            let copied_to = gpus.iter().filter(|_| copies).map(|gpu| *gpu as u32);
            let (network, lowering) = self.runtime.planning();
            let sites = copied_to.map(|gpu| network.gpu_site(gpu));
            let sizes = steps.buckets.iter().map(|(_, size)| *size);
            let mut links = lowering
                .plans
                .links(variant, sizes, sites)
                .expect("a job that copies was refused where a GPU has no host");
            if let (Some(exchange), Some(routes)) = (&steps.exchange, self.routes) {
                links.extend(exchange.links(network, routes, &gpus));
            }
            let loads = iteration_loads(
                (network, lowering),
                (&steps, variant, &gpus),
                self.routes.expect("what repeats goes over routes"),
            );
            self.loads.insert(index, loads);
            self.links.insert(index, Some(links.clone()));
            let least = self.programs.of(of).least(self.system, &steps, &gpus);
            repeats.start((index, links, least), &self.runtime, scheduler.now());
        }
        Ok(())
    }

    /// Lets a job run a program of its own on the GPUs that it was given, or that it named.
    fn admit_program(
        &mut self,
        job: usize,
        scheduler: &mut impl Scheduler<Event<RuntimeEvent<T::Event>>>,
    ) -> Result<(), SimulationError> {
        let of = &self.jobs[job];
        let written = of.own().expect("a job without a workload is written down by itself");
        let (left, iterations) = self.begin(job, scheduler.now());
        let record = self.queue.record(job).expect("it has just got its GPUs");
        let gpus: Vec<u32> = match &written.gpus {
            Some(named) => named.to_vec(),
            None => as_placed(self.system, &record.parts).iter().map(|gpu| *gpu as u32).collect(),
        };
        let program = match &written.task {
            Task::Training(task) => Arc::new(task.program(left, &gpus)?),
            Task::Program(program) => Arc::clone(program),
            Task::Workload(_) | Task::Model(_) => unreachable!("it is admitted by its steps"),
        };
        let of_runtime = runtime::ProgramJob {
            name: of.name.clone(),
            program,
            mapping: gpus,
            start: scheduler.now(),
            iterations,
            computation_scale: written.computation_scale,
            priority: written.priority,
            deadline: written.deadline,
            copies_at_once: None,
            kernel: None,
        };
        let done = self.queue.done();
        runtime::validate(&of_runtime, self.system.gpus()).map_err(|error| self.fault(error))?;
        let index = self.running.len() as u32;
        let routes = self.routes;
        let (network, lowering) = self.runtime.planning();
        let mut ask = |_| scheduler.ask(done);
        lowering.admit_program((index, &of_runtime), (network, routes), &mut ask)?;
        let mut part = Part { whole: scheduler, done };
        let admitted = self.runtime.admit(&of_runtime, &mut part);
        let index = admitted.map_err(|error| self.fault(error))?;
        self.running.push(job);
        self.links.insert(index, None);
        if let Some(repeats) = &mut self.repeats {
            repeats.start_unknown(index, &self.runtime, scheduler.now());
        }
        Ok(())
    }

    fn fault(&self, error: RuntimeError) -> SimulationError {
        match error {
            RuntimeError::Interrupted { .. } => self.queue.interrupted(),
            other => ClusterError::from(other).into(),
        }
    }
}

/// The scheduler as programs see it: their events become the whole's, and progress is told in jobs.
struct Part<'s, S> {
    whole: &'s mut S,
    done: (u64, u64),
}

impl<R, S: Scheduler<Event<R>>> Scheduler<R> for Part<'_, S> {
    fn now(&self) -> Picoseconds {
        self.whole.now()
    }

    fn schedule(&mut self, time: Picoseconds, event: R) {
        self.whole.schedule(time, Event::Runtime(event));
    }

    fn tick(&mut self, _: (u64, u64)) -> Result<(), EngineError> {
        self.whole.tick(self.done)
    }

    fn ask(&mut self, _: (u64, u64)) -> ControlFlow<()> {
        self.whole.ask(self.done)
    }
}
