//! Gives Python `linkwright.ClusterRun`.

use std::sync::Arc;

use linkwright::diagnostic::{Diagnosis, Named};
use linkwright::engine::Progress;
use linkwright::network::PacketSettings;
use linkwright::network::packet::PacketTrace;
use linkwright::runtime;
use linkwright::scenario::read_network;
use linkwright::simulation::cluster::{
    Cluster, ClusterJob, ClusterOutcome, StandIns, Watch, links, parts, tables,
};
use linkwright::simulation::summary::{CollectiveParts, StepParts};
use linkwright::units::Picoseconds;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::argument::given;
use crate::errors;
use crate::number;
use crate::system::System;
use crate::system_origin::{SETTINGS, name_key};
use crate::table::Table;
use crate::values;
use crate::worker;

/// How jobs are played on a system.
#[derive(Clone, Serialize, Deserialize)]
pub struct Play {
    /// Holds the settings' text, with the table of the messaging library and that of collectives.
    text: String,
    /// Starts the random numbers of routing by chance.
    seed: u64,
    /// Which steps of packets are kept.
    trace: Option<TraceAsked>,
    /// Between which picoseconds messages are sent that are kept.
    sent: (u64, u64),
}

/// Which steps of packets a run keeps.
#[derive(Clone, Serialize, Deserialize)]
pub struct TraceAsked {
    most: usize,
    link: Option<String>,
    from: u64,
    until: Option<u64>,
    queues: usize,
    window: u64,
}

impl TraceAsked {
    /// The steps that a caller asks for; None for none.
    pub fn new(
        most: i128,
        link: Option<String>,
        from: f64,
        until: Option<f64>,
        (queues, window): (i128, f64),
    ) -> PyResult<Option<Self>> {
        let most = number::whole("packets", most, usize::MAX)?;
        let from = number::time("packets_from", from)?.0;
        let until = until.map(|it| number::time("packets_until", it)).transpose()?;
        let until = until.map(|until| until.0);
        let queues = number::whole("queues", queues, usize::MAX)?;
        let window = number::time("queue_window", window)?.0;
        if queues > 0 && window == 0 {
            let problem = Diagnosis::of("a window of queues lasts no time");
            return Err(errors::range(
                problem.remedy("give a queue_window of a picosecond or more"),
            ));
        }
        let asked = Self { most, link, from, until, queues, window };
        Ok((most > 0 || queues > 0).then_some(asked))
    }

    /// Makes the empty trace on a system.
    fn on(&self, cluster: &Cluster) -> PyResult<PacketTrace> {
        let channel = self.link.as_ref().map(|link| {
            let names = links::channel_names(&cluster.system);
            let found = names.iter().position(|name| name == link);
            found.map(|at| at as u32).ok_or_else(|| {
                let problem = Diagnosis::of(format!("there is no link `{link}` in the network"));
                let first = names.first().map_or("none", String::as_str);
                errors::range(problem.remedy(format!("write its ends, as in `{first}`")))
            })
        });
        let mut trace = PacketTrace::default();
        trace.channel = channel.transpose()?;
        (trace.from, trace.until) = (Picoseconds(self.from), self.until.map(Picoseconds));
        trace.most = self.most;
        trace.window = Picoseconds(if self.queues > 0 { self.window } else { 0 });
        trace.most_windows = self.queues;
        Ok(trace)
    }
}

impl Play {
    /// The choices that a caller makes.
    pub fn new(
        fidelity: &str,
        protocol: Option<&Bound<'_, PyDict>>,
        collectives: Option<&Bound<'_, PyDict>>,
        seed: u64,
        trace: Option<TraceAsked>,
        (from, until): (f64, Option<f64>),
    ) -> PyResult<Self> {
        let from = number::time("messages_from", from)?.0;
        let until = until.map(|it| number::time("messages_until", it)).transpose()?;
        let sent = (from, until.map_or(u64::MAX, |until| until.0));
        let mut table = toml::Table::new();
        // The reader takes settings of a network; it is the system that has one.
        table.insert("kind".to_owned(), "single-switch".into());
        table.insert("fidelity".to_owned(), fidelity.into());
        table.insert("protocol".to_owned(), values::table(protocol)?.into());
        table.insert("collectives".to_owned(), values::table(collectives)?.into());
        Ok(Self { text: table.to_string(), seed, trace, sent })
    }

