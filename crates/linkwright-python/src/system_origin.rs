//! Keeps the source of a `linkwright.System`: arguments as settings, with the files that they name.

use std::sync::Arc;

use linkwright::diagnostic::{Diagnosis, InputError};
use linkwright::scenario::{
    Files, NetworkSettings, SETTINGS_FILE, Scenario, read_network, read_system,
};
use linkwright::simulation::{self, cluster::Cluster};
use linkwright::system::composition::{MOST_SERVERS, PartError};
use linkwright::system::fabric::fabrics;
use linkwright::system::gpus::{GpuChanges, GpuError};
use linkwright::system::{Server, presets, toml_format};
use linkwright::units::Bandwidth;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::argument::{Argument, Refusal, as_extracted};
use crate::errors;
use crate::fabric::Fabric;
use crate::system::System;
use crate::text_source::Source;
use crate::values;
use crate::worker::interruptible;

/// Stands as the file's name in errors of arguments.
pub const SETTINGS: &str = SETTINGS_FILE;

/// Pairs the keys that describe GPUs joined all to all: a key of the argument, and the key of a
/// scenario.
const OF_NODES: [(&str, &str); 4] = [
    ("gpus", "gpus_per_node"),
    ("nics", "nics_per_node"),
    ("bandwidth", "gpu_bandwidth"),
    ("latency", "gpu_latency"),
];
/// Keys of a scenario that say which servers there are.
const OF_SERVERS: [&str; 3] = ["machine", "servers", "system"];
/// Keys that say how jobs are played.
const OF_REPLAYS: [&str; 4] = ["fidelity", "seed", "protocol", "collectives"];

/// Holds the source that a system is made from; a pickle holds just this.
#[derive(Serialize, Deserialize)]
pub enum Origin {
    /// Holds a lone server.
    Server(#[serde(with = "server_text")] Arc<Server>),
    /// Holds settings, with the files that they name.
    Settings(String, Files),
    /// Holds a scenario, with its files.
    Scenario(Source, Files),
    /// A text that describes a system alone, with the files that it names.
    Text(String, Files),
    /// Another system, with what is said of its GPUs.
    Changed(Arc<Origin>, Box<GpuChanges>),
    /// Takes another system, without some of its parts.
    Lacking(Arc<Origin>, Vec<String>),
}

impl Origin {
    /// The system, and how its network is simulated.
    pub fn cluster(&self) -> Result<Cluster, String> {
        match self {
            Self::Server(server) => Ok(of_server(Arc::clone(server))),
            Self::Settings(text, files) => built(text, files).map_err(|error| error.to_string()),
            Self::Scenario(source, files) => {
                let scenario = Scenario::read(&source.given());
                let cluster = scenario.and_then(|it| it.network.build(&it.file, files));
                cluster.map_err(|error| error.to_string())
            }
            Self::Text(text, files) => {
                let read = read_system(SETTINGS, text);
                let cluster = read.and_then(|read| read.network.build(SETTINGS, files));
                cluster.map_err(|error| error.to_string())
            }
            Self::Changed(of, changes) => {
                with_gpus(&of.cluster()?, changes).map_err(|error| error.to_string())
            }
            Self::Lacking(of, parts) => {
                lacking(&of.cluster()?, parts).map_err(|error| error.to_string())
            }
        }
    }

    /// Returns the settings of its network; None for a lone server.
    pub fn network(&self) -> Option<NetworkSettings> {
        match self {
            Self::Server(_) => None,
            Self::Settings(text, _) => read_network(SETTINGS, text).ok(),
            Self::Scenario(source, _) => {
                Scenario::read(&source.given()).ok().map(|scenario| scenario.network)
            }
            Self::Text(text, _) => read_system(SETTINGS, text).ok().map(|read| read.network),
            Self::Changed(of, _) | Self::Lacking(of, _) => of.network(),
        }
    }

    /// Gives the files that its text names, with those that the text holds itself.
    fn files(&self) -> Files {
        if let Self::Changed(of, _) | Self::Lacking(of, _) = self {
            return of.files();
        }
        let (Self::Settings(_, given) | Self::Scenario(_, given) | Self::Text(_, given)) = self
        else {
            return Files::new();
        };
        let mut files = given.clone();
        files.extend(self.network().map(|network| network.files).unwrap_or_default());
        files
    }

