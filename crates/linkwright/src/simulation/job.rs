//! A job: which workload, on how many GPUs, from when on.

use super::error::SimulationError;
use super::workload::Workload;
use crate::allocation::Shape;
use crate::units::{Bandwidth, Picoseconds};
use serde::{Deserialize, Serialize};

/// One job of a shared server.
///
/// Jobs of one arrival time queue in the order of their list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// A name of its own, not blank and without control characters.
    pub name: String,
    /// The name of a published [`Workload`].
    pub workload: String,
    /// How many GPUs it asks for; at least one.
    pub gpus: u32,
    /// Its pattern of communication, by name.
    pub pattern: Shape,
    /// Whether allocation should treat it as bandwidth sensitive.
    pub sensitive: bool,
    /// When it enters the queue.
    pub arrival: Picoseconds,
    /// Its work, in iterations of the workload; at least one.
    pub iterations: u64,
}

impl Job {
    /// A job with the workload's sensitivity and iterations, a ring, and arrival at zero.
    #[must_use]
    pub fn new(name: impl Into<String>, workload: &Workload, gpus: u32) -> Self {
        Self {
            name: name.into(),
            workload: workload.name.clone(),
            gpus,
            pattern: Shape::Ring,
            sensitive: workload.sensitive,
            arrival: Picoseconds(0),
            iterations: workload.iterations,
        }
    }

    /// How long the job runs on GPUs of this effective bandwidth; see
    /// [`Workload::run_time`].
    ///
    /// # Errors
    /// A workload that the table does not hold; a run of more than 213 days.
    pub fn run_time(&self, effective_bandwidth: Bandwidth) -> Result<Picoseconds, SimulationError> {
        let workload = Workload::find(&self.workload)?;
        let run_time = workload.run_time(self.gpus, self.iterations, effective_bandwidth);
        run_time.ok_or_else(|| SimulationError::RunTooLong {
            job: self.name.clone(),
            bandwidth: effective_bandwidth,
            iterations: self.iterations,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_an_end_names_its_job() {
        let mut job = Job::new("endless", Workload::find("gmm").unwrap(), 2);
        let error = job.run_time(Bandwidth(0)).unwrap_err().to_string();
        assert!(error.contains("`endless`") && error.contains("0 B/s"), "{error}");
        job.iterations = u64::MAX;
        let error = job.run_time(Bandwidth::gigabytes_per_second(50)).unwrap_err().to_string();
        assert!(error.contains("18446744073709551615 iterations"), "{error}");
    }
}
