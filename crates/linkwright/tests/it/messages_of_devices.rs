//! Tests messages between any two devices, over the class of links that they ask for.

use std::sync::Arc;

use linkwright::diagnostic::Named;
use linkwright::network::packet::{ChannelStatistics, NicPolicy, TurnByTurn};
use linkwright::network::routing::{AnyRouting, Nowhere, routing_for};
use linkwright::network::transport::{DeviceIndex, Message, Occurrence, Transport};
use linkwright::network::{FlowTransport, PacketNetwork, RouteClass, Traffic, TransportError};
use linkwright::system::fabric::FabricSpecification;
use linkwright::system::presets::preset;
use linkwright::system::{AbstractNode, DeviceKind, InterfaceRule, PortOrder, System};
use linkwright::units::{Bandwidth, Bytes, Picoseconds};

use crate::packet_settings::deep_buffers;

const SIZE: Bytes = Bytes(4 << 20);

fn two(name: &str) -> System {
    let listed = [(Arc::new(preset(name).unwrap()), 2)];
    let ports = System::ports_for(&listed).unwrap();
    let fabric = FabricSpecification::preset("single-switch").unwrap().for_ports(ports).unwrap();
    System::new(&listed, fabric, PortOrder::Plain).unwrap()
}

/// Finds the device of a name.
fn device(system: &System, name: &str) -> DeviceIndex {
    let found = (0..system.devices()).find(|id| system.device_name(*id) == name);
    found.unwrap_or_else(|| panic!("no {name}")) as DeviceIndex
}

fn arrival<T: Transport>(network: &mut T, messages: &[Message]) -> Result<u64, TransportError> {
    let mut traffic = Traffic::new(network);
    messages.iter().for_each(|message| traffic.send(*message));
    let mut last = 0;
    while let Some(occurrence) = traffic.next_occurrence()? {
        if let Occurrence::Delivered { .. } = occurrence {
            last = traffic.now().0;
        }
    }
    Ok(last)
}

fn routing(system: &System) -> AnyRouting {
    match system.fabric() {
        None => AnyRouting::of(Nowhere),
        Some(fabric) => AnyRouting::new(routing_for(fabric.shape()), fabric, 1).unwrap(),
    }
}

/// The ends of a channel within a server, and the bytes that crossed it.
type Crossed = (String, String, u64);

/// Returns when the last of some messages arrives in packets and as a fluid, and the channels that
/// the packets crossed.
fn played(
    system: &System,
    messages: &[Message],
) -> Result<([u64; 2], Vec<Crossed>), TransportError> {
    let (nic, arbitration) = (NicPolicy::FCFS, &TurnByTurn);
    let mut packets =
        PacketNetwork::new(system, deep_buffers(), routing(system), nic, arbitration).unwrap();
    let mut flows = FlowTransport::new(system, deep_buffers(), routing(system), nic).unwrap();
    let times = [arrival(&mut packets, messages)?, arrival(&mut flows, messages)?];
    let named = |(channel, carried): &(u32, ChannelStatistics)| {
        let there = system.channel(*channel);
        (system.device_name(there.from), system.device_name(there.to), carried.data.0)
    };
    Ok((times, packets.inside_statistics().iter().map(named).collect()))
}

fn message(system: &System, from: &str, to: &str, route: RouteClass) -> Message {
    let [from, to] = [from, to].map(|name| device(system, name));
    Message { route, ..Message::new(from, to, SIZE, 1) }
}

#[test]
fn copies_between_a_cpu_and_its_gpu_cross_the_host_in_both_directions() {
    let alone = System::of_server(Arc::new(preset("dgx1-v100").unwrap()));
    let peak = 15.754e9 * linkwright::system::LinkKind::Pcie3.reached_share();
    let least = SIZE.0 as f64 / peak * 1e12;
    for ends in [["CPU0", "GPU0"], ["GPU0", "CPU0"]] {
        for route in [RouteClass::Any, RouteClass::Host] {
            let copy = message(&alone, ends[0], ends[1], route);
            let (times, way) = played(&alone, &[copy]).unwrap();
            for time in times {
                assert!((least..least * 1.05).contains(&(time as f64)), "{ends:?}: {time} {least}");
            }
            let path: Vec<_> = way.iter().map(|(from, to, _)| [&from[..], to]).collect();
            assert_eq!(path.len(), 2, "one PCIe switch between them: {path:?}");
            assert!(way.iter().all(|(.., data)| *data == SIZE.0));
        }
    }
    // Both directions at once share nothing, and two copies to one GPU share its link.
    let copy = |from, to| message(&alone, from, to, RouteClass::Any);
    let both = played(&alone, &[copy("CPU0", "GPU0"), copy("GPU0", "CPU0")]).unwrap().0;
    let same = played(&alone, &[copy("CPU0", "GPU0"), copy("CPU1", "GPU0")]).unwrap().0;
    for (both, same) in both.into_iter().zip(same) {
        assert!((both as f64) < 1.05 * least && (same as f64) > 1.95 * least, "{both} {same}");
    }
}

