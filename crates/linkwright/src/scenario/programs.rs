//! Jobs of ranks that run programs, each on GPUs that a mapping names: `[[job]]`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::fields::{Fields, FileName};
use super::files::{Files, text_of};
use super::network::{FabricSource, NetworkSettings};
use super::program_job::{JobEntry, ProgramSource, ScenarioMapping, Sound, mapping};
use super::settings::{SettingGroup, grouped};
use super::source::Place;
use crate::diagnostic::InputError;
use crate::program::Program;
use crate::program::trace::TraceNote;
use crate::program::workload::{Gpu, read_mapping};
use crate::simulation::cluster::{ClusterJob, Fidelity, Mapping, PlacementError, place};
use crate::system::System;
use crate::training::{Precision, Units};

/// Holds the jobs of a scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Programs {
    /// Says how jobs without a mapping of their own find their GPUs.
    pub mapping: ScenarioMapping,
    /// Lists the jobs, at least one.
    pub jobs: Vec<JobEntry>,
}

/// A job's program, or how many GPUs it needs before it can be made.
pub(super) enum Made {
    Program(Arc<Program>),
    WithGpus(u32),
}

impl Made {
    pub(super) fn ranks(&self) -> u32 {
        match self {
            Self::Program(program) => program.ranks.len() as u32,
            Self::WithGpus(ranks) => *ranks,
        }
    }

    pub(super) fn program(self) -> Option<Arc<Program>> {
        match self {
            Self::Program(program) => Some(program),
            Self::WithGpus(_) => None,
        }
    }
}

/// The program of each job, and the notes of what was read for them.
pub(super) type AllMade = (Vec<Made>, Vec<(String, TraceNote)>);

/// Holds the jobs, each with its GPUs, and the parts left out of traces, by the program's name.
pub(super) type Placed = (Vec<ClusterJob>, Vec<(String, TraceNote)>);

impl Programs {
    /// The jobs of a scenario whose keys are settled.
    pub(super) fn read(
        scenario: &Fields<'_>,
        network: &NetworkSettings,
    ) -> Result<Self, InputError> {
        let source = scenario.source;
        if let FabricSource::Specification(specification) = &network.fabric
            && network.servers.is_empty()
            && let Ok(fabric) = specification.build()
        {
            let gpus = fabric.nodes().saturating_mul(network.node.gpus);
            check_room(scenario, gpus)?;
        }
        if !scenario.has("job") {
            let end = source.text.len()
                - usize::from(!source.settings.is_empty() && !source.text.is_empty());
            let remedy = "write a `[[job]]` with `program` and `ranks`, or `[jobs]`";
            return Err(source.refuse(&(end..end), "the scenario has no jobs", remedy));
        }
        if let Some(key) = grouped("", SettingGroup::Days).find(|key| scenario.has(key)) {
            let problem = format!("`[{key}]` where mappings give all jobs their GPUs");
            let remedy = "remove it, or write `gpus` in place of `ranks`, which a policy \
                chooses";
            return Err(scenario.refuse(key, &problem, remedy));
        }
        let system = scenario.table("system")?;
        if system.has("unhealthy") {
            let problem = "`unhealthy` where mappings give all jobs their GPUs";
            let remedy = "remove it, or write `gpus` in place of `ranks`, which a policy \
                chooses";
            return Err(system.refuse("unhealthy", problem, remedy));
        }
        let programs = Self::entries(scenario)?;
        let of_network = (network.fidelity, network.packets.pcie.is_some());
        for job in &programs.jobs {
            if let ProgramSource::Kernel(kernel) = &job.program {
                kernel.check_network(source.file, of_network)?;
            }
        }
        Ok(programs)
    }

    /// Refuses kernels among jobs that arrive, wait and get their GPUs.
    pub(super) fn check_day(&self, scenario: &str, fidelity: Fidelity) -> Result<(), InputError> {
        for job in &self.jobs {
            let ProgramSource::Kernel(kernel) = &job.program else { continue };
            kernel.check_network(scenario, (fidelity, false))?;
            let problem = "a kernel in a day of jobs that arrive and wait for GPUs";
            let remedy = "leave out `[jobs]` and write `ranks` and a `mapping` for every job";
            return Err(job.places.program.refuse(scenario, problem, job.natural_name(), remedy));
        }
        Ok(())
    }

