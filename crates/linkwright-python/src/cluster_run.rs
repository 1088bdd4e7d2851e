//! `linkwright.ClusterRun`.

use std::sync::Arc;

use linkwright::replay;
use linkwright::simulation::cluster::{Cluster, ClusterOutcome, tables};
use pyo3::prelude::*;

use crate::cluster_job::ClusterJob;
use crate::errors;
use crate::table::Table;
use crate::worker;

/// What became of the jobs and of the network.
#[pyclass(frozen, module = "linkwright")]
pub struct ClusterRun {
    cluster: Arc<Cluster>,
    jobs: Vec<ClusterJob>,
    placed: Vec<Vec<u32>>,
    outcome: ClusterOutcome,
}

impl ClusterRun {
    /// Plays jobs on the GPUs that they got.
    pub fn play(
        py: Python<'_>,
        cluster: &Arc<Cluster>,
        jobs: Vec<ClusterJob>,
        placed: Vec<Vec<u32>>,
        timeline: usize,
        progress: Option<&Py<PyAny>>,
    ) -> PyResult<Self> {
        let _ = timeline;
        let played: Vec<_> =
            jobs.iter().zip(&placed).map(|(job, gpus)| job.on(gpus.clone())).collect();
        let outcome = worker::watched(py, progress, |hook| cluster.replay(&played, &mut (), hook))?;
        let outcome = outcome.map_err(errors::replay)?;
        drop(played);
        Ok(Self { cluster: Arc::clone(cluster), jobs, placed, outcome })
    }

    /// The core's jobs.
    fn core_jobs(&self) -> Vec<replay::Job<'_>> {
        self.jobs.iter().zip(&self.placed).map(|(job, gpus)| job.on(gpus.clone())).collect()
    }
}

#[pymethods]
impl ClusterRun {
    /// Seconds from time zero until the last job ended.
    #[getter]
    fn makespan(&self) -> f64 {
        tables::makespan(&self.outcome).as_seconds()
    }

    /// Seconds that each job ran, in the jobs' order.
    #[getter]
    fn times(&self) -> Vec<f64> {
        self.outcome.jobs.jobs.iter().map(|job| job.time().as_seconds()).collect()
    }

    /// The GPU of each rank of each job.
    #[getter]
    fn mapping(&self) -> Vec<Vec<u32>> {
        self.placed.clone()
    }

    /// How many events the model of the network handled.
    #[getter]
    fn events(&self) -> u64 {
        self.outcome.events
    }

    /// How many times a packet crossed a channel; 0 in the flow model.
    #[getter]
    fn packet_hops(&self) -> u64 {
        self.outcome.packet_hops
    }

    /// How many operations the ranks did, with those of collectives.
    #[getter]
    fn operations(&self) -> u64 {
        self.outcome.jobs.operations
    }

    /// One row per job, in the jobs' order.
    ///
    /// Columns: job (its index), name, program, ranks, start, end, time (end less start),
    /// computing, communicating, exposed_communication (means over the ranks; all times in
    /// seconds), messages, data (in bytes). Exposed communication is what no computation hid.
    fn jobs(&self) -> PyResult<Table> {
        Table::new(tables::jobs(&self.core_jobs(), &self.outcome))
    }

    /// One row per rank of each job.
    ///
    /// Columns: job (its index), rank, gpu, node, end, computing, communicating,
    /// exposed_communication (all times in seconds), messages, data (in bytes).
    fn ranks(&self) -> PyResult<Table> {
        Table::new(tables::ranks(&self.cluster, &self.core_jobs(), &self.outcome))
    }

    /// One row per channel of the network, which is one direction of a link.
    ///
    /// Columns: link (its index), from, to, kind (`injection` from a node, `ejection` to a
    /// node, `switch` between switches), bandwidth (in GB/s), data (in bytes), packets,
    /// utilisation (share of the makespan at full bandwidth, 0 to 1), longest_queue (packets
    /// in the packet model, messages in the flow model).
    fn links(&self) -> PyResult<Table> {
        Table::new(tables::links(&self.cluster, &self.outcome))
    }

    fn __repr__(&self) -> String {
        let (jobs, makespan) = (self.jobs.len(), self.makespan());
        format!("<ClusterRun: {jobs} jobs, {makespan:.6} s, {} events>", self.events())
    }
}
