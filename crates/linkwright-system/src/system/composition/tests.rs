use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::diagnostic::Named;
use crate::system::fabric::{
    Fabric, FabricShape, FatTree, FatTreeRates, LinkRate, NodeLink, fat_tree,
};
use crate::system::presets::{NAMES, preset};
use crate::system::views::listed;

const RATE: LinkRate =
    LinkRate { bandwidth: Bandwidth(12_500_000_000), latency: Picoseconds(600_000) };

/// Makes one switch that joins a given number of ports.
fn single_switch(ports: u32) -> Fabric {
    let link = NodeLink { switch: 0, bandwidth: RATE.bandwidth, latency: RATE.latency };
    Fabric::new("network0", FabricShape::Graph, 1, &vec![link; ports as usize], &[]).unwrap()
}

/// The servers on one switch as one machine, which lists every part.
fn listed(servers: &[(Arc<Server>, u32)]) -> Server {
    let fabric = single_switch(System::ports_for(servers).unwrap());
    let system = System::new(servers, fabric, PortOrder::Plain).unwrap();
    listed::listed(&system, &(0..system.servers()).collect::<Vec<_>>()).unwrap()
}

/// Ends, kind and data of every channel that a machine's links are, in one order.
fn channels_of(machine: &Server) -> Vec<(String, String, LinkKind, u32, u64, u64)> {
    let mut all = Vec::new();
    for link in machine.links() {
        for (from, to) in [(link.a, link.b), (link.b, link.a)] {
            let name = |id: DeviceId| machine.devices()[id].name.clone();
            let (bandwidth, latency) = (link.total_bandwidth().0, link.latency.0);
            all.push((name(from), name(to), link.kind, link.count, bandwidth, latency));
        }
    }
    all.sort();
    all
}

/// Lists the same for a system.
fn channels_in(system: &System) -> Vec<(String, String, LinkKind, u32, u64, u64)> {
    let mut all: Vec<_> = (0..system.channels() as u32)
        .map(|channel| {
            let it = system.channel(channel);
            let name = |device| match system.device_name(device) {
                switch if switch == "switch0" => "network0".to_owned(),
                other => other,
            };
            (name(it.from), name(it.to), it.kind, it.count, it.bandwidth.0, it.latency.0)
        })
        .collect();
    all.sort();
    all
}

