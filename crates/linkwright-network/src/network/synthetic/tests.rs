//! Synthetic traffic against what theory says of it.

use super::*;
use crate::network::packet::{
    Arbitration, NicPolicy, OldestFirst, PacketNetwork, PacketSettings, Switching, TurnByTurn,
};
use crate::network::routing::{AnyRouting, routing_kinds};
use crate::system::composition::{AbstractNode, System};
use crate::system::fabric::read_fabric;
use crate::units::Bandwidth;

/// Is that of a message of 4,096 bytes at 4 GB/s.
const SLOT: u64 = 1_024_000;
const LATENCY: u64 = 50_000;
const ROUTER: u64 = 60_000;
const INTERFACE: u64 = 400_000;

fn system(fabric: &str) -> System {
    let rates = "bandwidth = '4 GB/s'\nlatency = '50 ns'\nnode-latency = '50 ns'";
    let global = if fabric.contains("dragonfly") { "\nglobal-latency = '50 ns'" } else { "" };
    let fabric = read_fabric("fabric.toml", &format!("{fabric}\n{rates}{global}")).unwrap();
    let node = AbstractNode {
        gpus: 1,
        nics: 1,
        bandwidth: Bandwidth::gigabytes_per_second(8),
        latency: Picoseconds(0),
    };
    System::of_nodes(fabric, node).unwrap()
}

fn network<'a>(
    system: &'a System,
    routing: &str,
    arbitration: &'static dyn Arbitration,
) -> PacketNetwork<'a, AnyRouting> {
    let settings = PacketSettings {
        packet_size: Bytes(4096),
        buffer_packets: None,
        router_delay: Picoseconds(ROUTER),
        nic_delay: Picoseconds(INTERFACE),
        switching: Switching::StoreAndForward,
        seed: 1,
        pcie: None,
    };
    let kind = routing_kinds().get(routing).unwrap();
    let routing = AnyRouting::new(kind, system.fabric().unwrap(), 1).unwrap();
    PacketNetwork::new(system, settings, routing, NicPolicy::FCFS, arbitration).unwrap()
}

fn load(injection: Injection) -> SyntheticLoad {
    SyntheticLoad { injection, message: Bytes(4096), warm_up: 400, window: 400, seed: 1 }
}

fn outcome(
    system: &System,
    routing: &str,
    arbitration: &'static dyn Arbitration,
    pattern: TrafficPattern,
    injection: Injection,
) -> LoadOutcome {
    let fabric = system.fabric().unwrap();
    let destinations = Destinations::new(pattern, fabric, 0.2, 1).unwrap();
    let mut network = network(system, routing, arbitration);
    let hook = &mut |_| std::ops::ControlFlow::Continue(());
    play(&mut network, fabric, &destinations, &load(injection), hook).unwrap()
}

/// Returns what passes at full load.
fn accepted(
    system: &System,
    routing: &str,
    arbitration: &'static dyn Arbitration,
    pattern: TrafficPattern,
) -> f64 {
    outcome(system, routing, arbitration, pattern, Injection::Rate(1.0)).accepted
}

/// Tells how long a packet takes: it waits for its interface, then crosses each link and each switch.
fn alone(links_between_switches: u64) -> u64 {
    let links = links_between_switches + 2;
    INTERFACE + links * (SLOT + LATENCY) + (links - 1) * ROUTER
}

#[test]
fn latency_without_load_is_exact() {
    for (fabric, routing, pattern, links) in [
        ("kind = 'torus'\ndimensions = [8, 4]", "dimension-order", TrafficPattern::Neighbour, 1),
        ("kind = 'torus'\ndimensions = [8, 4]", "dimension-order", TrafficPattern::Tornado, 4),
        ("kind = 'fat-tree'\nradix = 4\npods = 4", "adaptive", TrafficPattern::Adversarial, 4),
        ("kind = 'single-switch'\nports = 4", "shortest-path", TrafficPattern::Permutation, 0),
    ] {
        let system = system(fabric);
        let network = &mut network(&system, routing, &TurnByTurn);
        let fabric = system.fabric().unwrap();
        let destinations = Destinations::new(pattern, fabric, 0.0, 1).unwrap();
        let load = load(Injection::Rate(0.1));
        let found = latency_without_load(network, fabric, &destinations, &load).unwrap();
        assert_eq!(found, alone(links) as f64, "{pattern:?}");
        // The least of a light load is the same.
        let light = outcome(&system, routing, &TurnByTurn, pattern, Injection::Rate(0.02));
        assert_eq!(light.latencies[0], alone(links));
    }
}

#[test]
fn a_closed_loop_of_one_has_the_latency_without_load() {
    let system = system("kind = 'single-switch'\nports = 8");
    let found = outcome(
        &system,
        "shortest-path",
        &TurnByTurn,
        TrafficPattern::Permutation,
        Injection::Window(1),
    );
    assert!(found.latencies.iter().all(|latency| *latency == alone(0)));
    // One message in each of its round trips.
    let expected = SLOT as f64 / alone(0) as f64;
    assert!((found.accepted - expected).abs() < 0.01, "{} {expected}", found.accepted);
}

