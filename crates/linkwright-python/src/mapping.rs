//! Mapping files: which GPU each rank gets.

use linkwright::program::workload;
use pyo3::prelude::*;

use crate::errors;

/// Reads a mapping file: the index of one GPU for each rank, a line each.
///
/// Args:
///     text: The text; what follows a `#` is a comment.
///     ranks: How many ranks each job has, in the jobs' order.
///     gpus: How many GPUs there are.
///     file: Its name in errors.
///
/// Returns:
///     The GPU of each rank, a list for each job.
///
/// Raises:
///     InputError: If a line names no GPU or one that another rank has, or if there are too few
///         lines or too many; with line and column.
#[pyfunction]
#[pyo3(signature = (text, ranks, gpus, file = "<text>"))]
pub fn read_mapping(text: &str, ranks: Vec<u32>, gpus: u32, file: &str) -> PyResult<Vec<Vec<u32>>> {
    workload::read_mapping(file, text, &ranks, gpus).map_err(errors::input)
}
