//! How fast one vertex can give every other its own share.
//!
//! Whatever enters a set of vertices must carry the share of each terminal in it: the rate is
//! the least, over the sets without the root, of the capacity that enters the set over the
//! terminals in it. A share is feasible if a flow from the root gives every terminal that
//! much; where a flow falls short, its cut is a set with a lower ratio (Dinkelbach 1967).

use super::greatest_common_divisor;
use super::max_flow::FlowNetwork;

/// The largest share that `root` can send to each of the vertices `0..terminals` at once, as
/// numerator and denominator in the capacities' unit; zero where one is out of its reach.
///
/// `arcs` are from, to and capacity. By symmetry it is also the largest share that the root
/// can get from each where every link is as fast in one direction as in the other.
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
    assert!(terminals >= 2, "a share needs somebody else to go to");
    let mut far: Vec<bool> = (0..vertices).map(|vertex| vertex != root).collect();
    loop {
        let entering = arcs.iter().filter(|(from, to, _)| !far[*from] && far[*to]);
        let entering: u128 = entering.map(|(_, _, capacity)| u128::from(*capacity)).sum();
        let inside = far[..terminals].iter().filter(|far| **far).count() as u128;
        let unit = greatest_common_divisor(entering, inside);
        let (share, scale) = (entering / unit, inside / unit);
        let sink = vertices;
        let mut network = FlowNetwork::new(vertices + 1);
        for (from, to, capacity) in arcs {
            network.add_arc(*from, *to, u128::from(*capacity) * scale);
        }
        for terminal in (0..terminals).filter(|terminal| *terminal != root) {
            network.add_arc(terminal, sink, share);
        }
        if network.send(root, sink) == share * (terminals as u128 - 1) {
            return (share, scale);
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
        }
    }
}
