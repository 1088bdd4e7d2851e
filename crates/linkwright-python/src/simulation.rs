//! `linkwright.simulate` and its result.

use linkwright::allocation::{BandwidthModel, GpuSet, PreparedMachine, Ties, policy};
use linkwright::engine::Progress;
use linkwright::simulation::{self, JobRecord, QueueDiscipline, simulate as play, tables};
use linkwright::units::Picoseconds;
use pyo3::prelude::*;

use crate::choices::{Choice, profile_of};
use crate::errors;
use crate::job::Job;
use crate::number;
use crate::number::optional_ints;
use crate::system::System;
use crate::table::Table;
use crate::worker;

/// What happened to each job under one policy.
#[pyclass(frozen, module = "linkwright")]
#[derive(serde::Serialize, serde::Deserialize)]
pub struct SimulationResult {
    policy: String,
    jobs: Vec<simulation::Job>,
    records: Vec<JobRecord>,
}

#[pymethods]
impl SimulationResult {
    /// The policy's name.
    #[getter]
    fn policy(&self) -> &str {
        &self.policy
    }

    /// Seconds from time zero until the last job ended.
    #[getter]
    fn makespan(&self) -> f64 {
        self.records.iter().map(|record| record.finish).max().map_or(0.0, Picoseconds::as_seconds)
    }

    /// One row per job, in the jobs' order.
    ///
    /// Columns: job, workload, gpu_count, pattern, sensitive, arrival, start, finish, wait,
    /// run_time (all in seconds), gpus, double_links, single_links, pcie_links,
    /// aggregated_bandwidth, ideal_aggregated_bandwidth, effective_bandwidth,
    /// sound_bandwidth, preserved_bandwidth (all in GB/s), candidates, optimal. The two
    /// bandwidths that one GPU does not have are null there.
    fn jobs(&self) -> PyResult<Table> {
        Table::new(tables::jobs(&self.jobs, &self.records))
    }

    fn __repr__(&self) -> String {
        let (policy, count, makespan) = (&self.policy, self.jobs.len(), self.makespan());
        format!("<SimulationResult: {count} jobs under {policy}, {makespan:.1} s>")
    }
}

/// Plays the jobs on an idle server.
///
/// Args:
///     system: The server.
///     jobs: The jobs; those of one arrival time queue in this order.
///     policy: One of `policy_names`.
///     bandwidth_model: `sound` or `published`: what the policy ranks by.
///     bandwidth_profile: `mapa` or `data-sheet`: what labels the links; if not given, that of
///         the machine.
///     ties: `nearest` or `published`: what decides between matches that tie.
///     discipline: `fifo` or `backfill`.
///     unhealthy: GPUs that are out of order from the start.
///     progress: Called every 100 ms with jobs done, jobs in all, and simulated seconds.
///
/// Raises:
///     AllocationError: If a policy, a choice or a GPU is unknown.
///     SimulationError: If a job can never start or has another's name, or a time is beyond
///         213 days.
///     KeyboardInterrupt: Within a second of Ctrl-C.
#[pyfunction]
#[pyo3(signature = (
    system, jobs, policy = "preserve", *, bandwidth_model = "sound", bandwidth_profile = None,
    ties = "nearest", discipline = "fifo", unhealthy = None, progress = None
))]
#[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
pub fn simulate(
    py: Python<'_>,
    system: &System,
    jobs: Vec<Job>,
    policy: &str,
    bandwidth_model: &str,
    bandwidth_profile: Option<&str>,
    ties: &str,
    discipline: &str,
    #[pyo3(from_py_with = optional_ints)] unhealthy: Option<Vec<i128>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<SimulationResult> {
    let policy = self::policy(policy).map_err(errors::allocation)?;
    let machine = system.listed()?;
    let profile = profile_of(&machine, bandwidth_profile)?;
    let ties = Ties::named(ties)?;
    let model = BandwidthModel::named(bandwidth_model)?;
    let discipline = QueueDiscipline::named(discipline)?;
    let jobs: Vec<simulation::Job> = jobs.into_iter().map(|job| job.0).collect();
    let unhealthy: Vec<usize> = unhealthy
        .unwrap_or_default()
        .into_iter()
        .map(|gpu| number::whole("an id of `unhealthy`", gpu, usize::MAX))
        .collect::<PyResult<_>>()?;
    let known = machine.gpus().len();
    if let Some(gpu) = unhealthy.iter().copied().find(|gpu| *gpu >= known) {
        let error = linkwright::allocation::AllocationError::UnknownGpu { gpu, gpus: known };
        return Err(errors::allocation(error));
    }
    let unhealthy: GpuSet = unhealthy.into_iter().collect();
    let report = |py: Python<'_>, at: Progress| match &progress {
        Some(call) => call.call1(py, (at.done, at.total, at.time.as_seconds())).map(|_| ()),
        None => Ok(()),
    };
    let records = worker::watched(py, report, |hook| {
        let prepared = PreparedMachine::new(&machine, profile, model)?.with_ties(ties);
        play(&prepared, &jobs, policy, discipline, unhealthy, hook)
    })?;
    let records = records.map_err(errors::simulation)?;
    Ok(SimulationResult { policy: policy.name().to_owned(), jobs, records })
}
