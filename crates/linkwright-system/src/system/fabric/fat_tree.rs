//! Makes fat-trees of two and three levels.
//!
//! Pods have leaf and aggregate switches that are joined all-to-all, and core switches join the
//! pods. Where there are fewer pods than a core switch has ports, cores are consolidated. Each
//! takes several parallel links from one aggregate of every pod, so that no port is bought twice
//! and the bisection is the same. The shape is from Leiserson ("Fat-Trees: Universal Networks for
//! Hardware-Efficient Supercomputing", IEEE ToC 1985) and the TraceR-CODES study (Section V.B). The
//! model leaves out several rails and planes.

use super::links::{LARGEST_RADIX, LinkRate, numberable, positive, product, refuse};
use super::{ChannelId, Fabric, FabricError, FabricShape, NodeId, SwitchId};

/// Describes a fat-tree of leaf, aggregate and core switches.
///
/// Switches are numbered leaves first (pod by pod), then aggregates (pod by pod), then cores; nodes
/// leaf by leaf. A tree of two levels is one pod without cores. Every leaf has `leaf_links` links
/// to each aggregate of its pod. Aggregate i of every pod has `core_links` links to each core of
/// its group. These are cores i·g to (i+1)·g for g = `cores` / `aggregates_per_pod`.
///
/// Behind the channels of nodes follow those of the links of leaf 0, leaf 1 and so on. Those of a
/// leaf are sorted by aggregate, then by parallel link. Then follow those of the links of aggregate
/// 0, aggregate 1 and so on. Those of an aggregate are sorted by core of its group, then by
/// parallel link. The first channel of a link leads up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FatTree {
    /// Counts the pods.
    pub pods: u32,
    /// Counts the leaf switches of a pod.
    pub leaves_per_pod: u32,
    /// Counts the aggregate switches of a pod.
    pub aggregates_per_pod: u32,
    /// Counts the nodes of a leaf switch.
    pub nodes_per_leaf: u32,
    /// Counts the core switches; zero for a tree of two levels.
    pub cores: u32,
    /// Counts the parallel links between a leaf and an aggregate.
    pub leaf_links: u32,
    /// Counts the parallel links between an aggregate and a core; zero for a tree of two levels.
    pub core_links: u32,
}

/// Tells the level of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FatTreeLevel {
    /// Joins nodes.
    Leaf,
    /// A switch that joins the leaves of a pod.
    Aggregate,
    /// A switch that joins pods.
    Core,
}

/// Holds the rates of a fat-tree's links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FatTreeRates {
    /// Gives the rate between a node and its leaf.
    pub node: LinkRate,
    /// Gives the rate between a leaf and an aggregate.
    pub leaf: LinkRate,
    /// Gives the rate between an aggregate and a core.
    pub core: LinkRate,
}

impl FatTree {
    /// Makes a tree of three levels from switches of one radix.
    ///
    /// A leaf has r/(t+1) links up and t times as many nodes, for radix r and tapering t. A pod has
    /// as many aggregates as a leaf has links up, and r/2 leaves. An aggregate has r/2 links up,
    /// whatever the number of pods. The study has radix 32, tapering 1, and 8 pods of 256 nodes
    /// with 64 cores. It has 4 pods with 32 cores, and 2 with 16; a single pod needs none.
    ///
    /// The number of parallel links to a core is the largest divisor of r/2 with which the core's
    /// ports suffice. So cores may keep unused ports where the number of pods is not a power of
    /// two.
    ///
    /// # Errors
    /// No pods or more than the radix, an odd radix, one below 2 or above
    /// 2^15, a tapering that leaves no
    /// link up.
    pub fn three_levels(radix: u32, pods: u32, tapering: u32) -> Result<Self, FabricError> {
        let up = uplinks(radix, tapering)?;
        positive("pods", pods)?;
        if pods > radix {
            let remedy = format!("a core switch of radix {radix} joins at most {radix} pods");
            return refuse("pods", pods, remedy);
        }
        if !radix.is_multiple_of(2) {
            return refuse("radix", radix, "three levels need an even one");
        }
        let (cores, core_links) = match pods {
            1 => (0, 0),
            _ => {
                let links = largest_divisor(radix / 2, radix / pods);
                (up * (radix / 2 / links), links)
            }
        };
        let leaves_per_pod = radix / 2;
        let nodes_per_leaf = up * tapering;
        let (aggregates_per_pod, leaf_links) = (up, 1);
        Ok(Self {
            pods,
            leaves_per_pod,
            aggregates_per_pod,
            nodes_per_leaf,
            cores,
            leaf_links,
            core_links,
        })
    }

