//! A live cluster gives each job the servers and GPUs that the queue of a day gives it.

use std::num::NonZeroU64;

use linkwright::allocation::cluster::{ClusterAllocator, ClusterRequest, ServerPart, Servers};
use linkwright::allocation::{
    BandwidthModel, Effort, POLICIES, Pattern, Policy, PreparedMachine, Selection,
};
use linkwright::diagnostic::Named;
use linkwright::engine::Random;
use linkwright::simulation::cluster::Cluster;
use linkwright::simulation::played::{IterationSettings, Iterations};
use linkwright::simulation::{Job, JobRecord, QueueDiscipline, ServerChoice};
use linkwright::system::BandwidthProfile;
use linkwright::units::Picoseconds;

use crate::played::{job, played_beside};
use crate::whole_servers::{ring, servers, unlike};

fn live(cluster: &Cluster, policy: &'static dyn Policy, choice: ServerChoice) -> ClusterAllocator {
    let prepare = |server| {
        PreparedMachine::new(server, BandwidthProfile::Mapa, BandwidthModel::Sound).unwrap()
    };
    let system = &*cluster.system;
    let machines = system.kinds().iter().map(|kind| prepare(kind.server())).collect();
    ClusterAllocator::new(Servers { system, machines, policy, choice })
}

/// Draws jobs that arrive within an hour; some are exclusive, some want a number of servers.
fn mix(seed: u64, most: u64) -> Vec<Job> {
    let random = &mut Random::new(seed);
    let mut below = |most: u64| random.below(NonZeroU64::new(most).unwrap());
    let one = |it: u64| {
        let gpus = 1 + below(most) as u32;
        let wanted = (gpus.div_ceil(3)..=gpus.min(4)).last().filter(|_| below(4) == 0);
        let job = job(&it.to_string(), "gmm", gpus, 1 + below(3_000));
        Job {
            pattern: if below(2) == 0 {
                job.pattern
            } else {
                linkwright::allocation::PatternShape::Chain
            },
            servers_wanted: wanted,
            exclusive: below(5) == 0,
            sensitive: below(2) == 0,
            arrival: Picoseconds(below(3_000) * Picoseconds::SECOND.0),
            ..job
        }
    };
    let mut jobs: Vec<Job> = (0..16).map(one).collect();
    jobs.sort_by_key(|job| job.arrival);
    jobs
}

/// Asks for a job's GPUs as `linkwright allocate` does.
fn ask(allocator: &mut ClusterAllocator, job: &Job) -> Option<Vec<(usize, Selection)>> {
    let pattern = Pattern::new(job.pattern, job.gpus as usize).unwrap();
    let servers = job.servers_wanted.map(|wanted| wanted as usize);
    let (sensitive, exclusive) = (job.sensitive, job.exclusive);
    let request = ClusterRequest { pattern: &pattern, sensitive, servers, exclusive };
    allocator.allocate(&job.name, &request, &mut Effort::new()).unwrap()
}

/// Replays a day's starts and ends on a live cluster, in their order: those that end at a moment go first. Counts the jobs
/// that were seen to wait, and those on several servers.
fn check(mut allocator: ClusterAllocator, jobs: &[Job], records: &[JobRecord]) -> (usize, usize) {
    let mut waited = 0;
    let mut starts: Vec<&JobRecord> = records.iter().collect();
    starts.sort_by_key(|record| (record.start, record.job));
    let mut ends = starts.clone();
    ends.sort_by_key(|record| record.finish);
    let mut ends = ends.into_iter().peekable();
    let mut last = None;
    for record in starts {
        let job = &jobs[record.job];
        while let Some(end) = ends.next_if(|end| end.finish < record.start) {
            allocator.release(&jobs[end.job].name).unwrap();
        }
        if last != Some(record.start) && job.arrival < record.start {
            // The first of the queue has waited as long as it had to.
            assert_eq!(ask(&mut allocator.clone(), job), None, "{job:?}");
            waited += 1;
        }
        last = Some(record.start);
        while let Some(end) = ends.next_if(|end| end.finish == record.start) {
            allocator.release(&jobs[end.job].name).unwrap();
        }
        let chosen = ask(&mut allocator, job).unwrap_or_else(|| panic!("{job:?} waits"));
        let parts = |(server, it): &(usize, Selection)| (*server, it.chosen.placement.clone());
        let here: Vec<ServerPart> = chosen.iter().map(parts).collect();
        let there = record.parts.iter();
        let there: Vec<ServerPart> =
            there.map(|it| (it.server as usize, it.chosen.placement.clone())).collect();
        assert_eq!(here, there, "{job:?}");
    }
    (waited, records.iter().filter(|record| record.parts.len() > 1).count())
}

#[test]
fn a_live_cluster_and_a_day_agree_on_servers_and_gpus() {
    let (mut waited, mut split) = (0, 0);
    for (cluster, most) in [(servers(), 10), (unlike(), 12)] {
        for (number, policy) in POLICIES.iter().enumerate() {
            for (at, (_, choice)) in ServerChoice::NAMED.iter().enumerate() {
                let seed = (number * 4 + at) as u64;
                let unhealthy = if seed.is_multiple_of(2) { &[][..] } else { &[(1, 2)] };
                let jobs = mix(seed, most);
                let planned = (ring(), IterationSettings::default());
                let choices = (*choice, QueueDiscipline::Fifo);
                let iterations = Iterations::Unlike;
                let played = played_beside(
                    unhealthy,
                    iterations,
                    choices,
                    &cluster,
                    planned,
                    policy.name(),
                    &jobs,
                );
                let mut allocator = live(&cluster, *policy, *choice);
                for (server, gpu) in unhealthy {
                    let first = allocator.first_gpus()[*server];
                    allocator.mark_unhealthy(first + gpu).unwrap();
                }
                let seen = check(allocator, &jobs, &played.unwrap().records);
                (waited, split) = (waited + seen.0, split + seen.1);
            }
        }
    }
    assert!(waited > 50 && split > 50, "{waited} {split}");
}
