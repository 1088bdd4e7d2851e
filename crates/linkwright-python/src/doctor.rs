//! Serves `linkwright.doctor`, which reads what files say of runs and judges them.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::sync::{Arc, OnceLock};

use linkwright::collectives::baselines::Settings;
use linkwright::diagnostic::{Diagnosis, InputError, Position};
use linkwright::doctor::ask::{Hints, Machine, Subject, subjects};
use linkwright::doctor::evidence::Evidence as Core;
use linkwright::doctor::judge::{Case, judge, mended, narrow_causes};
use linkwright::doctor::read::read_file;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use crate::argument::{given, optional_speed};
use crate::errors;
use crate::expectation::{settings_of, with_interfaces};
use crate::plan::{MOST_EXPECTED, gpu_ids_of};
use crate::system::System;
use crate::worker::interruptible;

/// Collects what files say of runs of NCCL; `linkwright.doctor.diagnose` judges them.
#[pyclass(module = "linkwright.collectives")]
#[derive(Default)]
pub struct Evidence {
    core: Core,
    /// The runs, once they were asked for after the last file.
    subjects: OnceLock<Arc<Vec<Subject>>>,
}

impl Evidence {
    fn take(
        &mut self,
        py: Python<'_>,
        name: &str,
        from: impl BufRead + Send + 'static,
    ) -> PyResult<()> {
        let (name, mut core) = (name.to_owned(), std::mem::take(&mut self.core));
        let (read, core) = interruptible(py, move || {
            let read = read_file(&name, from, &mut core);
            (read, core)
        })?;
        (self.core, self.subjects) = (core, OnceLock::new());
        read.map_err(errors::input)
    }

    fn all(&self) -> &Arc<Vec<Subject>> {
        self.subjects.get_or_init(|| Arc::new(subjects(&self.core)))
    }

    /// The number of a run that is there.
    fn number(&self, run: i128) -> PyResult<usize> {
        let count = self.all().len();
        let there = usize::try_from(run).ok().filter(|run| *run < count);
        there.ok_or_else(|| PyIndexError::new_err(format!("there are {count} runs, and no {run}")))
    }
}

fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| errors::range(Diagnosis::of(error.to_string())))
}

