//! Tests that adaptive routing in dragonflies weighs each queue by the links of the way behind it.

use std::collections::BTreeMap;

use linkwright::network::routing::{
    AnyRouting, Load, MINIMAL, PacketRoute, Routing, RoutingKind, UGAL,
};
use linkwright::system::Fabric;
use linkwright::system::fabric::{ChannelId, End, SwitchId};

use super::systems::groups;

/// Holds the same queue at every channel but some.
struct Queues {
    others: u32,
    of: BTreeMap<ChannelId, u32>,
}

impl Load for Queues {
    fn queued(&mut self, channel: ChannelId) -> u32 {
        self.of.get(&channel).copied().unwrap_or(self.others)
    }
}

/// Returns the first channel of a packet of one node to another; the same chances for every load.
fn first(
    network: &Fabric,
    kind: &'static dyn RoutingKind,
    (source, destination): (u32, u32),
    load: &mut Queues,
) -> ChannelId {
    let mut routing = AnyRouting::new(kind, network, 7).unwrap();
    let mut packet = PacketRoute::new(source, destination);
    routing.route(network.switch_of(source), &mut packet, load).channel
}

#[test]
fn ugal_counts_three_links_of_a_minimal_way_and_four_or_five_of_a_detour() {
    let network = groups(2, 4, 2, 9);
    let group_of = |switch: SwitchId| switch / 4;
    let leads_out = |channel: ChannelId| {
        let link = network.channels()[channel as usize];
        match (link.from, link.to) {
            (End::Switch(from), End::Switch(to)) => group_of(from) != group_of(to),
            _ => false,
        }
    };
    let (mut by_four, mut by_five) = (0, 0);
    for pair in (0..network.nodes()).flat_map(|a| (0..network.nodes()).map(move |b| (a, b))) {
        let [from, to] = [pair.0, pair.1].map(|node| network.switch_of(node));
        let idle = &mut Queues { others: 0, of: BTreeMap::new() };
        let minimal = first(&network, MINIMAL, pair, idle);
        if group_of(from) == group_of(to) || leads_out(minimal) {
            continue;
        }
        let way = |queued: u32, others: u32| {
            let load = &mut Queues { others, of: BTreeMap::from([(minimal, queued)]) };
            first(&network, UGAL, pair, load)
        };
        // Where the detour starts with the same channel there is nothing to choose.
        let detour = way(1000, 0);
        if detour == minimal {
            continue;
        }
        // Three links stand against four or five, with a bias of one packet on the three. So 3 x 4
        // > 2 x 4 + 3, but not > 2 x 5 + 3. One packet more is enough for both.
        let of_four = leads_out(detour);
        assert_eq!(way(4, 2), if of_four { detour } else { minimal }, "{pair:?}");
        assert_eq!(way(5, 2), detour, "{pair:?}");
        assert_eq!(way(3, 2), minimal, "{pair:?}");
        by_four += usize::from(of_four);
        by_five += usize::from(!of_four);
    }
    assert!(by_four > 100 && by_five > 100, "{by_four} and {by_five}");
}
