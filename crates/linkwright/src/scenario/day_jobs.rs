//! Makes the `[[job]]`s of a day: they arrive, wait and get their GPUs beside the jobs of `[jobs]`.
//!
//! A scenario plays a day where it has `[jobs]`, where a `[[job]]` asks for `gpus`, and as a fluid. Ranks that a mapping
//! puts on GPUs wait until these are free.

use std::sync::Arc;

use super::demand::Demand;
use super::files::Files;
use super::program_job::{JobEntry, ProgramSource};
use super::programs::{Made, Programs};
use crate::diagnostic::InputError;
use crate::program::Program;
use crate::simulation::cluster::Fidelity;
use crate::simulation::{Job, Task, WrittenJob};
use crate::system::System;

/// Holds what is to be said of jobs, each a sentence.
type Notes = Vec<String>;

impl Programs {
    /// Refuses jobs that have no fluid.
    pub(super) fn check_fluid(&self, scenario: &str, fidelity: Fidelity) -> Result<(), InputError> {
        if fidelity != Fidelity::Fluid {
            return Ok(());
        }
        let is_played = |job: &&JobEntry| match &job.program {
            ProgramSource::Workload(_) | ProgramSource::Model(_) => false,
            ProgramSource::Training(training) => !training.way().is_fluid(),
            ProgramSource::Skeleton { .. }
            | ProgramSource::Goal(_)
            | ProgramSource::Trace { .. }
            | ProgramSource::Kernel(_) => true,
        };
        match self.jobs.iter().find(is_played) {
            None => Ok(()),
            Some(job) => {
                let problem = "a program that is played from end to end, as a fluid";
                let remedy = "write `fidelity = \"flow\"` or `\"packet\"`; a fluid repeats a workload, or training \
                              by all-reduces";
                Err(job.places.program.refuse(scenario, problem, job.natural_name(), remedy))
            }
        }
    }

    /// Whether the policy of all places any of them.
    pub(super) fn asks_policy(&self) -> bool {
        self.jobs.iter().any(|job| job.demand.as_ref().is_some_and(|it| it.policy.is_none()))
    }

    /// Gives the jobs as a day has them, with notes that say what is assumed of them. The system has the GPUs for
    /// each.
    pub(super) fn of_day(
        &self,
        scenario: &str,
        (system, healthy): (&System, usize),
        seed: u64,
        files: &Files,
    ) -> Result<(Vec<Job>, Notes), InputError> {
        let names = self.names();
        self.check_demands(scenario, healthy)?;
        let (made, notes) = self.programs(scenario, system, files)?;
        let sizes: Vec<u32> = made.iter().map(Made::ranks).collect();
        let mut placed = self.placed(scenario, (&names, &sizes), (system, seed), files)?;
        let mut jobs = Vec::with_capacity(made.len());
        for (((entry, made), name), gpus) in self.jobs.iter().zip(made).zip(names).zip(&mut placed)
        {
            let ranks = made.ranks();
            if let Some(demand) = entry.demand.as_ref().filter(|demand| demand.gpus != ranks) {
                let problem = format!("a program of {ranks} ranks on another number of GPUs");
                let remedy = format!("write `gpus = {ranks}`");
                let written = demand.gpus.to_string();
                return Err(entry.places.ranks.refuse(scenario, &problem, &written, remedy));
            }
            let task = entry.task(scenario, (system, files), gpus.as_deref(), made.program())?;
            let written = WrittenJob {
                task,
                gpus: gpus.take().map(Arc::from),
                policy: entry.demand.as_ref().and_then(|demand| demand.policy),
                computation_scale: entry.computation_scale,
                priority: entry.priority,
                deadline: entry.deadline,
            };
            jobs.push(entry.job(name, ranks, written));
        }
        let told = notes.iter().map(|(name, note)| format!("{name}: {note}"));
        Ok((jobs, told.collect()))
    }

