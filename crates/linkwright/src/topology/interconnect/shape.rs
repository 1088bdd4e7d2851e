//! The parameters from which a regular interconnect was made, and where its parts lie.

use super::{NodeId, SwitchId};

/// What kind of network an interconnect is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// A fat-tree of two or three levels.
    FatTree(FatTree),
    /// A one-dimensional dragonfly.
    Dragonfly(Dragonfly),
    /// A torus of any number of dimensions.
    Torus(Torus),
    /// Anything else: the arbitrary graph model of the TraceR-CODES study (Section III.A).
    Graph,
}

/// A fat-tree of leaf, aggregate and core switches.
///
/// Switches are numbered leaves first (pod by pod), then aggregates (pod by pod), then cores;
/// nodes leaf by leaf. A tree of two levels is one pod without cores. Every leaf has one link
/// to each aggregate of its pod for each `leaf_links`; aggregate i of every pod has
/// `core_links` links to each core of its group, which are cores i·g to (i+1)·g for
/// g = `cores` / `aggregates_per_pod`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FatTree {
    /// How many pods.
    pub pods: u32,
    /// Leaf switches of a pod.
    pub leaves_per_pod: u32,
    /// Aggregate switches of a pod.
    pub aggregates_per_pod: u32,
    /// Nodes of a leaf switch.
    pub nodes_per_leaf: u32,
    /// Core switches; zero for a tree of two levels.
    pub cores: u32,
    /// Parallel links between a leaf and an aggregate.
    pub leaf_links: u32,
    /// Parallel links between an aggregate and a core.
    pub core_links: u32,
}

/// A one-dimensional dragonfly: groups of fully connected switches, joined by global links.
///
/// Switches are numbered group by group, nodes switch by switch (Kim et al., "Technology-Driven,
/// Highly-Scalable Dragonfly Topology", ISCA 2008).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dragonfly {
    /// Nodes of a switch (p).
    pub nodes_per_switch: u32,
    /// Switches of a group (a).
    pub switches_per_group: u32,
    /// Global links of a switch (h).
    pub global_links_per_switch: u32,
    /// Groups (g), at most a·h + 1.
    pub groups: u32,
}

/// A torus: each switch has two neighbours in each dimension (one, where the dimension is 2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Torus {
    /// The size of each dimension, the first varying fastest.
    pub dimensions: Vec<u32>,
    /// Nodes of a switch.
    pub nodes_per_switch: u32,
}

impl FatTree {
    /// How many leaf switches there are.
    #[must_use]
    pub const fn leaves(&self) -> u32 {
        self.pods * self.leaves_per_pod
    }

    /// How many aggregate switches there are.
    #[must_use]
    pub const fn aggregates(&self) -> u32 {
        self.pods * self.aggregates_per_pod
    }

    /// How many nodes there are.
    #[must_use]
    pub const fn nodes(&self) -> u32 {
        self.leaves() * self.nodes_per_leaf
    }

    /// The leaf switch of a node.
    #[must_use]
    pub const fn leaf_of(&self, node: NodeId) -> SwitchId {
        node / self.nodes_per_leaf
    }

    /// The pod of a leaf switch.
    #[must_use]
    pub const fn pod_of_leaf(&self, leaf: SwitchId) -> u32 {
        leaf / self.leaves_per_pod
    }
}

impl Dragonfly {
    /// How many switches there are.
    #[must_use]
    pub const fn switches(&self) -> u32 {
        self.groups * self.switches_per_group
    }

    /// How many nodes there are.
    #[must_use]
    pub const fn nodes(&self) -> u32 {
        self.switches() * self.nodes_per_switch
    }

    /// The switch of a node.
    #[must_use]
    pub const fn switch_of(&self, node: NodeId) -> SwitchId {
        node / self.nodes_per_switch
    }

    /// The group of a switch.
    #[must_use]
    pub const fn group_of(&self, switch: SwitchId) -> u32 {
        switch / self.switches_per_group
    }
}
