//! Lets parts of a system fail: jobs on them begin anew, and others go around.

use std::ops::ControlFlow;

use linkwright::allocation::policy;
use linkwright::collectives::plan::planners;
use linkwright::simulation::cluster::{Cluster, Failure, Fidelity, SystemFailures};
use linkwright::simulation::played::PlannerChoice;
use linkwright::simulation::{
    DayChoices, DayOutcome, Job, MixOptions, RunTime, ServerChoice, SimulationError, generate,
    play_day,
};
use linkwright::units::Picoseconds;
use proptest::prelude::*;

use crate::played::{cluster, job};

const SECOND: u64 = 1_000_000_000_000;
const LONE: &str = "machine = \"dgx1-v100\"";
const SERVERS: &str =
    "kind = \"fat-tree\"\nlevels = 2\nradix = 8\nleaves = 4\nmachine = \"dgx1-v100\"\nservers = 4";

/// Holds the choices of a day, and its failures.
type Asked = (DayChoices, Vec<Failure>);

fn choices(fidelity: Fidelity, failures: Vec<Failure>) -> Asked {
    planned("nccl-ring", fidelity, failures)
}

fn planned(planner: &str, fidelity: Fidelity, failures: Vec<Failure>) -> Asked {
    let choices = DayChoices {
        run_time: RunTime::Played,
        fidelity,
        server_choice: ServerChoice::FirstFit,
        planner: PlannerChoice::named(planner, &planners()).unwrap(),
        ..DayChoices::default()
    };
    (choices, failures)
}

fn play(
    cluster: &Cluster,
    (choices, failures): &Asked,
    jobs: &[Job],
) -> Result<DayOutcome, SimulationError> {
    let hook = &mut |_| ControlFlow::Continue(());
    let failures = SystemFailures { timed: failures.clone(), ..SystemFailures::default() };
    let cluster = &Cluster { failures, ..cluster.clone() };
    play_day(cluster, choices, policy("preserve").unwrap(), jobs, hook)
}

fn failure(cluster: &Cluster, part: &str, from: f64, to: Option<f64>) -> Failure {
    let time = |seconds: f64| Picoseconds((seconds * SECOND as f64) as u64);
    let parts = cluster.system.parts_named(part).unwrap();
    Failure { parts, from: time(from), to: to.map(time) }
}

fn seconds(day: &DayOutcome, job: usize) -> f64 {
    let record = &day.records[job];
    (record.finish.0 - record.start.0) as f64 / SECOND as f64
}

#[test]
fn a_job_on_a_gpu_that_fails_begins_anew_or_from_its_checkpoint() {
    for fidelity in [Fidelity::Flow, Fidelity::Fluid] {
        let cluster = cluster(LONE, fidelity);
        let plain = job("a", "vgg-16", 8, 1_000);
        let whole = seconds(
            &play(&cluster, &choices(fidelity, vec![]), std::slice::from_ref(&plain)).unwrap(),
            0,
        );
        // GPU 3 fails halfway, and is back at once but for a hundredth of the time.
        let (half, back) = (whole / 2.0, whole * 0.51);
        let fails = choices(fidelity, vec![failure(&cluster, "GPU3", half, Some(back))]);
        let day = play(&cluster, &fails, std::slice::from_ref(&plain)).unwrap();
        assert_eq!(day.endured[0].restarts, 1);
        let expected = back + whole;
        assert!(
            (seconds(&day, 0) / expected - 1.0).abs() < 2e-3,
            "{fidelity:?}: {}",
            seconds(&day, 0)
        );
        let lost = day.endured[0].lost.as_seconds();
        assert!((lost / back - 1.0).abs() < 5e-3, "{fidelity:?}: {lost} of {back}");
        let kept = Job { checkpoint_iterations: Some(100), ..plain };
        let day = play(&cluster, &fails, &[kept]).unwrap();
        let saved = expected - seconds(&day, 0);
        // Of 500 iterations that were done, 400 or 500 are kept.
        assert!(saved > 0.39 * whole && saved < 0.51 * whole, "{fidelity:?}: {saved} of {whole}");
        assert_eq!(day.endured[0].stretches.iter().map(|it| it.iterations).sum::<u64>(), 1_000);
    }
}

