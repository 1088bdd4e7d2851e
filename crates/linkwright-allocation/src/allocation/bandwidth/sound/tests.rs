//! Tests the model against its definition, and that no added link lowers it.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::system::{BandwidthProfile, DeviceId, DeviceKind, Link, Server, ServerBuilder};
use crate::units::Bandwidth;

const GPU_FABRIC: [LinkKind; 6] = [
    LinkKind::Nvlink1,
    LinkKind::Nvlink2,
    LinkKind::Nvlink3,
    LinkKind::Nvlink4,
    LinkKind::Nvlink5,
    LinkKind::Xgmi,
];
const PCIE: [LinkKind; 4] = [LinkKind::Pcie2, LinkKind::Pcie3, LinkKind::Pcie4, LinkKind::Pcie5];

fn model(machine: &Server) -> SoundModel {
    SoundModel::new(&GpuGraph::new(machine, BandwidthProfile::DataSheet).unwrap())
}

/// Builds a server of GPUs on one host bridge, joined directly as listed.
fn on_one_bridge(gpus: usize, pcie: LinkKind, direct: &[(usize, usize, LinkKind, u32)]) -> Server {
    let mut builder = ServerBuilder::new("test", "");
    let bridge = builder.device("bridge", DeviceKind::HostBridge, None).unwrap();
    let ids: Vec<DeviceId> = (0..gpus)
        .map(|gpu| builder.device(&format!("GPU{gpu}"), DeviceKind::Gpu, None).unwrap())
        .collect();
    for id in &ids {
        builder.data_sheet_link(*id, bridge, pcie, 1).unwrap();
    }
    for (a, b, kind, count) in direct {
        builder.data_sheet_link(ids[*a], ids[*b], *kind, *count).unwrap();
    }
    builder.build().unwrap()
}

/// Makes machines of two sockets with a bridge each. 2 to 7 GPUs are on either of the two, with up
/// to four links of any kind between each pair. Some machines have one or two NVSwitches.
fn machines() -> impl Strategy<Value = Server> {
    let gpu = (select(&PCIE), any::<bool>(), select(&GPU_FABRIC), 0_u32..7);
    let direct = (select(&GPU_FABRIC), 0_u32..5);
    let gpus = proptest::collection::vec(gpu, 2..8);
    (gpus, proptest::collection::vec(direct, 21), 0_usize..3, 0_u64..3).prop_map(
        |(gpus, direct, switches, slow)| {
            let mut builder = ServerBuilder::new("random", "");
            let mut device = |name: &str, kind| builder.device(name, kind, None).unwrap();
            let bridges = [0, 1].map(|n| device(&format!("bridge{n}"), DeviceKind::HostBridge));
            let switches: Vec<DeviceId> = (0..switches)
                .map(|n| device(&format!("switch{n}"), DeviceKind::NvSwitch))
                .collect();
            let ids: Vec<DeviceId> =
                (0..gpus.len()).map(|n| device(&format!("GPU{n}"), DeviceKind::Gpu)).collect();
            builder.data_sheet_link(bridges[0], bridges[1], LinkKind::Upi, 1).unwrap();
            for (at, (pcie, socket, kind, count)) in gpus.iter().enumerate() {
                let bridge = bridges[usize::from(*socket)];
                builder.data_sheet_link(ids[at], bridge, *pcie, 1).unwrap();
                for switch in switches.iter().filter(|_| *count > 0) {
                    builder.data_sheet_link(ids[at], *switch, *kind, *count).unwrap();
                }
            }
            let mut next = direct.iter();
            for b in 0..ids.len() {
                for a in 0..b {
                    let (kind, count) = *next.next().unwrap();
                    let sheet = kind.data_sheet();
                    // Sometimes links far below their data sheet, to have slow ones.
                    let bandwidth = Bandwidth(sheet.bandwidth.0 / (1 + slow * a as u64));
                    let latency = sheet.latency;
                    if count > 0 {
                        let (a, b) = (ids[a], ids[b]);
                        builder
                            .link(Link {
                                a,
                                b,
                                kind,
                                count,
                                bandwidth,
                                latency,
                                discipline: None,
                                flits: None,
                                measured: None,
                            })
                            .unwrap();
                    }
                }
            }
            builder.build().unwrap()
        },
    )
}

/// The machine with one more link: in a bundle that it has, or a new one where it may be.
fn with_more(machine: &Server, choice: usize, kind: LinkKind, bandwidth: u64) -> Server {
    let mut builder = ServerBuilder::new("more", "");
    for device in machine.devices() {
        builder.device(&device.name, device.kind, None).unwrap();
    }
    for (index, link) in machine.links().iter().enumerate() {
        let more = u32::from(choice == index);
        builder.link(Link { count: link.count + more, ..link.clone() }).unwrap();
    }
    if choice >= machine.links().len() {
        let devices = machine.devices().len();
        let (a, b) = (choice % devices, choice / devices % devices);
        let latency = kind.data_sheet().latency;
        let bandwidth = Bandwidth(bandwidth);
        // A link to itself or a second bundle of the kind is refused, and nothing is added.
        let _ = builder.link(Link {
            a,
            b,
            kind,
            count: 1,
            bandwidth,
            latency,
            discipline: None,
            flits: None,
            measured: None,
        });
    }
    builder.build().unwrap()
}

