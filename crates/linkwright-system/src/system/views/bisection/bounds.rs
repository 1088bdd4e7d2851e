//! Gives bounds of the bisection of any fabric.
//!
//! From above: divisions along the numbers of the switches and along the distance from one of them, each
//! improved by moving single switches. From below, by congestion (F. T. Leighton, "Introduction to
//! Parallel Algorithms and Architectures", 1992, section 1.9.2): every node sends the same to each other,
//! divided over all shortest paths. Between sides of a and b nodes pass a b in one direction. No
//! channel carries more for its bandwidth than the most loaded of all, so the cut is at least as wide.

use super::Halves;
use super::refine::refined;
use crate::system::fabric::{Fabric, SwitchId};
use crate::system::views::structure::{hops_to, links_of, nodes_by_switch};

/// A bound from below is sought up to this number of looks at a channel.
const MOST_LOOKS: u64 = 1 << 28;
/// Bounds how many divisions are improved, by the squares of the switches that this costs.
const MOST_SQUARES: usize = 1 << 22;
const MOST_STARTS: usize = 8;

/// Returns the least of the divisions that are looked at.
pub(super) fn from_above(fabric: &Fabric, halves: &Halves) -> u64 {
    let switches = halves.nodes.len();
    let starts = (MOST_SQUARES / (switches * switches).max(1)).clamp(1, MOST_STARTS);
    let numbered = (0..switches as SwitchId).collect();
    let by_distance = (0..starts).map(|start| {
        let hops = hops_to(fabric, (start * switches / starts) as SwitchId);
        let mut order: Vec<SwitchId> = (0..switches as SwitchId).collect();
        order.sort_by_key(|switch| hops[*switch as usize]);
        order
    });
    let orders = std::iter::once(numbered).chain(by_distance);
    let divided = orders.map(|order| refined(halves, first_half(halves, &order)));
    divided.min().unwrap_or(u64::MAX).min(halves.of_half())
}

/// Takes switches in an order until they have half of the nodes.
fn first_half(halves: &Halves, order: &[SwitchId]) -> Vec<bool> {
    let mut inside = vec![false; order.len()];
    let mut nodes = 0;
    for switch in order {
        let own = halves.nodes[*switch as usize];
        if nodes + own > halves.half() && nodes > 0 {
            break;
        }
        nodes += own;
        inside[*switch as usize] = true;
    }
    inside
}

/// Returns what congestion says of any division; 0 of fabrics too large to look through.
pub(super) fn from_below(fabric: &Fabric, halves: &Halves) -> u64 {
    let count = nodes_by_switch(fabric);
    let goals = count.iter().filter(|nodes| **nodes > 0).count() as u64;
    if goals * fabric.channels().len() as u64 > MOST_LOOKS {
        return 0;
    }
    let load = switch_loads(fabric);
    let congestion = fabric.channels().iter().zip(&load);
    let congestion =
        congestion.map(|(channel, load)| load / channel.bandwidth.0 as f64).fold(0.0, f64::max);
    if congestion == 0.0 {
        return 0;
    }
    // In a division some nodes may be in the other half than their switch. The links of these nodes
    // are cut, and between the switches passes what the sides without them send.
    let (half, all) = (halves.half(), halves.links.len() as u64);
    let mut of_nodes = 0_u64;
    let mut least = f64::MAX;
    for moved in 0..=half {
        let pairs =
            [half - moved, (half + moved).min(all)].map(|side| side as f64 * (all - side) as f64);
        least = least.min(of_nodes as f64 + pairs[0].min(pairs[1]) / congestion);
        of_nodes += halves.links.get(moved as usize).map_or(0, |(rate, _)| *rate);
    }
    // A hair less, so that rounding never lifts the bound above the truth.
    (least * (1.0 - 1e-9)) as u64
}

/// Returns the pairs of nodes that cross each channel between switches, if each divides over all its
/// shortest paths.
///
/// A switch divides what comes over its channels onward by their bandwidths.
pub(super) fn switch_loads(fabric: &Fabric) -> Vec<f64> {
    let count = nodes_by_switch(fabric);
    let mut load = vec![0.0; fabric.channels().len()];
    for (goal, nodes) in count.iter().enumerate().filter(|(_, nodes)| **nodes > 0) {
        let hops = hops_to(fabric, goal as SwitchId);
        let mut order: Vec<usize> =
            (0..hops.len()).filter(|it| hops[*it] != u32::MAX && *it != goal).collect();
        order.sort_by_key(|switch| std::cmp::Reverse(hops[*switch]));
        let mut flow: Vec<f64> = count.iter().map(|here| (here * nodes) as f64).collect();
        for switch in order {
            let next: Vec<_> = links_of(fabric, switch as SwitchId)
                .filter(|(_, other)| hops[*other as usize] + 1 == hops[switch])
                .map(|(channel, other)| {
                    (
                        channel as usize,
                        other as usize,
                        fabric.channels()[channel as usize].bandwidth.0 as f64,
                    )
                })
                .collect();
            let width: f64 = next.iter().map(|(.., width)| width).sum();
            for (channel, other, own) in next {
                let part = flow[switch] * own / width;
                load[channel] += part;
                flow[other] += part;
            }
        }
    }
    load
}
