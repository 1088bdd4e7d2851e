//! Plays routings over all shortest paths, on fabrics whose shape nobody knows.

use linkwright::network::PacketNetwork;
use linkwright::network::packet::{NicPolicy, PacketSettings, TurnByTurn};
use linkwright::network::routing::{ADAPTIVE, AnyRouting, ECMP, RoutingKind, SHORTEST_PATH};
use linkwright::network::traffic::Traffic;
use linkwright::network::transport::{Message, Transport};
use linkwright::system::fabric::{FabricSpecification, fabric_dot, read_fabric};
use linkwright::system::{AbstractNode, Fabric, System};
use linkwright::units::{Bandwidth, Bytes, Picoseconds};

use crate::packet_settings::deep_buffers;

const KIB: u64 = 1 << 10;

fn of_kind(text: &str) -> Fabric {
    toml::from_str::<FabricSpecification>(text).unwrap().build().unwrap()
}

/// Returns the milliseconds until messages of a size have arrived, all sent at once.
fn time(
    fabric: &Fabric,
    kind: &'static dyn RoutingKind,
    pairs: &[(u32, u32)],
    size: u64,
    seed: u64,
) -> f64 {
    let settings = PacketSettings { buffer_packets: None, ..deep_buffers() };
    let routing = AnyRouting::new(kind, fabric, seed).unwrap();
    let (bandwidth, latency) = (Bandwidth::gigabytes_per_second(20), Picoseconds(5_000));
    let node = AbstractNode { gpus: 1, nics: 1, bandwidth, latency };
    let system = System::of_nodes(fabric.clone(), node).unwrap();
    let (nic, turns) = (NicPolicy::FCFS, &TurnByTurn);
    let mut network = PacketNetwork::new(&system, settings, routing, nic, turns).unwrap();
    let mut traffic = Traffic::new(&mut network);
    for (token, (from, to)) in (0..).zip(pairs) {
        let [from, to] = [*from, *to].map(|gpu| traffic.network().gpu_device(gpu));
        traffic.send(Message::new(from, to, Bytes(size), token));
    }
    while traffic.next_occurrence().unwrap().is_some() {}
    traffic.now().as_seconds() * 1e3
}

/// Plays a sixteenth of the all-to-all that takes 24 strided nodes of a tree 29.0 ms.
#[test]
fn a_tree_given_as_dot_is_as_fast_as_by_its_kind() {
    let tree = of_kind("kind = 'fat-tree'\nlevels = 2\nradix = 32");
    let graph = read_fabric("tree.dot", &fabric_dot(&tree)).unwrap();
    let nodes: Vec<u32> = (0..24).map(|node| 21 * node).collect();
    // All send to the first node first.
    let to_all = |to: u32| nodes.iter().map(move |from| (*from, to));
    let pairs: Vec<_> =
        nodes.iter().flat_map(|to| to_all(*to)).filter(|(from, to)| from != to).collect();
    let of_kind = time(&tree, ADAPTIVE, &pairs, 256 * KIB, 1);
    let as_dot = time(&graph, ADAPTIVE, &pairs, 256 * KIB, 1);
    assert!(as_dot < 1.05 * of_kind, "{as_dot} ms, and {of_kind} ms by its kind");
    let one_way = time(&graph, SHORTEST_PATH, &pairs, 256 * KIB, 1);
    assert!(one_way > 1.5 * of_kind, "{one_way} ms by one way, {of_kind} ms by all");
    // A path for each connection spreads them, too. The nodes' own links need half a millisecond.
    let hashed = time(&graph, ECMP, &pairs, 256 * KIB, 1);
    assert!(hashed < one_way && hashed > 0.5, "{hashed} ms, {one_way} ms by one way");
}

/// Sends from the first 64 nodes of Quartz to the leaf beside theirs, over 16 links.
#[test]
fn a_shift_on_quartz_uses_every_link_up() {
    let quartz = of_kind("kind = 'quartz'");
    let pairs: Vec<_> = (0..64).map(|node| (node, (node + 32) % 64)).collect();
    let took = |kind, seed| time(&quartz, kind, &pairs, 2 * KIB * KIB, seed);
    let ideal = 2.0 * (2 * KIB * KIB) as f64 / 11.9e9 * 1e3;
    let adaptive = took(ADAPTIVE, 1);
    assert!(adaptive < 0.6 && adaptive > ideal, "{adaptive} ms of {ideal}");
    // Four connections share a link where two would do.
    assert!(took(SHORTEST_PATH, 1) > 1.9 * ideal);
    // The seed decides which connections share a link.
    let hashed: Vec<_> = (1..4).map(|seed| took(ECMP, seed)).collect();
    assert!(hashed.iter().all(|it| *it > ideal && *it < 8.0 * ideal), "{hashed:?}");
    assert!(hashed[0] != hashed[1] || hashed[1] != hashed[2], "{hashed:?}");
    assert_eq!(took(ECMP, 1), hashed[0]);
}
