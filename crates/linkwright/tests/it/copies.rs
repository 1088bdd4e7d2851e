//! Copies on servers as they are wired, in packets and as flows.

use std::ops::ControlFlow;
use std::sync::Arc;

use linkwright::network::packet::{NicPolicy, PacketSettings, TurnByTurn};
use linkwright::network::pcie::PcieSettings;
use linkwright::network::routing::{AnyRouting, Nowhere, routing_for};
use linkwright::network::{FlowTransport, PacketNetwork, RouteClass, Transport};
use linkwright::program::CopyDirection::{self, DeviceToHost, HostToDevice, Peer};
use linkwright::program::lowering::CollectiveCall;
use linkwright::program::{Operation, Program, RankBuilder, RankProgram};
use linkwright::runtime::{MpiProtocol, ProgramJob, Runtime, RuntimeError};
use linkwright::system::fabric::FabricSpecification;
use linkwright::system::presets::preset;
use linkwright::system::{AbstractNode, LinkKind, PortOrder, System};
use linkwright::units::{Bandwidth, Bytes, Picoseconds};

use crate::packet_settings::deep_buffers;

const SIZE: Bytes = Bytes(16 << 20);

fn nothing(_: &CollectiveCall) -> RankProgram {
    RankProgram::default()
}

fn run<T: Transport>(
    network: &mut T,
    gpus: u32,
    job: &ProgramJob,
) -> Result<Vec<Picoseconds>, RuntimeError> {
    let jobs = std::slice::from_ref(job);
    let runtime = Runtime::new(network, gpus, jobs, MpiProtocol::default(), nothing)?;
    let outcome = runtime.run(&mut |_| ControlFlow::Continue(()))?;
    Ok(outcome.jobs[0].ranks.iter().map(|rank| rank.end).collect())
}

/// When each rank has made its copies, each on a stream of its own: in packets, and as flows.
fn ends(
    system: &System,
    gpus: &[u32],
    copies: &[&[(CopyDirection, RouteClass)]],
) -> Result<[Vec<Picoseconds>; 2], RuntimeError> {
    ends_under(system, gpus, copies, deep_buffers())
}

fn ends_under(
    system: &System,
    gpus: &[u32],
    copies: &[&[(CopyDirection, RouteClass)]],
    settings: PacketSettings,
) -> Result<[Vec<Picoseconds>; 2], RuntimeError> {
    let ranks = copies.iter().map(|copies| {
        let mut rank = RankBuilder::default();
        for (stream, (direction, route)) in (0..).zip(*copies) {
            rank.on_stream(stream);
            rank.run(Operation::Copy { direction: *direction, size: SIZE, route: *route });
        }
        rank.finish()
    });
    let ranks: Vec<_> = ranks.collect();
    let world = (0..ranks.len() as u32).collect();
    let (name, regions) = ("copies".to_owned(), Vec::new());
    let program = Arc::new(Program { name, communicators: vec![world], regions, ranks });
    let job = ProgramJob::new(&program, gpus.to_vec());
    let routing = || match system.fabric() {
        None => AnyRouting::of(Nowhere),
        Some(fabric) => AnyRouting::new(routing_for(fabric.shape()), fabric, 1).unwrap(),
    };
    let (nic, turns) = (NicPolicy::FCFS, &TurnByTurn);
    let mut packets = PacketNetwork::new(system, settings, routing(), nic, turns).unwrap();
    let mut flows = FlowTransport::new(system, settings, routing(), nic).unwrap();
    Ok([run(&mut packets, system.gpus(), &job)?, run(&mut flows, system.gpus(), &job)?])
}

fn dgx1() -> System {
    System::of_server(Arc::new(preset("dgx1-v100").unwrap()))
}

/// How long PCIe 3.0 x16 takes for one copy.
fn alone() -> f64 {
    SIZE.0 as f64 / (15.754e9 * LinkKind::Pcie3.reached_by_copies().share) * 1e12
}

#[test]
fn a_copy_alone_takes_as_long_with_a_bus_as_without() {
    let kinds = [
        ("dgx1-v100", LinkKind::Pcie3),
        ("pcie4-tree-4", LinkKind::Pcie4),
        ("hgx-h100", LinkKind::Pcie5),
    ];
    for (server, kind) in kinds {
        let system = System::of_server(Arc::new(preset(server).unwrap()));
        let rate = kind.data_sheet().bandwidth.0 as f64 * kind.reached_by_copies().share;
        let expected = SIZE.0 as f64 / rate * 1e12;
        for direction in [HostToDevice, DeviceToHost] {
            let copy: &[&[_]] = &[&[(direction, RouteClass::Any)]];
            let bus = PacketSettings { pcie: Some(PcieSettings::DEFAULT), ..deep_buffers() };
            for settings in [deep_buffers(), bus] {
                for ends in ends_under(&system, &[0], copy, settings).unwrap() {
                    let off = ends[0].0 as f64 / expected - 1.0;
                    let bus = settings.pcie.is_some();
                    assert!(off.abs() < 0.005, "{server} {direction:?}, bus {bus}: {off}");
                }
            }
        }
    }
}

