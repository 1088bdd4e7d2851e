//! Spanning trees that together use a graph as fast as can be: few of them, and shallow.
//!
//! A packing gives each tree a weight so that no edge carries more than its capacity. The weights
//! add up to the graph's strength at most (see [`super::partition`]; Nash-Williams, Tutte). A
//! packing here always reaches it, exactly, in fractions. Peeling ([`peel`]) in many seeded orders
//! finds the trees. The search also takes some trees of the best packing out and splits again the
//! capacity that they leave. This is the manner of a large neighbourhood search. It does not
//! promise the smallest number of trees.

mod peel;
mod room;
mod search;

use super::partition::exact_strength;
use super::{common_unit, greatest_common_divisor};
use peel::{Dice, Preference};
use search::{Candidate, look_for_best};

/// Limits the vertices of a graph to pack trees on.
pub const MAX_VERTICES: usize = 128;

/// A spanning tree and how much of the capacity of every one of its edges it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeightedTree {
    /// Pairs of vertices, the lower one first, sorted.
    pub edges: Vec<(usize, usize)>,
    /// Counts units of one `denominator`th of the capacities' unit.
    pub weight: u128,
    /// The vertex from which the farthest other is nearest, the lowest of these.
    pub root: usize,
    /// Counts the edges between the root and the vertex farthest from it.
    pub depth: usize,
}

/// Spanning trees that are packed at the most that a graph allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanningTreePacking {
    /// Gives the sum of the weights over `denominator` in lowest terms, in the capacities' unit.
    pub rate: (u128, u128),
    /// By falling weight, then by edges. None if the graph is not connected.
    pub trees: Vec<WeightedTree>,
    /// Gives the unit of the weights: `weight / denominator` is a rate.
    pub denominator: u128,
}

/// Says how long to look for fewer and shallower trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Search {
    /// Trees to try, beyond those of a first packing.
    pub trials: usize,
    /// Where the search starts; the same seed gives the same trees on any machine.
    pub seed: u64,
}

impl Default for Search {
    fn default() -> Self {
        Self { trials: 1_000, seed: 0 }
    }
}

/// Lists the edges of a graph, each with its lower vertex first.
#[derive(Debug, Clone)]
struct Graph {
    vertices: usize,
    edges: Vec<(usize, usize)>,
    /// Counts the edges on a shortest way between two vertices, row by row.
    distance: Vec<usize>,
}

/// A tree by its sorted edges, and its weight in whatever unit the packing has.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Share {
    tree: Vec<usize>,
    weight: u128,
}

/// Finds spanning trees, packed at the graph's strength.
///
/// `capacity` is the symmetric matrix of undirected capacities, row by row. A graph that is
/// not connected has rate zero, and one of a single vertex needs no tree: neither has any.
/// `None` if every packing that was found has weights beyond 128 bits, which takes capacities
/// with no common measure on a large graph.
///
/// # Panics
/// If `capacity` has not `count * count` entries or `count` is over [`MAX_VERTICES`].
#[must_use]
pub fn pack_spanning_trees(
    count: usize,
    capacity: &[u64],
    search: Search,
) -> Option<SpanningTreePacking> {
    assert!(count <= MAX_VERTICES, "one word of 128 bits per set of vertices");
    assert_eq!(capacity.len(), count * count, "a square matrix");
    let nothing = SpanningTreePacking { rate: (0, 1), trees: Vec::new(), denominator: 1 };
    if count < 2 {
        return Some(nothing);
    }
    let measure = common_unit(capacity);
    let units: Vec<u64> = capacity.iter().map(|value| value / measure).collect();
    let (rate, finer) = exact_strength(count, &units);
    if rate == 0 {
        return Some(nothing);
    }
    let graph = Graph::new(count, capacity);
    let whole: Vec<u128> = graph
        .edges
        .iter()
        .map(|(a, b)| rate.min(finer * u128::from(units[a * count + b])))
        .collect();
    let best = look_for_best(&graph, &whole, rate, search)?;
    Some(publish(&graph, best, rate, u128::from(measure), finer))
}

impl Graph {
    fn new(vertices: usize, capacity: &[u64]) -> Self {
        let pairs = (0..vertices).flat_map(|a| (a + 1..vertices).map(move |b| (a, b)));
        let edges: Vec<_> = pairs.filter(|(a, b)| capacity[a * vertices + b] > 0).collect();
        let mut neighbours = vec![Vec::new(); vertices];
        for (a, b) in &edges {
            neighbours[*a].push(*b);
            neighbours[*b].push(*a);
        }
        let distance = (0..vertices).flat_map(|from| distances(&neighbours, from)).collect();
        Self { vertices, edges, distance }
    }

    /// The edges in the order of a preference, equals at random.
    fn order(
        &self,
        load: impl Fn(usize) -> u128,
        preference: Preference,
        dice: &mut Dice,
    ) -> Vec<usize> {
        let key = |edge: usize| match preference {
            Preference::Loaded => u128::MAX - load(edge),
            Preference::Near(root) => {
                let (a, b) = self.edges[edge];
                let row = root * self.vertices;
                self.distance[row + a].min(self.distance[row + b]) as u128
            }
            Preference::Any => 0,
        };
        let mut order: Vec<_> =
            (0..self.edges.len()).map(|edge| (key(edge), dice.roll(), edge)).collect();
        order.sort_unstable();
        order.into_iter().map(|(_, _, edge)| edge).collect()
    }

    /// Returns the best root of a tree and its depth from there.
    fn root_and_depth(&self, tree: &[usize]) -> (usize, usize) {
        let mut neighbours = vec![Vec::new(); self.vertices];
        for (a, b) in tree.iter().map(|edge| self.edges[*edge]) {
            neighbours[a].push(b);
            neighbours[b].push(a);
        }
        let deepest = |root| distances(&neighbours, root).into_iter().max().unwrap_or(0);
        let roots = (0..self.vertices).map(|root| (deepest(root), root));
        let (depth, root) = roots.min().unwrap_or((0, 0));
        (root, depth)
    }
}

/// Edges from a vertex to each of those that it reaches, zero for the others.
fn distances(neighbours: &[Vec<usize>], from: usize) -> Vec<usize> {
    let mut distance = vec![0; neighbours.len()];
    let mut queue = vec![from];
    let mut head = 0;
    while let Some(at) = queue.get(head).copied() {
        head += 1;
        for next in &neighbours[at] {
            if *next != from && distance[*next] == 0 {
                distance[*next] = distance[at] + 1;
                queue.push(*next);
            }
        }
    }
    distance
}

/// Weights in the capacities' own unit. The search counts in `measure / finer` of it.
fn publish(
    graph: &Graph,
    best: Candidate,
    rate: u128,
    measure: u128,
    finer: u128,
) -> SpanningTreePacking {
    let common = greatest_common_divisor(measure, finer * best.unit);
    let trees = best.shares.into_iter().map(|Share { tree, weight }| {
        let (root, depth) = graph.root_and_depth(&tree);
        let edges = tree.into_iter().map(|edge| graph.edges[edge]).collect();
        WeightedTree { edges, weight: weight * (measure / common), root, depth }
    });
    let mut trees: Vec<_> = trees.collect();
    trees.sort_by(|x, y| y.weight.cmp(&x.weight).then_with(|| x.edges.cmp(&y.edges)));
    let shared = greatest_common_divisor(rate * measure, finer);
    SpanningTreePacking {
        rate: (rate * measure / shared, finer / shared),
        trees,
        denominator: finer * best.unit / common,
    }
}

#[cfg(test)]
mod tests;
