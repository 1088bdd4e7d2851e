//! The partition that limits how fast spanning trees can be packed on a graph.
//!
//! Nash-Williams and Tutte give the rate at which trees can be packed. Take all partitions of the
//! vertices into p >= 2 parts. Each has the capacity between parts divided by p - 1. The least of
//! these is the rate: the graph's strength. It is found in polynomial time (Cunningham, "Optimal
//! attack and reinforcement of a network", J. ACM 32, 1985):
//!
//! 1. For a guess λ, find the partition of least `cut - λ (p - 1)`. If that is below zero,
//!    its ratio `cut / (p - 1)` is a better guess; if it is zero, λ is the strength
//!    (Dinkelbach's iteration). All numbers are integers: λ is a fraction `a / b`.
//! 2. Since `cut = total - Σ inside(part)`, that partition maximises `Σ (b inside(S) + a)` over its
//!    parts. This has a dual: the least `Σ y(v)` with `y(S) >= b inside(S) + a` for every nonempty
//!    S. The greedy algorithm lifts one vertex after the other to the least y that its sets allow.
//!    The binding set is a minimum cut, found by one maximum flow.
//! 3. Binding sets that meet can be joined, so that merging them gives a best partition.
//!    With the smallest binding set of every vertex it is the finest one.

use super::greatest_common_divisor;
use super::heaviest_set::heaviest_set;

/// Returns the strength of a graph and the finest of the partitions that attain it.
///
/// `capacity` is the symmetric matrix of undirected capacities, row by row. The strength has their
/// unit and is rounded only when it leaves as a float. Parts are sorted, and ordered by their
/// lowest vertex. A graph that is not connected has strength zero and its connected components as
/// parts. Below two vertices the strength is infinite and nothing is split.
///
/// # Panics
/// If `capacity` has not `count * count` entries.
#[must_use]
pub fn tightest_partition(count: usize, capacity: &[u64]) -> (f64, Vec<Vec<usize>>) {
    assert_eq!(capacity.len(), count * count, "a square matrix");
    if count < 2 {
        return (f64::INFINITY, (0..count).map(|only| vec![only]).collect());
    }
    let (ratio, parts) = tightest(count, capacity);
    (ratio.cut as f64 / ratio.joints as f64, parts)
}

/// Returns the strength as a fraction in lowest terms; see [`tightest_partition`].
///
/// # Panics
/// If there are fewer than two vertices, or `capacity` has not `count * count` entries.
#[must_use]
pub fn exact_strength(count: usize, capacity: &[u64]) -> (u128, u128) {
    assert!(count >= 2, "the strength of fewer than two vertices is infinite");
    assert_eq!(capacity.len(), count * count, "a square matrix");
    let (Ratio { cut, joints }, _) = tightest(count, capacity);
    let common = greatest_common_divisor(cut, joints);
    (cut / common, joints / common)
}

fn tightest(count: usize, capacity: &[u64]) -> (Ratio, Vec<Vec<usize>>) {
    let mut parts: Vec<Vec<usize>> = (0..count).map(|vertex| vec![vertex]).collect();
    let mut ratio = Ratio::of(&parts, count, capacity);
    loop {
        parts = finest_best_partition(count, capacity, ratio);
        let next = Ratio::of(&parts, count, capacity);
        // A best partition that beats the guess has at least two parts and a lower ratio. If none
        // does, the finest best one attains the guess itself.
        if next.cut * ratio.joints >= ratio.cut * next.joints {
            return (ratio, parts);
        }
        ratio = next;
    }
}

/// Holds the capacity between parts over the number of parts less one.
#[derive(Debug, Clone, Copy)]
struct Ratio {
    cut: u128,
    joints: u128,
}

impl Ratio {
    fn of(parts: &[Vec<usize>], count: usize, capacity: &[u64]) -> Self {
        let mut part_of = vec![0; count];
        for (index, part) in parts.iter().enumerate() {
            for vertex in part {
                part_of[*vertex] = index;
            }
        }
        let pairs = (0..count).flat_map(|b| (0..b).map(move |a| (a, b)));
        let crossing = pairs.filter(|(a, b)| part_of[*a] != part_of[*b]);
        let cut = crossing.map(|(a, b)| u128::from(capacity[a * count + b])).sum();
        Self { cut, joints: parts.len() as u128 - 1 }
    }
}