/// The definition: the best over all splits of the GPUs into groups.
fn by_all_splits(model: &SoundModel, members: &[usize]) -> f64 {
    let size = members.len();
    let strength = strength_of_subsets(model.count, &model.direct);
    let pairs = members.iter().flat_map(|a| members.iter().map(move |b| (*a, *b)));
    let ways = pairs.filter(|(a, b)| a != b).map(|(a, b)| model.fabric[a * model.count + b]);
    let fabric = ways.fold(f64::INFINITY, f64::min);
    let mut part = vec![0_usize; size];
    let mut best = 0.0_f64;
    loop {
        let groups = part.iter().max().map_or(0, |most| most + 1);
        let mut rate = match groups {
            1 => f64::INFINITY,
            _ => fabric * groups as f64 / (2.0 * (groups - 1) as f64),
        };
        for group in 0..groups {
            let inside = (0..size).filter(|at| part[*at] == group);
            let bits: usize = inside.map(|at| 1 << members[at]).sum();
            rate = rate.min(strength[bits] / 1e9);
        }
        best = best.max(rate);
        let grown = |i: usize| part[i] <= part[..i].iter().copied().max().unwrap_or(0);
        let Some(at) = (1..size).rev().find(|i| grown(*i)) else { break };
        part[at] += 1;
        part[at + 1..].fill(0);
    }
    best * 2.0 * (size - 1) as f64 / size as f64
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(1.0)
}

#[test]
fn two_gpus_reach_the_papers_anchor_points() {
    let pair = |direct: &[(usize, usize, LinkKind, u32)]| {
        model(&on_one_bridge(2, LinkKind::Pcie3, direct)).effective_bandwidth(GpuSet::first(2))
    };
    assert!((pair(&[(0, 1, LinkKind::Nvlink2, 2)]) - 39.08).abs() < 0.01);
    assert!((pair(&[(0, 1, LinkKind::Nvlink2, 1)]) - 21.61).abs() < 0.01);
    assert!((pair(&[]) - 10.09).abs() < 0.01);
}

#[test]
fn a_link_slower_than_the_host_is_not_in_the_way() {
    let triangle = [(0, 1), (0, 2), (1, 2)].map(|(a, b)| (a, b, LinkKind::Nvlink1, 1));
    let plain = model(&on_one_bridge(3, LinkKind::Pcie5, &[]));
    let slow = model(&on_one_bridge(3, LinkKind::Pcie5, &triangle));
    let all = GpuSet::first(3);
    // One NVLink-v1 reaches 17.3 GB/s, three of them in a triangle 26.0; the host's ring
    // reaches 40.4 x 3 / 4.
    assert!(slow.direct[1] as f64 / 1e9 < slow.fabric[1]);
    assert!(near(slow.effective_bandwidth(all), plain.effective_bandwidth(all)));
    assert!(near(slow.effective_bandwidth(all), by_all_splits(&slow, &[0, 1, 2])));
    let double = triangle.map(|(a, b, kind, _)| (a, b, kind, 2));
    let better = model(&on_one_bridge(3, LinkKind::Pcie5, &double));
    assert!(better.effective_bandwidth(all) > plain.effective_bandwidth(all));
}

#[test]
fn a_direct_link_beside_nvswitches_takes_nothing_away() {
    let build = |direct: bool| {
        let mut builder = ServerBuilder::new("switched", "");
        let [a, b, switch, bridge] = [
            ("GPU0", DeviceKind::Gpu),
            ("GPU1", DeviceKind::Gpu),
            ("switch", DeviceKind::NvSwitch),
            ("bridge", DeviceKind::HostBridge),
        ]
        .map(|(name, kind)| builder.device(name, kind, None).unwrap());
        for gpu in [a, b] {
            builder.data_sheet_link(gpu, switch, LinkKind::Nvlink2, 6).unwrap();
            builder.data_sheet_link(gpu, bridge, LinkKind::Pcie3, 1).unwrap();
        }
        if direct {
            builder.data_sheet_link(a, b, LinkKind::Nvlink1, 1).unwrap();
        }
        model(&builder.build().unwrap()).effective_bandwidth(GpuSet::first(2))
    };
    assert!(near(build(true), build(false)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn it_is_the_best_over_all_splits(machine in machines()) {
        let table = model(&machine);
        let flows = SoundModel { tabulated: false, ..table.clone() };
        for subset in 1..1_u128 << table.count {
            let gpus = GpuSet(subset);
            let value = table.effective_bandwidth(gpus);
            if gpus.len() >= 2 {
                let members: Vec<usize> = gpus.iter().collect();
                let expected = by_all_splits(&table, &members);
                prop_assert!(near(value, expected), "{gpus}: {value}, not {expected}");
            }
            let by_flows = flows.effective_bandwidth(gpus);
            prop_assert!(near(value, by_flows), "{gpus}: {value}, by flows {by_flows}");
        }
    }

    #[test]
    fn one_link_more_never_lowers_it(
        machine in machines(),
        choice in 0_usize..500,
        kind in select(&LinkKind::ALL),
        bandwidth in prop_oneof![Just(1_u64), 1_000_000_000_u64..100_000_000_000],
    ) {
        let more = with_more(&machine, choice, kind, bandwidth);
        let (before, after) = (model(&machine), model(&more));
        for subset in 1..1_u128 << before.count {
            let gpus = GpuSet(subset);
            let (old, new) = (before.effective_bandwidth(gpus), after.effective_bandwidth(gpus));
            prop_assert!(new >= old * (1.0 - 1e-12), "{gpus}: {old} fell to {new}");
        }
    }
}
