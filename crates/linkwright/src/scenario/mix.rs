//! Reads jobs of GPUs that arrive, wait and get their GPUs from a policy: `[jobs]`, `[allocation]`
//! and `[queue]`.
//!
//! ```toml
//! [jobs]
//! file = "jobs.csv"               # or generate = { seed = 7, count = 300, max_gpus = 5 }
//! run_time = "formula"            # or "played", which heeds [collectives] and [protocol]
//! workload = "resnet-50"          # of a file of recorded jobs: what they are taken to have run
//!
//! [allocation]
//! policies = ["baseline", "preserve"]    # all four where absent
//! bandwidth_model = "sound"       # or "published"
//! bandwidth_profile = "mapa"      # or "data-sheet"; by the machine where absent
//! ties = "nearest"                # or "published"
//! servers = "first-fit"           # or "pack", "spread"
//!
//! [queue]
//! discipline = "fifo"             # or "backfill"
//! ```

use std::collections::BTreeSet;
use std::ops::Range;

use toml::Value;

use super::demand::checkpoint_iterations;
use super::fields::{Fields, FileName};
use super::files::{Files, text_of};
use super::generated;
use super::iteration;
use super::measured::Measured;
use super::model_job::DrawnModels;
use super::network::NetworkSettings;
use super::programs::Programs;
use super::recorded::{
    Accounting, Columns, Cut, Limits, MOST_DAYS, Machine, NamedJobs, Recorded, Start,
    tells_workloads,
};
use super::settings::{SettingGroup, grouped};
use super::source::{Place, Source};
use super::trained::{Trained, assumed, check_fit};
use crate::collectives::plan::Packing;
use crate::diagnostic::{Diagnosis, InputError, Named, instead_of};
use crate::program::CollectiveKind;
use crate::simulation::cluster::{Cluster, Fidelity};
use crate::simulation::played::{IterationSettings, MOST_PLAYED_ITERATIONS, PlannerChoice};
use crate::simulation::sensitivity::measure;
use crate::simulation::{
    DayChoices, DrawnModel, Job, MixOptions, PlannedBy, RunTime, SimulationError, generate_from,
    job_file,
};
use crate::system::System;

/// Says where the jobs come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobSource {
    /// Names a list of jobs as CSV, or a record of jobs that ran, relative to the scenario.
    File(FileName),
    /// A generated mix, and where the scenario says what to generate.
    Generate(MixOptions, Place),
}

/// Jobs of GPUs, and how they are played.
#[derive(Debug, Clone, PartialEq)]
pub struct Mix {
    /// Where `[jobs]` come from, if there are any.
    pub jobs: Option<JobSource>,
    /// The jobs that are written down beside them.
    pub written: Option<Programs>,
    /// Says how the jobs of `[jobs]` train networks.
    pub(super) trained: Trained,
    /// Lists the kinds of drawn jobs that train a language model.
    models: DrawnModels,
    /// Says how long they compute where somebody measured it.
    measured: Measured,
    /// How jobs that were recorded are read.
    pub(super) recorded: Box<Recorded>,
    /// Names the policies to play them under, at least one.
    pub policies: Vec<String>,
    /// After how many iterations each jobs of `[jobs]` keep what they have done, where they do not say it themselves.
    pub checkpoint_iterations: Option<u64>,
    /// Holds all other choices.
    pub choices: DayChoices,
    /// The places of what may not fit the system.
    pub places: Box<MixPlaces>,
}

/// Holds the places that errors of building a mix point at; the table where the scenario does not
/// say it.
#[derive(Debug, Clone, PartialEq)]
pub struct MixPlaces {
    /// Each GPU that is out of order.
    pub unhealthy: Vec<Place>,
    /// Points at the speed of GPUs.
    pub gpu_speed: Place,
    /// Points at the GPUs of the largest job.
    pub max_gpus: Place,
}

