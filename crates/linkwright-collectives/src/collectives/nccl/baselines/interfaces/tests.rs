//! Tells what channels lose with an interface, over random places of interfaces.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::collectives::nccl::baselines::{
    ExpectedAlgorithm, Settings, channel_interfaces, expect,
};
use crate::collectives::planners::plan::{Packing, Question, timed_plan_for_size};
use crate::collectives::schedule::collective::Collective;
use crate::system::composition::PortOrder;
use crate::system::fabric::{LinkRate, single_switch};
use crate::system::presets::preset;
use crate::system::server::{Server, ServerBuilder};
use crate::system::{DeviceKind, System};
use crate::units::{Bandwidth, Bytes, Picoseconds};

/// Names presets, each with the number of its interfaces and a rate of the network, Gb/s.
const FABRICS: [(&str, usize, u64); 5] = [
    ("hgx-h100", 8, 400),
    ("dgx1-v100", 4, 100),
    ("mi300x-8", 8, 400),
    ("dgx-a100", 8, 200),
    ("4x-l40s-pcie", 2, 100),
];

const SIZE: Bytes = Bytes(256 << 20);

/// Lists the interfaces of a server by their devices.
fn nics_of(server: &Server) -> Vec<usize> {
    let devices = server.devices().iter().enumerate();
    devices.filter(|(_, it)| it.kind == DeviceKind::Nic).map(|(id, _)| id).collect()
}

/// Makes the server without some of its interfaces, by their places.
fn without(server: &Server, places: &[usize]) -> Server {
    let nics = nics_of(server);
    let gone: Vec<usize> = places.iter().map(|place| nics[*place]).collect();
    let mut builder = ServerBuilder::new(&format!("{}-less", server.name()), "a test");
    let mut moved = vec![None; server.devices().len()];
    for (id, device) in server.devices().iter().enumerate().filter(|(id, _)| !gone.contains(id)) {
        moved[id] = Some(builder.add(device.clone()).unwrap());
    }
    for link in server.links() {
        if let (Some(a), Some(b)) = (moved[link.a], moved[link.b]) {
            builder.link(crate::system::server::Link { a, b, ..link.clone() }).unwrap();
        }
    }
    builder.build().unwrap()
}

fn joined(servers: Vec<Server>, gigabits: u64) -> System {
    let rows: Vec<(Arc<Server>, u32)> = servers.into_iter().map(|it| (Arc::new(it), 1)).collect();
    let bandwidth = Bandwidth(gigabits * 125_000_000);
    let rate = LinkRate { bandwidth, latency: Picoseconds(600_000) };
    let fabric = single_switch(System::ports_for(&rows).unwrap(), rate).unwrap();
    System::new(&rows, fabric, PortOrder::Plain).unwrap()
}

fn seconds(system: &System, collective: Collective, settings: &Settings) -> f64 {
    let gpus: Vec<usize> = (0..system.gpus() as usize).collect();
    let found = expect(system, &gpus, collective, &[SIZE], settings).unwrap();
    found.rows[0].time.as_seconds()
}

/// Joins servers. The first of them lack an interface.
fn lacking(name: &str, servers: usize, lacks: &[usize], gigabits: u64) -> System {
    let whole = preset(name).unwrap();
    let server = |at: usize| match lacks.get(at) {
        Some(place) => without(&whole, &[*place]),
        None => whole.clone(),
    };
    joined((0..servers).map(server).collect(), gigabits)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// An interface less costs its share, and a tenth of the whole at most, wherever it sits. A job is never faster
    /// with more servers that lack one.
    #[test]
    fn an_interface_less_costs_no_more_than_its_share(
        fabric in 0..FABRICS.len(),
        servers in 2_usize..5,
        places in prop::collection::vec(0_usize..8, 4),
        algorithm in prop::sample::select(vec![
            ExpectedAlgorithm::Ring, ExpectedAlgorithm::Tree, ExpectedAlgorithm::Pairs
        ]),
    ) {
        let (name, nics, gigabits) = FABRICS[fabric];
        let place = places[0] % nics;
        let (collective, algorithm) = match algorithm {
            ExpectedAlgorithm::Pairs => (Collective::AllToAll, None),
            other => (Collective::AllReduce, Some(other)),
        };
        let settings = Settings { algorithm, ..Settings::default() };
        let share = nics as f64 / (nics as f64 - 1.0);
        // Messages of a GPU take one interface: of 8 GPUs some of three interfaces has three, where four have two.
        let gpus = preset(name).unwrap().gpus().len();
        let whole = if gpus > nics { (gpus.div_ceil(nics - 1) * nics) as f64 / gpus as f64 } else { share };
        let most = match collective {
            Collective::AllToAll => (1.15 * share).max(1.05 * whole),
            _ => 1.1 * share,
        };
        let times: Vec<f64> = (0..=servers)
            .map(|lacks| {
                let system = lacking(name, servers, &vec![place; lacks], gigabits);
                seconds(&system, collective, &settings)
            })
            .collect();
        for lacks in 1..=servers {
            let (before, now) = (times[lacks - 1], times[lacks]);
            prop_assert!(now <= most * times[0], "{name} {lacks} of {servers}: {times:?}");
            prop_assert!(now >= before * (1.0 - 1e-6), "{name} {lacks} of {servers}: {times:?}");
        }
    }
}

