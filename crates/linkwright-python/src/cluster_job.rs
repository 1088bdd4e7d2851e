//! Gives Python `linkwright.ClusterJob`.

use linkwright::diagnostic::{Diagnosis, Named as _};
use std::num::NonZeroU32;
use std::sync::Arc;

use linkwright::network::pcie::thousandths;
use linkwright::simulation::cluster::{self, Mapping, MappingRule};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::argument::{Argument, Refusal, as_extracted, given};
use crate::errors;
use crate::number;
use crate::program::Program;

/// A program that runs on some GPUs of a cluster from some time on.
#[pyclass(frozen, eq, module = "linkwright.network", from_py_object)]
#[derive(PartialEq, Clone, serde::Serialize, serde::Deserialize)]
pub struct ClusterJob(pub cluster::ClusterJob);

/// Returns the mapping of a name.
pub fn named_mapping(name: &str) -> PyResult<Mapping> {
    MappingRule::from_name(name).map(Mapping::Rule).map_err(|_| {
        let known = MappingRule::names().join(", ");
        errors::range(
            Diagnosis::of(format!("there is no mapping `{name}`"))
                .remedy(format!("use one of {known}, or a list of GPUs")),
        )
    })
}

/// Converts a deadline into the core's value.
fn deadline_of(times: f64) -> PyResult<NonZeroU32> {
    thousandths(times).ok_or_else(|| {
        errors::range(Diagnosis::of(format!("deadline is {times}")).remedy(
            "give how many times a copy's time alone it may take, 0.001 to 1000, such as 3",
        ))
    })
}

/// Takes how often a main loop runs.
pub fn checked_iterations(iterations: i128) -> PyResult<NonZeroU32> {
    let count: u32 = number::whole("iterations", iterations, u32::MAX)?;
    NonZeroU32::new(count)
        .ok_or_else(|| errors::range(Diagnosis::of("iterations is 0").remedy("give at least 1")))
}

/// A mapping is named, or lists the GPU of each rank.
pub enum MappingArgument {
    Name(String),
    Gpus(Vec<i128>),
}

impl<'a, 'py> Argument<'a, 'py> for MappingArgument {
    fn words() -> (String, String) {
        ("a mapping's name, or a list of GPUs".to_owned(), "mappings".to_owned())
    }

    fn read(value: &'a Bound<'py, PyAny>) -> Result<Self, Refusal> {
        match value.extract() {
            Ok(name) => Ok(Self::Name(name)),
            Err(_) => Vec::read(value).map(Self::Gpus),
        }
    }
}

as_extracted!(ClusterJob: "a `ClusterJob`", "values of `ClusterJob`";);

impl MappingArgument {
    /// Gives the mapping.
    pub fn mapping(self) -> PyResult<Mapping> {
        match self {
            Self::Name(name) => named_mapping(&name),
            Self::Gpus(gpus) => {
                let whole = |gpu| number::whole("a GPU of `mapping`", gpu, u32::MAX);
                gpus.into_iter().map(whole).collect::<PyResult<_>>().map(Mapping::Gpus)
            }
        }
    }
}

#[pymethods]
impl ClusterJob {
    /// Makes a job.
    ///
    /// Args:
    ///     program: The operations that its ranks perform.
    ///     name: Its name; the program's where absent.
    ///     iterations: How often the main loop runs.
    ///     start: When its ranks start, in seconds.
    ///     computation_scale: The factor on times of computation; 0.1 computes ten times as fast.
    ///     priority: Of its messages, where the arbitration heeds it; 0 to 255, the higher first.
    ///     mapping: A placement, as for `System.play`, or the GPU of each rank; where absent, what the replay
    ///         says.
    ///     deadline: The time that each of its host copies may take, as a multiple of its time on
    ///         an idle bus; 0.001 to 1000. It counts where the arbitration of PCIe heeds it.
    ///
    /// Raises:
    ///     SimulationError: If a number is out of range or there is no such mapping.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
    #[pyo3(signature = (
        program: "Program", *, name: "str | None" = None, iterations: "int" = 1, start: "float" = 0.0,
        computation_scale: "float" = 1.0, priority: "int" = 0,
        mapping: "str | Sequence[int] | None" = None, deadline: "float | None" = None
    ))]
    fn new(
        #[pyo3(from_py_with = given)] program: &Program,
        #[pyo3(from_py_with = given)] name: Option<String>,
        #[pyo3(from_py_with = given)] iterations: i128,
        #[pyo3(from_py_with = given)] start: f64,
        #[pyo3(from_py_with = given)] computation_scale: f64,
        #[pyo3(from_py_with = given)] priority: i128,
        #[pyo3(from_py_with = given)] mapping: Option<MappingArgument>,
        #[pyo3(from_py_with = given)] deadline: Option<f64>,
    ) -> PyResult<Self> {
        if !(computation_scale.is_finite() && computation_scale >= 0.0) {
            return Err(errors::range(
                Diagnosis::of(format!("computation_scale is {computation_scale}")).remedy(
                    "give a number of 0 or more, such as 0.5 for a processor twice as \
                        fast",
                ),
            ));
        }
        Ok(Self(cluster::ClusterJob {
            name: name.unwrap_or_else(|| program.0.name.clone()),
            program: Arc::clone(&program.0),
            iterations: checked_iterations(iterations)?,
            start: number::time("the start", start)?,
            computation_scale,
            priority: number::whole("the priority", priority, u8::MAX)?,
            deadline: deadline.map(deadline_of).transpose()?,
            mapping: mapping.map(MappingArgument::mapping).transpose()?,
            kernel: None,
        }))
    }

    /// Returns its name.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the program that its ranks run.
    #[getter]
    fn program(&self) -> Program {
        Program(Arc::clone(&self.0.program))
    }

    /// How many ranks it has.
    #[getter]
    fn ranks(&self) -> usize {
        self.0.program.ranks.len()
    }

    /// How often the main loop runs.
    #[getter]
    fn iterations(&self) -> u32 {
        self.0.iterations.get()
    }

    /// Says when its ranks start, in seconds.
    #[getter]
    fn start(&self) -> f64 {
        self.0.start.as_seconds()
    }

    /// Returns the factor by which times of computation are multiplied.
    #[getter]
    fn computation_scale(&self) -> f64 {
        self.0.computation_scale
    }

    /// Returns the priority of its messages; the higher goes first.
    #[getter]
    fn priority(&self) -> u8 {
        self.0.priority
    }

    /// How long each of its host copies may take, as a multiple of its time on an idle bus; None where
    /// nothing is said.
    #[getter]
    fn deadline(&self) -> Option<f64> {
        self.0.deadline.map(|deadline| f64::from(deadline.get()) / 1000.0)
    }

    /// A placement's name, the GPU of each rank, or None where the replay says it.
    #[getter]
    fn mapping(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match &self.0.mapping {
            None => Ok(py.None()),
            Some(Mapping::Gpus(gpus)) => gpus.clone().into_py_any(py),
            Some(Mapping::Rule(rule)) => rule.name().into_py_any(py),
        }
    }

    fn __repr__(&self) -> String {
        let (name, program, ranks) = (&self.0.name, &self.0.program.name, self.ranks());
        format!(
            "<ClusterJob {name:?}: {program} on {ranks} ranks, {} iterations>",
            self.0.iterations
        )
    }
}
