//! Tests jobs on several servers: three phases, packed trees and NCCL's algorithms.

use linkwright::collectives::baselines::NcclBaseline;
use linkwright::collectives::link_graph::LinkClass;
use linkwright::collectives::plan::{
    Blink, OneHop, Packing, Plan, PlanError, Planner, Question, ThreePhase,
    assumed_peer_access_switch, plan, plan_for_size, plan_hybrid, planners,
};
use linkwright::collectives::time::{choose_chunk, link_bytes, protocol_of, time};
use linkwright::collectives::{Collective, Schedule};
use linkwright::network::Routes;
use linkwright::system::{DeviceKind, System, SystemDevice};
use linkwright::units::{Bandwidth, Bytes};

use super::plans::holds;
use crate::systems::{alone, on_fabric, on_one_switch as servers};

fn all_reduce(machine: &System, gpus: &[usize], algorithm: &dyn Planner) -> Plan {
    plan(algorithm, &Question::new(machine, gpus, Collective::AllReduce))
        .unwrap_or_else(|error| panic!("{} on {gpus:?}: {error}", algorithm.name()))
}

/// Returns the GB/s of a long all-reduce.
fn speed(schedule: &Schedule, machine: &System) -> f64 {
    let costs = protocol_of(schedule, machine).unwrap();
    let (size, chunk) = (Bytes(256 << 20), Bytes(1 << 20));
    time(schedule, machine, size, chunk, &costs).unwrap().algorithm_bandwidth
}

#[test]
fn three_phases_hold_for_every_placement() {
    let machine = servers("dgx1-v100", 3, 100);
    for gpus in [
        // 3+5, 2+6, 1+7 and 1+1 on two servers.
        vec![1, 4, 5, 8, 9, 10, 11, 12],
        vec![0, 1, 8, 9, 10, 11, 12, 15],
        vec![3, 8, 9, 10, 11, 12, 14, 15],
        vec![7, 8],
        // Not joined by NVLink on the first server; ranks that alternate between servers.
        vec![1, 4, 6, 8, 9, 10],
        vec![8, 0, 9, 1, 10, 2],
        // Here are three servers, one with one GPU; and servers that all have just one.
        vec![0, 3, 8, 9, 10, 16],
        vec![1, 9, 17],
        (0..24).collect(),
    ] {
        holds(&all_reduce(&machine, &gpus, &ThreePhase));
    }
    for (name, count) in [("dgx-a100", 2), ("dgx-a100", 4), ("pcie-tree-4", 2), ("dgx2", 2)] {
        let machine = servers(name, count, 200);
        let gpus: Vec<usize> = (0..machine.gpus() as usize).collect();
        holds(&all_reduce(&machine, &gpus, &ThreePhase));
    }
}

#[test]
fn three_phases_do_nothing_but_all_reduce() {
    let machine = servers("dgx1-v100", 2, 100);
    let refused = plan(&ThreePhase, &Question::new(&machine, &[0, 8], Collective::AllGather));
    let error = refused.unwrap_err();
    assert!(matches!(error, PlanError::Unsupported { .. }));
    assert!(error.to_string().contains("packing"), "{error}");
    let alone = plan(&ThreePhase, &Question::new(&machine, &[1, 4], Collective::AllReduce));
    assert_eq!(alone, Err(PlanError::OneServer));
}

