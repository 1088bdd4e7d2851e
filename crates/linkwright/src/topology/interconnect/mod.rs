//! Networks between nodes: switches, nodes, and the channels that join them.
//!
//! An [`Interconnect`] is plain data. A generator makes it (a fat-tree, a dragonfly, a torus)
//! or a file describes it; its [`Shape`] keeps the generator's parameters, from which a
//! routing algorithm computes where a switch lies.
//!
//! What it represents: every node has one network interface, which one link joins to one
//! switch; links are full duplex, so that each is two channels, one for each direction. What
//! it leaves out: several interfaces of one node, and links that fail.

mod dot_reader;
mod dot_statements;
mod dot_tokens;
mod dot_writer;
mod dragonfly;
mod fat_tree;
mod graph;
mod links;
mod pod_tree;
mod routing_file;
mod routing_tables;
mod shape;
mod specification;
mod torus;

use thiserror::Error;

use crate::diagnostic::{InputError, shown};
use crate::units::{Bandwidth, Picoseconds};

pub use dot_reader::read_dot;
pub use dot_writer::interconnect_dot;
pub use dragonfly::{Dragonfly, DragonflyRates, dragonfly};
pub use fat_tree::{FatTree, FatTreeLevel, FatTreeRates, fat_tree};
pub use graph::read_graph;
pub use links::LinkRate;
pub use pod_tree::{PodTree, pod_tree};
pub use routing_file::read_routing;
pub use routing_tables::RoutingTables;
pub use shape::Shape;
pub use specification::{
    INTERCONNECTS, InterconnectKind, InterconnectSpecification, read_specification,
};
pub use torus::{Direction, Torus, TorusRates, torus};

/// The index of a node, which is where messages start and end.
pub type NodeId = u32;
/// The index of a switch.
pub type SwitchId = u32;
/// The index of a channel; [`Interconnect::reverse`] is the same link's other direction.
pub type ChannelId = u32;

/// What a channel leaves or enters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum End {
    /// A node's network interface.
    Node(NodeId),
    /// A switch.
    Switch(SwitchId),
}

/// One direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Channel {
    /// Where it starts.
    pub from: End,
    /// Where it ends.
    pub to: End,
    /// Bytes per second.
    pub bandwidth: Bandwidth,
    /// Time from the last byte's departure to its arrival.
    pub latency: Picoseconds,
}

/// A link between two switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwitchLink {
    /// One switch.
    pub a: SwitchId,
    /// The other switch.
    pub b: SwitchId,
    /// Bytes per second, in each direction.
    pub bandwidth: Bandwidth,
    /// One-way latency.
    pub latency: Picoseconds,
}

/// The link of a node to its switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeLink {
    /// The switch.
    pub switch: SwitchId,
    /// Bytes per second, in each direction.
    pub bandwidth: Bandwidth,
    /// One-way latency.
    pub latency: Picoseconds,
}

/// Nodes, switches and links that make no interconnect.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InterconnectError {
    /// No node at all.
    #[error("an interconnect needs at least one node")]
    NoNode,
    /// A parameter that a generator cannot use.
    #[error("`{parameter}` cannot be {value}; {remedy}")]
    Parameter {
        /// Which parameter, as files spell it, such as `nodes-per-switch`.
        parameter: &'static str,
        /// Its value.
        value: String,
        /// What would work.
        remedy: String,
    },
    /// A link names a switch that is not there.
    #[error("{what} names switch {switch}, but there are {switches} switches, from 0")]
    UnknownSwitch {
        /// Which link.
        what: String,
        /// The switch it names.
        switch: SwitchId,
        /// How many there are.
        switches: u32,
    },
    /// A link that leaves and enters one switch.
    #[error("a link joins switch {switch} to itself; remove it")]
    Loop {
        /// The switch.
        switch: SwitchId,
    },
    /// A link that carries nothing.
    #[error("{what} has no bandwidth; give it a positive one")]
    NoBandwidth {
        /// Which link.
        what: String,
    },
    /// Nodes between which nothing can travel.
    #[error(
        "no path of links joins node {a} at switch {} and node {b} at switch {}; add the link \
         that is missing", shown(.at_a), shown(.at_b)
    )]
    NotConnected {
        /// One node.
        a: NodeId,
        /// Its switch's name.
        at_a: String,
        /// The other node.
        b: NodeId,
        /// Its switch's name.
        at_b: String,
    },
    /// More pairs of a switch and a destination than routing tables hold.
    #[error("routing tables of {entries} entries are too large; at most {most} are possible")]
    TableTooLarge {
        /// How many there would be.
        entries: u64,
        /// How many are possible.
        most: u64,
    },
    /// More channels than indices.
    #[error("an interconnect of {channels} channels is too large; at most {most} are possible")]
    TooLarge {
        /// How many there would be.
        channels: usize,
        /// How many are possible.
        most: usize,
    },
}

