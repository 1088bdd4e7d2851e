//! Tests the packet model against theory, and against conditions that must hold at every instant.

use proptest::prelude::*;

use super::*;
use crate::engine::Random;
use crate::network::routing::{Hop, Load, PacketRoute, Routing, TableRouting};
use crate::network::traffic::Traffic;
use crate::network::transport::{Message, Occurrence, TrafficClass, Transport, TransportError};
use crate::system::composition::{AbstractNode, System};
use crate::system::fabric::{Fabric, FabricShape, NodeLink, SwitchId, SwitchLink};
use crate::units::{Bandwidth, Bytes, Picoseconds};

const BANDWIDTH: Bandwidth = Bandwidth::gigabytes_per_second(4);
const LATENCY: Picoseconds = Picoseconds(30_000);
/// Holds the picoseconds of a packet of 4,096 bytes at 4 GB/s.
const PACKET: u64 = 1_024_000;

fn settings() -> PacketSettings {
    PacketSettings {
        packet_size: Bytes(4096),
        buffer_packets: Some(8),
        router_delay: Picoseconds(60_000),
        nic_delay: Picoseconds(400_000),
        switching: Switching::StoreAndForward,
        seed: 1,
        pcie: None,
    }
}

/// Makes a fabric with a given number of GPUs at each port.
fn nodes(fabric: Fabric, gpus: u32) -> System {
    let bandwidth = Bandwidth::gigabytes_per_second(8);
    System::of_nodes(fabric, AbstractNode { gpus, nics: 1, bandwidth, latency: Picoseconds(5_000) })
        .unwrap()
}

/// Switches in a ring, with as many nodes each; a ring of one is a star.
fn ring(switches: u32, nodes_per_switch: u32) -> System {
    let ports: Vec<_> = (0..switches * nodes_per_switch)
        .map(|node| NodeLink {
            switch: node / nodes_per_switch,
            bandwidth: BANDWIDTH,
            latency: LATENCY,
        })
        .collect();
    let around = if switches > 2 { switches } else { switches - 1 };
    let links: Vec<_> = (0..around)
        .map(|a| SwitchLink { a, b: (a + 1) % switches, bandwidth: BANDWIDTH, latency: LATENCY })
        .collect();
    nodes(Fabric::new("ring", FabricShape::Graph, switches, &ports, &links).unwrap(), 1)
}

fn network(
    system: &System,
    settings: PacketSettings,
    nic: NicPolicy,
) -> PacketNetwork<'_, TableRouting> {
    let routing = TableRouting::shortest(system.fabric().unwrap()).unwrap();
    PacketNetwork::new(system, settings, routing, nic, &TurnByTurn).unwrap()
}

/// Makes a message between GPUs; [`sent`] makes one between devices from it.
fn message(source: u32, destination: u32, size: u64, token: u64) -> Message {
    Message::new(source, destination, Bytes(size), token)
}

fn sent(network: &impl Transport, message: Message) -> Message {
    let [source, destination] =
        [message.source, message.destination].map(|gpu| network.gpu_device(gpu));
    Message { source, destination, ..message }
}

/// Plays messages that are sent at the start, with the time of each occurrence.
fn play<R: Routing>(
    network: &mut PacketNetwork<'_, R>,
    messages: impl IntoIterator<Item = Message>,
) -> Vec<(u64, Occurrence)> {
    let mut traffic = Traffic::new(network);
    for message in messages {
        traffic.send(sent(traffic.network(), message));
    }
    let mut seen = Vec::new();
    while let Some(occurrence) = traffic.next_occurrence().unwrap() {
        seen.push((traffic.now().0, occurrence));
    }
    seen
}

