//! Gives Python `linkwright.read_nccl_tests`.

use linkwright::collectives::baselines::{ElementType, ReduceOperation, Settings};
use linkwright::collectives::link_graph::check_gpus;
use linkwright::collectives::nccl_tests::{
    self, Compared, Finding, Measured, Row, difference, verdict,
};
use linkwright::diagnostic::Diagnosis;
use linkwright::system::LaunchProcesses;
use linkwright::table;
use linkwright::units::Bytes;
use pyo3::prelude::*;

use crate::argument::{given, optional_speed};
use crate::errors;
use crate::expectation::{settings_of, with_interfaces};
use crate::number;
use crate::plan::{gpu_ids, wanted_collective};
use crate::system::System;
use crate::table::Table;
use crate::worker::interruptible;

/// Holds the measurements of a run of nccl-tests.
#[pyclass(frozen, module = "linkwright.collectives")]
#[derive(serde::Serialize, serde::Deserialize)]
pub struct NcclTestsLog(nccl_tests::NcclTestsLog);

impl NcclTestsLog {
    /// Returns the core's value.
    pub fn core(&self) -> &nccl_tests::NcclTestsLog {
        &self.0
    }
}

#[pymethods]
impl NcclTestsLog {
    /// Reads what nccl-tests printed.
    ///
    /// Args:
    ///     text: The output of all_reduce_perf or another test; a launcher's words before a line are skipped.
    ///     file: The name that errors give the file.
    ///
    /// Raises:
    ///     InputError: If no row can be read: of another tool, or of a run that failed before its first
    ///         size; with the line.
    #[staticmethod]
    #[pyo3(signature = (text: "str", file: "str" = "<text>"))]
    fn from_text(
        py: Python<'_>,
        #[pyo3(from_py_with = given)] text: String,
        #[pyo3(from_py_with = given)] file: &str,
    ) -> PyResult<Self> {
        let file = file.to_owned();
        let read = interruptible(py, move || nccl_tests::read(&file, &text))?;
        read.map(Self).map_err(errors::input)
    }

    /// The test that ran, such as `all_reduce_perf`; None where the log does not say.
    #[getter]
    fn test(&self) -> Option<&str> {
        self.0.test.as_deref()
    }

    /// NCCL's version; None where the log does not say.
    #[getter]
    fn version(&self) -> Option<&str> {
        self.0.version.as_deref()
    }

    /// Lists the model of each rank's GPU, as far as the log lists them.
    #[getter]
    fn gpus(&self) -> Vec<&str> {
        self.0.gpus.iter().map(String::as_str).collect()
    }

    /// How many hosts these GPUs are on.
    #[getter]
    fn hosts(&self) -> usize {
        self.0.hosts()
    }

