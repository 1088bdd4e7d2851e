//! Scatter and gather by a flow of shares, where links join the GPUs directly.
//!
//! Along a spanning tree every link carries the shares of all ranks beyond it, so that packed
//! trees may stay far below the cuts. A flow that gives every rank its share reaches them; it
//! is taken apart into ways, each with a run of one rank's chunks.

use super::super::collective::Collective;
use super::super::link_graph::LinkGraph;
use super::super::lowering::Way;
use super::shares::chunks_of;
use crate::graph::scatter::ways_from_root;

/// Ways that reach the largest rate between the root and all others, and the chunks of a
/// shard.
pub(super) fn ways(graph: &LinkGraph, collective: Collective, root: usize) -> (Vec<Way>, u32) {
    let both = |(a, b, capacity): &(usize, usize, u64)| [(*a, *b, *capacity), (*b, *a, *capacity)];
    let arcs: Vec<_> = graph.links.iter().flat_map(both).collect();
    let mut found = ways_from_root(graph.devices.len(), graph.gpus, &arcs, root);
    let end = |path: &[usize]| path[path.len() - 1];
    found.sort_by_key(|(path, _)| end(path));
    let groups: Vec<Vec<u128>> = found
        .chunk_by(|(a, _), (b, _)| end(a) == end(b))
        .map(|ways| ways.iter().map(|(_, units)| *units).collect())
        .collect();
    let groups = chunks_of(&groups);
    let chunks = groups[0].iter().sum();
    let way = |((ranks, _), chunks)| Way { ranks, chunks };
    let mut ways: Vec<Way> = found.into_iter().zip(groups.into_iter().flatten()).map(way).collect();
    if matches!(collective, Collective::Gather { .. }) {
        // Links are as fast in one direction as in the other. Near ranks' shares go first.
        ways.iter_mut().for_each(|way| way.ranks.reverse());
        ways.sort_by_key(|way| way.ranks.len());
    } else {
        // Long ways start early.
        ways.sort_by_key(|way| std::cmp::Reverse(way.ranks.len()));
    }
    (ways, chunks)
}