/// Returns the finest of the partitions with the least `cut - λ (p - 1)`.
fn finest_best_partition(count: usize, capacity: &[u64], guess: Ratio) -> Vec<Vec<usize>> {
    let scaled = |a: usize, b: usize| guess.joints * u128::from(capacity[a * count + b]);
    let mut lifted: Vec<u128> = Vec::with_capacity(count);
    let mut part_of: Vec<usize> = (0..count).collect();
    for vertex in 0..count {
        // The set S of `vertex` and lower vertices with the most `b inside(S) - y(S)`.
        let (excess, binding) = heaviest_set(vertex, scaled, &lifted);
        // At most what leaving every lower vertex out costs, so this is at least λ's share.
        lifted.push(guess.cut + excess);
        let meets: Vec<usize> =
            (0..vertex).filter(|at| binding[*at]).map(|at| part_of[at]).collect();
        for part in &mut part_of[..vertex] {
            if meets.contains(part) {
                *part = vertex;
            }
        }
    }
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut index_of = vec![None; count];
    for (vertex, part) in part_of.into_iter().enumerate() {
        let index = *index_of[part].get_or_insert(parts.len());
        if index == parts.len() {
            parts.push(Vec::new());
        }
        parts[index].push(vertex);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::super::strength::strength_of_subsets;
    use super::*;
    use proptest::prelude::*;

    /// Tries every partition by restricted growth strings. Returns the least ratio and, of the
    /// partitions that attain it, the common refinement.
    fn by_all_partitions(count: usize, capacity: &[u64]) -> (f64, Vec<Vec<usize>>) {
        let mut part = vec![0_usize; count];
        let mut best: Option<(u128, u128, Vec<Vec<usize>>)> = None;
        loop {
            let joints = part.iter().max().copied().unwrap_or(0);
            if joints > 0 {
                let mut parts = vec![Vec::new(); joints + 1];
                for (vertex, index) in part.iter().enumerate() {
                    parts[*index].push(vertex);
                }
                let Ratio { cut, joints } = Ratio::of(&parts, count, capacity);
                let order = best.as_ref().map(|(c, j, _)| (cut * j).cmp(&(c * joints)));
                let finer = best.as_ref().is_none_or(|(_, _, known)| known.len() < parts.len());
                if order.is_none_or(|order| order.is_lt() || order.is_eq() && finer) {
                    best = Some((cut, joints, parts));
                }
            }
            let grown = |i: usize| part[i] <= part[..i].iter().copied().max().unwrap_or(0);
            let Some(at) = (1..count).rev().find(|i| grown(*i)) else { break };
            part[at] += 1;
            part[at + 1..].fill(0);
        }
        let (cut, joints, parts) = best.unwrap();
        (cut as f64 / joints as f64, parts)
    }

    fn matrix(count: usize, mut value: impl FnMut(usize, usize) -> u64) -> Vec<u64> {
        let mut capacity = vec![0; count * count];
        for b in 0..count {
            for a in 0..b {
                capacity[a * count + b] = value(a, b);
                capacity[b * count + a] = capacity[a * count + b];
            }
        }
        capacity
    }

    #[test]
    fn small_graphs_come_out_by_hand() {
        assert_eq!(tightest_partition(0, &[]), (f64::INFINITY, vec![]));
        assert_eq!(tightest_partition(1, &[0]), (f64::INFINITY, vec![vec![0]]));
        let edgeless = tightest_partition(3, &[0; 9]);
        assert_eq!(edgeless, (0.0, vec![vec![0], vec![1], vec![2]]));
        let apart = matrix(4, |a, b| u64::from((a, b) == (0, 2) || (a, b) == (1, 3)));
        assert_eq!(tightest_partition(4, &apart), (0.0, vec![vec![0, 2], vec![1, 3]]));
        // Two triangles on a bridge: the bridge is what limits.
        let bridge = matrix(6, |a, b| u64::from(a / 3 == b / 3 || (a, b) == (2, 3)));
        assert_eq!(tightest_partition(6, &bridge), (1.0, vec![vec![0, 1, 2], vec![3, 4, 5]]));
        // On a tree every partition along edges is as tight; the finest has single vertices.
        let path = matrix(4, |a, b| u64::from(a + 1 == b));
        assert_eq!(tightest_partition(4, &path).1.len(), 4);
    }

    #[test]
    fn two_cliques_of_sixty_four_on_a_bridge_split_there() {
        let capacity = matrix(128, |a, b| match a / 64 == b / 64 {
            true => 25_000_000_000,
            false if (a, b) == (63, 64) => 999_999_999_999,
            false => 0,
        });
        let (strength, parts) = tightest_partition(128, &capacity);
        assert_eq!(strength, 64.0 / 2.0 * 25_000_000_000.0);
        assert_eq!(parts.len(), 127, "the bridge is stronger than either clique");
    }

    proptest! {
        #[test]
        fn it_is_the_least_ratio_and_its_finest_partition(
            count in 2_usize..8,
            values in proptest::collection::vec(0_u64..5, 21),
            unit in prop_oneof![Just(1_u64), Just(999_999_999_989)],
        ) {
            let mut next = values.iter();
            let capacity = matrix(count, |_, _| next.next().unwrap() * unit);
            let expected = by_all_partitions(count, &capacity);
            prop_assert_eq!(tightest_partition(count, &capacity), expected);
        }

        #[test]
        fn it_agrees_with_the_table(
            count in 8_usize..11,
            values in proptest::collection::vec((0_u64..4, 0_u64..50_000_000_000), 45),
        ) {
            let mut next = values.iter();
            let capacity = matrix(count, |_, _| match next.next().unwrap() {
                (0 | 1, _) => 0,
                (_, value) => *value,
            });
            let table = strength_of_subsets(count, &capacity);
            let whole = table[(1 << count) - 1];
            let (strength, parts) = tightest_partition(count, &capacity);
            prop_assert_eq!(strength, whole);
            for part in &parts {
                let bits: usize = part.iter().map(|vertex| 1 << vertex).sum();
                prop_assert!(table[bits] > strength, "the finest parts pack faster");
            }
        }
    }
}
