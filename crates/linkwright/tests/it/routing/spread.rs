//! Tests that fixed routes share a network's links evenly. If every node sends as much to every
//! other, no link has to carry much more than the others of its kind.

use std::collections::BTreeMap;

use linkwright::engine::Random;
use linkwright::network::routing::{
    AnyRouting, DIMENSION_ORDER, RoutingKind, SHORTEST_PATH, STATIC,
};
use linkwright::system::Fabric;
use linkwright::system::fabric::{End, FabricShape, FabricSpecification, SwitchId};

use super::systems::{ring_of, tree};
use super::{AnyLoad, walk};

/// Returns the most ways over one link of a kind, as a multiple of their average, by kind. A kind
/// is the level of the switch that the link leaves and of the one that it leads to.
fn unevenness(
    fabric: &Fabric,
    kind: &'static dyn RoutingKind,
    level: impl Fn(SwitchId) -> u32,
) -> BTreeMap<(u32, u32), f64> {
    let mut routing = AnyRouting::new(kind, fabric, 1).unwrap();
    let mut load = AnyLoad(Random::new(1));
    let mut ways = vec![0_u64; fabric.channels().len()];
    for source in 0..fabric.nodes() {
        for destination in 0..fabric.nodes() {
            for hop in walk(fabric, &mut routing, &mut load, source, destination) {
                ways[hop.channel as usize] += 1;
            }
        }
    }
    let mut kinds: BTreeMap<(u32, u32), Vec<u64>> = BTreeMap::new();
    for (channel, ways) in fabric.channels().iter().zip(ways) {
        if let (End::Switch(from), End::Switch(to)) = (channel.from, channel.to) {
            kinds.entry((level(from), level(to))).or_default().push(ways);
        }
    }
    let uneven = |ways: &Vec<u64>| {
        let average = ways.iter().sum::<u64>() as f64 / ways.len() as f64;
        *ways.iter().max().unwrap() as f64 / average
    };
    kinds.iter().map(|(kind, ways)| (*kind, uneven(ways))).collect()
}

fn level_of(fabric: &Fabric) -> impl Fn(SwitchId) -> u32 + use<> {
    let FabricShape::FatTree(tree) = *fabric.shape() else { panic!("no fat-tree") };
    move |switch| tree.level(switch) as u32
}

#[test]
fn destination_mod_k_uses_all_links_of_a_fat_tree_alike() {
    // Radix, pods, tapering; with 2 and 4 parallel links to a core, and with powers of two
    // nowhere.
    for (radix, pods, tapering, most) in [
        (8, 4, 1, 1.0),
        (8, 2, 1, 1.0),
        (12, 6, 1, 1.0),
        (8, 8, 3, 1.0),
        (8, 4, 3, 1.0),
        (10, 3, 4, 1.4),
    ] {
        let fabric = tree(radix, pods, tapering);
        let level = level_of(&fabric);
        for (kind, uneven) in unevenness(&fabric, STATIC, level) {
            assert!(uneven <= most, "{radix} {pods} {tapering}, {kind:?}: {uneven}");
        }
    }
}

#[test]
fn shortest_paths_use_equal_links_alike() {
    for (radix, pods) in [(8, 4), (8, 2), (12, 6)] {
        let fabric = tree(radix, pods, 1);
        let level = level_of(&fabric);
        for (kind, uneven) in unevenness(&fabric, SHORTEST_PATH, level) {
            assert!(uneven <= 1.25, "{radix} {pods}, {kind:?}: {uneven}");
        }
    }
}

#[test]
fn shortest_paths_use_all_links_of_quartz_alike() {
    let quartz = FabricSpecification::preset("quartz").unwrap().build().unwrap();
    // 84 leaves, 84 aggregates, then cores.
    let level = |switch: SwitchId| switch / 84;
    for (kind, uneven) in unevenness(&quartz, SHORTEST_PATH, level) {
        assert!(uneven <= 1.4, "{kind:?}: {uneven}");
    }
}

#[test]
fn the_two_directions_of_a_torus_carry_as_much() {
    for (sizes, most) in [(&[8][..], 1.0), (&[4, 4], 1.0), (&[4, 3], 1.0), (&[6], 1.15)] {
        let fabric = ring_of(sizes);
        // Links of the first dimension are one kind for each row.
        let mut worst = 0.0_f64;
        for (_, uneven) in unevenness(&fabric, DIMENSION_ORDER, |switch| switch / sizes[0]) {
            worst = worst.max(uneven);
        }
        assert!(worst <= most, "{sizes:?}: {worst}");
    }
}
