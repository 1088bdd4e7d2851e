//! Describes networks between nodes: switches, nodes, and the channels that join them.
//!
//! A [`Fabric`] is plain data. A generator makes it (a fat-tree, a dragonfly, a torus, ...) or a
//! file describes it. Its [`FabricShape`] keeps the generator's parameters, from which a routing
//! algorithm computes where a switch lies.
//!
//! Every node has one network interface, which one link joins to one switch. Links are full duplex,
//! so that each is two channels, one for each direction. The model leaves out several interfaces of
//! one node, and links that fail.

mod dot_reader;
mod dot_statements;
mod dot_tokens;
mod dot_writer;
mod dragonfly;
mod error;
mod fat_tree;
mod graph;
mod graph_texts;
mod key;
mod kind;
mod kinds;
mod links;
mod listed;
mod parameters;
mod paths;
mod pod_tree;
mod reader;
mod routing_file;
mod routing_tables;
mod shape;
mod single_switch;
mod sizes;
mod specification;
pub(in crate::system) mod strangers;
mod torus;
mod wiring;

use crate::diagnostic::{InputError, Registry, from_toml};
use crate::units::{Bandwidth, Picoseconds};

pub use dot_reader::read_dot;
pub use dot_writer::fabric_dot;
pub use dragonfly::{Dragonfly, DragonflyRates, dragonfly};
pub use error::FabricError;
pub use fat_tree::{FatTree, FatTreeLevel, FatTreeRates, fat_tree};
pub use graph::read_graph;
pub use key::{FabricKey, FabricValue, FabricValueType, LINK_KEYS};
pub use kind::{FabricKind, fabric_keys, fabrics};
pub use links::{LinkRate, numberable, positive, refuse};
pub(in crate::system) use listed::of_listed;
pub use parameters::FabricParameters;
pub use paths::{FabricPaths, FabricShares};
pub use pod_tree::{PodTree, pod_tree};
pub use routing_file::read_routing;
pub use routing_tables::RoutingTables;
pub use shape::FabricShape;
pub use single_switch::single_switch;
pub use specification::{FabricSpecification, read_specification};
pub use torus::{Direction, Torus, TorusRates, torus};
pub use wiring::Fabric;

/// The index of a node, which is where messages start and end.
pub type NodeId = u32;
/// Gives the index of a switch.
pub type SwitchId = u32;
/// The index of a channel; [`Fabric::reverse`] is the same link's other direction.
pub type ChannelId = u32;

/// Names the place that a channel leaves or enters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum End {
    /// Is a node's network interface.
    Node(NodeId),
    /// Is a switch.
    Switch(SwitchId),
}

/// Describes one direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FabricChannel {
    /// Where it starts.
    pub from: End,
    /// Where it ends.
    pub to: End,
    /// Gives the bytes per second.
    pub bandwidth: Bandwidth,
    /// Gives the time from the last byte's departure to its arrival.
    pub latency: Picoseconds,
}

/// Describes a link between two switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwitchLink {
    /// Gives one switch.
    pub a: SwitchId,
    /// Gives the other switch.
    pub b: SwitchId,
    /// Gives the bytes per second, in each direction.
    pub bandwidth: Bandwidth,
    /// Gives the one-way latency.
    pub latency: Picoseconds,
}

/// Describes the link of a node to its switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeLink {
    /// Gives the switch.
    pub switch: SwitchId,
    /// Gives the bytes per second, in each direction.
    pub bandwidth: Bandwidth,
    /// Gives the one-way latency.
    pub latency: Picoseconds,
}

/// A text of a fabric: a kind, whose speed may yet be chosen, or all that it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FabricText {
    /// Holds a kind with its parameters.
    Kind(Box<FabricSpecification>),
    /// Holds a graph of listed links.
    Graph(Fabric),
}

impl FabricText {
    /// Reads a text of any format, or of one of these kinds; `file` names it in errors.
    ///
    /// Text that starts with `graph`, `digraph` or `strict` is DOT ([`read_dot`]). TOML with a
    /// `kind` is a specification ([`FabricSpecification::read`]), and other TOML lists a graph
    /// ([`read_graph`]). Libraries of graphs write edge lists, GraphML and node-link JSON.
    ///
    /// # Errors
    /// As the reader of the format. Names the files of other tools, and says how to write them here.
    pub fn read(
        file: &str,
        text: &str,
        kinds: &Registry<dyn FabricKind>,
    ) -> Result<Self, InputError> {
        let is_blank = |line: &&str| line.is_empty() || line.starts_with(['#', '/']);
        let mut lines = text.trim_start_matches('\u{feff}').lines().map(str::trim_start);
        let first = lines.find(|line| !is_blank(line)).unwrap_or_default();
        let word = first.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        if ["graph", "digraph", "strict"].iter().any(|known| word.eq_ignore_ascii_case(known)) {
            return read_dot(file, text).map(Self::Graph);
        }
        if first.starts_with(['{', '<'])
            && let Some(read) = graph_texts::read(file, text)
        {
            return read.map(Self::Graph);
        }
        let table: Result<toml::Table, _> = from_toml(file, text);
        match table {
            Ok(table) if table.contains_key("kind") => {
                let specification = FabricSpecification::read_of(file, text, kinds)?;
                Ok(Self::Kind(Box::new(specification)))
            }
            Ok(_) => read_graph(file, text).map(Self::Graph),
            Err(error) => match graph_texts::read(file, text) {
                Some(read) => read.map(Self::Graph),
                None => Err(strangers::named(file, text).unwrap_or(error)),
            },
        }
    }

    /// The name of the routing that its kind says fits it.
    #[must_use]
    pub fn routing(&self) -> Option<&'static str> {
        match self {
            Self::Kind(specification) => specification.kind().routing(),
            Self::Graph(_) => None,
        }
    }

    /// As [`FabricSpecification::unsaid_speed`]; a graph says all its speeds.
    #[must_use]
    pub fn unsaid_speed(&self) -> Option<Bandwidth> {
        match self {
            Self::Kind(specification) => specification.unsaid_speed(),
            Self::Graph(_) => None,
        }
    }

    /// The fabric, whose links run at a speed where `text`, which it was read from, names none.
    ///
    /// # Errors
    /// As [`FabricSpecification::build`], with the line and column of the key that is to blame.
    pub fn build(
        self,
        file: &str,
        text: &str,
        speed: Option<Bandwidth>,
    ) -> Result<Fabric, InputError> {
        match self {
            Self::Kind(kind) => specification::build_read(file, text, &kind.at_speed(speed)),
            Self::Graph(fabric) => Ok(fabric),
        }
    }
}

/// Reads a fabric from a text of any of its formats; `file` names it in errors.
///
/// # Errors
/// Fails as [`FabricText::read`] and [`FabricText::build`] do.
pub fn read_fabric(file: &str, text: &str) -> Result<Fabric, InputError> {
    FabricText::read(file, text, &fabrics())?.build(file, text, None)
}
