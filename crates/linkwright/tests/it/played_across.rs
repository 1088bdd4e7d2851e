//! Jobs that are played on GPUs of several servers.

use std::collections::BTreeSet;

use linkwright::collectives::Collective::AllReduce;
use linkwright::collectives::plan::{Candidates, Question, planners};
use linkwright::engine::Random;
use linkwright::simulation::cluster::{Cluster, Fidelity};
use linkwright::simulation::played::{IterationSettings, PlannerChoice, PlayedOutcome};
use linkwright::simulation::{Job, JobRecord, PlannedBy, ServerChoice, SimulationError, tables};
use linkwright::table::Column;
use linkwright::training::Workload;
use linkwright::units::Picoseconds;

use crate::played::{cluster, job, played_in};

const FAT_TREE: &str =
    "kind = \"fat-tree\"\nlevels = 2\nradix = 8\nleaves = 8\nmachine = \"dgx1-v100\"\n";

fn servers(count: u32, fidelity: Fidelity) -> Cluster {
    cluster(&format!("{FAT_TREE}servers = {count}"), fidelity)
}

/// Servers of four GPUs and one interface, which are planned for in less time.
fn trees(count: u32, fidelity: Fidelity) -> Cluster {
    let machine = FAT_TREE.replace("dgx1-v100", "pcie-tree-4");
    cluster(&format!("{machine}servers = {count}"), fidelity)
}

fn ring() -> PlannerChoice {
    PlannerChoice::named("nccl-ring", &planners()).unwrap()
}

fn first_fit(cluster: &Cluster, jobs: &[Job]) -> Result<PlayedOutcome, SimulationError> {
    played_in(ServerChoice::FirstFit, cluster, ring(), "preserve", jobs)
}

fn held(record: &JobRecord) -> Vec<(u32, usize)> {
    record.parts.iter().map(|part| (part.server, part.chosen.placement.len())).collect()
}

fn time(record: &JobRecord) -> u64 {
    record.finish.0 - record.start.0
}

#[test]
fn a_job_larger_than_a_server_gets_gpus_of_several() {
    let cluster = servers(4, Fidelity::Fluid);
    let jobs = [("a", 3), ("b", 12), ("c", 18)].map(|(name, gpus)| job(name, "gmm", gpus, 90));
    let of = |choice| {
        let outcome = played_in(choice, &cluster, ring(), "baseline", &jobs).unwrap();
        outcome.records.iter().map(held).collect::<Vec<_>>()
    };
    let a = vec![(0, 3)];
    let first_fit = vec![(0, 5), (1, 7)];
    assert_eq!(of(ServerChoice::FirstFit), [a, first_fit, vec![(0, 3), (1, 1), (2, 8), (3, 6)]]);
    assert_eq!(of(ServerChoice::Pack)[1], [(0, 4), (1, 8)]);
    assert_eq!(of(ServerChoice::Spread)[1], [(1, 4), (2, 4), (3, 4)]);
}

/// Under both fidelities that know no packets, a job alone takes what its collectives are timed at.
#[test]
fn it_takes_as_long_as_its_collectives_are_timed() {
    let vgg = Workload::find("vgg-16").unwrap();
    for planner in ["nccl-ring", "packing"] {
        let planner = PlannerChoice::named(planner, &planners()).unwrap();
        let PlannerChoice::Plan(PlannedBy::Planner(algorithm)) = planner else { unreachable!() };
        let of = |fidelity| {
            let (choice, jobs) = (ServerChoice::FirstFit, [job("a", "vgg-16", 6, 1)]);
            let played = played_in(choice, &trees(2, fidelity), planner, "preserve", &jobs);
            played.unwrap().records.remove(0)
        };
        let (fluid, flow) = (of(Fidelity::Fluid), of(Fidelity::Flow));
        let gpus: Vec<usize> = flow.gpus(&[0, 4]).into_iter().map(|gpu| gpu as usize).collect();
        let system = trees(2, Fidelity::Flow).system;
        let found = Candidates::new(algorithm, &Question::new(&system, &gpus, AllReduce)).unwrap();
        let timing = found.fastest(vgg.bytes_per_iteration()).unwrap().1;
        let iteration = vgg.compute_per_iteration().0 + timing.time.0;
        assert_eq!((time(&fluid), time(&flow)), (iteration, iteration), "{algorithm:?}");
    }
}

