//! Who sends to whom: the patterns by which networks are compared.
//!
//! The patterns are from W. J. Dally and B. Towles, "Principles and Practices of Interconnection
//! Networks", 2004, section 3.2. Those for dragonflies are from J. Kim, W. J. Dally, S. Scott and
//! D. Abts, "Technology-Driven, Highly-Scalable Dragonfly Topology", ISCA 2008, section 5.

use std::collections::BTreeSet;
use std::num::NonZeroU64;

use crate::diagnostic::{Diagnosis, Named};
use crate::engine::Random;
use crate::system::fabric::{Direction, Fabric, FabricPaths, FabricShape, NodeId, Torus};

/// Draws a permutation from numbers of its own.
const PERMUTATION: u64 = 1;
/// Of a graph, the load of up to this number of shifts is compared.
const MOST_SHIFTS: u32 = 64;
/// Of a graph, loads are compared up to this number of nodes; beyond it all go half of the way round.
const MOST_COMPARED: u32 = 512;

/// Says by its name who sends to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrafficPattern {
    /// Each message goes to any other node, all alike.
    Uniform,
    /// Each node sends to one other, drawn once, and each receives from one.
    Permutation,
    /// In a torus each node sends almost half of the way round in every dimension. In a dragonfly it
    /// sends almost half of the groups on, elsewhere half of the nodes on.
    Tornado,
    /// In a torus each node sends to the next one in the first dimension, elsewhere to the next node.
    Neighbour,
    /// The fabric carries this worst by shortest paths. It is the next group of a dragonfly, the next
    /// pod or leaf of a fat-tree, or the tornado of a torus. Of a graph it is the shift with the most
    /// loaded link.
    Adversarial,
    /// A part of all messages goes to node 0, the rest is uniform.
    HotSpot,
}

impl Named for TrafficPattern {
    const WHAT: &'static str = "pattern";
    const NAMED: &'static [(&'static str, Self)] = &[
        ("uniform", Self::Uniform),
        ("permutation", Self::Permutation),
        ("tornado", Self::Tornado),
        ("neighbour", Self::Neighbour),
        ("adversarial", Self::Adversarial),
        ("hot-spot", Self::HotSpot),
    ];
}

/// Says where the ranks of a job stand in a fabric.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// Joins the nodes.
    pub fabric: &'a Fabric,
    /// Holds the node of each rank.
    pub nodes: &'a [NodeId],
}

/// Chooses the destination of each message.
#[derive(Debug, Clone, PartialEq)]
pub struct Destinations {
    nodes: u32,
    /// The one destination of each node; none where they are drawn.
    fixed: Option<Vec<NodeId>>,
    /// The part of messages that goes to node 0 besides what it gets of the rest.
    hot: f64,
}

impl Destinations {
    /// Lays a pattern over a fabric; `hot` is the part of [`TrafficPattern::HotSpot`].
    ///
    /// # Errors
    /// Fewer than two nodes, or a tornado of rings in which it goes nowhere.
    pub fn new(
        pattern: TrafficPattern,
        fabric: &Fabric,
        hot: f64,
        seed: u64,
    ) -> Result<Self, Diagnosis> {
        let nodes = fabric.nodes();
        if nodes < 2 {
            return Err(Diagnosis::of(format!("a network of {nodes} ports has no traffic"))
                .remedy("give one of at least two"));
        }
        Self::laid(pattern, nodes, (hot, seed), || match pattern {
            TrafficPattern::Tornado => tornado(fabric),
            TrafficPattern::Neighbour => Ok(neighbour(fabric)),
            _ => adversarial(fabric),
        })
    }

