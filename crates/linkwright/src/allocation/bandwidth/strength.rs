//! The tree-packing number of every subset of a small graph.
//!
//! On full-duplex links one spanning tree carries a reduction up and a broadcast down, so
//! the rate of an all-reduce is what spanning trees can be packed at. By Nash-Williams and
//! Tutte the best fractional packing is the least, over all partitions of the vertices into
//! p >= 2 parts, of the capacity that crosses between parts divided by p - 1 (the graph's
//! strength). Here it is found for every subset at once, exactly, by dynamic programming
//! over subsets: the most capacity that p parts can keep inside, for every p.

/// The most vertices of a graph whose subsets are all tabulated.
pub const MAX_VERTICES: usize = 16;

/// No partition into that many parts; far from overflow when sums are added to it.
const NONE: i64 = i64::MIN / 4;

/// Strength of each subset of the vertices, by its bits: rate at which spanning trees of the
/// subset's induced graph can be packed, in the capacities' unit. Zero where the induced
/// graph is not connected, infinite for a single vertex and the empty set.
///
/// `capacity` is the symmetric matrix of undirected capacities, row by row.
///
/// # Panics
/// If there are more than [`MAX_VERTICES`] vertices.
#[must_use]
pub fn strength_of_subsets(count: usize, capacity: &[u64]) -> Vec<f64> {
    assert!(count <= MAX_VERTICES, "one word of 16 bits per subset");
    let subsets = 1_usize << count;
    let inside = induced_sums(count, capacity);
    let connected = connected_subsets(count, capacity);
    // kept[subset][p - 1]: the most capacity inside the parts of a partition into p parts.
    let mut kept = vec![[NONE; MAX_VERTICES]; subsets];
    // Part by part, highest lowest vertex first, so that the rest is always finished.
    for lowest in (0..count).rev() {
        let above = (subsets - 1) & !((2 << lowest) - 1);
        for part in (1 << lowest..subsets).step_by(2 << lowest).filter(|part| connected[*part]) {
            let outside = above & !part;
            let whole = inside[part];
            kept[part][0] = kept[part][0].max(whole);
            let mut rest = outside;
            while rest != 0 {
                let parts_left = rest.count_ones() as usize;
                let (target, of_rest) = (part | rest, kept[rest]);
                let row = &mut kept[target];
                for parts in 0..parts_left.min(MAX_VERTICES - 1) {
                    row[parts + 1] = row[parts + 1].max(whole + of_rest[parts]);
                }
                rest = (rest - 1) & outside;
            }
        }
    }
    let strength = |subset: usize| {
        let size = subset.count_ones() as usize;
        if size <= 1 {
            return f64::INFINITY;
        }
        if !connected[subset] {
            return 0.0;
        }
        let cut = |parts: usize| (inside[subset] - kept[subset][parts - 1]) as f64 / (parts - 1) as f64;
        (2..=size).map(cut).fold(f64::INFINITY, f64::min)
    };
    (0..subsets).map(strength).collect()
}

/// Total capacity inside each subset.
fn induced_sums(count: usize, capacity: &[u64]) -> Vec<i64> {
    let mut sums = vec![0; 1 << count];
    for subset in 1..sums.len() {
        let lowest = subset.trailing_zeros() as usize;
        let rest = subset & (subset - 1);
        let to_rest: i64 = (lowest + 1..count)
            .filter(|other| rest >> other & 1 == 1)
            .map(|other| capacity[lowest * count + other] as i64)
            .sum();
        sums[subset] = sums[rest] + to_rest;
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

    /// Every partition of the subset, by restricted growth strings.
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
