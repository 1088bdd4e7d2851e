//! Plays one run of a comparison, and sums it up.

use std::collections::BTreeMap;

use thiserror::Error;

use super::programs::ProgramTimes;
use super::twister::MersenneTwister;
use crate::diagnostic::{Diagnose, Diagnosis, InputError, shown};
use crate::engine::Hook;
use crate::scenario::build::ReadyJobs;
use crate::scenario::files::Files;
use crate::scenario::mix::JobSource;
use crate::scenario::play::{PlayError, PlayedScenario, Run, play};
use crate::scenario::read::{Asked, Scenario};
use crate::simulation::Job;
use crate::simulation::cluster::tables::makespan;
use crate::simulation::heat::HeatSummary;
use crate::simulation::power::{GpuPower, Held, gpu_energy, held_by_day, held_by_programs, powers};
use crate::simulation::summary::DayMeasures;
use crate::thermal::ThermalError;

/// Holds what a run came to.
#[derive(Debug, Clone, PartialEq)]
pub enum ComparedOutcome {
    /// Jobs of GPUs come to these measures.
    Day(DayMeasures),
    /// It holds the times of jobs of ranks.
    Programs(ProgramTimes),
}

/// Tells why a comparison cannot be had.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{}", self.diagnosis())]
pub enum ComparisonError {
    /// No reader accepts a scenario, a variant or a file; it has the place.
    #[error(transparent)]
    Input(Box<InputError>),
    /// A run cannot be played.
    #[error(transparent)]
    Play(Box<PlayError>),
    /// The temperatures of its package cannot be told.
    #[error(transparent)]
    Heat(#[from] ThermalError),
    /// A day has no job that ran.
    NoJobs,
    /// Programs have no seeds and no machines.
    OfPrograms,
    /// The reference is no variant.
    Reference {
        /// It was asked for.
        wanted: String,
        /// The scenario has these.
        known: Vec<String>,
    },
}

impl From<InputError> for ComparisonError {
    fn from(error: InputError) -> Self {
        Self::Input(Box::new(error))
    }
}

impl From<PlayError> for ComparisonError {
    fn from(error: PlayError) -> Self {
        Self::Play(Box::new(error))
    }
}

impl Diagnose for ComparisonError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Input(error) => error.diagnosis(),
            Self::Play(error) => error.diagnosis(),
            Self::Heat(error) => error.diagnosis(),
            Self::NoJobs => Diagnosis::of("no job ran").remedy("give at least one job"),
            Self::OfPrograms => {
                let problem = "a scenario of programs cannot be compared over seeds, policies or \
                    systems";
                Diagnosis::of(problem).remedy("write each variant's changes under [compare.NAME]")
            }
            Self::Reference { wanted, known } => {
                let problem = format!("there is no variant `{}`", shown(wanted));
                Diagnosis::of(problem).remedy(format!("use one of {}", known.join(", ")))
            }
        }
    }
}

/// Plays a scenario as the run of a comparison, and sums it up. Jobs of GPUs are played under its first policy.
///
/// `draw` is the index of the seed. From the second on the jobs of a file are drawn of them, as many with replacement.
/// They arrive when the file's jobs do. Where the scenario observes a package, its heat is summed up, too.
///
/// `given` says what GPUs draw in place of their data sheets, by model, as [`powers`] takes it.
///
/// # Errors
/// It refuses what [`Scenario::build`] and [`play`] do, and a day without jobs.
pub fn outcome(
    scenario: &Scenario,
    files: &Files,
    draw: usize,
    given: &BTreeMap<String, GpuPower>,
    hook: Hook<'_>,
) -> Result<ComparedOutcome, ComparisonError> {
    let mut built = scenario.build(files)?;
    if let (Asked::Mix(mix), ReadyJobs::Mix(jobs)) = (&scenario.asked, &mut built.work)
        && let (Some(JobSource::File(_)), 1..) = (&mix.jobs, draw)
    {
        *jobs = drawn(jobs, scenario.seed);
    }
    let system = &built.cluster.system;
    let powers = powers(system, given, &built.powers());
    let heat = |held: &[Held]| -> Result<Option<HeatSummary>, ThermalError> {
        let Some(package) = &built.package else { return Ok(None) };
        Ok(Some(package.observe(&powers, held)?.summary(system)))
    };
    match (play(scenario, &built, Run::default(), hook)?, &scenario.asked, &built.work) {
        (PlayedScenario::Day(day), Asked::Mix(mix), ReadyJobs::Mix(jobs)) => {
            let found = DayMeasures::of(system, &mix.choices, jobs, &day, &powers);
            let found = found.ok_or(ComparisonError::NoJobs)?;
            let heat = heat(&held_by_day(system, &day.records))?;
            Ok(ComparedOutcome::Day(DayMeasures { heat, ..found }))
        }
        (PlayedScenario::Programs(played), ..) => {
            let names = played.jobs.iter().map(|job| job.name.clone());
            let times = played.outcome.jobs.jobs.iter().map(|job| job.time().as_seconds());
            let held = held_by_programs(&played.jobs, &played.outcome.jobs);
            Ok(ComparedOutcome::Programs(ProgramTimes {
                makespan: makespan(&played.outcome).as_seconds(),
                jobs: names.zip(times).collect(),
                energy: Some(gpu_energy(&powers, &held)),
                heat: heat(&held)?,
            }))
        }
        _ => unreachable!("a day has jobs of GPUs"),
    }
}

/// Draws as many jobs of a list, with replacement, that arrive when its jobs do.
fn drawn(jobs: &[Job], seed: u64) -> Vec<Job> {
    let mut random = MersenneTwister::new(seed);
    let again = |(at, slot): (usize, &Job)| {
        let job = &jobs[random.index(jobs.len())];
        let name = format!("{:04}-{}", at + 1, job.name);
        Job { name, arrival: slot.arrival, ..job.clone() }
    };
    jobs.iter().enumerate().map(again).collect()
}
