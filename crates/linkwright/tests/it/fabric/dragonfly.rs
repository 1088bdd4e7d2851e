//! Compares dragonflies with theory: even and symmetrical global links, three hops.

use linkwright::system::fabric::{Dragonfly, Fabric, FabricShape, FabricSpecification};
use proptest::prelude::*;

use super::support::{fly, hops_from, switch_at};

/// Every property of the arrangement that holds for any parameters.
fn check_arrangement(shape: &Dragonfly, built: &Fabric) {
    let (a, h, g) = (shape.switches_per_group, shape.global_links_per_switch, shape.groups);
    let mut used = vec![0; shape.switches() as usize];
    let mut seen = vec![false; built.channels().len()];
    for from in 0..g {
        let mut total = 0;
        for to in (0..g).filter(|to| *to != from) {
            let links = shape.links_between(from, to);
            assert_eq!(links, shape.links_between(to, from));
            let even = a * h / (g - 1);
            assert!(links == even || (links == even + 1 && a * h % (g - 1) != 0));
            let mut by_switch = vec![0_u32; a as usize];
            for (link, id) in shape.global_channels(from, to).enumerate() {
                let channel = built.channels()[id as usize];
                let (start, end) = (switch_at(channel.from), switch_at(channel.to));
                assert_eq!(start, shape.global_switch(from, to, link as u32));
                assert_eq!(end, shape.global_switch(to, from, link as u32));
                assert_eq!((shape.group_of(start), shape.group_of(end)), (from, to));
                assert!(!std::mem::replace(&mut seen[id as usize], true));
                used[start as usize] += 1;
                by_switch[(start % a) as usize] += 1;
            }
            for (switch, count) in (from * a..).zip(&by_switch) {
                let own = shape.global_links_of(switch, to);
                assert_eq!(own.len() as u32, *count);
                assert!(own.into_iter().all(|at| shape.global_switch(from, to, at) == switch));
            }
            // No switch is favoured. A switch has its share of a group's links, rounded, and the
            // last round's may come on top.
            let most = by_switch.iter().max().unwrap();
            assert!(*most <= h.div_ceil(g - 1) + 1, "{shape:?}: {by_switch:?}");
            total += links;
        }
        // All ports are used but one of one group, where they are odd in number.
        assert!(g < 2 || total == a * h || (g % 2 == 1 && a * h % 2 == 1 && total == a * h - 1));
    }
    assert!(used.iter().all(|used| *used <= h));
    let free = g * a * h - used.iter().sum::<u32>();
    assert!(g < 2 || free == g * a * h % 2, "{shape:?}: {free} free ports");
    assert_eq!(used.iter().sum::<u32>(), 2 * shape.global_links());
    for from in 0..shape.switches() {
        for to in 0..shape.switches() {
            if from != to && shape.group_of(from) == shape.group_of(to) {
                let channel = built.channels()[shape.local_channel(from, to) as usize];
                assert_eq!((switch_at(channel.from), switch_at(channel.to)), (from, to));
            }
        }
    }
}

#[test]
fn the_studys_dragonflies_have_its_sizes() {
    for (groups, nodes) in [(16, 2048), (8, 1024), (4, 512), (2, 256)] {
        let (shape, built) = fly(8, 16, 8, groups);
        assert_eq!((built.nodes(), built.switches()), (nodes, 16 * groups));
        check_arrangement(&shape, &built);
        assert!((0..built.switches()).all(|switch| built.outgoing(switch).len() == 8 + 15 + 8));
    }
}

#[test]
fn the_largest_dragonfly_joins_each_pair_once() {
    let (shape, built) = fly(2, 4, 2, 9);
    check_arrangement(&shape, &built);
    assert!((1..9).all(|to| shape.links_between(0, to) == 1));
    // Hastings et al. (2015), relative arrangement: port k leads k+1 groups ahead.
    assert!((1..9).all(|to| shape.global_switch(0, to, 0) == (to - 1) / 2));
    for from in 0..built.switches() {
        assert!(hops_from(&built, from).into_iter().all(|hops| hops.unwrap() <= 3));
    }
}

#[test]
fn with_as_many_groups_as_links_a_switch_reaches_each_once() {
    let (shape, _) = fly(8, 16, 8, 16);
    for from in 0..16 {
        for to in (0..16).filter(|to| *to != from) {
            let links = shape.links_between(from, to);
            let switches: std::collections::BTreeSet<_> =
                (0..links).map(|link| shape.global_switch(from, to, link)).collect();
            assert_eq!(switches.len() as u32, links, "{from} to {to}");
        }
    }
}

proptest! {
    #[test]
    fn any_dragonfly_is_even_and_symmetrical(
        p in 1_u32..4,
        a in 1_u32..9,
        h in 0_u32..6,
        groups in 1_u32..40,
    ) {
        prop_assume!(groups <= a * h + 1);
        let (shape, built) = fly(p, a, h, groups);
        prop_assert_eq!(built.nodes(), p * a * groups);
        check_arrangement(&shape, &built);
        let farthest = hops_from(&built, 0).into_iter().map(|hops| hops.unwrap()).max();
        prop_assert!(farthest.unwrap() <= 3);
    }
}

/// As the simulator of the study has it; who asks for detours gets the weights with them.
#[test]
fn packets_go_the_direct_way_within_a_group_unless_detours_are_asked_for() {
    let of = |keys: &str| {
        let text = format!("kind = 'dragonfly'\n{keys}");
        let specification: FabricSpecification = toml::from_str(&text).unwrap();
        match *specification.build().unwrap().shape() {
            FabricShape::Dragonfly(shape) => (shape.intra_group_detours, shape.hop_weights),
            ref other => panic!("{other:?}"),
        }
    };
    assert_eq!(of(""), (false, false));
    assert_eq!(of("intra-group-detours = true"), (true, true));
    assert_eq!(of("hop-weights = true"), (false, true));
}
