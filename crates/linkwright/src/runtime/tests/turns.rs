//! Jobs that want the same GPUs have them one after the other.

use proptest::prelude::*;

use super::*;

/// Each rank computes and exchanges with the next.
pub(super) fn ring(ranks: u32) -> Arc<Program> {
    let of_rank = |me: u32| {
        rank(|rank| {
            rank.run(compute(1_000));
            if ranks > 1 {
                rank.start(send((me + 1) % ranks, 0, 500));
                rank.run(receive((me + ranks - 1) % ranks, 0, 500));
            }
        })
    };
    program((0..ranks).map(of_rank).collect())
}

pub(super) fn played(jobs: &[Job], gpus: u32) -> Outcome {
    let mut network = TestNetwork::new();
    let runtime = Runtime::new(&mut network, gpus, jobs, FREE, &no_collectives).unwrap();
    runtime.run(&mut |_| ControlFlow::Continue(())).unwrap()
}

#[test]
fn a_job_starts_when_its_gpus_are_free_and_takes_as_long_as_alone() {
    let (pair, lone) = (ring(2), ring(1));
    let job = |program, mapping: &[u32], start| {
        let start = Picoseconds(start);
        Job { start, ..Job::new(program, mapping.to_vec()) }
    };
    let alone = played(&[job(&pair, &[0, 1], 0)], 3).jobs[0].time().0;
    let jobs = [
        job(&pair, &[0, 1], 5),
        job(&pair, &[1, 2], 7),
        // It would fit between the two on GPU 2, and does not pass the one before it.
        job(&lone, &[2], 9),
        job(&pair, &[0, 1], 10 * alone),
    ];
    let outcome = played(&jobs, 3);
    let times: Vec<_> =
        outcome.jobs.iter().map(|job| (job.arrival.0, job.start.0, job.end.0)).collect();
    let second = 5 + alone;
    let third = second + alone;
    assert_eq!(times[..3], [(5, 5, second), (7, second, third), (9, third, third + 1_000)]);
    assert_eq!(times[3], (10 * alone, 10 * alone, 11 * alone));
    for rank in outcome.jobs.iter().take(2).flat_map(|job| &job.ranks) {
        assert_eq!(rank.computing.0 + rank.exposed_communication.0, alone, "from its own start");
    }
}

proptest! {
    /// At each GPU jobs run one at a time in the order of their arrival, and none waits where all
    /// of its GPUs are free.
    #[test]
    fn no_gpu_has_two_jobs(
        wanted in prop::collection::vec((0_u64..20_000, prop::sample::subsequence((0..6_u32).collect::<Vec<_>>(), 1..5)), 1..14),
    ) {
        let programs: Vec<Arc<Program>> = (1..6).map(ring).collect();
        let jobs: Vec<Job> = wanted
            .iter()
            .map(|(start, mapping)| Job {
                start: Picoseconds(*start),
                ..Job::new(&programs[mapping.len() - 1], mapping.clone())
            })
            .collect();
        let outcome = played(&jobs, 6);
        let mut order: Vec<usize> = (0..jobs.len()).collect();
        order.sort_by_key(|job| jobs[*job].start);
        let mut free = [0; 6];
        for index in order {
            let ran = &outcome.jobs[index];
            let ready = jobs[index].mapping.iter().map(|gpu| free[*gpu as usize]).max().unwrap();
            prop_assert_eq!(ran.start.0, jobs[index].start.0.max(ready));
            for gpu in &jobs[index].mapping {
                free[*gpu as usize] = ran.end.0;
            }
        }
    }
}