/// Not even a checkpoint after each iteration saves the one in which the GPU is lost.
#[test]
fn the_last_iteration_is_lost_too() {
    for fidelity in [Fidelity::Flow, Fidelity::Fluid] {
        let cluster = cluster(LONE, fidelity);
        let job = Job { checkpoint_iterations: Some(1), ..job("a", "vgg-16", 8, 4) };
        let of = |failures| {
            play(&cluster, &choices(fidelity, failures), std::slice::from_ref(&job)).unwrap()
        };
        let whole = seconds(&of(vec![]), 0);
        let fails = failure(&cluster, "GPU3", whole * 0.9, Some(whole * 2.0));
        let day = of(vec![fails]);
        let endured = &day.endured[0];
        assert_eq!(endured.restarts, 1, "{fidelity:?}");
        assert_eq!(endured.stretches.iter().map(|it| it.iterations).sum::<u64>(), 4);
        // It does the last one anew when the GPU is back.
        let expected = whole * 2.25;
        assert!((seconds(&day, 0) / expected - 1.0).abs() < 2e-2, "{fidelity:?}");
    }
}

/// Jobs that have other GPUs go on, and a job that waits takes the place of one that lost its own.
#[test]
fn others_keep_their_gpus() {
    for fidelity in [Fidelity::Flow, Fidelity::Fluid] {
        let cluster = cluster(SERVERS, fidelity);
        let jobs: Vec<Job> = (0..4).map(|at| job(&at.to_string(), "vgg-16", 8, 1_000)).collect();
        let whole = play(&cluster, &choices(fidelity, vec![]), &jobs).unwrap();
        let half = seconds(&whole, 0) / 2.0;
        let fails = choices(fidelity, vec![failure(&cluster, "node2", half, Some(half * 1.2))]);
        let day = play(&cluster, &fails, &jobs).unwrap();
        for at in [0, 1, 3] {
            assert_eq!(day.records[at], whole.records[at], "{fidelity:?}");
        }
        assert_eq!(day.endured[2].restarts, 1);
        // It gets its server back before another is free.
        assert_eq!(day.records[2].parts[0].server, 2);
    }
}

#[test]
fn others_go_around_a_link_and_come_back() {
    for fidelity in [Fidelity::Flow, Fidelity::Fluid] {
        let cluster = cluster(LONE, fidelity);
        let jobs = [job("a", "vgg-16", 8, 1_000)];
        let of = |failures| play(&cluster, &planned("packing", fidelity, failures), &jobs).unwrap();
        let whole = seconds(&of(vec![]), 0);
        let always = seconds(&of(vec![failure(&cluster, "GPU0-GPU3", 0.0, None)]), 0);
        assert!(always > whole * 1.001, "{fidelity:?}: {always} and {whole}");
        let day = of(vec![failure(&cluster, "GPU0-GPU3", whole / 4.0, Some(whole / 2.0))]);
        let between = seconds(&day, 0);
        assert!(between > whole && between < always, "{fidelity:?}: {between}");
        assert_eq!((day.endured[0].restarts, day.endured[0].stretches.len()), (0, 3));
    }
}

