//! Divides a fat-tree.
//!
//! Whole pods are on one side, and perhaps a part of the leaves of one pod, with all of its
//! aggregates or with none. A core is where most of its aggregates are. The bandwidth between the
//! sides is linear in the number of leaves. So the least is where the number meets its end or the half.

use super::Halves;
use crate::system::fabric::{Fabric, FatTree};

/// Says which switches are in a set, but for the cores.
#[derive(Clone, Copy)]
struct Set {
    /// All leaves of this number of pods are in it.
    pods: u64,
    /// This number of leaves of one more pod is.
    leaves: u64,
    /// Whether the aggregates are of those pods, of the one more, and of the others.
    aggregates: [bool; 3],
}

/// Returns the least over such divisions.
pub(super) fn least(tree: &FatTree, fabric: &Fabric, halves: &Halves) -> u64 {
    let of_pod = u64::from(tree.leaves_per_pod) * u64::from(tree.nodes_per_leaf);
    let whole = halves.half() / of_pod;
    let mut least = halves.of_half();
    for pods in [0, whole.saturating_sub(1), whole] {
        let rest = halves.half().saturating_sub(pods * of_pod) / u64::from(tree.nodes_per_leaf);
        let all = u64::from(tree.leaves_per_pod);
        for leaves in [0, rest, rest + 1, all].into_iter().filter(|leaves| *leaves <= all) {
            for choice in 0..8 {
                let aggregates = [choice & 1 != 0, choice & 2 != 0, choice & 4 != 0];
                least = least.min(passing(tree, fabric, halves, Set { pods, leaves, aggregates }));
            }
        }
    }
    least
}

/// Returns the bandwidth between a set and the others.
fn passing(tree: &FatTree, fabric: &Fabric, halves: &Halves, set: Set) -> u64 {
    let rate =
        |channel: u32| fabric.channels().get(channel as usize).map_or(0, |it| it.bandwidth.0);
    let of_leaf = rate(tree.leaf_up(0, 0, 0)) * u64::from(tree.uplinks_per_leaf());
    let [all, leaves_of_pod] = [tree.pods, tree.leaves_per_pod].map(u64::from);
    let others = all - 1 - set.pods.min(all - 1);
    let Set { pods, leaves, aggregates: [of_pods, of_one, of_others] } = set;
    // Leaves whose pod's aggregates are on the other side.
    let crossing = [
        if of_pods { 0 } else { pods * leaves_of_pod },
        if of_one { leaves_of_pod - leaves } else { leaves },
        if of_others { others * leaves_of_pod } else { 0 },
    ];
    let inside =
        [if of_pods { pods } else { 0 }, u64::from(of_one), if of_others { others } else { 0 }];
    let inside: u64 = inside.iter().sum();
    let of_core = if tree.cores == 0 {
        0
    } else {
        let up =
            rate(tree.aggregate_up(tree.leaves(), 0, 0)) * u64::from(tree.uplinks_per_aggregate());
        up * u64::from(tree.aggregates_per_pod) * inside.min(all - inside)
    };
    let nodes = (pods * leaves_of_pod + leaves) * u64::from(tree.nodes_per_leaf);
    let misplaced = halves.misplaced(nodes) * rate(Fabric::injection(0));
    crossing.iter().sum::<u64>() * of_leaf + of_core + misplaced
}
