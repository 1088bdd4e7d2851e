//! Tells from which size to which NCCL chooses the same.

use linkwright::collectives::{baselines, tables};
use pyo3::prelude::*;

use crate::argument::given;
use crate::errors;
use crate::expectation::settings_of;
use crate::plan::{MOST_EXPECTED, gpu_ids_of, wanted_collective};
use crate::system::System;
use crate::table::Table;

/// From which size to which NCCL, or RCCL, chooses the same, to the byte.
///
/// Args:
///     system: Whose links carry it.
///     gpus: The job's GPUs by their ids. They are two or more.
///     collective: One of `collective_names`.
///     root: As for `plan`.
///     nccl: As for `expect`.
///
/// Returns:
///     A row per choice of each range, as `nccl_choices` has them for its smallest size; first and last are
///     its sizes in bytes. All sizes of a range have the first choice in common, the first that is a
///     ring or a tree, and the channels of each. The ranges go from 0 to the largest number of 64 bits without a hole.
///
/// Raises:
///     CollectiveError: As for `expect`.
#[pyfunction]
#[pyo3(signature = (
    system: "System", gpus: "Sequence[int]", collective: "CollectiveName", *,
    root: "int | None" = None, nccl: "str | None" = None
))]
pub fn nccl_choice_ranges(
    #[pyo3(from_py_with = given)] system: &System,
    #[pyo3(from_py_with = given)] gpus: Vec<i128>,
    #[pyo3(from_py_with = given)] collective: &str,
    #[pyo3(from_py_with = given)] root: Option<i128>,
    #[pyo3(from_py_with = given)] nccl: Option<&str>,
) -> PyResult<Table> {
    let gpus = gpu_ids_of(&gpus, system, "NCCL is asked for", MOST_EXPECTED)?;
    let wanted = wanted_collective(collective, root, &gpus)?;
    let settings = settings_of(nccl, [true; 2], None, None, None, [None, None])?;
    let found = baselines::choice_ranges(system.core(), &gpus, wanted, &settings);
    Table::new(tables::choice_ranges(&found.map_err(errors::collective)?))
}