    /// Lays a pattern over ranks whose places nobody knows; otherwise as [`Self::new`].
    ///
    /// # Errors
    /// Fewer than two ranks, or a pattern that goes by where they stand.
    pub fn between(
        pattern: TrafficPattern,
        ranks: u32,
        hot: f64,
        seed: u64,
    ) -> Result<Self, Diagnosis> {
        if ranks < 2 {
            let problem = Diagnosis::of(format!("{ranks} ranks have no traffic"));
            return Err(problem.remedy("give at least two"));
        }
        Self::laid(pattern, ranks, (hot, seed), || match pattern {
            TrafficPattern::Tornado => Ok(shifted(ranks, ranks / 2)),
            TrafficPattern::Neighbour => Ok(shifted(ranks, 1)),
            _ => {
                let problem =
                    "the pattern `adversarial` goes by where ranks stand, which nobody says";
                let remedy = "take tornado, or place the ranks on a system with a network, as \
                              `linkwright replay` does";
                Err(Diagnosis::of(problem).remedy(remedy))
            }
        })
    }

    /// Lays the pattern that a fabric carries worst over the ranks of a job.
    ///
    /// A rank sends to one at the node where [`Self::new`] sends from its own. If nobody is free there, the next node
    /// with a free rank takes its place.
    ///
    /// # Errors
    /// Refuses fewer than two ranks.
    pub fn adversarial_at(places: &Places<'_>) -> Result<Self, Diagnosis> {
        let Places { fabric, nodes } = *places;
        let count = nodes.len();
        if count < 2 {
            let problem = Diagnosis::of(format!("{count} ranks have no traffic"));
            return Err(problem.remedy("give at least two"));
        }
        let worst = adversarial(fabric)?;
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|rank| nodes[*rank]);
        let first_at = |node: NodeId| order.partition_point(|rank| nodes[*rank] < node);
        let mut free: BTreeSet<usize> = (0..count).collect();
        let mut fixed = vec![0; count];
        for (place, rank) in order.iter().enumerate() {
            let own = nodes[*rank];
            // The first rank of a node sends to the first of the other, the second to the second.
            let from = first_at(worst[own as usize]) + place - first_at(own);
            let next = free.range(from..).chain(free.range(..from)).find(|at| **at != place);
            let found = next.copied().unwrap_or(place);
            free.remove(&found);
            fixed[*rank] = order[found] as NodeId;
        }
        // The last may be left with itself: it swaps with the first.
        if let (Some(first), Some(last)) = (order.first(), order.last())
            && fixed[*last] as usize == *last
        {
            fixed.swap(*first, *last);
        }
        Ok(Self { nodes: count as u32, fixed: Some(fixed), hot: 0.0 })
    }

    /// Lays a pattern over nodes; `ordered` gives the destinations where their order decides.
    fn laid(
        pattern: TrafficPattern,
        nodes: u32,
        (hot, seed): (f64, u64),
        ordered: impl FnOnce() -> Result<Vec<NodeId>, Diagnosis>,
    ) -> Result<Self, Diagnosis> {
        let (fixed, hot) = match pattern {
            TrafficPattern::Uniform => (None, 0.0),
            TrafficPattern::HotSpot => (None, hot),
            TrafficPattern::Permutation => (Some(permutation(nodes, seed)), 0.0),
            TrafficPattern::Tornado | TrafficPattern::Neighbour | TrafficPattern::Adversarial => {
                (Some(ordered()?), 0.0)
            }
        };
        Ok(Self { nodes, fixed, hot })
    }

    /// Returns where the next message of a node goes.
    pub fn of(&self, node: NodeId, random: &mut Random) -> NodeId {
        if let Some(fixed) = &self.fixed {
            return fixed[node as usize];
        }
        if node != 0 && self.hot > 0.0 && random.uniform() < self.hot {
            return 0;
        }
        let others = NonZeroU64::new(u64::from(self.nodes) - 1).unwrap_or(NonZeroU64::MIN);
        let other = random.below(others) as NodeId;
        other + NodeId::from(other >= node)
    }

    /// Returns the one destination of each node, where each has one.
    #[must_use]
    pub fn fixed(&self) -> Option<&[NodeId]> {
        self.fixed.as_deref()
    }
}

/// Draws one cycle over all nodes, so that none sends to itself (S. Sattolo, 1986).
fn permutation(nodes: u32, seed: u64) -> Vec<NodeId> {
    let mut random = Random::stream(seed, PERMUTATION);
    let mut order: Vec<NodeId> = (0..nodes).collect();
    for last in (1..nodes as usize).rev() {
        let bound = NonZeroU64::new(last as u64).unwrap_or(NonZeroU64::MIN);
        order.swap(last, random.below(bound) as usize);
    }
    order
}

