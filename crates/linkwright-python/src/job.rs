//! Gives Python `linkwright.Job` and the sources of jobs.

use linkwright::allocation::PatternShape;
use linkwright::diagnostic::{Diagnosis, Named as _};
use linkwright::simulation::sensitivity::Profiler;
use linkwright::simulation::{self, MixOptions, generate, job_file};
use linkwright::table::Table as CoreTable;
use linkwright::training::{MOST_SAMPLES, Workload};
use linkwright::units::{Bytes, Picoseconds};
use pyo3::prelude::*;

use crate::argument::{as_extracted, given, optional_size, speed};
use crate::errors;
use crate::number;
use crate::pattern::Pattern;
use crate::system::System;
use crate::table::Table;
use crate::worker::interruptible;

/// Describes one job of a shared server.
#[pyclass(frozen, eq, module = "linkwright.scenario", from_py_object)]
#[derive(PartialEq, Clone, serde::Serialize, serde::Deserialize)]
pub struct Job(pub simulation::Job);

as_extracted!(Job: "a `Job`", "values of `Job`";);

#[pymethods]
impl Job {
    /// A job; sensitivity and iterations are the workload's where absent.
    ///
    /// Args:
    ///     name: A name of its own.
    ///     workload: One of `workload_names`.
    ///     gpus: How many GPUs it asks for.
    ///     pattern: One of `pattern_names`; of a ring, a tree or both the GPUs all-reduce, of another
    ///         every edge carries what they would reduce, both ways.
    ///     edges: A pattern of its own in place of a named one; its edge with the largest share carries
    ///         what they would reduce.
    ///     sensitive: Whether allocation treats it as bandwidth sensitive.
    ///     arrival: When it enters the queue, in seconds.
    ///     iterations: Its work, in iterations of the workload.
    ///     compute_per_iteration: Seconds that its GPUs compute in an iteration, measured by oneself.
    ///     bytes_per_iteration: Bytes that its GPUs reduce in an iteration, known by oneself.
    ///
    /// Raises:
    ///     SimulationError: If the workload is unknown or a number out of range.
    ///     AllocationError: If the pattern is unknown, or its edges are of another number of GPUs.
    #[new]
    #[pyo3(signature = (
        name: "str", workload: "WorkloadName", gpus: "int", *, pattern: "PatternName" = "ring",
        edges: "Pattern | None" = None, sensitive: "bool | None" = None, arrival: "float" = 0.0, iterations: "int | None" = None,
        compute_per_iteration: "float | None" = None, bytes_per_iteration: "int | str | None" = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
    fn new(
        #[pyo3(from_py_with = given)] name: String,
        #[pyo3(from_py_with = given)] workload: &str,
        #[pyo3(from_py_with = given)] gpus: i128,
        #[pyo3(from_py_with = given)] pattern: &str,
        #[pyo3(from_py_with = given)] edges: Option<PyRef<'_, Pattern>>,
        #[pyo3(from_py_with = given)] sensitive: Option<bool>,
        #[pyo3(from_py_with = given)] arrival: f64,
        #[pyo3(from_py_with = given)] iterations: Option<i128>,
        #[pyo3(from_py_with = given)] compute_per_iteration: Option<f64>,
        #[pyo3(from_py_with = optional_size)] bytes_per_iteration: Option<i128>,
    ) -> PyResult<Self> {
        let gpus = number::whole("gpus", gpus, u32::MAX)?;
        let workload =
            Workload::find(workload).map_err(|error| errors::simulation(error.into()))?;
        let mut job = simulation::Job::new(name, workload, gpus);
        job.pattern = PatternShape::from_name(pattern).map_err(errors::allocation_choice)?;
        if let Some(edges) = edges {
            let size = edges.0.size();
            if size != gpus as usize || job.pattern != PatternShape::Ring {
                let problem =
                    format!("edges between {size} GPUs for a job of {gpus} in a {pattern}");
                let remedy =
                    "give edges between as many GPUs as the job has, and no pattern beside them";
                return Err(errors::allocation_choice(Diagnosis::of(problem).remedy(remedy)));
            }
            job = job.with_edges(edges.0.clone());
        }
        job.sensitive = sensitive.unwrap_or(job.sensitive);
        job.arrival = number::time("the arrival", arrival)?;
        if let Some(iterations) = iterations {
            job.iterations = number::whole("iterations", iterations, u64::MAX)?;
        }
        let time = |seconds| number::time("the time of an iteration", seconds);
        job.compute_per_iteration = compute_per_iteration.map(time).transpose()?;
        let bytes = |bytes| number::whole("bytes_per_iteration", bytes, u64::MAX).map(Bytes);
        job.bytes_per_iteration = bytes_per_iteration.map(bytes).transpose()?;
        if job.gpus == 0 || job.iterations == 0 || job.name.trim().is_empty() {
            let needed = "a job needs a name, at least one GPU and at least one iteration";
            return Err(errors::range(Diagnosis::of(needed)));
        }
        Ok(Self(job))
    }

