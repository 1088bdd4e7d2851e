//! Networks at full load: nothing stops, order is kept where promised, and throughput is near
//! what theory says.

use linkwright::engine::Random;
use linkwright::network::PacketNetwork;
use linkwright::network::packet::{NicPolicy, PacketSettings, Switching, TurnByTurn};
use linkwright::network::routing::{
    ADAPTIVE, AnyRouting, MINIMAL, PROGRESSIVE, Routing, RoutingKind, STATIC, UGAL, VALIANT,
};
use linkwright::network::traffic;
use linkwright::network::transport::{Message, Occurrence, Transport};
use linkwright::system::AbstractNode;
use linkwright::system::Fabric;
use linkwright::units::{Bytes, Picoseconds};

use super::systems::{RATE, System, groups, systems, tree};

fn settings(buffer_packets: u16) -> PacketSettings {
    PacketSettings {
        packet_size: Bytes(1000),
        buffer_packets: Some(buffer_packets),
        router_delay: Picoseconds(10_000),
        nic_delay: Picoseconds(0),
        switching: Switching::StoreAndForward,
        pcie: None,
        seed: 1,
    }
}

/// Where node `source`'s message `number` goes.
type Traffic<'a> = &'a dyn Fn(u32, u64, &mut Random) -> u32;

/// Keeps four messages of one packet under way at every node, up to a given number in all. Returns
/// for each delivery its message's source and number and the time.
fn flood(
    System { fabric, kind }: &System,
    settings: PacketSettings,
    messages: u64,
    traffic: Traffic<'_>,
) -> Vec<(u32, u64, u64)> {
    let routing = AnyRouting::new(*kind, fabric, 5).unwrap();
    let (nic, arbitration) = (NicPolicy::FCFS, &TurnByTurn);
    let node = AbstractNode { gpus: 1, nics: 1, bandwidth: RATE.bandwidth, latency: RATE.latency };
    let nodes = linkwright::system::System::of_nodes(fabric.clone(), node).unwrap();
    let mut network = PacketNetwork::new(&nodes, settings, routing, nic, arbitration).unwrap();
    let mut random = Random::new(9);
    let mut sent = vec![0; fabric.nodes() as usize];
    let mut playing = traffic::Traffic::new(&mut network);
    let mut send = |playing: &mut traffic::Traffic<'_, PacketNetwork<'_, AnyRouting>>,
                    source: u32| {
        let number = sent[source as usize];
        if number < messages {
            sent[source as usize] += 1;
            let destination = traffic(source, number, &mut random);
            let token = u64::from(source) << 32 | number;
            let size = Bytes(1000);
            let [from, to] = [source, destination].map(|gpu| playing.network().gpu_device(gpu));
            playing.send(Message::new(from, to, size, token));
        }
    };
    for source in 0..fabric.nodes() {
        for _ in 0..4 {
            send(&mut playing, source);
        }
    }
    let mut delivered = Vec::new();
    while let Some(occurrence) = playing.next_occurrence().unwrap() {
        match occurrence {
            // The next follows as soon as one has left: the source is never idle by itself.
            Occurrence::Sent { token } => send(&mut playing, (token >> 32) as u32),
            Occurrence::Delivered { token } => {
                let (source, number) = ((token >> 32) as u32, token & 0xffff_ffff);
                delivered.push((source, number, playing.now().0));
            }
        }
    }
    delivered
}

#[test]
fn nothing_stops_at_full_load_and_order_is_kept_where_promised() {
    for system in systems() {
        let nodes = system.fabric.nodes();
        let half = nodes / 2;
        let patterns: [Traffic<'_>; 4] = [
            &|_, _, random| random.below(u64::from(nodes).try_into().unwrap()) as u32,
            &|source, _, _| (source + half) % nodes,
            &|source, _, _| (source + half.saturating_sub(1).max(1)) % nodes,
            &|source, number, _| if number % 2 == 0 { 0 } else { nodes - 1 - source },
        ];
        for traffic in patterns {
            // A single place in each buffer is the hardest case.
            let delivered = flood(&system, settings(1), 40, traffic);
            let name = (system.fabric.name(), system.kind.name());
            assert_eq!(delivered.len() as u64, u64::from(nodes) * 40, "{name:?}");
            let routing = AnyRouting::new(system.kind, &system.fabric, 5).unwrap();
            if routing.in_order() {
                let mut random = Random::new(9);
                let mut to = |number| traffic(0, number, &mut random);
                let fixed = (2..40).step_by(2).all(|number| to(number) == to(0));
                let mut last = vec![None; nodes as usize * 2];
                for (source, number, _) in delivered {
                    // Of one pair: where the destination depends on the number, by its parity.
                    let pair = (source * 2 + (number % 2) as u32) as usize;
                    if fixed {
                        assert!(last[pair] < Some(number), "{name:?}: {source} {number}");
                        last[pair] = Some(number);
                    }
                }
            }
        }
    }
}

