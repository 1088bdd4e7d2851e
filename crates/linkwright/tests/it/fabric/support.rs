//! Holds helpers that the tests of fabrics share.

use std::collections::VecDeque;

use linkwright::system::fabric::{
    Dragonfly, DragonflyRates, End, Fabric, FatTree, FatTreeRates, LinkRate, SwitchId, Torus,
    TorusRates, dragonfly, fat_tree, torus,
};
use linkwright::units::{Bandwidth, Picoseconds};

/// Makes a rate of a number of gigabytes per second and of nanoseconds.
pub fn rate(gigabytes: u64, nanoseconds: u64) -> LinkRate {
    LinkRate {
        bandwidth: Bandwidth::gigabytes_per_second(gigabytes),
        latency: Picoseconds(nanoseconds * 1000),
    }
}

pub fn tree(shape: &FatTree) -> Fabric {
    let rates = FatTreeRates { node: rate(1, 1), leaf: rate(1, 2), core: rate(1, 3) };
    fat_tree(shape, &rates).unwrap()
}

pub fn fly(p: u32, a: u32, h: u32, groups: u32) -> (Dragonfly, Fabric) {
    let shape = Dragonfly {
        nodes_per_switch: p,
        switches_per_group: a,
        global_links_per_switch: h,
        groups,
        intra_group_detours: true,
        hop_weights: true,
    };
    let rates = DragonflyRates { node: rate(1, 1), local: rate(1, 2), global: rate(1, 3) };
    (shape, dragonfly(&shape, &rates).unwrap())
}

pub fn grid(dimensions: &[u32], nodes_per_switch: u32) -> (Torus, Fabric) {
    let shape = Torus { dimensions: dimensions.to_vec(), nodes_per_switch };
    let built = torus(&shape, &TorusRates { node: rate(1, 1), switch: rate(1, 2) }).unwrap();
    (shape, built)
}

pub fn switch_at(end: End) -> SwitchId {
    match end {
        End::Switch(switch) => switch,
        End::Node(node) => panic!("node {node} is no switch"),
    }
}

/// Hops from a switch to every switch, None where there is no path.
pub fn hops_from(fabric: &Fabric, from: SwitchId) -> Vec<Option<u32>> {
    let mut hops = vec![None; fabric.switches() as usize];
    hops[from as usize] = Some(0);
    let mut pending = VecDeque::from([from]);
    while let Some(switch) = pending.pop_front() {
        for channel in fabric.outgoing(switch) {
            let End::Switch(next) = fabric.channels()[*channel as usize].to else {
                continue;
            };
            if hops[next as usize].is_none() {
                hops[next as usize] = hops[switch as usize].map(|hops| hops + 1);
                pending.push_back(next);
            }
        }
    }
    hops
}
