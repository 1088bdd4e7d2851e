//! Tells which jobs cost another one its time, by the links that they share.
//!
//! It divides the time that a job lost among those that ran beside it. Each has a part by how long both run at one time, and by
//! how much both carry over each link that they share. That is the product of the shares of its bandwidth that they take in
//! the mean. Jobs without a shared link cost each other nothing.
//!
//! It leaves out when in their iterations jobs send, and who slows a job by slowing another.

use std::collections::BTreeMap;

use crate::simulation::day::DayOutcome;
use crate::simulation::job::Job;
use crate::system::System;
use crate::system::fabric::ChannelId;
use crate::units::Picoseconds;

/// As many are told of each job at most.
const TOLD: usize = 10;

/// Says how much a job meets others, by their records.
type Meetings = BTreeMap<usize, f64>;

/// Finds how much the jobs of a day meet one another, by the indices of their records.
pub(super) fn meetings(system: &System, jobs: &[Job], day: &DayOutcome) -> Vec<Meetings> {
    let records = &day.records;
    let mut found = vec![Meetings::new(); records.len()];
    if day.of_iterations.is_empty() {
        return found;
    }
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|at| records[*at].start);
    // Who runs, with the share of the channel that it takes.
    let mut running: BTreeMap<ChannelId, Vec<(usize, f64)>> = BTreeMap::new();
    for at in order {
        let record = &records[at];
        let seconds = Picoseconds(record.finish.0 - record.start.0).as_seconds();
        if seconds <= 0.0 {
            continue;
        }
        let iterations = jobs[record.job].iterations as f64;
        for (channel, bytes) in &day.of_iterations[record.job] {
            let whole = system.channel(*channel).bandwidth.0 as f64 * seconds;
            let share = bytes * iterations / whole;
            let others = running.entry(*channel).or_default();
            others.retain(|(other, _)| records[*other].finish > record.start);
            for (other, taken) in others.iter() {
                let until = record.finish.min(records[*other].finish);
                let both = Picoseconds(until.0 - record.start.0).as_seconds() * share * taken;
                *found[at].entry(*other).or_default() += both;
                *found[*other].entry(at).or_default() += both;
            }
            others.push((at, share));
        }
    }
    found
}

/// Divides the time that a job lost among those that it met, by their indices in the list, the dearest first. None where it
/// met nobody that is known, and lost time nevertheless.
pub(super) fn costs(
    day: &DayOutcome,
    meetings: &Meetings,
    (run_time, alone): (Picoseconds, Picoseconds),
) -> Option<Vec<(usize, f64)>> {
    let lost = Picoseconds(run_time.0.saturating_sub(alone.0)).as_seconds();
    let all: f64 = meetings.values().sum();
    if lost <= 0.0 {
        return Some(Vec::new());
    }
    if all <= 0.0 {
        return None;
    }
    let cost = |(other, met): (&usize, &f64)| (day.records[*other].job, lost * met / all);
    let mut costs: Vec<(usize, f64)> = meetings.iter().map(cost).collect();
    costs.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    costs.truncate(TOLD);
    Some(costs)
}
