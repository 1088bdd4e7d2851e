//! Tests how jobs take whole servers, ask for a number of them, or share theirs with nobody.

use std::collections::BTreeSet;

use linkwright::collectives::plan::planners;
use linkwright::engine::Random;
use linkwright::scenario::{Files, Given, Scenario};
use linkwright::simulation::cluster::{Cluster, Fidelity};
use linkwright::simulation::played::{IterationSettings, PlannerChoice};
use linkwright::simulation::{Job, JobRecord, QueueDiscipline, ServerChoice};
use linkwright::units::Picoseconds;

use crate::played::{cluster, job, played_in, played_with};

/// Four servers of four GPUs on leaves of two servers each.
pub fn servers() -> Cluster {
    let text = "kind = \"fat-tree\"\nlevels = 2\nradix = 4\nleaves = 4\nmachine = \"pcie-tree-4\"\nservers = 4\n";
    cluster(text, Fidelity::Fluid)
}

pub fn ring() -> PlannerChoice {
    PlannerChoice::named("nccl-ring", &planners()).unwrap()
}

fn places(choice: ServerChoice, jobs: &[Job]) -> Vec<Vec<(u32, usize)>> {
    let played = played_in(choice, &servers(), ring(), "preserve", jobs).unwrap();
    let of = |record: &JobRecord| -> Vec<(u32, usize)> {
        record.parts.iter().map(|part| (part.server, part.chosen.placement.len())).collect()
    };
    played.records.iter().map(of).collect()
}

#[test]
fn a_job_of_servers_takes_whole_ones_of_one_leaf() {
    let jobs =
        [("a", 2), ("b", 8), ("c", 1), ("d", 4)].map(|(name, gpus)| job(name, "gmm", gpus, 9));
    let [a, b, c, d] = places(ServerChoice::Whole, &jobs).try_into().unwrap();
    // The first server is begun, so that the pair is on the other leaf, and one GPU goes where one is begun.
    assert_eq!((a, b, c, d), (vec![(0, 2)], vec![(2, 4), (3, 4)], vec![(0, 1)], vec![(1, 4)]));
    let split = places(ServerChoice::Pack, &jobs);
    assert_eq!(split[1], [(1, 4), (2, 4)]);
}

#[test]
fn a_job_has_the_servers_that_it_wants_and_shares_none_where_it_is_exclusive() {
    let with = |job: Job, servers: u32, exclusive: bool| Job {
        servers_wanted: Some(servers),
        exclusive,
        ..job
    };
    let jobs = [
        with(job("a", "gmm", 3, 9), 2, true),
        job("b", "gmm", 2, 9),
        with(job("c", "gmm", 2, 9), 2, false),
        job("d", "gmm", 3, 1),
    ];
    let places = places(ServerChoice::FirstFit, &jobs);
    assert_eq!(places[0], [(0, 2), (1, 1)]);
    assert_eq!(places[1], [(2, 2)]);
    assert_eq!(places[2], [(2, 1), (3, 1)]);
    // It would fit beside the first two, which are alone.
    assert_eq!(places[3], [(3, 3)]);
    let outcome = played_in(
        ServerChoice::FirstFit,
        &servers(),
        ring(),
        "preserve",
        &[with(job("a", "gmm", 9, 1), 2, false)],
    );
    let error = outcome.unwrap_err().to_string();
    assert!(
        error.starts_with("job `a` asks for 9 GPUs on 2 servers, and the 4 servers have at most 4"),
        "{error}"
    );
    assert!(error.ends_with("; ask for 3 to 4 servers, or for fewer GPUs"), "{error}");
}

/// A server of eight GPUs and three of four, on leaves.
pub fn unlike() -> Cluster {
    let text = "[[system.server]]\nkind = \"dgx1-v100\"\n[[system.server]]\nkind = \"pcie-tree-4\"\ncount = 3\n\
                [system.network]\nkind = \"fat-tree\"\nlevels = 2\nradix = 8\nleaves = 4\n[jobs]\ngenerate = { count = 1 }\n";
    let scenario = Scenario::read(&Given { text: text.to_owned(), ..Given::default() }).unwrap();
    let built = scenario.build(&Files::new()).unwrap();
    Cluster { fidelity: Fidelity::Fluid, ..built.cluster }
}

/// A job that would fit on two servers of unlike sizes, but not in even shares, takes more of them.
#[test]
fn servers_that_are_unlike_give_even_shares_where_these_have_room() {
    let unlike = unlike();
    let of = |gpus| {
        let jobs = [job("a", "gmm", gpus, 1)];
        let played = played_in(ServerChoice::Whole, &unlike, ring(), "preserve", &jobs);
        played.map(|played| {
            played.records[0]
                .parts
                .iter()
                .map(|part| part.chosen.placement.len())
                .collect::<Vec<_>>()
        })
    };
    assert_eq!(of(8).unwrap(), [8]);
    assert_eq!(of(9).unwrap(), [3, 3, 3]);
    assert_eq!(of(16).unwrap(), [4, 4, 4, 4]);
    assert!(of(17).unwrap_err().to_string().starts_with("job `a` asks for 17 GPUs on 5 servers"));
}

/// At no moment has a server of an exclusive job another holder, and shares are even; all jobs run, under both disciplines.
#[test]
fn no_exclusive_server_ever_has_two_jobs() {
    for seed in 0..40 {
        let random = &mut Random::new(seed);
        let mut below = |most: u64| random.below(std::num::NonZeroU64::new(most).unwrap());
        let jobs: Vec<Job> = (0..25)
            .map(|it| {
                let gpus = 1 + below(10) as u32;
                let wanted = (gpus.div_ceil(4)..=gpus.min(4)).last().filter(|_| below(3) == 0);
                let exclusive = below(4) == 0;
                let arrival = Picoseconds(below(3_000) * Picoseconds::SECOND.0);
                let job = job(&format!("{it}"), "gmm", gpus, 1 + below(300));
                Job { servers_wanted: wanted, exclusive, arrival, ..job }
            })
            .collect();
        for discipline in [QueueDiscipline::Fifo, QueueDiscipline::Backfill] {
            for choice in [ServerChoice::Whole, ServerChoice::FirstFit] {
                let (choices, planned) =
                    ((choice, discipline), (ring(), IterationSettings::default()));
                let played = played_with(choices, &servers(), planned, "baseline", &jobs);
                let records = played.unwrap().records;
                assert_eq!(records.len(), jobs.len());
                for record in &records {
                    check(record, &records, &jobs, choice);
                }
            }
        }
    }
}

fn check(record: &JobRecord, records: &[JobRecord], jobs: &[Job], choice: ServerChoice) {
    let job = &jobs[record.job];
    let is_whole = choice == ServerChoice::Whole;
    let own: BTreeSet<u32> = record.servers().collect();
    let others = records.iter().filter(|other| {
        other.job != record.job && other.start < record.finish && record.start < other.finish
    });
    if job.exclusive || is_whole && job.gpus >= 4 {
        assert!(others.clone().all(|other| other.servers().all(|server| !own.contains(&server))));
    }
    let wanted = job.servers_wanted.or(is_whole.then(|| job.gpus.div_ceil(4)));
    if let Some(wanted) = wanted {
        assert_eq!(own.len(), wanted as usize, "{job:?}");
        let counts = || record.parts.iter().map(|part| part.chosen.placement.len());
        assert!(counts().max().unwrap() - counts().min().unwrap() <= 1);
    }
}
