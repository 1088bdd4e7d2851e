use std::collections::BTreeSet;
use std::sync::Arc;

use microlp::{ComparisonOp, OptimizationDirection, Problem, Variable};

use super::super::{Packing, plan as planned};
use super::*;
use crate::collectives::check;
use crate::collectives::nccl::baselines::newest_dealing;
use crate::collectives::schedule::time::{choose_chunk, protocol_of, time};
use crate::system::test_support::{alone, on_one_switch};
use crate::system::{DeviceKind, LinkKind, ServerBuilder, System};

fn nvls(system: &System, gpus: &[usize], collective: Collective) -> Result<Plan, PlanError> {
    planned(&NvlsPlanner, &Question::new(system, gpus, collective))
}

fn first(gpus: usize) -> Vec<usize> {
    (0..gpus).collect()
}

/// Builds a system of `gpus` GPUs on one NVSwitch.
fn switched(gpus: usize) -> System {
    let mut builder = ServerBuilder::new("switched", "the test");
    let switch = builder.device("NVSW0", DeviceKind::NvSwitch, None).unwrap();
    for gpu in 0..gpus {
        let gpu = builder.device(&format!("GPU{gpu}"), DeviceKind::Gpu, None).unwrap();
        builder.data_sheet_link(gpu, switch, LinkKind::Nvlink4, 18).unwrap();
    }
    System::of_server(Arc::new(builder.build().unwrap()))
}

#[test]
fn rates_are_those_of_the_switch_and_proven_best_from_three_gpus_on() {
    let machine = alone("hgx-h100");
    for gpus in 2..=8 {
        let ranks = gpus as f64;
        let rate = |collective| {
            let plan = nvls(&machine, &first(gpus), collective).unwrap();
            check(&plan.schedule).unwrap();
            assert_eq!(plan.notes.is_empty(), gpus > 2, "{:?}", plan.notes);
            (plan.rate.as_gigabytes_per_second(), plan.optimum.unwrap().as_gigabytes_per_second())
        };
        let close = |(a, b): (f64, f64), (x, y): (f64, f64)| (a - x).abs() + (b - y).abs() < 1e-6;
        let best = ranks / (ranks + 1.0).min(2.0 * ranks - 2.0);
        let all = (450.0 * ranks / (ranks + 1.0), 450.0 * best);
        assert!(close(rate(Collective::AllReduce), all), "{gpus}");
        // All of it comes to every GPU, its own part too, which trees leave where it is.
        let part = (450.0, 450.0 * ranks / (ranks - 1.0));
        assert!(close(rate(Collective::AllGather), part), "{gpus}");
        assert!(close(rate(Collective::ReduceScatter), part), "{gpus}");
        assert!(close(rate(Collective::Broadcast { root: gpus - 1 }), (450.0, 450.0)), "{gpus}");
        assert!(close(rate(Collective::Reduce { root: 1 }), (450.0, 450.0)), "{gpus}");
    }
}

#[test]
fn packing_says_what_is_optimal_with_the_switch_and_without() {
    let machine = alone("hgx-h100");
    let plan = |machine: &System, collective| {
        planned(&Packing, &Question::new(machine, &first(8), collective)).unwrap()
    };
    let gigabytes = |rate: Option<crate::units::Bandwidth>| {
        rate.map(|rate| (rate.as_gigabytes_per_second() * 100.0).round() / 100.0)
    };
    let packed = plan(&machine, Collective::AllReduce);
    assert_eq!(gigabytes(packed.optimum), Some(257.14));
    assert_eq!(gigabytes(packed.optimum_in_switch(&machine)), Some(400.0));
    for collective in
        [Collective::AllGather, Collective::ReduceScatter, Collective::Broadcast { root: 3 }]
    {
        let packed = plan(&machine, collective);
        assert_eq!(packed.optimum_in_switch(&machine), packed.optimum, "{collective}");
    }
    assert_eq!(plan(&machine, Collective::AllToAll).optimum_in_switch(&machine), None);
    let old = alone("dgx-a100");
    assert_eq!(plan(&old, Collective::AllReduce).optimum_in_switch(&old), None);
    let reduced = nvls(&machine, &first(8), Collective::AllReduce).unwrap();
    let words = reduced.optimum_of(&machine).unwrap();
    assert_eq!(words, "trees over NVLink, with in-switch reduction");
}

