//! Tells who suffered on a shared system, and why.
//!
//! A job's slowdown is its time from arrival to end over its time alone on the best GPUs of the idle system. It has four
//! parts:
//!
//! - Waiting is the time from arrival to end over the run time.
//! - Failure is the run time over that of the iterations that counted, times what lost parts slow these alone.
//! - Neighbours is the time of the iterations that counted over their time alone on the same GPUs of what was left.
//! - Placement is the time alone on the same GPUs of the whole system over that on the best.
//!
//! Where nothing fails, failure is 1. A job that had several places is compared with its last.
//!
//! The product of the parts is the whole. Both times alone are played as the day was, once for each class of job and place
//! ([`alone`]).
//!
//! It leaves out sets of GPUs beside those that [`best`] tries. Where none of these is faster, a job's own place is the best.

mod alone;
mod around;
mod best;
mod neighbours;

use serde::{Deserialize, Serialize};

use self::alone::LonePlays;
use self::best::BestPlaces;
use super::cluster::Cluster;
use super::day::{DayChoices, DayOutcome, SharedSystem};
use super::error::SimulationError;
use super::job::Job;
use super::queue::{JobPlace, JobRecord};
use crate::allocation::Policy;
use crate::engine::Hook;
use crate::table::Table;
use crate::units::Picoseconds;

/// Says how long a job takes alone, and why it took longer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attribution {
    /// Is the job's index in the list.
    pub job: usize,
    /// How long it takes alone on the GPUs that it had.
    pub alone: Picoseconds,
    /// How long it takes alone on the best GPUs of the idle system.
    pub best: Picoseconds,
    /// Lists these GPUs by their ids in the system, ascending.
    pub best_gpus: Vec<u32>,
    /// Splits its slowdown.
    pub slowdown: Slowdown,
    /// The share of its run time that was communication which no computing hid; None where nobody knows.
    pub exposed: Option<f64>,
    /// The jobs that cost it most, by their indices in the list, each with its seconds; the first ten. None where it was
    /// slowed and nobody knows by whom, as among packets.
    pub neighbours: Option<Vec<(usize, f64)>>,
}

/// Holds the parts of a slowdown. Their product is the whole.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Slowdown {
    /// Is its time from arrival to end over its run time.
    pub waiting: f64,
    /// Is its time alone on its GPUs over that on the best.
    pub placement: f64,
    /// Is its run time over its time alone on its GPUs, but for what failures cost.
    pub neighbours: f64,
    /// Is what failures cost: time that was lost, and slower ways around what failed.
    pub failure: f64,
    /// Is its time from arrival to end over its time alone on the best GPUs.
    pub whole: f64,
}

impl Slowdown {
    /// Splits the slowdown of a job that lost some time. The times alone are those on its GPUs while parts are lost, on its GPUs
    /// of the whole system, and on the best.
    #[must_use]
    pub fn of(
        job: &Job,
        record: &JobRecord,
        lost: Picoseconds,
        [around, alone, best]: [Picoseconds; 3],
    ) -> Self {
        let run_time = record.finish.0 - record.start.0;
        let job_time = record.finish.0 - job.arrival.0;
        let counted = run_time.saturating_sub(lost.0);
        Self {
            waiting: ratio(job_time, run_time),
            placement: ratio(alone.0, best.0),
            neighbours: ratio(counted, around.0),
            failure: ratio(run_time, counted) * ratio(around.0, alone.0),
            whole: ratio(job_time, best.0),
        }
    }
}

/// How many times as long one time is; 1 of two that take none.
fn ratio(time: u64, of: u64) -> f64 {
    if time == of { 1.0 } else { time as f64 / of.max(1) as f64 }
}

