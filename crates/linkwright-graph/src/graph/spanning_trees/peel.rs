//! Splits capacities into trees in one way: it loads the edges, then peels tree after tree.
//!
//! Loading is the greedy algorithm of a polymatroid. Edge after edge gets as much as its capacity
//! and the room of every set allow. It ends, in any order, at loads that add up to the most.
//! Peeling takes a tree that is as large as can be inside every tight set. It takes as much of the
//! tree as keeps the rest splittable. So it either uses an edge up or makes another set tight, and
//! after few steps nothing is left. The source is Cunningham, "Testing membership in matroid
//! polyhedra", J. Comb. Theory B 36, 1984. The order and the tree are free, and decide how many
//! trees it takes.

use super::super::greatest_common_divisor;
use super::room::{Loads, Set, contains};
use super::{Graph, Share};

/// Finer units than this are not gone into, so that no product passes 128 bits.
pub(super) const MOST_UNITS: u128 = 1 << 100;

/// Which edges a tree takes first, of those that tight sets let it choose from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Preference {
    /// Takes the most loaded ones, which gives large weights.
    Loaded,
    /// Takes the ones nearest to a vertex, which gives shallow trees.
    Near(usize),
    /// Takes a different order for every tree.
    Any,
}

impl Preference {
    /// Returns a preference that varies with the round of a search.
    pub fn of_round(round: usize, vertices: usize) -> Self {
        match round % 4 {
            0 => Self::Loaded,
            2 => Self::Any,
            _ => Self::Near(round / 2 % vertices),
        }
    }
}

/// A splitmix64 generator: the search must be the same on every machine, and a layer of
/// graphs uses no other.
#[derive(Debug, Clone)]
pub(super) struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.roll()) * end as u128) >> 64) as usize
    }
}

/// Trees of total weight `rate` within the capacities, and by how much finer a unit they are
/// measured in. `None` if it takes more than `most` trees or too fine a unit, or if `trials`
/// runs out, which counts the trees that were tried.
///
/// The capacities' strength must be at least `rate`.
pub(super) fn split(
    graph: &Graph,
    capacity: &[u128],
    rate: u128,
    most: usize,
    preference: Preference,
    dice: &mut Dice,
    trials: &mut usize,
) -> Option<(Vec<Share>, u128)> {
    let mut loads = load(graph, capacity, rate, preference, dice);
    let everything = Set::MAX >> (Set::BITS as usize - graph.vertices);
    // For each edge the smallest known tight set around it.
    let mut around = vec![everything; graph.edges.len()];
    let mut shares: Vec<Share> = Vec::new();
    let mut unit = 1;
    while loads.rate > 0 {
        if shares.len() == most {
            return None;
        }
        *trials = trials.checked_sub(1)?;
        let tree = choose_tree(graph, &loads, &around, preference, dice);
        let step = loads.longest_step(&tree);
        // Known now or tight once the step is taken. Other sets that become tight show when
        // a tree comes to nothing for their sake.
        if let Some(set) = step.binding {
            for (around, edge) in around.iter_mut().zip(&graph.edges) {
                if contains(set, *edge) {
                    *around &= set;
                }
            }
        }
        if step.numerator == 0 {
            continue;
        }
        let common = greatest_common_divisor(step.numerator, step.denominator);
        let factor = step.denominator / common;
        if factor > 1 {
            unit *= factor;
            if unit > MOST_UNITS / rate {
                return None;
            }
            loads.refine(factor);
            shares.iter_mut().for_each(|share| share.weight *= factor);
        }
        let weight = step.numerator / common;
        loads.take(&tree, weight);
        shares.push(Share { tree, weight });
    }
    Some((shares, unit))
}

/// Loads within the capacities that split into trees of total weight `rate`.
fn load<'a>(
    graph: &'a Graph,
    capacity: &[u128],
    rate: u128,
    preference: Preference,
    dice: &mut Dice,
) -> Loads<'a> {
    let joints = graph.vertices as u128 - 1;
    if capacity.iter().sum::<u128>() == rate * joints {
        return Loads::full(graph.vertices, &graph.edges, rate, capacity);
    }
    let mut loads = Loads::new(graph.vertices, &graph.edges, rate);
    let mut left = rate * joints;
    let order = graph.order(|edge| capacity[edge], preference, dice);
    // A first round that stops at some edge's capacity spreads loads, where one round alone
    // would fill some edges and leave others empty. Either may be what takes fewer trees.
    let level = capacity[dice.below(capacity.len())];
    for most in [level, u128::MAX] {
        for edge in order.iter().copied() {
            let wanted = capacity[edge].min(most).saturating_sub(loads.load[edge]);
            if wanted > 0 && left > 0 {
                let more = wanted.min(loads.room(edge));
                loads.add(edge, more);
                left -= more;
            }
        }
    }
    loads
}

/// A spanning tree of loaded edges that has as many as can be inside every known tight set:
/// Kruskal's, the edges of small sets first.
fn choose_tree(
    graph: &Graph,
    loads: &Loads,
    around: &[Set],
    preference: Preference,
    dice: &mut Dice,
) -> Vec<usize> {
    let mut order = graph.order(|edge| loads.load[edge], preference, dice);
    order.retain(|edge| loads.load[*edge] > 0);
    order.sort_by_key(|edge| around[*edge].count_ones());
    let mut part_of: Vec<usize> = (0..graph.vertices).collect();
    let mut tree = Vec::with_capacity(graph.vertices - 1);
    for edge in order {
        let (a, b) = graph.edges[edge];
        let (kept, merged) = (part_of[a], part_of[b]);
        if kept != merged {
            tree.push(edge);
            for part in part_of.iter_mut().filter(|part| **part == merged) {
                *part = kept;
            }
        }
    }
    tree.sort_unstable();
    tree
}