#[test]
fn a_message_takes_as_long_as_its_packets_and_links() {
    let star = ring(1, 2);
    let mut forwarded = network(&star, settings(), NicPolicy::FCFS);
    let sent = 400_000 + 3 * PACKET;
    let path = 2 * LATENCY.0 + 60_000;
    let expected = |arrival| {
        [(sent, Occurrence::Sent { token: 7 }), (arrival, Occurrence::Delivered { token: 7 })]
    };
    assert_eq!(play(&mut forwarded, [message(0, 1, 3 * 4096, 7)]), expected(sent + PACKET + path));

    let cut_through = PacketSettings { switching: Switching::CutThrough, ..settings() };
    let mut cut = network(&star, cut_through, NicPolicy::FCFS);
    assert_eq!(play(&mut cut, [message(0, 1, 3 * 4096, 7)]), expected(sent + path));
    assert_eq!(cut.packet_hops(), 6);
    assert_eq!(cut.statistics()[0].data, Bytes(3 * 4096));
}

#[test]
fn a_message_of_nothing_arrives_and_one_to_itself_too() {
    let star = ring(1, 2);
    let mut network = network(&star, settings(), NicPolicy::FCFS);
    let messages = [message(0, 1, 0, 1), message(1, 1, 1 << 30, 2)];
    let delivered: Vec<_> = play(&mut network, messages)
        .into_iter()
        .filter(|(_, occurrence)| matches!(occurrence, Occurrence::Delivered { .. }))
        .collect();
    let path = 400_000 + 2 * LATENCY.0 + 60_000;
    assert_eq!(
        delivered,
        [(0, Occurrence::Delivered { token: 2 }), (path, Occurrence::Delivered { token: 1 })]
    );
}

#[test]
fn gpus_of_one_node_have_links_of_their_own() {
    let star = nodes(ring(1, 2).fabric().unwrap().clone(), 4);
    let mut network = network(&star, settings(), NicPolicy::FCFS);
    let messages = [message(0, 1, 8_000, 1), message(0, 1, 8_000, 2), message(0, 2, 8_000, 3)];
    let delivered: Vec<_> = play(&mut network, messages)
        .into_iter()
        .filter_map(|(time, occurrence)| match occurrence {
            Occurrence::Delivered { token } => Some((time, token)),
            _ => None,
        })
        .collect();
    assert_eq!(delivered, [(1_005_000, 1), (1_005_000, 3), (2_005_000, 2)]);
    assert_eq!(network.packet_hops(), 0);
}

#[test]
fn control_passes_data_at_the_interface_and_data_keeps_its_order() {
    let fabric = ring(1, 3);
    for policy in [NicPolicy::FCFS, NicPolicy::round_robin_of(2)] {
        let mut network = network(&fabric, settings(), policy);
        let control = Message {
            class: TrafficClass { control: true, ..TrafficClass::default() },
            ..message(0, 2, 16, 3)
        };
        let messages = [message(0, 1, 40_960, 1), message(0, 1, 40_960, 2), control];
        let seen = play(&mut network, messages);
        let left: Vec<_> = seen
            .iter()
            .filter_map(|(_, occurrence)| match occurrence {
                Occurrence::Sent { token } => Some(*token),
                _ => None,
            })
            .collect();
        assert_eq!(left, [3, 1, 2]);
        // One packet may be on its way already.
        let (arrived, _) = seen
            .iter()
            .find(|(_, occurrence)| *occurrence == Occurrence::Delivered { token: 3 })
            .unwrap();
        assert!(*arrived < settings().nic_delay.0 + 2 * PACKET, "{arrived}");
    }
}