/// Returns the costs of the ways to make one value of all ranks'. For each last holder it counts
/// how often each rank's link to the switch is taken, then the link from it. Ways that are no
/// better than another are left out.
fn reductions(ranks: usize) -> Vec<BTreeSet<Vec<u32>>> {
    let mut found = vec![BTreeSet::new(); ranks];
    let mut seen = BTreeSet::new();
    let mut open = vec![((1_u32 << ranks) - 1, vec![0; 2 * ranks])];
    while let Some((holders, cost)) = open.pop() {
        if !seen.insert((holders, cost.clone())) {
            continue;
        }
        if holders.count_ones() == 1 {
            found[holders.trailing_zeros() as usize].insert(cost);
            continue;
        }
        let holds = |set: u32, rank: usize| set >> rank & 1 == 1;
        for into in (0..ranks).filter(|rank| holds(holders, *rank)) {
            for group in 1..=holders {
                if group & holders != group || !holds(group, into) || group.count_ones() < 2 {
                    continue;
                }
                let mut in_switch = cost.clone();
                (0..ranks).filter(|rank| holds(group, *rank)).for_each(|rank| in_switch[rank] += 1);
                in_switch[ranks + into] += 1;
                let left = holders & !group | 1 << into;
                open.push((left, in_switch));
                if group.count_ones() == 2 {
                    let from = (group & !(1 << into)).trailing_zeros() as usize;
                    let mut message = cost.clone();
                    message[from] += 1;
                    message[ranks + into] += 1;
                    open.push((left, message));
                }
            }
        }
    }
    for of_holder in &mut found {
        let all = of_holder.clone();
        let is_worse = |cost: &Vec<u32>| {
            let no_better = |other: &Vec<u32>| other.iter().zip(cost).all(|(a, b)| a <= b);
            all.iter().any(|other| other != cost && no_better(other))
        };
        of_holder.retain(|cost| !is_worse(cost));
    }
    found
}

/// The most that any mixture of reductions to a rank and copies from it reaches on links of 1.
fn best_mixture(ranks: usize) -> f64 {
    let ways = reductions(ranks);
    let mut problem = Problem::new(OptimizationDirection::Maximize);
    let mut carried: Vec<Vec<(Variable, f64)>> = vec![Vec::new(); 2 * ranks];
    for of_holder in &ways {
        let mut balance = Vec::new();
        for (sign, worth) in [(1.0, 1.0), (-1.0, 0.0)] {
            for cost in of_holder {
                let way = problem.add_var(worth, (0.0, f64::INFINITY));
                balance.push((way, sign));
                for (link, times) in cost.iter().enumerate() {
                    // A copy is a reduction the other way round.
                    let link = if sign > 0.0 { link } else { (link + ranks) % (2 * ranks) };
                    carried[link].push((way, f64::from(*times)));
                }
            }
        }
        problem.add_constraint(balance, ComparisonOp::Eq, 0.0);
    }
    for link in carried {
        problem.add_constraint(link, ComparisonOp::Le, 1.0);
    }
    problem.solve().unwrap().into_solution().unwrap().objective()
}

#[test]
fn no_mixture_of_switches_and_messages_passes_the_optimum() {
    for ranks in 2..=4 {
        let machine = switched(ranks);
        let optimum =
            in_switch_rate(&Wiring::of_system(&machine), &first(ranks), Collective::AllReduce);
        let most = best_mixture(ranks) * 450e9;
        let optimum = optimum.unwrap().0 as f64;
        assert!((most / optimum - 1.0).abs() < 1e-6, "{ranks}: {most} of {optimum}");
    }
}

#[test]
fn every_link_carries_what_theory_says_and_no_time_is_below_it() {
    for (machine, gpus) in [
        (alone("hgx-h100"), vec![0, 1, 2, 3, 4, 5, 6, 7]),
        (alone("hgx-b200"), vec![6, 0, 3]),
        // One switch, whose link its own part crosses twice.
        (switched(4), first(4)),
    ] {
        let ranks = gpus.len() as f64;
        let size = Bytes(gpus.len() as u64 * (32 << 20));
        for (collective, up, down) in [
            (Collective::AllReduce, 1.0 + 1.0 / ranks, 1.0 + 1.0 / ranks),
            (Collective::AllGather, 1.0 / ranks, 1.0),
            (Collective::ReduceScatter, 1.0, 1.0 / ranks),
        ] {
            let plan = nvls(&machine, &gpus, collective).unwrap();
            let costs = protocol_of(&plan.schedule, &machine).unwrap();
            let (timing, _) = choose_chunk(&plan.schedule, &machine, size, &costs).unwrap();
            let mut carried = vec![[0.0; 2]; gpus.len()];
            for load in &timing.links {
                let channel = machine.channel(load.channel);
                for (at, gpu) in gpus.iter().enumerate() {
                    let device = machine.gpu_device(*gpu as u32);
                    carried[at][0] += if channel.from == device { load.bytes } else { 0.0 };
                    carried[at][1] += if channel.to == device { load.bytes } else { 0.0 };
                }
            }
            for of_gpu in carried {
                for (found, expected) in of_gpu.into_iter().zip([up, down]) {
                    let ratio = found / size.0 as f64 / expected;
                    assert!((ratio - 1.0).abs() < 1e-3, "{collective} {gpus:?}: {found}");
                }
            }
            assert!(timing.links.iter().all(|load| load.utilisation <= 1.0 + 1e-9));
            let reached = |kind: LinkKind| kind.reached_in_switch().unwrap().share;
            let reached = reached(LinkKind::Nvlink4).min(reached(LinkKind::Nvlink5));
            let least = size.0 as f64 / plan.rate.0 as f64;
            let taken = timing.time.as_seconds();
            assert!(taken > least, "{collective}");
            // The time beside the links' is launch, hops, and the first and last chunk with their
            // copies.
            assert!(taken < least / reached * 1.02 + 200e-6, "{collective}: {taken} {least}");
        }
    }
}