    /// A tree of two levels from switches of one radix: leaves as in
    /// [`FatTree::three_levels`], joined by switches that use all their ports downwards.
    ///
    /// As many leaves as wanted, at most the radix; with fewer, links to one aggregate are
    /// doubled where that saves aggregates.
    ///
    /// # Errors
    /// No leaves or more than the radix, a radix below 2 or above 2^15, a tapering that leaves no link up.
    pub fn two_levels(radix: u32, leaves: u32, tapering: u32) -> Result<Self, FabricError> {
        let up = uplinks(radix, tapering)?;
        positive("leaves", leaves)?;
        if leaves > radix {
            let remedy = format!("an aggregate switch of radix {radix} joins at most {radix}");
            return refuse("leaves", leaves, remedy);
        }
        let leaf_links = largest_divisor(up, radix / leaves);
        Ok(Self {
            pods: 1,
            leaves_per_pod: leaves,
            aggregates_per_pod: up / leaf_links,
            nodes_per_leaf: up * tapering,
            cores: 0,
            leaf_links,
            core_links: 0,
        })
    }

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

    /// How many switches there are.
    #[must_use]
    pub const fn switches(&self) -> u32 {
        self.leaves() + self.aggregates() + self.cores
    }

    /// How many nodes there are.
    #[must_use]
    pub const fn nodes(&self) -> u32 {
        self.leaves() * self.nodes_per_leaf
    }

    /// Cores that one aggregate reaches (g).
    #[must_use]
    pub const fn cores_per_group(&self) -> u32 {
        self.cores / self.aggregates_per_pod
    }

    /// Links of a leaf to aggregates.
    #[must_use]
    pub const fn uplinks_per_leaf(&self) -> u32 {
        self.aggregates_per_pod * self.leaf_links
    }

    /// Links of an aggregate to cores.
    #[must_use]
    pub const fn uplinks_per_aggregate(&self) -> u32 {
        self.cores_per_group() * self.core_links
    }

    /// Returns the leaf switch of a node.
    #[must_use]
    pub const fn leaf_of(&self, node: NodeId) -> SwitchId {
        node / self.nodes_per_leaf
    }

    /// Returns the pod of a leaf switch.
    #[must_use]
    pub const fn pod_of_leaf(&self, leaf: SwitchId) -> u32 {
        leaf / self.leaves_per_pod
    }

    /// Tells the level of a switch.
    #[must_use]
    pub const fn level(&self, switch: SwitchId) -> FatTreeLevel {
        if switch < self.leaves() {
            FatTreeLevel::Leaf
        } else if switch < self.leaves() + self.aggregates() {
            FatTreeLevel::Aggregate
        } else {
            FatTreeLevel::Core
        }
    }

    /// Names a switch by its level and its number there, such as `leaf3`.
    pub(super) fn switch_name(&self, switch: SwitchId) -> String {
        match self.level(switch) {
            FatTreeLevel::Leaf => format!("leaf{switch}"),
            FatTreeLevel::Aggregate => format!("aggregate{}", switch - self.leaves()),
            FatTreeLevel::Core => format!("core{}", switch - self.leaves() - self.aggregates()),
        }
    }

    /// Returns an aggregate switch, by its pod and its index in the pod.
    #[must_use]
    pub const fn aggregate(&self, pod: u32, index: u32) -> SwitchId {
        self.leaves() + pod * self.aggregates_per_pod + index
    }

    /// Returns the pod of an aggregate switch.
    #[must_use]
    pub const fn pod_of_aggregate(&self, aggregate: SwitchId) -> u32 {
        (aggregate - self.leaves()) / self.aggregates_per_pod
    }

    /// Returns the index of an aggregate switch in its pod.
    #[must_use]
    pub const fn aggregate_index(&self, aggregate: SwitchId) -> u32 {
        (aggregate - self.leaves()) % self.aggregates_per_pod
    }

    /// A core switch, by the index of the aggregates that it joins and its index in their group.
    #[must_use]
    pub const fn core(&self, aggregate_index: u32, index: u32) -> SwitchId {
        self.leaves() + self.aggregates() + aggregate_index * self.cores_per_group() + index
    }

    /// The index, in every pod, of the aggregate that a core switch is joined to.
    #[must_use]
    pub const fn aggregate_index_of_core(&self, core: SwitchId) -> u32 {
        (core - self.leaves() - self.aggregates()) / self.cores_per_group()
    }

    /// Returns the index of a core switch in its group.
    #[must_use]
    pub const fn core_index(&self, core: SwitchId) -> u32 {
        (core - self.leaves() - self.aggregates()) % self.cores_per_group()
    }

    /// Returns the channel from a leaf up to the aggregate of an index, by parallel link.
    #[must_use]
    pub const fn leaf_up(&self, leaf: SwitchId, aggregate_index: u32, link: u32) -> ChannelId {
        let before = leaf * self.aggregates_per_pod + aggregate_index;
        2 * (self.nodes() + before * self.leaf_links + link)
    }

    /// Returns the channel from an aggregate down to a leaf of its pod, by parallel link.
    #[must_use]
    pub const fn aggregate_down(
        &self,
        aggregate: SwitchId,
        leaf: SwitchId,
        link: u32,
    ) -> ChannelId {
        Fabric::reverse(self.leaf_up(leaf, self.aggregate_index(aggregate), link))
    }