#[test]
fn faster_networks_help_until_the_nvlinks_limit() {
    // 3+5: GPUs 1, 4 and 5 have one NVLink's width of trees, and two network interfaces near.
    let gpus = [1, 4, 5, 8, 9, 10, 11, 12];
    let alone = alone("dgx1-v100");
    let limit = all_reduce(&alone, &gpus[..3], &Packing).rate;
    assert_eq!(limit, Bandwidth::gigabytes_per_second(25));
    let reached = [40, 100, 400].map(|gigabits| {
        let machine = servers("dgx1-v100", 2, gigabits);
        let plan = all_reduce(&machine, &gpus, &ThreePhase);
        let timed = speed(&plan.schedule, &machine);
        let peak = plan.rate.as_gigabytes_per_second();
        assert!(timed < peak && timed > 0.75 * peak, "{gigabits} Gb/s: {timed} of {peak}");
        for baseline in [NcclBaseline::Ring, NcclBaseline::Tree] {
            let nccl = all_reduce(&machine, &gpus, &baseline);
            let other = speed(&nccl.schedule, &machine);
            assert!(other < timed, "{gigabits} Gb/s: {} has {other}, {timed}", baseline.name());
        }
        (plan.rate, timed)
    });
    // Both interfaces at 40 Gb/s; from 100 Gb/s on the NVLinks.
    assert_eq!(reached.map(|(rate, _)| rate.0 / 1_000_000_000), [10, 25, 25]);
    assert!(reached[0].1 * 1.9 < reached[1].1 && reached[1].1 <= reached[2].1 * 1.001);
}

#[test]
fn the_roots_of_a_partition_are_spread_over_the_network_interfaces() {
    let machine = servers("dgx1-v100", 2, 40);
    for (gpus, interfaces) in [
        ((0..16).collect::<Vec<_>>(), 4),
        // 2+6: both GPUs of the first server have the same interface near.
        (vec![0, 1, 8, 9, 10, 11, 12, 13], 1),
        (vec![0, 2, 8, 9, 10, 11, 12, 13], 2),
    ] {
        let plan = all_reduce(&machine, &gpus, &ThreePhase);
        assert_eq!(plan.rate.0, interfaces * 5_000_000_000, "{gpus:?}");
        assert!(plan.notes.is_empty(), "{:?}", plan.notes);
    }
}

#[test]
fn a_server_without_joining_nvlinks_reduces_over_pcie() {
    let machine = servers("dgx1-v100", 2, 100);
    let plan = all_reduce(&machine, &[1, 4, 6, 8, 9, 10], &ThreePhase);
    assert!(plan.notes[0].contains("GPUs 4, 6") && plan.notes[0].contains("PCIe"));
    assert_eq!(plan.links, LinkClass::Network);
}

#[test]
fn packed_trees_and_nccl_hold_across_servers() {
    for (name, gigabits) in [("dgx-a100", 200), ("dgx1-v100", 100)] {
        let machine = servers(name, 2, gigabits);
        let gpus: Vec<usize> = (0..16).collect();
        for collective in Collective::NAMES.iter().filter_map(|name| Collective::named(name, 9)) {
            for algorithm in planners().iter() {
                let plan = match plan(algorithm, &Question::new(&machine, &gpus, collective)) {
                    Ok(plan) => plan,
                    Err(
                        PlanError::Unsupported { .. }
                        | PlanError::NoReducingSwitch(_)
                        | PlanError::OtherServers { .. },
                    ) => continue,
                    Err(error) => panic!("{name} {collective} {}: {error}", algorithm.name()),
                };
                holds(&plan);
                assert_eq!(plan.links, LinkClass::Network);
                let short = plan.optimum.is_some_and(|optimum| plan.rate < optimum);
                let said = plan.notes.iter().any(|note| note.contains("whole chunks"));
                assert!(said || !short, "{name} {collective} {}", algorithm.name());
                assert!(plan.optimum.is_none_or(|optimum| plan.rate <= optimum));
            }
        }
    }
}

