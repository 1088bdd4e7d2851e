//! The two models of the network agree where nothing is in a message's way, and part where the
//! documentation says so.

use linkwright::network::packet::{ArbitrationPolicy, NicPolicy, PacketSettings, Switching};
use linkwright::network::routing::{AnyRouting, RoutingKind};
use linkwright::network::transport::{Message, Occurrence, Transport};
use linkwright::network::{FlowTransport, PacketNetwork, Traffic, TransportError};
use linkwright::system::fabric::{NodeLink, Shape, SwitchLink};
use linkwright::system::{AbstractNode, Fabric, System};
use linkwright::units::{Bandwidth, Bytes, Picoseconds};
use proptest::prelude::*;

use crate::packet_settings::deep_buffers;

const PACKET: u64 = 4_096;

/// Switches in a row with a node at either end.
fn row(rates: &[(u64, u64)]) -> Fabric {
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
    Fabric::new("row", Shape::Graph, switches, &nodes, &links).unwrap()
}

/// When a message from each of the sources has arrived.
fn arrivals(
    network: &mut impl Transport,
    sources: &[u32],
    destination: u32,
    size: u64,
) -> Vec<u64> {
    let mut traffic = Traffic::new(network);
    for source in sources.iter().copied() {
        let (size, token) = (Bytes(size), u64::from(source));
        let [from, to] = [source, destination].map(|gpu| traffic.network().gpu_device(gpu));
        traffic.send(Message::new(from, to, size, token));
    }
    let mut times = vec![0; sources.len()];
    while let Some(occurrence) = traffic.next_occurrence().unwrap() {
        if let Occurrence::Delivered { token } = occurrence {
            let place = sources.iter().position(|source| u64::from(*source) == token).unwrap();
            times[place] = traffic.now().0;
        }
    }
    times
}

/// A fabric with one GPU at each port.
fn nodes(fabric: &Fabric) -> System {
    let node = AbstractNode {
        gpus: 1,
        bandwidth: Bandwidth::gigabytes_per_second(20),
        latency: Picoseconds(5_000),
    };
    System::of_nodes(fabric.clone(), node).unwrap()
}

fn settings(switching: Switching) -> PacketSettings {
    PacketSettings { packet_size: Bytes(PACKET), switching, ..deep_buffers() }
}

/// When a message from each of the sources has arrived, in packets and as a fluid.
fn in_both(
    fabric: &Fabric,
    settings: PacketSettings,
    sources: &[u32],
    destination: u32,
    size: u64,
) -> [Vec<u64>; 2] {
    let routing = || AnyRouting::new(RoutingKind::ShortestPath, fabric, 1).unwrap();
    let nic = NicPolicy::Fcfs;
    let arbitration = ArbitrationPolicy::RoundRobin;
    let nodes = nodes(fabric);
    let mut packets = PacketNetwork::new(&nodes, settings, routing(), nic, arbitration).unwrap();
    let mut flows = FlowTransport::new(&nodes, settings, routing(), nic).unwrap();
    [
        arrivals(&mut packets, sources, destination, size),
        arrivals(&mut flows, sources, destination, size),
    ]
}

proptest! {
    #[test]
    fn a_lone_message_takes_as_long_in_both(
        rates in prop::collection::vec((500_000_000_u64..20_000_000_000, 1_u64..2_000_000), 2..6),
        size in prop_oneof![0_u64..PACKET, (1_u64..50).prop_map(|packets| packets * PACKET)],
        cut_through in any::<bool>(),
    ) {
        let fabric = row(&rates);
        let switching = if cut_through { Switching::CutThrough } else { Switching::StoreAndForward };
        let [packets, flows] = in_both(&fabric, settings(switching), &[0], 1, size);
        // Each packet's time on each channel is rounded up to a picosecond.
        let rounding = (size / PACKET + 2) * rates.len() as u64;
        prop_assert!(packets[0].abs_diff(flows[0]) <= rounding, "{packets:?} and {flows:?}");
    }
}