/// Switches, nodes and the channels that join them.
///
/// Channels 2n and 2n+1 lead from node n to its switch and back; behind those of all nodes
/// follow two for each link between switches, from `a` to `b` and back, in the order of links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interconnect {
    name: String,
    shape: Shape,
    nodes: u32,
    switches: u32,
    channels: Vec<Channel>,
    /// What a file calls its switches; empty where a generator's numbers name them.
    switch_names: Vec<String>,
    /// Where each switch's channels start in `outgoing`; one more than there are switches.
    outgoing_start: Vec<u32>,
    outgoing: Vec<ChannelId>,
}

/// The most channels: their indices have to fit 31 bits beside a flag.
const MOST_CHANNELS: usize = 1 << 30;

impl Interconnect {
    /// An interconnect of nodes and of links between switches.
    ///
    /// # Errors
    /// No node, links to switches that are not there or from a switch to itself, links without
    /// bandwidth, or more than 2^30 channels.
    pub fn new(
        name: &str,
        shape: Shape,
        switches: u32,
        nodes: &[NodeLink],
        links: &[SwitchLink],
    ) -> Result<Self, InterconnectError> {
        let count = 2 * (nodes.len() + links.len());
        if nodes.is_empty() {
            return Err(InterconnectError::NoNode);
        }
        if count > MOST_CHANNELS {
            return Err(InterconnectError::TooLarge { channels: count, most: MOST_CHANNELS });
        }
        let mut channels = Vec::with_capacity(count);
        for (node, link) in nodes.iter().enumerate() {
            let what = || format!("the link of node {node}");
            check(&what, link.switch, switches, link.bandwidth)?;
            let ends = (End::Node(node as u32), End::Switch(link.switch));
            channels.extend(both_ways(ends.0, ends.1, link.bandwidth, link.latency));
        }
        for (index, link) in links.iter().enumerate() {
            let what = || format!("link {index} between switches");
            check(&what, link.a, switches, link.bandwidth)?;
            check(&what, link.b, switches, link.bandwidth)?;
            if link.a == link.b {
                return Err(InterconnectError::Loop { switch: link.a });
            }
            let ends = (End::Switch(link.a), End::Switch(link.b));
            channels.extend(both_ways(ends.0, ends.1, link.bandwidth, link.latency));
        }
        let (outgoing_start, outgoing) = index_outgoing(switches, &channels);
        let name = name.to_owned();
        let nodes = nodes.len() as u32;
        let switch_names = Vec::new();
        Ok(Self { name, shape, nodes, switches, channels, switch_names, outgoing_start, outgoing })
    }

    /// The same interconnect with names for its switches, one for each.
    #[must_use]
    fn with_switch_names(mut self, names: Vec<String>) -> Self {
        debug_assert_eq!(names.len(), self.switches as usize);
        self.switch_names = names;
        self
    }

    /// What people call it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The generator's parameters.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// What people call a switch: its file's name for it, or one from its place in the shape,
    /// such as `leaf3` or `group2-switch5`.
    ///
    /// # Panics
    /// For a switch that is not there, if a file names them.
    #[must_use]
    pub fn switch_name(&self, switch: SwitchId) -> String {
        match &self.shape {
            _ if !self.switch_names.is_empty() => self.switch_names[switch as usize].clone(),
            Shape::FatTree(tree) => tree.switch_name(switch),
            Shape::Dragonfly(fly) => {
                let index = switch % fly.switches_per_group;
                format!("group{}-switch{index}", fly.group_of(switch))
            }
            Shape::Torus(_) | Shape::Graph => format!("switch{switch}"),
        }
    }

    /// The same interconnect with every bandwidth multiplied by a fraction, rounded down but
    /// not to nothing.
    ///
    /// # Errors
    /// A factor of zero or one that makes a bandwidth leave 64 bits.
    pub fn with_bandwidth_times(
        mut self,
        numerator: u32,
        denominator: u32,
    ) -> Result<Self, InterconnectError> {
        let value = format!("{numerator}/{denominator}");
        if numerator == 0 || denominator == 0 {
            return links::refuse("bandwidth factor", value, "give one above zero, such as 1/2");
        }
        for channel in &mut self.channels {
            let product = u128::from(channel.bandwidth.0) * u128::from(numerator);
            let quotient = (product / u128::from(denominator)).max(1);
            let Ok(bandwidth) = u64::try_from(quotient) else {
                return links::refuse("bandwidth factor", value, "give a smaller one");
            };
            channel.bandwidth = Bandwidth(bandwidth);
        }
        Ok(self)
    }