    /// The collective that the test is of; None where the log does not say.
    #[getter]
    fn collective(&self) -> Option<&'static str> {
        self.0.collective()
    }

    /// Whether each rank was a process of its own (`each`) or one had all GPUs of a host (`one`). None where
    /// the log does not tell.
    #[getter]
    fn processes(&self) -> Option<&'static str> {
        self.0.processes.map(LaunchProcesses::name)
    }

    /// The type of the numbers, by nccl-tests' name. None where the table does not name a known one.
    #[getter]
    fn numbers(&self) -> Option<&'static str> {
        self.0.rows.first()?.numbers.map(ElementType::name)
    }

    /// The operation on the numbers, by nccl-tests' name. None where there is none.
    #[getter]
    fn operation(&self) -> Option<&'static str> {
        self.0.rows.first()?.operation.map(ReduceOperation::name)
    }

    /// Checks that the log is of a collective on a given number of GPUs.
    ///
    /// Args:
    ///     collective: One of `collective_names`.
    ///     gpus: How many.
    ///
    /// Raises:
    ///     InputError: If it is of others, with the line that tells.
    ///     CollectiveError: If the name is unknown.
    #[pyo3(signature = (collective: "CollectiveName", gpus: "int"))]
    fn check(
        &self,
        #[pyo3(from_py_with = given)] collective: &str,
        #[pyo3(from_py_with = given)] gpus: i128,
    ) -> PyResult<()> {
        let gpus = number::whole("gpus", gpus, usize::MAX)?;
        let wanted = wanted_collective(collective, None, &[])?;
        self.0.check(wanted, gpus).map_err(errors::input)
    }

    /// Lists the lines that were not read, and those that look wrong, each by its number.
    #[getter]
    fn notes(&self) -> Vec<(usize, &str)> {
        self.0.notes.iter().map(|note| (note.line, note.text.as_str())).collect()
    }

    /// Returns one row per size, in the log's order.
    ///
    /// Columns are size (in bytes), then time (in seconds), algorithm_bandwidth and bus_bandwidth
    /// (in GB/s) with a result buffer of its own. The same follow in place, where it was measured,
    /// then the line in the log.
    fn rows(&self) -> PyResult<Table> {
        let rows = &self.0.rows;
        let out = |of: fn(&Measured) -> f64| -> Vec<f64> {
            rows.iter().map(|row| of(&row.out_of_place)).collect()
        };
        let within = |of: fn(&Measured) -> f64| -> Vec<Option<f64>> {
            rows.iter().map(|row| row.in_place.as_ref().map(of)).collect()
        };
        let time = |it: &Measured| it.time;
        let algorithm = |it: &Measured| it.algorithm_bandwidth;
        let bus = |it: &Measured| it.bus_bandwidth;
        let count = |of: fn(&Row) -> u64| rows.iter().map(of).collect::<Vec<u64>>();
        Table::new(
            table::Table::new()
                .with("size", "B", count(|row| row.size.0))
                .with("time", "s", out(time))
                .with("algorithm_bandwidth", "GB/s", out(algorithm))
                .with("bus_bandwidth", "GB/s", out(bus))
                .with("in_place_time", "s", within(time))
                .with("in_place_algorithm_bandwidth", "GB/s", within(algorithm))
                .with("in_place_bus_bandwidth", "GB/s", within(bus))
                .with("line", "", count(|row| row.line as u64)),
        )
    }

    fn __repr__(&self) -> String {
        let (rows, gpus) = (self.0.rows.len(), self.0.gpus.len());
        format!("<NcclTestsLog: {rows} sizes on {gpus} GPUs>")
    }
}

/// Explains in a sentence the shape of the difference between measured and expected times.
///
/// A time within its error, or within 15 %, fits.
///
/// Args:
///     rows: Each size's bytes, measured and expected seconds.
///     errors: How far off each expected time may be, as a part of the measured one.
///
/// Raises:
///     CollectiveError: If there are errors, and not one for each size.
#[pyfunction]
#[pyo3(signature = (
    rows: "Sequence[tuple[int, float, float]]", *, errors: "Sequence[float] | None" = None
))]
pub fn explain_difference(
    #[pyo3(from_py_with = given)] rows: Vec<(u64, f64, f64)>,
    #[pyo3(from_py_with = given)] errors: Option<Vec<f64>>,
) -> PyResult<String> {
    Ok(difference(&compared(&rows, errors)?).to_string())
}

