//! Mapping files: which GPU each rank gets.

use linkwright::program::workload;
use pyo3::prelude::*;

use crate::argument::given;
use crate::errors;
use crate::number;

/// Reads a mapping file: the index of one GPU for each rank, a line each.
///
/// Args:
///     text: The text; a comment begins with `#`.
///     ranks: How many ranks each job has, in the jobs' order.
///     gpus: How many GPUs there are.
///     file: Its name in errors.
///
/// Returns:
///     The GPU of each rank, a list for each job.
///
/// Raises:
///     InputError: If a line names no GPU or one that another rank has. Also if there are too few
///         lines or too many. The error names the line and the column.
///     SimulationError: If a count is below zero or above 2^32 - 1.
#[pyfunction]
#[pyo3(signature = (text: "str", ranks: "Sequence[int]", gpus: "int", file: "str" = "<text>"))]
pub fn mapping_from_text(
    #[pyo3(from_py_with = given)] text: &str,
    #[pyo3(from_py_with = given)] ranks: Vec<i128>,
    #[pyo3(from_py_with = given)] gpus: i128,
    #[pyo3(from_py_with = given)] file: &str,
) -> PyResult<Vec<Vec<u32>>> {
    let ranks: PyResult<Vec<u32>> =
        ranks.into_iter().map(|size| number::whole("a job's ranks", size, u32::MAX)).collect();
    let gpus = number::whole("gpus", gpus, u32::MAX)?;
    workload::read_mapping(file, text, &ranks?, gpus).map_err(errors::input)
}
