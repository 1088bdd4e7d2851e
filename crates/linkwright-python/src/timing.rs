//! `linkwright.Timing`, and the function that makes one.

use linkwright::diagnostic::Diagnosis;
use std::sync::Arc;

use linkwright::collectives::plan::assumed_peer_access_switch;
use linkwright::collectives::time::{
    self, ChunkTrial, NcclProtocol, Processes, TimeError, choose_chunk,
};
use linkwright::collectives::{self, Protocol, tables};
use linkwright::system;
use linkwright::units::{Bytes, Picoseconds};
use pyo3::prelude::*;

use crate::choices::Choice;
use crate::errors;
use crate::schedule_source::Source;
use crate::system::System;
use crate::table::Table;
use crate::worker::interruptible;

/// How long a schedule takes on a system.
#[pyclass(frozen, eq, module = "linkwright.collectives")]
#[derive(PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Timing {
    system: System,
    protocol: Protocol,
    pub timing: time::Timing,
    trials: Vec<ChunkTrial>,
}

#[pymethods]
impl Timing {
    /// Returns the data in bytes, as nccl-tests counts it: the longest buffer of a rank.
    #[getter]
    fn size(&self) -> u64 {
        self.timing.size.0
    }

    /// The longest run of bytes that one step moves.
    #[getter]
    fn chunk(&self) -> u64 {
        self.timing.chunk.0
    }

    /// Counts the pieces of the data that follow one another through the steps.
    #[getter]
    fn pieces(&self) -> u64 {
        self.timing.pieces
    }

    /// The protocol whose latencies and losses were counted: `LL`, `LL128` or `Simple`.
    #[getter]
    fn protocol(&self) -> &'static str {
        self.protocol.name()
    }

    /// Returns the seconds from the launch to the last byte's arrival.
    #[getter]
    fn time(&self) -> f64 {
        self.timing.time.as_seconds()
    }

    /// Returns size over time, in GB/s (nccl-tests' algbw).
    #[getter]
    fn algorithm_bandwidth(&self) -> f64 {
        self.timing.algorithm_bandwidth
    }

    /// Returns the same times the collective's factor, in GB/s (nccl-tests' busbw).
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

    /// Returns one row per direction of a link that carried something.
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

/// Checks the number of bytes that a user gave.
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
pub fn divided(schedule: &collectives::Schedule, size: i128) -> PyResult<Bytes> {
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

/// Runs `Schedule.time`.
pub fn time_schedule(
    py: Python<'_>,
    source: &Arc<Source>,
    size: i128,
    system: &System,
    chunk: Option<i128>,
    protocol: Option<&str>,
    processes: Option<&str>,
) -> PyResult<Timing> {
    let schedule = source.schedule();
    let size = divided(schedule, size)?;
    let chunk = chunk.map(|chunk| bytes("the chunk", chunk)).transpose()?;
    let protocol = protocol.map(Protocol::named).transpose()?;
    let protocol = protocol.unwrap_or(schedule.protocol);
    // It delays nothing but PCIe beside NVLink.
    let switch = peer_access_time(None, schedule.ranks())?;
    let processes = processes.map(Processes::named).transpose()?;
    let costs = time::protocol_launched(schedule, protocol, processes, system.core());
    let costs = costs.map_err(errors::collective)?;
    let costs = NcclProtocol { peer_access_switch: switch, ..costs };
    let (source, on) = (Arc::clone(source), Arc::clone(system.core()));
    let found = interruptible(py, move || timed(source.schedule(), &on, (size, chunk), &costs))?;
    let (timing, trials) = found.map_err(errors::collective)?;
    Ok(Timing { system: system.clone(), protocol, timing, trials })
}

/// Reads Blink's T_dpa, in seconds. Without a value it takes the assumed time.
pub fn peer_access_time(given: Option<f64>, gpus: usize) -> PyResult<Picoseconds> {
    let Some(seconds) = given else { return Ok(assumed_peer_access_switch(gpus)) };
    let sound = (0.0..=3600.0).contains(&seconds);
    let refuse = || {
        Diagnosis::of(format!("peer_access_switch is {seconds}"))
            .remedy("give seconds from 0 to 3600")
    };
    sound.then(|| Picoseconds::from_seconds(seconds)).ok_or_else(|| errors::collective(refuse()))
}
