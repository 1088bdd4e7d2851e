//! Finds spanning arborescences, packed to within a given part of the most, by multiplicative
//! weights.
//!
//! Every link has a length that starts at the inverse of its capacity and grows with its load. Time
//! and again the shortest arborescence gets as much as its narrowest link holds (Garg and Könemann
//! 1998). Scaled to the fullest link, the flow so far is feasible at any moment. Every set of
//! lengths bounds the optimum from above. The bound is their sum, weighted with the capacities,
//! over the length of the shortest arborescence. The loop ends when the two are close enough. It is
//! the first step of Blink's TreeGen (Wang et al. 2020). The optimum itself comes from
//! [`super::arborescences`].

use std::collections::BTreeMap;

use super::cheapest_arborescence::{CostlyArc, cheapest_arborescence};

/// Gives the least epsilon: the work grows with its inverse square.
const LEAST_EPSILON: f64 = 0.01;

/// Lengths are scaled back before they leave what an `f64` holds.
const LONGEST: f64 = 1e200;

/// Holds a tree and its part of the rate.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightedArborescence {
    /// Gives, for each vertex, the one before it; `None` for the root alone.
    pub parent: Vec<Option<usize>>,
    /// Gives the rate that it carries, in the unit of the capacities.
    pub weight: f64,
}

/// Describes a way from one vertex to another.
#[derive(Debug, Clone, PartialEq)]
pub struct RoutedArc {
    /// Where it starts.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
    /// Lists the resources that it crosses, each once, and the part of its data on each, above
    /// zero.
    pub uses: Vec<(usize, f64)>,
}

/// Holds arborescences of arcs that share resources.
#[derive(Debug, Clone, PartialEq)]
pub struct RoutedGraph {
    /// How many vertices there are.
    pub vertices: usize,
    /// Lists the arcs, at most one from a vertex to another.
    pub arcs: Vec<RoutedArc>,
    /// Gives the capacity of each resource, above zero, in any unit.
    pub capacities: Vec<f64>,
}

impl RoutedGraph {
    /// A graph whose arcs have links of their own: from, to and capacity. Parallel ones add up;
    /// loops and those without capacity are left out.
    #[must_use]
    pub fn of_links(vertices: usize, links: &[(usize, usize, u64)]) -> Self {
        let mut joined: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        for (from, to, capacity) in links.iter().filter(|(from, to, c)| from != to && *c > 0) {
            *joined.entry((*from, *to)).or_default() += *capacity as f64;
        }
        let arc = |(link, (from, to)): (usize, &(usize, usize))| RoutedArc {
            from: *from,
            to: *to,
            uses: vec![(link, 1.0)],
        };
        let arcs = joined.keys().enumerate().map(arc).collect();
        Self { vertices, arcs, capacities: joined.into_values().collect() }
    }

    /// Returns the load of each resource, on the whole, for one unit along these arcs.
    #[must_use]
    pub fn loads(&self, arcs: &[usize]) -> BTreeMap<usize, f64> {
        let mut loads = BTreeMap::new();
        for (resource, part) in arcs.iter().flat_map(|arc| &self.arcs[*arc].uses) {
            *loads.entry(*resource).or_default() += part;
        }
        loads
    }

    /// Lists the arcs of a tree, in the order of the vertices that they lead to.
    #[must_use]
    pub fn arcs_of(&self, parent: &[Option<usize>]) -> Vec<usize> {
        let arc = |(to, from): (usize, &Option<usize>)| {
            let from = (*from)?;
            self.arcs.iter().position(|arc| (arc.from, arc.to) == (from, to))
        };
        parent.iter().enumerate().filter_map(arc).collect()
    }

    /// Returns trees from `root` that together reach at least 1 - `epsilon` of the most that any
    /// can, heaviest first. There are none where there are fewer than two vertices or the root does
    /// not reach all of them. `epsilon` is taken to lie between 0.01 and 0.5. The same input always
    /// leads to the same trees.
    #[must_use]
    pub fn pack(&self, root: usize, epsilon: f64) -> Vec<WeightedArborescence> {
        // The lengths' own step costs twice its part at worst.
        let epsilon = epsilon.clamp(LEAST_EPSILON, 0.5);
        let step = epsilon / 2.0;
        let mut lengths: Vec<f64> = self.capacities.iter().map(|capacity| 1.0 / capacity).collect();
        let mut carried = vec![0.0; self.capacities.len()];
        let mut trees: BTreeMap<Vec<usize>, f64> = BTreeMap::new();
        let (mut sent, mut bound) = (0.0, f64::INFINITY);
        let fullest = loop {
            let cost = |arc: &RoutedArc| {
                arc.uses.iter().map(|(resource, part)| lengths[*resource] * part).sum()
            };
            let costs = self.arcs.iter();
            let costs: Vec<CostlyArc> = costs
                .map(|arc| CostlyArc { from: arc.from, to: arc.to, cost: cost(arc) })
                .collect();
            let Some(tree) = cheapest_arborescence(self.vertices, &costs, root) else {
                return Vec::new();
            };
            let tree: Vec<usize> = tree.into_iter().flatten().collect();
            let length: f64 = tree.iter().map(|arc| costs[*arc].cost).sum();
            if tree.is_empty() {
                return Vec::new();
            }
            let volume: f64 = lengths.iter().zip(&self.capacities).map(|(l, c)| l * c).sum();
            bound = f64::min(bound, volume / length);
            let loads = self.loads(&tree);
            let room = loads.iter().map(|(resource, load)| self.capacities[*resource] / load);
            let weight = room.fold(f64::INFINITY, f64::min);
            *trees.entry(tree).or_default() += weight;
            sent += weight;
            for (resource, load) in loads {
                let part = weight * load / self.capacities[resource];
                carried[resource] += part;
                lengths[resource] *= 1.0 + step * part;
            }
            if volume > LONGEST {
                lengths.iter_mut().for_each(|length| *length /= volume);
            }
            let fullest = carried.iter().copied().fold(0.0, f64::max);
            if sent / fullest >= (1.0 - epsilon) * bound {
                break fullest;
            }
        };
        let tree = |(arcs, weight): (Vec<usize>, f64)| {
            let mut parent = vec![None; self.vertices];
            arcs.iter().for_each(|arc| parent[self.arcs[*arc].to] = Some(self.arcs[*arc].from));
            WeightedArborescence { parent, weight: weight / fullest }
        };
        let mut packed: Vec<_> = trees.into_iter().map(tree).collect();
        packed.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.parent.cmp(&b.parent)));
        packed
    }
}

