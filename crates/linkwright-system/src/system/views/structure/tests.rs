//! Holds distances and paths against closed forms, and bounds of the bisection against all divisions.

use proptest::prelude::*;

use super::*;
use crate::system::fabric::{FabricShape, LinkRate, read_fabric};
use crate::system::views::bisection::{bisection, bisection_by_halves};
use crate::units::{Bandwidth, Picoseconds};

fn fabric(text: &str) -> Fabric {
    read_fabric("fabric.toml", text).unwrap()
}

/// Makes a graph of switches with these numbers of nodes, whose links have bandwidths in GB/s.
fn graph(nodes: &[u32], links: &[(u32, u32, u64)]) -> Fabric {
    let rate = |speed| LinkRate {
        bandwidth: Bandwidth::gigabytes_per_second(speed),
        latency: Picoseconds(50_000),
    };
    let ports: Vec<_> = nodes
        .iter()
        .enumerate()
        .flat_map(|(switch, count)| (0..*count).map(move |_| rate(3).to_node(switch as u32)))
        .collect();
    let links: Vec<_> = links.iter().map(|(a, b, speed)| rate(*speed).between(*a, *b)).collect();
    Fabric::new("graph", FabricShape::Graph, nodes.len() as u32, &ports, &links).unwrap()
}

/// A HyperX of one node a switch: switches that differ in one coordinate are joined.
fn hyperx(sizes: &[u32]) -> Fabric {
    let count: u32 = sizes.iter().product();
    let at = |switch: u32, dimension: usize| {
        switch / sizes[..dimension].iter().product::<u32>() % sizes[dimension]
    };
    let differ = |a, b| (0..sizes.len()).filter(|it| at(a, *it) != at(b, *it)).count();
    let pairs = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
    let links: Vec<_> =
        pairs.filter(|(a, b)| differ(*a, *b) == 1).map(|(a, b)| (a, b, 1)).collect();
    graph(&vec![1; count as usize], &links)
}

fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
}

#[test]
fn two_switches_of_parallel_links_have_that_many_paths() {
    let fabric = graph(&[1, 0, 0, 1], &[(0, 1, 1), (0, 1, 1), (1, 3, 1), (0, 2, 1), (2, 3, 1)]);
    let paths = shortest_paths(&fabric, 0, 1, 16).unwrap();
    assert_eq!((paths.distance, paths.count), (2, 3));
    assert_eq!(paths.listed, [(vec![0, 1, 3], 2), (vec![0, 2, 3], 1)]);
    assert_eq!(shortest_paths(&fabric, 0, 1, 1).unwrap().listed.len(), 1);
    assert_eq!(cables(&fabric), Cables { to_nodes: 2, between_switches: 5 });
}

#[test]
fn a_fat_tree_has_the_distances_and_paths_of_its_levels() {
    for radix in [4_u32, 6, 8] {
        let tree = fabric(&format!("kind = 'fat-tree'\nradix = {radix}\npods = {radix}"));
        let (nodes, half) = (f64::from(tree.nodes()), f64::from(radix / 2));
        let found = distances(&tree).unwrap();
        assert_eq!(found.diameter, 4);
        // A node has k/2 - 1 others at its leaf, (k/2)^2 - k/2 in its pod, and the rest beyond.
        let pod = half * half - half;
        near(found.mean, (2.0 * pod + 4.0 * (nodes - half * half)) / (nodes - 1.0));
        let paths = shortest_paths(&tree, 0, tree.nodes() - 1, 4).unwrap();
        assert_eq!(paths.count, u64::from(radix * radix / 4));
    }
}

