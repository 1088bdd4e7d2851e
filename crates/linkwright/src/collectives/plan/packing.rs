//! Spanning trees packed on a job's links, at the optimum, as trees of its ranks.

use crate::graph::spanning_trees::{Search, pack_spanning_trees};

use super::super::collective::Collective;
use super::super::link_graph::LinkGraph;
use super::super::lowering::RootedTree;
use super::super::schedule::{Channel, Transport};
use super::PlanError;
use super::shares::chunks_of;

/// Trees for a collective and the most that any could reach, B/s of its size.
pub(super) fn pack(
    graph: &LinkGraph,
    collective: Collective,
    transport: Transport,
) -> Result<(Vec<RootedTree>, Option<f64>), PlanError> {
    let (trees, rate) =
        undirected(graph.gpus, &graph.direct_capacity(), transport).ok_or(PlanError::TooFine)?;
    let _ = collective;
    Ok((trees, Some(rate.0 as f64 / rate.1 as f64)))
}

/// One star for each rank; a collective with a root has but that one.
pub(super) fn stars(
    ranks: usize,
    collective: Collective,
    transport: Transport,
) -> Result<Vec<RootedTree>, PlanError> {
    let star = |root: usize| RootedTree {
        parent: (0..ranks).map(|rank| (rank != root).then_some(root)).collect(),
        chunks: 1,
        channel: Channel { transport, relays: Vec::new() },
    };
    Ok(match collective.root() {
        Some(root) => vec![star(root)],
        None => (0..ranks).map(star).collect(),
    })
}

/// The undirected packing for an all-reduce on links without switches, and its rate as a
/// fraction of bytes per second. `None` where the weights leave 128 bits.
pub(super) fn undirected(
    ranks: usize,
    capacity: &[u64],
    transport: Transport,
) -> Option<(Vec<RootedTree>, (u128, u128))> {
    let packing = pack_spanning_trees(ranks, capacity, Search::default())?;
    let weights = packing.trees.iter().map(|tree| tree.weight).collect();
    let chunks = chunks_of(&[weights]).remove(0);
    let trees = packing.trees.iter().zip(chunks).map(|(tree, chunks)| RootedTree {
        parent: parents(ranks, &tree.edges, tree.root),
        chunks,
        channel: Channel { transport, relays: Vec::new() },
    });
    Some((trees.collect(), packing.rate))
}

/// The parent of every vertex of a tree that hangs from `root`.
fn parents(vertices: usize, edges: &[(usize, usize)], root: usize) -> Vec<Option<usize>> {
    let mut parent = vec![None; vertices];
    let mut reached = vec![root];
    let mut next = 0;
    while let Some(at) = reached.get(next).copied() {
        next += 1;
        for (a, b) in edges {
            for (from, to) in [(*a, *b), (*b, *a)] {
                if from == at && Some(to) != parent[at] {
                    parent[to] = Some(at);
                    reached.push(to);
                }
            }
        }
    }
    parent
}
