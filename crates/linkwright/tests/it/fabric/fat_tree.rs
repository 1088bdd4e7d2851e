//! Compares fat-trees with theory: sizes, ports, hops and the helpers of routing.

use linkwright::system::fabric::{Fabric, FatTree, FatTreeLevel};
use proptest::prelude::*;

use super::support::{hops_from, switch_at, tree};

/// Every helper names the channel that it says.
fn check_helpers(shape: &FatTree, built: &Fabric) {
    let joins = |channel: u32, from: u32, to: u32| {
        let channel = built.channels()[channel as usize];
        assert_eq!((switch_at(channel.from), switch_at(channel.to)), (from, to));
    };
    let mut seen = vec![false; built.channels().len()];
    let mut mark = |channel: u32| assert!(!std::mem::replace(&mut seen[channel as usize], true));
    for leaf in 0..shape.leaves() {
        assert_eq!(shape.level(leaf), FatTreeLevel::Leaf);
        for index in 0..shape.aggregates_per_pod {
            let aggregate = shape.aggregate(shape.pod_of_leaf(leaf), index);
            assert_eq!(shape.level(aggregate), FatTreeLevel::Aggregate);
            assert_eq!(shape.pod_of_aggregate(aggregate), shape.pod_of_leaf(leaf));
            assert_eq!(shape.aggregate_index(aggregate), index);
            for link in 0..shape.leaf_links {
                joins(shape.leaf_up(leaf, index, link), leaf, aggregate);
                joins(shape.aggregate_down(aggregate, leaf, link), aggregate, leaf);
                mark(shape.leaf_up(leaf, index, link));
                mark(shape.aggregate_down(aggregate, leaf, link));
            }
        }
    }
    for core in shape.leaves() + shape.aggregates()..shape.switches() {
        assert_eq!(shape.level(core), FatTreeLevel::Core);
        let (index, of_group) = (shape.aggregate_index_of_core(core), shape.core_index(core));
        assert_eq!(shape.core(index, of_group), core);
        for pod in 0..shape.pods {
            let aggregate = shape.aggregate(pod, index);
            for link in 0..shape.core_links {
                joins(shape.aggregate_up(aggregate, of_group, link), aggregate, core);
                joins(shape.core_down(core, pod, link), core, aggregate);
                mark(shape.aggregate_up(aggregate, of_group, link));
                mark(shape.core_down(core, pod, link));
            }
        }
    }
    let between = built.channels().len() - 2 * built.nodes() as usize;
    assert_eq!(seen.iter().filter(|seen| **seen).count(), between);
}

#[test]
fn the_studys_fat_trees_have_its_sizes() {
    for (pods, nodes, cores) in [(8, 2048, 64), (4, 1024, 32), (2, 512, 16), (1, 256, 0)] {
        let shape = FatTree::three_levels(32, pods, 1).unwrap();
        let built = tree(&shape);
        assert_eq!((built.nodes(), shape.cores), (nodes, cores));
        assert_eq!((shape.leaves(), shape.aggregates()), (16 * pods, 16 * pods));
        assert_eq!((shape.nodes_per_leaf, shape.uplinks_per_leaf()), (16, 16));
        check_helpers(&shape, &built);
        let ports = |switch: u32| built.outgoing(switch).len();
        let below_core = shape.leaves() + shape.aggregates();
        assert!((0..shape.leaves()).all(|leaf| ports(leaf) == 32));
        assert!((below_core..built.switches()).all(|core| ports(core) == 32));
        let of_aggregate = if pods == 1 { 16 } else { 32 };
        assert!((shape.leaves()..below_core).all(|switch| ports(switch) == of_aggregate));
    }
}

#[test]
fn two_levels_take_no_more_aggregates_than_ports_demand() {
    let full = FatTree::two_levels(32, 32, 1).unwrap();
    assert_eq!((full.nodes(), full.aggregates(), full.leaf_links), (512, 16, 1));
    let half = FatTree::two_levels(32, 16, 1).unwrap();
    assert_eq!((half.nodes(), half.aggregates(), half.leaf_links), (256, 8, 2));
    check_helpers(&half, &tree(&half));
}

#[test]
fn tapering_leaves_fewer_links_up_than_nodes() {
    let shape = FatTree::three_levels(48, 3, 2).unwrap();
    assert_eq!((shape.nodes_per_leaf, shape.uplinks_per_leaf()), (32, 16));
    check_helpers(&shape, &tree(&shape));
}

#[test]
fn impossible_trees_are_refused_with_a_remedy() {
    let texts = [
        FatTree::three_levels(32, 33, 1),
        FatTree::three_levels(31, 2, 1),
        FatTree::three_levels(32, 0, 1),
        FatTree::three_levels(4, 1, 4),
        FatTree::three_levels(4, 1, u32::MAX),
        FatTree::three_levels(u32::MAX - 1, 3, 1),
        FatTree::two_levels(8, 9, 1),
        FatTree::two_levels(0, 1, 1),
    ]
    .map(|refused| refused.unwrap_err().to_string());
    for text in texts {
        assert!(text.contains("; "), "{text}");
    }
}

proptest! {
    #[test]
    fn any_fat_tree_keeps_its_radix_and_its_hops(
        half in 1_u32..9,
        pods in 1_u32..10,
        tapering in 1_u32..5,
    ) {
        let radix = 2 * half;
        prop_assume!(pods <= radix && tapering < radix);
        let shape = FatTree::three_levels(radix, pods, tapering).unwrap();
        let built = tree(&shape);
        check_helpers(&shape, &built);
        for switch in 0..built.switches() {
            prop_assert!(built.outgoing(switch).len() <= radix as usize);
        }
        let hops = hops_from(&built, 0);
        for leaf in 0..shape.leaves() {
            let expected = match (leaf, shape.pod_of_leaf(leaf)) {
                (0, _) => 0,
                (_, 0) => 2,
                _ => 4,
            };
            prop_assert_eq!(hops[leaf as usize], Some(expected));
        }
    }
}
