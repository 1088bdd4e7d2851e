//! Tests the multi-tenant server: properties of any mix, under any policy and discipline.

use std::ops::ControlFlow;
use std::sync::Arc;

use linkwright::allocation::bandwidth::published;
use linkwright::allocation::{
    BandwidthModel, GpuSet, POLICIES, PatternShape, PreparedMachine, policy,
};
use linkwright::simulation::{
    Job, JobRecord, MixOptions, QueueDiscipline, ServerChoice, Sharing, SimulationError, generate,
    simulate, simulate_on,
};
use linkwright::system::presets::preset;
use linkwright::system::{BandwidthProfile, System, toml_format};
use linkwright::training::Workload;
use linkwright::units::{Bandwidth, Picoseconds};
use proptest::prelude::*;

fn prepared(name: &str, model: BandwidthModel) -> PreparedMachine {
    PreparedMachine::new(&preset(name).unwrap(), BandwidthProfile::Mapa, model).unwrap()
}

fn play(
    machine: &PreparedMachine,
    jobs: &[Job],
    policy_name: &str,
    discipline: QueueDiscipline,
) -> Vec<JobRecord> {
    let go_on = &mut |_| ControlFlow::Continue(());
    let policy = policy(policy_name).unwrap();
    simulate(machine, jobs, policy, discipline, GpuSet::EMPTY, go_on).unwrap()
}

fn job(name: &str, gpus: u32, iterations: u64) -> Job {
    let mut job = Job::new(name, Workload::find("gmm").unwrap(), gpus);
    job.iterations = iterations;
    job
}

fn starts(records: &[JobRecord]) -> Vec<f64> {
    records.iter().map(|record| record.start.as_seconds()).collect()
}

#[test]
fn first_in_first_out_blocks_behind_a_job_that_does_not_fit() {
    let machine = prepared("dgx1-v100", BandwidthModel::Sound);
    let jobs = [job("a", 6, 100), job("b", 4, 100), job("c", 2, 10)];
    let fifo = play(&machine, &jobs, "baseline", QueueDiscipline::Fifo);
    assert_eq!(fifo[1].start, fifo[0].finish, "b waits for a");
    assert_eq!(fifo[2].start, fifo[1].start, "c waits behind b, though it would fit at once");
}

#[test]
fn backfilling_fills_the_gap_and_delays_nobody_ahead() {
    let machine = prepared("dgx1-v100", BandwidthModel::Sound);
    let jobs = [job("a", 6, 100), job("b", 4, 100), job("short", 2, 10), job("long", 2, 500)];
    let records = play(&machine, &jobs, "baseline", QueueDiscipline::Backfill);
    assert_eq!(starts(&records)[2], 0.0, "it ends before b can start");
    assert_eq!(records[1].start, records[0].finish, "b starts as if nobody had passed it");
    assert_eq!(records[3].start, records[2].finish, "four GPUs stay free beside b: room for two");
    let tight = [job("a", 6, 100), job("b", 8, 100), job("long", 2, 500)];
    let records = play(&machine, &tight, "baseline", QueueDiscipline::Backfill);
    assert_eq!(records[1].start, records[0].finish);
    assert_eq!(records[2].start, records[1].finish, "it would have delayed b");
}

#[test]
fn backfilling_counts_all_that_ends_with_the_reservation() {
    let machine = prepared("dgx1-v100", BandwidthModel::Sound);
    let mut jobs: Vec<Job> = (0..7).map(|n| job(&format!("single-{n}"), 1, 100)).collect();
    jobs.extend([job("first", 4, 100), job("long", 1, 500)]);
    let records = play(&machine, &jobs, "baseline", QueueDiscipline::Backfill);
    assert_eq!(records[7].start, records[0].finish, "seven GPUs fall free at once");
    assert_eq!(starts(&records)[8], 0.0, "four of eight stay spare beside the first");
}

#[test]
fn backfilling_uses_up_what_is_spare_and_no_more() {
    let machine = prepared("dgx1-v100", BandwidthModel::Sound);
    // Seven of eight GPUs for `first` once `a` has ended: one is spare, for one of the two.
    let jobs = [job("a", 6, 100), job("first", 7, 100), job("c", 1, 900), job("d", 1, 900)];
    let records = play(&machine, &jobs, "baseline", QueueDiscipline::Backfill);
    assert_eq!(starts(&records)[2], 0.0, "it takes exactly what is spare");
    assert_eq!(records[1].start, records[0].finish, "nothing delays the first");
    assert_eq!(records[3].start, records[1].finish, "nothing was spare any more");
}

