//! Spanning trees that together use a graph as fast as can be: few of them, and shallow.
//!
//! A packing gives each tree a weight so that no edge carries more than its capacity. The
//! most that the weights can add up to is the graph's strength (see [`super::partition`];
//! Nash-Williams, Tutte), and a packing here always reaches it, exactly, in fractions. Which
//! trees do so is found by peeling ([`peel`]) in many seeded orders, and by taking some trees
//! of the best packing out and splitting again what they leave, in the manner of a large
//! neighbourhood search. That the trees are as few as can be is not promised.

mod peel;
mod room;

use super::partition::exact_strength;
use super::{common_unit, greatest_common_divisor};
use peel::{Dice, MOST_UNITS, Preference, split};

/// The most vertices of a graph to pack trees on.
pub const MAX_VERTICES: usize = 128;

/// Vain attempts after which the search starts over from another packing.
const PATIENCE: usize = 60;

/// The most trees that are taken out at once.
const MOST_OUT: usize = 6;

/// A spanning tree and how much of the capacity of every one of its edges it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeightedTree {
    /// Pairs of vertices, the lower one first, sorted.
    pub edges: Vec<(usize, usize)>,
    /// In units of one `denominator`th of the capacities' unit.
    pub weight: u128,
    /// The vertex from which the farthest other is nearest, the lowest of these.
    pub root: usize,
    /// Edges between the root and the vertex farthest from it.
    pub depth: usize,
}

/// Spanning trees that are packed at the most that a graph allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanningTreePacking {
    /// The sum of the weights over `denominator` in lowest terms, in the capacities' unit.
    pub rate: (u128, u128),
    /// By falling weight, then by edges. None if the graph is not connected.
    pub trees: Vec<WeightedTree>,
    /// What the weights are counted in: `weight / denominator` is a rate.
    pub denominator: u128,
}

/// How long to look for fewer and shallower trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Search {
    /// Trees to try, beyond those of a first packing.
    pub trials: usize,
    /// Where the search starts; the same seed gives the same trees on any machine.
    pub seed: u64,
}

impl Default for Search {
    fn default() -> Self {
        Self { trials: 2_000, seed: 0 }
    }
}

/// The edges of a graph, each with its lower vertex first.
#[derive(Debug, Clone)]
struct Graph {
    vertices: usize,
    edges: Vec<(usize, usize)>,
    /// Edges on a shortest way between two vertices, row by row.
    distance: Vec<usize>,
}

/// A tree by its sorted edges, and its weight in whatever unit the packing has.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Share {
    tree: Vec<usize>,
    weight: u128,
}

/// Trees whose weights are counted in `1 / unit`, and how good they are.
#[derive(Debug, Clone)]
struct Candidate {
    shares: Vec<Share>,
    unit: u128,
    /// Trees, then the depth of the deepest, then all depths together: less is better.
    score: (usize, usize, usize),
}

/// Packs spanning trees at the graph's strength.
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
    let best = improve(&graph, &whole, rate, search)?;
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

    /// The best root of a tree and its depth from there.
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

impl Candidate {
    /// Joins equal trees and leaves common factors out.
    fn new(graph: &Graph, mut shares: Vec<Share>, unit: u128) -> Self {
        shares.sort_by(|x, y| x.tree.cmp(&y.tree));
        shares.dedup_by(|next, kept| {
            let same = next.tree == kept.tree;
            kept.weight += if same { next.weight } else { 0 };
            same
        });
        let weights = shares.iter().map(|share| share.weight);
        let common = weights.fold(unit, greatest_common_divisor);
        shares.iter_mut().for_each(|share| share.weight /= common);
        let depths = shares.iter().map(|share| graph.root_and_depth(&share.tree).1);
        let (deepest, total) = depths.fold((0, 0), |(most, sum), d| (most.max(d), sum + d));
        Self { score: (shares.len(), deepest, total), shares, unit: unit / common }
    }
}

/// The best packing that the search comes across, `whole` and `rate` being in one unit.
fn improve(graph: &Graph, whole: &[u128], rate: u128, search: Search) -> Option<Candidate> {
    let mut dice = Dice(search.seed);
    let mut trials = search.trials;
    let mut best: Option<Candidate> = None;
    for round in 0.. {
        // What a first packing needs is not limited.
        let mut first = usize::MAX;
        let budget = if best.is_none() { &mut first } else { &mut trials };
        let most = best.as_ref().map_or(usize::MAX, |best| 2 * best.score.0);
        let preference = Preference::of_round(round, graph.vertices);
        let found = split(graph, whole, rate, most, preference, &mut dice, budget);
        let Some((shares, unit)) = found else {
            if trials == 0 || round > search.trials {
                return best;
            }
            continue;
        };
        let mut current = Candidate::new(graph, shares, unit);
        let mut idle = 0;
        while idle < PATIENCE && trials > 0 {
            idle += 1;
            let better = respread(graph, whole, rate, &current, &mut dice, &mut trials);
            if let Some(other) = better.filter(|other| other.score <= current.score) {
                idle = if other.score < current.score { 0 } else { idle };
                current = other;
            }
        }
        if best.as_ref().is_none_or(|best| current.score < best.score) {
            best = Some(current);
        }
        if trials == 0 {
            return best;
        }
    }
    best
}