    /// Returns its name.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// Its workload's name; that of a network where it has `samples_per_gpu`.
    #[getter]
    fn workload(&self) -> &str {
        &self.0.workload
    }

    /// How many GPUs it asks for.
    #[getter]
    fn gpus(&self) -> u32 {
        self.0.gpus
    }

    /// Its pattern's name; `custom` where it has edges of its own.
    #[getter]
    fn pattern(&self) -> &'static str {
        self.0.pattern.name()
    }

    /// Gives its edges as a pattern; None where it has a named one.
    #[getter]
    fn edges(&self) -> Option<Pattern> {
        self.0.edges.as_deref().cloned().map(Pattern)
    }

    /// Says whether allocation treats it as bandwidth sensitive.
    #[getter]
    fn sensitive(&self) -> bool {
        self.0.sensitive
    }

    /// When it enters the queue, in seconds.
    #[getter]
    fn arrival(&self) -> f64 {
        self.0.arrival.as_seconds()
    }

    /// Counts its work, in iterations of the workload.
    #[getter]
    fn iterations(&self) -> u64 {
        self.0.iterations
    }

    /// Its own seconds of computing in an iteration; None if they are the workload's.
    #[getter]
    fn compute_per_iteration(&self) -> Option<f64> {
        self.0.compute_per_iteration.map(Picoseconds::as_seconds)
    }

    /// Its own bytes of an iteration; None if they are the workload's.
    #[getter]
    fn bytes_per_iteration(&self) -> Option<u64> {
        self.0.bytes_per_iteration.map(|bytes| bytes.0)
    }

    /// Counts the samples of each GPU in an iteration of a job that trains a network layer by
    /// layer; else None.
    #[getter]
    fn samples_per_gpu(&self) -> Option<u32> {
        self.0.samples_per_gpu
    }

    /// Says whether the job trains a language model by a layout.
    #[getter]
    fn trains_model(&self) -> bool {
        matches!(self.0.task(), Some(simulation::Task::Model(_)))
    }

    /// Copies the job under another name, with another arrival in seconds.
    ///
    /// Raises:
    ///     SimulationError: If the name is blank or the arrival out of range.
    #[pyo3(signature = (name: "str", arrival: "float"))]
    fn again(
        &self,
        #[pyo3(from_py_with = given)] name: String,
        #[pyo3(from_py_with = given)] arrival: f64,
    ) -> PyResult<Self> {
        if name.trim().is_empty() {
            return Err(errors::range(Diagnosis::of("a job needs a name")));
        }
        let arrival = number::time("the arrival", arrival)?;
        Ok(Self(simulation::Job { name, arrival, ..self.0.clone() }))
    }

    /// Seconds that it runs on GPUs of this effective bandwidth, in GB/s.
    ///
    /// Raises:
    ///     SimulationError: If the bandwidth is negative or no number, or so small that the job
    ///         would run for more than 213 days.
    #[pyo3(signature = (effective_bandwidth: "float | str"))]
    fn run_time(&self, #[pyo3(from_py_with = speed)] effective_bandwidth: f64) -> PyResult<f64> {
        let bandwidth = number::bandwidth("the effective bandwidth", effective_bandwidth)?;
        self.0.run_time(bandwidth).map(Picoseconds::as_seconds).map_err(errors::simulation)
    }

    fn __repr__(&self) -> String {
        let simulation::Job { name, workload, gpus, .. } = &self.0;
        format!("<Job {name:?}: {workload} on {gpus} GPUs>")
    }
}