#[test]
fn a_dragonfly_of_all_global_links_is_three_links_across() {
    let (p, a, h) = (2_u32, 4_u32, 2_u32);
    let fly = fabric(
        "kind = 'dragonfly'\nnodes-per-switch = 2\nswitches-per-group = 4\n\
         global-links-per-switch = 2\ngroups = 9",
    );
    let found = distances(&fly).unwrap();
    assert_eq!(found.diameter, 3);
    assert_eq!(cables(&fly).between_switches, u64::from(9 * a * (a - 1) / 2 + 9 * 4));
    // One global link joins two groups; a switch is at either end of it or one link away. Of two
    // global links one after another there is a shorter way only where 2 < 1 + 1 + 1.
    assert!(found.mean > 2.0 && found.mean < 3.0, "{}", found.mean);
    assert_eq!((p * a * (a * h + 1)), fly.nodes());
}

#[test]
fn a_hyperx_has_the_diameter_of_its_dimensions() {
    for sizes in [vec![3_u32, 3], vec![4, 4], vec![2, 3, 4]] {
        let found = distances(&hyperx(&sizes)).unwrap();
        assert_eq!(found.diameter as usize, sizes.len());
        let nodes: f64 = sizes.iter().map(|it| f64::from(*it)).product();
        // Each coordinate differs in (k - 1) / k of all pairs, a node's with itself among them.
        let of_all: f64 = sizes.iter().map(|it| 1.0 - 1.0 / f64::from(*it)).sum();
        near(found.mean, of_all * nodes / (nodes - 1.0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// In a ring of k, a node has mean distance k/4 to all, itself among them, where k is even.
    /// The mean is (k^2 - 1) / 4k where k is odd. A torus adds its rings.
    #[test]
    fn a_torus_has_the_distances_of_its_rings(sizes in prop::collection::vec(1_u32..6, 1..4)) {
        let fabric = fabric(&format!("kind = 'torus'\ndimensions = {sizes:?}"));
        let nodes = f64::from(fabric.nodes());
        let of_ring = |size: u32| {
            let k = f64::from(size);
            if size.is_multiple_of(2) { k / 4.0 } else { (k * k - 1.0) / (4.0 * k) }
        };
        match distances(&fabric) {
            None => prop_assert_eq!(fabric.nodes(), 1),
            Some(found) => {
                prop_assert_eq!(found.diameter, sizes.iter().map(|size| size / 2).sum::<u32>());
                let mean = sizes.iter().map(|size| of_ring(*size)).sum::<f64>() * nodes / (nodes - 1.0);
                prop_assert!((found.mean - mean).abs() < 1e-9, "{} {}", found.mean, mean);
            }
        }
    }

    /// The least of all divisions lies between the bounds of the bisection.
    #[test]
    fn bounds_hold_the_least_of_all_divisions(
        nodes in prop::collection::vec(0_u32..4, 2..9),
        more in prop::collection::vec((0_u32..9, 0_u32..9, 1_u64..5), 0..14),
    ) {
        let count = nodes.len() as u32;
        // A ring keeps all of it joined.
        let ring = (0..count).map(|at| (at, (at + 1) % count, 2));
        let more = more.into_iter().map(|(a, b, speed)| (a % count, b % count, speed));
        let links: Vec<_> = ring.chain(more).filter(|(a, b, _)| a != b).collect();
        prop_assume!(nodes.iter().sum::<u32>() >= 2);
        let fabric = graph(&nodes, &links);
        let exact = bisection(&fabric).unwrap();
        prop_assert!(exact.is_exact());
        let bounds = bisection_by_halves(&fabric);
        prop_assert!(bounds.least <= exact.most, "{bounds:?} {exact:?}");
        prop_assert!(bounds.most >= exact.most, "{bounds:?} {exact:?}");
    }
}

#[test]
fn the_bounds_of_a_large_torus_as_a_graph_meet() {
    let torus = fabric("kind = 'torus'\ndimensions = [4, 4, 4]\nbandwidth = '1 GB/s'");
    let exact = bisection(&torus).unwrap();
    assert_eq!(exact.most, Bandwidth::gigabytes_per_second(32));
    assert!(exact.is_exact());
    let listed = fabric(&crate::system::fabric::fabric_dot(&torus));
    assert_eq!(bisection(&listed).unwrap(), exact);
}
