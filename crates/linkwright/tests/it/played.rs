//! Jobs of shared servers that are played message by message.

use std::ops::ControlFlow;
use std::sync::Arc;

use linkwright::allocation::{BandwidthModel, PreparedMachine, policy};
use linkwright::collectives::Collective;
use linkwright::collectives::Collective::AllReduce;
use linkwright::collectives::baselines::{Settings, Version, expect};
use linkwright::collectives::plan::{
    Candidates, Packing, Planner, Question, Trial, plan_fastest, plan_for_size, planners,
    timed_plan_within,
};
use linkwright::collectives::time::{choose_chunk, protocol_of};
use linkwright::program::{CollectiveKind as Kind, Operation, Program, RankBuilder, WORLD};
use linkwright::runtime;
use linkwright::scenario::{Files, read_network};
use linkwright::simulation::cluster::{
    Cluster, CollectiveChoices, CollectiveProtocol, Fidelity, Watch,
};
use linkwright::simulation::played::{
    IterationSettings, Iterations, PlannerChoice, PlayedOutcome, play_iterations,
};
use linkwright::simulation::{
    Job, JobRecord, MixOptions, Part, PlannedBy, QueueDiscipline, ServerChoice, Sharing,
    SimulationError, generate,
};
use linkwright::system::BandwidthProfile;
use linkwright::training::Workload;
use linkwright::units::{Bytes, Picoseconds};
use proptest::prelude::*;

const POLICIES: [&str; 4] = ["baseline", "topology-aware", "greedy", "preserve"];

pub fn cluster(text: &str, fidelity: Fidelity) -> Cluster {
    let network = read_network("<test>", text).unwrap();
    Cluster { fidelity, ..network.build("<test>", &Files::default()).unwrap() }
}

fn dgx1(fidelity: Fidelity) -> Cluster {
    cluster("machine = \"dgx1-v100\"", fidelity)
}

fn packing() -> PlannerChoice {
    PlannerChoice::named("packing", &planners()).unwrap()
}

fn played(
    cluster: &Cluster,
    planner: PlannerChoice,
    policy_name: &str,
    jobs: &[Job],
) -> Result<PlayedOutcome, SimulationError> {
    played_in(ServerChoice::FirstFit, cluster, planner, policy_name, jobs)
}

pub fn played_in(
    servers: ServerChoice,
    cluster: &Cluster,
    planner: PlannerChoice,
    policy_name: &str,
    jobs: &[Job],
) -> Result<PlayedOutcome, SimulationError> {
    let of_iteration = IterationSettings::default();
    played_with(
        (servers, QueueDiscipline::Fifo),
        cluster,
        (planner, of_iteration),
        policy_name,
        jobs,
    )
}

pub fn played_with(
    choices: (ServerChoice, QueueDiscipline),
    cluster: &Cluster,
    planned: (PlannerChoice, IterationSettings),
    policy_name: &str,
    jobs: &[Job],
) -> Result<PlayedOutcome, SimulationError> {
    played_by(Iterations::Unlike, choices, cluster, planned, policy_name, jobs)
}

pub fn played_by(
    iterations: Iterations,
    choices: (ServerChoice, QueueDiscipline),
    cluster: &Cluster,
    planned: (PlannerChoice, IterationSettings),
    policy_name: &str,
    jobs: &[Job],
) -> Result<PlayedOutcome, SimulationError> {
    played_beside(&[], iterations, choices, cluster, planned, policy_name, jobs)
}