/// Single packets at random times on one link wait as the theory of queues says. In M/D/1 the wait
/// is the load over twice one minus the load, in services (Pollaczek and Khinchine).
#[test]
fn packets_wait_for_one_link_as_theory_says() {
    const SOURCES: u32 = 256;
    let star = ring(1, SOURCES + 1);
    let deep = PacketSettings { buffer_packets: Some(1000), ..settings() };
    for (load, tolerance) in [(0.5, 0.05), (0.8, 0.08)] {
        let mut network = network(&star, deep, NicPolicy::FCFS);
        let mut random = Random::new(5);
        let mean = Picoseconds((PACKET as f64 / load) as u64);
        let (mut time, mut starts) = (0, Vec::new());
        let mut traffic = Traffic::new(&mut network);
        for token in 0..60_000 {
            time += random.exponential(mean).0;
            starts.push(time);
            let source = random.below(u64::from(SOURCES).try_into().unwrap()) as u32;
            let message = sent(traffic.network(), message(source, SOURCES, 4096, token));
            traffic.send_at(Picoseconds(time), message);
        }
        let alone = 400_000 + 2 * PACKET + 2 * LATENCY.0 + 60_000;
        let (mut waited, mut count) = (0, 0);
        while let Some(occurrence) = traffic.next_occurrence().unwrap() {
            if let Occurrence::Delivered { token } = occurrence {
                waited += traffic.now().0 - starts[token as usize] - alone;
                count += 1;
            }
        }
        let mean = waited as f64 / f64::from(count) / PACKET as f64;
        let theory = load / (2.0 * (1.0 - load));
        // Two packets of one source do not come closer than a service: a little less than Poisson.
        assert!((mean / theory - 1.0).abs() < tolerance, "{load}: {mean} beside {theory}");
    }
}

/// Round the ring in one direction with a single virtual channel: nothing breaks the cycle.
struct Clockwise;

impl Routing for Clockwise {
    fn virtual_channels(&self) -> u8 {
        1
    }

    fn in_order(&self) -> bool {
        true
    }

    fn route(&mut self, at: SwitchId, packet: &mut PacketRoute, _load: &mut dyn Load) -> Hop {
        if packet.destination == at {
            return Hop { channel: Fabric::ejection(at), virtual_channel: 0 };
        }
        // Behind the nodes' channels come those of link 0, 1, ..., clockwise ones first.
        Hop { channel: 2 * 4 + 2 * at, virtual_channel: 0 }
    }
}

#[test]
fn a_stuck_network_names_the_buffers_that_wait_for_one_another() {
    let square = ring(4, 1);
    let nic = NicPolicy::FCFS;
    let arbitration = &TurnByTurn;
    let mut network = PacketNetwork::new(&square, settings(), Clockwise, nic, arbitration).unwrap();
    let mut traffic = Traffic::new(&mut network);
    for node in 0..4 {
        let message = message(node, (node + 3) % 4, 1 << 20, u64::from(node));
        traffic.send(sent(traffic.network(), message));
    }
    let stuck = loop {
        match traffic.next_occurrence() {
            Ok(occurrence) => assert!(occurrence.is_some()),
            Err(TransportError::Stuck(stuck)) => break stuck,
            Err(other) => panic!("{other}"),
        }
    };
    assert_eq!(stuck.messages, 4);
    for place in ["switch 0 to switch 1", "switch 3 to switch 0", "(8 packets)"] {
        assert!(stuck.cycle.contains(place), "{stuck}");
    }
    let safe = TableRouting::shortest(square.fabric().unwrap()).unwrap();
    let mut network = PacketNetwork::new(&square, settings(), safe, nic, arbitration).unwrap();
    let messages = (0..4).map(|node| message(node, (node + 2) % 4, 1 << 20, u64::from(node)));
    assert_eq!(play(&mut network, messages).len(), 8);
}

#[test]
fn settings_out_of_range_are_refused() {
    let star = ring(1, 2);
    let refused = |change: fn(&mut PacketSettings)| {
        let mut wrong = settings();
        change(&mut wrong);
        let routing = TableRouting::shortest(star.fabric().unwrap()).unwrap();
        PacketNetwork::new(&star, wrong, routing, NicPolicy::FCFS, &OldestFirst).is_err()
    };
    assert!(refused(|wrong| wrong.packet_size = Bytes(0)));
    assert!(refused(|wrong| wrong.packet_size = Bytes(1 << 40)));
    assert!(refused(|wrong| wrong.buffer_packets = Some(0)));
}

fn any_policy() -> impl Strategy<Value = (NicPolicy, &'static dyn Arbitration, Switching)> {
    let policies: Vec<_> = nic_rules().iter().flat_map(NicPolicy::samples).collect();
    let nic = prop::sample::select(policies);
    let arbitration = prop::sample::select(arbiters().iter().collect::<Vec<_>>());
    let switching = prop::sample::select(vec![Switching::StoreAndForward, Switching::CutThrough]);
    (nic, arbitration, switching)
}

