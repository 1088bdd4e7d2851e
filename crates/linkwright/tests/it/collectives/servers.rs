//! Jobs on several servers: three phases, packed trees and NCCL's algorithms.

use linkwright::collectives::plan::{Algorithm, Links, Plan, PlanError, plan};
use linkwright::collectives::time::{Costs, time};
use linkwright::collectives::{Collective, Schedule};
use linkwright::topology::cluster::{ClusterNetwork, NetworkKind, cluster};
use linkwright::topology::{Machine, presets};
use linkwright::units::{Bandwidth, Bytes, Picoseconds};

use super::plans::holds;

/// Copies of a preset, joined by interfaces of so many gigabits per second.
fn servers(name: &str, count: usize, gigabits: u64) -> Machine {
    let network = ClusterNetwork {
        bandwidth_per_nic: Bandwidth(gigabits * 125_000_000),
        latency: Picoseconds(600_000),
        kind: NetworkKind::Infiniband,
    };
    cluster(&presets::preset(name).unwrap(), count, &network).unwrap()
}

fn all_reduce(machine: &Machine, gpus: &[usize], algorithm: Algorithm) -> Plan {
    plan(machine, gpus, Collective::AllReduce, algorithm, Links::Auto)
        .unwrap_or_else(|error| panic!("{} on {gpus:?}: {error}", algorithm.name()))
}

/// GB/s of a long all-reduce.
fn speed(schedule: &Schedule, machine: &Machine) -> f64 {
    let costs = Costs::of(schedule.protocol);
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
        // Three servers, of which one has one GPU, and none but one.
        vec![0, 3, 8, 9, 10, 16],
        vec![1, 9, 17],
        (0..24).collect(),
        // One server: the first and the last phase alone.
        vec![1, 4, 5, 6],
    ] {
        holds(&all_reduce(&machine, &gpus, Algorithm::ThreePhase));
    }
    for (name, count) in [("dgx-a100", 2), ("dgx-a100", 4), ("pcie-tree-4", 2), ("dgx2", 2)] {
        let machine = servers(name, count, 200);
        let gpus: Vec<usize> = (0..machine.gpus().len()).collect();
        holds(&all_reduce(&machine, &gpus, Algorithm::ThreePhase));
    }
}

#[test]
fn three_phases_do_nothing_but_all_reduce() {
    let machine = servers("dgx1-v100", 2, 100);
    let refused =
        plan(&machine, &[0, 8], Collective::AllGather, Algorithm::ThreePhase, Links::Auto);
    let error = refused.unwrap_err();
    assert!(matches!(error, PlanError::Unsupported { .. }));
    assert!(error.to_string().contains("packing"), "{error}");
}

#[test]
fn faster_networks_help_until_the_links_within_servers_limit() {
    for gigabits in [10, 40, 100, 400, 1_600, 6_400] {
        let machine = servers("dgx1-v100", 2, gigabits);
        for gpus in [
            vec![1, 4, 5, 8, 9, 10, 11, 12],
            vec![0, 1, 2, 8, 9, 10, 11, 12],
            (0..16).collect::<Vec<_>>(),
        ] {
            for algorithm in Algorithm::ALL {
                if algorithm == Algorithm::OneHop {
                    continue;
                }
                let plan = all_reduce(&machine, &gpus, algorithm);
                println!(
                    "{gigabits} {gpus:?} {} rate {} opt {:?} time {:.2} {:?}",
                    algorithm.name(),
                    plan.rate,
                    plan.optimum,
                    speed(&plan.schedule, &machine),
                    plan.notes
                );
            }
        }
    }
}
