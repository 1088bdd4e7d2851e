//! Gives Python `linkwright.Fabric`.

use std::sync::Arc;

use linkwright::diagnostic::{Diagnosis, InputError};
use linkwright::scenario::{FabricSource, Files, NetworkSettings};
use linkwright::system::fabric::{
    self, FabricSpecification, FabricValue, fabric_dot, fabrics, read_fabric,
};
use linkwright::system::views::{bisection, fabric_facts, structure, svg};
use linkwright::units::Bandwidth;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::argument::given;
use crate::errors;
use crate::number;
use crate::table::Table;
use crate::text_source::Source;
use crate::values;
use crate::worker;

/// Stands as the file's name in errors of keyword arguments.
const PARAMETERS: &str = "<parameters>";

/// Describes the network between servers: switches, ports for nodes, and the links that join them.
#[pyclass(frozen, eq, module = "linkwright.network")]
pub struct Fabric {
    fabric: Arc<fabric::Fabric>,
    origin: Origin,
}

impl PartialEq for Fabric {
    fn eq(&self, other: &Self) -> bool {
        self.fabric == other.fabric
    }
}

/// Holds the parameters or the text that a fabric is made from; a pickle holds just this.
#[derive(Clone, Serialize, Deserialize)]
enum Origin {
    /// A kind with all that was given or chosen.
    Kind(Box<FabricSpecification>),
    /// Holds the text of a file.
    Text(Source),
}

impl Serialize for Fabric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.origin.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Fabric {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Origin::deserialize(deserializer)? {
            Origin::Kind(kind) => Self::of_kind(*kind).map_err(D::Error::custom),
            Origin::Text(source) => Self::of_text(source).map_err(D::Error::custom),
        }
    }
}

impl Fabric {
    fn of_kind(specification: FabricSpecification) -> Result<Self, fabric::FabricError> {
        let fabric = Arc::new(specification.build()?);
        Ok(Self { fabric, origin: Origin::Kind(Box::new(specification)) })
    }

    fn of_text(source: Source) -> Result<Self, InputError> {
        let fabric = Arc::new(read_fabric(&source.file, &source.text)?);
        // The text of a kind with parameters says more than the graph that it makes.
        let origin = match FabricSpecification::read(&source.file, &source.text) {
            Ok(specification) => Origin::Kind(Box::new(specification)),
            Err(_) => Origin::Text(source),
        };
        Ok(Self { fabric, origin })
    }

    /// The network of a system that was made with these settings.
    pub fn of_system(
        system: &linkwright::system::System,
        settings: Option<&NetworkSettings>,
        files: &Files,
    ) -> Option<Self> {
        let fabric = system.fabric()?;
        let as_used = |kind: &FabricSpecification, settings: &NetworkSettings| {
            let kind = scaled(&kind.at_speed(system.fastest_interface()), settings);
            Self::of_kind(kind).ok().filter(|made| *made.fabric == *fabric)
        };
        let made = settings.and_then(|settings| match &settings.fabric {
            FabricSource::Specification(kind) => [kind.sized_for(system.nics()).ok(), None]
                .into_iter()
                .find_map(|sized| as_used(sized.as_ref().unwrap_or(kind), settings)),
            FabricSource::File(name) => {
                let text = String::from_utf8(files.get(&name.name)?.clone()).ok()?;
                let made = Self::of_text(Source::new(name.name.clone(), text)).ok()?;
                match &made.origin {
                    Origin::Kind(kind) => as_used(kind, settings),
                    Origin::Text(_) => (*made.fabric == *fabric).then_some(made),
                }
            }
        });
        Some(made.unwrap_or_else(|| Self::of_graph(fabric)))
    }

    /// Gives the core's network.
    pub fn core(&self) -> &fabric::Fabric {
        &self.fabric
    }

    /// Describes a network by its links alone.
    pub fn of_graph(fabric: &fabric::Fabric) -> Self {
        let source = Source::new(fabric.name().to_owned(), fabric_dot(fabric));
        Self { fabric: Arc::new(fabric.clone()), origin: Origin::Text(source) }
    }

    /// Reads the number of a node or switch, below a count.
    fn numbered(&self, what: &str, number: i128, count: u32) -> PyResult<u32> {
        let last = count.saturating_sub(1);
        u32::try_from(number).ok().filter(|number| *number < count).ok_or_else(|| {
            let problem = format!("`{}` has no {what} {number}", self.name());
            errors::machine(Diagnosis::of(problem).remedy(format!("give 0 to {last}")))
        })
    }