#[test]
fn equal_servers_share_a_plan_and_jobs_wait_for_gpus_of_several() {
    for fidelity in [Fidelity::Fluid, Fidelity::Flow] {
        let jobs: Vec<Job> = (0..3).map(|it| job(&format!("{it}"), "vgg-16", 8, 2)).collect();
        let packing = PlannerChoice::named("packing", &planners()).unwrap();
        let (choice, cluster) = (ServerChoice::FirstFit, trees(4, fidelity));
        let PlayedOutcome { records, plans, .. } =
            played_in(choice, &cluster, packing, "preserve", &jobs).unwrap();
        assert_eq!(plans, 1);
        assert_eq!(held(&records[0]), [(0, 4), (1, 4)]);
        assert_eq!(held(&records[1]), [(2, 4), (3, 4)]);
        assert_eq!(time(&records[1]), time(&records[0]), "on links of their own");
        assert_eq!(records[2].start, records[0].finish);
    }
}

/// An H100 server has an interface beside each GPU, so that a set of its GPUs is told by how many they are.
#[test]
fn a_day_plans_a_pattern_of_gpus_over_servers_once() {
    let text = "kind = \"single-switch\"\nmachine = \"hgx-h100\"\nservers = 6";
    let wanted = [5, 3, 7, 9, 2, 11, 6, 4, 10, 3];
    let jobs: Vec<Job> = (0..40)
        .map(|at| job(&format!("{at}"), "gmm", wanted[at % wanted.len()], 20 + 37 * at as u64 % 90))
        .collect();
    let packing = PlannerChoice::named("packing", &planners()).unwrap();
    let (choice, cluster) = (ServerChoice::FirstFit, cluster(text, Fidelity::Fluid));
    let PlayedOutcome { records, plans, .. } =
        played_in(choice, &cluster, packing, "preserve", &jobs).unwrap();
    let pattern = |record: &JobRecord| {
        let mut counts: Vec<usize> = held(record).into_iter().map(|(_, count)| count).collect();
        counts.sort_unstable();
        counts
    };
    let patterns: BTreeSet<Vec<usize>> = records.iter().map(pattern).collect();
    assert_eq!(plans, patterns.len());
    assert!(patterns.len() < 36, "{} patterns of 40 jobs", patterns.len());
}

/// In the server where both have two GPUs, which has one interface.
#[test]
fn jobs_that_share_an_interface_slow_one_another() {
    let of = |names: &[&str], fidelity| {
        let jobs: Vec<Job> = names.iter().map(|name| job(name, "googlenet", 6, 2)).collect();
        first_fit(&trees(3, fidelity), &jobs).unwrap().records
    };
    let flow = of(&["a"], Fidelity::Flow);
    for (fidelity, off) in
        [(Fidelity::Fluid, 0.001), (Fidelity::Flow, 0.0), (Fidelity::Packet, 0.1)]
    {
        let (one, both) = (of(&["a"], fidelity), of(&["a", "b"], fidelity));
        assert_eq!(held(&both[1]), [(1, 2), (2, 4)]);
        for record in &both {
            let slower = time(record) as f64 / time(&one[0]) as f64;
            assert!(slower > 1.2, "{fidelity:?}: {slower}");
        }
        let found = time(&one[0]) as f64 / time(&flow[0]) as f64 - 1.0;
        assert!(found.abs() <= off, "{fidelity:?} alone is off from flows by {found}");
    }
}

/// One has a GPU in each server and one ring. The other has two in one of them and, for that, two
/// rings side by side. Over every interface they are one flow and two.
#[test]
fn rings_side_by_side_are_flows_of_their_own_in_a_fluid() {
    let of = |fidelity| {
        let jobs = [("a", 5), ("b", 6)].map(|(name, gpus)| job(name, "vgg-16", gpus, 3));
        let cluster = trees(5, fidelity);
        let played = played_in(ServerChoice::Spread, &cluster, ring(), "preserve", &jobs);
        played.unwrap().records
    };
    let (fluid, flow) = (of(Fidelity::Fluid), of(Fidelity::Flow));
    assert_eq!(held(&flow[1]), [(0, 2), (1, 1), (2, 1), (3, 1), (4, 1)]);
    for (fluid, flow) in fluid.iter().zip(&flow) {
        let off = time(fluid) as f64 / time(flow) as f64 - 1.0;
        assert!(off.abs() < 0.09, "{off}");
    }
}

#[test]
fn small_jobs_are_filled_in_beside_one_that_waits_for_several_servers() {
    // Of 16 GPUs, 10 are taken for long; the job of 12 waits, and small ones that end sooner do not delay it.
    let jobs = [("long", 10, 4_000), ("wide", 12, 100), ("late", 6, 9_000), ("short", 6, 1_000)];
    let jobs = jobs.map(|(name, gpus, iterations)| job(name, "gmm", gpus, iterations));
    let cluster = servers(2, Fidelity::Fluid);
    let with = |discipline| {
        crate::played::played_with(
            (ServerChoice::FirstFit, discipline),
            &cluster,
            (ring(), IterationSettings::default()),
            "preserve",
            &jobs,
        )
    };
    let records = with(linkwright::simulation::QueueDiscipline::Backfill).unwrap().records;
    assert_eq!(
        records[3].start,
        Picoseconds(0),
        "the short one ends before the wide one can start"
    );
    assert_eq!(records[1].start, records[0].finish);
    assert!(records[2].start > records[1].start, "the late one would be in the way");
}

