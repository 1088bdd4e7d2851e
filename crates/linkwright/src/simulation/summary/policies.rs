//! Gives quartiles of what jobs felt under a policy, and compares policies.
//!
//! So does MAPA, by the run times of bandwidth-sensitive jobs and by throughput (Ranganath et al., SC'21, Table 3). Jobs of one GPU have no bandwidth between GPUs. Their run time is
//! the same under every policy, and they are counted apart.

use serde::Serialize;

use super::quartiles::Quartiles;
use super::time_parts::JobTimes;
use crate::simulation::job::Job;
use crate::simulation::queue::JobRecord;

/// An hour has as many seconds.
const HOUR: f64 = 3600.0;

/// Holds what one policy made of a list of jobs. The times are in seconds, the bandwidths in GB/s.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PolicySummary {
    /// It counts the jobs.
    pub jobs: usize,
    /// It counts those that had one GPU. None of these is in the bandwidths.
    pub one_gpu_jobs: usize,
    /// It is when the last job ended.
    pub makespan: f64,
    /// It is in jobs per hour over the makespan.
    pub throughput: f64,
    /// Is of the sensitive jobs of two or more GPUs; None if there are none.
    pub run_time: Option<Quartiles>,
    /// It is of jobs of any kind.
    pub wait: Quartiles,
    /// Is of those same sensitive jobs, by the scenario's model.
    pub effective_bandwidth: Option<Quartiles>,
    /// Is of those same jobs, by the sound model.
    pub sound_bandwidth: Option<Quartiles>,
}

impl PolicySummary {
    /// Sums up what became of jobs; None of no job.
    #[must_use]
    pub fn of(jobs: &[Job], records: &[JobRecord]) -> Option<Self> {
        let times = |record: &JobRecord| JobTimes::of(&jobs[record.job], record);
        let is_felt = |record: &&JobRecord| jobs[record.job].sensitive && record.gpu_count() > 1;
        let felt: Vec<&JobRecord> = records.iter().filter(is_felt).collect();
        let of_felt = |value: &dyn Fn(&JobRecord) -> Option<f64>| {
            Quartiles::of(felt.iter().filter_map(|record| value(record)))
        };
        let makespan = records.iter().map(|it| it.finish).max().unwrap_or_default().as_seconds();
        Some(Self {
            jobs: records.len(),
            one_gpu_jobs: records.iter().filter(|record| record.gpu_count() == 1).count(),
            makespan,
            throughput: ratio(HOUR * records.len() as f64, makespan),
            run_time: of_felt(&|record| Some(times(record).run_time)),
            wait: Quartiles::of(records.iter().map(|record| times(record).wait))?,
            effective_bandwidth: of_felt(&JobRecord::effective_bandwidth),
            sound_bandwidth: of_felt(&|record| record.sound_bandwidth),
        })
    }
}

/// Says how much faster a policy is than the reference: above one is faster.
///
/// The quartiles are ratios of run times, reference by policy, as in MAPA's Table 3. `minimum` is of the fastest job of
/// each, `maximum` of the slowest. They compare distributions; no job is followed from
/// one policy to the other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Speedup {
    /// Compares run times.
    #[serde(flatten)]
    pub run_time: Quartiles,
    /// Compares jobs per hour.
    pub throughput: f64,
}

/// Gives each policy's speed-up over the reference, in the order of the summaries. None of a policy under which, or
/// under the reference, no job was sensitive and of two or more GPUs: there is nothing to compare.
#[must_use]
pub fn speedups(summaries: &[PolicySummary], reference: &PolicySummary) -> Vec<Option<Speedup>> {
    let of = |summary: &PolicySummary| {
        let (before, after) = (reference.run_time?, summary.run_time?);
        let run_time = Quartiles {
            minimum: ratio(before.minimum, after.minimum),
            lower: ratio(before.lower, after.lower),
            median: ratio(before.median, after.median),
            upper: ratio(before.upper, after.upper),
            maximum: ratio(before.maximum, after.maximum),
        };
        Some(Speedup { run_time, throughput: ratio(summary.throughput, reference.throughput) })
    };
    summaries.iter().map(of).collect()
}

/// Gives the quotient. Equal numbers are as fast as one another, even if both are zero.
fn ratio(numerator: f64, denominator: f64) -> f64 {
    if numerator == denominator {
        1.0
    } else if denominator == 0.0 {
        f64::INFINITY
    } else {
        numerator / denominator
    }
}
