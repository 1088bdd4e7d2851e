//! Tests jobs that come while others run, and the state that they leave for the next.

use proptest::prelude::*;

use super::turns::ring;
use super::*;
use crate::engine::{Engine, Model, Scheduler};
use crate::runtime::{JobOutcome, RuntimeEvent};

/// Admits the next job of a list whenever one ends, and whenever it is told.
struct Queue<'a> {
    runtime: Runtime<'a, TestNetwork, fn(&CollectiveCall) -> RankProgram>,
    waiting: std::vec::IntoIter<ProgramJob>,
    done: Vec<JobOutcome>,
    admitted: Vec<u64>,
}

type Event = RuntimeEvent<<TestNetwork as Model>::Event>;

impl Queue<'_> {
    fn admit(&mut self, scheduler: &mut impl Scheduler<Event>) -> Result<(), RuntimeError> {
        let Some(job) = self.waiting.next() else { return Ok(()) };
        self.admitted.push(scheduler.now().0);
        self.runtime.admit(&job, scheduler).map(|_| ())
    }

    fn hear(&mut self, scheduler: &mut impl Scheduler<Event>) -> Result<(), RuntimeError> {
        while let Some(job) = self.runtime.next_end() {
            let outcome = self.runtime.take_outcome(job);
            self.done.push(outcome);
            self.admit(scheduler)?;
        }
        Ok(())
    }
}

impl Model for Queue<'_> {
    type Event = Event;
    type Error = RuntimeError;
    const SETTLES: bool = TestNetwork::SETTLES;

    fn handle(
        &mut self,
        event: Event,
        scheduler: &mut impl Scheduler<Event>,
    ) -> Result<(), RuntimeError> {
        self.runtime.handle(event, scheduler)?;
        self.hear(scheduler)
    }

    fn settle(
        &mut self,
        scheduler: &mut impl Scheduler<Event>,
    ) -> Result<Option<Picoseconds>, RuntimeError> {
        let own = self.runtime.settle(scheduler)?;
        self.hear(scheduler)?;
        Ok(own)
    }

    fn at_rest(&self, now: Picoseconds) -> Result<(), RuntimeError> {
        self.runtime.at_rest(now)
    }
}

/// Plays the first jobs from the start, and one more whenever one has ended.
fn one_after_another(
    jobs: Vec<ProgramJob>,
    at_first: usize,
    check: impl FnOnce(&Queue<'_>),
) -> Vec<JobOutcome> {
    let mut network = TestNetwork::new();
    let lowering: fn(&CollectiveCall) -> RankProgram = no_collectives;
    let runtime = Runtime::new(&mut network, 6, &[], FREE, lowering).unwrap();
    let (waiting, done, admitted) = (jobs.into_iter(), Vec::new(), Vec::new());
    let mut queue = Queue { runtime, waiting, done, admitted };
    let mut hook = |_| ControlFlow::Continue(());
    let mut engine = Engine::new(&mut hook);
    for _ in 0..at_first {
        queue.admit(&mut engine).unwrap();
    }
    engine.run(&mut queue).unwrap();
    check(&queue);
    queue.done
}

#[test]
fn a_job_admitted_while_others_run_plays_as_one_known_before() {
    let pair = ring(2);
    let job = |name: &str, mapping: &[u32]| ProgramJob {
        name: name.to_owned(),
        ..ProgramJob::new(&pair, mapping.to_vec())
    };
    let jobs = vec![job("a", &[0, 1]), job("b", &[2, 3]), job("c", &[1, 0]), job("d", &[3, 2])];
    let outcomes = one_after_another(jobs, 2, |_| ());
    let alone = outcomes[0].time().0;
    let seen: Vec<_> =
        outcomes.iter().map(|job| (job.name.as_str(), job.start.0 / alone, job.time().0)).collect();
    assert_eq!(seen, [("a", 0, alone), ("b", 0, alone), ("c", 1, alone), ("d", 1, alone)]);
}

#[test]
fn ranks_plans_and_frames_are_given_back() {
    let programs: Vec<_> = (1..4).map(ring).collect();
    let job = |index: u32| {
        let program = &programs[index as usize % 3];
        ProgramJob::new(program, (0..program.ranks.len() as u32).collect())
    };
    let outcomes = one_after_another((0..300).map(job).collect(), 1, |queue| {
        let runtime = &queue.runtime;
        assert!(runtime.shared.ranks.room() <= 3, "{} ranks", runtime.shared.ranks.room());
        let (frames, _, plans) = runtime.shared.frames.room();
        assert!(frames <= 3, "{frames} frames");
        assert!(runtime.shared.communicators.room() <= 3);
        assert_eq!(plans, 0);
    });
    assert_eq!(outcomes.len(), 300);
}

#[test]
fn a_job_that_cannot_run_is_refused_and_changes_nothing() {
    let mut network = TestNetwork::new();
    let mut runtime = Runtime::new(&mut network, 2, &[], FREE, no_collectives).unwrap();
    let mut hook = |_| ControlFlow::Continue(());
    let mut engine = Engine::new(&mut hook);
    let error = runtime.admit(&ProgramJob::new(&ring(2), vec![1, 2]), &mut engine).unwrap_err();
    assert!(error.to_string().contains("GPU 2, but there are 2 GPUs"), "{error}");
    assert!(runtime.shared.jobs.count() == 0 && runtime.shared.ranks.room() == 0);
    engine.run(&mut runtime).unwrap();
}

proptest! {
    /// However jobs come, each takes as long as alone on its GPUs. Each gets the same as when all
    /// are known before. The places of ranks that are used again carry nothing over.
    #[test]
    fn nothing_is_carried_over(
        wanted in prop::collection::vec(prop::sample::subsequence((0..6_u32).collect::<Vec<_>>(), 1..5), 1..14),
        at_first in 1_usize..4,
    ) {
        let programs: Vec<_> = (1..6).map(ring).collect();
        let jobs: Vec<ProgramJob> = wanted
            .iter()
            .map(|mapping| ProgramJob::new(&programs[mapping.len() - 1], mapping.clone()))
            .collect();
        let mut admitted = Vec::new();
        let mut outcomes =
            one_after_another(jobs.clone(), at_first, |queue| admitted.clone_from(&queue.admitted));
        prop_assert_eq!(outcomes.len(), jobs.len());
        let known: Vec<ProgramJob> = jobs
            .into_iter()
            .zip(admitted)
            .enumerate()
            .map(|(index, (job, start))| {
                ProgramJob { name: index.to_string(), start: Picoseconds(start), ..job }
            })
            .collect();
        let mut expected = super::turns::played(&known, 6).jobs;
        let order = |outcome: &JobOutcome| (outcome.arrival, outcome.start, outcome.end, outcome.ranks.len());
        outcomes.sort_by_key(order);
        expected.sort_by_key(order);
        for (found, expected) in outcomes.iter().zip(&expected) {
            prop_assert_eq!(order(found), order(expected));
            prop_assert_eq!(&found.ranks, &expected.ranks);
        }
    }
}
