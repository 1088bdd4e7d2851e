//! Finds the links that join the GPUs of several servers where a fabric joins those of each.
//!
//! Inside a server its fabric counts and nothing else. PCIe beside it, on the same GPUs at once, is
//! a hybrid, which no executor does unasked. Between two servers the GPUs are paired, the first of
//! one with the first of the other. A pair's link is its part of the network interfaces nearest to
//! both, as a connection between them is routed. This leaves out interfaces farther away, and pairs
//! of servers that take more than an equal part of an interface.

use std::collections::BTreeMap;

use super::three_phase::roots;
use crate::collectives::nccl::baselines::by_server;
use crate::collectives::planners::link_graph::{LinkClass, LinkGraph};
use crate::network::{RouteClass, Routes};
use crate::system::Wiring;

/// Sets the unit in bytes per second. Parts of interfaces, and the links beside them, are rounded
/// down to multiples of it. So capacities keep a common unit that exact arithmetic can hold. A
/// fabric's bandwidths and those of abstract nodes are any numbers.
const UNIT: f64 = 1e5;

fn in_units(bandwidth: f64) -> u64 {
    ((bandwidth / UNIT + 1e-6).floor().max(1.0) * UNIT) as u64
}

/// Returns the graph of GPUs on several servers. It is None where they are on one server, where
/// some server's fabric does not join its GPUs, or where no network joins the servers.
pub(super) fn graph(wiring: &Wiring, gpus: &[usize]) -> Option<LinkGraph> {
    let mut servers = by_server(wiring, gpus);
    let joined = |ranks: &Vec<usize>| {
        let own: Vec<usize> = ranks.iter().map(|rank| gpus[*rank]).collect();
        own.len() < 2 || LinkGraph::on(wiring, &own, LinkClass::Fabric).is_ok()
    };
    if servers.len() < 2 || !servers.iter().all(joined) {
        return None;
    }
    // GPUs that are alike stay in the order of their ranks, so that a plan depends on no more.
    let place = |rank: &usize| Some(gpus[*rank]).filter(|gpu| !wiring.is_alike(*gpu));
    servers.iter_mut().for_each(|ranks| ranks.sort_by_key(place));
    let mut graph = LinkGraph::unjoined(wiring, gpus, LinkClass::Fabric);
    graph.links.iter_mut().for_each(|(.., capacity)| *capacity = in_units(*capacity as f64));
    graph.links.extend(between(wiring, gpus, &servers)?);
    graph.links.sort_unstable();
    Some(graph)
}

/// Lists the pairs of ranks on different servers with the bandwidth of each, lower rank first.
fn between(
    wiring: &Wiring,
    gpus: &[usize],
    servers: &[Vec<usize>],
) -> Option<Vec<(usize, usize, u64)>> {
    let routes = Routes::at_peak(wiring);
    let device = |rank: usize| wiring.gpu(gpus[rank]);
    let weights = roots(wiring, gpus, servers);
    let mut pairs = Vec::new();
    let mut loads: BTreeMap<usize, f64> = BTreeMap::new();
    for (at, near) in weights.iter().enumerate() {
        for far in &weights[at + 1..] {
            for (a, b, weight) in paired(near, far) {
                let there = routes.route(device(a), device(b), RouteClass::Network)?;
                let back = routes.route(device(b), device(a), RouteClass::Network)?;
                let uses: Vec<(usize, f64)> = [there.uses, back.uses].concat();
                for (resource, part) in &uses {
                    *loads.entry(*resource).or_default() += weight * part;
                }
                pairs.push((a.min(b), a.max(b), weight, uses));
            }
        }
    }
    let capacity = |weight: f64, uses: &[(usize, f64)]| {
        let parts = uses.iter().map(|(at, _)| routes.capacities()[*at].0 as f64 / loads[at]);
        in_units(parts.fold(f64::INFINITY, f64::min) * weight)
    };
    Some(pairs.into_iter().map(|(a, b, weight, uses)| (a, b, capacity(weight, &uses))).collect())
}

/// Pairs of two servers' ranks such that each rank has its weight's part of the whole, 1.
fn paired(near: &[(usize, u32)], far: &[(usize, u32)]) -> Vec<(usize, usize, f64)> {
    let total = |ranks: &[(usize, u32)]| ranks.iter().map(|(_, weight)| u64::from(*weight)).sum();
    let (of_near, of_far): (u64, u64) = (total(near), total(far));
    let mut left: Vec<u64> = near.iter().map(|(_, weight)| u64::from(*weight) * of_far).collect();
    let mut pairs = Vec::with_capacity(near.len() + far.len());
    let mut at = 0;
    for (rank, weight) in far {
        let mut open = u64::from(*weight) * of_near;
        while open > 0 {
            let given = open.min(left[at]);
            pairs.push((near[at].0, *rank, given as f64 / (of_near * of_far) as f64));
            (left[at], open) = (left[at] - given, open - given);
            at += usize::from(left[at] == 0);
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::test_support::on_one_switch;

    fn joined(name: &str) -> Wiring {
        Wiring::of_system(&on_one_switch(name, 2, 200))
    }

    #[test]
    fn equal_servers_are_joined_by_rails() {
        let wiring = joined("dgx-a100");
        let found = graph(&wiring, &(0..16).collect::<Vec<_>>()).unwrap();
        let rails: Vec<_> = found.links.iter().filter(|(_, b, _)| *b < 16).copied().collect();
        let expected: Vec<_> = (0..8).map(|gpu| (gpu, gpu + 8, 25_000_000_000)).collect();
        assert_eq!(rails, expected);
    }

    #[test]
    fn unequal_servers_share_every_interface_near_them() {
        // GPUs 4 and 5 share an interface, and so do 8 and 9, and 10 and 11.
        let wiring = joined("dgx1-v100");
        let gpus = [1, 4, 5, 8, 9, 10, 11, 12];
        let found = graph(&wiring, &gpus).unwrap();
        let of = |rank: usize| -> u64 {
            let between = |(a, b, _): &&(usize, usize, u64)| (*a < 3) != (*b < 3);
            let own = found.links.iter().filter(between);
            own.filter(|(a, b, _)| *a == rank || *b == rank).map(|(_, _, value)| value).sum()
        };
        let near = |found: u64, wanted: f64| (found as f64 - wanted * 1e9).abs() < 1e6;
        // PCIe 3 carries less than the interface.
        assert!(near(of(0), of(1) as f64 / 1e9 + of(2) as f64 / 1e9), "{:?}", found.links);
        assert!(of(0) > 15_000_000_000);
    }

    #[test]
    fn a_server_whose_fabric_does_not_join_its_gpus_has_no_such_graph() {
        let wiring = joined("dgx1-v100");
        assert_eq!(graph(&wiring, &[1, 4, 6, 8, 9]), None);
        assert_eq!(graph(&wiring, &[1, 4, 5]), None, "one server");
        assert!(graph(&wiring, &[0, 8]).is_some(), "one GPU on each");
    }
}