/// Returns the part of the nodes' bandwidth that arrives, once the network is full.
fn throughput(fabric: Fabric, kind: &'static dyn RoutingKind, traffic: Traffic<'_>) -> f64 {
    const MESSAGES: u64 = 1500;
    let system = System { fabric, kind };
    let delivered = flood(&system, settings(16), MESSAGES, traffic);
    // By then all buffers are full, and every source still sends.
    let (from, to) = (delivered.len() * 2 / 5, delivered.len() * 3 / 5);
    let seconds = (delivered[to].2 - delivered[from].2) as f64 / 1e12;
    let arrived = (to - from) as f64 * 1000.0;
    let offered = f64::from(system.fabric.nodes()) * RATE.bandwidth.0 as f64;
    arrived / seconds / offered
}

#[test]
fn uniform_traffic_saturates_near_theory() {
    let uniform = |nodes: u32| {
        move |source: u32, _: u64, random: &mut Random| {
            let other = random.below(u64::from(nodes - 1).try_into().unwrap()) as u32;
            (source + 1 + other) % nodes
        }
    };
    // A full fat-tree can carry all, and under destination-mod-k each link serves as many nodes
    // as any other of its kind.
    for (kind, least) in [(STATIC, 0.9), (ADAPTIVE, 0.9)] {
        let reached = throughput(tree(8, 4, 1), kind, &uniform(64));
        assert!((least..=1.0).contains(&reached), "{}: {reached}", kind.name());
    }
    // A balanced dragonfly (a = 2p = 2h) carries uniform traffic on minimal routes.
    for kind in [MINIMAL, UGAL, PROGRESSIVE] {
        let reached = throughput(groups(2, 4, 2, 9), kind, &uniform(72));
        assert!((0.9..=1.0).contains(&reached), "{}: {reached}", kind.name());
    }
    // The 64 of 71 packets that leave their group take two global links instead of one.
    let bound = 71.0 / 64.0 / 2.0;
    let reached = throughput(groups(2, 4, 2, 9), VALIANT, &uniform(72));
    assert!((0.9 * bound..=bound).contains(&reached), "valiant: {reached} of {bound}");
}

#[test]
fn a_group_that_sends_to_the_next_needs_detours() {
    // All 8 nodes of a group share the one global link to the next: an eighth on minimal ways. A
    // detour takes two global links, and there are as many of them as nodes: a half. With the
    // eighth that goes directly it is (1 + 1/8) / 2 (Kim et al., Section 4.2).
    let next_group = |source: u32, _: u64, random: &mut Random| {
        ((source / 8 + 1) % 9) * 8 + random.below(8.try_into().unwrap()) as u32
    };
    for (kind, least, bound) in [
        (MINIMAL, 0.12, 0.125),
        (VALIANT, 0.35, 0.5),
        (UGAL, 0.5, 0.5625),
        (PROGRESSIVE, 0.5, 0.5625),
    ] {
        let reached = throughput(groups(2, 4, 2, 9), kind, &next_group);
        assert!((least..=bound).contains(&reached), "{}: {reached}", kind.name());
    }
}

#[test]
fn shifted_traffic_shows_what_adaptive_routing_is_for() {
    // Nodes whose numbers differ by the number of uplinks meet on one of them under
    // destination-mod-k; the least loaded one avoids that.
    let shifted = |source: u32, _: u64, _: &mut Random| (source % 16 * 4 + source / 16) % 64;
    let fixed = throughput(tree(8, 4, 1), STATIC, &shifted);
    let adaptive = throughput(tree(8, 4, 1), ADAPTIVE, &shifted);
    assert!(adaptive > 0.85, "{adaptive}");
    assert!(fixed < 0.5, "{fixed}");
}