    /// A system, to be played on so.
    fn on(&self, system: &System) -> PyResult<Cluster> {
        let read = read_network(SETTINGS, &self.text).map_err(|mut error| {
            name_key(&mut error, &self.text);
            errors::input(error)
        })?;
        let cluster = system.cluster().as_ref().clone();
        Ok(Cluster {
            fidelity: read.fidelity,
            protocol: read.protocol,
            collectives: read.collectives,
            settings: PacketSettings { seed: self.seed, ..cluster.settings },
            ..cluster
        })
    }
}

/// Holds the results of the jobs and of the network.
///
/// A run is pickled as what it was played from, and is played again when it is loaded.
#[pyclass(frozen, module = "linkwright.network")]
pub struct ClusterRun {
    system: System,
    play: Play,
    cluster: Arc<Cluster>,
    most: usize,
    jobs: Vec<ClusterJob>,
    placed: Vec<Vec<u32>>,
    outcome: ClusterOutcome,
    watch: Watch,
    trace: Option<PacketTrace>,
}

/// Puts jobs on the GPUs that they got.
fn on(jobs: &[ClusterJob], placed: &[Vec<u32>]) -> Vec<runtime::ProgramJob> {
    jobs.iter().zip(placed).map(|(job, gpus)| job.on(gpus.clone())).collect()
}

/// Holds everything that a run is played from. Its outcome may be far larger, and follows from
/// this.
type Played = (System, Play, Vec<ClusterJob>, Vec<Vec<u32>>, usize);

impl Serialize for ClusterRun {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&self.system, &self.play, &self.jobs, &self.placed, self.most).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ClusterRun {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (system, play, jobs, placed, most) = Played::deserialize(deserializer)?;
        Python::attach(|py| Self::play(py, &system, play, jobs, placed, most, None))
            .map_err(D::Error::custom)
    }
}

impl ClusterRun {
    /// Plays jobs on the GPUs that they got; keeps at most a given number of spans of each kind.
    pub fn play(
        py: Python<'_>,
        system: &System,
        play: Play,
        jobs: Vec<ClusterJob>,
        placed: Vec<Vec<u32>>,
        most: usize,
        progress: Option<&Py<PyAny>>,
    ) -> PyResult<Self> {
        let report = |py: Python<'_>, at: Progress| match progress {
            Some(call) => {
                call.call1(py, (at.done, at.total, at.time.as_seconds(), at.events)).map(|_| ())
            }
            None => Ok(()),
        };
        let cluster = Arc::new(play.on(system)?);
        let mut trace = play.trace.as_ref().map(|asked| asked.on(&cluster)).transpose()?;
        let (from, until) = play.sent;
        let (outcome, watch, trace) = worker::watched(py, report, |hook| {
            let played = on(&jobs, &placed);
            let mut watch = Watch::new(&played, &cluster.system, most)
                .between(Picoseconds(from), Picoseconds(until));
            let outcome = cluster.replay_traced(&played, &mut watch, &mut trace, hook);
            (outcome, watch, trace)
        })?;
        let outcome = outcome.map_err(errors::replay)?;
        Ok(Self {
            system: system.clone(),
            play,
            cluster,
            most,
            jobs,
            placed,
            outcome,
            watch,
            trace,
        })
    }

    fn played(&self) -> Vec<runtime::ProgramJob> {
        on(&self.jobs, &self.placed)
    }

    /// Counts the ranks of the only job.
    fn step_ranks(&self) -> PyResult<usize> {
        let [gpus] = &self.placed[..] else {
            let problem = Diagnosis::of("a step of training is one job, and the run has others");
            return Err(errors::range(problem.remedy("play it alone")));
        };
        Ok(gpus.len())
    }
}