#[test]
fn pieces_follow_one_another_without_a_gap() {
    let machine = alone("hgx-h100");
    let plan = nvls(&machine, &first(8), Collective::AllReduce).unwrap();
    let costs = protocol_of(&plan.schedule, &machine).unwrap();
    let taken = |chunk: u64| {
        let size = Bytes(256 << 20);
        time(&plan.schedule, &machine, size, Bytes(chunk), &costs).unwrap().time.as_seconds()
    };
    assert!(taken(1 << 20) < 1.02 * taken(32 << 20));
}

#[test]
fn machines_that_cannot_say_so() {
    let said = |system: &System, gpus: &[usize], collective, links| {
        planned(&NvlsPlanner, &Question::new(system, gpus, collective).over(links))
            .unwrap_err()
            .to_string()
    };
    let all = Collective::AllReduce;
    let found = said(&alone("dgx-a100"), &[0, 1, 2], all, Links::Auto);
    assert!(found.contains("only forward data"), "{found}");
    assert!(found.ends_with("use packing or nccl-ring"), "{found}");
    let found = said(&alone("dgx1-v100"), &[0, 1], all, Links::Auto);
    assert!(found.contains("no NVSwitch joins GPU 0"), "{found}");
    let found = said(&on_one_switch("hgx-h100", 2, 400), &[0, 1, 8, 9], all, Links::Auto);
    assert!(found.contains("GPUs 0 and 8 are on different servers"), "{found}");
    let found = said(&alone("hgx-h100"), &[0, 1], all, Links::Host);
    assert!(found.contains("only PCIe is allowed"), "{found}");
    let found = said(&alone("hgx-h100"), &[0, 1, 2], Collective::AllToAll, Links::Auto);
    assert_eq!(found, "nvls cannot plan all-to-all; use one of: packing, nccl-ring");
}

#[test]
fn seventy_two_gpus_share_a_rack_s_switches() {
    let machine = alone("gb200-nvl72");
    let plan = nvls(&machine, &first(72), Collective::AllReduce).unwrap();
    check(&plan.schedule).unwrap();
    let rate = plan.rate.as_gigabytes_per_second();
    // 32 of them have a part.
    assert!((rate - 900.0 * 32.0 / 33.0).abs() < 1e-6, "{rate}");
    let costs = protocol_of(&plan.schedule, &machine).unwrap();
    let (timing, _) = choose_chunk(&plan.schedule, &machine, Bytes(72 << 20), &costs).unwrap();
    assert!(timing.algorithm_bandwidth < rate);
}

#[test]
fn trees_of_heads_reduce_over_any_count_of_servers() {
    for servers in 2..=5 {
        let machine = on_one_switch("hgx-h100", servers, 400);
        let gpus: Vec<usize> = (0..8 * servers as usize).collect();
        let wiring = Wiring::of_gpus(&machine, &gpus);
        let plan = trees_of_heads(&wiring, &gpus, usize::MAX, newest_dealing(&wiring)).unwrap();
        check(&plan.schedule).unwrap();
        let protocol = protocol_of(&plan.schedule, &machine).unwrap();
        let size = Bytes(1 << 30);
        let timing = time(&plan.schedule, &machine, size, Bytes(2 << 20), &protocol).unwrap();
        // Over 400 GB/s of interfaces each of a tree's ways takes a part once in each direction; two trees share them.
        let ways = 2.0 * f64::from(servers - 1) / f64::from(servers);
        let network = size.0 as f64 / 400e9 * ways;
        let seconds = timing.time.as_seconds();
        assert!(seconds > network && seconds < 2.5 * network, "{servers}: {seconds} {network}");
    }
}
