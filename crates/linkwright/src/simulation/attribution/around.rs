//! How long jobs take alone while parts of the system are lost.

use std::collections::BTreeMap;

use super::alone::LonePlays;
use crate::allocation::Policy;
use crate::engine::Hook;
use crate::simulation::cluster::Cluster;
use crate::simulation::day::{DayChoices, DayOutcome, SharedSystem};
use crate::simulation::error::SimulationError;
use crate::simulation::job::Job;
use crate::units::Picoseconds;

/// Tells how long parts of a job take alone in states of the system in which parts are lost.
#[derive(Debug, Default)]
pub(super) struct Around {
    /// Lists the share of its iterations, and its time alone if all of them were there.
    parts: Vec<(f64, Picoseconds)>,
}

impl Around {
    /// Gives its time alone in the states that it was in, from that on the whole system.
    pub(super) fn over(&self, alone: Picoseconds) -> Picoseconds {
        let more =
            |(share, around): &(f64, Picoseconds)| share * (around.0 as f64 - alone.0 as f64);
        let more: f64 = self.parts.iter().map(more).sum();
        Picoseconds((alone.0 as f64 + more).round().max(0.0) as u64)
    }
}

/// Plays jobs alone that ran while parts of the system were lost; gives the times of these, by their indices in the list.
pub(super) fn times(
    (cluster, choices): (&Cluster, &DayChoices),
    (shared, policy): (&SharedSystem, &dyn Policy),
    (jobs, day): (&[Job], &DayOutcome),
    hook: Hook<'_>,
) -> Result<BTreeMap<usize, Around>, SimulationError> {
    let mut of_state: BTreeMap<usize, Vec<(usize, f64)>> = BTreeMap::new();
    for (at, record) in day.records.iter().enumerate() {
        let Some(endured) = day.endured.get(record.job) else { continue };
        for stretch in endured.stretches.iter().filter(|it| it.state > 0) {
            let share = stretch.iterations as f64 / jobs[record.job].iterations.max(1) as f64;
            of_state.entry(stretch.state).or_default().push((at, share));
        }
    }
    let mut found: BTreeMap<usize, Around> = BTreeMap::new();
    for (state, stretches) in of_state {
        let Some((left, shared)) = shared.in_state(state) else { continue };
        let left = Cluster { fidelity: cluster.fidelity, ..left.clone() };
        let mut plays = LonePlays::new(&left.system, choices);
        let ask = |(at, share): &(usize, f64)| {
            let record = &day.records[*at];
            let run_time = Picoseconds(record.finish.0 - record.start.0);
            (record.job, *share, plays.ask(&jobs[record.job], &record.parts, run_time, true))
        };
        let asked: Vec<(usize, f64, usize)> = stretches.iter().map(ask).collect();
        let times = plays.played(&left, choices, (&shared, policy), hook)?;
        for (job, share, play) in asked {
            found.entry(job).or_default().parts.push((share, times[play]));
        }
    }
    Ok(found)
}