    /// Names this network in the settings of a system, and hands over its text.
    pub fn name_in(&self, table: &mut toml::Table, files: &mut Files) {
        match &self.origin {
            Origin::Kind(kind) => {
                // A kind alone takes the speed of the interfaces.
                let is_said = |key: &str| key != "bandwidth" || kind.gives("bandwidth");
                let keys = self.table().into_iter().filter(|(key, _)| is_said(key));
                table.extend(keys.map(|(key, value)| (key.replace('-', "_"), value)));
            }
            Origin::Text(source) => {
                files.insert(source.file.clone(), source.text.as_bytes().to_vec());
                table.insert("file".to_owned(), source.file.clone().into());
            }
        }
    }

    fn distances(&self, py: Python<'_>) -> PyResult<Option<structure::Distances>> {
        let fabric = Arc::clone(&self.fabric);
        worker::interruptible(py, move || structure::distances(&fabric))
    }

    /// Returns the parameters by their keys in scenarios; none for a graph.
    fn table(&self) -> toml::Table {
        match &self.origin {
            Origin::Kind(kind) => toml::Table::try_from(kind.whole()).unwrap_or_default(),
            Origin::Text(_) => toml::Table::new(),
        }
    }
}

/// Returns a kind with its bandwidths multiplied as settings say.
fn scaled(kind: &FabricSpecification, settings: &NetworkSettings) -> FabricSpecification {
    let (numerator, denominator) = settings.bandwidth_scale;
    if numerator == denominator {
        return kind.clone();
    }
    let whole = kind.whole();
    let times = |bandwidth: Bandwidth| {
        let product = u128::from(bandwidth.0) * u128::from(numerator);
        let quotient = (product / u128::from(denominator)).max(1);
        Bandwidth(u64::try_from(quotient).unwrap_or(u64::MAX))
    };
    whole.given().iter().fold(whole.clone(), |scaled, &(key, ref value)| match value {
        FabricValue::Bandwidth(bandwidth) => scaled.with(key, times(*bandwidth)),
        _ => scaled,
    })
}

#[pymethods]
impl Fabric {
    /// Makes a network of a kind.
    ///
    /// Args:
    ///     kind: One of `fabric_names`: `fat-tree`, `dragonfly`, `torus`, `quartz`,
    ///         `single-switch`.
    ///     ports: How many nodes it has to join at least: of the sizes that are not given, the
    ///         smallest that has the ports. Where absent, they are the preset's.
    ///     parameters: Of its kind, such as `pods`, `groups`, `dimensions`, `bandwidth` and
    ///         `links` (`infiniband` or `ethernet`). Quantities are texts with a unit, such as
    ///         `"11.9 GB/s"`.
    ///
    /// Raises:
    ///     InputError: If there is no such kind or parameter; the message says what would work.
    ///     MachineError: If a parameter is out of range, or there are too few ports.
    #[new]
    #[pyo3(signature = (kind: "NetworkName" = "fat-tree", *, ports: "int | None" = None, **parameters))]
    fn new(
        #[pyo3(from_py_with = given)] kind: &str,
        #[pyo3(from_py_with = given)] ports: Option<i128>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let mut table = toml::Table::new();
        table.insert("kind".to_owned(), kind.into());
        for (key, value) in values::table(parameters)? {
            table.insert(key.replace('_', "-"), value);
        }
        let specification =
            FabricSpecification::read(PARAMETERS, &table.to_string()).map_err(errors::input)?;
        let refuse = |error: fabric::FabricError| errors::machine(error);
        let specification = match ports {
            None => specification,
            Some(ports) => {
                let ports = number::within("ports", ports, u32::MAX, errors::machine)?;
                specification.sized_for(ports).map_err(refuse)?
            }
        };
        Self::of_kind(specification).map_err(refuse)
    }

    /// A network that a text describes.
    ///
    /// Args:
    ///     text: TOML of a kind and its parameters, TOML of a graph, or DOT.
    ///     file: Its name in errors.
    ///
    /// Raises:
    ///     InputError: If the text is no network, with its place.
    #[staticmethod]
    #[pyo3(signature = (text: "str", file: "str" = "<text>"))]
    fn from_text(
        py: Python<'_>,
        #[pyo3(from_py_with = given)] text: &str,
        #[pyo3(from_py_with = given)] file: &str,
    ) -> PyResult<Self> {
        let source = Source::new(file.to_owned(), text.to_owned());
        py.detach(|| Self::of_text(source)).map_err(errors::input)
    }

