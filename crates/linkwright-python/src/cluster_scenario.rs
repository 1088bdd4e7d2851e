//! `linkwright.ClusterScenario`.

use std::collections::BTreeMap;
use std::sync::Arc;

use linkwright::simulation::cluster::{self, Mapping, ScenarioMapping};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::cluster_job::ClusterJob;
use crate::errors;
use crate::pickle::Source;
use crate::system::System;
use crate::system_origin::{Origin, play_settings};
use crate::values;
use crate::worker;

/// A scenario of a cluster as written: its network and its jobs.
#[pyclass(frozen, eq, module = "linkwright")]
pub struct ClusterScenario(Arc<cluster::ClusterScenario>, Source);

impl PartialEq for ClusterScenario {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Serialize for ClusterScenario {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.1.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ClusterScenario {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let source = Source::deserialize(deserializer)?;
        let read = cluster::read_scenario(&source.file, &source.text).map_err(D::Error::custom)?;
        Ok(Self(Arc::new(read), source))
    }
}

#[pymethods]
impl ClusterScenario {
    /// Its name; empty where it has none.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// What fixes every choice by chance.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed
    }

    /// How many jobs it has.
    #[getter]
    fn job_count(&self) -> usize {
        self.0.jobs.len()
    }

    /// `linear`, `random`, or the name of a mapping file: for jobs without one of their own.
    #[getter]
    fn mapping(&self) -> &str {
        match &self.0.mapping {
            ScenarioMapping::File(file) => &file.name,
            ScenarioMapping::Given(Mapping::Random) => "random",
            ScenarioMapping::Given(_) => "linear",
        }
    }

    /// The files that it names, each as written, with the line and column where it does.
    #[getter]
    fn files(&self) -> Vec<(&str, usize, usize)> {
        let place = |file: &'_ cluster::FileName| (file.position.line, file.position.column);
        let files = self.0.files().into_iter();
        files.map(|file| (file.name.as_str(), place(file).0, place(file).1)).collect()
    }

    /// How its jobs are played, by the keywords of `System.replay`, as far as it is given.
    ///
    /// They are `fidelity`, `protocol`, `collectives` and `seed`.
    #[getter]
    fn play<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        values::dictionary(py, &play_settings(&self.1.text))
    }

    /// The system, its jobs, each with the GPU of each of its ranks, and notes: what was left
    /// out of traces or could not be told, each a sentence behind the program's name.
    ///
    /// Args:
    ///     files: The content of each file that it names, by the name as written.
    ///
    /// Raises:
    ///     InputError: If a file is missing or is not what it should be, or the jobs do not fit,
    ///         with its place.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (files = BTreeMap::new()))]
    fn build(
        &self,
        py: Python<'_>,
        files: BTreeMap<String, Vec<u8>>,
    ) -> PyResult<(System, Vec<ClusterJob>, Vec<String>)> {
        let scenario = Arc::clone(&self.0);
        let origin = Origin::Scenario(self.1.clone(), files.clone());
        let built = worker::interruptible(py, move || scenario.build(&files))?;
        let built = built.map_err(errors::input)?;
        let jobs = built.jobs.into_iter().map(ClusterJob).collect();
        let notes = built.notes.iter().map(|(program, note)| format!("{program}: {note}"));
        Ok((System::new(built.cluster, origin), jobs, notes.collect()))
    }

    fn __repr__(&self) -> String {
        format!("<ClusterScenario {:?}: {} jobs>", self.0.name, self.0.jobs.len())
    }
}

/// Whether a scenario's TOML text is of a cluster, and not of a shared server.
///
/// A cluster has jobs in `[[job]]` and a `[network]`; a server a `[machine]` and `[jobs]`. A text
/// that is no TOML is of no cluster.
#[pyfunction]
pub fn is_cluster_scenario(text: &str) -> bool {
    cluster::is_cluster_scenario(text)
}

/// Reads a cluster scenario's TOML text; reading the files it names is left to the caller.
///
/// Raises:
///     InputError: If the text is no such scenario, with line and column.
///     KeyboardInterrupt: Within a second of Ctrl-C.
#[pyfunction]
#[pyo3(signature = (text, file = "<text>".to_owned()), text_signature = "(text, file='<text>')")]
pub fn read_cluster_scenario(
    py: Python<'_>,
    text: String,
    file: String,
) -> PyResult<ClusterScenario> {
    let source = Source { file, text };
    let given = source.clone();
    let read = worker::interruptible(py, move || cluster::read_scenario(&given.file, &given.text))?;
    read.map(|read| ClusterScenario(Arc::new(read), source)).map_err(errors::input)
}
