//! The two models of the network agree where nothing is in a message's way.

use linkwright::network::packet::{
    ArbitrationPolicy, NicPolicy, NodeSettings, PacketSettings, Switching,
};
use linkwright::network::routing::{AnyRouting, RoutingKind};
use linkwright::network::transport::{Message, Occurrence, Transport};
use linkwright::network::{FlowTransport, PacketNetwork};
use linkwright::topology::Interconnect;
use linkwright::topology::interconnect::{NodeLink, Shape, SwitchLink};
use linkwright::units::{Bandwidth, Bytes, Picoseconds};
use proptest::prelude::*;

const PACKET: u64 = 4_096;

/// Switches in a row with a node at either end.
fn row(rates: &[(u64, u64)]) -> Interconnect {
    let rate = |index: usize| (Bandwidth(rates[index].0), Picoseconds(rates[index].1));
    let switches = rates.len() as u32 - 1;
    let node = |switch, index| {
        let (bandwidth, latency) = rate(index);
        NodeLink { switch, bandwidth, latency }
    };
    let links: Vec<_> = (1..switches)
        .map(|b| {
            let (bandwidth, latency) = rate(b as usize + 1);
            SwitchLink { a: b - 1, b, bandwidth, latency }
        })
        .collect();
    let nodes = [node(0, 0), node(switches - 1, 1)];
    Interconnect::new("row", Shape::Graph, switches, &nodes, &links).unwrap()
}

fn arrival(network: &mut impl Transport, size: u64) -> u64 {
    let size = Bytes(size);
    network.send(Message { source: 0, destination: 1, size, token: 0, priority: 0 });
    while let Some(occurrence) = network.next().unwrap() {
        if occurrence == (Occurrence::Delivered { token: 0 }) {
            return network.now().0;
        }
    }
    panic!("the message does not arrive");
}

proptest! {
    #[test]
    fn a_lone_message_takes_as_long_in_both(
        rates in prop::collection::vec((500_000_000_u64..20_000_000_000, 1_u64..2_000_000), 2..6),
        size in prop_oneof![0_u64..PACKET, (1_u64..50).prop_map(|packets| packets * PACKET)],
        cut_through in any::<bool>(),
    ) {
        let interconnect = row(&rates);
        let settings = PacketSettings {
            packet_size: Bytes(PACKET),
            buffer_packets: 64,
            router_delay: Picoseconds(60_000),
            nic_delay: Picoseconds(400_000),
            switching: if cut_through { Switching::CutThrough } else { Switching::StoreAndForward },
            node: NodeSettings {
                gpus: 1,
                bandwidth: Bandwidth::gigabytes_per_second(20),
                latency: Picoseconds(5_000),
            },
            seed: 1,
        };
        let routing = || AnyRouting::new(RoutingKind::ShortestPath, &interconnect, 1).unwrap();
        let nic = NicPolicy::Fcfs;
        let arbitration = ArbitrationPolicy::RoundRobin;
        let mut packets =
            PacketNetwork::new(&interconnect, settings, routing(), nic, arbitration).unwrap();
        let mut flows = FlowTransport::new(&interconnect, settings, routing(), nic).unwrap();
        let (packets, flows) = (arrival(&mut packets, size), arrival(&mut flows, size));
        // Each packet's time on each channel is rounded up to a picosecond.
        let rounding = (size / PACKET + 2) * rates.len() as u64;
        prop_assert!(packets.abs_diff(flows) <= rounding, "{packets} and {flows}");
    }
}
