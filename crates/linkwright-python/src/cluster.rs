//! `linkwright.Cluster`.

use std::collections::BTreeMap;
use std::sync::Arc;

use linkwright::diagnostic::InputError;
use linkwright::simulation::cluster::{self, Files, Mapping, place, read_network};
use linkwright::system::fabric::{FABRICS, Fabric};
use linkwright::system::toml_format;
use linkwright::system::views::listed::listed;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::cluster_job::{ClusterJob, named_mapping};
use crate::cluster_run::ClusterRun;
use crate::errors;
use crate::machine::Machine;
use crate::number;
use crate::number::{int, optional_int};
use crate::pickle::Source;
use crate::values;

/// What errors of keyword arguments name as their file.
const SETTINGS: &str = "<settings>";

/// Nodes of GPUs, the network that joins them, and how it is simulated.
#[pyclass(frozen, module = "linkwright")]
pub struct Cluster(pub Arc<cluster::Cluster>, pub Arc<Origin>);

/// What a cluster is made from, which is what is pickled of it.
#[derive(Serialize, Deserialize)]
pub enum Origin {
    /// Settings, with the texts of the files that they name.
    Settings(String, Files),
    /// A scenario, with its files.
    Scenario(Source, Files),
}

impl Origin {
    fn cluster(&self) -> Result<cluster::Cluster, InputError> {
        match self {
            Self::Settings(text, files) => {
                read_network(SETTINGS, text).and_then(|network| network.build(SETTINGS, files))
            }
            Self::Scenario(source, files) => {
                let scenario = cluster::read_scenario(&source.file, &source.text)?;
                scenario.build(files).map(|built| built.cluster)
            }
        }
    }
}

impl Serialize for Cluster {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.1.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Cluster {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let origin = Origin::deserialize(deserializer)?;
        let cluster = origin.cluster().map_err(D::Error::custom)?;
        Ok(Self(Arc::new(cluster), Arc::new(origin)))
    }
}

/// The cluster of settings, with the files that they name.
fn from_settings(settings: &toml::Table, files: Files) -> PyResult<Cluster> {
    let text = settings.to_string();
    let origin = Origin::Settings(text.clone(), files);
    let built = origin.cluster();
    built.map(|built| Cluster(Arc::new(built), Arc::new(origin))).map_err(|mut error| {
        if error.file == SETTINGS {
            name_key(&mut error, &text);
        }
        errors::input(error)
    })
}

/// Says which setting an error is of: nobody sees the text that its line and column are of.
fn name_key(error: &mut InputError, text: &str) {
    let line = text.lines().nth(error.position.line.saturating_sub(1)).unwrap_or_default();
    // An error of the key itself, in the first column, names it already.
    if let Some((key, _)) = line.split_once(" = ")
        && error.position.column > 1
        && !error.problem.contains(key)
    {
        error.problem = format!("{key}: {}", error.problem);
    }
}

/// The servers of a cluster: a machine, or a preset's name.
#[derive(FromPyObject)]
pub enum ServerKind<'py> {
    Machine(PyRef<'py, Machine>),
    Preset(String),
}

/// Names a machine's servers in settings, and hands over its text.
fn add_machine(machine: Option<ServerKind<'_>>, table: &mut toml::Table, files: &mut Files) {
    let name = match machine {
        None => return,
        Some(ServerKind::Preset(name)) => name,
        Some(ServerKind::Machine(machine)) => {
            // With an ending, it is no preset's name.
            let name = format!("{}.toml", machine.0.name());
            files.insert(name.clone(), toml_format::write(&machine.0).into_bytes());
            name
        }
    };
    table.insert("machine".to_owned(), name.into());
}

impl Cluster {
    /// Whether it has abstract nodes in place of servers.
    fn is_of_nodes(&self) -> bool {
        self.0.system.kinds()[0].server().nics_meet_gpus()
    }
}