    /// Returns the tables of a scenario that say the same, with the files that they name; empty for
    /// a lone server.
    pub fn scenario(&self) -> String {
        let mut whole = Table::new();
        match self {
            Self::Server(_) => return String::new(),
            Self::Settings(text, _) => {
                let mut network = table_of(text);
                whole.extend(network.remove_entry("system"));
                whole.extend(network.remove_entry("pcie"));
                network.retain(|key, _| !OF_REPLAYS.contains(&key));
                whole.insert("network".to_owned(), Value::Table(network));
            }
            Self::Scenario(source, _) => {
                let mut settled = settled(source);
                whole.extend(settled.remove_entry("system"));
                whole.extend(settled.remove_entry("pcie"));
                // GPUs that are out of order are no part of the system.
                if let Some(Value::Table(system)) = whole.get_mut("system") {
                    system.remove("unhealthy");
                }
            }
            Self::Changed(of, _) | Self::Lacking(of, _) => return of.scenario(),
            Self::Text(text, _) => {
                whole = read_system(SETTINGS, text).map(|read| read.settings).unwrap_or_default();
            }
        }
        let named = |(name, content): (String, Vec<u8>)| {
            Some((name, Value::String(String::from_utf8(content).ok()?)))
        };
        let files: Table = self.system_files().into_iter().filter_map(named).collect();
        let text = whole.to_string();
        if files.is_empty() {
            return text;
        }
        // Long, and so behind all that people read.
        let files = Table::from_iter([("files".to_owned(), Value::Table(files))]);
        format!("{text}\n{files}")
    }

    /// Returns the settings, by the keys of the class's arguments, and the files that they name.
    pub fn settings(&self) -> (Table, Files) {
        match self {
            Self::Server(_) => (Table::new(), Files::new()),
            Self::Settings(text, files) => (as_arguments(table_of(text)), files.clone()),
            Self::Scenario(source, files) => {
                let mut settled = settled(source);
                (of_system(settled.remove("system"), settled.remove_entry("pcie")), files.clone())
            }
            Self::Changed(of, _) | Self::Lacking(of, _) => of.settings(),
            Self::Text(text, _) => {
                let read = read_system(SETTINGS, text).map(|read| read.settings);
                let mut settled = read.unwrap_or_default();
                let arguments = of_system(settled.remove("system"), settled.remove_entry("pcie"));
                (arguments, self.files())
            }
        }
    }

    /// Gives the files of the servers and of what joins them.
    fn system_files(&self) -> Files {
        let Some(network) = self.network() else { return Files::new() };
        let named: Vec<&str> = network.named_files().map(|file| file.name.as_str()).collect();
        let all = self.files().into_iter();
        all.filter(|(name, _)| named.contains(&name.as_str())).collect()
    }
}

/// The keys of a scenario's system and of how it is played, as the reader settles them.
fn settled(source: &Source) -> Table {
    Scenario::read(&source.given()).map(|read| read.settings).unwrap_or_default()
}

/// Converts a scenario's `[system]` and its PCIe bus into the arguments that they stand for.
fn of_system(system: Option<Value>, bus: Option<(String, Value)>) -> Table {
    let Some(Value::Table(mut system)) = system else { return Table::new() };
    let mut arguments = Table::new();
    let server = system.remove("server").map(|server| match server {
        Value::Table(described) => {
            let named = ["preset", "file", "kind"].iter().find_map(|key| described.get(*key));
            named.cloned().unwrap_or(Value::Table(described))
        }
        other => other,
    });
    arguments.extend(server.map(|server| ("server".to_owned(), server)));
    arguments.extend(system.remove_entry("servers"));
    let mut network = match system.remove("network") {
        Some(Value::Table(network)) => network,
        _ => Table::new(),
    };
    for key in ["port_order", "interfaces"] {
        network.extend(system.remove_entry(key));
    }
    network.extend(bus);
    if !network.is_empty() {
        arguments.insert("network".to_owned(), Value::Table(network));
    }
    arguments
}

/// Gives a cluster with what is said of its GPUs.
pub fn with_gpus(cluster: &Cluster, changes: &GpuChanges) -> Result<Cluster, GpuError> {
    let system = Arc::new(cluster.system.with_gpus(changes)?);
    Ok(Cluster { system, ..cluster.clone() })
}

/// Gives a cluster without some parts of its system, by their names.
pub fn lacking(cluster: &Cluster, parts: &[String]) -> Result<Cluster, PartError> {
    Ok(simulation::without(cluster, cluster.system.without(parts)?))
}

/// Writes a server as its text.
mod server_text {
    use super::{Arc, Deserialize, Server, toml_format};
    use serde::de::Error as _;
    use serde::{Deserializer, Serializer};

