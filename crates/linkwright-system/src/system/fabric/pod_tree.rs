//! Builds trees whose last pod is smaller, as in LLNL's Quartz.
//!
//! Leaves stand in pods, and each pod is joined all-to-all to as many aggregates as it has leaves.
//! Every leaf has the same number of links up. Cores take equally many links of each pod's share.
//! The source is the TraceR-CODES study, Section IV.
//!
//! The paper leaves two things open. The first is the pods. 84 leaves in 11 pods of 8 make ten pods
//! of 8 and one of 4. Each leaf of the latter has 4 links instead of 2 to each of its 4 aggregates
//! here. So all 84 keep the paper's 2:1 tapering. The second is the cores. Each aggregate's 16
//! links go to 16 different cores, starting where those of the aggregate before it end. So every
//! core takes as many links as any other: 42 of its 48 ports.

use super::fat_tree::FatTreeRates;
use super::links::{LARGEST_RADIX, numberable, positive, product, refuse};
use super::{Fabric, FabricError, FabricShape, SwitchId};

/// Describes a tree of pods with as many aggregates as leaves. The last pod may be smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PodTree {
    /// Counts the leaf switches, and as many aggregates.
    pub leaves: u32,
    /// Leaf switches of a pod; the last takes what remains.
    pub leaves_per_pod: u32,
    /// Counts the nodes of a leaf switch.
    pub nodes_per_leaf: u32,
    /// Links of a leaf up, and of an aggregate up.
    pub uplinks: u32,
    /// Counts the core switches.
    pub cores: u32,
    /// Ports of a switch, which no switch exceeds.
    pub radix: u32,
}

impl PodTree {
    /// Leaves of the pod that a leaf is in.
    fn pod_size(&self, leaf: u32) -> u32 {
        let start = leaf - leaf % self.leaves_per_pod;
        self.leaves_per_pod.min(self.leaves - start)
    }

    fn check(&self) -> Result<(), FabricError> {
        positive("leaves", self.leaves)?;
        positive("leaves-per-pod", self.leaves_per_pod)?;
        positive("nodes-per-leaf", self.nodes_per_leaf)?;
        positive("uplinks", self.uplinks)?;
        positive("cores", self.cores)?;
        let last = self.pod_size(self.leaves - 1);
        for size in [self.pod_size(0), last] {
            if !self.uplinks.is_multiple_of(size) {
                let remedy = format!("give a multiple of {size}, the switches of a pod");
                return refuse("uplinks", self.uplinks, remedy);
            }
        }
        if self.radix > LARGEST_RADIX {
            return refuse("radix", self.radix, format!("give at most {LARGEST_RADIX}"));
        }
        let wide = |a: u32, b: u32| u64::from(a) + u64::from(b);
        let links = product(&[self.leaves, self.uplinks]).unwrap_or(u64::MAX);
        if u64::from(self.cores) > links {
            return refuse("cores", self.cores, format!("there are {links} links to cores"));
        }
        let of_core = links.div_ceil(u64::from(self.cores));
        let ports = wide(self.nodes_per_leaf, self.uplinks).max(wide(self.uplinks, self.uplinks));
        if ports.max(of_core) > u64::from(self.radix) {
            let remedy = format!("a switch would need {} ports", ports.max(of_core));
            return refuse("radix", self.radix, remedy);
        }
        let nodes = product(&[self.leaves, self.nodes_per_leaf]);
        numberable(nodes.and_then(|nodes| nodes.checked_add(links.checked_mul(2)?)))
    }
}

/// Makes the fabric of such a tree, with the shape of an arbitrary graph and switches named
/// `leaf0`, `aggregate0` and `core0`, in this order.
///
/// # Errors
/// Refuses counts of zero, and links of a leaf that do not divide among its pod's aggregates.
/// Refuses more ports than the radix, links without bandwidth, and more than 2^24 links.
pub fn pod_tree(name: &str, tree: &PodTree, rates: &FatTreeRates) -> Result<Fabric, FabricError> {
    tree.check()?;
    let nodes: Vec<_> = (0..tree.leaves * tree.nodes_per_leaf)
        .map(|node| rates.node.to_node(node / tree.nodes_per_leaf))
        .collect();
    let mut links = Vec::with_capacity(2 * (tree.leaves * tree.uplinks) as usize);
    for leaf in 0..tree.leaves {
        let (start, size) = (leaf - leaf % tree.leaves_per_pod, tree.pod_size(leaf));
        for index in 0..size {
            let link = rates.leaf.between(leaf, tree.leaves + start + index);
            links.extend(std::iter::repeat_n(link, (tree.uplinks / size) as usize));
        }
    }
    for link in 0..tree.leaves * tree.uplinks {
        let aggregate: SwitchId = tree.leaves + link / tree.uplinks;
        links.push(rates.core.between(aggregate, 2 * tree.leaves + link % tree.cores));
    }
    let switches = 2 * tree.leaves + tree.cores;
    let named = |kind: &'static str, count: u32| (0..count).map(move |id| format!("{kind}{id}"));
    let names = named("leaf", tree.leaves)
        .chain(named("aggregate", tree.leaves))
        .chain(named("core", tree.cores))
        .collect();
    let built = Fabric::new(name, FabricShape::Graph, switches, &nodes, &links)?;
    Ok(built.with_switch_names(names))
}
