//! Finds jobs whose ranks all compute while nothing else is under way.
//!
//! All that such a job will do follows from the work of its ranks, the time that it still takes,
//! and their programs' dependencies. This holds as long as others do the same on its links. A
//! caller that plays many like iterations can tell there that one begins as another did, and let
//! those between pass.

use crate::network::Transport;
use crate::program::lowering::Lowering;
use crate::units::Picoseconds;

use super::observer::Observer;
use super::outcome::RankOutcome;
use super::state::Runtime;

/// A job all of whose ranks compute and do nothing else, at one time.
#[derive(Debug, Clone)]
pub struct Rest {
    ranks: Vec<RankAtRest>,
    /// The iteration that its first rank is in, from 0.
    iteration: u32,
    /// Holds the outcome of each rank so far.
    outcomes: Vec<RankOutcome>,
    /// How many works of processors had begun before that of each rank.
    begun: Vec<u64>,
}

/// A rank that computes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RankAtRest {
    /// The iteration that it is in, counted from that of the first rank.
    ahead: i64,
    /// How long until it has done the first of its works.
    left: u64,
    /// Its works: their operations, the iterations of these as above, and their durations.
    works: Vec<(u32, i64, u64)>,
    /// Counts the dependencies that each operation of its program waits for.
    waits: Vec<u32>,
}

impl Rest {
    /// Whether the job is as it was then, but for iterations.
    #[must_use]
    pub fn is_like(&self, earlier: &Self) -> bool {
        self.ranks == earlier.ranks
    }

    /// The works of its ranks, in their order: how long until each is done, and how many had begun before. Of those that are done
    /// at one time, the earlier is first.
    pub fn works(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.ranks.iter().zip(&self.begun).map(|(rank, begun)| (rank.left, *begun))
    }

    /// Counts the iterations from then to now.
    #[must_use]
    pub fn iterations_since(&self, earlier: &Self) -> u32 {
        self.iteration - earlier.iteration
    }
}

impl<T: Transport, L: Lowering, O: Observer> Runtime<'_, T, L, O> {
    /// From now on [`Runtime::next_rested`] tells of jobs.
    pub fn watch_rest(&mut self) {
        self.shared.ranks.watch_rest();
    }

    /// Returns a job in which a rank has ended its last communication that was under way, since
    /// this was asked last.
    pub fn next_rested(&mut self) -> Option<u32> {
        self.shared.ranks.next_rested()
    }

    /// Returns the work of a job's ranks from now until the next of them is done; None where one of
    /// them does anything else.
    #[must_use]
    pub fn rest(&self, job: u32, now: Picoseconds) -> Option<Rest> {
        let places = self.shared.jobs.ranks_held(job)?;
        let computes = |place: u32| {
            !self.shared.ranks.communicates(place) && self.shared.lanes.only_computes(place)
        };
        if self.shared.jobs.has_messages(job)
            || !self.shared.delays.is_empty()
            || !places.clone().all(computes)
        {
            return None;
        }
        let (iteration, _) = self.shared.frames.iteration(self.shared.ranks.frame(places.start));
        let from_first = |other: u32| i64::from(other) - i64::from(iteration);
        let ranks = places.clone().map(|place| {
            let frame = self.shared.ranks.frame(place);
            let works = self.shared.lanes.computations(place).map(|work| {
                (work.operation.operation, from_first(work.operation.iteration), work.duration)
            });
            RankAtRest {
                ahead: from_first(self.shared.frames.iteration(frame).0),
                left: self.shared.lanes.computing(place).0 - now.0,
                works: works.collect(),
                waits: self.shared.frames.waits(frame).to_vec(),
            }
        });
        let ranks = ranks.collect();
        let begun = places.clone().map(|place| self.shared.lanes.computing(place).1).collect();
        let outcomes = places.map(|place| self.shared.ranks.outcome(place).clone()).collect();
        Some(Rest { ranks, iteration, outcomes, begun })
    }

    /// Lets iterations pass in `span`: `times` times as many as from `earlier` to `now`, at which
    /// the job was alike. Then its ranks are where they are now, but later, and have done more in
    /// proportion. An observer does not see it.
    pub fn pass(
        &mut self,
        job: u32,
        (earlier, now): (&Rest, &Rest),
        times: u32,
        span: Picoseconds,
    ) {
        let Some(places) = self.shared.jobs.ranks_held(job) else { return };
        let iterations = now.iterations_since(earlier) * times;
        for (place, (then, now)) in places.zip(earlier.outcomes.iter().zip(&now.outcomes)) {
            self.shared.ranks.repeat(place, (then, now), times);
            self.shared.lanes.pass(place, iterations, span.0);
            self.shared.frames.pass(self.shared.ranks.frame(place), iterations);
        }
    }

    /// How many iterations of a job no rank has begun.
    #[must_use]
    pub fn iterations_to_begin(&self, job: u32) -> u32 {
        let places = self.shared.jobs.ranks_held(job).unwrap_or(0..0);
        let begun =
            places.map(|place| self.shared.frames.iteration(self.shared.ranks.frame(place)));
        begun.map(|(iteration, of)| of - iteration - 1).min().unwrap_or(0)
    }

    /// Lets a job end with the iterations that a rank has begun. A program that goes on behind the loop has one more. Returns how
    /// many the job will not have.
    pub fn stop(&mut self, job: u32) -> u32 {
        let Some(places) = self.shared.jobs.ranks_held(job) else { return 0 };
        let frames: Vec<u32> = places.map(|place| self.shared.ranks.frame(place)).collect();
        let has_tail = frames.iter().any(|frame| self.shared.frames.has_tail(*frame));
        let iterations = self.iterations_to_begin(job).saturating_sub(u32::from(has_tail));
        for frame in frames {
            self.shared.frames.shorten(frame, iterations);
        }
        iterations
    }
}