#[test]
fn packings_across_servers_reach_what_the_cuts_allow() {
    for (name, gigabits, gpus) in [
        ("dgx-a100", 200, (0..16).collect::<Vec<_>>()),
        ("dgx1-v100", 100, (0..16).collect()),
        ("dgx1-v100", 100, vec![1, 4, 5, 8, 9, 10, 11, 12]),
        ("dgx1-v100", 100, vec![0, 1, 8, 9, 10, 11, 12, 13]),
        ("dgx1-v100", 40, vec![0, 8, 9]),
    ] {
        let machine = servers(name, 2, gigabits);
        for collective in [
            Collective::AllGather,
            Collective::ReduceScatter,
            Collective::Broadcast { root: 1 },
            Collective::Reduce { root: 0 },
        ] {
            let plan = plan(&Packing, &Question::new(&machine, &gpus, collective)).unwrap();
            holds(&plan);
            let (rate, optimum) = (plan.rate.0 as f64, plan.optimum.unwrap().0 as f64);
            assert!(rate > 0.99 * optimum, "{name} {gpus:?} {collective}: {rate} of {optimum}");
        }
        let packed = all_reduce(&machine, &gpus, &Packing);
        holds(&packed);
        for other in [&ThreePhase as &dyn Planner, &Blink, &NcclBaseline::Tree] {
            let other = all_reduce(&machine, &gpus, other);
            println!("{name} {gpus:?} {} {} {}", packed.rate, other.algorithm, other.rate);
            assert!(packed.rate.0 as f64 > 0.99 * other.rate.0 as f64, "{name} {gpus:?}");
        }
    }
}

/// Whether PCIe carries data from a GPU to another of its server: more goes into the server's
/// PCIe links than its interfaces take.
fn has_pcie_beside(plan: &Plan, machine: &System) -> bool {
    let routes = Routes::new(machine, |_| 1.0).unwrap();
    let loads = link_bytes(&plan.schedule, &routes).unwrap();
    let sum = |of: &dyn Fn(usize) -> bool| -> f64 {
        loads.iter().enumerate().filter(|(at, _)| of(*at)).map(|(_, load)| load).sum()
    };
    let kind = |device: usize| machine.device_kind(device);
    let from_gpu = |at: usize| {
        let (wire, from) = routes.wire(at);
        wire.is_pcie() && kind(from) == DeviceKind::Gpu
    };
    let to_network = |at: usize| {
        let (wire, from) = routes.wire(at);
        wire.is_network() && kind(from) == DeviceKind::Nic
    };
    sum(&from_gpu) > sum(&to_network) * (1.0 + 1e-9)
}

#[test]
fn pcie_stands_beside_a_fabric_only_where_it_is_named() {
    let machine = servers("dgx-a100", 2, 200);
    let gpus: Vec<usize> = (0..16).collect();
    let by_rule = |it: &Collective| matches!(it, Collective::Barrier | Collective::Scan);
    let named = Collective::NAMES.iter().filter_map(|name| Collective::named(name, 9));
    for collective in named.filter(|collective| !by_rule(collective)) {
        let found = plan(&Packing, &Question::new(&machine, &gpus, collective)).unwrap();
        assert!(!has_pcie_beside(&found, &machine), "{collective}");
        let all: u32 = found.trees.iter().map(|tree| tree.chunks).sum();
        assert!(all <= 4_096, "{collective}: {all} chunks");
        let lacks = |note: &String| note.contains("does not join");
        assert!(!found.notes.iter().any(lacks), "{:?}", found.notes);
    }
    let (size, switch) = (Bytes(64 << 20), assumed_peer_access_switch(16));
    let whole = Collective::AllReduce;
    let named =
        plan_hybrid(&Packing, &Question::new(&machine, &gpus, whole), size, switch).unwrap();
    assert!(has_pcie_beside(&named, &machine));
}

#[test]
fn packing_across_servers_is_about_as_fast_as_anything_else() {
    for (name, gigabits, mebibytes) in
        [("dgx-a100", 200, 64), ("hgx-h100", 400, 1024), ("dgx1-v100", 100, 64)]
    {
        let machine = servers(name, 2, gigabits);
        let gpus: Vec<usize> = (0..16).collect();
        let size = Bytes(mebibytes << 20);
        let took = |algorithm: &dyn Planner| {
            let whole = Collective::AllReduce;
            let plan =
                plan_for_size(algorithm, &Question::new(&machine, &gpus, whole), size).unwrap();
            holds(&plan);
            let costs = protocol_of(&plan.schedule, &machine).unwrap();
            choose_chunk(&plan.schedule, &machine, size, &costs).unwrap().0.time
        };
        let packed = took(&Packing);
        let tree = &NcclBaseline::Tree;
        for other in [&ThreePhase as &dyn Planner, &NcclBaseline::Ring, tree] {
            let other_took = took(other).as_seconds();
            assert!(packed.as_seconds() <= 1.05 * other_took, "{name} {}", other.name());
        }
    }
}