/// The workloads that jobs may run, in the order of the paper.
#[pyfunction]
#[pyo3(signature = () -> "list[WorkloadName]")]
pub fn workload_names() -> Vec<&'static str> {
    Workload::all().iter().map(|workload| workload.name.as_str()).collect()
}

/// Lists the workloads: name, sensitive, iterations, bytes and compute time per iteration.
#[pyfunction]
pub fn workloads() -> PyResult<Table> {
    let all = Workload::all();
    let compute = |w: &Workload| w.compute_per_iteration().as_seconds();
    Table::new(
        CoreTable::new()
            .with("workload", "", all.iter().map(|w| w.name.clone()).collect::<Vec<_>>())
            .with("sensitive", "", all.iter().map(|w| w.sensitive).collect::<Vec<_>>())
            .with("iterations", "", all.iter().map(|w| w.iterations).collect::<Vec<_>>())
            .with(
                "bytes_per_iteration",
                "B",
                all.iter().map(|w| w.bytes_per_iteration().0).collect::<Vec<_>>(),
            )
            .with("compute_per_iteration", "s", all.iter().map(compute).collect::<Vec<_>>()),
    )
}

/// Reads a job file: CSV with a header.
///
/// Args:
///     text: The text itself.
///     file: Its name in errors.
///     healthy_gpus: How many GPUs the server can give out, where that is known.
///
/// Raises:
///     InputError: If a row is bad, asks for more GPUs than that, or there is none; with line
///         and column.
#[pyfunction]
#[pyo3(signature = (text: "str", file: "str" = "<text>", *, healthy_gpus: "int | None" = None))]
pub fn jobs_from_text(
    py: Python<'_>,
    #[pyo3(from_py_with = given)] text: &str,
    #[pyo3(from_py_with = given)] file: &str,
    #[pyo3(from_py_with = given)] healthy_gpus: Option<i128>,
) -> PyResult<Vec<Job>> {
    let gpus = match healthy_gpus {
        Some(gpus) => number::whole("healthy_gpus", gpus, usize::MAX)?,
        None => usize::MAX,
    };
    let most = job_file::Most { gpus, ..job_file::Most::default() };
    let jobs = py.detach(|| job_file::read_for(file, text, most)).map_err(errors::simulation)?;
    Ok(jobs.into_iter().map(Job).collect())
}

/// Times a job on the GPUs of a server that suit it least and most, to see whether bandwidth matters.
///
/// Args:
///     system: The server, of at most 16 GPUs.
///     job: The job; the sets are those of its size.
///
/// Returns:
///     Seconds on the best set, seconds on the worst, and whether they differ by more than 3 %.
///
/// Raises:
///     SimulationError: If no formula knows the job, or the server has more GPUs.
#[pyfunction]
#[pyo3(signature = (system: "System", job: "Job"))]
pub fn profile_sensitivity(
    py: Python<'_>,
    #[pyo3(from_py_with = given)] system: &System,
    #[pyo3(from_py_with = given)] job: &Job,
) -> PyResult<(f64, f64, bool)> {
    let server = system.listed()?;
    let found = py.detach(|| Profiler::new(&server).and_then(|profiler| profiler.profile(&job.0)));
    let found = found.map_err(errors::simulation)?;
    Ok((found.best.as_seconds(), found.worst.as_seconds(), found.is_sensitive()))
}

