//! Gives recorded jobs an assumed workload.
//!
//! A record says how long a job ran, and not which work it did. It is taken for a named workload.
//! On as many GPUs of the system, which nobody else uses, it did as many iterations as fill the
//! recorded time. The scenario's run-time model gives the time of an iteration there. So each job
//! splits into computing and communication as that workload does. A scenario's variants have the
//! jobs of the scenario: another system or planner does the same work, in another time.
//!
//! The model leaves out two costs in the recorded time: others on the links, and the GPUs that the
//! job was given then.

use std::borrow::Cow;

use super::lengths::{Lengths, Made, WhatRan};
use super::named::{NamedJobs, Ran};
use super::{Accounting, Cut, PartOfGpu, Record, RecordedJob};
use crate::diagnostic::{InputError, shown};
use crate::scenario::files::{Files, text_of};
use crate::scenario::measured::Measured;
use crate::scenario::network::NetworkSettings;
use crate::scenario::source::Place;
use crate::scenario::{FileName, ServerEntry};
use crate::simulation::played::{IterationSettings, PlannerChoice};
use crate::simulation::{Job, RunTime};
use crate::system::System;
use crate::training::{Workload, workload_of};

/// The system on which jobs were recorded, and how they are played there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::scenario) struct Machine {
    pub network: NetworkSettings,
    pub run_time: RunTime,
    pub planner: PlannerChoice,
    pub iteration: IterationSettings,
    pub measured: Measured,
}

/// How recorded jobs are read.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct Recorded {
    /// Names their workload, and the place where the scenario says so.
    pub workload: Option<(String, Place)>,
    /// It tells of jobs of some names, and stands before all else.
    pub named: NamedJobs,
    /// It reads their file.
    pub accounting: Accounting,
    /// Which part of the record is played.
    pub cut: Cut,
    pub machine: Machine,
}

/// The most that a recorded job may ask for.
#[derive(Debug, Clone, Copy)]
pub(in crate::scenario) struct Limits {
    pub gpus: usize,
    pub iterations: u64,
}

impl Recorded {
    /// Lists the files of the system on which they ran.
    pub(in crate::scenario) fn files(&self) -> impl Iterator<Item = &FileName> {
        self.machine.network.servers.iter().filter_map(ServerEntry::file)
    }

    /// Returns the jobs of a file, and the notes about them.
    ///
    /// # Errors
    /// Those of [`read`]; no workload; more iterations than may be; a system that cannot be built.
    pub(in crate::scenario) fn jobs(
        &self,
        scenario: &str,
        file: &FileName,
        files: &Files,
        (most, system, iteration): (Limits, &System, IterationSettings),
    ) -> Result<(Vec<Job>, Vec<String>), InputError> {
        let text = text_of(scenario, file, files)?;
        let read = self.accounting.read(&file.name, text, self.cut, most.gpus)?;
        let Record { jobs: recorded, left_out, assumed } = read;
        let cluster = self.machine.network.build(scenario, files)?;
        let mut lengths = Lengths::new(&self.machine, cluster);
        let mut jobs = Vec::with_capacity(recorded.len());
        let mut made = Made::new(system, iteration);
        let (room, mut others) = (Room::of(lengths.system()), 0);
        let mut counts = vec![0; self.named.count()];
        let mut unnamed = Vec::new();
        for job in &recorded {
            let (of, ran) = match self.named.of(job) {
                Some((index, ran)) => {
                    counts[index] += 1;
                    (WhatRan::Named(index), Cow::Borrowed(ran))
                }
                None => {
                    let workload = self.workload_of(job, &file.name)?;
                    unnamed.push((job, workload.name.clone()));
                    (WhatRan::Workload(workload.name.clone()), Cow::Owned(Ran::workload(workload)))
                }
            };
            let refuse = |error| {
                file.place.refuse_as(scenario, error, "", "name another system or workload")
            };
            let key = (of, job.gpus);
            let length = lengths.of(&key, &ran).map_err(refuse)?;
            let workload = &ran.workload;
            let duration = job.duration.0;
            let iterations = (duration / length.0
                + u64::from(duration % length.0 >= length.0.div_ceil(2)))
            .max(1);
            if iterations > most.iterations {
                let problem = format!("these are {iterations} iterations of {}", workload.name);
                let remedy = format!(
                    "name a workload of longer iterations, or leave the job out; {} are played at most",
                    most.iterations
                );
                let value = format!("{} s", job.duration.as_seconds());
                return Err(InputError::at(&file.name, job.place, problem, &value, remedy));
            }
            let named = Job { name: job.name.clone(), ..made.of(&key, &ran).map_err(refuse)? };
            let servers_wanted = job.servers.map(|wanted| {
                let given = room.servers_for(wanted, job.gpus);
                others += usize::from(given != wanted);
                given
            });
            let (arrival, exclusive) = (job.submit, job.exclusive);
            jobs.push(Job { arrival, iterations, servers_wanted, exclusive, ..named });
        }
        self.machine.measured.apply(&mut jobs);
        let mut told = Vec::new();
        if !self.named.is_empty() {
            told.push(self.told_of_names(&file.name, &counts, &unnamed));
        }
        told.extend(self.assumed(&file.name, &unnamed, lengths.system().name()));
        told.extend(assumed.map(|assumed| format!("{}: {assumed}.", file.name)));
        let parts = parts_told(&recorded);
        if !parts.is_empty() {
            told.push(format!(
                "{}: {parts}; whole GPUs stand for them, which nobody else has meanwhile.",
                file.name
            ));
        }
        if others > 0 {
            told.push(format!(
                "{}: {others} of its jobs were on as many servers as they cannot have here; they get the next number \
                 that they can.",
                file.name
            ));
        }
        let left = left_out.told();
        if !left.is_empty() {
            told.push(format!("{}: left out are {left}.", file.name));
        }
        Ok((jobs, told))
    }