    /// The jobs that a scenario writes down.
    pub(super) fn entries(scenario: &Fields<'_>) -> Result<Self, InputError> {
        let source = scenario.source;
        let of_all = match mapping(scenario)? {
            Some(ScenarioMapping::Given(Mapping::Gpus(_))) => {
                let remedy =
                    "write a rule such as \"linear\", or a file's name; lists are for single jobs";
                return Err(scenario.refuse("mapping", "a list of GPUs for all jobs", remedy));
            }
            Some(mapping) => mapping,
            None => ScenarioMapping::Given(Mapping::default()),
        };
        let mut sound = Sound::new();
        let bytes = scenario.table("trace")?.chosen("trace.collective_bytes")?;
        let jobs = scenario.tables("job")?;
        let jobs: Vec<JobEntry> = jobs
            .iter()
            .map(|job| JobEntry::read(job, &mut sound, bytes))
            .collect::<Result<_, _>>()?;
        let file = source.file;
        let mut names = BTreeSet::new();
        for job in &jobs {
            if let Some(name) = &job.name
                && !names.insert(name)
            {
                let remedy = "give each job a name of its own, or leave it out";
                return Err(job.places.name.refuse(
                    file,
                    "a second job of this name",
                    name,
                    remedy,
                ));
            }
            if matches!(of_all, ScenarioMapping::File(_)) && job.demand.is_some() {
                let problem = "GPUs by a policy beside a mapping file, which places all jobs";
                let remedy = "write `ranks`, or give each job that is mapped a mapping of its own";
                return Err(job.places.ranks.refuse(file, problem, "", remedy));
            }
            if matches!(of_all, ScenarioMapping::File(_)) && job.mapping.is_some() {
                let problem = "a mapping beside that of all jobs";
                let remedy = "the scenario's mapping file places all jobs; remove one of the two";
                return Err(job.places.mapping.refuse(file, problem, "", remedy));
            }
        }
        Ok(Self { mapping: of_all, jobs })
    }

    /// Lists the files that they name.
    pub(super) fn files(&self) -> impl Iterator<Item = &FileName> {
        let mapping = match &self.mapping {
            ScenarioMapping::File(file) => Some(file),
            ScenarioMapping::Given(_) => None,
        };
        mapping.into_iter().chain(self.jobs.iter().flat_map(JobEntry::files))
    }

    /// Tells what is assumed of the system's GPUs for the jobs that train; a mapping may give them any.
    pub(super) fn assumed(&self, system: &System) -> BTreeSet<String> {
        let precision = |job: &JobEntry| match &job.program {
            ProgramSource::Training(training) => Some(training.precision()),
            _ => None,
        };
        let used: BTreeSet<Precision> = self.jobs.iter().filter_map(precision).collect();
        // A GPU of no known model was refused before.
        let of = |it| Units::assumed(system, 0..system.gpus(), it).unwrap_or_default();
        used.into_iter().flat_map(of).collect()
    }

    /// Puts the jobs on the GPUs of a system.
    pub(super) fn build(
        &self,
        scenario: &str,
        system: &System,
        seed: u64,
        files: &Files,
    ) -> Result<Placed, InputError> {
        let names = self.names();
        let gpus = system.gpus();
        self.check_room(scenario, gpus)?;
        let (mut programs, notes) = self.programs(scenario, system, files)?;
        let mut kernels = vec![None; self.jobs.len()];
        let sizes: Vec<u32> = programs.iter().map(Made::ranks).collect();
        let placed = self.place(scenario, (&names, &sizes), (system, seed), files)?;
        let made = programs.iter_mut().zip(&mut kernels);
        for (((made, kernel), entry), gpus) in made.zip(&self.jobs).zip(&placed) {
            if let ProgramSource::Kernel(source) = &entry.program {
                let of = source.kernel(scenario, files, (system, gpus))?;
                *made = Made::Program(Arc::new(of.program(gpus.len() as u32)));
                *kernel = Some(of);
            } else if let Made::WithGpus(_) = made {
                *made = Made::Program(entry.build(scenario, files, (system, gpus))?.0);
            }
        }
        let programs = programs.into_iter().filter_map(Made::program);
        let parts = names.into_iter().zip(programs).zip(placed.into_iter().zip(kernels));
        let job = |(entry, ((name, program), (gpus, kernel))): (&JobEntry, _)| ClusterJob {
            name,
            program,
            iterations: entry.iterations,
            start: entry.start,
            computation_scale: entry.computation_scale,
            priority: entry.priority,
            deadline: entry.deadline,
            mapping: Some(Mapping::Gpus(gpus)),
            kernel,
        };
        Ok((self.jobs.iter().zip(parts).map(job).collect(), notes))
    }

    /// Puts the ranks of jobs of these names and sizes on GPUs, by their mappings.
    pub(super) fn place(
        &self,
        scenario: &str,
        (names, sizes): (&[String], &[u32]),
        (system, seed): (&System, u64),
        files: &Files,
    ) -> Result<Vec<Vec<Gpu>>, InputError> {
        let mappings = self.mappings(scenario, sizes, system.gpus(), files)?;
        let jobs = names.iter().zip(sizes).zip(&mappings);
        let wanted: Vec<(&str, u32, &Mapping)> =
            jobs.map(|((name, size), mapping)| (name.as_str(), *size, mapping)).collect();
        place(&wanted, system, seed).map_err(|error| self.unplaced(scenario, &error, sizes))
    }

