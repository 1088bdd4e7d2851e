//! Searches through all sets of switches.

use super::Halves;

/// A search has at most this many switches: half a million sets.
pub(super) const MOST_SWITCHES: usize = 20;

/// Returns the least over all sets of switches; None of more switches than can be searched.
pub(super) fn least(halves: &Halves) -> Option<u64> {
    let switches = halves.neighbours.len();
    if switches > MOST_SWITCHES {
        return None;
    }
    let mut inside = vec![false; switches];
    let (mut leaving, mut nodes) = (0, 0);
    let mut least = halves.of_half();
    // Gray's order changes one switch from set to set; the last one stays outside, since a set and
    // what is not in it divide alike.
    for step in 1..1_u32 << (switches - 1) {
        let switch = step.trailing_zeros() as usize;
        inside[switch] = !inside[switch];
        for (to, rate) in &halves.neighbours[switch] {
            if inside[*to as usize] == inside[switch] {
                leaving -= rate;
            } else {
                leaving += rate;
            }
        }
        if inside[switch] {
            nodes += halves.nodes[switch];
        } else {
            nodes -= halves.nodes[switch];
        }
        if leaving < least {
            least = least.min(leaving + halves.of_misplaced(&inside, nodes));
        }
    }
    Some(least)
}