    fn workload_of(&self, job: &RecordedJob, file: &str) -> Result<Workload, InputError> {
        let workloads = &self.accounting.registries.workloads;
        let name = job.workload.as_ref().or(self.workload.as_ref().map(|(name, _)| name));
        name.and_then(|name| workload_of(workloads, name).ok()).ok_or_else(|| {
            let named = match self.named.is_empty() {
                true => "",
                false => ", or an entry of `[[jobs.named]]` that fits its name",
            };
            let remedy = format!(
                "write `workload = \"resnet-50\"` in `[jobs]`, by which durations split into \
                 computing and communication{named}; use one of {}",
                workloads.names().join(", ")
            );
            let problem = "nobody says what the jobs ran";
            InputError::at(file, job.place, problem, &job.name, remedy)
        })
    }

    /// Tells which names of jobs said what they ran, and which jobs no entry fits.
    fn told_of_names(
        &self,
        file: &str,
        counts: &[usize],
        unnamed: &[(&RecordedJob, String)],
    ) -> String {
        let told = self.named.told(counts);
        let known: usize = counts.iter().sum();
        let jobs = |count: usize| if count == 1 { "job" } else { "jobs" };
        let said = format!(
            "{file}: by their names {known} {} ran what `[[jobs.named]]` says: {told}.",
            jobs(known)
        );
        let mut names: Vec<&str> =
            unnamed.iter().map(|(job, _)| job.title.as_deref().unwrap_or(&job.name)).collect();
        names.sort_unstable();
        names.dedup();
        let (some, more) = names.split_at(names.len().min(FEW_NAMES));
        let more =
            if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        match unnamed.len() {
            0 => said,
            count => format!(
                "{said} No entry fits {count} {}, of names such as {}{more}.",
                jobs(count),
                some.iter().map(|name| format!("`{}`", shown(name))).collect::<Vec<_>>().join(", "),
            ),
        }
    }

    /// Tells what the jobs are taken to have run whose names say nothing.
    fn assumed(&self, file: &str, jobs: &[(&RecordedJob, String)], system: &str) -> Option<String> {
        let how = match self.machine.run_time {
            RunTime::Formula => "by the formula".to_owned(),
            RunTime::Regression => "by the formula at the regression's bandwidth".to_owned(),
            RunTime::Played => format!("with all-reduces by {}", self.machine.planner.name()),
        };
        let splits = format!(
            "A duration splits into computing and communication as that workload does on the same \
             number of GPUs of an idle {system}, {how}. The number of iterations follows."
        );
        if jobs.is_empty() {
            return Some(format!("{file}: {splits}"));
        }
        let mut names: Vec<&str> = jobs.iter().map(|(_, workload)| workload.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let of_others =
            if self.workload.is_some() && names.len() < 2 { "" } else { ", as each says" };
        let which = if self.named.is_empty() { "its" } else { "these" };
        Some(format!(
            "{file}: it is assumed that {which} {} jobs ran {}{of_others}: the file says how long they ran, \
             not what they did. {splits}",
            jobs.len(),
            names.join(", "),
        ))
    }
}

/// At most this number of names of jobs is told.
const FEW_NAMES: usize = 3;

/// How many servers a system has, and of how many GPUs the largest is.
struct Room {
    servers: u32,
    largest: u32,
}

impl Room {
    fn of(system: &System) -> Self {
        let largest = system.kinds().iter().map(|kind| kind.server().gpus().len() as u32).max();
        Self { servers: system.servers(), largest: largest.unwrap_or(1).max(1) }
    }

    /// Gives the number of servers next to the wanted one that a job can have even shares on.
    fn servers_for(&self, wanted: u32, gpus: u32) -> u32 {
        let most = self.servers.min(gpus).max(1);
        wanted.clamp(gpus.div_ceil(self.largest).clamp(1, most), most)
    }
}

/// How many jobs had what parts of GPUs, in words; empty where none had.
fn parts_told(jobs: &[RecordedJob]) -> String {
    let kinds = [
        (PartOfGpu::Slice, "slices of GPUs (MIG)"),
        (PartOfGpu::Shard, "shards of a GPU"),
        (PartOfGpu::Fraction, "fractions of a GPU"),
    ];
    let counted = kinds.iter().filter_map(|(kind, name)| {
        let count = jobs.iter().filter(|job| job.part == Some(*kind)).count();
        let jobs = if count == 1 { "job" } else { "jobs" };
        (count > 0).then(|| format!("{count} {jobs} had {name}"))
    });
    counted.collect::<Vec<_>>().join(", ")
}
