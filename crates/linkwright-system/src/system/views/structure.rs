//! Tells the structure of a fabric as graph theory does: distances, shortest paths, cables.
//!
//! The distance of two nodes counts the links between their switches on a shortest path; nodes of one
//! switch are 0 apart. The links of the nodes themselves are left out, since every path has two of them.

use std::collections::BTreeMap;

use crate::system::fabric::{ChannelId, End, Fabric, NodeId, SwitchId};
use crate::table::Table;

/// A fabric's distances are told up to this number of looks at a channel, a few seconds of work.
const MOST_LOOKS: u64 = 1 << 31;

/// Holds the distances of all pairs of different nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distances {
    /// Gives the longest distance.
    pub diameter: u32,
    /// Gives the mean distance.
    pub mean: f64,
}

/// Counts the links of a fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cables {
    /// Counts the links of nodes.
    pub to_nodes: u64,
    /// Counts the links between switches.
    pub between_switches: u64,
}

/// Counts the links of a fabric, each one cable.
#[must_use]
pub fn cables(fabric: &Fabric) -> Cables {
    let all = fabric.channels().len() as u64 / 2;
    let to_nodes = u64::from(fabric.nodes());
    Cables { to_nodes, between_switches: all - to_nodes }
}

/// Returns the distances of all pairs of nodes.
///
/// None of fewer than two nodes, of nodes that no links join, and of fabrics so large that the search
/// would take minutes.
#[must_use]
pub fn distances(fabric: &Fabric) -> Option<Distances> {
    let count = nodes_by_switch(fabric);
    let sources = count.iter().filter(|nodes| **nodes > 0).count() as u64;
    let nodes = u64::from(fabric.nodes());
    if nodes < 2 || sources * fabric.channels().len() as u64 > MOST_LOOKS {
        return None;
    }
    let (mut diameter, mut total) = (0, 0_u128);
    for (switch, here) in count.iter().enumerate().filter(|(_, here)| **here > 0) {
        for (there, hops) in hops_to(fabric, switch as SwitchId).into_iter().enumerate() {
            if count[there] > 0 {
                if hops == u32::MAX {
                    return None;
                }
                diameter = diameter.max(hops);
                total += u128::from(hops) * u128::from(*here) * u128::from(count[there]);
            }
        }
    }
    let pairs = u128::from(nodes) * u128::from(nodes - 1);
    Some(Distances { diameter, mean: total as f64 / pairs as f64 })
}

/// Counts the nodes of each switch.
pub(super) fn nodes_by_switch(fabric: &Fabric) -> Vec<u64> {
    let mut count = vec![0; fabric.switches() as usize];
    (0..fabric.nodes()).for_each(|node| count[fabric.switch_of(node) as usize] += 1);
    count
}

/// Returns for each switch the links to one of them; [`u32::MAX`] where none lead there.
pub(super) fn hops_to(fabric: &Fabric, goal: SwitchId) -> Vec<u32> {
    let mut hops = vec![u32::MAX; fabric.switches() as usize];
    hops[goal as usize] = 0;
    let mut reached = vec![goal];
    let mut at = 0;
    while let Some(switch) = reached.get(at).copied() {
        at += 1;
        for (_, other) in links_of(fabric, switch) {
            if hops[other as usize] == u32::MAX {
                hops[other as usize] = hops[switch as usize] + 1;
                reached.push(other);
            }
        }
    }
    hops
}

/// Lists the channels from a switch to others, each with the switch behind it.
pub(super) fn links_of(
    fabric: &Fabric,
    switch: SwitchId,
) -> impl Iterator<Item = (ChannelId, SwitchId)> {
    fabric.outgoing(switch).iter().filter_map(|channel| {
        match fabric.channels()[*channel as usize].to {
            End::Switch(other) => Some((*channel, other)),
            End::Node(_) => None,
        }
    })
}

/// Holds the shortest paths of a pair of nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShortestPaths {
    /// Counts the links between the switches of both.
    pub distance: u32,
    /// How many paths there are, each of parallel links being one of its own; [`u64::MAX`] stands for that
    /// many and more.
    pub count: u64,
    /// Lists the switches of each of the first paths, with the ways over parallel links.
    pub listed: Vec<(Vec<SwitchId>, u64)>,
}

/// Finds the shortest paths from a node to another, and lists at most `most`, by their switches.
///
/// None where no links join both. The nodes have to be there.
#[must_use]
pub fn shortest_paths(
    fabric: &Fabric,
    from: NodeId,
    to: NodeId,
    most: usize,
) -> Option<ShortestPaths> {
    let (start, goal) = (fabric.switch_of(from), fabric.switch_of(to));
    let hops = hops_to(fabric, goal);
    let distance = hops[start as usize];
    if distance == u32::MAX {
        return None;
    }
    // The ways from each switch on, nearest first.
    let mut nearer: Vec<SwitchId> =
        (0..fabric.switches()).filter(|switch| hops[*switch as usize] <= distance).collect();
    nearer.sort_by_key(|switch| hops[*switch as usize]);
    let mut ways = vec![0_u64; hops.len()];
    ways[goal as usize] = 1;
    for switch in nearer {
        for (next, parallel) in onward(fabric, &hops, switch) {
            let more = ways[next as usize].saturating_mul(parallel);
            ways[switch as usize] = ways[switch as usize].saturating_add(more);
        }
    }
    let mut listed = Vec::new();
    let mut open = vec![(vec![start], 1_u64)];
    while let Some((path, parallel)) = open.pop() {
        let at = path[path.len() - 1];
        if listed.len() == most {
            break;
        }
        if at == goal {
            listed.push((path, parallel));
            continue;
        }
        for (next, more) in onward(fabric, &hops, at).into_iter().rev() {
            let longer = [&path[..], &[next]].concat();
            open.push((longer, parallel.saturating_mul(more)));
        }
    }
    Some(ShortestPaths { distance, count: ways[start as usize], listed })
}

/// Lists the switches one link nearer, each with the parallel links to it.
fn onward(fabric: &Fabric, hops: &[u32], at: SwitchId) -> BTreeMap<SwitchId, u64> {
    let mut found = BTreeMap::new();
    for (_, other) in links_of(fabric, at) {
        if hops[other as usize].checked_add(1) == Some(hops[at as usize]) {
            *found.entry(other).or_insert(0) += 1;
        }
    }
    found
}

/// Gives the listed paths as a table, one row a path.
///
/// Columns: `path` (the names of its switches), `links` (between them), `ways` (over parallel links).
#[must_use]
pub fn paths_table(fabric: &Fabric, paths: &ShortestPaths) -> Table {
    let named = |switches: &[SwitchId]| -> String {
        let names: Vec<String> = switches.iter().map(|it| fabric.switch_name(*it)).collect();
        names.join(" > ")
    };
    let rows = &paths.listed;
    Table::new()
        .with("path", "", rows.iter().map(|(path, _)| named(path)).collect::<Vec<_>>())
        .with("links", "", rows.iter().map(|(path, _)| path.len() as u64 - 1).collect::<Vec<u64>>())
        .with("ways", "", rows.iter().map(|(_, ways)| *ways).collect::<Vec<u64>>())
}

#[cfg(test)]
mod tests;
