//! Computes the tree-packing number of every subset of a small graph.
//!
//! On full-duplex links one spanning tree carries a reduction up and a broadcast down. So the rate
//! of an all-reduce is the rate at which spanning trees can be packed. Nash-Williams and Tutte give
//! the best fractional packing. Take all partitions of the vertices into p >= 2 parts. The least
//! capacity that crosses between parts divided by p - 1 is the graph's strength. Here dynamic
//! programming over subsets finds it for every subset at once, exactly. For every p it computes the
//! most capacity that p parts can keep inside.

use super::common_unit;

/// The most vertices of a graph whose subsets are all tabulated.
pub const MAX_VERTICES: usize = 16;

/// A float whose lanes are compared several at a time, exact for integers below [`Self::EXACT`].
trait Lane: Copy + PartialOrd + std::ops::Add<Output = Self> + std::ops::Sub<Output = Self> {
    const EXACT: u64;
    const NONE: Self;
    fn of(value: u64) -> Self;
    fn wide(self) -> f64;
}

impl Lane for f32 {
    const EXACT: u64 = 1 << 24;
    const NONE: Self = Self::NEG_INFINITY;
    fn of(value: u64) -> Self {
        value as Self
    }
    fn wide(self) -> f64 {
        self.into()
    }
}

impl Lane for f64 {
    const EXACT: u64 = 1 << 53;
    const NONE: Self = Self::NEG_INFINITY;
    fn of(value: u64) -> Self {
        value as Self
    }
    fn wide(self) -> f64 {
        self
    }
}

/// Holds the most capacity that can stay inside the parts of a partition, by the number of parts
/// less one.
type Kept<F> = [F; MAX_VERTICES];

/// Returns the strength of each subset of the vertices, by its bits, in the capacities' unit. It is
/// the rate at which spanning trees of the subset's induced graph can be packed. It is zero where
/// the induced graph is not connected, and infinite for a single vertex and the empty set.
///
/// `capacity` is the symmetric matrix of undirected capacities, row by row. The arithmetic is exact
/// where they add up to less than 2^53 times their greatest common divisor. It is twice as fast
/// below 2^24 times.
///
/// # Panics
/// If there are more than [`MAX_VERTICES`] vertices.
#[must_use]
pub fn strength_of_subsets(count: usize, capacity: &[u64]) -> Vec<f64> {
    assert!(count <= MAX_VERTICES, "one word of 16 bits per subset");
    let unit = common_unit(capacity);
    let units: Vec<u64> = capacity.iter().map(|value| value / unit).collect();
    let strength = if units.iter().sum::<u64>() < f32::EXACT {
        tabulate::<f32>(count, &units)
    } else {
        tabulate::<f64>(count, &units)
    };
    strength.into_iter().map(|value| value * unit as f64).collect()
}

fn tabulate<F: Lane>(count: usize, capacity: &[u64]) -> Vec<f64> {
    let subsets = 1_usize << count;
    let inside = induced_sums::<F>(count, capacity);
    let connected = connected_subsets(count, capacity);
    let weakest = capacity.iter().filter(|value| **value > 0).min().copied().unwrap_or(0) as f64;
    let mut kept: Vec<Kept<F>> = vec![[F::NONE; MAX_VERTICES]; subsets];
    let mut strength = vec![0.0; subsets];
    strength[0] = f64::INFINITY;
    // Part by part, highest lowest vertex first, so that the rest is always finished.
    for lowest in (0..count).rev() {
        let above = (subsets - 1) & !((2 << lowest) - 1);
        for part in (1 << lowest..subsets).step_by(2 << lowest).filter(|part| connected[*part]) {
            // All smaller parts of this subset have been tried, so that its row is finished.
            strength[part] = least_cut(inside[part], &kept[part], part.count_ones() as usize);
            let whole = inside[part];
            kept[part][0] = whole;
            // The parts of the finest tightest partition are single vertices or stronger than the
            // subset that they are parts of. That subset is at least as strong as any link.
            if strength[part] <= weakest {
                continue;
            }
            // It is also at least as strong as this part where every vertex outside has as much
            // capacity to it. Each such vertex joins as a leaf of every tree.
            let strong = F::of(strength[part].ceil() as u64);
            let joins = |vertex: usize| inside[part | 1 << vertex] - whole >= strong;
            if (0..count).all(|vertex| part >> vertex & 1 == 1 || joins(vertex)) {
                continue;
            }
            let outside = above & !part;
            let mut rest = outside;
            while rest != 0 {
                let of_rest = kept[rest];
                let row = &mut kept[part | rest];
                if rest.count_ones() <= 8 {
                    keep_more::<F, 8>(row, whole, &of_rest);
                } else {
                    keep_more::<F, { MAX_VERTICES - 1 }>(row, whole, &of_rest);
                }
                rest = (rest - 1) & outside;
            }
        }
    }
    strength
}