#[test]
fn many_gpus_are_packed_by_server() {
    let machine = servers("dgx-a100", 16, 200);
    let gpus: Vec<usize> = (0..128).collect();
    let packed = all_reduce(&machine, &gpus, &Packing);
    assert!(
        packed.notes.iter().any(|note| note.contains("16 equal servers")),
        "{:?}",
        packed.notes
    );
    assert!(packed.rate >= all_reduce(&machine, &gpus, &ThreePhase).rate);
}

#[test]
fn an_all_reduce_that_fills_every_server_s_interfaces_is_the_optimum() {
    let machine = servers("dgx-a100", 4, 200);
    let gpus: Vec<usize> = (0..32).collect();
    let packed = all_reduce(&machine, &gpus, &Packing);
    // Every server takes in 3/4 of the data twice, over 200 GB/s.
    let most = 200e9 / (2.0 * 3.0 / 4.0);
    assert!((packed.optimum.unwrap().0 as f64 - most).abs() < 1.0, "{:?}", packed.optimum);
    assert!(packed.rate.0 as f64 > 0.999 * most);
    // Both interfaces near three GPUs of a server are full with what five take from them.
    let uneven = servers("dgx1-v100", 2, 100);
    let gpus = [1, 4, 5, 8, 9, 10, 11, 12];
    let near = all_reduce(&uneven, &gpus, &Packing).optimum.unwrap();
    assert!((near.0 as f64 / 25e9 - 1.0).abs() < 1e-3, "{near}");
}

/// Two of four servers in a fat-tree are planned on as on two by themselves, and on no other's
/// links.
#[test]
fn a_fat_tree_is_planned_on_as_its_hosts_see_it() {
    let tree = on_fabric("dgx1-v100", 4, "fat-tree");
    let pair = on_fabric("dgx1-v100", 2, "fat-tree");
    let (gpus, alike) = ([25, 8, 9, 10, 24], [9, 0, 1, 2, 8]);
    for collective in Collective::NAMES.iter().filter_map(|name| Collective::named(name, 1)) {
        for algorithm in [&Packing as &dyn Planner, &OneHop, &NcclBaseline::Ring] {
            let found = match plan(algorithm, &Question::new(&tree, &gpus, collective)) {
                Err(PlanError::Unsupported { .. } | PlanError::OtherServers { .. }) => continue,
                found => found.unwrap(),
            };
            holds(&found);
            assert_eq!(found.schedule.gpus, gpus);
            let other = plan(algorithm, &Question::new(&pair, &alike, collective)).unwrap();
            assert_eq!((&found.trees, found.rate), (&other.trees, other.rate), "{collective}");
            let costs = protocol_of(&found.schedule, &tree).unwrap();
            let (size, chunk) = (Bytes(5 << 20), Bytes(1 << 20));
            let timing = time(&found.schedule, &tree, size, chunk, &costs).unwrap();
            let fabric = tree.fabric_channels() as u32;
            for load in &timing.links {
                let channel = tree.channel(load.channel);
                let of_job = |device| match tree.device(device) {
                    SystemDevice::OfServer(at) => [1, 3].contains(&at.server),
                    SystemDevice::Switch(_) => load.channel < fabric,
                };
                assert!(of_job(channel.from) && of_job(channel.to), "{channel:?}");
            }
            assert!(timing.links.iter().any(|load| load.channel < fabric));
        }
    }
}
