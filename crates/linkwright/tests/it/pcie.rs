//! Tests the PCIe bus that tenants share: whose packets go first, in packets and as flows.

use std::ops::ControlFlow;
use std::sync::Arc;

use linkwright::network::packet::{NicPolicy, PacketSettings, TurnByTurn};
use linkwright::network::pcie::{Encoding, First, PcieArbitration, PcieSettings};
use linkwright::network::routing::{AnyRouting, Nowhere};
use linkwright::network::{FlowTransport, PacketNetwork, RouteClass, Transport};
use linkwright::program::CopyDirection::{self, DeviceToHost, HostToDevice};
use linkwright::program::lowering::CollectiveCall;
use linkwright::program::{Operation, Program, RankBuilder, RankProgram};
use linkwright::runtime::{MpiProtocol, ProgramJob, Runtime};
use linkwright::system::presets::preset;
use linkwright::system::{LinkKind, System};
use linkwright::units::{Bytes, Picoseconds};
use proptest::prelude::*;

use crate::packet_settings::deep_buffers;

const RIVALS: [(PcieArbitration, First); 4] = [
    (PcieArbitration::RoundRobin, First::Small),
    (PcieArbitration::Throughput, First::Small),
    (PcieArbitration::Throughput, First::Large),
    (PcieArbitration::Qos, First::Small),
];

fn with(pcie: PcieSettings) -> PacketSettings {
    PacketSettings { pcie: Some(pcie), ..deep_buffers() }
}

/// A job that makes copies one after another on one GPU.
fn copies(name: &str, gpu: u32, direction: CopyDirection, sizes: &[u64]) -> ProgramJob {
    let mut rank = RankBuilder::default();
    for size in sizes {
        let (size, route) = (Bytes(*size), RouteClass::Any);
        rank.run(Operation::Copy { direction, size, route });
    }
    let (name, communicators, regions) = (name.to_owned(), vec![vec![0]], Vec::new());
    let program = Program { name, communicators, regions, ranks: vec![rank.finish()] };
    ProgramJob::new(&Arc::new(program), vec![gpu])
}

fn nothing(_: &CollectiveCall) -> RankProgram {
    RankProgram::default()
}

fn run<T: Transport>(network: &mut T, gpus: u32, jobs: &[ProgramJob]) -> Vec<u64> {
    let runtime = Runtime::new(network, gpus, jobs, MpiProtocol::default(), nothing).unwrap();
    let outcome = runtime.run(&mut |_| ControlFlow::Continue(())).unwrap();
    outcome.jobs.iter().map(|job| job.time().0).collect()
}

fn tree() -> System {
    System::of_server(Arc::new(preset("pcie-tree-4").unwrap()))
}

fn in_packets(system: &System, settings: PacketSettings, jobs: &[ProgramJob]) -> Vec<u64> {
    let (routing, turns) = (AnyRouting::of(Nowhere), &TurnByTurn);
    let network = PacketNetwork::new(system, settings, routing, NicPolicy::FCFS, turns);
    run(&mut network.unwrap(), system.gpus(), jobs)
}

fn as_flows(system: &System, settings: PacketSettings, jobs: &[ProgramJob]) -> Vec<u64> {
    let routing = AnyRouting::of(Nowhere);
    let network = FlowTransport::new(system, settings, routing, NicPolicy::FCFS);
    run(&mut network.unwrap(), system.gpus(), jobs)
}

/// Eight short copies beside two long ones, from one root, over one link.
fn beside(direction: CopyDirection) -> [ProgramJob; 2] {
    [copies("short", 0, direction, &[32_000; 8]), copies("long", 1, direction, &[1_000_000; 2])]
}

fn times(
    jobs: &[ProgramJob],
    (arbitration, first): (PcieArbitration, First),
    flow: bool,
) -> Vec<u64> {
    let settings = with(PcieSettings { arbitration, first, ..PcieSettings::default() });
    if flow { as_flows(&tree(), settings, jobs) } else { in_packets(&tree(), settings, jobs) }
}

#[test]
fn arbiters_act_on_host_copies() {
    for (direction, flow) in
        [(HostToDevice, false), (DeviceToHost, false), (HostToDevice, true), (DeviceToHost, true)]
    {
        let jobs = beside(direction);
        let one = |job: &ProgramJob| times(std::slice::from_ref(job), RIVALS[0], flow)[0];
        let [short, long] = [&jobs[0], &jobs[1]].map(one);
        let [turns, small, large, qos] = RIVALS.map(|rival| times(&jobs, rival, flow));
        // In turn: the short ones get half of the link, the long ones what they leave.
        assert!((160..190).contains(&(turns[0] * 100 / short)), "{turns:?} of {short}");
        // Small first: as if the others were not there, which lose no more by that.
        assert!(small[0] < short + short / 50, "{small:?} of {short}");
        assert!(small[1] <= turns[1] + turns[1] / 100 && small[1] > long, "{small:?} {turns:?}");
        // Large first: the control.
        assert!(large[0] > 3 * turns[0] && large[1] < long + long / 50, "{large:?} {turns:?}");
        assert!(qos[1] <= 3 * long && qos[0] <= turns[0], "{qos:?}");
    }
}

