//! `linkwright.time_sweep` gives the times of one schedule at many sizes.

use linkwright::collectives::tables;
use pyo3::prelude::*;

use crate::argument::{callback, given, optional_size, sizes};
use crate::schedule::Schedule;
use crate::system::System;
use crate::table::Table;
use crate::timing::{divided, time_schedule};

/// Times a schedule for each of several sizes.
///
/// Args:
///     schedule: The schedule.
///     system: Whose links carry it; the one that it was planned for where None.
///     sizes: Bytes, as nccl-tests counts them.
///     chunk: The longest run of bytes that one step moves; found for each size where None.
///     protocol: `LL`, `LL128` or `Simple`; the schedule's own where None.
///     processes: As for `Schedule.time`.
///     progress: Called after each size with the number that is done and their number.
///
/// Returns:
///     One row per size: size and chunk in bytes, time in seconds, algorithm_bandwidth and
///     bus_bandwidth in GB/s, as nccl-tests defines them.
///
/// Raises:
///     CollectiveError: If a size does not divide into shards, the system has no path for a
///         connection, or the schedule waits for ever.
///     KeyboardInterrupt: Within a second of Ctrl-C.
#[pyfunction]
#[pyo3(signature = (
    schedule: "Schedule", system: "System | None", sizes: "Sequence[int | str]", *, chunk: "int | str | None" = None,
    protocol: "ProtocolName | None" = None, processes: "ProcessesName | None" = None,
    progress: "Callable[[int, int], object] | None" = None
))]
#[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn time_sweep(
    py: Python<'_>,
    #[pyo3(from_py_with = given)] schedule: &Schedule,
    #[pyo3(from_py_with = given)] system: Option<&System>,
    #[pyo3(from_py_with = sizes)] sizes: Vec<i128>,
    #[pyo3(from_py_with = optional_size)] chunk: Option<i128>,
    #[pyo3(from_py_with = given)] protocol: Option<&str>,
    #[pyo3(from_py_with = given)] processes: Option<&str>,
    #[pyo3(from_py_with = callback)] progress: Option<Py<PyAny>>,
) -> PyResult<Table> {
    for size in &sizes {
        divided(schedule.data(), *size)?;
    }
    let (source, on) = (schedule.source(), schedule.system_or(system)?);
    let mut timings = Vec::with_capacity(sizes.len());
    for (index, size) in sizes.iter().enumerate() {
        let timing = time_schedule(py, &source, *size, on, chunk, protocol, processes)?.timing;
        timings.push(timing);
        if let Some(call) = &progress {
            call.call1(py, (index + 1, sizes.len()))?;
        }
    }
    Table::new(tables::sweep(&timings))
}
