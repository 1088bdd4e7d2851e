//! `linkwright.Timing`, and sweeps over sizes.

use linkwright::diagnostic::Diagnosis;
use std::sync::Arc;

use linkwright::collectives::time::{self, ChunkTrial, NcclProtocol, TimeError, choose_chunk};
use linkwright::collectives::{self, Protocol, tables};
use linkwright::system;
use linkwright::units::Bytes;
use pyo3::prelude::*;

use crate::argument::{callback, given, optional_size, sizes};
use crate::choices::Choice;
use crate::errors;
use crate::plan::peer_access_time;
use crate::schedule::Schedule;
use crate::system::System;
use crate::table::Table;
use crate::worker::interruptible;

/// How long a schedule takes on a system.
#[pyclass(frozen, eq, module = "linkwright")]
#[derive(PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Timing {
    system: System,
    protocol: Protocol,
    timing: time::Timing,
    trials: Vec<ChunkTrial>,
}

#[pymethods]
impl Timing {
    /// The data in bytes, as nccl-tests counts it: the longest buffer of a rank.
    #[getter]
    fn size(&self) -> u64 {
        self.timing.size.0
    }

    /// The longest run of bytes that one step moves.
    #[getter]
    fn chunk(&self) -> u64 {
        self.timing.chunk.0
    }

    /// How many pieces of the data follow one another through the steps.
    #[getter]
    fn pieces(&self) -> u64 {
        self.timing.pieces
    }

    /// The protocol whose latencies and losses were counted: `LL`, `LL128` or `Simple`.
    #[getter]
    fn protocol(&self) -> &'static str {
        self.protocol.name()
    }

    /// Seconds from the launch to the last byte's arrival.
    #[getter]
    fn time(&self) -> f64 {
        self.timing.time.as_seconds()
    }

    /// Size over time, in GB/s (nccl-tests' algbw).
    #[getter]
    fn algorithm_bandwidth(&self) -> f64 {
        self.timing.algorithm_bandwidth
    }

    /// The same times the collective's factor, in GB/s (nccl-tests' busbw).
    #[getter]
    fn bus_bandwidth(&self) -> f64 {
        self.timing.bus_bandwidth
    }

    /// The chunk sizes that were tried, in bytes, with the algorithm bandwidth of each in GB/s.
    ///
    /// In the order in which they were tried; empty where the chunk was given.
    #[getter]
    fn chunk_trials(&self) -> Vec<(u64, f64)> {
        self.trials.iter().map(|trial| (trial.chunk.0, trial.algorithm_bandwidth)).collect()
    }

    /// One row per direction of a link that carried something.
    ///
    /// Columns: from, to, kind, bytes and utilisation, which is their share of what the link
    /// could have carried in the time.
    fn links(&self) -> PyResult<Table> {
        Table::new(tables::link_loads(self.system.core(), &self.timing))
    }

    fn __repr__(&self) -> String {
        let (size, chunk) = (self.timing.size, self.timing.chunk);
        let microseconds = self.time() * 1e6;
        let (algorithm, bus) = (self.algorithm_bandwidth(), self.bus_bandwidth());
        format!(
            "<Timing of {size} in chunks of {chunk}: {microseconds:.1} us, \
             {algorithm:.2} GB/s, {bus:.2} GB/s on the bus>"
        )
    }
}

/// The number of bytes that a user gave.
pub fn bytes(what: &str, value: i128) -> PyResult<Bytes> {
    let found = u64::try_from(value).ok().filter(|bytes| (1..=1 << 50).contains(bytes));
    let refuse = || {
        errors::collective(
            Diagnosis::of(format!("{what} is {value}")).remedy("give 1 to 2^50 bytes"),
        )
    };
    found.map(Bytes).ok_or_else(refuse)
}

/// A size that divides among the ranks of a schedule.
fn divided(schedule: &collectives::Schedule, size: i128) -> PyResult<Bytes> {
    let size = bytes("the size", size)?;
    let shards = schedule.longest_buffer() as u64 / u64::from(schedule.chunks.max(1));
    if shards > 1 && size.0 % shards != 0 {
        let collective = schedule.collective.name();
        return Err(errors::collective(
            Diagnosis::of(format!("{size} do not divide into the {shards} shards of {collective}"))
                .remedy(format!(
                    "give a multiple of {shards}, such as {}",
                    (size.0 / shards).max(1) * shards
                )),
        ));
    }
    Ok(size)
}

type Timed = Result<(time::Timing, Vec<ChunkTrial>), TimeError>;

fn timed(
    schedule: &collectives::Schedule,
    system: &system::System,
    (size, chunk): (Bytes, Option<Bytes>),
    costs: &NcclProtocol,
) -> Timed {
    let Some(chunk) = chunk else { return choose_chunk(schedule, system, size, costs) };
    time::time(schedule, system, size, chunk, costs).map(|timing| (timing, Vec::new()))
}

/// What `Schedule.time` does.
pub fn time_schedule(
    py: Python<'_>,
    schedule: &Schedule,
    size: i128,
    system: Option<&System>,
    chunk: Option<i128>,
    protocol: Option<&str>,
) -> PyResult<Timing> {
    let system = schedule.system_or(system)?;
    let size = divided(schedule.data(), size)?;
    let chunk = chunk.map(|chunk| bytes("the chunk", chunk)).transpose()?;
    let protocol = protocol.map(Protocol::named).transpose()?;
    let protocol = protocol.unwrap_or(schedule.data().protocol);
    // It delays nothing but PCIe beside NVLink.
    let switch = peer_access_time(None, schedule.data().ranks())?;
    let usual = time::protocol_as(schedule.data(), protocol, system.core());
    let usual = usual.map_err(errors::collective)?;
    let costs = NcclProtocol { peer_access_switch: switch, ..usual };
    let source = schedule.source();
    let on = Arc::clone(system.core());
    let found = interruptible(py, move || timed(source.schedule(), &on, (size, chunk), &costs))?;
    let (timing, trials) = found.map_err(errors::collective)?;
    Ok(Timing { system: system.clone(), protocol, timing, trials })
}

/// Times a schedule for each of several sizes.
///
/// Args:
///     schedule: The schedule.
///     system: Whose links carry it; the one that it was planned for where None.
///     sizes: Bytes, as nccl-tests counts them.
///     chunk: The longest run of bytes that one step moves; found for each size where None.
///     protocol: `LL`, `LL128` or `Simple`; the schedule's own where None.
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
    protocol: "ProtocolName | None" = None,
    progress: "Callable[[int, int], object] | None" = None
))]
pub fn time_sweep(
    py: Python<'_>,
    #[pyo3(from_py_with = given)] schedule: &Schedule,
    #[pyo3(from_py_with = given)] system: Option<&System>,
    #[pyo3(from_py_with = sizes)] sizes: Vec<i128>,
    #[pyo3(from_py_with = optional_size)] chunk: Option<i128>,
    #[pyo3(from_py_with = given)] protocol: Option<&str>,
    #[pyo3(from_py_with = callback)] progress: Option<Py<PyAny>>,
) -> PyResult<Table> {
    for size in &sizes {
        divided(schedule.data(), *size)?;
    }
    let mut timings = Vec::with_capacity(sizes.len());
    for (index, size) in sizes.iter().enumerate() {
        timings.push(time_schedule(py, schedule, *size, system, chunk, protocol)?.timing);
        if let Some(call) = &progress {
            call.call1(py, (index + 1, sizes.len()))?;
        }
    }
    Table::new(tables::sweep(&timings))
}