/// Reads how the run times of jobs are found. Where nobody says, jobs are played if it is said how.
fn run_time(
    scenario: &Fields<'_>,
    named: &NamedJobs,
    is_usual: bool,
) -> Result<RunTime, InputError> {
    let said = grouped("", SettingGroup::HowPlayed).find(|key| scenario.has(key));
    let jobs = scenario.table("jobs")?;
    let wanted: Option<RunTime> = jobs.choice("run_time")?;
    let of_mix = jobs.table("generate")?;
    let trained = ["train", "models"].into_iter().find(|key| of_mix.has(key));
    let trains = trained.is_some();
    if named.is_played() && wanted.is_some_and(RunTime::is_formula) {
        let problem =
            "jobs whose names say how they compute beside a formula, which knows no layers";
        let remedy = "name plain workloads in `[[jobs.named]]`, or write `run_time = \"played\"`";
        return Err(jobs.refuse("run_time", problem, remedy));
    }
    if let Some(key) = trained
        && wanted.is_some_and(RunTime::is_formula)
    {
        let problem =
            "networks that are trained layer by layer beside a formula, which knows no layers";
        let remedy = format!("write `workloads` in place of `{key}`, or `run_time = \"played\"`");
        return Err(of_mix.refuse(key, problem, remedy));
    }
    match (wanted, said) {
        (Some(wanted), _) if wanted.is_formula() && scenario.has("job") => {
            let problem = "a formula beside `[[job]]`s, which are played";
            let remedy = "remove it, or write `run_time = \"played\"`";
            Err(jobs.refuse("run_time", problem, remedy))
        }
        (None, None) if is_usual && !trains && !scenario.has("job") => Ok(RunTime::Formula),
        (None, None) => Ok(RunTime::Played),
        (None, Some(_)) => Ok(RunTime::Played),
        (Some(wanted), Some(key)) if wanted.is_formula() => {
            let problem = format!("`{key}` beside a formula, in which no message is sent");
            let remedy = "remove it, or write `run_time = \"played\"`";
            Err(scenario.refuse(key, &problem, remedy))
        }
        (Some(wanted), _) => Ok(wanted),
    }
}

/// Reads the planner of the collectives of played jobs. Such jobs call no other than an all-reduce.
fn planner(scenario: &Fields<'_>, network: &NetworkSettings) -> Result<PlannerChoice, InputError> {
    let collectives = scenario.table("collectives")?;
    let keys = CollectiveKind::ALL.map(|kind| kind.name().replace('-', "_"));
    if let Some(key) = keys.iter().find(|key| collectives.has(key) && !scenario.has("job")) {
        let problem = "an algorithm for a collective of jobs that a policy places";
        let remedy = "remove it, or name what plans their all-reduces as `planner`";
        return Err(collectives.refuse(key, problem, remedy));
    }
    let planner =
        network.collectives.planner.unwrap_or(PlannerChoice::Plan(PlannedBy::Planner(&Packing)));
    if planner == PlannerChoice::Mpi && fidelity(scenario)? == Fidelity::Fluid {
        let problem = "a planner whose collectives have no fluid";
        let remedy = "name another, or write `fidelity = \"flow\"` or `\"packet\"`";
        return Err(collectives.refuse("planner", problem, remedy));
    }
    Ok(planner)
}

/// How closely the network of played jobs is simulated.
fn fidelity(scenario: &Fields<'_>) -> Result<Fidelity, InputError> {
    Ok(scenario.choice("fidelity")?.unwrap_or(Fidelity::Flow))
}

