//! Splits the slowdown of jobs: waiting, placement and neighbours.

use std::ops::ControlFlow;

use linkwright::allocation::policy;
use linkwright::collectives::plan::planners;
use linkwright::simulation::cluster::{Cluster, Fidelity};
use linkwright::simulation::played::PlannerChoice;
use linkwright::simulation::{
    Attribution, DayChoices, Job, RunTime, ServerChoice, generate, play_day,
};
use linkwright::simulation::{DayOutcome, MixOptions};
use linkwright::units::Picoseconds;
use proptest::prelude::*;

use crate::played::{cluster, job};

const SERVERS: &str = "kind = \"fat-tree\"\nmachine = \"dgx1-v100\"\nservers = 4";

fn choices(fidelity: Fidelity, servers: ServerChoice) -> DayChoices {
    DayChoices {
        run_time: RunTime::Played,
        fidelity,
        server_choice: servers,
        planner: PlannerChoice::named("nccl-ring", &planners()).unwrap(),
        ..DayChoices::default()
    }
}

fn attributed(
    cluster: &Cluster,
    choices: &DayChoices,
    jobs: &[Job],
) -> (DayOutcome, Vec<Attribution>) {
    let policy = policy("preserve").unwrap();
    let hook = &mut |_| ControlFlow::Continue(());
    let choices = DayChoices { attributes: true, ..choices.clone() };
    let mut day = play_day(cluster, &choices, policy, jobs, hook).unwrap();
    let found = day.attributions.take().unwrap();
    (day, found)
}

fn is_one(part: f64) -> bool {
    (part - 1.0).abs() < 1e-9
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    /// Whatever it runs on however many GPUs, split as a choice of servers would have it.
    #[test]
    fn a_lone_job_is_slowed_by_its_placement_alone(
        gpus in 1_u32..20,
        workload in prop::sample::select(vec!["vgg-16", "gmm", "alexnet"]),
        spread in any::<bool>(),
        fluid in any::<bool>(),
        arrival in 0_u64..1 << 40,
    ) {
        let fidelity = if fluid { Fidelity::Fluid } else { Fidelity::Flow };
        let servers = if spread { ServerChoice::Spread } else { ServerChoice::FirstFit };
        let lone = Job { arrival: Picoseconds(arrival), ..job("a", workload, gpus, 3) };
        let (_, found) =
            attributed(&cluster(SERVERS, fidelity), &choices(fidelity, servers), &[lone]);
        let parts = found[0].slowdown;
        prop_assert!(is_one(parts.waiting) && is_one(parts.neighbours), "{parts:?}");
        prop_assert!(parts.placement >= 1.0, "{parts:?}");
        if !spread && gpus <= 8 {
            prop_assert!(parts.placement < 1.5, "{parts:?}");
        }
    }

    #[test]
    fn the_parts_multiply_to_the_whole(seed in any::<u64>(), fluid in any::<bool>(), pack in any::<bool>()) {
        let options = MixOptions { count: 10, seed, iterations: Some(6), max_gpus: 10, ..MixOptions::default() };
        let jobs = generate(&options).unwrap();
        let fidelity = if fluid { Fidelity::Fluid } else { Fidelity::Flow };
        let servers = if pack { ServerChoice::Pack } else { ServerChoice::FirstFit };
        let cluster = cluster("kind = \"fat-tree\"\nmachine = \"dgx1-v100\"\nservers = 2", fidelity);
        let (day, found) = attributed(&cluster, &choices(fidelity, servers), &jobs);
        for (record, it) in day.records.iter().zip(&found) {
            let parts = it.slowdown;
            let product = parts.waiting * parts.placement * parts.neighbours;
            prop_assert!((product / parts.whole - 1.0).abs() < 1e-9, "{parts:?}");
            let time = (record.finish.0 - jobs[record.job].arrival.0) as f64;
            prop_assert!((time / it.best.0 as f64 / parts.whole - 1.0).abs() < 1e-9);
            prop_assert!(parts.waiting >= 1.0 && parts.placement >= 1.0, "{parts:?}");
        }
    }
}

/// Each has a server of its own; and two that share an interface slow one another.
#[test]
fn jobs_without_a_shared_link_cost_each_other_nothing() {
    for fidelity in [Fidelity::Fluid, Fidelity::Flow] {
        let two: Vec<Job> = ["a", "b"].map(|name| job(name, "vgg-16", 8, 20)).to_vec();
        let on = cluster(SERVERS, fidelity);
        let (_, apart) = attributed(&on, &choices(fidelity, ServerChoice::FirstFit), &two);
        assert!(apart.iter().all(|it| is_one(it.slowdown.neighbours)), "{apart:?}");
        assert!(apart.iter().all(|it| it.neighbours == Some(Vec::new())), "{apart:?}");
        // Of three servers both have two GPUs of the second, which has one interface.
        let wide: Vec<Job> = ["a", "b"].map(|name| job(name, "googlenet", 6, 2)).to_vec();
        let on =
            cluster("kind = \"single-switch\"\nmachine = \"pcie-tree-4\"\nservers = 3", fidelity);
        let (day, beside) = attributed(&on, &choices(fidelity, ServerChoice::FirstFit), &wide);
        assert!(beside.iter().all(|it| it.slowdown.neighbours > 1.02), "{beside:?}");
        for (it, record) in beside.iter().zip(&day.records) {
            let lost = Picoseconds(record.finish.0 - record.start.0 - it.alone.0).as_seconds();
            let costs = it.neighbours.as_ref().unwrap();
            assert!(costs.len() == 1 && costs[0].0 == 1 - it.job, "{costs:?}");
            assert!((costs[0].1 / lost - 1.0).abs() < 1e-9, "{costs:?} of {lost}");
        }
    }
}

/// A formula knows no neighbours.
#[test]
fn jobs_by_a_formula_are_slowed_by_waiting_and_placement() {
    let formula = DayChoices::default();
    let jobs: Vec<Job> = (0..6).map(|at| job(&at.to_string(), "vgg-16", 3, 100)).collect();
    let (_, found) =
        attributed(&cluster("machine = \"dgx1-v100\"", Fidelity::Flow), &formula, &jobs);
    assert!(found.iter().all(|it| is_one(it.slowdown.neighbours)), "{found:?}");
    assert!(found.iter().any(|it| it.slowdown.waiting > 1.5), "{found:?}");
    assert!(found.iter().all(|it| it.exposed.is_some_and(|it| (0.0..1.0).contains(&it))));
}