/// Puts servers on one switch, from a few presets.
fn servers() -> impl Strategy<Value = Vec<(Arc<Server>, u32)>> {
    let names = ["dgx1-v100", "pcie-tree-4", "dgx-a100", "hgx-h100", "4x-l40s-pcie"];
    let known: Vec<Arc<Server>> =
        names.iter().map(|name| Arc::new(preset(name).unwrap())).collect();
    prop::collection::vec((0..known.len(), 0..4_u32), 1..5).prop_filter_map(
        "at least one server",
        move |rows| {
            let rows: Vec<_> =
                rows.into_iter().map(|(at, count)| (Arc::clone(&known[at]), count)).collect();
            rows.iter().any(|(_, count)| *count > 0).then_some(rows)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// A system on one switch is the machine that lists the same servers and their switch.
    #[test]
    fn a_system_has_the_parts_of_a_listed_machine(servers in servers(), rails in any::<bool>()) {
        let old = listed(&servers);
        let nics = old.devices().iter().filter(|it| it.kind == DeviceKind::Nic).count() as u32;
        let order = if rails { PortOrder::Rails } else { PortOrder::Plain };
        let system = System::new(&servers, single_switch(nics), order).unwrap();
        prop_assert_eq!(system.gpus() as usize, old.gpus().len());
        prop_assert_eq!(system.devices(), old.devices().len());
        for (gpu, device) in old.gpus().iter().enumerate() {
            let here = system.gpu_device(gpu as u32);
            prop_assert_eq!(&system.device_name(here), &old.devices()[*device].name);
            prop_assert_eq!(system.device_kind(here), DeviceKind::Gpu);
            let at = system.gpu(gpu as u32);
            prop_assert_eq!(system.gpu_at(at.server, at.index), gpu as u32);
        }
        prop_assert_eq!(channels_in(&system), channels_of(&old));
    }

    /// Every interface has a port of its own, whatever the order, and the ports know it.
    #[test]
    fn ports_and_interfaces_are_a_bijection(servers in servers(), spare in 0..3_u32) {
        for &(_, order) in PortOrder::NAMED {
            let counted = System::new(&servers, single_switch(1_000), order).unwrap().nics();
            let system = System::new(&servers, single_switch(counted + spare), order).unwrap();
            let mut ports: Vec<u32> = (0..counted).map(|nic| system.port_of(nic)).collect();
            for (nic, port) in ports.iter().enumerate() {
                prop_assert_eq!(system.nic_of_port(*port), Some(nic as u32));
            }
            ports.sort_unstable();
            prop_assert_eq!(ports, (0..counted).collect::<Vec<_>>());
            prop_assert!((counted..counted + spare).all(|port| system.nic_of_port(port).is_none()));
        }
    }

    /// Numbers of parts lead back to them.
    #[test]
    fn numbers_are_arithmetic(servers in servers()) {
        let system = System::new(&servers, single_switch(200), PortOrder::Plain).unwrap();
        let fabric = system.fabric_channels() as u32;
        for channel in fabric..system.channels() as u32 {
            let at = system.server_channel(channel).unwrap();
            prop_assert_eq!(system.channel_at(at.server, at.index), channel);
        }
        for device in 0..system.devices() {
            match system.device(device) {
                SystemDevice::OfServer(at) => {
                    prop_assert_eq!(system.device_at(at.server, at.index as usize), device);
                }
                SystemDevice::Switch(at) => prop_assert_eq!(system.switch_device(at), device),
            }
        }
    }
}

#[test]
fn on_rails_equal_interfaces_stand_side_by_side() {
    let dgx = Arc::new(preset("dgx-a100").unwrap());
    let own = System::of_server(Arc::clone(&dgx)).kinds()[0].nics().len() as u32;
    let system = System::new(&[(dgx, 3)], single_switch(3 * own), PortOrder::Rails).unwrap();
    for rail in 0..own {
        for server in 0..3 {
            assert_eq!(system.port_of(system.nic_at(server, rail)), 3 * rail + server);
        }
    }
}

#[test]
fn a_lone_server_keeps_its_numbers() {
    for name in NAMES {
        let server = Arc::new(preset(name).unwrap());
        let system = System::of_server(Arc::clone(&server));
        assert_eq!((system.name(), system.servers()), (server.name(), 1));
        assert_eq!(system.devices(), server.devices().len());
        for (id, device) in server.devices().iter().enumerate() {
            assert_eq!(system.device_name(id), device.name);
        }
        for (index, link) in server.links().iter().enumerate() {
            let there = system.channel(2 * index as u32);
            assert_eq!((there.from, there.to, there.kind), (link.a, link.b, link.kind));
            assert_eq!(system.channel(2 * index as u32 + 1).to, link.a);
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let dgx = Arc::new(preset("dgx1-v100").unwrap());
    let nics = System::of_server(Arc::clone(&dgx)).kinds()[0].nics().len() as u32;
    let refused = |servers: &[(Arc<Server>, u32)], ports| {
        System::new(servers, single_switch(ports), PortOrder::Plain).unwrap_err().to_string()
    };
    let error = refused(&[(Arc::clone(&dgx), 2)], 2 * nics - 3);
    assert!(error.contains("3 fewer than the servers"), "{error}");
    assert!(refused(&[(dgx.clone(), 0)], 1).contains("at least one server"));
    assert!(refused(&[], 1).contains("at least one server"));
    assert!(refused(&[(dgx.clone(), u32::MAX)], 1).contains("too many"));
    let pair = listed(&[(dgx, 2)]);
    let error = refused(&[(Arc::new(pair), 2)], 100);
    assert!(error.contains("network of its own"), "{error}");
}

#[test]
fn an_abstract_node_joins_each_gpu_to_each() {
    let node = Arc::new(Server::abstract_node(AbstractNode {
        gpus: 4,
        nics: 1,
        bandwidth: RATE.bandwidth,
        latency: RATE.latency,
    }));
    let system = System::new(&[(node, 3)], single_switch(5), PortOrder::Plain).unwrap();
    assert_eq!((system.gpus(), system.nics(), system.servers()), (12, 3, 3));
    assert_eq!(system.kinds()[0].server().links().len(), 6);
    assert!(system.kinds()[0].server().nics_meet_gpus());
    let spare = system.channel(Fabric::injection(4));
    assert_eq!((spare.from, spare.to), (usize::MAX, system.switch_device(0)));
}

#[test]
fn abstract_nodes_out_of_range_are_refused() {
    let refused = |gpus, bandwidth| {
        let node =
            AbstractNode { gpus, nics: 1, bandwidth: Bandwidth(bandwidth), latency: RATE.latency };
        System::of_nodes(single_switch(2), node).map_err(|error| error.to_string())
    };
    assert!(refused(0, 1).unwrap_err().contains("a node cannot have 0 GPUs"));
    assert!(refused(MOST_NODE_GPUS + 1, 1).is_err() && refused(2, 0).is_err());
    assert!(refused(1, 0).is_ok() && refused(MOST_NODE_GPUS, 1).is_ok());
}

/// A system of 131,072 GPUs needs the memory of its fabric and of one server.
#[test]
fn large_systems_are_small() {
    let server = Arc::new(preset("hgx-h100").unwrap());
    let own = System::of_server(Arc::clone(&server)).kinds()[0].nics().len() as u32;
    let shape = FatTree::three_levels(96, 64, 1).unwrap();
    let rates = FatTreeRates { node: RATE, leaf: RATE, core: RATE };
    assert!(shape.nodes() >= 16_384 * own, "{} ports", shape.nodes());
    let fabric = fat_tree(&shape, &rates).unwrap();
    let system = System::new(&[(server, 16_384)], fabric, PortOrder::Rails).unwrap();
    assert_eq!(system.gpus(), 131_072);
    let last = system.gpu_device(131_071);
    assert_eq!(system.device_name(last), "node16383/GPU7");
    let per_channel = size_of::<crate::system::fabric::FabricChannel>() + size_of::<u32>();
    assert!(system.fabric_channels() * per_channel < 131_000_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// The speed at a port is that of the interface that a system puts there.
    #[test]
    fn a_port_has_the_speed_of_its_interface(servers in servers(), rails in any::<bool>()) {
        let order = if rails { PortOrder::Rails } else { PortOrder::Plain };
        let speeds = InterfaceSpeeds::of(&servers, order).unwrap();
        let ports = System::ports_for(&servers).unwrap();
        let system = System::new(&servers, single_switch(ports), order).unwrap();
        let speed = |port| {
            let at = system.nic(system.nic_of_port(port).unwrap());
            let kind = system.kind_of(at.server);
            let model = kind.server().devices()[kind.nics()[at.index as usize]].model.clone();
            let gigabits = match model.as_deref() {
                Some("ConnectX-4 EDR") => 100,
                Some("ConnectX-6 HDR" | "ConnectX-7 200 Gb/s") => 200,
                Some("ConnectX-7 NDR") => 400,
                _ => return RATE.bandwidth,
            };
            Bandwidth(gigabits * 125_000_000)
        };
        let expected: Vec<Bandwidth> = (0..ports).map(speed).collect();
        prop_assert_eq!(speeds.ports_or(RATE.bandwidth), expected.clone());
        prop_assert_eq!(speeds.fastest(), system.fastest_interface());
        let knows_none = system.fastest_interface().is_none();
        prop_assert_eq!(speeds.fastest(), expected.iter().max().copied().filter(|_| !knows_none));
    }
}