impl Mix {
    /// The jobs of a scenario whose keys are settled.
    pub(super) fn read(
        scenario: &Fields<'_>,
        network: &NetworkSettings,
        seed: u64,
    ) -> Result<Self, InputError> {
        if scenario.has("mapping") && !scenario.has("job") {
            let remedy = "remove it: a policy gives jobs of `[jobs]` their GPUs";
            return Err(scenario.refuse("mapping", "`mapping` beside `[jobs]`", remedy));
        }
        let unhealthy: Vec<(usize, Range<usize>)> =
            scenario.table("system")?.list("unhealthy")?.unwrap_or_default();
        let allocation = scenario.table("allocation")?;
        let queue = scenario.table("queue")?;
        let of_jobs = scenario.table("jobs")?;
        let iteration = iteration::read(&of_jobs, of_jobs.choice("run_time")?)?;
        let wanted = of_jobs.choice("run_time")?;
        let trained = Trained::read(&of_jobs, wanted, scenario.choice("fidelity")?)?;
        let measured = Measured::read(&of_jobs)?;
        let named = NamedJobs::read(&of_jobs, &trained, scenario.choice("fidelity")?)?;
        let is_usual = iteration == IterationSettings::default()
            && trained.is_usual()
            && measured.is_empty()
            && !named.is_played();
        let run_time = run_time(scenario, &named, is_usual)?;
        let planner = planner(scenario, network)?;
        let machine = Machine {
            network: network.clone(),
            run_time,
            planner,
            iteration,
            measured: measured.clone(),
        };
        let generate = of_jobs.table("generate")?;
        let places = Box::new(MixPlaces {
            unhealthy: unhealthy.iter().map(|(_, span)| scenario.source.place(span)).collect(),
            gpu_speed: of_jobs.place("gpu_speed"),
            max_gpus: generate.place("max_gpus"),
        });
        let choices = DayChoices {
            bandwidth_model: allocation.chosen("allocation.bandwidth_model")?,
            bandwidth_profile: allocation.choice("bandwidth_profile")?,
            ties: allocation.chosen("allocation.ties")?,
            server_choice: allocation.chosen("allocation.servers")?,
            discipline: queue.chosen("queue.discipline")?,
            unhealthy: unhealthy.into_iter().map(|(gpu, _)| gpu).collect(),
            run_time,
            fidelity: fidelity(scenario)?,
            planner,
            iteration,
            attributes: false,
        };
        let written = scenario.has("job").then(|| Programs::entries(scenario)).transpose()?;
        if let Some(written) = &written {
            written.check_day(scenario.source.file, choices.fidelity)?;
            written.check_fluid(scenario.source.file, choices.fidelity)?;
        }
        let of_all = scenario.has("jobs") || written.as_ref().is_none_or(Programs::asks_policy);
        Ok(Self {
            jobs: scenario.has("jobs").then(|| jobs(&of_jobs, seed)).transpose()?,
            written,
            trained,
            models: DrawnModels::read(&generate)?,
            measured,
            recorded: Box::new(recorded(&of_jobs, machine, named)?),
            policies: policies(&allocation, of_all)?,
            checkpoint_iterations: checkpoint_iterations(&of_jobs)?,
            choices,
            places,
        })
    }

    /// The files that list the jobs, and say on what they were recorded.
    pub(super) fn files(&self) -> impl Iterator<Item = &FileName> {
        let listed = match &self.jobs {
            Some(JobSource::File(file)) => Some(file),
            Some(JobSource::Generate(..)) | None => None,
        };
        let listed = listed.into_iter();
        let listed = listed.flat_map(|file| std::iter::once(file).chain(self.recorded.files()));
        let listed = listed.chain(self.models.files());
        listed.chain(self.written.iter().flat_map(Programs::files))
    }

