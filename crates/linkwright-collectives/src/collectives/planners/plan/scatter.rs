//! Plans scatter and gather by a flow of shares, where links join the GPUs directly.
//!
//! Along a spanning tree every link carries the shares of all ranks beyond it, so that packed
//! trees may stay far below the cuts. A flow that gives every rank its share reaches them; it
//! is taken apart into paths, each with a run of one rank's chunks.

use super::shares::chunks_of;
use crate::collectives::planners::link_graph::LinkGraph;
use crate::collectives::planners::lowering::RankPath;
use crate::collectives::schedule::collective::Collective;
use crate::graph::scatter::paths_from_root;

/// Returns paths that reach the largest rate between the root and all others, and the chunks of a
/// shard.
pub(super) fn paths(
    graph: &LinkGraph,
    collective: Collective,
    root: usize,
) -> (Vec<RankPath>, u32) {
    let both = |(a, b, capacity): &(usize, usize, u64)| [(*a, *b, *capacity), (*b, *a, *capacity)];
    let arcs: Vec<_> = graph.links.iter().flat_map(both).collect();
    let mut found = paths_from_root(graph.devices.len(), graph.gpus, &arcs, root);
    let end = |path: &[usize]| path[path.len() - 1];
    found.sort_by_key(|(path, _)| end(path));
    let groups: Vec<Vec<u128>> = found
        .chunk_by(|(a, _), (b, _)| end(a) == end(b))
        .map(|paths| paths.iter().map(|(_, units)| *units).collect())
        .collect();
    let groups = chunks_of(&groups);
    let chunks = groups[0].iter().sum();
    let path = |((ranks, _), chunks)| RankPath { ranks, chunks, channel: 0 };
    let mut paths: Vec<RankPath> =
        found.into_iter().zip(groups.into_iter().flatten()).map(path).collect();
    if matches!(collective, Collective::Gather { .. }) {
        // Links are as fast in one direction as in the other. Near ranks' shares go first.
        paths.iter_mut().for_each(|path| path.ranks.reverse());
        paths.sort_by_key(|path| path.ranks.len());
    } else {
        // Long paths start early.
        paths.sort_by_key(|path| std::cmp::Reverse(path.ranks.len()));
    }
    (paths, chunks)
}
