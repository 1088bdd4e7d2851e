//! `linkwright.Program`.

use std::sync::Arc;

use linkwright::program::skeletons::{APPLICATIONS, skeleton};
use linkwright::program::workload::{self, MixRules};
use linkwright::program::{self, goal};
use linkwright::units::Picoseconds;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;
use crate::number;
use crate::values;

/// What every rank of a job does: operations and what each of them waits for.
#[pyclass(frozen, eq, module = "linkwright", from_py_object)]
#[derive(PartialEq, Clone)]
pub struct Program(pub Arc<program::Program>);

#[pymethods]
impl Program {
    /// A program with the communication of a known application.
    ///
    /// Args:
    ///     application: One of `applications`.
    ///     ranks: How many ranks it has.
    ///     options: The application's parameters, such as `message="64 KiB"`.
    ///
    /// Raises:
    ///     SimulationError: If there is no such application, it has no such parameter, or it
    ///         cannot run on so many ranks.
    #[staticmethod]
    #[pyo3(signature = (application, ranks, **options))]
    fn skeleton(
        application: &str,
        ranks: i128,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let ranks = number::whole("ranks", ranks, u32::MAX)?;
        let options = values::table(options)?;
        let made = skeleton(application, ranks, &options).map_err(errors::program)?;
        Ok(Self(Arc::new(made)))
    }

    /// Reads a program from GOAL text, LogGOPSim's.
    ///
    /// Args:
    ///     text: The text.
    ///     file: Its name, in errors and as the program's name.
    ///     time_unit: What a `calc` counts, in seconds; LogGOPSim's is the nanosecond.
    ///
    /// Raises:
    ///     InputError: If the text is no GOAL, with line and column.
    #[staticmethod]
    #[pyo3(signature = (text, file = "<text>", *, time_unit = 1e-9))]
    fn from_goal(text: &str, file: &str, time_unit: f64) -> PyResult<Self> {
        let time_unit = number::time("the time unit", time_unit)?.max(Picoseconds(1));
        let options = goal::Options { time_unit };
        goal::read(file, text, &options).map(|made| Self(Arc::new(made))).map_err(errors::input)
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// How many ranks it has.
    #[getter]
    fn ranks(&self) -> usize {
        self.0.ranks.len()
    }

    /// How many operations its ranks have in all; the main loop's count once.
    #[getter]
    fn operations(&self) -> usize {
        self.0.ranks.iter().map(|rank| rank.operations().len()).sum()
    }

    /// Whether its ranks have a main loop, which a job's `iterations` repeat.
    #[getter]
    fn has_loop(&self) -> bool {
        self.0.ranks.iter().all(|rank| rank.body().is_some())
    }

    /// The names of its regions, by index.
    #[getter]
    fn regions(&self) -> Vec<String> {
        self.0.regions.clone()
    }

    /// One iteration of the program as GOAL text, with its collectives lowered to messages.
    ///
    /// Raises:
    ///     SimulationError: If GOAL cannot say it.
    #[pyo3(signature = (*, time_unit = 1e-9))]
    fn to_goal(&self, time_unit: f64) -> PyResult<String> {
        let time_unit = number::time("the time unit", time_unit)?.max(Picoseconds(1));
        goal::write(&self.0, &goal::Options { time_unit }).map_err(errors::program)
    }

    fn __repr__(&self) -> String {
        format!(
            "<Program {:?}: {} ranks, {} operations>",
            self.name(),
            self.ranks(),
            self.operations()
        )
    }
}

/// Each application of `Program.skeleton`: its name, what it is in a line, and how many times
/// faster its computation is on the TraceR-CODES study's GPUs than on its CPUs.
#[pyfunction]
pub fn applications() -> Vec<(&'static str, &'static str, f64)> {
    APPLICATIONS.iter().map(|it| (it.name, it.summary, it.gpu_speedup)).collect()
}

/// Mixes of applications that each fill a system of 2048 GPUs, after the TraceR-CODES study.
///
/// Args:
///     seed: What they are drawn from.
///
/// Returns:
///     Each of the 20 mixes: the application and the number of ranks of each of its jobs.
///
/// Raises:
///     SimulationError: If the seed is not 0 to 2^64 - 1.
#[pyfunction]
pub fn random_mixes(seed: i128) -> PyResult<Vec<Vec<(String, u32)>>> {
    let seed = number::whole("seed", seed, u64::MAX)?;
    let mixes = workload::random_mixes(&MixRules::default(), seed);
    let jobs = |mix: Vec<workload::MixJob>| {
        mix.into_iter().map(|job| (job.application, job.ranks)).collect()
    };
    let mixes = mixes.expect("the paper's rules can be obeyed");
    Ok(mixes.into_iter().map(jobs).collect())
}