    /// Builds the jobs, and the assumptions about them. The system has the GPUs for each job.
    pub(super) fn build(
        &self,
        scenario: &str,
        (cluster, seed): (&Cluster, u64),
        files: &Files,
    ) -> Result<(Vec<Job>, Vec<String>), InputError> {
        let system = &*cluster.system;
        let gpus = system.gpus() as usize;
        let DayChoices { unhealthy, iteration, run_time, .. } = &self.choices;
        let mut named = unhealthy.iter().zip(&self.places.unhealthy);
        if let Some((gpu, place)) = named.find(|(gpu, _)| **gpu >= gpus) {
            let problem = format!("`{}` has no such GPU", system.name());
            let remedy = format!("its GPUs are 0 to {}", gpus - 1);
            return Err(place.refuse(scenario, &problem, &gpu.to_string(), remedy));
        }
        iteration.check(system).map_err(|error| {
            let speed = format!("\"{}\"", iteration.gpu_speed.name());
            self.places.gpu_speed.refuse_as(scenario, error, &speed, "let it be `reference`")
        })?;
        let mut healthy: Vec<usize> =
            (0..system.servers()).map(|it| system.kind_of(it).server().gpus().len()).collect();
        let absent = cluster.failures.absent_gpus.iter().copied();
        let ids: BTreeSet<u32> = unhealthy.iter().map(|gpu| *gpu as u32).chain(absent).collect();
        for gpu in ids {
            healthy[system.gpu(gpu).server as usize] -= 1;
        }
        // By the formula a job runs within one server.
        let healthy = match run_time {
            RunTime::Formula | RunTime::Regression => healthy.into_iter().max().unwrap_or(0),
            RunTime::Played => healthy.into_iter().sum(),
        };
        let (mut jobs, mut notes) = match &self.jobs {
            Some(source) => self.listed(source, scenario, (system, healthy), files)?,
            None => (Vec::new(), Vec::new()),
        };
        for job in &mut jobs {
            job.checkpoint_iterations = job.checkpoint_iterations.or(self.checkpoint_iterations);
        }
        if let Some(written) = &self.written {
            let (more, told) = written.of_day(scenario, (system, healthy), seed, files)?;
            let names: BTreeSet<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
            let twice = more.iter().position(|job| names.contains(job.name.as_str()));
            if let Some(index) = twice {
                let remedy = "give it a `name` that no job of `[jobs]` has";
                let (name, place) = (&more[index].name, written.jobs[index].places.name);
                return Err(place.refuse(scenario, "a second job of this name", name, remedy));
            }
            jobs.extend(more);
            notes.extend(told);
        }
        notes.extend(assumed(&jobs, system));
        Ok((jobs, notes))
    }

    /// Gives the jobs of `[jobs]`, each of at most `healthy` GPUs, with notes that say what is assumed of
    /// them.
    fn listed(
        &self,
        source: &JobSource,
        scenario: &str,
        (system, healthy): (&System, usize),
        files: &Files,
    ) -> Result<(Vec<Job>, Vec<String>), InputError> {
        let DayChoices { run_time, fidelity, .. } = &self.choices;
        match source {
            JobSource::File(file) => {
                let text = text_of(scenario, file, files)?;
                let iterations = match (run_time, fidelity) {
                    (RunTime::Played, Fidelity::Flow | Fidelity::Packet) => MOST_PLAYED_ITERATIONS,
                    _ => u64::MAX,
                };
                if self.reads_as_record(text) {
                    let most = Limits { gpus: healthy, iterations };
                    let how = (most, system, self.choices.iteration);
                    let (jobs, notes) = self.recorded.jobs(scenario, file, files, how)?;
                    check_fit(&jobs, system).map_err(|it| as_input(it, scenario, file.place))?;
                    return Ok((jobs, notes));
                }
                if let Some((name, place)) = &self.recorded.workload {
                    let problem = "a workload beside a list of jobs, which names that of each";
                    let remedy = "remove it, or give a file that says how long jobs ran";
                    return Err(place.refuse(scenario, problem, name, remedy));
                }
                let larger = self.larger(system);
                let most = job_file::Most { gpus: healthy, larger, iterations };
                let workloads = &self.recorded.accounting.registries.workloads;
                let read = job_file::read_with(workloads, &file.name, text, most);
                let mut jobs = read.map_err(|error| as_input(error, scenario, file.place))?;
                let notes = self.train(&mut jobs, system);
                let notes = notes.map_err(|error| as_input(error, scenario, file.place))?;
                measure(&mut jobs, system)
                    .map_err(|error| as_input(error, scenario, file.place))?;
                Ok((jobs, notes))
            }
            JobSource::Generate(options, place) => {
                let workloads = &self.recorded.accounting.registries.workloads;
                let jobs = generate_from(workloads, options);
                let mut jobs = jobs.map_err(|it| as_input(it, scenario, *place))?;
                let large = self.models.drawn().into_iter().find(|it| it.gpus as usize > healthy);
                if let Some(DrawnModel { name, gpus, .. }) = large {
                    let problem =
                        format!("jobs of `{name}` have {gpus} GPUs, and {healthy} are healthy");
                    let remedy = format!("give its layout {healthy} GPUs or fewer");
                    return Err(place.refuse(scenario, &problem, &gpus.to_string(), remedy));
                }
                self.models.apply(&mut jobs, scenario, (system, files))?;
                let notes = self.train(&mut jobs, system);
                let notes = notes.map_err(|error| as_input(error, scenario, *place))?;
                let Some(large) = jobs.iter().find(|job| job.gpus as usize > healthy) else {
                    return Ok((jobs, notes));
                };
                let of = match (run_time, system.servers()) {
                    (_, 1) => "the machine",
                    (RunTime::Formula | RunTime::Regression, _) => "a server at most",
                    (RunTime::Played, _) => "the system",
                };
                let problem = format!(
                    "the mix has a job of {} GPUs, and {healthy} of {of} are healthy",
                    large.gpus
                );
                let remedy = format!("set max_gpus to {healthy} or less{}", self.larger(system));
                let written = options.max_gpus.to_string();
                Err(self.places.max_gpus.refuse(scenario, &problem, &written, remedy))
            }
        }
    }
}