#[test]
fn a_dragonfly_to_the_next_group_is_held_up_by_its_one_link() {
    let fly = system(
        "kind = 'dragonfly'\nnodes-per-switch = 2\nswitches-per-group = 4\n\
         global-links-per-switch = 2\ngroups = 9",
    );
    // Eight nodes share the one link to the next group.
    let minimal = accepted(&fly, "minimal", &TurnByTurn, TrafficPattern::Adversarial);
    assert!((minimal - 1.0 / 8.0).abs() < 0.003, "{minimal}");
    // Every path takes two global links, and each group has as many as nodes.
    let valiant = accepted(&fly, "valiant", &TurnByTurn, TrafficPattern::Adversarial);
    assert!(valiant > 0.36 && valiant <= 0.5, "{valiant}");
}

#[test]
fn a_taper_passes_its_share() {
    for taper in [1, 3] {
        let tree = system(&format!(
            "kind = 'fat-tree'\nlevels = 2\nradix = 8\nleaves = 4\ntapering = {taper}"
        ));
        let found = accepted(&tree, "adaptive", &TurnByTurn, TrafficPattern::Adversarial);
        assert!((found - 1.0 / f64::from(taper)).abs() < 0.03, "{taper}: {found}");
    }
}

#[test]
fn a_tornado_on_a_ring_of_eight_passes_a_third_by_age() {
    let ring = system("kind = 'torus'\ndimensions = [8]");
    let by_age = accepted(&ring, "dimension-order", &OldestFirst, TrafficPattern::Tornado);
    let in_turn = accepted(&ring, "dimension-order", &TurnByTurn, TrafficPattern::Tornado);
    println!("age {by_age}, round robin {in_turn}");
    assert!((by_age - 1.0 / 3.0).abs() < 0.01, "{by_age}");
    assert!(in_turn < 0.25, "{in_turn}");
}

#[test]
fn a_hot_spot_passes_what_its_link_takes() {
    let star = system("kind = 'single-switch'\nports = 16");
    let found =
        outcome(&star, "shortest-path", &TurnByTurn, TrafficPattern::HotSpot, Injection::Rate(0.2));
    // 15 nodes send 0.2 of their packets there, and a fifteenth of the rest.
    let offered_there: f64 = 15.0 * 0.2 * (0.2 + 0.8 / 15.0);
    assert!(offered_there < 1.0 && found.unfinished == 0, "{found:?}");
    let over =
        outcome(&star, "shortest-path", &TurnByTurn, TrafficPattern::HotSpot, Injection::Rate(0.8));
    assert!(over.accepted < 0.5, "{}", over.accepted);
}

#[test]
fn ranks_at_all_nodes_send_as_the_nodes_do_and_others_to_the_nearest_that_is_free() {
    let fly = read_fabric(
        "fabric.toml",
        "kind = 'dragonfly'\nnodes-per-switch = 2\nswitches-per-group = 4\nglobal-links-per-switch = 2\ngroups = 9",
    )
    .unwrap();
    let at = |nodes: &[NodeId]| {
        let found = Destinations::adversarial_at(&Places { fabric: &fly, nodes }).unwrap();
        found.fixed().unwrap().to_vec()
    };
    let all: Vec<NodeId> = (0..72).collect();
    let of_nodes = Destinations::new(TrafficPattern::Adversarial, &fly, 0.0, 1).unwrap();
    assert_eq!(at(&all), of_nodes.fixed().unwrap());
    // Two ranks at each node: the second sends to the second.
    let twice: Vec<NodeId> = all.iter().flat_map(|node| [*node; 2]).collect();
    assert!(at(&twice).iter().enumerate().all(|(rank, to)| *to as usize == (rank + 16) % 144));
    // Groups 0 and 5 alone send to each other, in whatever order their ranks stand.
    let mut some: Vec<NodeId> = (40..48).chain(0..8).collect();
    some.reverse();
    for (rank, to) in at(&some).into_iter().enumerate() {
        assert_ne!(some[rank] / 8, some[to as usize] / 8);
    }
    assert_eq!(at(&[3, 3]), [1, 0]);
    assert_eq!(at(&[3, 4, 5]).len(), 3);
    for nodes in [&[3, 4, 5][..], &[0, 0, 0, 9], &[70, 1, 33, 33, 2]] {
        let mut to = at(nodes);
        assert!(to.iter().enumerate().all(|(rank, to)| rank != *to as usize), "{nodes:?} {to:?}");
        to.sort_unstable();
        assert!(to.into_iter().eq(0..nodes.len() as u32));
    }
}

#[test]
fn patterns_are_permutations_without_fixed_points() {
    for text in [
        "kind = 'torus'\ndimensions = [4, 3]\nnodes-per-switch = 2",
        "kind = 'dragonfly'\nnodes-per-switch = 2\nswitches-per-group = 4\nglobal-links-per-switch = 2\ngroups = 9",
        "kind = 'fat-tree'\nradix = 4\npods = 2",
        "kind = 'quartz'\nradix = 8\nleaves = 4\nleaves-per-pod = 2\nnodes-per-leaf = 3\nuplinks = 4\ncores = 2",
        "kind = 'single-switch'\nports = 5",
    ] {
        let fabric = read_fabric("fabric.toml", text).unwrap();
        for pattern in [
            TrafficPattern::Permutation,
            TrafficPattern::Tornado,
            TrafficPattern::Neighbour,
            TrafficPattern::Adversarial,
        ] {
            let found = Destinations::new(pattern, &fabric, 0.0, 7).unwrap();
            let mut to = found.fixed().unwrap().to_vec();
            assert!(
                to.iter().enumerate().all(|(node, to)| node as u32 != *to),
                "{pattern:?} {text}"
            );
            to.sort_unstable();
            assert!(to.into_iter().eq(0..fabric.nodes()), "{pattern:?} {text}");
        }
    }
}