#[test]
fn flows_share_the_bus_as_packets_do() {
    for direction in [HostToDevice, DeviceToHost] {
        for rival in RIVALS {
            let jobs = beside(direction);
            let [packets, flows] = [false, true].map(|flow| times(&jobs, rival, flow));
            for (packets, flows) in packets.into_iter().zip(flows) {
                assert!(packets.abs_diff(flows) * 50 < packets, "{rival:?} {packets} {flows}");
            }
        }
    }
}

#[test]
fn buffers_count_bytes_so_that_small_packets_fill_a_link() {
    let size = 8_000_000;
    for direction in [HostToDevice, DeviceToHost] {
        let job = [copies("copy", 0, direction, &[size])];
        let rate = |pcie: PcieSettings| {
            let time = in_packets(&tree(), with(pcie), &job)[0];
            size as f64 / time as f64 * 1e3
        };
        // PCIe 3 of 16 lanes as copies were measured, in packets of 256 of 280 bytes.
        let full = 15.754 * LinkKind::Pcie3.reached_by_copies().share;
        assert!(
            (0.98..1.0).contains(&(rate(PcieSettings::default()) / full)),
            "{direction:?}: {}",
            rate(PcieSettings::default())
        );
        // Half the payload, twice the headers; and the encoding of PCIe 1 on the same lanes.
        let small = rate(PcieSettings { payload: Bytes(128), ..PcieSettings::default() });
        let of_payload = |payload: f64| payload / (payload + 24.0);
        let halved = full * of_payload(128.0) / of_payload(256.0);
        assert!((0.98..1.0).contains(&(small / halved)), "{small} of {halved}");
        let encoded =
            rate(PcieSettings { encoding: Encoding::EightOfTen, ..PcieSettings::default() });
        assert!((0.98..1.0).contains(&(encoded / (full * 0.8 * 130.0 / 128.0))), "{encoded}");
        // A buffer of eight such packets does not hold what is under way.
        let shallow = rate(PcieSettings { buffer: Bytes(8 * 280), ..PcieSettings::default() });
        assert!(shallow < full * 0.35, "{shallow}");
    }
    let many = |outstanding| {
        let pcie =
            PcieSettings { outstanding_reads: Bytes(outstanding), ..PcieSettings::default() };
        in_packets(&tree(), with(pcie), &[copies("copy", 0, DeviceToHost, &[size])])[0]
    };
    assert!(many(512) > 8 * many(64 << 10), "a read at a time waits for its way there and back");
}

#[test]
fn no_copy_waits_beyond_the_bound_for_ever() {
    // The large ones first: without a bound, the small copy would end when they do.
    let jobs = [
        copies("small", 0, HostToDevice, &[2_048]),
        copies("large", 1, HostToDevice, &[4_000_000]),
    ];
    let after = |bound| {
        let (arbitration, first) = (PcieArbitration::Throughput, First::Large);
        let pcie = PcieSettings {
            arbitration,
            first,
            bound: Picoseconds(bound),
            ..PcieSettings::default()
        };
        in_packets(&tree(), with(pcie), &jobs)[0]
    };
    // Eight packets wait for the bound, each of them.
    let few = after(2_000_000);
    assert!((16_000_000..20_000_000).contains(&few), "{few}");
    assert!(after(1_000_000_000) > 200_000_000);
}

#[test]
fn a_deadline_is_met_that_small_copies_would_break() {
    // A stream of small copies that leaves the large one a fifth of the link.
    let small = copies("small", 0, HostToDevice, &[16_000; 400]);
    let large = copies("large", 1, HostToDevice, &[1_000_000]);
    let alone = times(std::slice::from_ref(&large), RIVALS[0], false)[0];
    for flow in [false, true] {
        let jobs = [small.clone(), large.clone()];
        let eager = times(&jobs, RIVALS[1], flow)[1];
        let late = ProgramJob { deadline: std::num::NonZeroU32::new(1_500), ..large.clone() };
        let kept = times(&[small.clone(), late], RIVALS[3], flow)[1];
        assert!(eager > alone * 3 / 2 && kept <= alone * 3 / 2, "{eager} {kept} of {alone}");
    }
}

