//! Tests messages over whole servers: their NVLinks, their hosts, their interfaces, and the fabric
//! between them, in both models of the network.

use std::sync::Arc;

use linkwright::network::packet::{ChannelStatistics, NicPolicy, PacketSettings, TurnByTurn};
use linkwright::network::routing::{AnyRouting, Nowhere, routing_for};
use linkwright::network::transport::{Message, Occurrence, Transport};
use linkwright::network::{FlowTransport, PacketNetwork, Traffic};
use linkwright::system::fabric::FabricSpecification;
use linkwright::system::kinds::DataSheet;
use linkwright::system::presets::preset;
use linkwright::system::{
    Device, DeviceKind, Discipline, Link, LinkKind, PortOrder, Server, ServerBuilder, System,
};
use linkwright::units::Bytes;
use proptest::prelude::*;

use crate::packet_settings::deep_buffers;

const MEGABYTE: u64 = 1 << 20;

fn settings() -> PacketSettings {
    PacketSettings { buffer_packets: Some(16), ..deep_buffers() }
}

/// Builds `servers` servers of a preset on the smallest fabric of a kind.
fn system(name: &str, servers: u32, fabric: &str, order: PortOrder) -> System {
    let server = Arc::new(preset(name).unwrap());
    let listed = [(server, servers)];
    let ports = System::ports_for(&listed).unwrap();
    let fabric = FabricSpecification::preset(fabric).unwrap().for_ports(ports).unwrap();
    System::new(&listed, fabric, order).unwrap()
}

fn routing(system: &System) -> AnyRouting {
    match system.fabric() {
        None => AnyRouting::of(Nowhere),
        Some(fabric) => AnyRouting::new(routing_for(fabric.shape()), fabric, 1).unwrap(),
    }
}

fn packets(system: &System) -> PacketNetwork<'_, AnyRouting> {
    let arbitration = &TurnByTurn;
    PacketNetwork::new(system, settings(), routing(system), NicPolicy::FCFS, arbitration).unwrap()
}

fn flows(system: &System) -> FlowTransport<'_, AnyRouting> {
    FlowTransport::new(system, settings(), routing(system), NicPolicy::FCFS).unwrap()
}

/// When each message has arrived, all sent at the start.
fn arrivals(network: &mut impl Transport, messages: &[(u32, u32, u64)]) -> Vec<u64> {
    let mut traffic = Traffic::new(network);
    for (token, (source, destination, size)) in (0..).zip(messages.iter().copied()) {
        let size = Bytes(size);
        let [from, to] = [source, destination].map(|gpu| traffic.network().gpu_device(gpu));
        traffic.send(Message::new(from, to, size, token));
    }
    let mut times = vec![0; messages.len()];
    let mut sent = 0;
    while let Some(occurrence) = traffic.next_occurrence().unwrap() {
        match occurrence {
            Occurrence::Delivered { token } => times[token as usize] = traffic.now().0,
            Occurrence::Sent { .. } => sent += 1,
        }
    }
    assert_eq!(sent, messages.len(), "every message leaves its source once");
    times
}

/// The names of the channels within servers that carried something, with how much.
fn used(system: &System, carried: &[(u32, ChannelStatistics)]) -> Vec<(String, String, u64)> {
    let name = |device| system.device_name(device);
    let each = carried.iter().map(|(channel, carried)| {
        let there = system.channel(*channel);
        (name(there.from), name(there.to), carried.data.0)
    });
    each.collect()
}

#[test]
fn neighbours_talk_over_their_nvlink_and_strangers_over_the_host() {
    let alone = System::of_server(Arc::new(preset("dgx1-v100").unwrap()));
    let gpu = |at: u32| alone.gpu_device(at);
    let nvlink = (0..alone.channels() as u32)
        .map(|channel| alone.channel(channel))
        .find(|it| (it.from, it.to) == (gpu(0), gpu(3)))
        .unwrap();
    let reached = nvlink.bandwidth.0 as f64 * nvlink.kind.reached_share();
    let expected = MEGABYTE as f64 / reached * 1e12 + nvlink.latency.0 as f64;
    for times in [
        arrivals(&mut packets(&alone), &[(0, 3, MEGABYTE)]),
        arrivals(&mut flows(&alone), &[(0, 3, MEGABYTE)]),
    ] {
        assert!((times[0] as f64 - expected).abs() < 2.0, "{times:?} for {expected}");
    }
    // GPUs 0 and 5 have no NVLink: their copies cross two PCIe switches and both sockets.
    let mut network = packets(&alone);
    let host = arrivals(&mut network, &[(0, 5, MEGABYTE)])[0];
    let way = used(&alone, &network.inside_statistics());
    assert!(way.len() >= 4 && way.iter().all(|(.., data)| *data == MEGABYTE), "{way:?}");
    assert!(
        way.iter().any(|(from, ..)| from == "GPU0") && way.iter().any(|(_, to, _)| to == "GPU5")
    );
    let slowest = 15.754e9 * LinkKind::Pcie3.reached_share();
    let least = MEGABYTE as f64 / slowest * 1e12;
    assert!((least..least * 1.1).contains(&(host as f64)), "{host} for at least {least}");
}