/// Returns trees from `root` to all of `0..vertices` over arcs (from, to, capacity). Together they
/// reach at least 1 - `epsilon` of the most that any can. That is the least maximum flow from the
/// root to a vertex (Edmonds). It works as [`RoutedGraph::pack`], for links that nobody shares.
#[must_use]
pub fn pack_by_multiplicative_weights(
    vertices: usize,
    arcs: &[(usize, usize, u64)],
    root: usize,
    epsilon: f64,
) -> Vec<WeightedArborescence> {
    RoutedGraph::of_links(vertices, arcs).pack(root, epsilon)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::max_flow::FlowGraph;
    use proptest::prelude::*;

    #[test]
    fn nothing_is_packed_where_nothing_is_reached() {
        assert_eq!(pack_by_multiplicative_weights(3, &[(0, 1, 4), (2, 1, 4)], 0, 0.1), []);
        assert_eq!(pack_by_multiplicative_weights(1, &[], 0, 0.1), []);
    }

    #[test]
    fn arcs_that_share_a_resource_share_its_capacity() {
        let arc = |from, to, uses: &[(usize, f64)]| RoutedArc { from, to, uses: uses.to_vec() };
        // Three vertices on a bus: whatever leaves the root crosses resource 0.
        let arcs = vec![
            arc(0, 1, &[(0, 1.0), (1, 1.0)]),
            arc(0, 2, &[(0, 1.0), (2, 1.0)]),
            arc(1, 2, &[(3, 1.0), (2, 1.0)]),
        ];
        let bus = RoutedGraph { vertices: 3, arcs, capacities: vec![6.0; 4] };
        let rate: f64 = bus.pack(0, 0.05).iter().map(|tree| tree.weight).sum();
        assert!((5.7..=6.0 + 1e-9).contains(&rate), "a chain carries all of it: {rate}");
    }

    proptest! {
        #[test]
        fn trees_fit_the_capacities_and_come_near_the_cut(
            vertices in 2_usize..=8,
            arcs in proptest::collection::vec((0_usize..8, 0_usize..8, 1_u64..5), 1..40),
            root in 0_usize..8,
            epsilon in 0.05_f64..0.5,
        ) {
            let root = root % vertices;
            let arcs: Vec<_> = arcs
                .into_iter()
                .map(|(from, to, capacity)| (from % vertices, to % vertices, capacity))
                .collect();
            let flow = |to: usize| {
                let mut network = FlowGraph::new(vertices);
                for (from, to, capacity) in &arcs {
                    network.add_arc(*from, *to, u128::from(*capacity));
                }
                network.send(root, to)
            };
            let optimum = (0..vertices).filter(|to| *to != root).map(flow).min().unwrap() as f64;
            let trees = pack_by_multiplicative_weights(vertices, &arcs, root, epsilon);
            prop_assert_eq!(trees.is_empty(), optimum == 0.0);
            let rate: f64 = trees.iter().map(|tree| tree.weight).sum();
            prop_assert!(rate >= (1.0 - epsilon) * optimum - 1e-9, "{} of {}", rate, optimum);
            for tree in &trees {
                for vertex in 0..vertices {
                    let mut up = std::iter::successors(Some(vertex), |at| tree.parent[*at]);
                    prop_assert_eq!(up.by_ref().take(vertices).last(), Some(root));
                }
            }
            for from in 0..vertices {
                for to in 0..vertices {
                    let along = arcs.iter().filter(|(a, b, _)| (*a, *b) == (from, to));
                    let room: u64 = along.map(|(_, _, capacity)| capacity).sum();
                    let used = trees.iter().filter(|tree| tree.parent[to] == Some(from));
                    let used: f64 = used.map(|tree| tree.weight).sum();
                    prop_assert!(used <= room as f64 + 1e-9);
                }
            }
        }
    }
}