/// Takes some trees out and splits what they leave, into no more trees than they were.
fn respread(
    graph: &Graph,
    whole: &[u128],
    rate: u128,
    current: &Candidate,
    dice: &mut Dice,
    trials: &mut usize,
) -> Option<Candidate> {
    let mut kept = current.shares.clone();
    let out = kept.len().min(2 + dice.below(MOST_OUT - 1));
    for last in (kept.len() - out..kept.len()).rev() {
        kept.swap(dice.below(last + 1), last);
    }
    let gone: u128 = kept.drain(kept.len() - out..).map(|share| share.weight).sum();
    let mut left: Vec<u128> = whole.iter().map(|value| value * current.unit).collect();
    for share in &kept {
        share.tree.iter().for_each(|edge| left[*edge] -= share.weight);
    }
    let preference = Preference::of_round(dice.below(2 * graph.vertices), graph.vertices);
    let (fresh, finer) = split(graph, &left, gone, out, preference, dice, trials)?;
    let unit = current.unit.checked_mul(finer).filter(|unit| *unit <= MOST_UNITS / rate)?;
    kept.iter_mut().for_each(|share| share.weight *= finer);
    kept.extend(fresh);
    Some(Candidate::new(graph, kept, unit))
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
mod tests {
    use super::*;

    pub(super) fn matrix(count: usize, edges: &[(usize, usize, u64)]) -> Vec<u64> {
        let mut capacity = vec![0; count * count];
        for (a, b, value) in edges {
            capacity[a * count + b] = *value;
            capacity[b * count + a] = *value;
        }
        capacity
    }

    fn dgx1v() -> Vec<u64> {
        let double = [(0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (4, 7), (5, 6), (6, 7)];
        let single = [(0, 1), (0, 2), (1, 3), (2, 6), (3, 7), (4, 5), (4, 6), (5, 7)];
        let edges: Vec<_> = double
            .map(|(a, b)| (a, b, 2))
            .into_iter()
            .chain(single.map(|(a, b)| (a, b, 1)))
            .collect();
        matrix(8, &edges)
    }

    #[test]
    fn scratch() {
        for trials in [0, 200, 1000, 2000, 5000, 20000, 100000] {
            for seed in 0..4 {
                let start = std::time::Instant::now();
                let p = pack_spanning_trees(8, &dgx1v(), Search { trials, seed }).unwrap();
                println!(
                    "{trials} {seed} {:?} {:?} d={} {:?}",
                    start.elapsed(),
                    p.rate,
                    p.denominator,
                    p.trees.iter().map(|t| (t.weight, t.depth)).collect::<Vec<_>>()
                );
            }
        }
        let mut dice = Dice(5);
        for n in [4, 8, 12, 16, 20, 32] {
            for kind in 0..4 {
                let mut c = vec![0; n * n];
                for a in 0..n {
                    for b in a + 1..n {
                        let r = dice.roll();
                        let v = match kind {
                            0 => 1,
                            1 => [0, 15_754_000_000, 25_000_000_000, 50_000_000_000]
                                [(r % 4) as usize],
                            2 => {
                                if r % 3 == 0 {
                                    dice.roll() % 50_000_000_000
                                } else {
                                    0
                                }
                            }
                            _ => {
                                if (a ^ b).is_power_of_two() {
                                    25_000_000_000
                                } else if b == a + 1 {
                                    15_754_000_000
                                } else {
                                    0
                                }
                            }
                        };
                        c[a * n + b] = v;
                        c[b * n + a] = v;
                    }
                }
                let start = std::time::Instant::now();
                let p = pack_spanning_trees(
                    n,
                    &c,
                    Search { trials: if n <= 16 { 1000 } else { 0 }, seed: 0 },
                );
                let Some(p) = p else {
                    println!("{n} {kind} none");
                    continue;
                };
                println!(
                    "{n} {kind} {:?} {:?} d={} trees {} edges {} deepest {:?} min depth {:?}",
                    start.elapsed(),
                    p.rate,
                    p.denominator,
                    p.trees.len(),
                    c.iter().filter(|v| **v > 0).count() / 2,
                    p.trees.iter().map(|t| t.depth).max(),
                    p.trees.iter().map(|t| t.depth).min()
                );
            }
        }
    }
}