impl Mix {
    /// Lets jobs train as was chosen, which the GPUs must be able to; says how.
    fn train(&self, jobs: &mut [Job], system: &System) -> Result<Vec<String>, SimulationError> {
        self.trained.apply(jobs, system, self.choices.iteration)?;
        self.measured.apply(jobs);
        check_fit(jobs, system)?;
        Ok(self.trained.notes(jobs))
    }

    /// Whether the text of its file is of jobs that ran.
    pub(super) fn reads_as_record(&self, text: &str) -> bool {
        // Who names a workload has a record, unless each job names its own.
        let says = self.recorded.workload.is_some() || !self.recorded.named.is_empty();
        let is_meant = says && !tells_workloads(text);
        is_meant || self.recorded.accounting.is_record(text)
    }

    /// Names another choice that would let a large job run.
    fn larger(&self, system: &System) -> &'static str {
        match self.choices.run_time {
            wanted if wanted.is_formula() && system.servers() > 1 => {
                ", or let jobs run on several servers by `run_time = \"played\"`"
            }
            _ => "",
        }
    }
}

/// An error of the jobs, at the place of the scenario that asks for them if it has none.
fn as_input(error: SimulationError, scenario: &str, place: Place) -> InputError {
    match error {
        SimulationError::Input(error) => error,
        other => place.refuse_as(scenario, &other, "", "ask for other jobs"),
    }
}

/// How jobs that were recorded are read; only a file has such.
fn recorded(
    table: &Fields<'_>,
    machine: Machine,
    named: NamedJobs,
) -> Result<Recorded, InputError> {
    if !table.has("file")
        && let Some(key) =
            ["workload", "named", "columns", "from", "days"].into_iter().find(|key| table.has(key))
    {
        let problem = "this is of jobs that a file says ran";
        let remedy = "name the file as `file`, or write `workloads` or `train` in `generate`";
        return Err(table.refuse(key, problem, remedy));
    }
    let workload = table.named("workload", |name| {
        let workloads = &table.source.registries.workloads;
        let remedy = || instead_of(name, &workloads.names());
        let unknown = |_| Diagnosis::of("unknown workload").remedy(remedy());
        workloads.get(name).map(|found| found.name().to_owned()).map_err(unknown)
    })?;
    let columns = table.table("columns")?;
    Ok(Recorded {
        workload: workload.map(|name| (name, table.place("workload"))),
        named,
        accounting: Accounting {
            registries: table.source.registries.clone(),
            columns: Columns {
                job: columns.optional("job")?,
                name: columns.optional("name")?,
                submit: columns.optional("submit")?,
                start: columns.optional("start")?,
                end: columns.optional("end")?,
                duration: columns.optional("duration")?,
                gpus: columns.optional("gpus")?,
                state: columns.optional("state")?,
                workload: columns.optional("workload")?,
            },
        },
        cut: cut(table)?,
        machine,
    })
}