proptest! {
    /// Whatever is sent arrives, once and whole; credits match packets at every instant; the
    /// same messages give the same occurrences.
    #[test]
    fn all_that_is_sent_arrives(
        switches in 1_u32..6,
        nodes in 1_u32..4,
        gpus in 1_u32..3,
        buffer_packets in 1_u16..4,
        traffic in prop::collection::vec((any::<u32>(), any::<u32>(), 0_u64..40_000, any::<u8>(), 0_u64..9_000_000), 1..30),
        (nic, arbitration, switching) in any_policy(),
    ) {
        let fabric = self::nodes(ring(switches, nodes).fabric().unwrap().clone(), gpus);
        let settings = PacketSettings { buffer_packets: Some(buffer_packets), switching, ..settings() };
        let all = switches * nodes * gpus;
        let run = || {
            let routing = TableRouting::shortest(fabric.fabric().unwrap()).unwrap();
            let mut network =
                PacketNetwork::new(&fabric, settings, routing, nic, arbitration).unwrap();
            let mut playing = Traffic::new(&mut network);
            for (token, (from, to, size, priority, time)) in traffic.iter().enumerate() {
                let message = message(from % all, to % all, *size, token as u64);
                let class = TrafficClass { priority: *priority, ..TrafficClass::default() };
                let message = sent(playing.network(), Message { class, ..message });
                playing.send_at(Picoseconds(*time), message);
            }
            let mut seen = Vec::new();
            while let Some(occurrence) = playing.next_occurrence().unwrap() {
                assert!(playing.network().credits_match_packets());
                seen.push((playing.now().0, occurrence));
            }
            let carried: u64 =
                network.statistics().iter().map(|channel| channel.data.0).sum();
            (seen, carried)
        };
        let (seen, carried) = run();
        for token in 0..traffic.len() as u64 {
            for wanted in [Occurrence::Sent { token }, Occurrence::Delivered { token }] {
                let times = seen.iter().filter(|(_, occurrence)| *occurrence == wanted).count();
                prop_assert_eq!(times, 1, "{:?}", wanted);
            }
        }
        let mut least = 0;
        for (from, to, size, ..) in &traffic {
            let (from, to) = (from % all / gpus, to % all / gpus);
            let apart = (from / nodes).abs_diff(to / nodes);
            let hops = apart.min(switches - apart) + 2;
            least += if from == to { 0 } else { size * u64::from(hops) };
        }
        prop_assert_eq!(carried, least);
        prop_assert_eq!(run(), (seen, carried));
    }
}

/// Time is counted up to 213 days: a packet that needs longer is an error, never lost.
#[test]
fn what_would_happen_beyond_counted_time_ends_the_run() {
    let star = ring(1, 2);
    for switching in [Switching::StoreAndForward, Switching::CutThrough] {
        for before in [0, 1, 400_000, 430_000, 500_000, PACKET, 2 * PACKET, 3 * PACKET] {
            let settings = PacketSettings { switching, ..settings() };
            let routing = TableRouting::shortest(star.fabric().unwrap()).unwrap();
            let (nic, arbitration) = (NicPolicy::FCFS, &TurnByTurn);
            let mut network =
                PacketNetwork::new(&star, settings, routing, nic, arbitration).unwrap();
            let mut traffic = Traffic::new(&mut network);
            // Three packets, which take the second link until at least four times have passed.
            let start = Picoseconds(u64::MAX - 1 - before);
            let message = sent(traffic.network(), message(0, 1, 3 * 4096, 1));
            traffic.send_at(start, message);
            let error = std::iter::from_fn(|| match traffic.next_occurrence() {
                Ok(Some(Occurrence::Delivered { .. }) | None) => panic!("it came from nowhere"),
                other => Some(other),
            })
            .find_map(Result::err);
            assert!(matches!(error, Some(TransportError::TooLong { .. })), "{error:?}");
            assert_eq!(traffic.next_occurrence().err(), error, "it stays an error");
        }
    }
}