#[test]
fn a_message_to_another_server_crosses_its_host_its_interface_and_the_fabric() {
    for fabric in ["fat-tree", "dragonfly", "torus", "single-switch"] {
        let two = system("dgx1-v100", 2, fabric, PortOrder::Plain);
        let (mut by_packets, mut by_flows) = (packets(&two), flows(&two));
        let messages = [(1, 8, 4 * MEGABYTE)];
        let packet = arrivals(&mut by_packets, &messages)[0];
        let flow = arrivals(&mut by_flows, &messages)[0];
        let ways = [by_packets.inside_statistics(), by_flows.inside_statistics()];
        for way in ways.map(|carried| used(&two, &carried)) {
            let is_pcie = way.len() == 4 && way.iter().all(|(.., data)| *data == 4 * MEGABYTE);
            assert!(is_pcie, "{fabric}: GPU, PCIe switch, NIC, and back: {way:?}");
        }
        // The host's 11.2 GB/s are the narrowest, and both models are bound by them.
        let least = (4 * MEGABYTE) as f64 / (15.754e9 * LinkKind::Pcie3.reached_share()) * 1e12;
        for time in [packet, flow] {
            assert!((least..least * 1.02 + 4e6).contains(&(time as f64)), "{fabric}: {time}");
        }
    }
}

#[test]
fn gpus_share_the_interface_that_is_near_to_both() {
    let two = system("dgx1-v100", 2, "single-switch", PortOrder::Plain);
    // GPUs 0 and 1 hang below one PCIe switch with one interface; 2 has another.
    let near = arrivals(&mut packets(&two), &[(0, 8, MEGABYTE), (1, 9, MEGABYTE)]);
    let far = arrivals(&mut packets(&two), &[(0, 8, MEGABYTE), (2, 10, MEGABYTE)]);
    assert!(near.iter().max().unwrap() > &(far.iter().max().unwrap() * 3 / 2), "{near:?} {far:?}");
}

#[test]
fn a_system_at_rest_has_made_no_channel_of_a_server() {
    let many = system("hgx-h100", 64, "fat-tree", PortOrder::Rails);
    let mut network = packets(&many);
    assert_eq!(network.channels_made(), many.fabric_channels());
    arrivals(&mut network, &[(0, 511, 100)]);
    let of_one = network.channels_made() - many.fabric_channels();
    assert!(of_one > 0 && of_one < 4 * 200, "only two servers are at work: {of_one}");
}

/// A server whose GPUs the host does not join to its interface is refused before anything moves.
#[test]
fn a_gpu_without_a_way_out_is_named() {
    let mut builder = ServerBuilder::new("cut", "test");
    let [a, b] = ["GPU0", "GPU1"].map(|name| builder.device(name, DeviceKind::Gpu, None).unwrap());
    let nic = builder.device("NIC0", DeviceKind::Nic, None).unwrap();
    builder.data_sheet_link(a, nic, LinkKind::Pcie4, 1).unwrap();
    builder.data_sheet_link(a, b, LinkKind::Nvlink3, 1).unwrap();
    let server: Arc<Server> = Arc::new(builder.build().unwrap());
    let fabric = FabricSpecification::preset("single-switch").unwrap().for_ports(2).unwrap();
    let system = System::new(&[(server, 2)], fabric, PortOrder::Plain).unwrap();
    let (nic, arbitration) = (NicPolicy::FCFS, &TurnByTurn);
    let network = PacketNetwork::new(&system, settings(), routing(&system), nic, arbitration);
    let error = network.err().unwrap().to_string();
    assert!(error.contains("`GPU1`") && error.contains("`cut`"), "{error}");
}