/// Plays jobs beside GPUs that are out of order, by their servers.
pub fn played_beside(
    unhealthy: &[(usize, usize)],
    iterations: Iterations,
    (servers, discipline): (ServerChoice, QueueDiscipline),
    cluster: &Cluster,
    (planner, settings): (PlannerChoice, IterationSettings),
    policy_name: &str,
    jobs: &[Job],
) -> Result<PlayedOutcome, SimulationError> {
    let prepare = |server| {
        PreparedMachine::new(server, BandwidthProfile::Mapa, BandwidthModel::Sound).unwrap()
    };
    let kinds = cluster.system.kinds().iter();
    let machines: Vec<_> = kinds.map(|kind| prepare(kind.server())).collect();
    let policy = policy(policy_name).unwrap();
    let machines = &machines;
    let sharing = Sharing {
        servers,
        discipline,
        unhealthy,
        keeps_loads: true,
        ..Sharing::new(machines, policy)
    };
    let settings = (planner, settings);
    play_iterations(
        iterations,
        cluster,
        settings,
        sharing,
        jobs,
        &mut |_| ControlFlow::Continue(()),
    )
}

pub fn job(name: &str, workload: &str, gpus: u32, iterations: u64) -> Job {
    let mut job = Job::new(name, Workload::find(workload).unwrap(), gpus);
    job.iterations = iterations;
    job
}

/// As `linkwright collective time` says for the same plan, size and chunk.
#[test]
fn a_lone_job_takes_as_long_as_its_collectives_are_timed() {
    let names = ["dgx1-v100", "dgx-a100", "4x-l40s-pcie"];
    let systems = names.map(|name| cluster(&format!("machine = \"{name}\""), Fidelity::Flow));
    let cases =
        systems.iter().flat_map(|system| ["packing", "nccl-ring"].map(|planner| (system, planner)));
    for (cluster, planner) in cases {
        let wanted = PlannerChoice::named(planner, &planners()).unwrap();
        let of = |iterations| {
            played(cluster, wanted, "baseline", &[job("a", "vgg-16", 4, iterations)]).unwrap()
        };
        let outcome = of(1);
        let record = &outcome.records[0];
        let gpus: Vec<usize> = record.parts[0].chosen.gpus().iter().collect();
        let PlannerChoice::Plan(PlannedBy::Planner(algorithm)) = wanted else { unreachable!() };
        let vgg = Workload::find("vgg-16").unwrap();
        let size = vgg.bytes_per_iteration();
        let found =
            plan_for_size(algorithm, &Question::new(&cluster.system, &gpus, AllReduce), size)
                .unwrap();
        let protocol = protocol_of(&found.schedule, &cluster.system).unwrap();
        let timing = choose_chunk(&found.schedule, &cluster.system, size, &protocol).unwrap().0;
        let iteration = vgg.compute_per_iteration().0 + timing.time.0;
        assert_eq!(record.finish.0, iteration, "{planner} on {}", cluster.system.name());
        // A rank that has its data computes on while others still wait for theirs.
        assert!(of(3).records[0].finish.0 <= 3 * iteration);
        assert_eq!(outcome.plans, 1);
    }
}

