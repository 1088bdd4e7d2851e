//! Tests the contract of every routing. Each packet arrives, by no more hops than theory says, over
//! channels whose order no cycle closes. It does so at any load, and in order where that is
//! promised.

mod cycles;
mod detours;
mod everywhere;
mod load;
mod spread;
mod systems;
mod weights;

use linkwright::diagnostic::Registered;
use linkwright::network::routing::contract::{self, AnyLoad};
use linkwright::network::routing::{
    AnyRouting, DIMENSION_ORDER, Hop, Load, PacketRoute, Routing, RoutingError, RoutingKind, UGAL,
    routing_kinds,
};
use linkwright::system::Fabric;
use linkwright::system::fabric::End;
use systems::{System, systems};

/// Takes a packet from its source's switch to its node.
fn walk(
    fabric: &Fabric,
    routing: &mut AnyRouting,
    load: &mut AnyLoad,
    source: u32,
    destination: u32,
) -> Vec<Hop> {
    contract::walk(fabric, routing, load, [source, destination]).unwrap()
}

#[test]
fn every_packet_arrives_by_no_more_hops_than_theory_says() {
    for System { fabric, kind } in systems() {
        contract::packets_arrive(kind, &fabric).unwrap();
    }
}

#[test]
fn packets_of_a_routing_in_order_take_one_way() {
    for System { fabric, kind } in systems() {
        contract::packets_stay_in_order(kind, &fabric).unwrap();
    }
}

/// The links between switches that theory allows, where the fewest are one, two, ..., six.
#[test]
fn only_detours_are_longer_than_they_have_to_be() {
    for kind in routing_kinds().iter() {
        let most = match kind.name() {
            // A local, a global, a local.
            "minimal" => [3, 3, 3, 4, 5, 6],
            // Local, global, local, global, local.
            "valiant" | "ugal" => [5; 6],
            // One more local link in the source's group.
            "progressive" => [6; 6],
            _ => [1, 2, 3, 4, 5, 6],
        };
        assert_eq!([1, 2, 3, 4, 5, 6].map(|fewest| kind.most_links(fewest)), most, "{kind:?}");
    }
}

/// Sends every packet round the fabric for ever.
#[derive(Debug)]
struct Around;

impl Registered for Around {
    fn name(&self) -> &'static str {
        "around"
    }
}

impl RoutingKind for Around {
    fn make(&self, fabric: &Fabric, _: u64) -> Result<Option<AnyRouting>, RoutingError> {
        struct First(Fabric);
        impl Routing for First {
            fn virtual_channels(&self) -> u8 {
                1
            }
            fn in_order(&self) -> bool {
                true
            }
            fn route(&mut self, at: u32, _: &mut PacketRoute, _: &mut dyn Load) -> Hop {
                let to_switch = |channel: &&u32| {
                    matches!(self.0.channels()[**channel as usize].to, End::Switch(_))
                };
                let channel = self.0.outgoing(at).iter().find(to_switch).copied();
                Hop { channel: channel.unwrap_or_default(), virtual_channel: 0 }
            }
        }
        Ok(Some(AnyRouting::of(First(fabric.clone()))))
    }
}

#[test]
fn a_packet_that_never_arrives_is_seen() {
    let fault = contract::packets_arrive(&Around, &systems()[0].fabric).unwrap_err();
    assert!(fault.contains("`around`") && fault.contains("behind 64 others"), "{fault}");
}

#[test]
fn routings_for_other_networks_are_refused_with_advice() {
    let torus = systems().into_iter().find(|system| system.kind == DIMENSION_ORDER);
    let torus = torus.unwrap().fabric;
    let error = AnyRouting::new(UGAL, &torus, 1).err().unwrap().to_string();
    assert!(error.contains("dragonflies") && error.contains("dimension-order"), "{error}");
    let error = routing_kinds().get("adaptve").err().unwrap().to_string();
    assert!(error.contains("did you mean `adaptive`?"), "{error}");
}