    pub fn serialize<S: Serializer>(server: &Arc<Server>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&toml_format::write(server))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<Server>, D::Error> {
        let text = String::deserialize(from)?;
        toml_format::read("<pickle>", &text).map(Arc::new).map_err(D::Error::custom)
    }
}

/// The table of a text that has been read as one; keys of several words have underscores.
fn table_of(text: &str) -> Table {
    let spelt = |table: Table| -> Table {
        table.into_iter().map(|(key, value)| (key.replace('-', "_"), value)).collect()
    };
    let whole: Table = text.parse().unwrap_or_default();
    let inner = |(key, value)| match value {
        Value::Table(table) => (key, Value::Table(spelt(table))),
        other => (key, other),
    };
    spelt(whole).into_iter().map(inner).collect()
}

/// How the jobs of a scenario are played, by the keys of `System.play`.
pub fn play_settings(settled: &Table) -> Table {
    let of_replays = settled.iter().filter(|(key, _)| OF_REPLAYS.contains(&key.as_str()));
    of_replays.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Converts a scenario's keys into the arguments that they stand for.
fn as_arguments(mut table: Table) -> Table {
    let mut arguments = Table::new();
    let node: Table = OF_NODES
        .iter()
        .filter_map(|(argument, key)| Some(((*argument).to_owned(), table.remove(*key)?)))
        .collect();
    let listed = table.remove("system").and_then(|system| system.get("server").cloned());
    let server = table.remove("machine").or(listed);
    let server = server.or_else(|| (!node.is_empty()).then_some(Value::Table(node)));
    arguments.extend(server.map(|server| ("server".to_owned(), server)));
    arguments.extend(table.remove_entry("servers"));
    table.retain(|key, _| !OF_REPLAYS.contains(&key));
    if !table.is_empty() {
        arguments.insert("network".to_owned(), Value::Table(table));
    }
    arguments
}

/// A lone server with what is assumed of the models of its links.
pub fn of_server(server: Arc<Server>) -> Cluster {
    let usual = read_network(SETTINGS, "kind = \"single-switch\"");
    usual.expect("a kind alone is a network").of_server(server)
}

fn built(text: &str, files: &Files) -> Result<Cluster, InputError> {
    read_network(SETTINGS, text).and_then(|network| network.build(SETTINGS, files))
}

/// A server, by itself: one that was read, a preset's name, or GPUs all to all.
pub enum ServerArgument {
    Kind(Kind),
    Node(Py<PyDict>),
    Listed(Vec<Row>),
}

impl<'a, 'py> Argument<'a, 'py> for ServerArgument {
    fn words() -> (String, String) {
        let one = "a preset's name, a `System`, a list of these, or a dictionary of a node";
        (one.to_owned(), "servers".to_owned())
    }

    fn read(value: &'a Bound<'py, PyAny>) -> Result<Self, Refusal> {
        if let Ok(kind) = value.extract() {
            return Ok(Self::Kind(kind));
        }
        if let Ok(node) = value.cast::<PyDict>() {
            return Ok(Self::Node(node.clone().unbind()));
        }
        match Vec::read(value) {
            Ok(rows) => Ok(Self::Listed(rows)),
            // A list says which of its items is none.
            Err(refusal) if value.is_instance_of::<PyList>() => Err(refusal),
            Err(_) => Err(Refusal::wrong(value, Self::words().0)),
        }
    }
}

/// Holds equal servers in a row.
pub struct Row(Kind, i128);

impl<'a, 'py> Argument<'a, 'py> for Row {
    fn words() -> (String, String) {
        let one = "a preset's name, a `System`, or a pair of either and a whole number";
        (one.to_owned(), "servers".to_owned())
    }

    fn read(value: &'a Bound<'py, PyAny>) -> Result<Self, Refusal> {
        if let Ok(kind) = value.extract() {
            return Ok(Self(kind, 1));
        }
        let read: Result<(Kind, i128), Refusal> = Argument::read(value);
        let (kind, count) = read.map_err(|_| Refusal::wrong(value, Self::words().0))?;
        Ok(Self(kind, count))
    }
}

/// A server that there may be several of.
#[derive(FromPyObject)]
pub enum Kind {
    System(Py<System>),
    Preset(String),
}

as_extracted!(
    Kind: "a preset's name or a `System`", "servers";
    NetworkArgument<'py>: "the name of a kind, a speed, a `Fabric`, or a dictionary", "networks";
    Files: "a dictionary of names and bytes", "files";
);

/// Describes the network that joins servers: one that was made, its kind or speed, or all of its
/// settings.
#[derive(FromPyObject)]
pub enum NetworkArgument<'py> {
    Fabric(PyRef<'py, Fabric>),
    Name(String),
    Settings(Bound<'py, PyDict>),
}

/// Holds the arguments as the keys of a scenario's network, and the files that they name.
#[derive(Default)]
pub struct Arguments {
    table: Table,
    files: Files,
}

impl Arguments {
    pub fn new(
        server: Option<ServerArgument>,
        servers: Option<i128>,
        network: Option<NetworkArgument<'_>>,
        files: Files,
    ) -> PyResult<Self> {
        let mut made = Self { table: Table::new(), files };
        match network {
            None => {}
            Some(NetworkArgument::Name(name)) => made.name_network(&name)?,
            Some(NetworkArgument::Settings(settings)) => made.set_network(&settings)?,
            Some(NetworkArgument::Fabric(fabric)) => {
                fabric.name_in(&mut made.table, &mut made.files)
            }
        }
        let servers = servers.map(|count| {
            let refuse = || {
                let last = MOST_SERVERS;
                errors::machine(
                    Diagnosis::of(format!("servers is {count}"))
                        .remedy(format!("give 1 to {last}")),
                )
            };
            u32::try_from(count)
                .ok()
                .filter(|it| (1..=MOST_SERVERS).contains(it))
                .ok_or_else(refuse)
        });
        let servers = servers.transpose()?;
        match server {
            None if made.table.is_empty() => {
                let problem = "a system has servers, or a network, or both";
                let remedy = "name a server, such as `dgx1-v100`, or a network, such as `fat-tree`";
                return Err(errors::machine(Diagnosis::of(problem).remedy(remedy)));
            }
            None | Some(ServerArgument::Node(_)) if servers.is_some() => {
                let problem = "`servers` says how many of a described server there are, and a network of nodes has one at each port";
                let remedy = "name a server, such as `dgx1-v100`, or give the network's size";
                return Err(errors::machine(Diagnosis::of(problem).remedy(remedy)));
            }
            None => {}
            Some(ServerArgument::Node(node)) => Python::attach(|py| made.set_node(node.bind(py)))?,
            Some(ServerArgument::Kind(kind)) => {
                let name = made.name_of(kind)?;
                made.name_server(name, servers);
            }
            Some(ServerArgument::Listed(_)) if servers.is_some() => {
                let problem = "a list says itself how many servers there are, as in [(\"dgx-a100\", 2), \"dgx1-v100\"]";
                let remedy = "leave out `servers`";
                return Err(errors::machine(Diagnosis::of(problem).remedy(remedy)));
            }
            Some(ServerArgument::Listed(rows)) => made.list_servers(rows)?,
        }
        Ok(made)
    }

    /// A machine that lists a network of its own.
    pub fn of_machine(machine: &Server) -> Self {
        let mut made = Self::default();
        let name = made.add_text(machine);
        made.name_server(name, None);
        made
    }

    /// Makes the system that they describe.
    pub fn build(self, py: Python<'_>) -> PyResult<(Cluster, Origin)> {
        let text = self.table.to_string();
        let (given, files) = (text.clone(), self.files.clone());
        let cluster = interruptible(py, move || built(&given, &files))?.map_err(|mut error| {
            if error.file == SETTINGS {
                name_key(&mut error, &text);
            }
            errors::input(error)
        })?;
        Ok((cluster, Origin::Settings(text, self.files)))
    }

    fn name_network(&mut self, name: &str) -> PyResult<()> {
        let speed: Option<Bandwidth> = name.parse().ok();
        let kinds = fabrics().names();
        let kind = match speed {
            _ if kinds.contains(&name) => name,
            Some(_) => {
                self.table.insert("bandwidth".to_owned(), name.into());
                "single-switch"
            }
            None => {
                let known = kinds.join(", ");
                return Err(errors::machine(
                    Diagnosis::of(format!("there is no network `{name}`")).remedy(format!(
                        "use one of {known}, or one switch by the speed of its links, such as `100 \
                     Gb/s`; `read_system` reads files"
                    )),
                ));
            }
        };
        self.table.insert("kind".to_owned(), kind.into());
        Ok(())
    }

    fn set_network(&mut self, settings: &Bound<'_, PyDict>) -> PyResult<()> {
        self.table = values::table(Some(settings))?;
        for key in self.table.keys() {
            let key = key.as_str();
            let (problem, remedy) = if OF_SERVERS.contains(&key) {
                ("is no setting of a network", "give `server` and `servers`".to_owned())
            } else if OF_REPLAYS.contains(&key) {
                ("says how jobs are played", "give it to `System.play`".to_owned())
            } else if let Some((argument, _)) = OF_NODES.iter().find(|(_, it)| *it == key) {
                let server = format!("give `server={{\"{argument}\": ...}}`");
                ("is of the network's nodes", server)
            } else {
                continue;
            };
            let problem = Diagnosis::of(format!("`{key}` {problem}"));
            return Err(errors::machine(problem.remedy(remedy)));
        }
        Ok(())
    }

    /// GPUs that are all joined to each other at every port.
    fn set_node(&mut self, node: &Bound<'_, PyDict>) -> PyResult<()> {
        for (key, value) in values::table(Some(node))? {
            let Some((_, known)) = OF_NODES.iter().find(|(it, _)| *it == key) else {
                let known = OF_NODES.map(|(it, _)| it).join(", ");
                return Err(errors::machine(
                    Diagnosis::of(format!("`{key}` says nothing of a server"))
                        .remedy(format!("its keys are {known}")),
                ));
            };
            self.table.insert((*known).to_owned(), value);
        }
        Ok(())
    }

    fn name_server(&mut self, name: String, servers: Option<u32>) {
        self.table.insert("machine".to_owned(), name.into());
        if let Some(servers) = servers {
            self.table.insert("servers".to_owned(), i64::from(servers).into());
        }
    }

    fn list_servers(&mut self, rows: Vec<Row>) -> PyResult<()> {
        let mut entries = Vec::with_capacity(rows.len());
        for Row(kind, count) in rows {
            let kind = self.name_of(kind)?;
            let count = u32::try_from(count).map_err(|_| {
                errors::machine(
                    Diagnosis::of(format!("{count} servers are not possible"))
                        .remedy("give 1 or more"),
                )
            })?;
            let entry = [("kind", kind.into()), ("count", i64::from(count).into())];
            let entry = entry.map(|(key, value)| (key.to_owned(), value));
            entries.push(Value::Table(Table::from_iter(entry)));
        }
        if entries.is_empty() {
            return Err(errors::machine(
                Diagnosis::of("a system has one server at least").remedy("list some"),
            ));
        }
        let servers = Table::from_iter([("server".to_owned(), Value::Array(entries))]);
        self.table.insert("system".to_owned(), Value::Table(servers));
        Ok(())
    }

    fn name_of(&mut self, kind: Kind) -> PyResult<String> {
        match kind {
            Kind::System(system) => self.add(system.get()),
            Kind::Preset(name) => known(name),
        }
    }

    /// A preset's name; else hands over the server's text, by a name that no other has.
    fn add(&mut self, system: &System) -> PyResult<String> {
        let server = system.lone()?;
        if presets::preset(server.name()).is_ok_and(|preset| preset == **server) {
            return Ok(server.name().to_owned());
        }
        Ok(self.add_text(server))
    }

    fn add_text(&mut self, server: &Server) -> String {
        let text = toml_format::write(server).into_bytes();
        let names = (1..).map(|number| match number {
            1 => format!("{}.toml", server.name()),
            more => format!("{}-{more}.toml", server.name()),
        });
        let is_free = |name: &String| self.files.get(name).is_none_or(|other| *other == text);
        let name = names.into_iter().find(is_free).unwrap_or_default();
        self.files.insert(name.clone(), text);
        name
    }
}

/// Checks a preset's name.
fn known(name: String) -> PyResult<String> {
    presets::preset(&name).map_err(errors::system)?;
    Ok(name)
}

/// Says which setting an error is of: nobody sees the text that its line and column are of.
pub fn name_key(error: &mut InputError, text: &str) {
    let line = text.lines().nth(error.position.line.saturating_sub(1)).unwrap_or_default();
    // An error of the key itself, in the first column, names it already.
    if let Some((key, _)) = line.split_once(" = ")
        && error.position.column > 1
    {
        let of_node = OF_NODES.iter().find(|(_, known)| *known == key);
        let key = of_node.map_or(key, |(argument, _)| argument);
        if !error.problem.contains(key) {
            error.problem = format!("{key}: {}", error.problem);
        }
    }
}