/// How long each of equal copies takes that start together, one on each of these GPUs of a server.
fn equal_copies(
    server: &str,
    (gpus, direction, size): (&[u32], CopyDirection, u64),
    (arbitration, first): (PcieArbitration, First),
    flow: bool,
) -> Vec<u64> {
    let system = System::of_server(Arc::new(preset(server).unwrap()));
    let settings = with(PcieSettings { arbitration, first, ..PcieSettings::default() });
    let jobs = gpus.iter().map(|gpu| {
        let deadline = std::num::NonZeroU32::new(PcieSettings::DEFAULT.deadline);
        ProgramJob { deadline, ..copies(&format!("on {gpu}"), *gpu, direction, &[size]) }
    });
    let jobs: Vec<ProgramJob> = jobs.collect();
    if flow { as_flows(&system, settings, &jobs) } else { in_packets(&system, settings, &jobs) }
}

#[test]
fn of_four_equal_copies_on_two_links_those_of_one_follow_one_another() {
    let size = 4_000_000;
    for flow in [false, true] {
        let one = (&[0][..], HostToDevice, size);
        let alone = equal_copies("dgx1-v100", one, RIVALS[0], flow)[0] as f64;
        for rival in &RIVALS[1..] {
            let of = (&[0, 1, 2, 3][..], HostToDevice, size);
            let ends = equal_copies("dgx1-v100", of, *rival, flow);
            for (end, times) in ends.iter().zip([1.0, 2.0, 1.0, 2.0]) {
                let off = *end as f64 / (times * alone) - 1.0;
                assert!(off.abs() < 0.02, "{rival:?}, flow {flow}: {ends:?} of {alone}");
            }
        }
    }
}

fn any_copies() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(1_u64..300_000, 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]
    /// Equal copies over one link end together where they take turns. By any other order one ends after another:
    /// the time that is taken from one is given to another.
    #[test]
    fn no_order_takes_time_from_a_copy_and_gives_it_to_nobody(
        gpus in prop::sample::subsequence(vec![0, 1, 2, 3], 2..=4),
        paired in any::<bool>(),
        back in any::<bool>(),
        size in 300_000_u64..600_000,
    ) {
        let direction = if back { DeviceToHost } else { HostToDevice };
        // Two GPUs of either share a switch's link to the host.
        let (server, sharing) = (if paired { "dgx1-v100" } else { "pcie-tree-4" }, 2);
        for flow in [false, true] {
            let one = equal_copies(server, (&gpus[..1], direction, size), RIVALS[0], flow)[0];
            for rival in RIVALS {
                let ends = equal_copies(server, (&gpus, direction, size), rival, flow);
                for link in 0..4 / sharing {
                    let on_link = gpus.iter().zip(&ends).filter(|(gpu, _)| **gpu / sharing == link);
                    let mut ends: Vec<u64> = on_link.map(|(_, end)| *end).collect();
                    ends.sort_unstable();
                    let count = ends.len() as u64;
                    for (at, end) in (1..).zip(ends) {
                        let turns = if rival == RIVALS[0] { count } else { at };
                        let off = end as f64 / (turns * one) as f64 - 1.0;
                        prop_assert!(off.abs() < 0.04, "{server} {gpus:?} {rival:?} {flow}: {off}");
                    }
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    /// The contract holds under every arbiter, in packets and as flows. Of two jobs neither is
    /// faster beside the other than alone, and links carry the bytes that the programs copy.
    #[test]
    fn every_arbiter_keeps_the_contract_of_the_bus(
        own in any_copies(), other in any_copies(), gpus in (0_u32..4, 1_u32..4), back in (any::<bool>(), any::<bool>()),
    ) {
        let direction = |back| if back { DeviceToHost } else { HostToDevice };
        let jobs = [
            copies("own", gpus.0, direction(back.0), &own),
            copies("other", (gpus.0 + gpus.1) % 4, direction(back.1), &other),
        ];
        let bytes: u64 = own.iter().chain(&other).sum();
        for (arbitration, first) in RIVALS {
            let settings = with(PcieSettings { arbitration, first, ..PcieSettings::default() });
            let system = tree();
            let (routing, nic) = (|| AnyRouting::of(Nowhere), NicPolicy::FCFS);
            let turns = &TurnByTurn;
            let packets = || PacketNetwork::new(&system, settings, routing(), nic, turns).unwrap();
            let flows = || FlowTransport::new(&system, settings, routing(), nic).unwrap();
            let (mut packet, mut flow) = (packets(), flows());
            let beside = [run(&mut packet, 4, &jobs), run(&mut flow, 4, &jobs)];
            for carried in [packet.inside_statistics(), flow.inside_statistics()] {
                // Three links lead from the CPU to each GPU.
                let carried: u64 = carried.iter().map(|(_, it)| it.data.0).sum();
                prop_assert_eq!(carried, 3 * bytes);
            }
            for (at, job) in jobs.iter().enumerate() {
                let job = std::slice::from_ref(job);
                prop_assert!(beside[0][at] >= run(&mut packets(), 4, job)[0]);
                // Rates are whole, and rounded down.
                prop_assert!(beside[1][at] + 10 >= run(&mut flows(), 4, job)[0]);
            }
        }
    }
}
