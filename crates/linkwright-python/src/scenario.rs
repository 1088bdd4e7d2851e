//! `linkwright.Scenario`.

use linkwright::simulation::{self, JobSource, MachineSource, generate, scenario};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::choices::Choice;
use crate::errors;
use crate::job::Job;
use crate::pickle::Source;

/// A scenario as written: which machine, which jobs, under which choices.
#[pyclass(frozen, module = "linkwright")]
pub struct Scenario(simulation::Scenario, Source);

impl Serialize for Scenario {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.1.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Scenario {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let source = Source::deserialize(deserializer)?;
        let read = scenario::read(&source.file, &source.text).map_err(D::Error::custom)?;
        Ok(Self(read, source))
    }
}

#[pymethods]
impl Scenario {
    /// `("preset", name)` or `("file", path)`, the path as written.
    #[getter]
    fn machine(&self) -> (&'static str, &str) {
        match &self.0.machine {
            MachineSource::Preset(name) => ("preset", name),
            MachineSource::File(path) => ("file", path),
        }
    }

    /// Line and column, from one, where the scenario names its machine.
    #[getter]
    fn machine_position(&self) -> (usize, usize) {
        (self.0.machine_position.line, self.0.machine_position.column)
    }

    /// Line and column, from one, where it names its job file or says what to generate.
    #[getter]
    fn jobs_position(&self) -> (usize, usize) {
        (self.0.jobs_position.line, self.0.jobs_position.column)
    }

    /// The path of the job file as written, or the jobs that the scenario generates.
    #[getter]
    fn jobs(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match &self.0.jobs {
            JobSource::File(path) => path.into_py_any(py),
            JobSource::Generate(options) => {
                let jobs = generate(options).map_err(errors::simulation)?;
                jobs.into_iter().map(Job).collect::<Vec<_>>().into_py_any(py)
            }
        }
    }

    /// What the jobs that it generates are drawn from; None where it names a job file.
    #[getter]
    fn seed(&self) -> Option<u64> {
        match &self.0.jobs {
            JobSource::File(_) => None,
            JobSource::Generate(options) => Some(options.seed),
        }
    }

    /// GPUs that are out of order from the start.
    #[getter]
    fn unhealthy(&self) -> Vec<usize> {
        self.0.unhealthy.clone()
    }

    /// Line and column, from one, where it names each of those.
    #[getter]
    fn unhealthy_positions(&self) -> Vec<(usize, usize)> {
        self.0.unhealthy_positions.iter().map(|at| (at.line, at.column)).collect()
    }

    /// The policies to play the jobs under.
    #[getter]
    fn policies(&self) -> Vec<String> {
        self.0.policies.clone()
    }

    /// `sound` or `published`: what the policies rank by.
    #[getter]
    fn bandwidth_model(&self) -> &'static str {
        self.0.bandwidth_model.name()
    }

    /// `mapa` or `data-sheet`: what labels the links; None where the machine is to say.
    #[getter]
    fn bandwidth_profile(&self) -> Option<&'static str> {
        self.0.bandwidth_profile.map(Choice::name)
    }

    /// `nearest` or `published`: what decides between matches that tie.
    #[getter]
    fn ties(&self) -> &'static str {
        self.0.ties.name()
    }

    /// `fifo` or `backfill`.
    #[getter]
    fn discipline(&self) -> &'static str {
        self.0.discipline.name()
    }
}

/// Reads a scenario's TOML text; reading the files it names is left to the caller.
///
/// Raises:
///     InputError: If the text is no scenario, with line and column.
#[pyfunction]
#[pyo3(signature = (text, file = "<text>"))]
pub fn read_scenario(text: &str, file: &str) -> PyResult<Scenario> {
    let source = Source { file: file.to_owned(), text: text.to_owned() };
    scenario::read(file, text).map(|read| Scenario(read, source)).map_err(errors::simulation)
}
