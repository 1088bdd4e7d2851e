//! A fabric as data: which channel joins what.

use std::collections::BTreeSet;

use super::links;
use super::{
    ChannelId, End, FabricChannel, FabricError, FabricShape, FabricSpecification, NodeId, NodeLink,
    SwitchId, SwitchLink,
};
use crate::system::kinds::LinkKind;
use crate::units::{Bandwidth, Picoseconds};

/// Switches, nodes and the channels that join them.
///
/// Channel 2n leads from node n to its switch, and channel 2n+1 leads back. Behind those of all
/// nodes come two for each link between switches, from `a` to `b` and back, in the order of links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fabric {
    name: String,
    shape: FabricShape,
    parameters: MadeOf,
    nodes: u32,
    switches: u32,
    channels: Vec<FabricChannel>,
    /// Holds a file's names of its switches; empty where a generator's numbers name them.
    switch_names: Vec<String>,
    links: LinkKind,
    /// Whether links of it are lost.
    lacks_links: bool,
    /// Where each switch's channels start in `outgoing`; one more than there are switches.
    outgoing_start: Vec<u32>,
    outgoing: Vec<ChannelId>,
}

/// The most channels: their indices have to fit 31 bits beside a flag.
const MOST_CHANNELS: usize = 1 << 30;

/// Holds what a kind made a fabric of. Its channels say all of it, so that two fabrics with the same channels are equal.
#[derive(Debug, Clone, Default)]
struct MadeOf(Option<Box<FabricSpecification>>);

impl PartialEq for MadeOf {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for MadeOf {}

impl Fabric {
    /// Makes a fabric of nodes and of links between switches.
    ///
    /// # Errors
    /// No node, links to switches that are not there or from a switch to itself, links without
    /// bandwidth, or more than 2^30 channels.
    pub fn new(
        name: &str,
        shape: FabricShape,
        switches: u32,
        nodes: &[NodeLink],
        links: &[SwitchLink],
    ) -> Result<Self, FabricError> {
        let count = 2 * (nodes.len() + links.len());
        if nodes.is_empty() {
            return Err(FabricError::NoNode);
        }
        if count > MOST_CHANNELS {
            return Err(FabricError::TooLarge { channels: count, most: MOST_CHANNELS });
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
                return Err(FabricError::Loop { switch: link.a });
            }
            let ends = (End::Switch(link.a), End::Switch(link.b));
            channels.extend(both_ways(ends.0, ends.1, link.bandwidth, link.latency));
        }
        let (outgoing_start, outgoing) = index_outgoing(switches, &channels);
        let name = name.to_owned();
        let nodes = nodes.len() as u32;
        let switch_names = Vec::new();
        Ok(Self {
            name,
            shape,
            parameters: MadeOf::default(),
            nodes,
            switches,
            channels,
            switch_names,
            links: LinkKind::Infiniband,
            lacks_links: false,
            outgoing_start,
            outgoing,
        })
    }

    /// The same fabric with names for its switches, one for each.
    #[must_use]
    pub(super) fn with_switch_names(mut self, names: Vec<String>) -> Self {
        debug_assert_eq!(names.len(), self.switches as usize);
        self.switch_names = names;
        self
    }

    /// The same fabric of links of a kind, where they are not InfiniBand.
    #[must_use]
    pub fn with_links(mut self, links: LinkKind) -> Self {
        self.links = links;
        self
    }

    /// Keeps the parameters that its kind made it of.
    #[must_use]
    pub(super) fn with_parameters(mut self, parameters: FabricSpecification) -> Self {
        self.parameters = MadeOf(Some(Box::new(parameters)));
        self
    }

    /// Gives the parameters that its kind made it of, the preset's included, before any scale. A graph
    /// that a file lists has none.
    #[must_use]
    pub fn parameters(&self) -> Option<&FabricSpecification> {
        self.parameters.0.as_deref()
    }

    /// Returns the kind of its links.
    #[must_use]
    pub fn link_kind(&self) -> LinkKind {
        self.links
    }

    /// Returns its name for people.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the generator's parameters.
    #[must_use]
    pub fn shape(&self) -> &FabricShape {
        &self.shape
    }

