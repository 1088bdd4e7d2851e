//! Writes and reads NCCL's file of rings and trees.

use linkwright::collectives::{baselines, graph_file, tables};
use pyo3::prelude::*;

use crate::argument::given;
use crate::errors;
use crate::expectation::{settings_of, with_interfaces};
use crate::plan::{MOST_EXPECTED, gpu_ids_of};
use crate::system::System;
use crate::table::Table;

/// The rings and trees of a job as a file that NCCL takes (`NCCL_GRAPH_FILE`).
///
/// The file names no ranks, so that every server of the job reads its own channels from it.
///
/// Args:
///     system: Whose links carry it.
///     gpus: The job's GPUs by their ids, two or more. They are the same ones of each server.
///     nccl: As for `expect`. It is NCCL's version.
///     p2p: As for `expect`.
///     cross_nic: As for `expect`.
///     pxn: As for `expect`.
///     gpudirect: As for `expect`.
///
/// Returns:
///     The file's text. GPUs have their numbers on their server. Network interfaces have theirs in the
///     machine's order, which NCCL's list may not have.
///
/// Raises:
///     CollectiveError: If the GPUs do not fit the system, RCCL runs there, or the channels of two
///         servers differ.
#[pyfunction]
#[pyo3(signature = (
    system: "System", gpus: "Sequence[int]", *, nccl: "str | None" = None, p2p: "bool" = true,
    cross_nic: "int" = 2, pxn: "bool" = true, gpudirect: "bool" = true
))]
pub fn nccl_graph_file(
    #[pyo3(from_py_with = given)] system: &System,
    #[pyo3(from_py_with = given)] gpus: Vec<i128>,
    #[pyo3(from_py_with = given)] nccl: Option<&str>,
    #[pyo3(from_py_with = given)] p2p: bool,
    #[pyo3(from_py_with = given)] cross_nic: i128,
    #[pyo3(from_py_with = given)] pxn: bool,
    #[pyo3(from_py_with = given)] gpudirect: bool,
) -> PyResult<String> {
    let gpus = gpu_ids_of(&gpus, system, "NCCL is asked for", MOST_EXPECTED)?;
    let settings = settings_of(nccl, [true, p2p], None, None, None, [None, None])?;
    let settings = with_interfaces(settings, cross_nic, [pxn, gpudirect])?;
    let found = baselines::channel_graphs(system.core(), &gpus, &settings);
    found.map(|found| graph_file::write(&found)).map_err(errors::collective)
}

/// Reads a file of rings and trees, one for `NCCL_GRAPH_FILE` or one of `NCCL_GRAPH_DUMP_FILE`.
///
/// Args:
///     text: The text of the file.
///     file: Its name in errors.
///
/// Returns:
///     A row per shape: its id (0 rings, 1 trees, 3 reduction in switches), pattern (NCCL's number),
///     cross_nic and the number of channels. It also has intra and inter (GB/s of each) and latency of
///     interfaces in microseconds. Then follow type_intra and type_inter (NCCL's names of paths), and same_channels.
///     The second table has a row per member of each channel, in the file's order: graph (the shape's
///     id), channel and kind (`gpu` or `net`). It also has device, the number on the server, and rank, which
///     is empty where the file names none.
///
/// Raises:
///     InputError: If the text is no such file, or NCCL refuses or misreads it, with line and column.
#[pyfunction]
#[pyo3(signature = (text: "str", file: "str" = "<text>"))]
pub fn nccl_graph_from_text(
    #[pyo3(from_py_with = given)] text: &str,
    #[pyo3(from_py_with = given)] file: &str,
) -> PyResult<(Table, Table)> {
    let found = graph_file::read(file, text).map_err(errors::input)?;
    Ok((Table::new(tables::file_graphs(&found))?, Table::new(tables::file_channels(&found))?))
}
