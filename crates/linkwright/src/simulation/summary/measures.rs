//! Sums up one run of jobs of GPUs.

use std::array;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::link_use::LinkUse;
use super::quartiles::at_fraction;
use super::sorted;
use super::time_parts::{JobTimes, TimeParts};
use crate::simulation::day::{DayChoices, DayOutcome};
use crate::simulation::heat::HeatSummary;
use crate::simulation::job::Job;
use crate::simulation::power::{GpuPower, gpu_energy, held_by_day};
use crate::system::System;

/// Curves of distributions have as many points, the first at none of the jobs, the last at all.
pub const SHARES: usize = 41;

/// Holds what a run came to. The times are in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DayMeasures {
    /// Holds the parts of the jobs' times.
    #[serde(flatten)]
    pub parts: TimeParts,
    /// Gives the job time that 95 of 100 jobs stay below.
    pub job_time_95: f64,
    /// Gives the wait that 95 of 100 jobs stay below.
    pub wait_95: f64,
    /// Gives the time at which the last job ended.
    pub makespan: f64,
    /// Gives the share of the makespan for which jobs held GPUs. None where it takes no time.
    pub gpu_use: Option<f64>,
    /// Holds what links carried.
    #[serde(flatten)]
    pub links: LinkUse,
    /// Gives the GPUs' energy until the last job ends, in kWh. None if a busy power is unknown.
    pub gpu_energy: Option<f64>,
    /// Tells whether `gpu_energy` includes all power of GPUs at rest.
    pub has_rest: bool,
    /// Counts jobs of several GPUs and their servers, by the GPUs that such a job has in a server.
    pub held: BTreeMap<usize, u64>,
    /// It has the longest job time of each share of the jobs.
    pub job_times: Vec<f64>,
    /// It has the longest wait of each share of the jobs.
    pub waits: Vec<f64>,
    /// It holds the heat of the package that is observed; None where none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heat: Option<HeatSummary>,
}

impl DayMeasures {
    /// Sums up a day on GPUs with these powers, but for its heat; None of a day without jobs.
    #[must_use]
    pub fn of(
        system: &System,
        choices: &DayChoices,
        jobs: &[Job],
        day: &DayOutcome,
        powers: &[GpuPower],
    ) -> Option<Self> {
        let records = &day.records[..];
        let each = records.iter().map(|record| JobTimes::of(&jobs[record.job], record));
        let each: Vec<JobTimes> = each.collect();
        let gpus = system.gpus() as usize;
        let mut out_of_order = choices.unhealthy.clone();
        out_of_order.sort_unstable();
        out_of_order.dedup();
        let parts = TimeParts::of(&each, gpus - out_of_order.len())?;
        let times = sorted(each.iter().map(JobTimes::job_time));
        let waits = sorted(each.iter().map(|job| job.wait));
        let makespan = each.iter().map(|job| job.finish).fold(0.0, f64::max);
        let whole = makespan * gpus as f64;
        let mut held = BTreeMap::new();
        for record in records.iter().filter(|record| record.gpu_count() > 1) {
            for part in &record.parts {
                *held.entry(part.chosen.placement.len()).or_default() += 1;
            }
        }
        let energy = gpu_energy(powers, &held_by_day(system, records));
        let curve = |ordered: &[f64]| {
            let last = (SHARES - 1) as f64;
            (0..SHARES).map(|step| at_fraction(ordered, step as f64 / last)).collect()
        };
        Some(Self {
            parts,
            job_time_95: at_fraction(&times, 0.95),
            wait_95: at_fraction(&waits, 0.95),
            makespan,
            gpu_use: (whole > 0.0).then(|| parts.gpu_seconds / whole),
            links: LinkUse::of(system, day.loads.as_ref(), records),
            gpu_energy: energy.whole,
            has_rest: energy.has_rest,
            held,
            job_times: curve(&times),
            waits: curve(&waits),
            heat: None,
        })
    }

    /// Gives the values of [`MEASURES`], in their order.
    #[must_use]
    pub fn values(&self) -> [Option<f64>; MEASURES.len()] {
        array::from_fn(|at| (MEASURES[at].of)(self))
    }
}

/// Something that a run comes to.
#[derive(Debug, Clone, Copy)]
pub struct Measure {
    /// Names it in tables and JSON.
    pub name: &'static str,
    /// Says what it is, for people.
    pub what: &'static str,
    /// It is its unit; empty of a share.
    pub unit: &'static str,
    /// Whether less is better; None of what is neither.
    pub less_is_better: Option<bool>,
    /// Gives its value of a run; None where that cannot be said.
    pub of: fn(&DayMeasures) -> Option<f64>,
}

const fn seconds(
    name: &'static str,
    what: &'static str,
    of: fn(&DayMeasures) -> Option<f64>,
) -> Measure {
    Measure { name, what, unit: "s", less_is_better: Some(true), of }
}

const fn share(
    name: &'static str,
    what: &'static str,
    of: fn(&DayMeasures) -> Option<f64>,
) -> Measure {
    Measure { name, what, unit: "", less_is_better: None, of }
}

/// Lists what a run comes to, in the order of tables.
pub const MEASURES: [Measure; 14] = [
    seconds("wait", "waiting, mean", |it| Some(it.parts.wait)),
    seconds("run_time", "running, mean", |it| Some(it.parts.run_time)),
    seconds("job_time", "job time, mean", |it| Some(it.parts.job_time)),
    seconds("makespan", "until the last job ended", |it| Some(it.makespan)),
    Measure {
        name: "throughput",
        what: "throughput",
        unit: "1/h",
        less_is_better: Some(false),
        of: |it| it.parts.throughput,
    },
    seconds("gpu_seconds", "GPU-seconds", |it| Some(it.parts.gpu_seconds)),
    Measure {
        name: "gpu_energy",
        what: "energy of GPUs",
        unit: "kWh",
        less_is_better: Some(true),
        of: |it| it.gpu_energy,
    },
    share("load", "load", |it| it.parts.load),
    seconds("job_time_95", "job time, 95th percentile", |it| Some(it.job_time_95)),
    seconds("wait_95", "waiting, 95th percentile", |it| Some(it.wait_95)),
    share("gpu_use", "GPUs given out", |it| it.gpu_use),
    share("nvlink_use", "use of NVLinks", |it| it.links.nvlink_use),
    share("pcie_use", "use of PCIe", |it| it.links.pcie_use),
    share("network_use", "use of the network", |it| it.links.network_use),
];

/// Finds a measure's index by its name.
#[must_use]
pub fn measure(name: &str) -> Option<usize> {
    MEASURES.iter().position(|measure| measure.name == name)
}