/// Returns the least crossing capacity per part less one, over partitions into two parts and more.
fn least_cut<F: Lane>(inside: F, kept: &Kept<F>, size: usize) -> f64 {
    let cut = |parts: usize| (inside - kept[parts - 1]).wide() / (parts - 1) as f64;
    (2..=size).map(cut).fold(f64::INFINITY, f64::min)
}

/// Updates a row with one part more than the rest's partitions have.
#[inline]
fn keep_more<F: Lane, const PARTS: usize>(row: &mut Kept<F>, whole: F, of_rest: &Kept<F>) {
    for parts in 0..PARTS {
        let more = whole + of_rest[parts];
        // Written out since `f32::max` also minds NaN, which costs three instructions more.
        row[parts + 1] = if more > row[parts + 1] { more } else { row[parts + 1] };
    }
}

/// Sums the capacity inside each subset.
fn induced_sums<F: Lane>(count: usize, capacity: &[u64]) -> Vec<F> {
    let mut sums = vec![F::of(0); 1 << count];
    for subset in 1..sums.len() {
        let lowest = subset.trailing_zeros() as usize;
        let rest = subset & (subset - 1);
        let to_rest: u64 = (lowest + 1..count)
            .filter(|other| rest >> other & 1 == 1)
            .map(|other| capacity[lowest * count + other])
            .sum();
        sums[subset] = sums[rest] + F::of(to_rest);
    }
    sums
}

/// Whether each subset's induced graph is connected; the empty set is not.
fn connected_subsets(count: usize, capacity: &[u64]) -> Vec<bool> {
    let neighbours: Vec<usize> = (0..count)
        .map(|a| (0..count).filter(|b| capacity[a * count + b] > 0).map(|b| 1 << b).sum())
        .collect();
    let mut connected = vec![false; 1 << count];
    for (subset, whole) in connected.iter_mut().enumerate().skip(1) {
        let mut reached = subset & subset.wrapping_neg();
        let mut frontier = reached;
        while frontier != 0 {
            let at = frontier.trailing_zeros() as usize;
            let fresh = neighbours[at] & subset & !reached;
            reached |= fresh;
            frontier = frontier & (frontier - 1) | fresh;
        }
        *whole = reached == subset;
    }
    connected
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Tries every partition of the subset, by restricted growth strings.
    fn strength_by_partitions(count: usize, capacity: &[u64], subset: usize) -> f64 {
        let vertices: Vec<usize> = (0..count).filter(|v| subset >> v & 1 == 1).collect();
        let mut part = vec![0_usize; vertices.len()];
        let mut least = f64::INFINITY;
        loop {
            let parts = part.iter().max().map_or(0, |most| most + 1);
            if parts >= 2 {
                let mut cut = 0;
                for i in 0..vertices.len() {
                    for j in 0..i {
                        if part[i] != part[j] {
                            cut += capacity[vertices[i] * count + vertices[j]];
                        }
                    }
                }
                least = least.min(cut as f64 / (parts - 1) as f64);
            }
            let grown = |i: usize| part[i] <= part[..i].iter().copied().max().unwrap_or(0);
            let Some(at) = (1..vertices.len()).rev().find(|i| grown(*i)) else { break };
            part[at] += 1;
            part[at + 1..].fill(0);
        }
        least
    }

    fn matrix(count: usize, edges: &[(usize, usize, u64)]) -> Vec<u64> {
        let mut capacity = vec![0; count * count];
        for (a, b, value) in edges {
            capacity[a * count + b] = *value;
            capacity[b * count + a] = *value;
        }
        capacity
    }

    #[test]
    fn the_whole_dgx1v_packs_24_links_in_7() {
        let double = [(0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (4, 7), (5, 6), (6, 7)];
        let single = [(0, 1), (0, 2), (1, 3), (2, 6), (3, 7), (4, 5), (4, 6), (5, 7)];
        let edges: Vec<_> = double
            .map(|(a, b)| (a, b, 2))
            .into_iter()
            .chain(single.map(|(a, b)| (a, b, 1)))
            .collect();
        let strength = strength_of_subsets(8, &matrix(8, &edges));
        assert_eq!(strength[255], 24.0 / 7.0);
    }

    proptest! {
        #[test]
        fn it_is_the_least_over_all_partitions(
            count in 2_usize..7,
            values in proptest::collection::vec(0_u8..4, 21),
        ) {
            let mut next = values.iter();
            let edges: Vec<_> = (0..count)
                .flat_map(|b| (0..b).map(move |a| (a, b)))
                .map(|(a, b)| (a, b, u64::from(*next.next().unwrap())))
                .collect();
            let capacity = matrix(count, &edges);
            let strength = strength_of_subsets(count, &capacity);
            for (subset, value) in strength.into_iter().enumerate().skip(1) {
                let expected = strength_by_partitions(count, &capacity, subset);
                prop_assert_eq!(value, expected);
            }
        }
    }
}