/// Sends every node `by` nodes on.
fn shifted(nodes: u32, by: u32) -> Vec<NodeId> {
    (0..nodes).map(|node| (node + by) % nodes).collect()
}

/// Sends every node of a torus to the same place of another switch.
fn moved(torus: &Torus, to: impl Fn(u32) -> u32) -> Vec<NodeId> {
    let own = torus.nodes_per_switch;
    (0..torus.nodes()).map(|node| to(node / own) * own + node % own).collect()
}

fn tornado(fabric: &Fabric) -> Result<Vec<NodeId>, Diagnosis> {
    let nodes = fabric.nodes();
    match fabric.shape() {
        FabricShape::Torus(torus) => {
            // The farthest that has one shortest way round: two links of a ring of six, three of eight.
            let steps = |size: u32| size.div_ceil(2) - 1;
            if torus.dimensions.iter().all(|size| steps(*size) == 0) {
                return Err(Diagnosis::of("a tornado goes nowhere in rings of one and two")
                    .remedy("take neighbour, or a torus with a dimension of three or more"));
            }
            Ok(moved(torus, |switch| {
                let sizes = torus.dimensions.iter().enumerate();
                sizes.fold(switch, |at, (dimension, size)| {
                    let next = |at, _| torus.neighbour(at, dimension, Direction::Up);
                    (0..steps(*size)).fold(at, next)
                })
            }))
        }
        FabricShape::Dragonfly(fly) if fly.groups > 2 => {
            let group = fly.nodes() / fly.groups;
            Ok(shifted(nodes, group * (fly.groups.div_ceil(2) - 1)))
        }
        _ => Ok(shifted(nodes, nodes / 2)),
    }
}

fn neighbour(fabric: &Fabric) -> Vec<NodeId> {
    if let FabricShape::Torus(torus) = fabric.shape()
        && let Some(dimension) = torus.dimensions.iter().position(|size| *size > 1)
    {
        return moved(torus, |switch| torus.neighbour(switch, dimension, Direction::Up));
    }
    shifted(fabric.nodes(), 1)
}

fn adversarial(fabric: &Fabric) -> Result<Vec<NodeId>, Diagnosis> {
    let nodes = fabric.nodes();
    match fabric.shape() {
        FabricShape::Torus(torus) if torus.dimensions.iter().any(|size| *size > 2) => {
            tornado(fabric)
        }
        FabricShape::Dragonfly(fly) if fly.groups > 1 => {
            Ok(shifted(nodes, fly.nodes() / fly.groups))
        }
        FabricShape::FatTree(tree) => {
            let part = if tree.pods > 1 { nodes / tree.pods } else { tree.nodes_per_leaf };
            Ok(shifted(nodes, if part < nodes { part } else { 1 }))
        }
        FabricShape::Graph => Ok(shifted(nodes, worst_shift(fabric))),
        _ => Ok(shifted(nodes, nodes / 2)),
    }
}

/// Finds the shift that loads a link most, of those that are looked at; the first where several do.
fn worst_shift(fabric: &Fabric) -> u32 {
    let nodes = fabric.nodes();
    let paths = FabricPaths::of(&std::sync::Arc::new(fabric.clone()));
    let Some(paths) = paths.filter(|_| nodes <= MOST_COMPARED) else { return nodes / 2 };
    let step = nodes.div_ceil(MOST_SHIFTS) as usize;
    let mut worst = (0.0, nodes / 2);
    for by in (1..nodes).step_by(step) {
        let mut load = vec![0.0; fabric.channels().len()];
        for node in 0..nodes {
            for (channel, part) in paths.shares(node, (node + by) % nodes).iter() {
                load[*channel as usize] += part;
            }
        }
        let widths = fabric.channels().iter().map(|channel| channel.bandwidth.0 as f64);
        let most = load.iter().zip(widths).map(|(load, width)| load / width).fold(0.0, f64::max);
        if most > worst.0 * (1.0 + 1e-9) {
            worst = (most, by);
        }
    }
    worst.1
}