    /// Refuses more ranks than GPUs before any program is made.
    fn check_room(&self, scenario: &str, gpus: u32) -> Result<(), InputError> {
        let known = |job: &JobEntry| job.program.ranks().unwrap_or(0);
        let sizes: Vec<u32> = self.jobs.iter().map(known).collect();
        let ranks = sizes.iter().copied().map(u64::from).sum();
        if ranks <= u64::from(gpus) {
            return Ok(());
        }
        Err(self.unplaced(scenario, &PlacementError::TooManyRanks { ranks, gpus }, &sizes))
    }

    /// A name for each job: its own, or its program's with a number if that is taken.
    pub(super) fn names(&self) -> Vec<String> {
        let mut taken: BTreeSet<String> =
            self.jobs.iter().filter_map(|job| job.name.clone()).collect();
        let mut names = Vec::with_capacity(self.jobs.len());
        for job in &self.jobs {
            let natural = job.natural_name();
            let mut name = natural.to_owned();
            if job.name.is_none() {
                let mut number = 1_u32;
                while !taken.insert(name.clone()) {
                    number += 1;
                    name = format!("{natural}-{number}");
                }
            }
            names.push(name);
        }
        names
    }

    /// The program of each job; equal ones are made once and shared. Beside them the notes of
    /// each trace that was read.
    pub(super) fn programs(
        &self,
        scenario: &str,
        system: &System,
        files: &Files,
    ) -> Result<AllMade, InputError> {
        let mut made: BTreeMap<String, Arc<Program>> = BTreeMap::new();
        let mut programs = Vec::with_capacity(self.jobs.len());
        let mut notes = Vec::new();
        for job in &self.jobs {
            if let Some(ranks) = job.program.ranks_on_gpus() {
                programs.push(Made::WithGpus(ranks));
                continue;
            }
            let source = job.program.identity();
            let program = match made.get(&source) {
                Some(program) => {
                    job.check_loop(scenario, program)?;
                    Arc::clone(program)
                }
                None => {
                    let (program, of_trace) = job.build(scenario, files, (system, &[]))?;
                    let of_program = |note| (program.name.clone(), note);
                    notes.extend(of_trace.into_iter().map(of_program));
                    made.insert(source, Arc::clone(&program));
                    program
                }
            };
            programs.push(Made::Program(program));
        }
        Ok((programs, notes))
    }

    fn mappings(
        &self,
        scenario: &str,
        sizes: &[u32],
        gpus: u32,
        files: &Files,
    ) -> Result<Vec<Mapping>, InputError> {
        let read = |file: &FileName, sizes: &[u32]| {
            read_mapping(&file.name, text_of(scenario, file, files)?, sizes, gpus)
        };
        let of_all: Vec<Mapping> = match &self.mapping {
            ScenarioMapping::Given(mapping) => vec![mapping.clone(); self.jobs.len()],
            ScenarioMapping::File(file) => {
                read(file, sizes)?.into_iter().map(Mapping::Gpus).collect()
            }
        };
        let jobs = self.jobs.iter().zip(of_all).zip(sizes.iter().copied());
        jobs.map(|((job, of_all), size)| match &job.mapping {
            None => Ok(of_all),
            Some(ScenarioMapping::Given(mapping)) => Ok(mapping.clone()),
            Some(ScenarioMapping::File(file)) => {
                let gpus: Vec<Vec<Gpu>> = read(file, &[size])?;
                Ok(Mapping::Gpus(gpus.concat()))
            }
        })
        .collect()
    }

    /// Why jobs have no place, at the one that is to blame.
    fn unplaced(&self, scenario: &str, error: &PlacementError, sizes: &[u32]) -> InputError {
        let place = match error {
            PlacementError::TooManyRanks { gpus, .. } => {
                let mut ranks = 0;
                let first = sizes.iter().position(|size| {
                    ranks += u64::from(*size);
                    ranks > u64::from(*gpus)
                });
                self.jobs[first.unwrap_or(0)].places.ranks
            }
            PlacementError::Length { job, .. }
            | PlacementError::UnknownGpu { job, .. }
            | PlacementError::NothingToShuffle { job, .. }
            | PlacementError::SharedGpu { job, .. } => self.jobs[*job].places.mapping,
        };
        unplaced(scenario, place, error)
    }
}

/// Refuses more ranks than GPUs before the jobs are read, which makes the program of each.
fn check_room(scenario: &Fields<'_>, gpus: u32) -> Result<(), InputError> {
    let jobs = scenario.tables("job")?;
    let sizes = jobs.iter().filter_map(|job| {
        let size = u64::try_from(job.value("ranks")?.as_integer()?).ok()?;
        Some((job.place("ranks"), size))
    });
    let mut ranks = 0_u64;
    let mut first = None;
    for (place, size) in sizes {
        ranks = ranks.saturating_add(size);
        if ranks > u64::from(gpus) {
            first.get_or_insert(place);
        }
    }
    let error = PlacementError::TooManyRanks { ranks, gpus };
    first.map_or(Ok(()), |place| Err(unplaced(scenario.source.file, place, &error)))
}

/// The error of jobs that cannot be placed.
fn unplaced(file: &str, place: Place, error: &PlacementError) -> InputError {
    place.refuse_as(file, error, "", "map it otherwise")
}