/// As `collective expect` says for NCCL's own choice, in a release too, and `collective plan` for the fastest of all.
#[test]
fn a_lone_job_takes_what_other_commands_say_of_nccl_and_of_the_fastest() {
    let pair = "kind = \"fat-tree\"\nmachine = \"hgx-h100\"\nservers = 2";
    let cases = [
        ("machine = \"dgx1-v100\"", 3, "vgg-16"),
        ("machine = \"hgx-h100\"", 8, "resnet-50"),
        (pair, 12, "vgg-16"),
    ];
    let old: Version = "2.12".parse().unwrap();
    for (text, gpus, workload) in cases {
        let of = Workload::find(workload).unwrap();
        let (size, compute) = (of.bytes_per_iteration(), of.compute_per_iteration().0);
        for fidelity in [Fidelity::Flow, Fidelity::Fluid] {
            let cluster = cluster(text, fidelity);
            let system = &cluster.system;
            let taken = |planner| {
                let jobs = [job("a", workload, gpus, 1)];
                let record =
                    played(&cluster, planner, "baseline", &jobs).unwrap().records.remove(0);
                let ids = |part: &Part| -> Vec<usize> {
                    let own = part.chosen.gpus().iter();
                    own.map(|gpu| system.gpu_at(part.server, gpu as u32) as usize).collect()
                };
                let ids: Vec<usize> = record.parts.iter().flat_map(ids).collect();
                assert_eq!(ids.len(), gpus as usize);
                (ids, record.finish.0)
            };
            for version in [None, Some(old)] {
                let nccl = PlannerChoice::named("nccl", &planners()).unwrap().in_release(version);
                let (ids, finish) = taken(nccl);
                let settings = Settings { version, ..Settings::default() };
                let expected = expect(system, &ids, AllReduce, &[size], &settings).unwrap();
                let wanted = compute + expected.rows[0].time.0;
                assert_eq!(finish, wanted, "{fidelity:?} {version:?} of {text}");
            }
            let (ids, finish) = taken(PlannerChoice::named("auto", &planners()).unwrap());
            let question = Question::new(system, &ids, AllReduce);
            let by = |planner: &'static dyn Planner, within| {
                timed_plan_within(planner, &question, (size, within))
            };
            let (_, tried) = plan_fastest(&planners(), &question, size, None, &by).unwrap();
            let Trial::Timed { time, .. } = tried[0].trial else { unreachable!() };
            assert_eq!(finish, compute + time.0, "{fidelity:?} of {text}");
        }
    }
}

/// One call of a program takes the time that `collective expect` and `collective time` say for it.
#[test]
fn a_program_of_one_collective_takes_what_it_is_timed_at_as_a_kernel() {
    let servers = "kind = \"fat-tree\"\nlevels = 2\nradix = 8\nleaves = 8\nmachine = \"hgx-h100\"\nservers = 4";
    let cases: [(&str, &[usize], Collective, u64); 9] = [
        ("machine = \"dgx1-v100\"", &[1, 4, 5, 6], AllReduce, 64 << 20),
        ("machine = \"dgx-a100\"", &[0, 1, 2, 3, 4, 5, 6, 7], AllReduce, 256 << 10),
        ("machine = \"4x-l40s-pcie\"", &[2, 0, 3], Collective::AllGather, 3 << 20),
        ("machine = \"mi300x-8\"", &[0, 1, 2, 3, 4, 5, 6, 7], AllReduce, 1 << 20),
        ("machine = \"hgx-h100\"", &[0, 1, 2, 3, 4, 5, 6, 7], AllReduce, 64 << 20),
        ("machine = \"hgx-h100\"", &[3, 1, 6], Collective::AllToAll, 3 << 20),
        ("machine = \"dgx1-v100\"", &[5, 4, 1], Collective::Reduce { root: 2 }, 1 << 20),
        (servers, &[8, 9, 10, 11, 24, 25, 26, 27], AllReduce, 8 << 20),
        (servers, &[1, 9, 17], Collective::ReduceScatter, 3 << 10),
    ];
    for (text, gpus, collective, size) in cases {
        let cluster = cluster(text, Fidelity::Flow);
        let settings = Settings::default();
        let expected = expect(&cluster.system, gpus, collective, &[Bytes(size)], &settings);
        let time = replayed(&cluster, None, gpus, collective, size);
        assert_eq!(time, expected.unwrap().rows[0].time, "{collective} on {text}");
        let packing = Candidates::new(&Packing, &Question::new(&cluster.system, gpus, collective));
        let timing = packing.unwrap().fastest(Bytes(size)).unwrap().1;
        let time = replayed(&cluster, Some("packing"), gpus, collective, size);
        assert_eq!(time, timing.time, "{collective} packed on {text}");
    }
}