#[pymethods]
impl ClusterRun {
    /// Names the model of the network: `packet` or `flow`.
    #[getter]
    fn fidelity(&self) -> &'static str {
        self.cluster.fidelity.name()
    }

    /// Returns the seconds from time zero until the last job ended.
    #[getter]
    fn makespan(&self) -> f64 {
        tables::makespan(&self.outcome).as_seconds()
    }

    /// Returns the seconds that each job ran, in the jobs' order.
    #[getter]
    fn times(&self) -> Vec<f64> {
        self.outcome.jobs.jobs.iter().map(|job| job.time().as_seconds()).collect()
    }

    /// Returns the GPU of each rank of each job.
    #[getter]
    fn mapping(&self) -> Vec<Vec<u32>> {
        self.placed.clone()
    }

    /// Counts the events that the model of the network handled.
    #[getter]
    fn events(&self) -> u64 {
        self.outcome.events
    }

    /// Tells where the settings make less of the network than there is, each a sentence.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.cluster.notes()
    }

    /// Counts how many times a packet crossed a channel; 0 in the flow model.
    #[getter]
    fn packet_hops(&self) -> u64 {
        self.outcome.packet_hops
    }

    /// How many operations the ranks did, with those of collectives.
    #[getter]
    fn operations(&self) -> u64 {
        self.outcome.jobs.operations
    }

    /// Returns one row per job, in the jobs' order.
    ///
    /// Columns are job (its index), name, program, ranks, arrival, start (when it had its GPUs),
    /// end and time (end less start). Then come computing, communicating and exposed_communication,
    /// which are means over the ranks. All times are in seconds. The last columns are messages and
    /// data (in bytes). Exposed communication is the part that no computation hid.
    fn jobs(&self) -> PyResult<Table> {
        Table::new(tables::jobs(&self.played(), &self.outcome))
    }

    /// Returns one row per rank of each job.
    ///
    /// Columns: job (its index), rank, gpu, node, end, computing, communicating,
    /// exposed_communication (all times in seconds), messages, data (in bytes).
    fn ranks(&self) -> PyResult<Table> {
        Table::new(tables::ranks(&self.cluster, &self.played(), &self.outcome))
    }

    /// One row per channel of the network, which is one direction of a link.
    ///
    /// The first columns are link (its index), from, to and kind: `injection` from a node,
    /// `ejection` to a node, `switch` between switches. Then come bandwidth (in GB/s), data (in
    /// bytes), packets and utilisation (share of the makespan at full bandwidth, 0 to 1). Then come
    /// longest_queue, level (a row of `levels`) and at, the device that the link is counted at.
    /// This is the lower of two switches, else where the link starts. Column at_level says what
    /// `at` is called in its level; it is `device` within a server. Columns group and member are a
    /// dragonfly switch's group and its number there, else null. The flow model counts messages
    /// instead of packets, there and in the queue. Where collectives are kernels, packets and the
    /// queue of links between switches are null. In a dragonfly the data is null, too.
    ///
    /// Args:
    ///     alike: The servers that do as one that was played, for each of these; it comes first. The
    ///         links of all count as its own.
    ///     loads: The bytes that links carried beside, each with the link's number.
    ///
    /// Raises:
    ///     SimulationError: If there is no such server or link.
    #[pyo3(signature = (
        alike: "Sequence[Sequence[int]] | None" = None,
        loads: "Sequence[tuple[int, float]] | None" = None
    ))]
    fn links(
        &self,
        #[pyo3(from_py_with = given)] alike: Option<Vec<Vec<u64>>>,
        #[pyo3(from_py_with = given)] loads: Option<Vec<(u64, f64)>>,
    ) -> PyResult<Table> {
        let (alike, loads) = (alike.unwrap_or_default(), loads.unwrap_or_default());
        if alike.is_empty() && loads.is_empty() {
            return Table::new(links::links(&self.cluster, &self.outcome));
        }
        let system = &*self.cluster.system;
        let alike =
            alike.into_iter().map(|all| of_one_kind(system, &all)).collect::<PyResult<_>>()?;
        let load = |(link, bytes): (u64, f64)| {
            let carried = (0.0..=1e18).contains(&bytes) && link < system.channels() as u64;
            let problem = format!("there is no link {link} that carried {bytes} bytes");
            let refused = || errors::range(Diagnosis::of(problem));
            carried.then_some((link as u32, bytes)).ok_or_else(refused)
        };
        let loads = loads.into_iter().map(load).collect::<PyResult<_>>()?;
        let outcome = StandIns { alike, loads }.for_all(system, &self.outcome);
        Table::new(links::links(&self.cluster, &outcome))
    }

    /// Returns one row per level of links, from where messages enter the network to where they
    /// leave it.
    ///
    /// Columns are level, links (its channels), mean and most (of their utilisation). Switched
    /// networks have the levels `injection`, `leaf to aggregate` and the like between levels of
    /// switches, and `ejection`. Between switches, a dragonfly has `local` and `global` instead,
    /// and other networks `between switches`. Within servers, a level is the kind of a link.
    fn levels(&self) -> PyResult<Table> {
        Table::new(links::levels(&self.cluster, &self.outcome))
    }

    /// Counts the bytes that entered and left every network interface, NVSwitch and switch of the network.
    ///
    /// It has the columns of `SimulationResult.device_loads`.
    fn device_loads(&self) -> PyResult<Table> {
        Table::new(parts::devices(&self.cluster, &self.outcome))
    }

    /// Counts the bytes of each direction of each link in each span of time in which it carried something.
    ///
    /// It has the columns of `SimulationResult.link_times`.
    fn link_times(&self) -> PyResult<Table> {
        Table::new(parts::link_times_of(&self.cluster, &self.outcome))
    }

    /// Tells by size how long messages took from their sending to the arrival of their data.
    ///
    /// Columns are smallest and largest (sizes of the class, in bytes), within_node (whether both
    /// GPUs are in one node) and messages. Then come minimum, mean, p50, p90, p99 and maximum, in
    /// seconds. Percentiles are exact to a 32nd. Each class that has messages has a row.
    fn latencies(&self) -> PyResult<Table> {
        Table::new(self.watch.latencies.table())
    }

    /// Counts by size how many messages took how long; `latencies` sums this up.
    ///
    /// Columns: smallest, largest, within_node (as in `latencies`), shortest, longest (in
    /// seconds; they differ by at most a 32nd), messages. A row where there are messages.
    fn latency_histogram(&self) -> PyResult<Table> {
        Table::new(self.watch.latencies.histogram())
    }

    /// Returns one row for each collective of a communicator that went by a plan, in the jobs'
    /// order.
    ///
    /// Columns are job (its index), name (the job's), communicator (its index in the program),
    /// collective, root (null where there is none), ranks and nodes. Then come algorithm (the
    /// planner's), rate and notes (for a person to know, joined by `; `). The rate is the limit for
    /// long data, alone on the network, in GB/s of the longest buffer.
    fn planned(&self) -> PyResult<Table> {
        Table::new(tables::planned(&self.played(), &self.outcome))
    }

    /// Returns one row for each stay of a rank in a region of its program that the run kept.
    ///
    /// They are sorted rank by rank and in the order of entry.
    ///
    /// Columns: job (its index), rank, region, depth (regions open around it), start, end (in
    /// seconds). Empty unless the replay was given a `timeline`.
    fn regions(&self) -> PyResult<Table> {
        Table::new(tables::regions(&self.played(), &self.outcome, &self.watch))
    }

    /// One row for each span of computation that the run kept, in the order of their ends.
    ///
    /// Columns: job (its index), rank, start, end (in seconds). Empty unless the replay was
    /// given a `timeline`.
    fn computation(&self) -> PyResult<Table> {
        Table::new(tables::computation(&self.watch))
    }

    /// Returns one row for each message that the run kept, in the order of their arrival.
    ///
    /// Columns: job (its index), source, destination (ranks), tag, size (in bytes), collective
    /// (whether it is part of one), sent, delivered (in seconds). Empty unless the replay was
    /// given a `timeline`.
    fn messages(&self) -> PyResult<Table> {
        Table::new(tables::messages(&self.watch))
    }

    /// Gives one row for each step of a packet that the run kept, in the order of their times.
    ///
    /// Time is in seconds, place a link such as `leaf0 to node3`, and size in bytes. Kind is `wait` where
    /// the packet joins the link's queue, and `cross` where it goes onto the link. Hops are switches that it
    /// has left, queue the packets that then wait for the link. Empty unless the replay was given
    /// `packets`, and of the flow model.
    fn packets(&self) -> PyResult<Table> {
        Table::new(tables::packets(
            &self.cluster,
            self.trace.as_ref().unwrap_or(&PacketTrace::default()),
        ))
    }

    /// One row for each window of time in which packets waited for a link, in the order of their ends.
    ///
    /// Columns: start (in seconds), place (a link, such as `leaf0 to node3`), mean (packets that wait, over
    /// the window), most (of them at once). For a link from a node into the network those wait, too, that its
    /// interface has yet to make of messages. Empty unless the replay was given `queues`, and of the
    /// flow model.
    fn queues(&self) -> PyResult<Table> {
        Table::new(tables::queues(
            &self.cluster,
            self.trace.as_ref().unwrap_or(&PacketTrace::default()),
        ))
    }

    /// How many windows with queues there were of the link and in the span that were asked for.
    #[getter]
    fn queue_windows(&self) -> u64 {
        self.trace.as_ref().map_or(0, |trace| trace.window_count)
    }

    /// How many steps of packets there were of the link and in the span that were asked for.
    #[getter]
    fn packet_steps(&self) -> u64 {
        self.trace.as_ref().map_or(0, |trace| trace.count)
    }

    /// One row for each copy that the run kept, in the order of their ends.
    ///
    /// Columns are job (its index), rank, direction (`host-to-device`, `device-to-host` or `peer`)
    /// and peer (the other rank, where there is one). Then come size (in bytes), start (when a copy
    /// engine took it) and end, in seconds. The table is empty unless the replay was given a
    /// `timeline`.
    fn copies(&self) -> PyResult<Table> {
        Table::new(tables::copies(&self.watch))
    }

    /// Returns one row for each rank's part in a collective that ran as a kernel and that the run
    /// kept.
    ///
    /// They come in the order of their ends. Columns: job (its index), rank, collective, size (what
    /// the rank contributes, in bytes), start (when it called), end (in seconds). Empty unless the
    /// replay was given a `timeline`, and collectives go by NCCL's protocol.
    fn kernels(&self) -> PyResult<Table> {
        Table::new(tables::kernels(&self.watch))
    }

    /// Splits the time of a step of training, which its `timeline` holds whole, in the mean over its GPUs.
    ///
    /// The parts are seconds. `framework` is its work on the host before the step. In `computing` kernels run. In
    /// `communication` data moves, and in the `exposed` part of that no kernel runs. In `idle` a GPU does none of these.
    ///
    /// Args:
    ///     stands_for: Says for how many GPUs of the step each rank stands. If not given, each stands for one.
    ///
    /// Raises:
    ///     SimulationError: If there is not a number for each rank, or not one job.
    #[pyo3(signature = (stands_for: "Sequence[int] | None" = None) -> "dict[str, float]")]
    fn step_parts<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = given)] stands_for: Option<Vec<u64>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let ranks = self.step_ranks()?;
        let stands_for = stands_for.unwrap_or_else(|| vec![1; ranks]);
        if stands_for.len() != ranks {
            let problem = format!("{} numbers are given for {ranks} ranks", stands_for.len());
            return Err(errors::range(Diagnosis::of(problem).remedy("give one for each rank")));
        }
        let (jobs, outcome, watch) = (self.played(), &self.outcome, &self.watch);
        let parts = py.detach(|| StepParts::of(&jobs, outcome, watch, &stands_for));
        let made = PyDict::new(py);
        made.set_item("framework", parts.framework)?;
        made.set_item("computing", parts.computing)?;
        made.set_item("communication", parts.communication)?;
        made.set_item("exposed", parts.exposed)?;
        made.set_item("idle", parts.idle)?;
        Ok(made)
    }

    /// Counts what the collectives of a step of training took, which its `timeline` holds whole, in the mean over its
    /// GPUs.
    ///
    /// Both are seconds: in which one runs, and of these, what no computation hides. Copies of samples and messages
    /// between two GPUs are no collectives.
    ///
    /// Raises:
    ///     SimulationError: If there is not one job.
    #[pyo3(signature = () -> "tuple[float, float]")]
    fn collective_parts(&self, py: Python<'_>) -> PyResult<(f64, f64)> {
        let ranks = self.step_ranks()?;
        let parts = py.detach(|| CollectiveParts::of(&self.watch, ranks));
        Ok((parts.running, parts.exposed))
    }

    /// Counts the kernels that ranks ran, kept or not.
    #[getter]
    fn kernel_count(&self) -> u64 {
        self.watch.kernel_count
    }

    /// Says how planned collectives were played: `mpi` as messages, or `nccl` as kernels.
    #[getter]
    fn collective_protocol(&self) -> &'static str {
        self.cluster.collectives.protocol.name()
    }

    /// How many copies there were, kept or not.
    #[getter]
    fn copy_count(&self) -> u64 {
        self.watch.copy_count
    }

    /// How many spans of computation, messages and stays in regions there were, kept or not.
    #[getter]
    fn timeline_counts(&self) -> (u64, u64, u64) {
        (self.watch.computation_count, self.watch.message_count, self.watch.stays.count())
    }

    fn __repr__(&self) -> String {
        let (jobs, makespan) = (self.jobs.len(), self.makespan());
        let watch = &self.watch;
        let kept = [
            (watch.computation.len(), watch.computation_count, "spans"),
            (watch.messages.len(), watch.message_count, "messages"),
            (watch.stays.kept().len(), watch.stays.count(), "stays in regions"),
            (watch.copies.len(), watch.copy_count, "copies"),
            (watch.kernels.len(), watch.kernel_count, "kernels"),
        ];
        let cut = kept.iter().filter(|(kept, count, _)| *kept > 0 && (*kept as u64) < *count);
        let cut: String =
            cut.map(|(kept, count, what)| format!(", {kept} of {count} {what} kept")).collect();
        format!("<ClusterRun: {jobs} jobs, {makespan:.6} s, {} events{cut}>", self.events())
    }
}

/// Servers of a system that are of one kind.
fn of_one_kind(system: &linkwright::system::System, servers: &[u64]) -> PyResult<Vec<u32>> {
    let known = |server: &u64| u32::try_from(*server).ok().filter(|it| *it < system.servers());
    let found: Option<Vec<u32>> = servers.iter().map(known).collect();
    let is_one_kind = |all: &Vec<u32>| {
        let mut kinds = all.iter().map(|server| system.kind_index_of(*server));
        let first = kinds.next();
        kinds.all(|kind| Some(kind) == first)
    };
    found.filter(is_one_kind).ok_or_else(|| {
        let problem = "servers that do the same are not all of one kind, or not of the system";
        let remedy =
            format!("name some of one kind, of 0 to {}", system.servers().saturating_sub(1));
        errors::range(Diagnosis::of(problem).remedy(remedy))
    })
}
