//! `linkwright.doctor`: what files say of a run, and its judgement.

use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;

use linkwright::collectives::baselines::Settings;
use linkwright::diagnostic::{Diagnosis, InputError, Position};
use linkwright::doctor::ask::{self, Hints};
use linkwright::doctor::evidence::Evidence as Core;
use linkwright::doctor::judge::{Case, judge, mended, narrow_causes};
use linkwright::doctor::read::read_file;
use pyo3::prelude::*;

use crate::argument::given;
use crate::errors;
use crate::expectation::{MOST_EXPECTED, settings_of, with_interfaces};
use crate::plan::gpu_ids_of;
use crate::system::System;
use crate::worker::interruptible;

/// Collects what files say of runs of NCCL: see `linkwright.doctor.diagnose`.
#[pyclass(module = "linkwright")]
#[derive(Default)]
pub struct Evidence(Core);

fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| errors::range(Diagnosis::of(error.to_string())))
}

#[pymethods]
impl Evidence {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Reads a file of any known format, told by its content. Memory stays bounded.
    ///
    /// Args:
    ///     path: Where it is.
    ///     name: What errors and proofs call it.
    ///
    /// Raises:
    ///     InputError: If it cannot be opened, or is of no known format, with its line.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (path: "str", name: "str"))]
    fn read(
        &mut self,
        py: Python<'_>,
        #[pyo3(from_py_with = given)] path: &str,
        #[pyo3(from_py_with = given)] name: &str,
    ) -> PyResult<()> {
        let opened = File::open(path).map_err(|error| {
            let problem = format!("the file cannot be opened: {error}");
            let start = Position { line: 1, column: 1 };
            errors::input(InputError::at(name, start, problem, "", "name a file that can be read"))
        })?;
        let (name, mut core) = (name.to_owned(), std::mem::take(&mut self.0));
        let read = move || {
            let read = read_file(&name, BufReader::with_capacity(1 << 20, opened), &mut core);
            (read, core)
        };
        let (read, core) = interruptible(py, read)?;
        self.0 = core;
        read.map_err(errors::input)
    }

    /// Reads a text as `read` reads a file.
    ///
    /// Args:
    ///     text: Its content.
    ///     name: What errors and proofs call it.
    ///
    /// Raises:
    ///     InputError: If it is of no known format, with its line.
    #[pyo3(signature = (text: "str", name: "str"))]
    fn read_text(
        &mut self,
        #[pyo3(from_py_with = given)] text: &str,
        #[pyo3(from_py_with = given)] name: &str,
    ) -> PyResult<()> {
        read_file(name, text.as_bytes(), &mut self.0).map_err(errors::input)
    }

    /// Counts the runs of the files. Logs without a table belong to the run with one, or are one together.
    #[getter]
    fn runs(&self) -> usize {
        self.0.joined().len()
    }

    /// What was skipped or looks wrong, each with its file and line.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.0.notes()
    }

    /// The servers of topologies among the files, in their order.
    #[getter]
    fn machines(&self) -> Vec<System> {
        self.0.machines.iter().map(|(_, system)| System::from(Arc::clone(system))).collect()
    }

    /// What a run says of its machine, as JSON.
    ///
    /// Args:
    ///     run: Its number, from zero.
    ///
    /// Raises:
    ///     IndexError: If there is no such run.
    #[pyo3(signature = (run: "int"))]
    fn hints(&self, #[pyo3(from_py_with = given)] run: usize) -> PyResult<String> {
        let joined = self.0.joined();
        let run = joined.get(run).ok_or_else(|| no_run(run))?;
        json(&Hints::of(run))
    }
}

fn no_run(run: usize) -> PyErr {
    pyo3::exceptions::PyIndexError::new_err(format!("there is no run {run}"))
}
