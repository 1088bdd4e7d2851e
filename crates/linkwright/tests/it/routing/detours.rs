//! Which detours adaptive routings of a dragonfly take, and at which queues.

use std::collections::BTreeMap;

use linkwright::engine::Random;
use linkwright::network::routing::{
    AnyRouting, Load, PROGRESSIVE, PacketRoute, Routing, RoutingKind, UGAL, VALIANT,
};
use linkwright::system::Fabric;
use linkwright::system::fabric::{ChannelId, End, FabricShape};

use super::systems::{direct_groups, groups};
use super::{AnyLoad, walk};

const ADAPTIVE: [&dyn RoutingKind; 2] = [UGAL, PROGRESSIVE];

/// Queues by their channels; all others are empty.
struct Queued(BTreeMap<ChannelId, u32>);

impl Load for Queued {
    fn queued(&mut self, channel: ChannelId) -> u32 {
        self.0.get(&channel).copied().unwrap_or(0)
    }
}

/// Counts the most links between switches from one node to another of the same group.
fn most_within_groups(fabric: &Fabric, kind: &'static dyn RoutingKind) -> usize {
    let FabricShape::Dragonfly(shape) = *fabric.shape() else { panic!("no dragonfly") };
    let mut routing = AnyRouting::new(kind, fabric, 3).unwrap();
    let mut load = AnyLoad(Random::new(1));
    let group = |node| shape.group_of(shape.switch_of(node));
    let mut most = 0;
    for source in 0..fabric.nodes() {
        for destination in (0..fabric.nodes()).filter(|node| group(*node) == group(source)) {
            let hops = walk(fabric, &mut routing, &mut load, source, destination);
            most = most.max(hops.len() - 1);
        }
    }
    most
}

#[test]
fn a_third_switch_of_a_group_is_used_only_where_it_may_be() {
    for kind in [VALIANT, UGAL, PROGRESSIVE] {
        assert_eq!(most_within_groups(&groups(2, 4, 2, 9), kind), 2, "{}", kind.name());
        for hop_weights in [false, true] {
            let direct = direct_groups([2, 4, 2, 9], hop_weights);
            assert_eq!(most_within_groups(&direct, kind), 1, "{}", kind.name());
        }
    }
}

/// Says whether a packet takes a detour from a switch with a link of its own to the goal's group.
/// `minimal` packets wait for that link and `other` packets for every other.
fn detours(fabric: &Fabric, kind: &'static dyn RoutingKind, minimal: u32, other: u32) -> bool {
    let FabricShape::Dragonfly(shape) = *fabric.shape() else { panic!("no dragonfly") };
    // Switch 0 has the link to group 1; behind it, the first node of another switch there.
    let near = shape.global_channel(0, 1, 0);
    assert_eq!(shape.global_switch(0, 1, 0), 0);
    let there = shape.global_switch(1, 0, 0);
    let goal = (shape.switches_per_group..2 * shape.switches_per_group)
        .find(|switch| *switch != there)
        .unwrap();
    let mut queues: BTreeMap<ChannelId, u32> =
        fabric.outgoing(0).iter().map(|channel| (*channel, other)).collect();
    queues.insert(near, minimal);
    let mut routing = AnyRouting::new(kind, fabric, 3).unwrap();
    let mut packet = PacketRoute::new(0, goal * shape.nodes_per_switch);
    let hop = routing.route(0, &mut packet, &mut Queued(queues));
    assert!(matches!(fabric.channels()[hop.channel as usize].to, End::Switch(_)));
    hop.channel != near
}

#[test]
fn queues_are_compared_with_the_weights_of_hops_or_as_they_are() {
    // One link joins two groups. The minimal way counts two, as the global one is the switch's
    // own, and a detour four or five.
    for kind in ADAPTIVE {
        let plain = direct_groups([1, 4, 2, 9], false);
        for (minimal, other, expected) in
            [(0, 0, false), (3, 3, false), (4, 3, true), (1, 0, true), (7, 8, false)]
        {
            let found = detours(&plain, kind, minimal, other);
            assert_eq!(found, expected, "{} plain, {minimal} and {other}", kind.name());
        }
        for weighted in [groups(1, 4, 2, 9), direct_groups([1, 4, 2, 9], true)] {
            for (minimal, other, expected) in
                [(0, 0, false), (1, 0, false), (2, 0, true), (4, 3, false), (9, 4, false)]
            {
                let found = detours(&weighted, kind, minimal, other);
                assert_eq!(found, expected, "{} weighted, {minimal} and {other}", kind.name());
            }
        }
    }
}
