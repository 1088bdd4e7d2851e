//! Compares the bandwidth between two halves, by maximum flow, with theory.

use linkwright::graph::max_flow::FlowGraph;
use linkwright::system::fabric::{End, Fabric, FabricSpecification, FatTree, single_switch};
use linkwright::system::views::bisection::bisection_bandwidth;

use super::support::{fly, grid, rate, tree};

/// Gigabytes per second that the nodes below `middle` can send to all others.
fn flow_between(built: &Fabric, middle: u32) -> u128 {
    let (nodes, switches) = (built.nodes() as usize, built.switches() as usize);
    let (source, sink) = (nodes + switches, nodes + switches + 1);
    let mut network = FlowGraph::new(nodes + switches + 2);
    let place = |end: End| match end {
        End::Node(node) => node as usize,
        End::Switch(switch) => nodes + switch as usize,
    };
    for channel in built.channels() {
        network.add_arc(place(channel.from), place(channel.to), channel.bandwidth.0.into());
    }
    for node in 0..nodes {
        let (from, to) = if (node as u32) < middle { (source, node) } else { (node, sink) };
        network.add_arc(from, to, 1 << 64);
    }
    network.send(source, sink) / 1_000_000
}

#[test]
fn untapered_fat_trees_have_full_bisection() {
    for pods in [2, 3, 4, 8] {
        let shape = FatTree::three_levels(8, pods, 1).unwrap();
        let built = tree(&shape);
        let half = pods / 2 * shape.leaves_per_pod * shape.nodes_per_leaf;
        assert_eq!(flow_between(&built, half), u128::from(half) * 1000, "{pods} pods");
    }
    let study = tree(&FatTree::three_levels(32, 8, 1).unwrap());
    assert_eq!(flow_between(&study, 1024), 1024 * 1000);
    let two = tree(&FatTree::two_levels(8, 6, 1).unwrap());
    assert_eq!(flow_between(&two, 12), 12 * 1000);
}

#[test]
fn tapering_divides_what_leaves_a_leaf() {
    let shape = FatTree::three_levels(12, 4, 2).unwrap();
    let half = 2 * shape.leaves_per_pod * shape.nodes_per_leaf;
    assert_eq!(flow_between(&tree(&shape), half), u128::from(half / 2) * 1000);
}

#[test]
fn half_of_a_dragonfly_has_its_global_links() {
    for (p, a, h, groups) in [(2, 4, 2, 9), (8, 16, 8, 16), (2, 4, 2, 4)] {
        let (shape, built) = fly(p, a, h, groups);
        let half = groups / 2;
        let pairs = (0..half).flat_map(|from| (half..groups).map(move |to| (from, to)));
        let links: u32 = pairs.map(|(from, to)| shape.links_between(from, to)).sum();
        let nodes = half * p * a;
        let expected = u128::from(links.min(nodes)) * 1000;
        assert_eq!(flow_between(&built, nodes), expected, "{groups} groups");
    }
}

#[test]
fn half_of_a_torus_has_two_faces() {
    let (_, built) = grid(&[4, 4, 4], 2);
    assert_eq!(flow_between(&built, 64), 2 * 16 * 1000);
    let (_, ring) = grid(&[5, 2], 3);
    assert_eq!(flow_between(&ring, 15), 5 * 1000);
}

#[test]
fn quartz_passes_half_of_what_its_nodes_send() {
    let built = FabricSpecification::preset("quartz").unwrap().build().unwrap();
    // Five of the ten pods of 8 leaves; each leaf has 16 links up for 32 nodes.
    let half = 5 * 8 * 32;
    assert_eq!(flow_between(&built, half), 5 * 8 * 16 * 11_900);
}

#[test]
fn the_bisection_that_is_told_is_the_maximum_flow_between_halves() {
    let trees = [(8, 2, 1), (8, 4, 1), (12, 4, 2), (8, 6, 3)]
        .map(|(radix, pods, tapering)| FatTree::three_levels(radix, pods, tapering).unwrap());
    let two = [(8, 6, 1), (12, 4, 2)]
        .map(|(radix, leaves, tapering)| FatTree::two_levels(radix, leaves, tapering).unwrap());
    let mut fabrics: Vec<Fabric> = trees.iter().chain(&two).map(tree).collect();
    let flies = [(2, 4, 2, 4), (8, 4, 1, 2)];
    fabrics.extend(flies.map(|(p, a, h, groups)| fly(p, a, h, groups).1));
    let grids: [(&[u32], u32); 4] = [(&[4, 4], 1), (&[2, 3, 6], 2), (&[2, 2], 5), (&[4, 4, 4], 2)];
    fabrics.extend(grids.map(|(dimensions, nodes)| grid(dimensions, nodes).1));
    fabrics.push(single_switch(8, rate(1, 1)).unwrap());
    for fabric in fabrics {
        let flow = flow_between(&fabric, fabric.nodes() / 2);
        let told = bisection_bandwidth(&fabric).unwrap();
        assert_eq!(u128::from(told.0), flow * 1_000_000, "{}", fabric.name());
    }
    // Half of nine groups of eight is four and a half. 16 links join four to four, and four join the
    // halves of the ninth, whose switches' own links lead to their side.
    for (fabric, told) in [
        (tree(&FatTree::three_levels(8, 3, 1).unwrap()), 24),
        (fly(2, 4, 2, 9).1, 20),
        // Groups that have two links between them are on one side.
        (fly(2, 4, 2, 8).1, 16),
        // Seven of 15 switches have eight links to the others, and one of another's two nodes is theirs.
        (grid(&[3, 5], 2).1, 9),
    ] {
        let found = bisection_bandwidth(&fabric).unwrap();
        assert_eq!(found, rate(told, 0).bandwidth, "{}", fabric.name());
    }
    let quartz = FabricSpecification::preset("quartz").unwrap().build().unwrap();
    assert_eq!(bisection_bandwidth(&quartz), None);
}
