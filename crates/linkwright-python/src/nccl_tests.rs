//! `linkwright.read_nccl_tests`.

use linkwright::collectives::nccl_tests::{self, Compared, Measured, Row, difference};
use linkwright::system::LaunchProcesses;
use linkwright::table;
use linkwright::units::Bytes;
use pyo3::prelude::*;

use crate::argument::given;
use crate::errors;
use crate::number;
use crate::plan::wanted_collective;
use crate::table::Table;
use crate::worker::interruptible;

/// What a run of nccl-tests measured.
#[pyclass(frozen, module = "linkwright")]
#[derive(serde::Serialize, serde::Deserialize)]
pub struct NcclTestsLog(nccl_tests::NcclTestsLog);

impl NcclTestsLog {
    /// What the core has of it.
    pub fn core(&self) -> &nccl_tests::NcclTestsLog {
        &self.0
    }
}

#[pymethods]
impl NcclTestsLog {
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

    /// The model of each rank's GPU, as far as the log lists them.
    #[getter]
    fn gpus(&self) -> Vec<&str> {
        self.0.gpus.iter().map(String::as_str).collect()
    }

    /// How many hosts these GPUs are on.
    #[getter]
    fn hosts(&self) -> usize {
        self.0.hosts
    }

    /// Whether each rank was a process of its own (`each`) or one had all GPUs of a host (`one`); None where
    /// the log does not tell.
    #[getter]
    fn processes(&self) -> Option<&'static str> {
        self.0.processes.map(LaunchProcesses::name)
    }

    /// Checks that the log is of a collective on so many GPUs.
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

    /// What was not read, and what looks wrong: each with its line.
    #[getter]
    fn notes(&self) -> Vec<(usize, &str)> {
        self.0.notes.iter().map(|note| (note.line, note.text.as_str())).collect()
    }

    /// One row per size, in the log's order.
    ///
    /// Columns: size in bytes; time in seconds, algorithm_bandwidth and bus_bandwidth in GB/s with a
    /// result buffer of its own; the same in place, where it was measured; line in the log.
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

/// Reads what nccl-tests printed.
///
/// Args:
///     text: The output of all_reduce_perf or another test; what mpirun puts before lines is skipped.
///     file: What errors call it.
///
/// Raises:
///     InputError: If no row can be read: of another tool, or of a run that failed before its first
///         size; with the line.
#[pyfunction]
#[pyo3(signature = (text: "str", file: "str" = "<text>"))]
pub fn read_nccl_tests(
    py: Python<'_>,
    #[pyo3(from_py_with = given)] text: String,
    #[pyo3(from_py_with = given)] file: &str,
) -> PyResult<NcclTestsLog> {
    let file = file.to_owned();
    let read = interruptible(py, move || nccl_tests::read(&file, &text))?;
    read.map(NcclTestsLog).map_err(errors::input)
}

/// What the shape of the difference between measured and expected times means, in a sentence.
///
/// Args:
///     rows: For each size its bytes, the measured and the expected seconds.
#[pyfunction]
#[pyo3(signature = (rows: "Sequence[tuple[int, float, float]]"))]
pub fn explain_difference(#[pyo3(from_py_with = given)] rows: Vec<(u64, f64, f64)>) -> String {
    let compared = |(size, measured, expected)| Compared { size: Bytes(size), measured, expected };
    let rows: Vec<Compared> = rows.into_iter().map(compared).collect();
    difference(&rows).to_string()
}
