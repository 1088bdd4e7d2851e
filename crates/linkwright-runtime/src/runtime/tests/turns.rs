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

pub(super) fn played(jobs: &[ProgramJob], gpus: u32) -> Outcome {
    let mut network = TestNetwork::new();
    let runtime = Runtime::new(&mut network, gpus, jobs, FREE, &no_collectives).unwrap();
    runtime.run(&mut |_| ControlFlow::Continue(())).unwrap()
}

#[test]
fn a_job_starts_when_its_gpus_are_free_and_takes_as_long_as_alone() {
    let (pair, lone) = (ring(2), ring(1));
    let job = |program, mapping: &[u32], start| {
        let start = Picoseconds(start);
        ProgramJob { start, ..ProgramJob::new(program, mapping.to_vec()) }
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

#[test]
fn jobs_that_wait_for_ever_for_gpus_are_named() {
    let stuck = program(vec![rank(|rank| _ = rank.run(receive(1, 7, 64))), RankProgram::default()]);
    let job = |name: &str, program, mapping: &[u32], start| ProgramJob {
        name: name.to_owned(),
        start: Picoseconds(start),
        ..ProgramJob::new(program, mapping.to_vec())
    };
    let jobs = [
        job("first", &stuck, &[0, 1], 0),
        job("second", &ring(2), &[1, 2], 5),
        job("third", &ring(1), &[2], 7),
        job("beside", &ring(1), &[3], 0),
    ];
    let mut network = TestNetwork::new();
    let runtime = Runtime::new(&mut network, 4, &jobs, FREE, &no_collectives).unwrap();
    let error = runtime.run(&mut |_| ControlFlow::Continue(())).unwrap_err();
    assert_eq!(
        error.to_string(),
        "at 1 ns nothing is left to happen, but 1 rank waits for ever, and 2 jobs wait for GPUs: \
         job `second` for GPU 1 behind job `first`, job `third` for GPU 2 behind job `second`; \
         receives without a message: 1: job `first` rank 0 receives 64 B from rank 1 with tag 7 \
         (call 0) since 0 ps; give every send a receive of the same communicator and tag"
    );
}

proptest! {
    /// At each GPU jobs run one at a time in the order of their arrival, and none waits where all
    /// of its GPUs are free.
    #[test]
    fn no_gpu_has_two_jobs(
        wanted in prop::collection::vec((0_u64..20_000, prop::sample::subsequence((0..6_u32).collect::<Vec<_>>(), 1..5)), 1..14),
    ) {
        let programs: Vec<Arc<Program>> = (1..6).map(ring).collect();
        let jobs: Vec<ProgramJob> = wanted
            .iter()
            .map(|(start, mapping)| ProgramJob {
                start: Picoseconds(*start),
                ..ProgramJob::new(&programs[mapping.len() - 1], mapping.clone())
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