/// Sets a log's statements against the question, and says how to take the difference of its times.
///
/// No cause is named where the question was another one than the log answers, or where the model lacks
/// what ran.
///
/// Args:
///     log: The log.
///     rows: As for `explain_difference`.
///     system: The system that is asked about.
///     gpus: The GPUs that are, by their ids.
///     errors: As for `explain_difference`.
///     nccl: The version that is asked about; that of the log if absent.
///     nvls: As for `expect`.
///     p2p: As for `expect`.
///     algorithm: As for `expect`.
///     protocol: As for `expect`.
///     network_bandwidth: As for `expect`.
///     processes: The processes that are asked about; those of the log if absent.
///     numbers: The type that is asked about; that of the log if absent.
///     operation: The operation that is asked about; that of the log if absent.
///     cross_nic: As for `expect`.
///     pxn: As for `expect`.
///     gpudirect: As for `expect`.
///
/// Returns:
///     One row for each thing that the log states and the question does not have, and a sentence.
///     Columns: line of the log; means, `asked-otherwise`, `not-modelled` or `transport`; text, a
///     sentence; option, what asks rightly, empty where nothing does.
///
/// Raises:
///     CollectiveError: As `explain_difference`, and if a name or the version is unknown or the GPUs do
///         not fit the system.
#[pyfunction]
#[pyo3(signature = (
    log: "NcclTestsLog", rows: "Sequence[tuple[int, float, float]]", system: "System", gpus: "Sequence[int]", *,
    errors: "Sequence[float] | None" = None, nccl: "str | None" = None, nvls: "bool" = true, p2p: "bool" = true,
    algorithm: "NcclAlgorithmName | None" = None, protocol: "ProtocolName | None" = None,
    network_bandwidth: "float | str | None" = None, processes: "ProcessesName | None" = None,
    numbers: "NumberTypeName | None" = None, operation: "NcclOperationName | None" = None,
    cross_nic: "int" = 2, pxn: "bool" = true, gpudirect: "bool" = true
))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub fn explain_log(
    #[pyo3(from_py_with = given)] log: &NcclTestsLog,
    #[pyo3(from_py_with = given)] rows: Vec<(u64, f64, f64)>,
    #[pyo3(from_py_with = given)] system: &System,
    #[pyo3(from_py_with = given)] gpus: Vec<i128>,
    #[pyo3(from_py_with = given)] errors: Option<Vec<f64>>,
    #[pyo3(from_py_with = given)] nccl: Option<&str>,
    #[pyo3(from_py_with = given)] nvls: bool,
    #[pyo3(from_py_with = given)] p2p: bool,
    #[pyo3(from_py_with = given)] algorithm: Option<&str>,
    #[pyo3(from_py_with = given)] protocol: Option<&str>,
    #[pyo3(from_py_with = optional_speed)] network_bandwidth: Option<f64>,
    #[pyo3(from_py_with = given)] processes: Option<&str>,
    #[pyo3(from_py_with = given)] numbers: Option<&str>,
    #[pyo3(from_py_with = given)] operation: Option<&str>,
    #[pyo3(from_py_with = given)] cross_nic: i128,
    #[pyo3(from_py_with = given)] pxn: bool,
    #[pyo3(from_py_with = given)] gpudirect: bool,
) -> PyResult<(Table, String)> {
    let rows = compared(&rows, errors)?;
    let gpus = gpu_ids(&gpus, system)?;
    check_gpus(system.core(), &gpus).map_err(errors::collective)?;
    let settings = Settings {
        network_bandwidth,
        ..settings_of(nccl, [nvls, p2p], algorithm, protocol, processes, [numbers, operation])?
    };
    let settings = with_interfaces(settings, cross_nic, [pxn, gpudirect])?;
    let found = log.0.findings(system.core(), &gpus, &settings);
    let meaning = verdict(&rows, &found);
    Ok((Table::new(findings(&found))?, meaning))
}

fn findings(found: &[Finding]) -> table::Table {
    let texts = |of: &dyn Fn(&Finding) -> String| found.iter().map(of).collect::<Vec<String>>();
    table::Table::new()
        .with("line", "", found.iter().map(|it| it.line as u64).collect::<Vec<u64>>())
        .with("means", "", texts(&|it| it.means.name().to_owned()))
        .with("text", "", texts(&Finding::to_string))
        .with("option", "", texts(&|it| it.option.clone().unwrap_or_default()))
}

/// Rows with what each may be off by; nothing where nothing is said.
fn compared(rows: &[(u64, f64, f64)], errors: Option<Vec<f64>>) -> PyResult<Vec<Compared>> {
    let errors = errors.unwrap_or_else(|| vec![0.0; rows.len()]);
    if errors.len() != rows.len() {
        let problem = format!("there are {} errors for {} sizes", errors.len(), rows.len());
        return Err(errors::collective(Diagnosis::of(problem).remedy("give one for each")));
    }
    let one = |(&(size, measured, expected), error)| Compared {
        size: Bytes(size),
        measured,
        expected,
        error,
    };
    Ok(rows.iter().zip(errors).map(one).collect())
}
