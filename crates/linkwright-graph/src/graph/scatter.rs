//! How fast one vertex can give every other its own share.
//!
//! The flow that enters a set of vertices must carry the share of each terminal in it. Each set
//! without the root has a ratio: the capacity that enters it over the terminals in it. The rate is
//! the least of these. A share is feasible if a flow from the root gives every terminal that much.
//! Where a flow falls short, its cut is a set with a lower ratio (Dinkelbach 1967).

use super::greatest_common_divisor;
use super::max_flow::FlowGraph;

/// Returns the largest share that `root` can send to each of the vertices `0..terminals` at once.
/// It is a numerator and a denominator in the capacities' unit, and zero where one is out of its
/// reach.
///
/// `arcs` are from, to and capacity. Where every link is as fast in one direction as in the other,
/// the root can by symmetry also get that share from each.
///
/// # Panics
/// If there are fewer than two terminals, or the root or an arc's end is not a vertex.
#[must_use]
pub fn share_from_root(
    vertices: usize,
    terminals: usize,
    arcs: &[(usize, usize, u64)],
    root: usize,
) -> (u128, u128) {
    let best = largest(vertices, terminals, arcs, root);
    (best.share, best.scale)
}

/// Returns paths of a flow that gives every terminal that share. Each is a list of vertices from
/// the root to a terminal, with its flow in the capacities' unit over the share's denominator.
/// Short paths are taken first. The paths of each terminal add up to the share's numerator.
///
/// # Panics
/// Fails as [`share_from_root`] does.
#[must_use]
pub fn paths_from_root(
    vertices: usize,
    terminals: usize,
    arcs: &[(usize, usize, u64)],
    root: usize,
) -> Vec<(Vec<usize>, u128)> {
    let best = largest(vertices, terminals, arcs, root);
    let mut flow: Vec<u128> = (0..arcs.len()).map(|arc| best.network.flow(arc)).collect();
    let mut wanted = vec![best.share; terminals];
    wanted[root] = 0;
    let mut paths = Vec::new();
    while let Some(path) = shortest_path(vertices, arcs, &flow, &wanted, root) {
        let last = arcs[path[path.len() - 1]].1;
        let least = path.iter().map(|arc| flow[*arc]).fold(wanted[last], u128::min);
        path.iter().for_each(|arc| flow[*arc] -= least);
        wanted[last] -= least;
        let onward = path.iter().map(|arc| arcs[*arc].1);
        paths.push((std::iter::once(root).chain(onward).collect(), least));
    }
    paths
}

/// The arcs of a shortest path over which something flows to a terminal that wants more.
fn shortest_path(
    vertices: usize,
    arcs: &[(usize, usize, u64)],
    flow: &[u128],
    wanted: &[u128],
    root: usize,
) -> Option<Vec<usize>> {
    let mut into: Vec<Option<usize>> = vec![None; vertices];
    let mut reached = vec![root];
    let mut next = 0;
    while let Some(at) = reached.get(next).copied() {
        next += 1;
        if wanted.get(at).is_some_and(|wanted| *wanted > 0) {
            let arcs_back = std::iter::successors(into[at], |arc| into[arcs[*arc].0]);
            let mut path: Vec<usize> = arcs_back.collect();
            path.reverse();
            return Some(path);
        }
        for (arc, (from, to, _)) in arcs.iter().enumerate() {
            if *from == at && *to != root && into[*to].is_none() && flow[arc] > 0 {
                into[*to] = Some(arc);
                reached.push(*to);
            }
        }
    }
    None
}

/// The largest share and a flow that gives it to every terminal.
struct Largest {
    share: u128,
    scale: u128,
    network: FlowGraph,
}

fn largest(
    vertices: usize,
    terminals: usize,
    arcs: &[(usize, usize, u64)],
    root: usize,
) -> Largest {
    assert!(terminals >= 2, "a share needs somebody else to go to");
    let mut far: Vec<bool> = (0..vertices).map(|vertex| vertex != root).collect();
    loop {
        let entering = arcs.iter().filter(|(from, to, _)| !far[*from] && far[*to]);
        let entering: u128 = entering.map(|(_, _, capacity)| u128::from(*capacity)).sum();
        let inside = far[..terminals].iter().filter(|far| **far).count() as u128;
        let unit = greatest_common_divisor(entering, inside);
        let (share, scale) = (entering / unit, inside / unit);
        let sink = vertices;
        let mut network = FlowGraph::new(vertices + 1);
        for (from, to, capacity) in arcs {
            network.add_arc(*from, *to, u128::from(*capacity) * scale);
        }
        for terminal in (0..terminals).filter(|terminal| *terminal != root) {
            network.add_arc(terminal, sink, share);
        }
        if network.send(root, sink) == share * (terminals as u128 - 1) {
            return Largest { share, scale, network };
        }
        let near = network.reached_from(root);
        far = near[..vertices].iter().map(|near| !near).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_least_over_all_cuts(
            vertices in 2_usize..7,
            switches in 0_usize..3,
            links in proptest::collection::vec((0_usize..7, 0_usize..7, 1_u64..9), 0..25),
        ) {
            let terminals = vertices.saturating_sub(switches).max(2);
            let links = links.into_iter().map(|(a, b, c)| (a % vertices, b % vertices, c));
            let arcs: Vec<_> = links.filter(|(a, b, _)| a != b).collect();
            let found = share_from_root(vertices, terminals, &arcs, 0);
            let least = (1..1_usize << vertices)
                .filter(|far| far & 1 == 0)
                .filter_map(|far| {
                    let far = |vertex: usize| far >> vertex & 1 == 1;
                    let inside = (0..terminals).filter(|vertex| far(*vertex)).count() as u64;
                    let entering = arcs.iter().filter(|(from, to, _)| !far(*from) && far(*to));
                    let entering: u64 = entering.map(|(_, _, capacity)| capacity).sum();
                    (inside > 0).then(|| entering as f64 / inside as f64)
                })
                .fold(f64::INFINITY, f64::min);
            prop_assert!((found.0 as f64 / found.1 as f64 - least).abs() < 1e-9);

            let mut given = vec![0; terminals];
            let mut carried = std::collections::BTreeMap::new();
            for (path, units) in paths_from_root(vertices, terminals, &arcs, 0) {
                prop_assert!(path[0] == 0 && units > 0);
                given[path[path.len() - 1]] += units;
                for hop in path.windows(2) {
                    *carried.entry((hop[0], hop[1])).or_insert(0) += units;
                }
            }
            prop_assert!(given[1..].iter().all(|given| *given == found.0));
            for ((from, to), units) in carried {
                let joining = arcs.iter().filter(|(a, b, _)| (*a, *b) == (from, to));
                let capacity: u128 = joining.map(|(_, _, c)| u128::from(*c)).sum();
                prop_assert!(units <= capacity * found.1);
            }
        }
    }
}
