//! Small fabrics of every shape, each with every routing that it can have.

use linkwright::network::routing::{AnyRouting, RoutingKind, routing_kinds};
use linkwright::system::Fabric;
use linkwright::system::fabric::{
    Dragonfly, DragonflyRates, FabricShape, FatTree, FatTreeRates, LinkRate, NodeLink, SwitchLink,
    Torus, TorusRates, dragonfly, fat_tree, single_switch, torus,
};
use linkwright::units::{Bandwidth, Picoseconds};

/// Holds a fabric and a routing for it.
pub struct System {
    pub fabric: Fabric,
    pub kind: &'static dyn RoutingKind,
}

pub const RATE: LinkRate =
    LinkRate { bandwidth: Bandwidth::gigabytes_per_second(10), latency: Picoseconds(20_000) };

pub fn tree(radix: u32, pods: u32, tapering: u32) -> Fabric {
    let shape = FatTree::three_levels(radix, pods, tapering).unwrap();
    fat_tree(&shape, &FatTreeRates { node: RATE, leaf: RATE, core: RATE }).unwrap()
}

pub fn groups(p: u32, a: u32, h: u32, g: u32) -> Fabric {
    dragonfly_of([p, a, h, g], true, true)
}

/// Builds it without detours inside groups, and with or without weights of hops.
pub fn direct_groups(sizes: [u32; 4], hop_weights: bool) -> Fabric {
    dragonfly_of(sizes, false, hop_weights)
}

fn dragonfly_of([p, a, h, g]: [u32; 4], intra_group_detours: bool, hop_weights: bool) -> Fabric {
    let shape = Dragonfly {
        nodes_per_switch: p,
        switches_per_group: a,
        global_links_per_switch: h,
        groups: g,
        intra_group_detours,
        hop_weights,
    };
    dragonfly(&shape, &DragonflyRates { node: RATE, local: RATE, global: RATE }).unwrap()
}

pub fn ring_of(dimensions: &[u32]) -> Fabric {
    let shape = Torus { dimensions: dimensions.to_vec(), nodes_per_switch: 2 };
    torus(&shape, &TorusRates { node: RATE, switch: RATE }).unwrap()
}

/// Builds Petersen's graph: ten switches of three links, any two at most two links apart.
fn petersen() -> Fabric {
    let link = |a, b| SwitchLink { a, b, bandwidth: RATE.bandwidth, latency: RATE.latency };
    let links: Vec<_> = (0..5)
        .flat_map(|at| [link(at, (at + 1) % 5), link(at, at + 5), link(at + 5, (at + 2) % 5 + 5)])
        .collect();
    let node = |switch| NodeLink { switch, bandwidth: RATE.bandwidth, latency: RATE.latency };
    let nodes: Vec<_> = (0..10).map(node).collect();
    Fabric::new("Petersen", FabricShape::Graph, 10, &nodes, &links).unwrap()
}

/// Every shape with every routing that accepts it.
pub fn systems() -> Vec<System> {
    let two_levels = FatTree::two_levels(8, 4, 1).unwrap();
    let two_levels =
        fat_tree(&two_levels, &FatTreeRates { node: RATE, leaf: RATE, core: RATE }).unwrap();
    let fabrics = [
        tree(4, 4, 1),
        tree(8, 2, 1),
        tree(8, 3, 3),
        two_levels,
        groups(2, 4, 2, 9),
        groups(1, 4, 2, 4),
        groups(2, 4, 2, 2),
        groups(1, 2, 1, 3),
        groups(2, 3, 1, 1),
        direct_groups([2, 4, 2, 9], false),
        direct_groups([1, 4, 2, 4], true),
        direct_groups([2, 4, 2, 2], false),
        direct_groups([2, 3, 1, 1], false),
        ring_of(&[4, 3]),
        ring_of(&[2, 5, 2]),
        ring_of(&[7]),
        petersen(),
        single_switch(5, RATE).unwrap(),
    ];
    let mut systems = Vec::new();
    for fabric in fabrics {
        for kind in routing_kinds().iter() {
            if AnyRouting::new(kind, &fabric, 1).is_ok() {
                systems.push(System { fabric: fabric.clone(), kind });
            }
        }
    }
    assert!(routing_kinds().iter().all(|kind| systems.iter().any(|s| s.kind == kind)));
    systems
}
