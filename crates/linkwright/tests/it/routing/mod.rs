//! The contract of every routing: each packet arrives, by no more hops than theory says, over
//! channels whose order no cycle closes, at any load, and in order where that is promised.

mod cycles;
mod detours;
mod everywhere;
mod load;
mod spread;
mod systems;
mod weights;

use linkwright::engine::Random;
use linkwright::network::routing::{AnyRouting, Hop, Load, PacketRoute, Routing, RoutingKind};
use linkwright::system::Fabric;
use linkwright::system::fabric::{ChannelId, End, SwitchId};
use systems::{System, systems};

/// Queues of random lengths, so that adaptive routings take every way they know.
struct Anything(Random);

impl Load for Anything {
    fn queued(&mut self, _channel: ChannelId) -> u32 {
        self.0.below(20.try_into().unwrap()) as u32
    }
}

/// The hops of a packet from its source's switch to its node.
fn walk(
    fabric: &Fabric,
    routing: &mut AnyRouting,
    load: &mut Anything,
    source: u32,
    destination: u32,
) -> Vec<Hop> {
    let mut packet = PacketRoute::new(source, destination);
    routing.start(&mut packet, [source, destination]);
    let mut at = fabric.switch_of(source);
    let mut hops = Vec::new();
    loop {
        let hop = routing.route(at, &mut packet, load);
        assert!(hop.virtual_channel < routing.virtual_channels(), "{hop:?}");
        let channel = fabric.channels()[hop.channel as usize];
        assert_eq!(channel.from, End::Switch(at), "{source} to {destination}");
        packet.hops += 1;
        packet.virtual_channel = hop.virtual_channel;
        hops.push(hop);
        assert!(hops.len() < 64, "{source} to {destination} goes on for ever");
        match channel.to {
            End::Switch(switch) => at = switch,
            End::Node(node) => {
                assert_eq!(node, destination);
                return hops;
            }
        }
    }
}

/// How many links between switches lie between two nodes at least.
fn fewest(fabric: &Fabric, source: u32, destination: u32) -> usize {
    let goal = fabric.switch_of(destination);
    let mut frontier = vec![fabric.switch_of(source)];
    let mut seen = vec![false; fabric.switches() as usize];
    for distance in 0.. {
        if frontier.contains(&goal) {
            return distance;
        }
        assert!(!frontier.is_empty());
        let mut further: Vec<SwitchId> = Vec::new();
        for at in frontier {
            for channel in fabric.outgoing(at) {
                if let End::Switch(to) = fabric.channels()[*channel as usize].to
                    && !std::mem::replace(&mut seen[to as usize], true)
                {
                    further.push(to);
                }
            }
        }
        frontier = further;
    }
    unreachable!()
}

/// The most links between switches that a routing may take, given the fewest possible.
fn most(kind: RoutingKind, fewest: usize) -> usize {
    match kind {
        RoutingKind::Static
        | RoutingKind::Adaptive
        | RoutingKind::DimensionOrder
        | RoutingKind::ShortestPath
        | RoutingKind::Ecmp => fewest,
        // A local, a global, a local; the fewest may be less where a group has several links.
        RoutingKind::Minimal => fewest.max(3),
        // Local, global, local, global, local.
        RoutingKind::Valiant | RoutingKind::Ugal => 5,
        // One more local link in the source's group.
        RoutingKind::Progressive => 6,
    }
}

#[test]
fn every_packet_arrives_by_no_more_hops_than_theory_says() {
    for System { fabric, kind } in systems() {
        let mut routing = AnyRouting::new(kind, &fabric, 3).unwrap();
        let mut load = Anything(Random::new(1));
        for source in 0..fabric.nodes() {
            for destination in 0..fabric.nodes() {
                let hops = walk(&fabric, &mut routing, &mut load, source, destination);
                let fewest = fewest(&fabric, source, destination);
                // The last hop leads to the node.
                let links = hops.len() - 1;
                assert!(
                    (fewest..=most(kind, fewest)).contains(&links),
                    "{} {}: {source} to {destination} by {links} links, {fewest} suffice",
                    fabric.name(),
                    kind.name(),
                );
            }
        }
    }
}

#[test]
fn routings_for_other_networks_are_refused_with_advice() {
    let torus = systems().into_iter().find(|system| system.kind == RoutingKind::DimensionOrder);
    let torus = torus.unwrap().fabric;
    let error = AnyRouting::new(RoutingKind::Ugal, &torus, 1).unwrap_err().to_string();
    assert!(error.contains("dragonflies") && error.contains("dimension-order"), "{error}");
    let error = RoutingKind::from_name("adaptve").unwrap_err().to_string();
    assert!(error.contains("did you mean `adaptive`?"), "{error}");
}