/// Gives what packing takes for an all-reduce of all GPUs.
fn packed(system: &System) -> f64 {
    let gpus: Vec<usize> = (0..system.gpus() as usize).collect();
    let question = Question::new(system, &gpus, Collective::AllReduce);
    timed_plan_for_size(&Packing, &question, SIZE).unwrap().1.time.as_seconds()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2))]

    /// The same of our own plans, to a hundredth. The fastest of all planners then keeps the bound, too: that of the
    /// planner which is the fastest with all interfaces.
    #[test]
    fn an_interface_less_costs_packing_no_more_than_its_share(
        fabric in 0..FABRICS.len(),
        place in 0_usize..8,
    ) {
        let (name, nics, gigabits) = FABRICS[fabric];
        let times: Vec<f64> = (0..=2)
            .map(|lacks| packed(&lacking(name, 2, &vec![place % nics; lacks], gigabits)))
            .collect();
        let most = 1.1 * nics as f64 / (nics as f64 - 1.0) * times[0];
        prop_assert!(times.iter().all(|time| *time <= most), "{name} {place}: {times:?}");
        prop_assert!(times[1] <= times[2] * 1.01, "{name} {place}: {times:?}");
    }
}

/// The rails by which each channel of a ring enters and leaves each server.
fn rails(system: &System, settings: &Settings) -> Vec<(usize, usize)> {
    let gpus: Vec<usize> = (0..system.gpus() as usize).collect();
    let settings = Settings { algorithm: Some(ExpectedAlgorithm::Ring), ..*settings };
    let told = channel_interfaces(system, &gpus, Collective::AllReduce, SIZE, &settings).unwrap();
    told.iter().map(|row| (row.receives[0].rail, row.sends[0].rail)).collect()
}

#[test]
fn a_ring_enters_and_leaves_by_every_interface_in_turn() {
    for (name, nics, gigabits) in FABRICS {
        let system = lacking(name, 2, &[], gigabits);
        let rails = rails(&system, &Settings::default());
        for rail in 0..nics {
            let [enters, leaves] = [
                rails.iter().filter(|(enters, _)| *enters == rail).count(),
                rails.iter().filter(|(_, leaves)| *leaves == rail).count(),
            ];
            assert_eq!((enters, leaves), (rails.len() / nics, rails.len() / nics), "{name} {rail}");
        }
    }
}

#[test]
fn a_ring_stays_on_its_rail_where_a_gpu_forwards() {
    let system = lacking("hgx-h100", 2, &[], 400);
    let at = |version: &str, cross_nic: CrossNic| {
        let version = Some(version.parse().unwrap());
        rails(&system, &Settings { version, cross_nic, ..Settings::default() })
    };
    let stays = |rails: Vec<(usize, usize)>| rails.iter().all(|(enters, leaves)| enters == leaves);
    assert!(stays(at("2.30", CrossNic::Never)) && stays(at("2.30", CrossNic::IfBetter)));
    assert!(!stays(at("2.30", CrossNic::Always)));
    // Before PXN it crosses a CPU for that, as wide as the interface.
    assert!(stays(at("2.11", CrossNic::Never)) && stays(at("2.11", CrossNic::IfBetter)));
}

#[test]
fn gpus_far_from_an_interface_send_by_the_one_that_is_near() {
    let system = lacking("hgx-h100", 2, &[], 400);
    let gpus: Vec<usize> = (0..16).collect();
    let through = |settings: Settings| {
        let settings = Settings { algorithm: Some(ExpectedAlgorithm::Ring), ..settings };
        let told =
            channel_interfaces(&system, &gpus, Collective::AllReduce, SIZE, &settings).unwrap();
        told.iter().map(|row| row.sends[0].clone()).collect::<Vec<_>>()
    };
    for end in through(Settings::default()) {
        assert_eq!(end.through.map(|gpu| gpu % 8), Some(end.rail), "the GPU beside the interface");
        assert!(!end.by_memory);
    }
    let version = Some("2.11".parse().unwrap());
    let cross_nic = CrossNic::Never;
    let without = [
        Settings { pxn: false, cross_nic, ..Settings::default() },
        Settings { version, cross_nic, ..Settings::default() },
    ];
    for settings in without {
        let ends = through(settings);
        assert!(ends.iter().all(|end| end.through.is_none() && end.gpu % 8 != end.rail));
    }
    let by_memory = through(Settings { gpudirect: false, ..Settings::default() });
    assert!(by_memory.iter().all(|end| end.through.is_none() && end.by_memory));
}

#[test]
fn messages_go_by_the_receivers_rail() {
    let system = lacking("hgx-h100", 2, &[], 400);
    let gpus: Vec<usize> = (0..16).collect();
    let settings = Settings::default();
    let told = channel_interfaces(&system, &gpus, Collective::AllToAll, SIZE, &settings).unwrap();
    assert!(!told.is_empty());
    for row in told {
        assert!(row.receives.iter().all(|end| end.rail == end.gpu % 8));
        for end in row.sends {
            let own = (end.gpu % 8 == end.rail).then_some(end.gpu);
            assert_eq!(end.through.or(own).map(|gpu| gpu % 8), Some(end.rail));
        }
    }
}

#[test]
fn memory_of_the_host_is_on_the_way_without_gpudirect() {
    for (name, _, gigabits) in FABRICS {
        let system = lacking(name, 2, &[], gigabits);
        let settings = Settings { algorithm: Some(ExpectedAlgorithm::Ring), ..Settings::default() };
        let off = Settings { gpudirect: false, ..settings };
        let [with, without] =
            [settings, off].map(|it| seconds(&system, Collective::AllReduce, &it));
        assert!(without >= with * 0.999, "{name}: {without} and {with}");
    }
}