    /// Returns its name, such as `fat-tree-2048`.
    #[getter]
    fn name(&self) -> &str {
        self.fabric.name()
    }

    /// Returns its kind, one of `fabric_names`; `graph` for one whose file lists its links.
    #[getter]
    fn kind(&self) -> &'static str {
        match &self.origin {
            Origin::Kind(kind) => kind.kind().name(),
            Origin::Text(_) => "graph",
        }
    }

    /// How many nodes, or network interfaces, it can join.
    #[getter]
    fn ports(&self) -> u32 {
        self.fabric.nodes()
    }

    /// How many switches it has.
    #[getter]
    fn switches(&self) -> u32 {
        self.fabric.switches()
    }

    /// Names the kind of its links: `infiniband` or `ethernet`.
    #[getter]
    fn link_kind(&self) -> &'static str {
        self.fabric.link_kind().name()
    }

    /// Returns the bandwidth in one direction between two halves of the nodes, in GB/s, if known.
    ///
    /// The halves are equal or one apart, and divided so that the least passes between them. Not
    /// known is that of a graph of more than 20 switches.
    #[getter]
    fn bisection_bandwidth(&self) -> Option<f64> {
        let bandwidth = bisection::bisection_bandwidth(&self.fabric);
        bandwidth.map(Bandwidth::as_gigabytes_per_second)
    }

    /// Bounds the bisection: no division of the nodes passes less than the first, in GB/s, and one
    /// passes the second. Both are equal where it is exact. None of fewer than two nodes.
    ///
    /// Exact are single switches, fat-trees and tori, networks of up to 20 switches, and others
    /// whose bounds meet.
    #[getter]
    fn bisection_bounds(&self, py: Python<'_>) -> PyResult<Option<(f64, f64)>> {
        let fabric = Arc::clone(&self.fabric);
        let found = worker::interruptible(py, move || bisection::bisection(&fabric))?;
        Ok(found.map(|found| {
            (found.least.as_gigabytes_per_second(), found.most.as_gigabytes_per_second())
        }))
    }

    /// The most links between the switches of two nodes, on a shortest path; None where `mean_distance`
    /// is.
    #[getter]
    fn diameter(&self, py: Python<'_>) -> PyResult<Option<u32>> {
        Ok(self.distances(py)?.map(|found| found.diameter))
    }

    /// The links between the switches of two different nodes, on a shortest path, in the mean over all
    /// pairs. None of fewer than two nodes, and of networks too large to look through.
    #[getter]
    fn mean_distance(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        Ok(self.distances(py)?.map(|found| found.mean))
    }

    /// How many cables it has: those of its nodes, and those between switches.
    #[getter]
    fn cables(&self) -> (u64, u64) {
        let cables = structure::cables(&self.fabric);
        (cables.to_nodes, cables.between_switches)
    }

    /// Gives the switch that a node's link leads to.
    ///
    /// Raises:
    ///     MachineError: If there is no such node.
    #[pyo3(signature = (node: "int"))]
    fn switch_of(&self, #[pyo3(from_py_with = given)] node: i128) -> PyResult<u32> {
        Ok(self.fabric.switch_of(self.numbered("node", node, self.fabric.nodes())?))
    }

    /// Gives the channel by which a node's switch reaches it.
    ///
    /// Raises:
    ///     MachineError: If there is no such node.
    #[pyo3(signature = (node: "int"))]
    fn channel_to(&self, #[pyo3(from_py_with = given)] node: i128) -> PyResult<u32> {
        let node = self.numbered("node", node, self.fabric.nodes())?;
        Ok(fabric::Fabric::ejection(node))
    }

    /// Lists the channels from a switch to others, each with the switch that it leads to.
    ///
    /// Parallel links have a channel each. Channels are in the order of their numbers.
    ///
    /// Raises:
    ///     MachineError: If there is no such switch.
    #[pyo3(signature = (switch: "int"))]
    fn channels_from(
        &self,
        #[pyo3(from_py_with = given)] switch: i128,
    ) -> PyResult<Vec<(u32, u32)>> {
        let switch = self.numbered("switch", switch, self.fabric.switches())?;
        let onward = |channel: &u32| match self.fabric.channels()[*channel as usize].to {
            fabric::End::Switch(to) => Some((*channel, to)),
            fabric::End::Node(_) => None,
        };
        let mut found: Vec<_> = self.fabric.outgoing(switch).iter().filter_map(onward).collect();
        found.sort_unstable();
        Ok(found)
    }

    /// Lists the shortest paths from a node to another.
    ///
    /// Args:
    ///     source: The node where they begin, from 0.
    ///     destination: The node where they end.
    ///     most: How many are listed at most.
    ///
    /// Returns:
    ///     How many there are, parallel links told apart, and the first of them by their switches:
    ///     one row each. Columns: path (the names of its switches), links (between them), ways (over
    ///     parallel links).
    ///
    /// Raises:
    ///     MachineError: If there is no such node.
    #[pyo3(signature = (source: "int", destination: "int", *, most: "int" = 16))]
    fn paths(
        &self,
        #[pyo3(from_py_with = given)] source: i128,
        #[pyo3(from_py_with = given)] destination: i128,
        #[pyo3(from_py_with = given)] most: i128,
    ) -> PyResult<(u64, Table)> {
        let node = |node: i128| self.numbered("node", node, self.fabric.nodes());
        let (from, to) = (node(source)?, node(destination)?);
        let most = number::within("most", most, 1_000_000_usize, errors::machine)?;
        let found = structure::shortest_paths(&self.fabric, from, to, most);
        let found = found.ok_or_else(|| {
            errors::machine(Diagnosis::of(format!("no links join node {from} and node {to}")))
        })?;
        Ok((found.count, Table::new(structure::paths_table(&self.fabric, &found))?))
    }

    /// Returns its parameters by name, with those of its kind's preset; empty for a graph.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let parameters = PyDict::new(py);
        for (key, value) in self.table() {
            let key = key.replace('-', "_");
            match value {
                _ if key == "kind" => {}
                toml::Value::Integer(number) => parameters.set_item(key, number)?,
                toml::Value::Boolean(truth) => parameters.set_item(key, truth)?,
                toml::Value::String(text) => parameters.set_item(key, text)?,
                toml::Value::Array(items) => {
                    let numbers: Vec<i64> =
                        items.iter().filter_map(toml::Value::as_integer).collect();
                    parameters.set_item(key, numbers)?;
                }
                _ => {}
            }
        }
        Ok(parameters)
    }

    /// Returns one row per level of switches, from those of nodes upwards.
    ///
    /// Columns are `level`, `switches`, and the least and the most ports in use at one of them.
    fn levels(&self) -> PyResult<Table> {
        Table::new(fabric_facts::levels(&self.fabric))
    }

    /// Returns one row per class of links.
    ///
    /// Columns: the levels it joins, how many links it has, the bandwidth of one in one
    /// direction, and the latency.
    fn links(&self) -> PyResult<Table> {
        Table::new(fabric_facts::links(&self.fabric))
    }

    /// Returns its text as a file of its kind with all parameters.
    ///
    /// Raises:
    ///     MachineError: If it is a graph, which has no parameters; `to_dot` writes any network.
    fn to_toml(&self) -> PyResult<String> {
        match &self.origin {
            Origin::Kind(_) => Ok(self.table().to_string()),
            Origin::Text(_) => Err(errors::machine(
                Diagnosis::of(format!(
                    "`{}` is a graph, which TOML is not written of",
                    self.name()
                ))
                .remedy("write it as DOT"),
            )),
        }
    }

    /// The network as a Graphviz drawing, which `from_text` reads back.
    fn to_dot(&self) -> String {
        fabric_dot(&self.fabric)
    }

    /// Draws a small network; lists the levels of a large one.
    fn _repr_html_(&self) -> PyResult<String> {
        match svg::fabric_svg(&self.fabric) {
            Some(drawing) => Ok(drawing),
            None => self.levels().map(|table| table._repr_html_()),
        }
    }

    fn __repr__(&self) -> String {
        let (name, ports, switches) = (self.name(), self.ports(), self.switches());
        format!("<Fabric {name:?}: {ports} ports, {switches} switches>")
    }
}

/// Lists the name of every kind of network between servers.
#[pyfunction]
#[pyo3(signature = () -> "list[NetworkName]")]
pub fn fabric_names() -> Vec<&'static str> {
    fabrics().names()
}
