//! Compares the same traffic over these links and over the packet network, on a star.
//!
//! Both carry one message after another, at a rate and with a latency. They differ in their queues.
//! The packet network has credits for places in a switch's buffers and an arbiter for the packets
//! that wait there. These links have an endless queue. So times are the same while credits last.
//! They agree message by message where the arbiter takes the oldest first, and as a whole whichever
//! waits first. Where buffers are small, a message that waits at its source comes later.

use proptest::prelude::*;

use super::{WireRate, Wires};
use crate::engine::{Engine, EngineError, Model, Scheduler};
use crate::network::packet::{
    Arbitration, NicPolicy, OldestFirst, PacketNetwork, PacketSettings, Switching, TurnByTurn,
};
use crate::network::routing::TableRouting;
use crate::network::traffic::Traffic;
use crate::network::transport::{Message, Occurrence, Transport};
use crate::system::composition::{AbstractNode, System};
use crate::system::fabric::{LinkRate, single_switch};
use crate::units::{Bandwidth, Bytes, Picoseconds};

const PORTS: u32 = 6;
const CYCLE: u64 = 1_000;
/// Carries a byte a cycle.
const BANDWIDTH: Bandwidth = Bandwidth::gigabytes_per_second(1);
const LATENCY: u64 = 5 * CYCLE;
const SWITCH: u64 = 140 * CYCLE;
/// Counts the bytes of a response with a line.
const SIZE: u64 = 68;

/// Describes a message that is sent: from which port, to which, when, and how many bytes.
#[derive(Debug, Clone, Copy)]
struct Sent {
    from: u32,
    to: u32,
    at: u64,
    size: u64,
}

/// Joins each port to each by these links, over a switch.
struct Star<'t> {
    links: Wires,
    traffic: &'t [Sent],
    crossed: Vec<u8>,
    delivered: Vec<u64>,
}

impl<'t> Star<'t> {
    fn new(traffic: &'t [Sent]) -> Self {
        let rate = WireRate::Bytes { bandwidth: BANDWIDTH.0, cycle: CYCLE };
        let mut links = Wires::new();
        for port in 0..PORTS {
            links.channel(format!("port {port} to switch"), rate, LATENCY + SWITCH);
        }
        for port in 0..PORTS {
            links.channel(format!("switch to port {port}"), rate, LATENCY);
        }
        for from in 0..PORTS {
            for to in 0..PORTS {
                links.path(&[from, PORTS + to]);
            }
        }
        let crossed = vec![0; traffic.len()];
        Self { links, traffic, crossed, delivered: vec![0; traffic.len()] }
    }
}

impl Model for Star<'_> {
    type Event = usize;
    type Error = EngineError;
    const SETTLES: bool = false;

    fn handle(
        &mut self,
        message: usize,
        scheduler: &mut impl Scheduler<usize>,
    ) -> Result<(), EngineError> {
        let Sent { from, to, size, .. } = self.traffic[message];
        let crossed = &mut self.crossed[message];
        let path = from * PORTS + to;
        let (at, is_last) = self.links.cross(scheduler.now().0, path, *crossed, size);
        *crossed += 1;
        if is_last {
            self.delivered[message] = at;
        } else {
            scheduler.schedule(Picoseconds(at), message);
        }
        Ok(())
    }
}

/// When each message is delivered by these links.
fn lean(traffic: &[Sent]) -> Vec<u64> {
    let mut star = Star::new(traffic);
    let mut engine = Engine::unwatched();
    for (message, sent) in traffic.iter().enumerate() {
        engine.schedule(Picoseconds(sent.at), message);
    }
    engine.run(&mut star).unwrap();
    star.delivered
}

/// Says when the packet network delivers each message, given the size of its buffers.
fn packets(
    traffic: &[Sent],
    buffer_packets: u16,
    arbitration: &'static dyn Arbitration,
) -> Vec<u64> {
    let rate = LinkRate { bandwidth: BANDWIDTH, latency: Picoseconds(LATENCY) };
    let node =
        AbstractNode { gpus: 1, nics: 1, bandwidth: BANDWIDTH, latency: Picoseconds(LATENCY) };
    let system = System::of_nodes(single_switch(PORTS, rate).unwrap(), node).unwrap();
    let settings = PacketSettings {
        packet_size: Bytes(128),
        buffer_packets: Some(buffer_packets),
        router_delay: Picoseconds(SWITCH),
        nic_delay: Picoseconds(0),
        switching: Switching::StoreAndForward,
        seed: 1,
        pcie: None,
    };
    let routing = TableRouting::shortest(system.fabric().unwrap()).unwrap();
    let mut network =
        PacketNetwork::new(&system, settings, routing, NicPolicy::FCFS, arbitration).unwrap();
    let mut waiting = Traffic::new(&mut network);
    for (token, sent) in traffic.iter().enumerate() {
        let [from, to] = [sent.from, sent.to].map(|port| waiting.network().gpu_device(port));
        let message = Message::new(from, to, Bytes(sent.size), token as u64);
        waiting.send_at(Picoseconds(sent.at), message);
    }
    let mut delivered = vec![0; traffic.len()];
    while let Some(occurrence) = waiting.next_occurrence().unwrap() {
        if let Occurrence::Delivered { token } = occurrence {
            delivered[token as usize] = waiting.now().0;
        }
    }
    delivered
}

/// The times at which anything is delivered at a port.
fn at_port(traffic: &[Sent], delivered: &[u64], port: u32) -> Vec<u64> {
    let here = traffic.iter().zip(delivered).filter(|(sent, _)| sent.to == port);
    let mut times: Vec<u64> = here.map(|(_, time)| *time).collect();
    times.sort_unstable();
    times
}

/// Makes messages of one size, each sent at a time of its own.
fn equal_messages() -> impl Strategy<Value = Vec<Sent>> {
    let message = (0..PORTS, 1..PORTS, 1..60 * CYCLE);
    prop::collection::vec(message, 1..200).prop_map(|drawn| {
        let mut at = 0;
        drawn
            .into_iter()
            .map(|(from, step, later)| {
                at += later;
                Sent { from, to: (from + step) % PORTS, at, size: SIZE }
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn a_message_alone_takes_as_long(size in 1_u64..=128, from in 0..PORTS, step in 1..PORTS) {
        let traffic = [Sent { from, to: (from + step) % PORTS, at: 0, size }];
        let alone = 2 * size * CYCLE + 2 * LATENCY + SWITCH;
        prop_assert_eq!(lean(&traffic), [alone]);
        prop_assert_eq!(packets(&traffic, 8, &TurnByTurn), [alone]);
    }

    #[test]
    fn ports_are_as_busy_while_credits_last(traffic in equal_messages()) {
        let lean = lean(&traffic);
        for arbitration in [&TurnByTurn as &dyn Arbitration, &OldestFirst] {
            let packets = packets(&traffic, 1000, arbitration);
            for port in 0..PORTS {
                prop_assert_eq!(at_port(&traffic, &lean, port), at_port(&traffic, &packets, port));
            }
        }
    }

    #[test]
    fn who_waits_for_a_credit_comes_no_sooner(traffic in equal_messages()) {
        let last = |delivered: Vec<u64>| delivered.into_iter().max();
        let bound = packets(&traffic, 1, &OldestFirst);
        prop_assert!(last(bound) >= last(lean(&traffic)));
    }
}