/// Which part of a record is played.
fn cut(table: &Fields<'_>) -> Result<Cut, InputError> {
    let from = match table.value("from") {
        None => None,
        Some(value) => {
            let start = match &value {
                Value::String(text) => Start::read(text),
                Value::Datetime(time) => Start::read(&time.to_string()),
                Value::Integer(days) => u32::try_from(*days).ok().map(Start::Days),
                _ => None,
            };
            let refuse = || {
                let remedy = "write a date such as \"2024-03-01\", a time such as \"2024-03-01T08:15:30\", \
                              or a number of days after the first job";
                table.refuse("from", "neither a time nor a number of days", remedy)
            };
            Some(start.ok_or_else(refuse)?)
        }
    };
    let days = table.has("days").then(|| {
        let too_many = "simulated time ends after 213 days (2^64 ps)";
        table.count("days", 1, MOST_DAYS, too_many)
    });
    Ok(Cut { from, days: days.transpose()? })
}

fn jobs(table: &Fields<'_>, seed: u64) -> Result<JobSource, InputError> {
    match (table.file("file")?, table.has("generate")) {
        (Some(file), false) => Ok(JobSource::File(file)),
        (None, true) => {
            let options = generated::options(&table.table("generate")?, seed)?;
            Ok(JobSource::Generate(options, table.place("generate")))
        }
        _ => {
            let remedy = "write either `file` or `generate`";
            Err(table.source.refuse(&table.span, "not one source of the jobs", remedy))
        }
    }
}

/// The policies to play the jobs under: all where nobody names any, the first where no job asks for that of all.
fn policies(table: &Fields<'_>, of_all: bool) -> Result<Vec<String>, InputError> {
    let mut known = table.source.registries.policies.names();
    let named = names(table, "policies", "policy", &known)?;
    known.truncate(if of_all { known.len() } else { 1 });
    Ok(named.unwrap_or_else(|| known.iter().map(|name| (*name).to_owned()).collect()))
}

/// The names of a list that is not empty and holds only known ones, each once.
pub(super) fn names(
    table: &Fields<'_>,
    key: &str,
    what: &str,
    known: &[&str],
) -> Result<Option<Vec<String>>, InputError> {
    let Some(list) = table.list::<String>(key)? else { return Ok(None) };
    if list.is_empty() {
        let remedy = format!("name some of {}, or leave the key out for all", known.join(", "));
        return Err(table.refuse(key, &format!("no {what} is named"), remedy));
    }
    let source: Source<'_> = table.source;
    for (index, (name, span)) in list.iter().enumerate() {
        if !known.contains(&name.as_str()) {
            // A policy may be a class that is loaded when it is asked for.
            let found = (what == "policy").then(|| source.registries.policies.find(name));
            let remedy = match found.flatten() {
                Some(Ok(_)) => None,
                Some(Err(error)) => Some(error.instead),
                None => Some(instead_of(name, known)),
            };
            if let Some(remedy) = remedy {
                return Err(source.refuse(span, &format!("unknown {what}"), remedy));
            }
        }
        if what == "policy" && list[..index].iter().any(|(other, _)| other == name) {
            return Err(source.refuse(span, "policy named twice", "name each policy once"));
        }
    }
    Ok(Some(list.into_iter().map(|(name, _)| name).collect()))
}