/// Plays each job of a day alone, on its GPUs and on the best, and splits its slowdown.
///
/// # Errors
/// Fails as [`play_day`](super::play_day) does, of the jobs alone.
pub(super) fn attribute(
    (cluster, choices): (&Cluster, &DayChoices),
    (shared, policy): (&SharedSystem, &dyn Policy),
    (jobs, day): (&[Job], &DayOutcome),
    hook: Hook<'_>,
) -> Result<Vec<Attribution>, SimulationError> {
    let mut plays = LonePlays::new(&cluster.system, choices);
    let mut best = BestPlaces::new(&cluster.system, shared);
    let around = around::times((cluster, choices), (shared, policy), (jobs, day), hook)?;
    let mut asked = Vec::with_capacity(day.records.len());
    for record in &day.records {
        let job = &jobs[record.job];
        let run_time = Picoseconds(record.finish.0 - record.start.0);
        let own = plays.ask(job, &record.parts, run_time, true);
        let mut tried = vec![(own, place_of(record))];
        for place in best.of(jobs, record.job, hook)? {
            let parts = shared.scored(&cluster.system, job, place)?;
            tried.push((plays.ask(job, &parts, run_time, false), place.clone()));
        }
        asked.push(tried);
    }
    let times = plays.played(cluster, choices, (shared, policy), hook)?;
    let first_gpus = cluster.system.first_gpus();
    let each = day.records.iter().zip(&day.exposed).zip(asked);
    let meetings = neighbours::meetings(&cluster.system, jobs, day);
    let found = each.zip(&meetings).map(|(((record, exposed), tried), meetings)| {
        let alone = times[tried[0].0];
        // Of equal ones its own.
        let (best, place) =
            tried.iter().min_by_key(|(play, _)| times[*play]).expect("it has its own");
        let (best, best_gpus) = (times[*best], gpus_of(place, &first_gpus));
        let lost = day.endured.get(record.job).map_or(Picoseconds(0), |it| it.lost);
        let around = around.get(&record.job).map_or(alone, |it| it.over(alone));
        let slowdown = Slowdown::of(&jobs[record.job], record, lost, [around, alone, best]);
        let run_time = Picoseconds((record.finish.0 - record.start.0).saturating_sub(lost.0));
        let neighbours = neighbours::costs(day, meetings, (run_time, around));
        let (job, exposed) = (record.job, *exposed);
        Attribution { job, alone, best, best_gpus, slowdown, exposed, neighbours }
    });
    Ok(found.collect())
}

/// Lists the GPUs of a job in each of its servers.
fn place_of(record: &JobRecord) -> JobPlace {
    let of = |part: &super::queue::Part| (part.server as usize, part.chosen.placement.to_vec());
    record.parts.iter().map(of).collect()
}

fn gpus_of(place: &JobPlace, first_gpus: &[u32]) -> Vec<u32> {
    let of = |(server, gpus): &(usize, Vec<usize>)| {
        let first = first_gpus[*server];
        gpus.iter().map(move |gpu| first + *gpu as u32).collect::<Vec<u32>>()
    };
    let mut gpus: Vec<u32> = place.iter().flat_map(of).collect();
    gpus.sort_unstable();
    gpus
}

/// Gives one row per job that ran: its times alone, and the parts of its slowdown.
///
/// # Panics
/// If an attribution's job is not in the list.
#[must_use]
pub fn table(jobs: &[Job], attributions: &[Attribution]) -> Table {
    let number = |of: fn(&Attribution) -> f64| attributions.iter().map(of).collect::<Vec<f64>>();
    let of_job = |it: &Attribution| jobs[it.job].name.clone();
    let best_gpus = attributions.iter().map(|it| it.best_gpus.clone()).collect::<Vec<_>>();
    let gpus = attributions.iter().map(|it| u64::from(jobs[it.job].gpus)).collect::<Vec<_>>();
    Table::new()
        .with("job", "", attributions.iter().map(of_job).collect::<Vec<_>>())
        .with("gpu_count", "", gpus)
        .with("alone", "s", number(|it| it.alone.as_seconds()))
        .with("best", "s", number(|it| it.best.as_seconds()))
        .with("best_gpus", "", best_gpus)
        .with("waiting", "", number(|it| it.slowdown.waiting))
        .with("placement", "", number(|it| it.slowdown.placement))
        .with("neighbours", "", number(|it| it.slowdown.neighbours))
        .with("failure", "", number(|it| it.slowdown.failure))
        .with("slowdown", "", number(|it| it.slowdown.whole))
        .with("exposed", "", attributions.iter().map(|it| it.exposed).collect::<Vec<_>>())
}

/// Gives one row per job and neighbour that cost it something, the dearest first.
///
/// # Panics
/// If a job is not in the list.
#[must_use]
pub fn neighbours_table(jobs: &[Job], attributions: &[Attribution]) -> Table {
    let of = |it: &Attribution| {
        let job = it.job;
        let told = it.neighbours.clone().unwrap_or_default();
        told.into_iter().map(move |(other, cost)| (job, other, cost)).collect::<Vec<_>>()
    };
    let rows: Vec<(usize, usize, f64)> = attributions.iter().flat_map(of).collect();
    let name = |of: fn(&(usize, usize, f64)) -> usize| {
        rows.iter().map(|row| jobs[of(row)].name.clone()).collect::<Vec<_>>()
    };
    Table::new().with("job", "", name(|row| row.0)).with("neighbour", "", name(|row| row.1)).with(
        "cost",
        "s",
        rows.iter().map(|row| row.2).collect::<Vec<f64>>(),
    )
}
