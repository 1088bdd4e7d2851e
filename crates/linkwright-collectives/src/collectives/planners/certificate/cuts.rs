//! The sets of vertices whose links bound a collective.

use crate::collectives::planners::link_graph::LinkGraph;
use crate::graph::max_flow::FlowGraph;

/// Marks the vertices on one side, by their indices.
pub(super) type Side = Vec<bool>;

/// Makes the graph's arcs with their capacities times `scale`, and `more` nodes.
fn network(graph: &LinkGraph, scale: u128, more: usize) -> FlowGraph {
    let mut network = FlowGraph::new(graph.devices.len() + more);
    for (a, b, capacity) in &graph.links {
        network.add_arc(*a, *b, scale * u128::from(*capacity));
        network.add_arc(*b, *a, scale * u128::from(*capacity));
    }
    network
}

/// Sums what all links carry in one direction, which is more than any cut.
fn everything(graph: &LinkGraph) -> u128 {
    graph.links.iter().map(|(_, _, capacity)| u128::from(*capacity)).sum::<u128>() + 1
}

/// Sums what leaves a side.
fn leaving(graph: &LinkGraph, side: &[bool]) -> u128 {
    let crossing = graph.links.iter().filter(|(a, b, _)| side[*a] != side[*b]);
    crossing.map(|(_, _, capacity)| u128::from(*capacity)).sum()
}

/// Counts the GPUs on a side.
fn within(graph: &LinkGraph, side: &[bool]) -> u128 {
    side[..graph.gpus].iter().filter(|is_near| **is_near).count() as u128
}

/// The least cut between the root, which is inside, and some other GPU.
pub(super) fn from_root(graph: &LinkGraph, root: usize) -> Option<Side> {
    let cut = |to: usize| {
        let mut network = network(graph, 1, 0);
        (network.send(root, to), network.reached_from(root))
    };
    let cuts = (0..graph.gpus).filter(|to| *to != root).map(cut);
    cuts.min_by_key(|(flow, _)| *flow).map(|(_, side)| side)
}

/// The side with the root for whose other GPUs the least of capacity is left, each.
pub(super) fn to_each_from_root(graph: &LinkGraph, root: usize) -> Side {
    let source_side = |far: &Side| -> Side { far.iter().map(|is_far| !is_far).collect() };
    let mut far: Side = (0..graph.devices.len()).map(|vertex| vertex != root).collect();
    loop {
        let (entering, inside) = (leaving(graph, &far), within(graph, &far));
        let sink = graph.devices.len();
        let mut network = network(graph, inside, 1);
        let others = (0..graph.gpus).filter(|vertex| *vertex != root);
        for vertex in others {
            network.add_arc(vertex, sink, entering);
        }
        let wanted = entering * (graph.gpus as u128 - 1);
        if network.send(root, sink) == wanted {
            return source_side(&far);
        }
        let near = network.reached_from(root);
        far = near[..sink].iter().map(|is_near| !is_near).collect();
    }
}

/// The side of some GPUs, not all, that leaves each of them the least of capacity.
pub(super) fn of_each(graph: &LinkGraph) -> Side {
    let mut side: Side = (0..graph.devices.len()).map(|vertex| vertex > 0).collect();
    for to in 0..graph.gpus {
        loop {
            let (share, scale) = (leaving(graph, &side), within(graph, &side));
            let source = graph.devices.len();
            let mut network = network(graph, scale, 1);
            (0..graph.gpus).for_each(|vertex| network.add_arc(source, vertex, share));
            if network.send(source, to) == share * graph.gpus as u128 {
                break;
            }
            side = network.reached_from(source);
            side.truncate(source);
        }
    }
    side
}

/// For each group of GPUs the smallest of the sets around it that the least capacity leaves; they
/// are disjoint.
pub(super) fn isolating(graph: &LinkGraph, groups: &[Vec<usize>]) -> Vec<Side> {
    let around = |group: &Vec<usize>| {
        let (source, sink) = (graph.devices.len(), graph.devices.len() + 1);
        let mut network = network(graph, 1, 2);
        for vertex in 0..graph.gpus {
            let is_own = group.contains(&vertex);
            let ends = if is_own { (source, vertex) } else { (vertex, sink) };
            network.add_arc(ends.0, ends.1, everything(graph));
        }
        network.send(source, sink);
        let mut side = network.reached_from(source);
        side.truncate(source);
        side
    };
    groups.iter().map(around).collect()
}
