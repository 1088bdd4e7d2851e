//! Copies share the memories of CPUs, and do not notice one that is wide.

use std::sync::Arc;

use proptest::prelude::*;

use crate::network::packet::{NicPolicy, Switching, TurnByTurn};
use crate::network::pcie::{PcieArbitration, PcieSettings};
use crate::network::routing::{AnyRouting, Nowhere};
use crate::network::transport::{DeviceIndex, Message, Occurrence, Transport};
use crate::network::{Connections, FlowTransport, PacketNetwork, PacketSettings, Routes, Traffic};
use crate::system::toml_format::read;
use crate::system::{System, Wire};
use crate::units::{Bytes, Picoseconds};

/// Makes a server of four GPUs, each on a port of its own, and two CPUs with a memory.
fn server(memory: &str) -> System {
    let text = format!(
        "name = \"m\"\n[[device]]\nkind = \"gpu\"\nnames = [\"A\", \"B\", \"C\", \"D\"]\n\
         [[device]]\nkind = \"cpu\"\nnames = [\"X\", \"Y\"]\n{memory}\n\
         [[link]]\nkind = \"pcie4\"\nbetween = [[\"A\", \"X\"], [\"B\", \"X\"], [\"C\", \"X\"], [\"D\", \"Y\"]]\n\
         [[link]]\nkind = \"upi\"\nbetween = [[\"X\", \"Y\"]]\n"
    );
    System::of_server(Arc::new(read("m.toml", &text).unwrap()))
}

const A: DeviceIndex = 0;
const B: DeviceIndex = 1;
const C: DeviceIndex = 2;
const X: DeviceIndex = 4;
const Y: DeviceIndex = 5;

fn settings(switching: Switching, bus: Option<PcieArbitration>) -> PacketSettings {
    let of = |arbitration| PcieSettings { arbitration, ..PcieSettings::default() };
    PacketSettings {
        packet_size: Bytes(4_096),
        buffer_packets: Some(64),
        router_delay: Picoseconds(0),
        nic_delay: Picoseconds(0),
        switching,
        pcie: bus.map(of),
        seed: 1,
    }
}

/// Tells when each message arrives, by its token.
fn arrivals(network: &mut impl Transport, messages: &[(u64, Message)]) -> Vec<u64> {
    let mut traffic = Traffic::new(network);
    messages.iter().for_each(|(time, message)| traffic.send_at(Picoseconds(*time), *message));
    let mut times = vec![0; messages.len()];
    while let Some(occurrence) = traffic.next_occurrence().unwrap() {
        if let Occurrence::Delivered { token } = occurrence {
            times[token as usize] = traffic.now().0;
        }
    }
    times
}

/// Gives the same in packets, as flows and on connections.
fn all(system: &System, settings: PacketSettings, messages: &[(u64, Message)]) -> [Vec<u64>; 3] {
    let (routing, nic) = (|| AnyRouting::of(Nowhere), NicPolicy::FCFS);
    let mut packets = PacketNetwork::new(system, settings, routing(), nic, &TurnByTurn).unwrap();
    let mut flows = FlowTransport::new(system, settings, routing(), nic).unwrap();
    let routes = Routes::new(system, Wire::reached_share).unwrap();
    let mut connections = Connections::over(&routes, &[]);
    if let Some(bus) = &settings.pcie {
        connections = connections.with_bus(system, bus).unwrap();
    }
    [
        arrivals(&mut packets, messages),
        arrivals(&mut flows, messages),
        arrivals(&mut connections, messages),
    ]
}

fn copies(ends: &[(DeviceIndex, DeviceIndex)], size: u64) -> Vec<(u64, Message)> {
    let copy = |(token, (from, to)): (u64, &(DeviceIndex, DeviceIndex))| {
        let message = Message::new(*from, *to, Bytes(size), token);
        (0, Message { by_copy_engine: true, ..message })
    };
    (0..).zip(ends).map(copy).collect()
}

