//! Every plan of every collective is right: its schedule checks, executes and reaches its rate.

use std::sync::Arc;

use linkwright::collectives::execute::{ExecuteOptions, Reduction, execute, reference};
use linkwright::collectives::plan::{
    Blink, Links, PLANNERS, Packing, Plan, PlanError, Planner, Question, plan, planners,
};
use linkwright::collectives::{Collective, check};
use linkwright::system::{DeviceKind, LinkKind, ServerBuilder, System};
use proptest::prelude::*;

use crate::systems::alone;

/// Distinct small numbers, so that a misplaced or doubled contribution shows.
fn inputs(collective: Collective, ranks: usize, per_shard: usize) -> Vec<Vec<i64>> {
    let value = |rank: usize, at: usize| (rank * 1_000_003 + at * 7 + 1) as i64;
    let input = |rank: usize| {
        let count = collective.input_shards(ranks, rank) * per_shard;
        (0..count).map(|at| value(rank, at)).collect()
    };
    (0..ranks).map(input).collect()
}

/// Checks and executes a plan's schedule on real buffers of an awkward length.
pub fn holds(plan: &Plan) {
    let schedule = &plan.schedule;
    let name = format!("{} on {:?}", schedule.name, schedule.gpus);
    check(schedule).unwrap_or_else(|fault| panic!("{name}: {fault}"));
    let inputs = inputs(schedule.collective, schedule.ranks(), 1_009);
    let expected = reference(schedule.collective, &inputs, Reduction::Sum).unwrap();
    let options = ExecuteOptions { piece: 512, ..ExecuteOptions::default() };
    let found = execute(schedule, inputs, Reduction::Sum, &options).unwrap();
    assert!(found == expected, "{name}: executed to something else");
}

fn planned(
    machine: &System,
    gpus: &[usize],
    collective: Collective,
    algorithm: &dyn Planner,
) -> Plan {
    match plan(algorithm, &Question::new(machine, gpus, collective)) {
        Ok(plan) => plan,
        Err(error) => panic!("{} {collective} on {gpus:?}: {error}", algorithm.name()),
    }
}

fn every_collective(ranks: usize) -> impl Iterator<Item = Collective> {
    let root = ranks / 2;
    Collective::NAMES.into_iter().filter_map(move |name| Collective::named(name, root))
}

/// Those that are planned with a look at the links.
fn every_planned_collective(ranks: usize) -> impl Iterator<Item = Collective> {
    let by_rule = |it: &Collective| matches!(it, Collective::Barrier | Collective::Scan);
    every_collective(ranks).filter(move |it| !by_rule(it))
}

#[test]
fn every_plan_on_the_presets_checks_and_executes() {
    for (name, gpus) in [
        ("dgx1-v100", vec![0, 1, 2, 3, 4, 5, 6, 7]),
        ("dgx1-v100", vec![1, 4, 5, 6]),
        ("dgx1-v100", vec![1, 4, 6]),
        ("dgx-a100", vec![0, 2, 5]),
        ("hgx-h100", vec![7, 2, 0, 5]),
        ("summit-node", vec![0, 1, 2, 3, 4, 5]),
        ("pcie-tree-4", vec![3, 1, 0]),
    ] {
        let machine = alone(name);
        for collective in every_collective(gpus.len()) {
            for algorithm in planners().iter() {
                match plan(algorithm, &Question::new(&machine, &gpus, collective)) {
                    Ok(plan) => holds(&plan),
                    Err(
                        PlanError::Unsupported { .. }
                        | PlanError::OneServer
                        | PlanError::OtherServers { .. }
                        | PlanError::NoReducingSwitch(_),
                    ) => {}
                    Err(error) => panic!("{name} {collective}: {error}"),
                }
            }
        }
    }
}

#[test]
fn the_dgx1v_reaches_what_its_links_allow() {
    let machine = alone("dgx1-v100");
    let all = [0, 1, 2, 3, 4, 5, 6, 7];
    let rate = |collective| {
        let plan = planned(&machine, &all, collective, &Packing);
        assert_eq!(Some(plan.rate), plan.optimum, "{collective}");
        plan.rate.as_gigabytes_per_second() / 25.0
    };
    assert!((rate(Collective::AllReduce) - 24.0 / 7.0).abs() < 1e-9);
    assert!((rate(Collective::Broadcast { root: 0 }) - 6.0).abs() < 1e-9);
    assert!((rate(Collective::AllGather) - 48.0 / 7.0).abs() < 1e-9);
    assert!((rate(Collective::Scatter { root: 3 }) - 48.0 / 7.0).abs() < 1e-9);
}

