//! The set of vertices that keeps the most capacity inside for what its vertices cost.
//!
//! Cuts through spanning trees come down to this question: of the sets with one vertex that
//! is given, which has the most `inside(S) - cost(S)`? It is a closure problem, hence one
//! minimum cut.

use super::max_flow::FlowGraph;

/// The most `inside(S) - cost(S without last)` over the sets S of `last` and vertices below
/// it, and the smallest such set as a table over `0..=last`.
///
/// `inside(a, b)` is the capacity between `a` and a lower `b`; `cost` has just one entry
/// for every vertex below `last`. The result is at least zero, which `last` alone attains.
pub(super) fn heaviest_set(
    last: usize,
    inside: impl Fn(usize, usize) -> u128,
    cost: &[u128],
) -> (u128, Vec<bool>) {
    // inside(S) is what S has to lower vertices, less what of it leaves S: the arcs.
    let sink = last + 1;
    let mut network = FlowGraph::new(last + 2);
    let mut most = 0;
    for at in 0..=last {
        let mut to_lower = 0;
        for lower in 0..at {
            let capacity = inside(at, lower);
            if capacity > 0 {
                network.add_arc(at, lower, capacity);
                to_lower += capacity;
            }
        }
        match cost.get(at) {
            None => most += to_lower,
            Some(cost) if to_lower > *cost => {
                network.add_arc(last, at, to_lower - cost);
                most += to_lower - cost;
            }
            Some(cost) => network.add_arc(at, sink, cost - to_lower),
        }
    }
    let flow = network.send(last, sink);
    let mut chosen = network.reached_from(last);
    chosen.truncate(sink);
    (most - flow, chosen)
}