#[test]
fn all_that_is_read_and_written_shares_the_memory() {
    let system = server("memory_bandwidth = \"20 GB/s\"");
    let size = 1 << 20;
    let cases: [&[(DeviceIndex, DeviceIndex)]; 4] = [
        &[(X, A), (X, B), (X, C)],
        &[(A, X), (B, X), (C, X)],
        &[(X, A), (B, X), (X, B), (C, X)],
        &[(A, X)],
    ];
    for ends in cases {
        // Nothing else holds these up: a port carries 22 GB/s, or more, each way. The
        // memory's queues hold the last of it, a twentieth at most, which counts as written.
        let least = ends.len() as f64 * size as f64 / 20e9 * 1e12;
        for bus in [None, Some(PcieArbitration::RoundRobin), Some(PcieArbitration::Throughput)] {
            let found = all(&system, settings(Switching::CutThrough, bus), &copies(ends, size));
            for times in found {
                let last = *times.iter().max().unwrap() as f64;
                assert!((0.95..1.03).contains(&(last / least)), "{ends:?} {bus:?}: {last} {least}");
            }
        }
    }
    // A copy from one memory to the other is read in one and written in the other.
    let both = copies(&[(X, Y), (Y, X), (X, A)], size);
    for times in all(&system, settings(Switching::CutThrough, None), &both) {
        let last = *times.iter().max().unwrap() as f64;
        assert!((0.98..1.05).contains(&(last / (3.0 * size as f64 / 20e9 * 1e12))), "{last}");
    }
}

#[test]
fn strict_priority_serves_a_memory_that_is_full_in_its_order() {
    let system = server("memory_bandwidth = \"20 GB/s\"");
    let mut messages = copies(&[(X, A), (X, B)], 1 << 20);
    messages[1].1.size = Bytes(1 << 18);
    let of = |bus| all(&system, settings(Switching::CutThrough, Some(bus)), &messages);
    let [_, flows, connections] = of(PcieArbitration::Throughput);
    // The short one has the memory to itself, as if nothing else went.
    let alone = (1 << 18) as f64 / 20e9 * 1e12;
    for times in [flows, connections] {
        assert!((times[1] as f64) < 1.02 * alone + 1e6, "{times:?} {alone}");
    }
}

#[test]
fn a_memory_that_no_traffic_can_fill_is_no_channel() {
    for memory in ["", "memory_bandwidth = \"600 GB/s\""] {
        let routes = Routes::new(&server(memory), Wire::reached_share).unwrap();
        assert_eq!((routes.wiring().memories().len(), routes.memory_of(4)), (0, None));
    }
    let routes = Routes::new(&server("memory_bandwidth = \"100 GB/s\""), |_| 1.0).unwrap();
    // X has three ports and a link between sockets, Y one of each: 231 and 105 GB/s in both directions.
    let memories: Vec<_> = routes.wiring().memories().iter().map(|it| (it.a, it.b)).collect();
    assert_eq!(memories, [(4, 4), (5, 5)]);
    assert!(routes.memory_of(4).is_some_and(|it| routes.is_memory(it) && !routes.is_memory(9)));
}

fn message() -> impl Strategy<Value = (u64, (DeviceIndex, DeviceIndex), u64, bool)> {
    let ends = prop::sample::select(vec![(X, A), (A, X), (X, B), (B, X), (C, X), (A, C), (X, C)]);
    let sizes = prop_oneof![0_u64..600, 1_u64..20_000, Just(4_096), Just(65_536)];
    (0_u64..4_000_000, ends, sizes, any::<bool>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Three ports bring 189 GB/s in both directions at their peak: of 190 GB/s nothing is ever noticed.
    #[test]
    fn a_memory_that_is_never_full_changes_nothing(
        written in prop::collection::vec(message(), 1..24),
        bus in prop::sample::select(vec![
            None,
            Some(PcieArbitration::RoundRobin),
            Some(PcieArbitration::Throughput),
            Some(PcieArbitration::Qos),
        ]),
        stored in any::<bool>(),
    ) {
        let switching = if stored { Switching::StoreAndForward } else { Switching::CutThrough };
        let messages: Vec<(u64, Message)> = (0..)
            .zip(&written)
            .map(|(token, (time, (from, to), size, by_copy_engine))| {
                let message = Message::new(*from, *to, Bytes(*size), token);
                (*time, Message { by_copy_engine: *by_copy_engine, ..message })
            })
            .collect();
        let settings = settings(switching, bus);
        let wide = server("memory_bandwidth = \"190 GB/s\"");
        prop_assert!(!Routes::new(&wide, |_| 1.0).unwrap().wiring().memories().is_empty());
        prop_assert_eq!(all(&wide, settings, &messages), all(&server(""), settings, &messages));
    }
}