/// How long a program takes whose ranks call one collective, of that size as nccl-tests counts it.
fn replayed(
    cluster: &Cluster,
    planner: Option<&str>,
    gpus: &[usize],
    collective: Collective,
    size: u64,
) -> Picoseconds {
    let (kind, ranks) = (collective.kind(), gpus.len());
    let root = collective.root().unwrap_or(0) as u32;
    let own = collective.output_shards(ranks, 0).max(collective.input_shards(ranks, 0)) as u64;
    let own = if kind == Kind::ReduceScatter || root > 0 { 1 } else { own };
    let mut calls = RankBuilder::default();
    let size = Bytes(size / own);
    calls.run(Operation::Collective { kind, root, communicator: WORLD, size });
    let program = Program {
        name: "one".to_owned(),
        communicators: vec![(0..ranks as u32).collect()],
        regions: Vec::new(),
        ranks: vec![calls.finish(); ranks],
    };
    let job =
        runtime::ProgramJob::new(&Arc::new(program), gpus.iter().map(|gpu| *gpu as u32).collect());
    let planner = planner.map(|name| PlannerChoice::named(name, &planners()).unwrap());
    let protocol = CollectiveProtocol::Nccl;
    let collectives = CollectiveChoices { protocol, planner, ..CollectiveChoices::default() };
    let cluster = Cluster { collectives, ..cluster.clone() };
    let mut watch = Watch::new(std::slice::from_ref(&job), &cluster.system, 100);
    let outcome = cluster.replay(&[job], &mut watch, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(watch.kernel_count, ranks as u64);
    let last = watch.kernels.iter().map(|kernel| kernel.end).max();
    assert_eq!(last, Some(outcome.jobs.jobs[0].end));
    assert!(outcome.inside.iter().any(|(_, carried)| carried.data.0 >= size.0 / 64));
    outcome.jobs.jobs[0].end
}

#[test]
fn jobs_that_share_wires_slow_one_another_and_others_do_not() {
    let cluster = dgx1(Fidelity::Flow);
    let time = |jobs: &[Job]| {
        let outcome =
            played(&cluster, PlannerChoice::named("mpi", &planners()).unwrap(), "baseline", jobs)
                .unwrap();
        outcome.records.iter().map(|record| record.finish.0 - record.start.0).collect::<Vec<_>>()
    };
    let three = |name| job(name, "vgg-16", 3, 4);
    let alone = time(&[three("a")])[0];
    let both = time(&[three("a"), three("b")]);
    assert!(both[0] >= alone);
    let pair = time(&[job("c", "gmm", 1, 4)]);
    assert_eq!(time(&[job("c", "gmm", 1, 4), three("a")])[0], pair[0], "one GPU sends nothing");
}

#[test]
fn three_hundred_jobs_take_at_most_sixty_plans() {
    let options = MixOptions { count: 300, max_gpus: 5, seed: 7, ..MixOptions::default() };
    let mut jobs = generate(&options).unwrap();
    for job in &mut jobs {
        job.iterations = 1;
    }
    let mut made = Vec::new();
    for name in POLICIES {
        let outcome = played(&dgx1(Fidelity::Flow), packing(), name, &jobs).unwrap();
        assert_eq!(outcome.records.len(), 300);
        made.push(outcome.plans);
    }
    assert!(made.iter().all(|plans| *plans <= 60), "{made:?}");
}

#[test]
fn jobs_fill_one_server_after_another_of_a_fabric() {
    let text = "kind = \"fat-tree\"\nlevels = 2\nradix = 8\nleaves = 8\nmachine = \"dgx1-v100\"\nservers = 4";
    let cluster = cluster(text, Fidelity::Flow);
    let jobs: Vec<Job> =
        (0..5).map(|index| job(&format!("job-{index}"), "alexnet", 8, 2)).collect();
    let outcome = played(&cluster, packing(), "preserve", &jobs).unwrap();
    let servers: Vec<u32> = outcome.records.iter().map(|record| record.parts[0].server).collect();
    assert_eq!(servers, [0, 1, 2, 3, 0]);
    assert_eq!(outcome.records[4].start, outcome.records[0].finish);
    let times: Vec<u64> =
        outcome.records.iter().map(|record| record.finish.0 - record.start.0).collect();
    assert!(times.iter().all(|time| *time == times[0]), "each server is its own: {times:?}");
    assert_eq!(outcome.plans, 1);
}

/// Compares the run times of the same jobs as fluids and as flows, on servers where jobs meet on
/// links. The mixes are small, of workloads that move much.
#[test]
fn fluids_keep_to_flows() {
    let cases = [
        ("dgx1-v100", "nccl-classic", 4),
        ("dgx1-p100", "nccl-ring", 4),
        ("pcie-tree-4", "nccl-ring", 2),
        ("dgx1-v100", "packing", 4),
    ];
    let workloads = ["vgg-16", "alexnet", "caffenet", "jacobi"].map(str::to_owned).to_vec();
    let mut errors = Vec::new();
    for seed in 0..20 {
        let (name, planner, max_gpus) = cases[seed as usize % cases.len()];
        let workloads = workloads.clone();
        let options = MixOptions { count: 10, max_gpus, seed, workloads, ..MixOptions::default() };
        let mut jobs = generate(&options).unwrap();
        for (index, job) in (1..).zip(&mut jobs) {
            job.iterations = 20 + 7 * index;
        }
        let run = |fidelity| {
            let cluster = cluster(&format!("machine = \"{name}\""), fidelity);
            played(&cluster, PlannerChoice::named(planner, &planners()).unwrap(), "baseline", &jobs)
                .unwrap()
                .records
        };
        let time = |record: &JobRecord| (record.finish.0 - record.start.0) as f64;
        let (fluid, flow) = (run(Fidelity::Fluid), run(Fidelity::Flow));
        errors.extend(fluid.iter().zip(&flow).map(|(fluid, flow)| time(fluid) / time(flow) - 1.0));
    }
    errors.iter_mut().for_each(|error| *error = error.abs());
    errors.sort_by(f64::total_cmp);
    let (median, worst) = (errors[errors.len() / 2], errors[errors.len() - 1]);
    assert!(median < 0.05 && worst < 0.20, "median {median}, worst {worst}");
    // Some did meet.
    assert!(worst > 0.0005, "{worst}");
}

#[test]
fn a_fluid_alone_takes_as_long_as_its_collectives_are_timed() {
    for name in ["dgx1-v100", "dgx-a100", "4x-l40s-pcie"] {
        let text = format!("machine = \"{name}\"");
        let jobs = [job("a", "vgg-16", 4, 1_000_000)];
        let fluid = cluster(&text, Fidelity::Fluid);
        let fluid = played(&fluid, packing(), "baseline", &jobs).unwrap().records;
        let jobs = [job("a", "vgg-16", 4, 1)];
        let once = played(&cluster(&text, Fidelity::Flow), packing(), "baseline", &jobs).unwrap();
        assert_eq!(fluid[0].finish.0, 1_000_000 * once.records[0].finish.0, "{name}");
    }
}

#[test]
fn what_has_no_fluid_is_refused() {
    let cluster = dgx1(Fidelity::Fluid);
    let jobs = [job("a", "gmm", 2, 10)];
    let error =
        played(&cluster, PlannerChoice::named("mpi", &planners()).unwrap(), "greedy", &jobs)
            .unwrap_err();
    assert!(error.to_string().contains("`flow` or `packet`"), "{error}");
    let endless = [job("a", "gmm", 2, u64::MAX)];
    let error = played(&cluster, packing(), "greedy", &endless).unwrap_err();
    assert!(error.to_string().contains("the end of job `a` lies more than 213 days"), "{error}");
}

#[test]
fn jobs_look_for_gpus_where_they_are_told_to() {
    let text = "kind = \"fat-tree\"\nlevels = 2\nradix = 8\nleaves = 8\nmachine = \"dgx1-v100\"\nservers = 3";
    let cluster = cluster(text, Fidelity::Fluid);
    let servers = |choice, sizes: &[u32]| {
        let jobs = (0..).zip(sizes).map(|(index, size)| job(&format!("{index}"), "gmm", *size, 90));
        let jobs: Vec<Job> = jobs.collect();
        let outcome = played_in(choice, &cluster, packing(), "baseline", &jobs).unwrap();
        outcome.records.iter().map(|record| record.parts[0].server).collect::<Vec<u32>>()
    };
    assert_eq!(servers(ServerChoice::FirstFit, &[4, 6, 2, 3]), [0, 1, 0, 2]);
    assert_eq!(servers(ServerChoice::Pack, &[4, 6, 2, 3]), [0, 1, 1, 0]);
    assert_eq!(servers(ServerChoice::Spread, &[4, 6, 2, 3]), [0, 1, 2, 2]);
}

#[test]
fn packets_play_the_same_jobs() {
    let jobs = [job("a", "googlenet", 3, 1), job("b", "gmm", 5, 1), job("c", "jacobi", 4, 2)];
    let end = |fidelity| {
        let outcome = played(&dgx1(fidelity), packing(), "greedy", &jobs).unwrap();
        outcome.records.iter().map(|record| record.finish).max().unwrap().as_seconds()
    };
    let (flow, packet) = (end(Fidelity::Flow), end(Fidelity::Packet));
    assert!((flow / packet - 1.0).abs() < 0.05, "{flow} s by flows, {packet} s by packets");
}

#[test]
fn what_cannot_be_played_is_refused() {
    let cluster = dgx1(Fidelity::Flow);
    let error = |jobs: &[Job]| played(&cluster, packing(), "greedy", jobs).unwrap_err().to_string();
    let endless = error(&[job("a", "gmm", 2, u64::from(u32::MAX) + 1)]);
    assert!(endless.contains("`a` has 4294967296 iterations"), "{endless}");
    assert!(error(&[job("a", "gmm", 9, 1)]).contains("asks for 9 GPUs"));
    assert!(error(&[job("a", "gmm", 1, 1), job("a", "gmm", 1, 1)]).contains("two jobs"));
    let unknown = PlannerChoice::named("packng", &planners()).unwrap_err().to_string();
    assert!(unknown.contains("`packing`"), "{unknown}");
    for name in PlannerChoice::names(&planners()) {
        assert_eq!(PlannerChoice::named(name, &planners()).unwrap().name(), name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    /// No GPU has two jobs at once, and every job runs from its start to its end without a pause.
    /// The same jobs give the same records.
    #[test]
    fn any_mix_ends_and_ends_alike(seed: u64, policy in prop::sample::select(POLICIES.to_vec()), planner in prop::sample::select(vec!["packing", "nccl-ring", "mpi"])) {
        let options = MixOptions { count: 25, max_gpus: 5, seed, ..MixOptions::default() };
        let mut jobs = generate(&options).unwrap();
        for (index, job) in jobs.iter_mut().enumerate() {
            job.iterations = 1 + index as u64 % 3;
            job.arrival = Picoseconds(job.arrival.0 / 1_000);
        }
        let cluster = dgx1(Fidelity::Flow);
        let planner = PlannerChoice::named(planner, &planners()).unwrap();
        let outcome = played(&cluster, planner, policy, &jobs).unwrap();
        prop_assert_eq!(&outcome, &played(&cluster, planner, policy, &jobs).unwrap());
        for (index, one) in outcome.records.iter().enumerate() {
            let workload = Workload::find(&jobs[one.job].workload).unwrap();
            let least = workload.compute_per_iteration().0 * jobs[one.job].iterations;
            prop_assert!(one.start >= jobs[one.job].arrival);
            prop_assert!(one.finish.0 - one.start.0 >= least);
            for other in &outcome.records[index + 1..] {
                let together = one.start < other.finish && other.start < one.finish;
                let both = [one, other].map(|record| record.parts[0].chosen.gpus());
                prop_assert!(!together || both[0].intersection(both[1]).is_empty());
            }
        }
    }
}