/// A leaf takes the interfaces on it along, and a spine some of what leaves carry.
#[test]
fn parts_of_the_fabric_fail_too() {
    for fidelity in [Fidelity::Flow, Fidelity::Fluid] {
        let cluster = cluster(SERVERS, fidelity);
        let jobs = [job("a", "vgg-16", 32, 200)];
        let of = |failures| play(&cluster, &choices(fidelity, failures), &jobs);
        let whole = seconds(&of(vec![]).unwrap(), 0);
        let fabric = cluster.system.fabric().unwrap();
        let spine = fabric.switch_name(fabric.switches() - 1);
        let around = of(vec![failure(&cluster, &spine, 0.0, None)]).unwrap();
        assert!(seconds(&around, 0) > whole, "{fidelity:?}");
        // Without the leaf that all of its interfaces are on, a server is out of reach for ever.
        let leaf = fabric.switch_name(fabric.switch_of(cluster.system.port_of(0)));
        let refused = of(vec![failure(&cluster, &leaf, 0.0, None)]);
        let back = of(vec![failure(&cluster, &leaf, 0.0, Some(5.0))]).unwrap();
        match cluster.system.losing(&cluster.system.parts_named(&leaf).unwrap()).unwrap() {
            losses if losses.cut_off.is_empty() => assert!(refused.is_ok()),
            _ => {
                let refused = refused.unwrap_err().to_string();
                assert!(refused.contains("waits forever for 32 GPUs"), "{refused}");
                assert!(back.records[0].start.0 >= 5 * SECOND);
                // A job on it and on others cannot go around, and begins anew.
                let during = failure(&cluster, &leaf, whole / 2.0, Some(whole * 0.6));
                let during = of(vec![during]).unwrap();
                assert_eq!(during.endured[0].restarts, 1, "{fidelity:?}");
                assert_eq!(during.records[0].tries().count(), 2);
            }
        }
    }
}

/// Draws the jobs of a day.
fn mix(seed: u64, count: u32) -> Vec<Job> {
    let mut jobs =
        generate(&MixOptions { seed, count, max_gpus: 12, ..MixOptions::default() }).unwrap();
    for job in &mut jobs {
        job.iterations = job.iterations.min(300);
    }
    jobs
}