#[pymethods]
impl Evidence {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Reads a file of any known format, which its content tells. Memory stays bounded.
    ///
    /// Args:
    ///     path: Where it is.
    ///     name: The name that errors and proofs call it.
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
        self.take(py, name, BufReader::with_capacity(1 << 20, opened))
    }

    /// Reads a text as `read` reads a file.
    ///
    /// Args:
    ///     text: Its content.
    ///     name: The name that errors and proofs call it.
    ///
    /// Raises:
    ///     InputError: If it is of no known format, with its line.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (text: "str", name: "str"))]
    fn read_text(
        &mut self,
        py: Python<'_>,
        #[pyo3(from_py_with = given)] text: String,
        #[pyo3(from_py_with = given)] name: &str,
    ) -> PyResult<()> {
        self.take(py, name, std::io::Cursor::new(text.into_bytes()))
    }

    /// Counts the runs. NCCL's lines without a table belong to the runs with one, or are one together.
    #[getter]
    fn runs(&self) -> usize {
        self.all().len()
    }

    /// Says what was skipped or looks wrong, each with its file and line.
    #[getter]
    fn notes(&self) -> Vec<String> {
        let of_file = self.core.files.iter().flat_map(|file| {
            let note = |(line, text): &(u64, String)| format!("{}:{line}: {text}", file.name);
            file.notes.iter().map(note)
        });
        of_file.collect()
    }

    /// Names the files that describe a machine, in their order.
    #[getter]
    fn machines(&self) -> Vec<&str> {
        self.core.machines.iter().map(|(file, _)| file.as_str()).collect()
    }

    /// Gives the files that hold matrices of pairs of GPUs: the name and the text of each.
    #[getter]
    fn pairs(&self) -> Vec<(&str, &str)> {
        self.core.pairs.iter().map(|it| (it.file.as_str(), it.text.as_str())).collect()
    }

    /// Says what a run tells of its machine, as JSON.
    ///
    /// Args:
    ///     run: Its number, from zero.
    ///
    /// Raises:
    ///     IndexError: If there is no such run.
    #[pyo3(signature = (run: "int"))]
    fn hints(&self, #[pyo3(from_py_with = given)] run: i128) -> PyResult<String> {
        json(&Hints::of(&self.all()[self.number(run)?]))
    }

    /// Judges a run on a system, as JSON.
    ///
    /// Args:
    ///     run: Its number, from zero.
    ///     system: The system that it ran on.
    ///     gpus: Its GPUs. They are named by their ids.
    ///     collective: The one that ran; as the run says if absent.
    ///     threshold: The part of the expected bandwidth. A run is healthy that reaches it at every large size.
    ///     nccl: As for `expect`. The run's version if absent.
    ///     nvls: As for `expect`.
    ///     p2p: As for `expect`.
    ///     algorithm: As for `expect`.
    ///     protocol: The only protocol. `expect` says which there are.
    ///     link_bandwidth: As for `expect`.
    ///     network_bandwidth: As for `expect`.
    ///     processes: As for `expect`. As the run says if absent.
    ///     numbers: As for `expect`. As the run says if absent.
    ///     operation: As for `expect`. As the run says if absent.
    ///     cross_nic: As for `expect`.
    ///     pxn: As for `expect`.
    ///     gpudirect: As for `expect`.
    ///
    /// Raises:
    ///     IndexError: If there is no such run.
    ///     CollectiveError: If nothing can be expected of the job.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (
        run: "int", system: "System", gpus: "Sequence[int]", collective: "CollectiveName | None" = None, *,
        threshold: "float | None" = None, nccl: "str | None" = None, nvls: "bool" = true, p2p: "bool" = true,
        algorithm: "NcclAlgorithmName | None" = None, protocol: "ProtocolName | None" = None,
        link_bandwidth: "float | None" = None, network_bandwidth: "float | None" = None,
        processes: "ProcessesName | None" = None, numbers: "NumberTypeName | None" = None,
        operation: "NcclOperationName | None" = None, cross_nic: "int" = 2, pxn: "bool" = true,
        gpudirect: "bool" = true
    ))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn judge(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = given)] run: i128,
        #[pyo3(from_py_with = given)] system: &System,
        #[pyo3(from_py_with = given)] gpus: Vec<i128>,
        #[pyo3(from_py_with = given)] collective: Option<&str>,
        #[pyo3(from_py_with = optional_speed)] threshold: Option<f64>,
        #[pyo3(from_py_with = given)] nccl: Option<&str>,
        #[pyo3(from_py_with = given)] nvls: bool,
        #[pyo3(from_py_with = given)] p2p: bool,
        #[pyo3(from_py_with = given)] algorithm: Option<&str>,
        #[pyo3(from_py_with = given)] protocol: Option<&str>,
        #[pyo3(from_py_with = optional_speed)] link_bandwidth: Option<f64>,
        #[pyo3(from_py_with = optional_speed)] network_bandwidth: Option<f64>,
        #[pyo3(from_py_with = given)] processes: Option<&str>,
        #[pyo3(from_py_with = given)] numbers: Option<&str>,
        #[pyo3(from_py_with = given)] operation: Option<&str>,
        #[pyo3(from_py_with = given)] cross_nic: i128,
        #[pyo3(from_py_with = given)] pxn: bool,
        #[pyo3(from_py_with = given)] gpudirect: bool,
    ) -> PyResult<String> {
        let gpus = gpu_ids_of(&gpus, system, "NCCL is asked for", MOST_EXPECTED)?;
        let reduced = [numbers, operation];
        let asked = settings_of(nccl, [nvls, p2p], algorithm, protocol, processes, reduced)?;
        let asked = with_interfaces(asked, cross_nic, [pxn, gpudirect])?;
        let asked = Settings { link_bandwidth, network_bandwidth, ..asked };
        let machine = Machine::of(Arc::clone(system.core()));
        let (run, all) = (self.number(run)?, Arc::clone(self.all()));
        let unnamed = || Diagnosis::of("nothing says which collective ran").remedy("name it");
        let wanted =
            all[run].collective(collective).ok_or_else(|| errors::collective(unnamed()))?;
        let found = interruptible(py, move || {
            let case = all[run].case(&machine, &gpus, wanted, &asked);
            judge(&Case { threshold, ..case })
        })?;
        json(&found.map_err(errors::collective)?)
    }

    /// Lists PCIe links of a system that are slower than their like, as JSON of causes.
    ///
    /// Args:
    ///     system: The system.
    #[staticmethod]
    #[pyo3(signature = (system: "System"))]
    fn narrow_links(#[pyo3(from_py_with = given)] system: &System) -> PyResult<String> {
        json(&narrow_causes(&mended(system.core()).1))
    }

    fn __repr__(&self) -> String {
        format!("<Evidence: {} files, {} runs>", self.core.files.len(), self.runs())
    }
}