    /// Names a switch for people: by its file's name for it, or by its place in the shape, such as
    /// `leaf3` or `group2-switch5`.
    ///
    /// # Panics
    /// For a switch that is not there, if a file names them.
    #[must_use]
    pub fn switch_name(&self, switch: SwitchId) -> String {
        match &self.shape {
            _ if !self.switch_names.is_empty() => self.switch_names[switch as usize].clone(),
            FabricShape::FatTree(tree) => tree.switch_name(switch),
            FabricShape::Dragonfly(fly) => {
                let index = switch % fly.switches_per_group;
                format!("group{}-switch{index}", fly.group_of(switch))
            }
            FabricShape::Torus(_) | FabricShape::SingleSwitch | FabricShape::Graph => {
                format!("switch{switch}")
            }
        }
    }

    /// The same fabric, whose first ports have links of speeds of their own, both ways.
    #[must_use]
    pub fn with_port_speeds(mut self, speeds: &[Bandwidth]) -> Self {
        let speeds = &speeds[..speeds.len().min(self.nodes as usize)];
        for (link, speed) in self.channels.chunks_exact_mut(2).zip(speeds) {
            for channel in link {
                channel.bandwidth = *speed;
            }
        }
        self
    }

    /// Returns the same fabric with every bandwidth multiplied by a fraction, rounded down but not
    /// to nothing.
    ///
    /// # Errors
    /// A factor of zero or one that makes a bandwidth leave 64 bits.
    pub fn with_bandwidth_times(
        mut self,
        numerator: u32,
        denominator: u32,
    ) -> Result<Self, FabricError> {
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

    /// The same fabric without some channels, as a graph. All others keep their numbers, and switches their names.
    #[must_use]
    pub(in crate::system) fn without(&self, gone: &BTreeSet<ChannelId>) -> Self {
        let (mut outgoing_start, mut outgoing) = (vec![0], Vec::with_capacity(self.outgoing.len()));
        for switch in 0..self.switches {
            outgoing.extend(self.outgoing(switch).iter().filter(|it| !gone.contains(it)));
            outgoing_start.push(outgoing.len() as u32);
        }
        Self {
            shape: FabricShape::Graph,
            parameters: MadeOf::default(),
            switch_names: (0..self.switches).map(|it| self.switch_name(it)).collect(),
            outgoing_start,
            outgoing,
            lacks_links: true,
            ..self.clone()
        }
    }

    /// Refuses nodes between which nothing can travel, but where links were lost: then nobody is on those that are cut off.
    ///
    /// # Errors
    /// [`FabricError::NotConnected`], with node 0 and the first that it cannot reach.
    pub fn check_connected(&self) -> Result<(), FabricError> {
        if self.lacks_links {
            return Ok(());
        }
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
            Some(b) => Err(FabricError::NotConnected {
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

    /// Returns every channel, by its index.
    #[must_use]
    pub fn channels(&self) -> &[FabricChannel] {
        &self.channels
    }

    /// Returns the other direction of a channel's link.
    #[must_use]
    pub const fn reverse(channel: ChannelId) -> ChannelId {
        channel ^ 1
    }

    /// Returns the channel from a node to its switch.
    #[must_use]
    pub const fn injection(node: NodeId) -> ChannelId {
        2 * node
    }

    /// Returns the channel from a node's switch to the node.
    #[must_use]
    pub const fn ejection(node: NodeId) -> ChannelId {
        2 * node + 1
    }

    /// Returns the switch of a node.
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
    /// same port is the [`Fabric::reverse`].
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

fn check(
    what: &dyn Fn() -> String,
    switch: SwitchId,
    switches: u32,
    bandwidth: Bandwidth,
) -> Result<(), FabricError> {
    if switch >= switches {
        return Err(FabricError::UnknownSwitch { what: what(), switch, switches });
    }
    if bandwidth.0 == 0 {
        return Err(FabricError::NoBandwidth { what: what() });
    }
    Ok(())
}

fn both_ways(a: End, b: End, bandwidth: Bandwidth, latency: Picoseconds) -> [FabricChannel; 2] {
    [
        FabricChannel { from: a, to: b, bandwidth, latency },
        FabricChannel { from: b, to: a, bandwidth, latency },
    ]
}

fn index_outgoing(switches: u32, channels: &[FabricChannel]) -> (Vec<u32>, Vec<ChannelId>) {
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
