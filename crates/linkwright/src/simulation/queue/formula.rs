//! Run times by MAPA's formula.
//!
//! The model: a job's run time follows from the links that it was given, by
//! [`Workload::run_time`](crate::training::Workload::run_time). So a bad allocation holds its GPUs
//! for longer and the queue behind it waits.
//!
//! The run time follows one bandwidth model, whichever the policy ranks by, so that policies are
//! compared in one world. It is the sound one, or where it is asked for the published regression.
//! The regression can turn negative beyond five GPUs, which is then an error. It gives a job more
//! time on some better links.
//!
//! The model leaves out interference of jobs on shared wires. It leaves out jobs of several
//! servers, since MAPA says nothing of their links.

use std::ops::ControlFlow;

use super::{Ends, JobRecord, Queue, QueueDiscipline, ServerChoice, Sharing};
use crate::allocation::{BandwidthModel, GpuSet, Policy, PreparedMachine};
use crate::engine::{Engine, Hook, Model, Scheduler};
use crate::simulation::error::SimulationError;
use crate::simulation::job::Job;
use crate::system::System;
use crate::units::Picoseconds;

/// Plays the jobs on an idle server and returns what happened to each, in the jobs' order.
///
/// # Errors
/// Refuses two jobs of one name, and a job that asks for more GPUs than are healthy, so that it
/// could never start. It fails for a run that the hook ended, and for a time beyond 213 days.
pub fn simulate(
    machine: &PreparedMachine,
    jobs: &[Job],
    policy: &dyn Policy,
    discipline: QueueDiscipline,
    unhealthy: GpuSet,
    hook: Hook<'_>,
) -> Result<Vec<JobRecord>, SimulationError> {
    let unhealthy: Vec<_> = unhealthy.iter().map(|gpu| (0, gpu)).collect();
    let machines = std::slice::from_ref(machine);
    let sharing = Sharing {
        servers: ServerChoice::FirstFit,
        discipline,
        unhealthy: &unhealthy,
        ..Sharing::new(machines, policy)
    };
    let ends = Ends::ByFormula(BandwidthModel::Sound);
    run(Queue::new(vec![machine], jobs, sharing, ends)?, jobs, hook)
}

/// Works as [`simulate`] does, on the servers of a system, with run times at the bandwidth of a
/// model.
///
/// # Errors
/// As [`simulate`]; GPUs between which the regression leaves no bandwidth.
pub fn simulate_on(
    system: &System,
    sharing: Sharing<'_>,
    run_times: BandwidthModel,
    jobs: &[Job],
    hook: Hook<'_>,
) -> Result<Vec<JobRecord>, SimulationError> {
    if sharing.states.is_some() {
        return Err(SimulationError::TimedFailures { played: "a formula" });
    }
    run(Queue::on(system, jobs, sharing, Ends::ByFormula(run_times))?, jobs, hook)
}

fn run(queue: Queue<'_>, jobs: &[Job], hook: Hook<'_>) -> Result<Vec<JobRecord>, SimulationError> {
    let mut formula = Formula { queue };
    let mut engine = Engine::new(hook);
    for (index, job) in jobs.iter().enumerate() {
        engine.schedule(job.arrival, Event::Arrival(index));
    }
    engine.run(&mut formula)?;
    Ok(formula.queue.into_records())
}

/// Names the events of a queue.
#[derive(Debug, Clone, Copy)]
enum Event {
    Arrival(usize),
    Finish(usize),
}

/// Jobs that end when the formula says.
struct Formula<'a> {
    queue: Queue<'a>,
}

impl Model for Formula<'_> {
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
            Event::Finish(job) => self.queue.finish(job, scheduler.now())?,
        }
        Ok(())
    }

    /// All that ends or arrives now is known before anything starts.
    fn settle(
        &mut self,
        scheduler: &mut impl Scheduler<Event>,
    ) -> Result<Option<Picoseconds>, SimulationError> {
        for job in self.queue.start_jobs(scheduler)? {
            let finish = self.queue.record(job).map_or(scheduler.now(), |record| record.finish);
            scheduler.schedule(finish, Event::Finish(job));
        }
        match scheduler.ask(self.done()) {
            ControlFlow::Continue(()) => Ok(None),
            ControlFlow::Break(()) => Err(self.queue.interrupted()),
        }
    }

    fn done(&self) -> (u64, u64) {
        self.queue.done()
    }
}
