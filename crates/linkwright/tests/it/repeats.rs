//! Iterations that are as those before are not played as flows, and nothing comes out otherwise.

use linkwright::collectives::plan::planners;
use linkwright::network::pcie::{PcieArbitration, PcieSettings};
use linkwright::simulation::cluster::Fidelity;
use linkwright::simulation::played::{GpuSpeed, IterationSettings, Iterations, PlannerChoice};
use linkwright::simulation::{Job, JobRecord, MixOptions, QueueDiscipline, ServerChoice, generate};
use linkwright::units::{Bytes, Picoseconds};
use proptest::prelude::*;

use crate::played::{cluster, job, played_by};

const MACHINES: [&str; 5] = [
    "machine = \"dgx1-v100\"",
    "machine = \"pcie-tree-4\"",
    "machine = \"hgx-h100\"",
    "kind = \"fat-tree\"\nmachine = \"dgx1-v100\"\nservers = 4",
    "kind = \"fat-tree\"\nmachine = \"dgx-a100\"\nservers = 3\ntapering = 2",
];

fn records(
    iterations: Iterations,
    choices: (ServerChoice, QueueDiscipline),
    (network, bus): (&str, Option<PcieSettings>),
    (planner, settings): (&str, IterationSettings),
    jobs: &[Job],
) -> Vec<JobRecord> {
    let mut cluster = cluster(network, Fidelity::Flow);
    cluster.settings.pcie = bus;
    let planned = (PlannerChoice::named(planner, &planners()).unwrap(), settings);
    played_by(iterations, choices, &cluster, planned, "preserve", jobs).unwrap().records
}

/// Both ways; the first is of iterations that repeat.
fn both(
    choices: (ServerChoice, QueueDiscipline),
    network: (&str, Option<PcieSettings>),
    planned: (&str, IterationSettings),
    jobs: &[Job],
) -> [Vec<JobRecord>; 2] {
    [Iterations::Unlike, Iterations::All]
        .map(|iterations| records(iterations, choices, network, planned, jobs))
}

const FIRST: (ServerChoice, QueueDiscipline) = (ServerChoice::FirstFit, QueueDiscipline::Fifo);

/// Jobs that come and go while others repeat, and jobs beside which none does.
#[test]
fn a_day_is_the_same_to_the_picosecond() {
    for (network, planner) in [
        (MACHINES[0], "packing"),
        (MACHINES[0], "nccl-ring"),
        (MACHINES[0], "nccl-classic"),
        (MACHINES[1], "nccl-tree"),
    ] {
        let largest = if network == MACHINES[1] { 3 } else { 5 };
        let mean_interarrival = Some(Picoseconds(500_000_000_000));
        let options = MixOptions {
            count: 12,
            max_gpus: largest,
            seed: 3,
            mean_interarrival,
            ..MixOptions::default()
        };
        let mut jobs = generate(&options).unwrap();
        for (index, job) in jobs.iter_mut().enumerate() {
            job.iterations = 15 + 3 * index as u64;
        }
        let planned = (planner, IterationSettings::default());
        let [repeated, played] = both(FIRST, (network, None), planned, &jobs);
        assert_eq!(repeated, played, "{planner} on {network}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// It holds whatever the system, the planner, the steps of an iteration and the queue.
    #[test]
    fn what_repeats_is_as_if_it_were_played(
        network in proptest::sample::select(&MACHINES[..]),
        planner in proptest::sample::select(&["packing", "nccl-ring", "nccl-classic"][..]),
        seed in 0_u64..1_000,
        count in 1_u32..7,
        iterations in 1_u64..25,
        host_copies: bool,
        bucket in proptest::option::of(20_000_000_u64..200_000_000),
        spread: bool,
        backfill: bool,
        arbitration in proptest::option::of(proptest::sample::select(
            &[PcieArbitration::RoundRobin, PcieArbitration::Throughput, PcieArbitration::Qos][..],
        )),
    ) {
        let bus = |arbitration| PcieSettings { arbitration, ..PcieSettings::DEFAULT };
        let bus = arbitration.map(bus);
        let servers = if spread { ServerChoice::Spread } else { ServerChoice::Pack };
        let discipline = if backfill { QueueDiscipline::Backfill } else { QueueDiscipline::Fifo };
        let settings = IterationSettings {
            host_copies,
            gpu_speed: GpuSpeed::Reference,
            bucket: bucket.map(Bytes),
            ..IterationSettings::default()
        };
        let mean_interarrival = Some(Picoseconds(300_000_000_000));
        let options =
            MixOptions { count, max_gpus: 4, seed, mean_interarrival, ..MixOptions::default() };
        let mut jobs = generate(&options).unwrap();
        for job in &mut jobs {
            job.iterations = iterations;
        }
        let [repeated, played] = both((servers, discipline), (network, bus), (planner, settings), &jobs);
        prop_assert_eq!(repeated, played);
    }
}

/// Ranks whose images come at one time compute until one time: which goes on first is of their state, too.
#[test]
fn ranks_that_are_done_at_one_time_go_on_in_their_order() {
    let settings = IterationSettings { host_copies: true, ..IterationSettings::default() };
    let options = MixOptions { count: 2, max_gpus: 4, seed: 427, ..MixOptions::default() };
    let mut jobs = generate(&options).unwrap();
    for iterations in [4, 6, 9] {
        jobs[1].iterations = iterations;
        let [repeated, played] =
            both(FIRST, (MACHINES[2], None), ("packing", settings), &jobs[1..]);
        assert_eq!(repeated, played, "{iterations}");
    }
}

/// A job alone of ten million iterations ends as soon as a few are known.
#[test]
fn iterations_cost_nothing_once_they_repeat() {
    let of = |iterations| {
        let jobs = [job("a", "vgg-16", 4, iterations)];
        let planned = ("packing", IterationSettings::default());
        let records = records(Iterations::Unlike, FIRST, (MACHINES[0], None), planned, &jobs);
        records[0].finish.0 - records[0].start.0
    };
    let (few, some, many) = (of(10), of(20), of(10_000_010));
    let each = (some - few) / 10;
    assert_eq!((many - few, (some - few) % 10), (each * 10_000_000, 0));
}