#[pymethods]
impl Cluster {
    /// A cluster of a kind of network; every setting has a default.
    ///
    /// The settings are the keys of `[network]` in a scenario, and `protocol` and
    /// `collectives`, dictionaries of the keys of its `[protocol]` and its `[collectives]`.
    /// Quantities are texts with a unit, such as `"11.9 GB/s"`.
    ///
    /// Args:
    ///     kind: One of `interconnect_names`: `fat-tree`, `dragonfly`, `torus`, `quartz`,
    ///         `single-switch`.
    ///         Without one, a lone `machine` has no network.
    ///     machine: The servers: a `Machine`, or the name of a preset. Without it, every port of
    ///         the network has a node of `gpus_per_node`. A network whose sizes are left out is
    ///         the smallest that has the ports.
    ///     settings: `servers`, how many there are, and `port_order` (`plain`, `rails`). Of the
    ///         network: `pods`, `groups`, `dimensions`, `bandwidth` and the
    ///         other parameters of its kind, such as a dragonfly's `intra_group_detours`, and
    ///         `bandwidth_scale` (2, `"x/4"`). Of the nodes:
    ///         `gpus_per_node`, `gpu_bandwidth`, `gpu_latency`. Of the simulation: `routing`,
    ///         `nic` (`fcfs`, `rr`, `rr-4`), `arbitration` (`round-robin`, `age`, `priority`),
    ///         `switching`, `fidelity` (`packet`, `flow`), `packet_size`, `buffer_packets`,
    ///         `router_delay`, `nic_delay`, `seed`.
    ///
    /// Raises:
    ///     InputError: If there is no such setting or value; the message says what would work.
    #[new]
    #[pyo3(
        signature = (kind = Some("fat-tree"), *, machine = None, **settings),
        text_signature = "(kind='fat-tree', *, machine=None, **settings)"
    )]
    fn new(
        kind: Option<&str>,
        machine: Option<ServerKind<'_>>,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let mut table = values::table(settings)?;
        if let Some(kind) = kind {
            table.insert("kind".to_owned(), kind.into());
        }
        let mut files = BTreeMap::new();
        add_machine(machine, &mut table, &mut files);
        from_settings(&table, files)
    }

    /// A cluster on a network that a text describes.
    ///
    /// Args:
    ///     text: The network: TOML of a kind and its parameters, TOML of a graph, or DOT.
    ///     file: Its name in errors.
    ///     machine: The servers, as for the class.
    ///     routing_table: The text of a file of routing tables, which packets then follow.
    ///     routing_file: Its name in errors.
    ///     settings: As for the class, but for the parameters of a kind.
    ///
    /// Raises:
    ///     InputError: If a text or a setting is not what it should be, with its place.
    #[staticmethod]
    #[pyo3(signature = (
        text, file = "<text>", *, machine = None, routing_table = None,
        routing_file = "<routing table>", **settings
    ))]
    fn from_text(
        text: &str,
        file: &str,
        machine: Option<ServerKind<'_>>,
        routing_table: Option<&str>,
        routing_file: &str,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let mut table = values::table(settings)?;
        let mut files = BTreeMap::from([(file.to_owned(), text.as_bytes().to_vec())]);
        table.insert("file".to_owned(), file.into());
        if let Some(tables) = routing_table {
            files.insert(routing_file.to_owned(), tables.as_bytes().to_vec());
            table.insert("routing_table".to_owned(), routing_file.into());
        }
        add_machine(machine, &mut table, &mut files);
        from_settings(&table, files)
    }

    /// Its network's name; of servers, theirs and their network's.
    #[getter]
    fn name(&self) -> &str {
        match self.0.system.fabric() {
            Some(fabric) if self.is_of_nodes() => fabric.name(),
            _ => self.0.system.name(),
        }
    }

    /// How many GPUs it has: the most ranks that its jobs can have in all.
    #[getter]
    fn gpus(&self) -> u32 {
        self.0.gpus()
    }

    /// How many nodes, or servers, it has.
    #[getter]
    fn nodes(&self) -> u32 {
        self.0.system.servers()
    }

    /// How many network interfaces its nodes have together.
    #[getter]
    fn nics(&self) -> u32 {
        self.0.system.nics()
    }

    /// What had to be assumed of its servers because no source says it.
    #[getter]
    fn assumptions(&self) -> Vec<String> {
        self.0.system.assumptions().to_vec()
    }

    /// How many switches it has.
    #[getter]
    fn switches(&self) -> u32 {
        self.0.system.fabric().map_or(0, Fabric::switches)
    }

    /// How many GPUs its first node has; where all have as many, GPU `g` is in node
    /// `g // gpus_per_node`.
    #[getter]
    fn gpus_per_node(&self) -> u32 {
        self.0.system.kinds()[0].server().gpus().len() as u32
    }

    /// Its servers with every part listed, as plans of collectives are made on: one switch stands
    /// for the network's, which passes everything at full rate.
    ///
    /// Raises:
    ///     MachineError: If its nodes are abstract, whose wiring nobody lists.
    fn machine(&self) -> PyResult<Machine> {
        let system = &self.0.system;
        if self.is_of_nodes() {
            let problem = "its nodes are abstract: nobody lists their wiring; give a `machine`";
            return Err(errors::machine(problem.to_owned()));
        }
        let servers: Vec<u32> = (0..system.servers()).collect();
        let listed = listed(system, &servers).map_err(errors::system)?;
        let count = system.servers();
        let name = listed.name().to_owned();
        let alike = system.kinds().len() == 1 && count > 1;
        let name =
            if alike { format!("{count}x{}", system.kinds()[0].server().name()) } else { name };
        Ok(Machine(listed.renamed(&name)))
    }

    /// The routing's name.
    #[getter]
    fn routing(&self) -> &'static str {
        self.0.routing.name()
    }

    /// The policy of the network interfaces.
    #[getter]
    fn nic(&self) -> String {
        self.0.nic.name()
    }

    /// `packet` or `flow`.
    #[getter]
    fn fidelity(&self) -> &'static str {
        self.0.fidelity.name()
    }

    /// Plays jobs on the cluster, which is idle at time zero, to their ends.
    ///
    /// Args:
    ///     jobs: The jobs.
    ///     mapping: `linear` or `random`, for the jobs that name no mapping of their own. Lists
    ///         of GPUs go first, then linear jobs take the lowest free GPUs in their order, and
    ///         random ones what is left by chance.
    ///     seed: Of the random mapping; the cluster's where absent.
    ///     timeline: How many intervals of computation, as many messages and as many stays in
    ///         regions the run keeps for `ClusterRun.computation`, `ClusterRun.messages` and
    ///         `ClusterRun.regions`: the first so many.
    ///     progress: Called about every 100 ms with operations done, operations in all,
    ///         simulated seconds, and events that the model of the network has handled.
    ///
    /// Raises:
    ///     SimulationError: If the jobs do not fit or do not come to an end; the message names
    ///         rank, call, peer, tag and time.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (jobs, *, mapping = "linear", seed = None, timeline = 0, progress = None))]
    fn replay(
        &self,
        py: Python<'_>,
        jobs: Vec<ClusterJob>,
        mapping: &str,
        #[pyo3(from_py_with = optional_int)] seed: Option<i128>,
        #[pyo3(from_py_with = int)] timeline: i128,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<ClusterRun> {
        let mapping = named_mapping(mapping)?;
        let seed = match seed {
            Some(seed) => number::whole("the seed", seed, u64::MAX)?,
            None => self.0.settings.seed,
        };
        let most: usize = number::whole("timeline", timeline, usize::MAX)?;
        let jobs: Vec<cluster::ClusterJob> = jobs.into_iter().map(|job| job.0).collect();
        let wanted: Vec<(&str, u32, &Mapping)> = jobs
            .iter()
            .map(|job| {
                let ranks = job.program.ranks.len() as u32;
                (job.name.as_str(), ranks, job.mapping.as_ref().unwrap_or(&mapping))
            })
            .collect();
        let placed = place(&wanted, self.0.gpus(), seed).map_err(errors::placement)?;
        ClusterRun::play(py, self, jobs, placed, most, progress.as_ref())
    }

    fn __repr__(&self) -> String {
        let (name, gpus, nodes) = (self.name(), self.gpus(), self.nodes());
        format!("<Cluster {name:?}: {gpus} GPUs in {nodes} nodes, {} model>", self.fidelity())
    }
}

/// The name of every kind of network that `Cluster` makes.
#[pyfunction]
pub fn interconnect_names() -> Vec<&'static str> {
    FABRICS.to_vec()
}