#[test]
fn packets_share_a_link_by_port_and_fluids_by_message() {
    // Nodes 0 to 2 come to the destination, node 4, over one link, and node 3 is beside it.
    let (bandwidth, latency) = (Bandwidth::gigabytes_per_second(4), Picoseconds(30_000));
    let nodes = [0, 0, 0, 1, 1].map(|switch| NodeLink { switch, bandwidth, latency });
    let links = [SwitchLink { a: 0, b: 1, bandwidth, latency }];
    let fabric = Fabric::new("pair", Shape::Graph, 2, &nodes, &links).unwrap();
    let settings = settings(Switching::StoreAndForward);
    let size = 1000 * PACKET;
    let alone = size as f64 * 1e12 / bandwidth.0 as f64;
    let [packets, flows] = in_both(&fabric, settings, &[0, 1, 2, 3], 4, size);
    for (times, expected) in [(packets, [4.0, 4.0, 4.0, 2.0]), (flows, [4.0, 4.0, 4.0, 4.0])] {
        for (time, expected) in times.iter().zip(expected) {
            let took = *time as f64 / alone;
            assert!((took - expected).abs() < 0.02, "{times:?}: {took} for {expected}");
        }
    }
}

/// What a model says of a message that is sent at a time.
fn outcome(network: &mut impl Transport, start: u64, size: u64) -> Result<u64, TransportError> {
    let mut traffic = Traffic::new(network);
    let [from, to] = [0, 1].map(|gpu| traffic.network().gpu_device(gpu));
    traffic.send_at(Picoseconds(start), Message::new(from, to, Bytes(size), 1));
    while let Some(occurrence) = traffic.next_occurrence()? {
        if let Occurrence::Delivered { .. } = occurrence {
            return Ok(traffic.now().0);
        }
    }
    panic!("the message is lost");
}

/// Time is counted up to 213 days. A message that would be under way beyond is an error, and one
/// that arrives before is on time: none is lost.
#[test]
fn no_message_is_lost_at_the_end_of_time() {
    let fabric = row(&[(4_000_000_000, 30_000); 3]);
    let nodes = nodes(&fabric);
    let nic = NicPolicy::Fcfs;
    for switching in [Switching::StoreAndForward, Switching::CutThrough] {
        let settings = settings(switching);
        let packets = |start, size| {
            let routing = AnyRouting::new(RoutingKind::ShortestPath, &fabric, 1).unwrap();
            let arbitration = ArbitrationPolicy::RoundRobin;
            let network = PacketNetwork::new(&nodes, settings, routing, nic, arbitration);
            outcome(&mut network.unwrap(), start, size)
        };
        let flows = |start, size| {
            let routing = AnyRouting::new(RoutingKind::ShortestPath, &fabric, 1).unwrap();
            let network = FlowTransport::new(&nodes, settings, routing, nic);
            outcome(&mut network.unwrap(), start, size)
        };
        for size in [0, 100, PACKET, 10 * PACKET + 1] {
            let takes = packets(0, size).unwrap();
            for left in [0, 1, 400_000, takes / 2, takes - 1, takes, takes + 200_000] {
                let start = u64::MAX - 1 - left;
                for played in [packets(start, size), flows(start, size)] {
                    match played {
                        // Another 200 ns for the credit that goes back, and for rounding.
                        Ok(time) => assert!(left + 100_000 >= takes && time > start),
                        Err(error) => {
                            assert!(matches!(error, TransportError::TooLong { .. }), "{error}");
                            assert!(left <= takes + 150_000, "{left} of {takes}");
                        }
                    }
                }
            }
        }
        for size in [1 << 62, u64::MAX] {
            let error = flows(0, size).unwrap_err();
            assert!(matches!(error, TransportError::TooLong { .. }), "{error}");
        }
    }
}