/// A machine of GPUs that NVLinks join as the matrix says, by counts.
fn nvlinked(count: usize, links: &[u32]) -> System {
    let mut builder = ServerBuilder::new("random", "made for a test");
    let ids: Vec<_> = (0..count)
        .map(|gpu| builder.device(&format!("GPU{gpu}"), DeviceKind::Gpu, None).unwrap())
        .collect();
    let pairs = (0..count).flat_map(|b| (0..b).map(move |a| (a, b)));
    for ((a, b), links) in pairs.zip(links).filter(|(_, links)| **links > 0) {
        builder.data_sheet_link(ids[a], ids[b], LinkKind::Nvlink2, *links).unwrap();
    }
    System::of_server(Arc::new(builder.build().unwrap()))
}

/// Capacity out of every set that holds the root, in links: the least is the broadcast's rate.
fn least_cut(count: usize, links: &[u32], root: usize) -> u32 {
    let pairs: Vec<_> = (0..count).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
    let cut = |side: usize| -> u32 {
        let crosses = |(a, b): (usize, usize)| side >> a & 1 != side >> b & 1;
        pairs.iter().zip(links).filter(|(pair, _)| crosses(**pair)).map(|(_, n)| n).sum()
    };
    (0..1 << count)
        .filter(|side| side >> root & 1 == 1 && side + 1 != 1 << count)
        .map(cut)
        .min()
        .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn plans_on_random_links_reach_the_cut_and_execute(
        count in 2_usize..=10,
        links in proptest::collection::vec(0_u32..4, 45),
        root in 0_usize..10,
    ) {
        let machine = nvlinked(count, &links);
        let gpus: Vec<usize> = (0..count).collect();
        let root = root % count;
        let cut = least_cut(count, &links, root);
        let broadcast = Collective::Broadcast { root };
        let plan = plan(&Packing, &Question::new(&machine, &gpus, broadcast).over(Links::Fabric));
        if cut == 0 {
            prop_assert!(matches!(plan, Err(PlanError::Links(_))));
            return Ok(());
        }
        let plan = plan.unwrap();
        prop_assert_eq!(plan.rate.0, u64::from(cut) * 25_000_000_000);
        holds(&plan);
        let blink = planned(&machine, &gpus, broadcast, &Blink);
        // A twentieth may be lost to whole links, and some to whole chunks.
        prop_assert!(blink.rate.0 as f64 > 0.9 * plan.rate.0 as f64, "{}", blink.rate);
        holds(&blink);
        holds(&planned(&machine, &gpus, Collective::AllReduce, &Blink));
        for collective in every_planned_collective(count) {
            let plan = planned(&machine, &gpus, collective, &Packing);
            let reached = plan.rate.0 as f64 / plan.optimum.unwrap().0 as f64;
            // Trees that are packed for a broadcast are not always best for other shards, and
            // an all-to-all's parts may be rounded to 64 chunks.
            let least = match collective {
                Collective::Gather { .. } | Collective::Scatter { .. } => 0.0,
                Collective::AllToAll => 0.9,
                _ => 1.0 - 1e-6,
            };
            prop_assert!((least..1.0 + 1e-6).contains(&reached), "{} {}", collective, reached);
            holds(&plan);
            for algorithm in PLANNERS {
                match linkwright::collectives::plan::plan(algorithm, &Question::new(&machine, &gpus, collective)) {
                    Ok(plan) => holds(&plan),
                    Err(
                        PlanError::Unsupported { .. }
                        | PlanError::OneServer
                        | PlanError::OtherServers { .. }
                        | PlanError::NoReducingSwitch(_),
                    ) => {}
                    // Stars and NCCL's fallback need a host path, which these machines lack.
                    Err(PlanError::Route(_) | PlanError::Links(_))
                        if !["packing", "blink"].contains(&algorithm.name()) => {}
                    Err(error) => prop_assert!(false, "{} {collective}: {error}", algorithm.name()),
                }
            }
        }
    }
}

#[test]
fn scatter_and_gather_reach_the_cuts_on_every_set_of_four_v100() {
    let machine = alone("dgx1-v100");
    for set in 0_u32..256 {
        let gpus: Vec<usize> = (0..8).filter(|gpu| set >> gpu & 1 == 1).collect();
        if gpus.len() != 4 {
            continue;
        }
        for collective in [Collective::Scatter { root: 1 }, Collective::Gather { root: 2 }] {
            let algorithm = &Packing;
            let found =
                plan(algorithm, &Question::new(&machine, &gpus, collective).over(Links::Fabric));
            let plan = match found {
                Err(PlanError::Links(_)) => continue,
                found => found.unwrap(),
            };
            holds(&plan);
            let (rate, optimum) = (plan.rate.0 as f64, plan.optimum.unwrap().0 as f64);
            assert!((rate / optimum - 1.0).abs() < 1e-6, "{gpus:?}: {rate} of {optimum}");
        }
    }
}