#[test]
fn two_copies_on_one_link_take_twice_as_long_and_both_directions_do_not() {
    let system = dgx1();
    let any = RouteClass::Any;
    let (into, out) = ((HostToDevice, any), (DeviceToHost, any));
    let cases: [(&[u32], &[&[_]], f64); 6] = [
        (&[0], &[&[into]], 1.0),
        (&[0], &[&[into, out]], 1.0),
        // A V100 has five engines, but one link.
        (&[0], &[&[into, into]], 2.0),
        // The first two GPUs of a DGX-1 share a switch, and with it its link to the CPU.
        (&[0, 1], &[&[into], &[into]], 2.0),
        (&[0, 1], &[&[into], &[out]], 1.0),
        (&[0, 2], &[&[into], &[into]], 1.0),
    ];
    for (gpus, copies, times) in cases {
        for ends in ends(&system, gpus, copies).unwrap() {
            let last = ends.into_iter().max().unwrap();
            let ratio = last.0 as f64 / alone();
            assert!((times..times * 1.03).contains(&ratio), "{gpus:?} {copies:?}: {ratio}");
        }
    }
}

#[test]
fn peers_copy_over_the_links_that_they_ask_for() {
    let system = dgx1();
    let over = |route| ends(&system, &[0, 3], &[&[(Peer(1), route)], &[]]).unwrap();
    let (widest, host) = (over(RouteClass::Any), over(RouteClass::Host));
    assert_eq!(widest, over(RouteClass::Fabric));
    for (widest, host) in widest.into_iter().zip(host) {
        assert!(host[0].0 as f64 >= alone());
        assert!(host[0] > Picoseconds(2 * widest[0].0), "{host:?} {widest:?}");
        assert_eq!(host[1], Picoseconds(0), "the peer takes no part");
    }
}

#[test]
fn copies_need_a_host_and_stay_in_their_server() {
    let fabric = FabricSpecification::preset("single-switch").unwrap().for_ports(2).unwrap();
    let (bandwidth, latency) = (Bandwidth(25_000_000_000), Picoseconds(500_000));
    let node = AbstractNode { gpus: 2, nics: 1, bandwidth, latency };
    let nodes = System::of_nodes(fabric, node).unwrap();
    let refused = |direction, gpus: &[u32]| {
        let copies: [&[_]; 2] = [&[(direction, RouteClass::Any)], &[]];
        ends(&nodes, gpus, &copies).unwrap_err().to_string()
    };
    assert_eq!(
        refused(HostToDevice, &[0, 1]),
        "call 0 of rank 0 of job `copies` copies to or from its host, but GPU 0 has none (no link \
         leads to a CPU); play it on a server such as `dgx1-v100`"
    );
    assert_eq!(
        refused(Peer(1), &[1, 2]),
        "call 0 of rank 0 of job `copies` copies to rank 1, but GPU 1 and GPU 2 are in two \
         servers; send a message"
    );
    let peers = ends(&nodes, &[0, 1], &[&[(Peer(1), RouteClass::Any)], &[]]).unwrap();
    let expected = SIZE.0 as f64 / 25e9 * 1e12 + 500_000.0;
    for ends in peers {
        assert!((ends[0].0 as f64 - expected).abs() < 2.0, "{ends:?} {expected}");
    }
    // Servers on a fabric have the hosts that they have alone.
    let listed = [(Arc::new(preset("dgx1-v100").unwrap()), 2)];
    let ports = System::ports_for(&listed).unwrap();
    let fabric = FabricSpecification::preset("single-switch").unwrap().for_ports(ports).unwrap();
    let two = System::new(&listed, fabric, PortOrder::Plain).unwrap();
    let copy = [(HostToDevice, RouteClass::Any)];
    assert_eq!(ends(&two, &[11], &[&copy]).unwrap(), ends(&dgx1(), &[3], &[&copy]).unwrap());
}

#[test]
fn reductions_are_as_fast_as_the_memory_of_the_model() {
    let mut rank = RankBuilder::default();
    rank.run(Operation::Reduce { size: Bytes(300_000_000), rate: None });
    let (name, communicators) = ("reduce".to_owned(), vec![vec![0]]);
    let ranks = vec![rank.finish()];
    let program = Arc::new(Program { name, communicators, regions: Vec::new(), ranks });
    let system = dgx1();
    let (routing, nic) = (AnyRouting::of(Nowhere), NicPolicy::FCFS);
    let mut flows = FlowTransport::new(&system, deep_buffers(), routing, nic).unwrap();
    let end = run(&mut flows, 8, &ProgramJob::new(&program, vec![5])).unwrap();
    // 900 GB/s of a V100: two reads and a write of 300 MB.
    assert_eq!(end, [Picoseconds(1_000_000_000)]);
}
