//! Where the time of a day's jobs goes: waiting and running, what GPUs that takes, and the load.

use serde::{Deserialize, Serialize};

use super::{sorted, sum};
use crate::simulation::job::Job;
use crate::simulation::queue::JobRecord;
use crate::units::Picoseconds;

/// An hour has as many seconds.
const HOUR: f64 = 3600.0;

/// Holds the times of one job in seconds, and its GPUs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JobTimes {
    /// It is when the job arrived.
    pub arrival: f64,
    /// It is from its arrival to its start.
    pub wait: f64,
    /// It is from its start to its end.
    pub run_time: f64,
    /// It is when the job ended.
    pub finish: f64,
    /// It has as many.
    pub gpus: usize,
}

impl JobTimes {
    /// Gives those of a record.
    #[must_use]
    pub fn of(job: &Job, record: &JobRecord) -> Self {
        let between = |from: Picoseconds, to: Picoseconds| Picoseconds(to.0 - from.0).as_seconds();
        Self {
            arrival: job.arrival.as_seconds(),
            wait: between(job.arrival, record.start),
            run_time: between(record.start, record.finish),
            finish: record.finish.as_seconds(),
            gpus: record.gpu_count(),
        }
    }

    /// Gives the time from its arrival to its end.
    #[must_use]
    pub fn job_time(&self) -> f64 {
        self.finish - self.arrival
    }
}

/// Holds, in parts, what jobs came to under one policy. The times are mean seconds of a job.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TimeParts {
    /// Lasts from a job's arrival to its start.
    pub wait: f64,
    /// Lasts from its start to its end.
    pub run_time: f64,
    /// The sum of both lasts from arrival to end.
    pub job_time: f64,
    /// Jobs end at this rate per hour until the last one ended. None where that takes no time.
    pub throughput: Option<f64>,
    /// Each job's GPUs times its run time; the sum is over the jobs.
    pub gpu_seconds: f64,
    /// GPU-seconds per GPU-second that the system has until the last job arrives. None where all arrive at time
    /// zero. Above 1 jobs ask for more than the system can give.
    pub load: Option<f64>,
}

impl TimeParts {
    /// Gives the parts of the time of jobs on a system with as many GPUs in order; None of no job.
    #[must_use]
    pub fn of(jobs: &[JobTimes], gpus: usize) -> Option<Self> {
        if jobs.is_empty() {
            return None;
        }
        let count = jobs.len() as f64;
        let most = |of: fn(&JobTimes) -> f64| jobs.iter().map(of).fold(0.0, f64::max);
        // Sorted, so that sums do not hang on the order of the list.
        let mean = |of: fn(&JobTimes) -> f64| sum(sorted(jobs.iter().map(of))) / count;
        let last_end = most(|job| job.finish);
        let gpu_seconds = sum(jobs.iter().map(|job| job.gpus as f64 * job.run_time));
        let offered = gpus as f64 * most(|job| job.arrival);
        Some(Self {
            wait: mean(|job| job.wait),
            run_time: mean(|job| job.run_time),
            job_time: mean(JobTimes::job_time),
            throughput: (last_end > 0.0).then(|| HOUR * count / last_end),
            gpu_seconds,
            load: (offered > 0.0).then(|| gpu_seconds / offered),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn job(arrival: f64, start: f64, finish: f64, gpus: usize) -> JobTimes {
        JobTimes { arrival, wait: start - arrival, run_time: finish - start, finish, gpus }
    }

    #[test]
    fn two_jobs_by_hand() {
        // On four GPUs the second job waits 6 s for the first, which has two of them. The last
        // arrival is at 4 s.
        let jobs = [job(0.0, 0.0, 10.0, 2), job(4.0, 10.0, 16.0, 3)];
        let by_hand = TimeParts {
            wait: 3.0,               // (0 + 6) / 2
            run_time: 8.0,           // (10 + 6) / 2
            job_time: 11.0,          // (10 + 12) / 2
            throughput: Some(450.0), // 2 jobs in 16 s
            gpu_seconds: 38.0,       // 2 * 10 + 3 * 6
            load: Some(2.375),       // 38 / (4 GPUs * 4 s)
        };
        assert_eq!(TimeParts::of(&jobs, 4), Some(by_hand));
        assert_eq!(TimeParts::of(&jobs, 2).unwrap().load, Some(4.75));
        let at_once = TimeParts::of(&[job(0.0, 0.0, 0.0, 1)], 4).unwrap();
        assert_eq!((at_once.load, at_once.throughput), (None, None));
        assert_eq!(TimeParts::of(&[], 4), None);
    }

    proptest! {
        #[test]
        fn job_time_is_waiting_and_running(
            jobs in prop::collection::vec((0.0..1e6, 0.0..1e6, 0.0..1e6, 1..9_usize), 1..20)
        ) {
            let of = |(at, wait, run, gpus): (f64, f64, f64, usize)| job(at, at + wait, at + wait + run, gpus);
            let jobs: Vec<JobTimes> = jobs.into_iter().map(of).collect();
            let parts = TimeParts::of(&jobs, 8).unwrap();
            prop_assert!((parts.job_time - parts.wait - parts.run_time).abs() <= 1e-6 + 1e-9 * parts.job_time);
            let twice = TimeParts::of(&jobs, 16).unwrap();
            if let (Some(load), Some(half)) = (parts.load, twice.load) {
                prop_assert!((half - load / 2.0).abs() <= 1e-9 * load);
            }
        }
    }
}