    /// Refuses nodes between which nothing can travel.
    ///
    /// # Errors
    /// [`InterconnectError::NotConnected`], with node 0 and the first that it cannot reach.
    pub fn check_connected(&self) -> Result<(), InterconnectError> {
        let first = self.switch_of(0);
        let mut reached = vec![false; self.switches as usize];
        reached[first as usize] = true;
        let mut pending = vec![first];
        while let Some(switch) = pending.pop() {
            for channel in self.outgoing(switch) {
                let End::Switch(next) = self.channels[*channel as usize].to else { continue };
                if !std::mem::replace(&mut reached[next as usize], true) {
                    pending.push(next);
                }
            }
        }
        match (0..self.nodes).find(|node| !reached[self.switch_of(*node) as usize]) {
            None => Ok(()),
            Some(b) => Err(InterconnectError::NotConnected {
                a: 0,
                at_a: self.switch_name(first),
                b,
                at_b: self.switch_name(self.switch_of(b)),
            }),
        }
    }

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// How many switches there are.
    #[must_use]
    pub fn switches(&self) -> u32 {
        self.switches
    }

    /// Every channel, by its index.
    #[must_use]
    pub fn channels(&self) -> &[Channel] {
        &self.channels
    }

    /// The other direction of a channel's link.
    #[must_use]
    pub const fn reverse(channel: ChannelId) -> ChannelId {
        channel ^ 1
    }

    /// The channel from a node to its switch.
    #[must_use]
    pub const fn injection(node: NodeId) -> ChannelId {
        2 * node
    }

    /// The channel from a node's switch to the node.
    #[must_use]
    pub const fn ejection(node: NodeId) -> ChannelId {
        2 * node + 1
    }

    /// The switch of a node.
    ///
    /// # Panics
    /// For a node that is not there.
    #[must_use]
    pub fn switch_of(&self, node: NodeId) -> SwitchId {
        match self.channels[Self::injection(node) as usize].to {
            End::Switch(switch) => switch,
            End::Node(_) => unreachable!("a node's channel leads to a switch"),
        }
    }

    /// The channels that leave a switch, by index: its ports. The channel that enters by the
    /// same port is the [`Interconnect::reverse`].
    ///
    /// # Panics
    /// For a switch that is not there.
    #[must_use]
    pub fn outgoing(&self, switch: SwitchId) -> &[ChannelId] {
        let from = self.outgoing_start[switch as usize] as usize;
        let to = self.outgoing_start[switch as usize + 1] as usize;
        &self.outgoing[from..to]
    }
}

/// Reads an interconnect from a text of any of its formats; `file` names it in errors.
///
/// Text that starts with `graph`, `digraph` or `strict` is DOT ([`read_dot`]), TOML with a
/// `kind` is a specification ([`read_specification`]), and other TOML lists a graph
/// ([`read_graph`]).
///
/// # Errors
/// As the reader of the format.
pub fn read_interconnect(file: &str, text: &str) -> Result<Interconnect, InputError> {
    let is_blank = |line: &&str| line.is_empty() || line.starts_with(['#', '/']);
    let mut lines = text.trim_start_matches('\u{feff}').lines().map(str::trim_start);
    let first = lines.find(|line| !is_blank(line)).unwrap_or_default();
    let word = first.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    if ["graph", "digraph", "strict"].iter().any(|known| word.eq_ignore_ascii_case(known)) {
        return read_dot(file, text);
    }
    let table: Result<toml::Table, _> = toml::from_str(text);
    if table.is_ok_and(|table| table.contains_key("kind")) {
        return read_specification(file, text);
    }
    read_graph(file, text)
}

fn check(
    what: &dyn Fn() -> String,
    switch: SwitchId,
    switches: u32,
    bandwidth: Bandwidth,
) -> Result<(), InterconnectError> {
    if switch >= switches {
        return Err(InterconnectError::UnknownSwitch { what: what(), switch, switches });
    }
    if bandwidth.0 == 0 {
        return Err(InterconnectError::NoBandwidth { what: what() });
    }
    Ok(())
}

fn both_ways(a: End, b: End, bandwidth: Bandwidth, latency: Picoseconds) -> [Channel; 2] {
    [Channel { from: a, to: b, bandwidth, latency }, Channel { from: b, to: a, bandwidth, latency }]
}

fn index_outgoing(switches: u32, channels: &[Channel]) -> (Vec<u32>, Vec<ChannelId>) {
    let mut start = vec![0_u32; switches as usize + 1];
    for channel in channels {
        if let End::Switch(switch) = channel.from {
            start[switch as usize + 1] += 1;
        }
    }
    for switch in 0..switches as usize {
        start[switch + 1] += start[switch];
    }
    let mut next = start.clone();
    let mut outgoing = vec![0; start[switches as usize] as usize];
    for (index, channel) in channels.iter().enumerate() {
        if let End::Switch(switch) = channel.from {
            outgoing[next[switch as usize] as usize] = index as u32;
            next[switch as usize] += 1;
        }
    }
    (start, outgoing)
}