const PARTS: [&str; 7] = [
    "node1",
    "node0/GPU2",
    "node2/mlx5_1",
    "node0/GPU0-GPU3",
    "node3/PCIE1",
    "mlx5_0",
    "node1/GPU5",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    /// Nothing changes by a failure of no length.
    #[test]
    fn what_fails_for_no_time_changes_nothing(
        seed in any::<u64>(),
        part in prop::sample::select(PARTS.to_vec()),
        at in 0.0_f64..500.0,
        fluid in any::<bool>(),
    ) {
        let fidelity = if fluid { Fidelity::Fluid } else { Fidelity::Flow };
        let cluster = cluster(SERVERS, fidelity);
        let jobs = mix(seed, 8);
        let plain = play(&cluster, &choices(fidelity, vec![]), &jobs).unwrap();
        let none = vec![failure(&cluster, part, at, Some(at))];
        prop_assert_eq!(play(&cluster, &choices(fidelity, none), &jobs).unwrap(), plain);
    }

    /// Whatever fails, a job that has the system for itself takes no less time on the same GPUs.
    #[test]
    fn a_lone_job_is_never_faster_with_a_part_lost(
        gpus in 1_u32..33,
        part in prop::sample::select(PARTS.to_vec()),
        from in 0.0_f64..1.0,
        lasts in prop::option::of(0.0_f64..1.0),
        fluid in any::<bool>(),
    ) {
        let fidelity = if fluid { Fidelity::Fluid } else { Fidelity::Flow };
        let cluster = cluster(SERVERS, fidelity);
        let jobs = [job("a", "vgg-16", gpus, 100)];
        let whole = play(&cluster, &choices(fidelity, vec![]), &jobs).unwrap();
        let time = seconds(&whole, 0);
        let fails = failure(&cluster, part, from * time, lasts.map(|it| (from + it) * time));
        let (choices, fails) = choices(fidelity, vec![fails]);
        let attributes = (DayChoices { attributes: true, ..choices }, fails);
        let day = match play(&cluster, &attributes, &jobs) {
            // The GPUs that it needs do not come back.
            Err(SimulationError::NeverStarts { .. }) => return Ok(()),
            day => day.unwrap(),
        };
        let finish = day.records[0].finish;
        // A choice of servers that is not the best may find a better place among fewer GPUs.
        let first = cluster.system.first_gpus();
        let is_moved = day.records[0].gpus(&first) != whole.records[0].gpus(&first);
        let before = whole.records[0].finish.0 as f64;
        prop_assert!(is_moved || finish.0 as f64 >= before * (1.0 - 1e-9));
        let slowdown = day.attributions.as_ref().unwrap()[0].slowdown;
        let product =
            slowdown.waiting * slowdown.placement * slowdown.neighbours * slowdown.failure;
        prop_assert!((product / slowdown.whole - 1.0).abs() < 1e-9, "{slowdown:?}");
        // As flows a plan that is lost lasts to the end of its iteration.
        prop_assert!((slowdown.neighbours - 1.0).abs() < 2e-2, "{slowdown:?}");
        prop_assert!(slowdown.failure > 1.0 - 2e-2, "{slowdown:?}");
    }

    /// However many jobs there are, each does its iterations, and nobody is on a GPU while it is lost.
    #[test]
    fn nobody_runs_on_what_is_lost(
        seed in any::<u64>(),
        parts in prop::sample::subsequence(PARTS.to_vec(), 1..4),
        from in 0.0_f64..200.0,
        lasts in 1.0_f64..200.0,
        fluid in any::<bool>(),
    ) {
        let fidelity = if fluid { Fidelity::Fluid } else { Fidelity::Flow };
        let cluster = cluster(SERVERS, fidelity);
        let jobs = mix(seed, 12);
        let failures: Vec<Failure> =
            parts.iter().map(|it| failure(&cluster, it, from, Some(from + lasts))).collect();
        let day = play(&cluster, &choices(fidelity, failures.clone()), &jobs).unwrap();
        prop_assert_eq!(&day, &play(&cluster, &choices(fidelity, failures.clone()), &jobs).unwrap());
        let all: Vec<_> = failures.iter().flat_map(|it| it.parts.clone()).collect();
        let lost = cluster.system.losing(&all).unwrap().gpus;
        let first = cluster.system.first_gpus();
        prop_assert_eq!(day.records.len(), jobs.len());
        for record in &day.records {
            let endured = &day.endured[record.job];
            let done: u64 = endured.stretches.iter().map(|it| it.iterations).sum();
            prop_assert_eq!(done, jobs[record.job].iterations);
            let began = record.finish.as_seconds() - endured.stretches.last().unwrap().time.as_seconds();
            let touches = record.gpus(&first).iter().any(|gpu| lost.contains(gpu));
            // Its last try began before the failure and ended by then, or began after.
            let is_clear = record.finish.as_seconds() < from + 2.0 || began > from + lasts - 1e-6;
            prop_assert!(!touches || is_clear, "{}", jobs[record.job].name);
        }
    }
}

#[test]
fn what_nobody_can_go_around_is_refused() {
    let of = |text: &str, fidelity: Fidelity, run_time: RunTime, part: &str| {
        let cluster = cluster(text, fidelity);
        let fails = vec![failure(&cluster, part, 1.0, Some(2.0))];
        let (choices, fails) = choices(fidelity, fails);
        let choices = (DayChoices { run_time, ..choices }, fails);
        play(&cluster, &choices, &[job("a", "vgg-16", 2, 10)]).unwrap_err().to_string()
    };
    let packets = of(LONE, Fidelity::Packet, RunTime::Played, "GPU0");
    assert!(packets.starts_with("parts cannot fail for a time with packets"), "{packets}");
    let formula = of(LONE, Fidelity::Flow, RunTime::Formula, "GPU0");
    assert!(formula.starts_with("parts cannot fail for a time with a formula"), "{formula}");
    let fly = "kind = \"dragonfly\"\nmachine = \"dgx1-v100\"\nservers = 8";
    let name = {
        let cluster = cluster(fly, Fidelity::Flow);
        cluster.system.fabric().unwrap().switch_name(0)
    };
    let refused = of(fly, Fidelity::Flow, RunTime::Played, &name);
    assert!(refused.contains("dragonfly"), "{refused}");
}