/// As Blink's histogram has it, 9 = 5 + 4 of the servers, by parts.
#[test]
fn what_jobs_of_several_servers_held_is_a_table() {
    let jobs =
        [("a", 3), ("b", 9), ("c", 9), ("d", 2)].map(|(name, gpus)| job(name, "gmm", gpus, 9));
    let outcome = first_fit(&servers(3, Fidelity::Fluid), &jobs).unwrap();
    assert_eq!(held(&outcome.records[1]), [(0, 5), (1, 4)]);
    assert_eq!(held(&outcome.records[2]), [(1, 4), (2, 5)]);
    let table = tables::gpus_per_server(&outcome.records);
    let Some(Column::UInt64(parts)) = table.column("parts").map(|it| it.values.clone()) else {
        panic!("{table:?}")
    };
    assert_eq!(parts, [0, 0, 0, 2, 2]);
    assert_eq!(tables::gpus_per_server(&outcome.records[..1]).row_count(), 0);
    let first_gpus = [0, 8, 16];
    let table = tables::jobs(&jobs, &outcome.records, &first_gpus);
    assert!(table.column("servers").is_some());
    let gpus = outcome.records[1].gpus(&first_gpus);
    assert!(gpus.len() == 9 && gpus.is_sorted() && gpus[4] < 8 && gpus[5] >= 8, "{gpus:?}");
    assert_eq!(outcome.records[1].effective_bandwidth(), None);
}

#[test]
fn a_job_larger_than_the_system_is_refused() {
    let error = first_fit(&servers(2, Fidelity::Flow), &[job("a", "gmm", 17, 1)]).unwrap_err();
    assert!(error.to_string().contains("asks for 17 GPUs; ask for at most 16"), "{error}");
}

/// A class's plan is moved onto other GPUs of other servers. Flows play it there, and fluids take
/// its class's time.
#[test]
fn a_plan_that_is_moved_takes_as_long_as_where_it_was_made() {
    let mut random = Random::new(11);
    let mut second = |most: f64| Picoseconds((random.uniform() * most * 1e12) as u64);
    // Single GPUs come and go, so that those of several find others free.
    let alone = (0..60).map(|index| {
        let mut job = job(&format!("alone-{index}"), "gmm", 1, 1);
        (job.arrival, job.iterations) = (second(40.0), 10 + second(60.0).0 / 1_000_000_000_000);
        job
    });
    let alone: Vec<Job> = alone.collect();
    for (cluster, planner, least) in [
        (servers as fn(u32, Fidelity) -> Cluster, ring(), 9),
        (trees, PlannerChoice::named("packing", &planners()).unwrap(), 5),
    ] {
        let several = (0..40).map(|index| {
            let mut job = job(&format!("several-{index}"), "googlenet", least + index % 2, 1);
            job.arrival = Picoseconds(u64::from(index) * 1_000_000_000_000);
            job
        });
        let mut jobs: Vec<Job> = alone.iter().cloned().chain(several).collect();
        jobs.sort_by_key(|job| job.arrival);
        let of = |fidelity| {
            let cluster = cluster(3, fidelity);
            played_in(ServerChoice::Spread, &cluster, planner, "preserve", &jobs).unwrap()
        };
        let (fluid, flow) = (of(Fidelity::Fluid), of(Fidelity::Flow));
        assert_eq!(fluid.plans, flow.plans);
        let several: Vec<usize> =
            (0..jobs.len()).filter(|index| flow.records[*index].parts.len() > 1).collect();
        assert!(flow.plans < several.len(), "{} plans of {}", flow.plans, several.len());
        let is_alone = |index: usize| {
            let JobRecord { start, finish, .. } = &flow.records[index];
            let mut others = several.iter().filter(|other| **other != index);
            others
                .all(|it| flow.records[*it].finish <= *start || flow.records[*it].start >= *finish)
        };
        for index in several.iter().copied().filter(|index| is_alone(*index)) {
            let [fluid, flow] = [&fluid, &flow].map(|outcome| &outcome.records[index]);
            assert_eq!((held(fluid), time(fluid)), (held(flow), time(flow)), "{planner:?}");
        }
    }
}