/// The jobs as text that `jobs_from_text` reads back to equal jobs.
#[pyfunction]
#[pyo3(signature = (jobs: "Sequence[Job]"))]
pub fn write_jobs(py: Python<'_>, #[pyo3(from_py_with = given)] jobs: Vec<Job>) -> String {
    py.detach(|| {
        let jobs: Vec<simulation::Job> = jobs.into_iter().map(|job| job.0).collect();
        job_file::write(&jobs)
    })
}

/// Draws the paper's uniform mix, or one like it.
///
/// Args:
///     seed: The same seed gives the same jobs.
///     count: How many jobs.
///     max_gpus: The GPUs of the largest; sizes are uniform from one to this.
///     workloads: The workloads to draw from; all nine where absent.
///     mean_interarrival: Mean seconds between arrivals; all at zero where absent.
///     train: Networks to draw from beside the workloads; they are trained layer by layer. With
///         networks, workloads take part only if they are named.
///     samples_per_gpu: Samples of each GPU in an iteration of these.
///     iterations: Of every job; as many as the workload's where absent.
///     patterns: The patterns of communication to draw from; a ring for all where absent.
///
/// Raises:
///     AllocationError: If a pattern is unknown.
///     SimulationError: If a workload or network is unknown or nothing can be drawn.
#[pyfunction]
#[pyo3(signature = (
    seed: "int" = 0, count: "int" = 300, max_gpus: "int" = 5, *,
    workloads: "Sequence[WorkloadName] | None" = None,
    mean_interarrival: "float | None" = None, train: "Sequence[str] | None" = None,
    samples_per_gpu: "int" = 32, iterations: "int | None" = None,
    patterns: "Sequence[PatternName] | None" = None
))]
#[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
pub fn generate_jobs(
    py: Python<'_>,
    #[pyo3(from_py_with = given)] seed: i128,
    #[pyo3(from_py_with = given)] count: i128,
    #[pyo3(from_py_with = given)] max_gpus: i128,
    #[pyo3(from_py_with = given)] workloads: Option<Vec<String>>,
    #[pyo3(from_py_with = given)] mean_interarrival: Option<f64>,
    #[pyo3(from_py_with = given)] train: Option<Vec<String>>,
    #[pyo3(from_py_with = given)] samples_per_gpu: i128,
    #[pyo3(from_py_with = given)] iterations: Option<i128>,
    #[pyo3(from_py_with = given)] patterns: Option<Vec<String>>,
) -> PyResult<Vec<Job>> {
    let default = MixOptions::default();
    let time = |mean| number::time("the mean interarrival", mean);
    let mean = mean_interarrival.map(time).transpose()?;
    let samples: u64 = number::whole("samples_per_gpu", samples_per_gpu, MOST_SAMPLES)?;
    let iterations = iterations.map(|count| number::whole("iterations", count, u64::MAX));
    let iterations: Option<u64> = iterations.transpose()?;
    if samples == 0 || iterations == Some(0) {
        let needed = "a job needs at least one sample of each GPU and at least one iteration";
        return Err(errors::range(Diagnosis::of(needed)));
    }
    let all = if train.is_some() { Vec::new() } else { default.workloads };
    let options = MixOptions {
        seed: number::whole("seed", seed, u64::MAX)?,
        count: number::whole("count", count, u32::MAX)?,
        max_gpus: number::whole("max_gpus", max_gpus, u32::MAX)?,
        workloads: workloads.unwrap_or(all),
        train: train.unwrap_or_default(),
        samples_per_gpu: samples as u32,
        samples: default.samples,
        models: Vec::new(),
        patterns: patterns
            .unwrap_or_default()
            .iter()
            .map(|name| PatternShape::from_name(name))
            .collect::<Result<_, _>>()
            .map_err(errors::allocation_choice)?,
        iterations,
        mean_interarrival: mean,
    };
    let jobs = interruptible(py, move || generate(&options))?.map_err(errors::simulation)?;
    Ok(jobs.into_iter().map(Job).collect())
}
