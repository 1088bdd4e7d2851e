//! Serves `linkwright.expect_all_to_allv`.

use std::sync::Arc;

use linkwright::collectives::{baselines, tables};
use pyo3::prelude::*;

use crate::argument::{given, optional_speed};
use crate::errors;
use crate::expectation::{settings_of, with_interfaces};
use crate::number;
use crate::plan::gpu_ids_of;
use crate::system::System;
use crate::table::Table;
use crate::worker::interruptible;

/// The most GPUs of an exchange: each of its messages is played.
const MOST_RANKS: usize = 256;

/// Gives what NCCL, or RCCL on AMD's GPUs, takes for an exchange whose messages differ in length.
///
/// A bound beside it says what no way passes.
///
/// The library runs it as a group of sends and receives (`all_to_all_single` of `PyTorch` with split sizes). Where all
/// messages are equally long, it takes what `expect` says of an all-to-all. A pair without bytes sends nothing.
///
/// Args:
///     system: Whose links carry it.
///     gpus: The job's GPUs by their ids. There are 2 to 256.
///     matrix: Bytes, in a row for each rank. It says what the rank has for each rank.
///         It leaves out what a rank has for itself.
///     nccl: As for `expect`.
///     p2p: As for `expect`.
///     protocol: As for `expect`. By default it is the longest message's.
///     link_bandwidth: As for `expect`.
///     network_bandwidth: As for `expect`.
///     processes: As for `expect`. So are the next two.
///     pxn: As for `expect`.
///     gpudirect: As for `expect`.
///
/// Returns:
///     First one row. It has time in seconds, and moved and longest in bytes. It has protocol and channels, with
///     which the library runs the longest message. Of the bound it has bound_time in seconds, bound_bytes and
///     bound_bandwidth in GB/s. It tells whether they leave the ranks of the bound (else they enter these).
///     Then the links of the bound, a row each: from and to. Then the ranks of the bound, and notes.
///     Without a message the protocol is empty, and there is no bound.
///
/// Raises:
///     CollectiveError: If the matrix has not a row and a column for each GPU, or a value above 2^50; else as for `expect`.
///     KeyboardInterrupt: Within a second of Ctrl-C.
#[pyfunction]
#[pyo3(signature = (
    system: "System", gpus: "Sequence[int]", matrix: "Sequence[Sequence[int]]", *, nccl: "str | None" = None,
    p2p: "bool" = true, protocol: "ProtocolName | None" = None, link_bandwidth: "float | str | None" = None,
    network_bandwidth: "float | str | None" = None, processes: "ProcessesName | None" = None, pxn: "bool" = true,
    gpudirect: "bool" = true
))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub fn expect_all_to_allv(
    py: Python<'_>,
    #[pyo3(from_py_with = given)] system: &System,
    #[pyo3(from_py_with = given)] gpus: Vec<i128>,
    #[pyo3(from_py_with = given)] matrix: Vec<Vec<i128>>,
    #[pyo3(from_py_with = given)] nccl: Option<&str>,
    #[pyo3(from_py_with = given)] p2p: bool,
    #[pyo3(from_py_with = given)] protocol: Option<&str>,
    #[pyo3(from_py_with = optional_speed)] link_bandwidth: Option<f64>,
    #[pyo3(from_py_with = optional_speed)] network_bandwidth: Option<f64>,
    #[pyo3(from_py_with = given)] processes: Option<&str>,
    #[pyo3(from_py_with = given)] pxn: bool,
    #[pyo3(from_py_with = given)] gpudirect: bool,
) -> PyResult<(Table, Table, Vec<usize>, Vec<String>)> {
    let gpus = gpu_ids_of(&gpus, system, "an exchange can have", MOST_RANKS)?;
    let bytes = |(row, values): (usize, &Vec<i128>)| -> PyResult<Vec<u64>> {
        let value = |(column, value): (usize, &i128)| {
            let what = format!("row {row}, column {column} of the matrix");
            number::within(&what, *value, 1_u64 << 50, errors::collective)
        };
        values.iter().enumerate().map(value).collect()
    };
    let rows: Vec<Vec<u64>> = matrix.iter().enumerate().map(bytes).collect::<PyResult<_>>()?;
    let settings = baselines::Settings {
        link_bandwidth,
        network_bandwidth,
        ..settings_of(nccl, [true, p2p], None, protocol, processes, [None, None])?
    };
    let settings = with_interfaces(settings, 2, [pxn, gpudirect])?;
    let on = Arc::clone(system.core());
    let found = interruptible(py, move || baselines::expect_uneven(&on, &gpus, &rows, &settings))?;
    let found = found.map_err(errors::collective)?;
    let ranks = found.bound.as_ref().map(|bound| bound.ranks.clone()).unwrap_or_default();
    let (row, links) = (tables::uneven_time(&found), tables::bound_links(found.bound.as_ref()));
    Ok((Table::new(row)?, Table::new(links)?, ranks, found.notes))
}