#[test]
fn backfilling_starts_what_ends_with_the_reservation() {
    let machine = prepared("dgx1-v100", BandwidthModel::Sound);
    let jobs = [job("a", 1, 100), job("first", 8, 100), job("as long", 1, 100)];
    let records = play(&machine, &jobs, "baseline", QueueDiscipline::Backfill);
    assert_eq!(records[2].finish, records[0].finish, "nothing is spare, and it ends in time");
    assert_eq!(records[1].start, records[0].finish);
}

#[test]
fn a_name_given_twice_and_a_run_without_an_end_are_refused() {
    let machine = prepared("dgx1-v100", BandwidthModel::Sound);
    let refusal = |jobs: &[Job]| {
        let go_on = &mut |_| ControlFlow::Continue(());
        let policy = policy("greedy").unwrap();
        let error = simulate(&machine, jobs, policy, QueueDiscipline::Fifo, GpuSet::EMPTY, go_on);
        error.unwrap_err().to_string()
    };
    let twice = refusal(&[job("a", 1, 1), job("a\u{7}", 1, 1), job("a\u{7}", 2, 1)]);
    assert!(twice.starts_with("two jobs are named `a\\u{7}`"), "{twice}");
    let endless = refusal(&[job("a", 1, 1), job("endless", 2, u64::MAX)]);
    assert!(endless.starts_with("job `endless` would run for more than 213 days"), "{endless}");
}

#[test]
fn a_machine_of_nvlinks_alone_plays_jobs() {
    let text = "name = \"pair\"\n[[device]]\nkind = \"gpu\"\nnames = [\"A\", \"B\"]\n\
        [[link]]\nkind = \"nvlink2\"\ncount = 2\nbetween = [[\"A\", \"B\"]]\n";
    let pair = toml_format::read("pair.toml", text).unwrap();
    for model in [BandwidthModel::Sound, BandwidthModel::Published] {
        let machine = PreparedMachine::new(&pair, BandwidthProfile::Mapa, model).unwrap();
        for policy in POLICIES {
            let jobs = [job("a", 2, 10), job("b", 1, 10)];
            let records = play(&machine, &jobs, policy.name(), QueueDiscipline::Fifo);
            assert_eq!(
                records[0].sound_bandwidth,
                machine.sound_bandwidth(GpuSet::first(2)).into()
            );
        }
    }
}

#[test]
fn a_job_that_can_never_start_is_refused_before_anything_runs() {
    let machine = prepared("dgx1-v100", BandwidthModel::Sound);
    let jobs = [job("a", 1, 1), job("huge", 8, 1)];
    let unhealthy = GpuSet::EMPTY.with(3);
    let go_on = &mut |_| ControlFlow::Continue(());
    let policy = policy("greedy").unwrap();
    let error = simulate(&machine, &jobs, policy, QueueDiscipline::Fifo, unhealthy, go_on);
    let message = error.unwrap_err().to_string();
    assert!(message.contains("`huge`") && message.contains("ask for at most 7"), "{message}");
}

