//! Times by other terms than linkwright's own, for who fits them.

use std::sync::Arc;

use linkwright::collectives::baselines::{Settings, expect_with};
use linkwright::collectives::time::{Processes, Terms};
use linkwright::units::Bytes;
use pyo3::prelude::*;

use crate::choices::Choice;
use crate::errors;
use crate::number::ints;
use crate::plan::{gpu_ids, wanted_collective};
use crate::system::System;
use crate::timing::bytes;
use crate::worker::interruptible;

/// What a library takes for a collective of each size, by terms of one's own.
///
/// Args:
///     system: Whose links carry it.
///     gpus: The job's GPUs by their ids.
///     collective: One of `collective_names`.
///     sizes: Bytes, as nccl-tests counts them.
///     terms: What kernels cost, as TOML in the form of `kernel_terms`; linkwright's own where None.
///     nccl: The release, such as `2.7.8`; the newest that is known where None.
///     processes: `each` rank its own, `one` for all GPUs; as nccl-tests is usually run where None.
///     link_bandwidth: GB/s that one link between GPUs was measured to reach in a direction.
///
/// Returns:
///     Seconds for each size.
///
/// Raises:
///     CollectiveError: If there is nothing to expect.
///     InputError: If the terms are no such TOML.
///     KeyboardInterrupt: Within a second of Ctrl-C.
#[pyfunction]
#[pyo3(signature = (
    system, gpus: "Sequence[int]", collective: "CollectiveName", sizes: "Sequence[int]", *,
    terms: "str | None" = None, nccl: "str | None" = None,
    processes: "str | None" = None, link_bandwidth: "float | None" = None
))]
#[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn kernel_times(
    py: Python<'_>,
    system: &System,
    #[pyo3(from_py_with = ints)] gpus: Vec<i128>,
    collective: &str,
    #[pyo3(from_py_with = ints)] sizes: Vec<i128>,
    terms: Option<&str>,
    nccl: Option<&str>,
    processes: Option<&str>,
    link_bandwidth: Option<f64>,
) -> PyResult<Vec<f64>> {
    let gpus = gpu_ids(&gpus, system)?;
    let wanted = wanted_collective(collective, None, &gpus)?;
    let sizes: Vec<Bytes> =
        sizes.into_iter().map(|size| bytes("a size", size)).collect::<PyResult<_>>()?;
    let terms = match terms {
        Some(text) => Terms::read("<terms>", text).map_err(errors::input)?,
        None => Terms::shipped().clone(),
    };
    let version = nccl.map(str::parse).transpose().map_err(errors::collective)?;
    let processes = processes.map(Processes::named).transpose()?;
    let settings = Settings { version, processes, link_bandwidth, ..Settings::default() };
    let on = Arc::clone(system.core());
    let found =
        interruptible(py, move || expect_with(&on, &gpus, wanted, &sizes, &settings, &terms))?;
    let rows = found.map_err(errors::collective)?.rows;
    Ok(rows.iter().map(|row| row.time.as_seconds()).collect())
}

/// What NCCL's kernels cost, term by term, as TOML.
#[pyfunction]
pub fn kernel_terms() -> &'static str {
    Terms::TEXT
}
