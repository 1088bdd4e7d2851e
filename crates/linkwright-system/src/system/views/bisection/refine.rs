//! Moves single switches to improve a division.
//!
//! Source: C. Fiduccia and R. Mattheyses, "A Linear-Time Heuristic for Improving Network Partitions",
//! DAC 1982. A pass moves every switch once, always the one whose move costs least, and keeps the best
//! set on the way. Passes follow until one finds nothing better.

use super::Halves;

/// A fabric is improved up to this number of switches; a pass takes their square.
const MOST_SWITCHES: usize = 4_096;

/// Returns the bandwidth between the halves of a set of switches, or of the best set that passes reach
/// from it.
pub(super) fn refined(halves: &Halves, mut inside: Vec<bool>) -> u64 {
    let mut least = halves.passing(&inside);
    if inside.len() > MOST_SWITCHES {
        return least;
    }
    while let Some((better, set)) = pass(halves, inside, least) {
        (least, inside) = (better, set);
    }
    least
}

/// Returns a set that passes less than `least`, and how much.
fn pass(halves: &Halves, mut inside: Vec<bool>, least: u64) -> Option<(u64, Vec<bool>)> {
    let count = inside.len();
    let of_node = halves.links.first().map_or(0, |(rate, _)| i128::from(*rate));
    let misplaced = |nodes: u64| i128::from(halves.misplaced(nodes)) * of_node;
    let mut nodes: u64 = (0..count).filter(|it| inside[*it]).map(|it| halves.nodes[it]).sum();
    // A link that is not cut costs its rate once one of its ends moves, and one that is gains it.
    let cost = |inside: &[bool], switch: usize| -> i128 {
        let links = halves.neighbours[switch].iter().map(|(to, rate)| (*to as usize, *rate));
        links.map(|(to, rate)| signed(rate, inside[to] == inside[switch])).sum()
    };
    let mut costs: Vec<i128> = (0..count).map(|switch| cost(&inside, switch)).collect();
    let mut left: Vec<usize> = (0..count).collect();
    let (mut now, mut best) = (i128::from(least), None);
    let mut lowest = now;
    while !left.is_empty() {
        let after = |switch: usize| match inside[switch] {
            true => nodes - halves.nodes[switch],
            false => nodes + halves.nodes[switch],
        };
        let change = |switch: usize| costs[switch] + misplaced(after(switch)) - misplaced(nodes);
        let place = (0..left.len()).min_by_key(|place| (change(left[*place]), left[*place]))?;
        let switch = left[place];
        now += change(switch);
        nodes = after(switch);
        left.swap_remove(place);
        inside[switch] = !inside[switch];
        costs[switch] = -costs[switch];
        for (to, rate) in &halves.neighbours[switch] {
            let to = *to as usize;
            costs[to] += 2 * signed(*rate, inside[to] == inside[switch]);
        }
        if now < lowest {
            lowest = now;
            best = Some(inside.clone());
        }
    }
    best.map(|set| (lowest as u64, set))
}

/// Returns a rate as a cost, or as a gain.
fn signed(rate: u64, is_cost: bool) -> i128 {
    if is_cost { i128::from(rate) } else { -i128::from(rate) }
}