#[test]
fn the_hook_stops_a_run() {
    let machine = prepared("dgx1-v100", BandwidthModel::Sound);
    let jobs = generate(&MixOptions::default()).unwrap();
    let mut calls = 0;
    let stop = &mut |_| {
        calls += 1;
        if calls == 10 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let policy = policy("greedy").unwrap();
    let stopped = simulate(&machine, &jobs, policy, QueueDiscipline::Fifo, GpuSet::EMPTY, stop);
    assert!(matches!(stopped, Err(SimulationError::Interrupted { .. })));
}

#[test]
fn a_better_allocation_runs_faster() {
    let machine = prepared("dgx1-v100", BandwidthModel::Sound);
    let vgg = Job::new("vgg", Workload::find("vgg-16").unwrap(), 2);
    // GPUs 0 and 1 share one NVLink; 2 and 3, behind one PCIe switch as well, share two.
    let baseline = play(&machine, std::slice::from_ref(&vgg), "baseline", QueueDiscipline::Fifo);
    let preserve = play(&machine, &[vgg], "preserve", QueueDiscipline::Fifo);
    assert_eq!(baseline[0].parts[0].chosen.placement, [0, 1]);
    assert_eq!(preserve[0].parts[0].chosen.placement, [2, 3]);
    assert!(preserve[0].finish < baseline[0].finish);
}

#[test]
fn the_published_model_picks_but_does_not_set_the_run_time() {
    let machine = prepared("dgx1-v100", BandwidthModel::Published);
    let jobs = generate(&MixOptions { seed: 3, max_gpus: 8, ..MixOptions::default() }).unwrap();
    for record in play(&machine, &jobs, "preserve", QueueDiscipline::Fifo) {
        let sound = machine.sound_bandwidth(record.parts[0].chosen.gpus());
        let bandwidth = Bandwidth((sound * 1e9).round() as u64);
        let run_time = jobs[record.job].run_time(bandwidth).unwrap();
        assert_eq!(record.start.checked_add(run_time), Some(record.finish));
    }
}

#[test]
fn run_times_at_the_regression_s_bandwidth_follow_the_links_that_are_used() {
    let system = System::of_server(Arc::new(preset("dgx1-v100").unwrap()));
    let machines = [prepared("dgx1-v100", BandwidthModel::Sound)];
    let sharing = Sharing {
        servers: ServerChoice::FirstFit,
        ..Sharing::new(&machines, policy("baseline").unwrap())
    };
    let play = |jobs: &[Job]| {
        let hook = &mut |_| ControlFlow::Continue(());
        simulate_on(&system, sharing, BandwidthModel::Published, jobs, hook)
    };
    let jobs = generate(&MixOptions { seed: 3, ..MixOptions::default() }).unwrap();
    for record in play(&jobs).unwrap() {
        let predicted = published::effective_bandwidth(record.links());
        let bandwidth = Bandwidth((predicted * 1e9).round() as u64);
        let run_time = jobs[record.job].run_time(bandwidth).unwrap();
        assert_eq!(record.start.checked_add(run_time), Some(record.finish));
    }
    // Of all 28 pairs of a machine the regression makes less than nothing.
    let mut all = Job::new("all", Workload::find("gmm").unwrap(), 8);
    all.pattern = PatternShape::AllToAll;
    let error = play(&[all]).unwrap_err();
    assert!(matches!(error, SimulationError::RunTooLong { .. }), "{error}");
}

fn any_mix() -> impl Strategy<Value = Vec<Job>> {
    let job = (0..Workload::all().len(), 1_u32..9, 0..6_usize, 0_u64..2_000, any::<bool>());
    proptest::collection::vec(job, 1..25).prop_map(|rows| {
        let each = rows.into_iter().enumerate();
        each.map(|(index, (workload, gpus, shape, arrival, sensitive))| {
            let mut job = Job::new(format!("job-{index}"), &Workload::all()[workload], gpus);
            // Large patterns that are searched take long in a test of many cases.
            job.pattern = if gpus <= 5 { PatternShape::ALL[shape] } else { PatternShape::Ring };
            job.arrival = Picoseconds(arrival * Picoseconds::SECOND.0);
            job.sensitive = sensitive;
            job
        })
        .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_gpu_is_shared_and_no_job_is_lost(
        jobs in any_mix(),
        which in 0..POLICIES.len(),
        backfill: bool,
    ) {
        let machine = prepared("dgx1-v100", BandwidthModel::Sound);
        let discipline =
            if backfill { QueueDiscipline::Backfill } else { QueueDiscipline::Fifo };
        let records = play(&machine, &jobs, POLICIES[which].name(), discipline);
        prop_assert_eq!(records.len(), jobs.len());
        for (index, record) in records.iter().enumerate() {
            prop_assert_eq!(record.job, index);
            prop_assert!(record.start >= jobs[index].arrival);
            prop_assert!(record.finish > record.start);
            prop_assert_eq!(record.parts[0].chosen.gpus().len(), jobs[index].gpus as usize);
            prop_assert!(
                record.parts[0].chosen.aggregated_bandwidth <= record.ideal_aggregated_bandwidth
            );
            for other in &records[..index] {
                let overlap = record.start < other.finish && other.start < record.finish;
                let shared = record.parts[0].chosen.gpus().intersection(other.parts[0].chosen.gpus());
                prop_assert!(!overlap || shared.is_empty());
            }
        }
        if !backfill {
            let mut order: Vec<usize> = (0..jobs.len()).collect();
            order.sort_by_key(|index| (jobs[*index].arrival, *index));
            prop_assert!(order.is_sorted_by_key(|index| records[*index].start));
        }
        let again = play(&machine, &jobs, POLICIES[which].name(), discipline);
        prop_assert_eq!(records, again, "the same inputs give the same result");
    }
}
