//! Turns weights into whole chunks.

use std::cmp::Reverse;

use crate::graph::greatest_common_divisor;

/// The most chunks that all groups together are cut into to keep weights exact.
const MOST_CHUNKS: u128 = 4_096;

/// How many chunks all groups together have where exact weights would need more than
/// [`MOST_CHUNKS`].
const ROUNDED_CHUNKS: usize = 1_024;

/// The fewest chunks that a group of rounded weights has.
const LEAST_ROUNDED: usize = 16;

/// Returns chunks for each weight of each group, as many in every group. They are in exact
/// proportion where a small number suffices. Otherwise the nearest are found by largest remainder,
/// with no weight left out. The limit is the number of chunks in all groups, since an executor has
/// to hold them all.
///
/// The weights of each group have the same sum, as the trees of every root of an all-gather.
pub(super) fn chunks_of(groups: &[Vec<u128>]) -> Vec<Vec<u32>> {
    let unit = groups.iter().flatten().copied().fold(0, greatest_common_divisor).max(1);
    let total: u128 = groups.first().map_or(0, |group| group.iter().sum::<u128>() / unit);
    let exact = |group: &Vec<u128>| group.iter().map(|weight| (weight / unit) as u32).collect();
    if total * groups.len() as u128 <= MOST_CHUNKS {
        return groups.iter().map(exact).collect();
    }
    let trees = groups.iter().map(Vec::len).max().unwrap_or(1);
    let whole = (ROUNDED_CHUNKS / groups.len().max(1)).max(LEAST_ROUNDED).max(trees);
    let rounded: Vec<Vec<u32>> = groups.iter().map(|group| rounded(group, whole)).collect();
    if groups.len() == 1 { rounded } else { without_common_divisor(rounded) }
}

/// Returns the same proportions in the fewest chunks.
fn without_common_divisor(mut groups: Vec<Vec<u32>>) -> Vec<Vec<u32>> {
    let all = groups.iter().flatten().map(|chunks| u128::from(*chunks));
    let unit = all.fold(0, greatest_common_divisor).max(1) as u32;
    groups.iter_mut().flatten().for_each(|chunks| *chunks /= unit);
    groups
}

/// `whole` chunks, at least as many as there are weights, shared among them.
fn rounded(weights: &[u128], whole: usize) -> Vec<u32> {
    let total: f64 = weights.iter().map(|weight| *weight as f64).sum();
    let shares: Vec<f64> =
        weights.iter().map(|weight| *weight as f64 / total * whole as f64).collect();
    let mut chunks: Vec<usize> = shares.iter().map(|share| (*share as usize).max(1)).collect();
    let lacks = |chunks: &[usize], at: usize| shares[at] - chunks[at] as f64;
    // Thousands of a share each: exact ties are decided by the lowest index.
    while chunks.iter().sum::<usize>() != whole {
        let missing = chunks.iter().sum::<usize>() < whole;
        let order = |at: &usize| ((lacks(&chunks, *at) * 1e6) as i64, Reverse(*at));
        let all = 0..chunks.len();
        let chosen = if missing {
            all.max_by_key(order)
        } else {
            all.filter(|at| chunks[*at] > 1).min_by_key(order)
        };
        let Some(at) = chosen else { break };
        if missing { chunks[at] += 1 } else { chunks[at] -= 1 }
    }
    chunks.into_iter().map(|count| count as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_proportions_are_exact() {
        assert_eq!(chunks_of(&[vec![6_000_000_000, 3_000_000_000]]), [[2, 1]]);
        assert_eq!(chunks_of(&[vec![7]]), [[1]]);
        let groups = chunks_of(&[vec![3, 3], vec![6], vec![2, 4]]);
        assert_eq!(groups, [vec![3, 3], vec![6], vec![2, 4]]);
    }

    #[test]
    fn many_groups_share_the_bound_of_all() {
        let odd: Vec<u128> = (1..=12).map(|at| (1 << 40) + at * at * 7_919).collect();
        for groups in [1, 2, 16, 64] {
            let found = chunks_of(&vec![odd.clone(); groups]);
            let all: u32 = found.iter().flatten().sum();
            assert!(all as usize <= ROUNDED_CHUNKS.max(LEAST_ROUNDED * groups), "{groups}: {all}");
            assert!(found.iter().all(|group| *group == found[0]), "{groups}");
        }
    }

    proptest! {
        #[test]
        fn every_weight_gets_its_part(
            weights in proptest::collection::vec(1_u128..u128::from(u64::MAX), 1..40),
        ) {
            let chunks = chunks_of(std::slice::from_ref(&weights)).remove(0);
            let all: u32 = chunks.iter().sum();
            prop_assert!(weights.len() == 1 || all as usize == ROUNDED_CHUNKS);
            let total: f64 = weights.iter().map(|weight| *weight as f64).sum();
            for (chunk, weight) in chunks.iter().zip(&weights) {
                prop_assert!(*chunk > 0);
                let exact = *weight as f64 / total;
                let given = f64::from(*chunk) / f64::from(all);
                prop_assert!((exact - given).abs() < 0.01, "{exact} {given}");
            }
        }
    }
}