    fn check_demands(&self, scenario: &str, healthy: usize) -> Result<(), InputError> {
        for job in &self.jobs {
            if let Some(demand) = &job.demand
                && demand.gpus as usize > healthy
            {
                let problem = format!("a job of {} GPUs, and {healthy} are healthy", demand.gpus);
                let remedy = format!("write {healthy} or less");
                let written = demand.gpus.to_string();
                return Err(job.places.ranks.refuse(scenario, &problem, &written, remedy));
            }
        }
        Ok(())
    }

    /// The GPUs of each job that is mapped.
    fn placed(
        &self,
        scenario: &str,
        (names, sizes): (&[String], &[u32]),
        (system, seed): (&System, u64),
        files: &Files,
    ) -> Result<Vec<Option<Vec<u32>>>, InputError> {
        let mapped: Vec<usize> =
            (0..self.jobs.len()).filter(|index| self.jobs[*index].demand.is_none()).collect();
        let only = Self {
            mapping: self.mapping.clone(),
            jobs: mapped.iter().map(|index| self.jobs[*index].clone()).collect(),
        };
        let sizes: Vec<u32> = mapped.iter().map(|index| sizes[*index]).collect();
        let names: Vec<String> = mapped.iter().map(|index| names[*index].clone()).collect();
        let found = only.place(scenario, (&names, &sizes), (system, seed), files)?;
        let mut placed = vec![None; self.jobs.len()];
        for (index, gpus) in mapped.into_iter().zip(found) {
            placed[index] = Some(gpus);
        }
        Ok(placed)
    }
}

impl JobEntry {
    /// Says what it runs, where a program was made already.
    fn task(
        &self,
        scenario: &str,
        (system, files): (&System, &Files),
        gpus: Option<&[u32]>,
        program: Option<Arc<Program>>,
    ) -> Result<Task, InputError> {
        Ok(match (&self.program, program) {
            (ProgramSource::Workload(workload), _) => Task::Workload(workload.settings()),
            (ProgramSource::Training(training), _) => {
                Task::Training(Arc::new(training.task(scenario, files, system)?))
            }
            (ProgramSource::Model(model), _) => Task::Model(model.task(scenario, files, system)?),
            (_, Some(program)) => Task::Program(program),
            (_, None) => {
                let Some(gpus) = gpus else {
                    let problem = "messages that go by places, which a policy has yet to choose";
                    let remedy =
                        "write `ranks` and a `mapping` in place of `gpus`, or another pattern";
                    let place = self.places.program;
                    return Err(place.refuse(scenario, problem, self.source_name(), remedy));
                };
                Task::Program(self.build(scenario, files, (system, gpus))?.0)
            }
        })
    }

    /// The job of a day, with the pattern that it says it has.
    fn job(&self, name: String, gpus: u32, written: WrittenJob) -> Job {
        let mut job = self.in_a_ring(name, gpus, written);
        job.checkpoint_iterations = self.checkpoint_iterations;
        if let Some(Demand { servers_wanted, exclusive, .. }) = self.demand {
            (job.servers_wanted, job.exclusive) = (servers_wanted, exclusive);
        }
        match &self.demand {
            Some(Demand { edges: Some(edges), .. }) => job.with_edges(edges.clone()),
            Some(Demand { pattern, .. }) => Job { pattern: *pattern, ..job },
            None => job,
        }
    }

    /// Makes such a job with a ring.
    fn in_a_ring(&self, name: String, gpus: u32, written: WrittenJob) -> Job {
        let (iterations, time_limit) = (u64::from(self.iterations.get()), self.time_limit);
        let written = Some(Box::new(written));
        match &self.program {
            ProgramSource::Workload(workload) => {
                let job = Job::new(name, &workload.workload, gpus);
                Job { arrival: self.start, iterations, time_limit, written, ..job }
            }
            _ => {
                let job = Job::of_own(name, self.source_name().to_owned(), gpus);
                Job { arrival: self.start, iterations, time_limit, written, ..job }
            }
        }
    }
}