#[test]
fn a_message_may_ask_for_the_host_where_nvlink_is_wider() {
    let alone = System::of_server(Arc::new(preset("dgx1-v100").unwrap()));
    let over = |route| played(&alone, &[message(&alone, "GPU0", "GPU3", route)]).unwrap();
    let (widest, way) = over(RouteClass::Any);
    assert_eq!((widest, way.len()), (over(RouteClass::Fabric).0, 1));
    let (host, way) = over(RouteClass::Host);
    assert!(way.len() >= 3, "{way:?}");
    assert!(
        host.iter().zip(widest).all(|(host, fabric)| *host > 2 * fabric),
        "{host:?} {widest:?}"
    );
}

#[test]
fn a_cpu_sends_through_the_interface_that_is_near() {
    let two = two("dgx1-v100");
    for (cpu, nics) in [("node0/CPU0", ["mlx5_0", "mlx5_1"]), ("node0/CPU1", ["mlx5_2", "mlx5_3"])]
    {
        for route in [RouteClass::Any, RouteClass::Network] {
            let (_, way) = played(&two, &[message(&two, cpu, "node1/GPU2", route)]).unwrap();
            let out = way.iter().find(|(_, to, _)| to.starts_with("node0/mlx5_")).unwrap();
            assert!(nics.iter().any(|nic| out.1.ends_with(nic)), "{cpu}: {way:?}");
        }
    }
}

#[test]
fn interfaces_are_chosen_by_the_rule_of_the_system() {
    for (rule, expected) in [
        (
            InterfaceRule::Nearest,
            ["mlx5_0", "mlx5_0", "mlx5_1", "mlx5_1", "mlx5_2", "mlx5_2", "mlx5_3", "mlx5_3"],
        ),
        (
            InterfaceRule::InTurn,
            ["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"],
        ),
        (InterfaceRule::First, ["mlx5_0"; 8]),
    ] {
        let two = two("dgx1-v100").with_interface_rule(rule);
        for (gpu, nic) in (0..8).zip(expected) {
            let from = format!("node0/GPU{gpu}");
            let sent = message(&two, &from, "node1/GPU0", RouteClass::Any);
            let (_, way) = played(&two, &[sent]).unwrap();
            let through = way.iter().find(|(_, to, _)| to.starts_with("node0/mlx5_")).unwrap();
            assert!(through.1.ends_with(nic), "{}: {from} by {way:?}", rule.name());
        }
    }
}

#[test]
fn what_cannot_go_as_asked_says_so() {
    let two = two("dgx1-v100");
    for (from, to, route, words) in [
        ("node0/GPU0", "node1/GPU0", RouteClass::Fabric, "cannot take the route over NVLink"),
        ("node0/GPU0", "node1/GPU0", RouteClass::Host, "cannot take the route over the host"),
        ("node0/GPU0", "node0/GPU1", RouteClass::Network, "cannot take the route over the network"),
        ("node0/GPU0", "node0/GPU5", RouteClass::Fabric, "no NVLink joins `GPU0` and `GPU5`"),
        ("node0/GPU0", "node0/mlx5_0", RouteClass::Any, "`mlx5_0` cannot send or receive"),
        ("node0/mlx5_0", "node1/GPU0", RouteClass::Any, "`node0/mlx5_0` cannot send or receive"),
    ] {
        let error = played(&two, &[message(&two, from, to, route)]).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    let switch = (0..two.devices())
        .find(|id| two.device_kind(*id) == DeviceKind::NetworkSwitch)
        .unwrap() as DeviceIndex;
    let sent = Message::new(switch, 0, SIZE, 1);
    assert!(played(&two, &[sent]).unwrap_err().to_string().contains("cannot send or receive"));
}

#[test]
fn abstract_nodes_have_no_host() {
    let node = AbstractNode {
        gpus: 4,
        nics: 1,
        bandwidth: Bandwidth::gigabytes_per_second(20),
        latency: Picoseconds(5_000),
    };
    let fabric = FabricSpecification::preset("single-switch").unwrap().for_ports(2).unwrap();
    let nodes = System::of_nodes(fabric, node).unwrap();
    let [a, b] = [0, 1].map(|gpu| nodes.gpu_device(gpu) as DeviceIndex);
    let sent = |route| played(&nodes, &[Message { route, ..Message::new(a, b, SIZE, 1) }]);
    assert!(sent(RouteClass::Fabric).is_ok());
    assert!(sent(RouteClass::Host).unwrap_err().to_string().contains("no path over the host"));
}