    /// Returns the channel from an aggregate up to a core of its group, by the core's index in the
    /// group and the parallel link.
    #[must_use]
    pub const fn aggregate_up(&self, aggregate: SwitchId, core_index: u32, link: u32) -> ChannelId {
        let behind = self.nodes() + self.leaves() * self.uplinks_per_leaf();
        let before = (aggregate - self.leaves()) * self.cores_per_group() + core_index;
        2 * (behind + before * self.core_links + link)
    }

    /// Returns the channel from a core down to its aggregate in a pod, by parallel link.
    #[must_use]
    pub const fn core_down(&self, core: SwitchId, pod: u32, link: u32) -> ChannelId {
        let aggregate = self.aggregate(pod, self.aggregate_index_of_core(core));
        Fabric::reverse(self.aggregate_up(aggregate, self.core_index(core), link))
    }

    /// Refuses counts of zero, cores that do not divide among aggregates, and trees too large
    /// to number.
    fn check(&self) -> Result<(), FabricError> {
        positive("pods", self.pods)?;
        positive("leaves-per-pod", self.leaves_per_pod)?;
        positive("aggregates-per-pod", self.aggregates_per_pod)?;
        positive("nodes-per-leaf", self.nodes_per_leaf)?;
        positive("leaf-links", self.leaf_links)?;
        if !self.cores.is_multiple_of(self.aggregates_per_pod) {
            let remedy = format!("give a multiple of {}", self.aggregates_per_pod);
            return refuse("cores", self.cores, remedy);
        }
        if (self.cores == 0) != (self.core_links == 0) {
            let remedy = "give at least 1 with cores, and 0 without";
            return refuse("core-links", self.core_links, remedy);
        }
        if self.pods > 1 && self.cores == 0 {
            return refuse("cores", 0, "more than one pod needs some");
        }
        let nodes = product(&[self.pods, self.leaves_per_pod, self.nodes_per_leaf]);
        let leaf = [self.pods, self.leaves_per_pod, self.aggregates_per_pod, self.leaf_links];
        let core = product(&[self.pods, self.cores, self.core_links]);
        let sum = |a: u64, b: Option<u64>| b.and_then(|b| a.checked_add(b));
        numberable(nodes.and_then(|a| sum(a, product(&leaf))).and_then(|a| sum(a, core)))
    }
}

/// Links of a leaf upwards.
fn uplinks(radix: u32, tapering: u32) -> Result<u32, FabricError> {
    positive("tapering", tapering)?;
    if radix < 2 {
        return refuse("radix", radix, "a switch needs at least 2 ports");
    }
    if radix > LARGEST_RADIX {
        return refuse("radix", radix, format!("give at most {LARGEST_RADIX}"));
    }
    let up = radix / tapering.saturating_add(1);
    if up == 0 {
        let remedy = format!("a leaf of radix {radix} needs a link up; give less than {radix}");
        return refuse("tapering", tapering, remedy);
    }
    Ok(up)
}

/// The largest divisor of a number that is at most another.
fn largest_divisor(number: u32, most: u32) -> u32 {
    (1..=most.min(number)).rev().find(|divisor| number.is_multiple_of(*divisor)).unwrap_or(1)
}

/// Makes the fabric of a fat-tree.
///
/// # Errors
/// Counts of zero, cores that are no multiple of a pod's aggregates, several pods without
/// cores, links without bandwidth, or more than 2^24 links.
pub fn fat_tree(shape: &FatTree, rates: &FatTreeRates) -> Result<Fabric, FabricError> {
    shape.check()?;
    let nodes: Vec<_> =
        (0..shape.nodes()).map(|node| rates.node.to_node(shape.leaf_of(node))).collect();
    let uplinks = shape.leaves() * shape.uplinks_per_leaf()
        + shape.aggregates() * shape.uplinks_per_aggregate();
    let mut links = Vec::with_capacity(uplinks as usize);
    for leaf in 0..shape.leaves() {
        for index in 0..shape.aggregates_per_pod {
            let aggregate = shape.aggregate(shape.pod_of_leaf(leaf), index);
            let link = rates.leaf.between(leaf, aggregate);
            links.extend(std::iter::repeat_n(link, shape.leaf_links as usize));
        }
    }
    for aggregate in shape.leaves()..shape.leaves() + shape.aggregates() {
        for index in 0..shape.cores_per_group() {
            let core = shape.core(shape.aggregate_index(aggregate), index);
            let link = rates.core.between(aggregate, core);
            links.extend(std::iter::repeat_n(link, shape.core_links as usize));
        }
    }
    let name = format!("fat-tree-{}", shape.nodes());
    Fabric::new(&name, FabricShape::FatTree(*shape), shape.switches(), &nodes, &links)
}
