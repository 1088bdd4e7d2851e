//! `linkwright.expect`.

use std::sync::Arc;

use linkwright::collectives::baselines::Settings;
use linkwright::collectives::{baselines, tables};
use linkwright::units::Bytes;
use pyo3::prelude::*;

use crate::errors;
use crate::number::{ints, optional_int};
use crate::plan::{gpu_ids, wanted_collective};
use crate::system::System;
use crate::table::Table;
use crate::timing::bytes;
use crate::worker::interruptible;

/// What NCCL 2.30 takes for a collective of each size, by its own cost model.
///
/// Args:
///     system: Whose links carry it.
///     gpus: The job's GPUs by their ids, two or more.
///     collective: One of `collective_names`.
///     sizes: Bytes, as nccl-tests counts them.
///     root: As for `plan`.
///
/// Returns:
///     One row per size: size in bytes, time in seconds, algorithm_bandwidth and bus_bandwidth
///     in GB/s as nccl-tests defines them, and the algorithm and protocol that NCCL runs.
///
/// Raises:
///     CollectiveError: If a name is unknown, the GPUs do not fit the system or are not
///         NVIDIA's, or no links join them.
///     KeyboardInterrupt: Within a second of Ctrl-C.
#[pyfunction]
#[pyo3(signature = (
    system, gpus: "Sequence[int]", collective: "CollectiveName", sizes: "Sequence[int]", *,
    root: "int | None" = None
))]
pub fn expect(
    py: Python<'_>,
    system: &System,
    #[pyo3(from_py_with = ints)] gpus: Vec<i128>,
    collective: &str,
    #[pyo3(from_py_with = ints)] sizes: Vec<i128>,
    #[pyo3(from_py_with = optional_int)] root: Option<i128>,
) -> PyResult<Table> {
    let gpus = gpu_ids(&gpus, system)?;
    let wanted = wanted_collective(collective, root, &gpus)?;
    let sizes: PyResult<Vec<Bytes>> =
        sizes.into_iter().map(|size| bytes("the size", size)).collect();
    let sizes = sizes?;
    let on = Arc::clone(system.core());
    let found = interruptible(py, move || {
        baselines::expect(&on, &gpus, wanted, &sizes, &Settings::default())
    })?;
    Table::new(tables::expectations(&found.map_err(errors::collective)?.rows))
}