/// Three GPUs on one NVSwitch, whose links have a discipline.
fn switched(discipline: Discipline) -> System {
    let mut builder = ServerBuilder::new("switched", "test");
    let gpu = |at: u32| Device::new(&format!("GPU{at}"), DeviceKind::Gpu, None);
    let gpus = [0, 1, 2].map(|at| builder.add(gpu(at)).unwrap());
    let b = builder.device("NVSwitch0", DeviceKind::NvSwitch, None).unwrap();
    let (kind, discipline) = (LinkKind::Nvlink4, Some(discipline));
    let DataSheet { bandwidth, latency, .. } = kind.data_sheet();
    for a in gpus {
        builder
            .link(Link {
                a,
                b,
                kind,
                count: 18,
                bandwidth,
                latency,
                discipline,
                flits: None,
                measured: None,
            })
            .unwrap();
    }
    System::of_server(Arc::new(builder.build().unwrap()))
}

#[test]
fn a_link_carries_messages_as_its_own_discipline_says() {
    let [pipes, by_packet] = Discipline::ALL.map(switched);
    let link = pipes.channel(0);
    assert_eq!([pipes.channel(0), by_packet.channel(1)].map(|it| it.discipline), Discipline::ALL);
    let rate = link.bandwidth.0 as f64 * link.kind.reached_share();
    let (whole, hops) = (MEGABYTE as f64 / rate * 1e12, 2.0 * link.latency.0 as f64);
    let one_packet = 4_096.0 / rate * 1e12;
    // Buffers of what an NVLink has under way, so that no packet waits for a credit.
    let settings = PacketSettings { buffer_packets: Some(256), ..settings() };
    let start = |system| {
        let arbitration = &TurnByTurn;
        PacketNetwork::new(system, settings, Nowhere, NicPolicy::FCFS, arbitration).unwrap()
    };
    // A packet is whole before it starts its second hop, a message on pipes is not.
    let lone = |system| arrivals(&mut start(system), &[(0, 2, MEGABYTE)])[0] as f64;
    assert!((lone(&pipes) - whole - hops).abs() < 2.0);
    // Each of 256 packets takes a whole number of picoseconds.
    assert!((lone(&by_packet) - whole - hops - one_packet).abs() < 260.0);
    // Two meet at the third GPU: on pipes one waits for the other, packets take turns.
    let meeting = [(0, 2, MEGABYTE), (1, 2, MEGABYTE)];
    let mut network = start(&by_packet);
    let (apart, together) =
        (arrivals(&mut start(&pipes), &meeting), arrivals(&mut network, &meeting));
    assert!((apart[1] as f64 - apart[0] as f64 - whole).abs() < 2.0, "{apart:?}");
    assert!((together[1].abs_diff(together[0]) as f64) < 2.0 * one_packet, "{together:?}");
    let most = network.inside_statistics().iter().map(|(_, it)| it.packets).max();
    assert_eq!(most, Some(512), "both messages' packets enter the third GPU");
    // Under the flow model the two share the third GPU's link, too.
    let flowing = arrivals(&mut flows(&by_packet), &meeting);
    assert_eq!(flowing[0], flowing[1]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever is sent arrives, whole, in both models; the interfaces' bandwidth bounds it.
    #[test]
    fn everything_arrives(
        name in prop::sample::select(
            vec!["dgx1-v100", "dgx-a100", "4x-l40s-pcie", "pcie-tree-4", "summit-node"],
        ),
        servers in 2..4_u32,
        fabric in prop::sample::select(vec!["fat-tree", "dragonfly", "single-switch"]),
        rails in any::<bool>(),
        traffic in prop::collection::vec((any::<u32>(), any::<u32>(), 0..200_000_u64), 1..40),
    ) {
        let order = if rails { PortOrder::Rails } else { PortOrder::Plain };
        let system = system(name, servers, fabric, order);
        let gpus = system.gpus();
        let messages: Vec<_> =
            traffic.iter().map(|(from, to, size)| (from % gpus, to % gpus, *size)).collect();
        let mut network = packets(&system);
        let times = arrivals(&mut network, &messages);
        let again = arrivals(&mut packets(&system), &messages);
        prop_assert_eq!(&times, &again, "two runs agree to the picosecond");
        let flowing = arrivals(&mut flows(&system), &messages);
        for ((from, to, _), (packet, flow)) in messages.iter().zip(times.iter().zip(&flowing)) {
            prop_assert!(from == to || (*packet > 0 && *flow > 0));
        }
        let across = |(from, to, _): &&(u32, u32, u64)| {
            system.gpu(*from).server != system.gpu(*to).server
        };
        let sent: u64 = messages.iter().filter(across).map(|(.., size)| size).sum();
        let injected: u64 = (0..system.nics())
            .map(|nic| network.statistics()[2 * system.port_of(nic) as usize].data.0)
            .sum();
        prop_assert_eq!(sent, injected, "traffic between servers enters the fabric once");
    }
}
