//! The runtime: the state of all jobs, and what drives it.

use std::borrow::Cow;
use std::collections::VecDeque;

use crate::engine::{Hook, Progress, Ticker};
use crate::network::{Occurrence, Transport};
use crate::program::{Collective, Operation};
use crate::units::Picoseconds;

use super::call::{Call, RankId};
use super::collectives::{Communicator, Plans};
use super::diagnosis::diagnose;
use super::envelope::{Envelope, Leg};
use super::error::ReplayError;
use super::frame::{Frame, OperationRef};
use super::job::Job;
use super::lane::{Work, WorkKind};
use super::lowering::Lowering;
use super::matching::{Matcher, class_bit};
use super::observer::Observer;
use super::outcome::{JobOutcome, Outcome};
use super::pairs::Pairs;
use super::plan::{COMPLETED, Plan};
use super::protocol::Protocol;
use super::rank::{LIBRARY, PROCESSOR, RankState};
use super::slab::Slab;
use super::validate::validate;

/// Jobs that run over a network.
///
/// The transport stays the caller's, who may ask it afterwards how busy its links were.
/// Without an observer nothing is spent on watching.
#[derive(Debug)]
pub struct Replay<'a, T, L, O = ()> {
    pub(super) transport: &'a mut T,
    pub(super) lowering: &'a L,
    pub(super) observer: O,
    pub(super) protocol: Protocol,
    pub(super) jobs: &'a [Job<'a>],
    /// The first rank of each job, and its first communicator.
    pub(super) first: Vec<(u32, u32)>,
    pub(super) ranks: Vec<RankState>,
    pub(super) communicators: Vec<Communicator<'a>>,
    pub(super) plans: Plans<'a>,
    pub(super) frames: Vec<Frame>,
    pub(super) free_frames: Vec<u32>,
    pub(super) envelopes: Slab<Envelope>,
    pub(super) works: Slab<Work>,
    pub(super) matcher: Matcher,
    pub(super) pairs: Pairs,
    /// Operations that have nothing to wait for any more.
    pub(super) ready: VecDeque<OperationRef>,
    pub(super) next_context: u32,
    pub(super) now: u64,
    /// How many ranks have not ended.
    unfinished: usize,
    /// Operations of the programs completed, of all; and those played, collectives' included.
    pub(super) done: u64,
    total: u64,
    pub(super) played: u64,
    pub(super) keep_regions: bool,
}

/// What a wake-up is for, in the token's last two bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alarm {
    /// The first work of a rank's processor is done.
    Processor,
    /// The first work of a rank's library is done.
    Library,
    /// The data of a large message may go.
    Rendezvous,
    /// A job starts.
    Start,
}

impl Alarm {
    fn token(self, index: u32) -> u64 {
        u64::from(index) << 2 | self as u64
    }
}

impl<'a, T: Transport, L: Lowering> Replay<'a, T, L> {
    /// Jobs on a network of that many GPUs, which is at time zero.
    ///
    /// # Errors
    /// A mapping that does not fit the program or the network, or puts two ranks on one GPU;
    /// a negative or infinite scale; iterations without a loop; a program whose communicators
    /// or operations name what is not there.
    pub fn new(
        transport: &'a mut T,
        gpus: u32,
        jobs: &'a [Job<'a>],
        protocol: Protocol,
        lowering: &'a L,
    ) -> Result<Self, ReplayError> {
        validate(jobs, gpus)?;
        let mut replay = Self {
            transport,
            lowering,
            observer: (),
            protocol,
            jobs,
            first: Vec::new(),
            ranks: Vec::new(),
            communicators: Vec::new(),
            plans: Plans::new(),
            frames: Vec::new(),
            free_frames: Vec::new(),
            envelopes: Slab::new(),
            works: Slab::new(),
            matcher: Matcher::new(),
            pairs: Pairs::new(),
            ready: VecDeque::new(),
            next_context: 0,
            now: 0,
            unfinished: 0,
            done: 0,
            total: 0,
            played: 0,
            keep_regions: false,
        };
        // Jobs that run one program share its plans.
        let mut planned: Vec<(*const _, u32)> = Vec::new();
        for (index, job) in (0..).zip(jobs) {
            let program: *const _ = job.program;
            let known = planned.iter().find(|(other, _)| *other == program);
            let first_plan = known.map_or_else(|| replay.plan(job), |(_, first)| *first);
            planned.push((program, first_plan));
            replay.add(index, job, first_plan);
        }
        replay.next_context = replay.communicators.len() as u32;
        replay.unfinished = replay.ranks.len();
        Ok(replay)
    }

    /// The same replay, watched.
    pub fn observed<O: Observer>(self, observer: O) -> Replay<'a, T, L, O> {
        Replay {
            transport: self.transport,
            lowering: self.lowering,
            observer,
            protocol: self.protocol,
            jobs: self.jobs,
            first: self.first,
            ranks: self.ranks,
            communicators: self.communicators,
            plans: self.plans,
            frames: self.frames,
            free_frames: self.free_frames,
            envelopes: self.envelopes,
            works: self.works,
            matcher: self.matcher,
            pairs: self.pairs,
            ready: self.ready,
            next_context: self.next_context,
            now: self.now,
            unfinished: self.unfinished,
            done: self.done,
            total: self.total,
            played: self.played,
            keep_regions: self.keep_regions,
        }
    }

    /// Plans the program of each rank; returns the first plan.
    fn plan(&mut self, job: &Job<'a>) -> u32 {
        let plans = job.program.ranks.iter().map(|program| Plan::new(Cow::Borrowed(program)));
        let indices: Vec<u32> = plans.map(|plan| self.plans.push(plan)).collect();
        indices.first().copied().unwrap_or(0)
    }

    fn add(&mut self, index: u32, job: &'a Job<'a>, first_plan: u32) {
        self.first.push((self.ranks.len() as u32, self.communicators.len() as u32));
        for (id, members) in (0..).zip(&job.program.communicators) {
            self.communicators.push(Communicator::new(index, id, members));
        }
        for (rank, gpu) in (0..).zip(&job.mapping) {
            let plan = first_plan + rank;
            let of_plan = &self.plans[plan];
            let mut state = RankState::new(RankId { job: index, rank }, *gpu);
            for operation in of_plan.operations() {
                if let Operation::Receive { from, tag, .. } = *operation {
                    state.classes |= class_bit(from, tag);
                }
            }
            let body = of_plan.body().len() as u64;
            let iterations = if body == 0 { 1 } else { job.iterations.get() };
            let left = of_plan.operations().len() as u64 + body * u64::from(iterations - 1);
            let waits = of_plan.waits().to_vec();
            let rank = self.ranks.len() as u32;
            self.total += left;
            self.ranks.push(state);
            let (collective, iteration) = (None, 0);
            self.frames.push(Frame { rank, plan, collective, waits, iteration, iterations, left });
        }
    }
}

impl<T: Transport, L: Lowering, O: Observer> Replay<'_, T, L, O> {
    /// Keeps when each rank was in which region, for [`RankOutcome`](super::RankOutcome).
    #[must_use]
    pub fn with_regions(mut self) -> Self {
        self.keep_regions = true;
        self
    }

    /// Plays all jobs to their ends. The hook learns how many operations of the programs are
    /// complete, of how many.
    ///
    /// # Errors
    /// A message larger than its receive, ranks that call different collectives, a lowering
    /// that is no program, a time beyond 213 days, a network that is stuck, ranks that wait for
    /// ever and messages that nobody receives, a run that the hook ended.
    pub fn run(mut self, hook: Hook<'_>) -> Result<Outcome, ReplayError> {
        self.play(hook)?;
        Ok(self.outcome())
    }

    pub(super) fn play(&mut self, hook: Hook<'_>) -> Result<(), ReplayError> {
        let mut ticker = Ticker::new();
        for (index, job) in (0..).zip(self.jobs) {
            self.transport.wake_at(job.start, Alarm::Start.token(index));
        }
        while let Some(occurrence) = self.transport.next()? {
            self.now = self.transport.now().0;
            self.happen(occurrence)?;
            self.tick(&mut ticker, hook)?;
            while let Some(operation) = self.ready.pop_front() {
                self.execute(operation)?;
                self.tick(&mut ticker, hook)?;
            }
        }
        match diagnose(self, self.unfinished) {
            Some(stalled) => Err(Box::new(stalled).into()),
            None => Ok(()),
        }
    }

    fn tick(&self, ticker: &mut Ticker, hook: Hook<'_>) -> Result<(), ReplayError> {
        let (time, done, total) = (Picoseconds(self.now), self.done, self.total);
        let events = self.transport.events() + self.played;
        if ticker.reach(events, hook, || Progress { done, total, time }).is_break() {
            return Err(ReplayError::Interrupted { time, done, total });
        }
        Ok(())
    }

    fn happen(&mut self, occurrence: Occurrence) -> Result<(), ReplayError> {
        match occurrence {
            Occurrence::Sent { token } => {
                let (leg, envelope) = Leg::of_token(token);
                self.sent(leg, envelope);
                Ok(())
            }
            Occurrence::Delivered { token } => {
                let (leg, envelope) = Leg::of_token(token);
                self.delivered(leg, envelope)
            }
            Occurrence::Woken { token } => {
                let index = (token >> 2) as u32;
                match token & 3 {
                    0 => self.end_work(index, PROCESSOR),
                    1 => self.end_work(index, LIBRARY),
                    2 => {
                        self.send_leg(Leg::Data, index);
                        Ok(())
                    }
                    _ => {
                        self.start_job(index);
                        Ok(())
                    }
                }
            }
        }
    }

    /// Makes everything ready that waits for nothing.
    fn start_job(&mut self, job: u32) {
        let first = self.first[job as usize].0;
        for frame in first..first + self.jobs[job as usize].mapping.len() as u32 {
            if self.frames[frame as usize].left == 0 {
                self.finish_rank(frame);
            }
            self.start_frame(frame);
        }
    }

    /// Makes the operations of a new frame ready that wait for nothing.
    pub(super) fn start_frame(&mut self, frame: u32) {
        let waits = &self.frames[frame as usize].waits;
        let operations = waits.len() as u32 - 1;
        for (operation, waits) in (0..operations).zip(waits) {
            if *waits == 0 {
                self.ready.push_back(OperationRef { frame, operation, iteration: 0 });
            }
        }
    }

    /// Something has happened to an operation: makes ready what waited for nothing else.
    pub(super) fn propagate(&mut self, of: OperationRef, events: u8) {
        let frame = &mut self.frames[of.frame as usize];
        let plan = &self.plans[frame.plan];
        let body = plan.body();
        let in_body = body.contains(&of.operation);
        if in_body && of.iteration != frame.iteration {
            return;
        }
        let is_last = frame.iteration + 1 == frame.iterations;
        let end = plan.end();
        for target in plan.successors(of.operation, events) {
            // What follows the loop sees its last iteration alone.
            if in_body && !is_last && target >= body.end && target != end {
                continue;
            }
            let waits = &mut frame.waits[target as usize];
            *waits -= 1;
            if *waits > 0 {
                continue;
            }
            if target != end {
                let iteration = frame.iteration;
                self.ready.push_back(OperationRef { operation: target, iteration, ..of });
            } else if !is_last {
                frame.iteration += 1;
                frame.waits[end as usize] = plan.waits()[end as usize];
                for operation in body.clone() {
                    let waits = plan.waits_within_body(operation);
                    frame.waits[operation as usize] = waits;
                    if waits == 0 {
                        let iteration = frame.iteration;
                        self.ready.push_back(OperationRef { operation, iteration, ..of });
                    }
                }
            }
        }
    }

    /// An operation is complete, and has started too where `events` say so.
    pub(super) fn complete(&mut self, operation: OperationRef, events: u8) {
        self.propagate(operation, events | COMPLETED);
        let frame = &mut self.frames[operation.frame as usize];
        frame.left -= 1;
        let is_last = frame.left == 0;
        let Some(collective) = frame.collective else {
            self.done += 1;
            if is_last {
                self.finish_rank(operation.frame);
            }
            return;
        };
        if is_last {
            self.plans.release(frame.plan);
            frame.collective = None;
            self.free_frames.push(operation.frame);
            self.complete_communication(collective.parent, 0);
        }
    }

    /// A send, a receive or a collective is complete.
    pub(super) fn complete_communication(&mut self, operation: OperationRef, events: u8) {
        let frame = &self.frames[operation.frame as usize];
        if frame.collective.is_none() {
            self.ranks[frame.rank as usize].end_communication(self.now);
        }
        self.complete(operation, events);
    }

    fn finish_rank(&mut self, rank: u32) {
        let state = &mut self.ranks[rank as usize];
        let job = &self.jobs[state.id.job as usize];
        state.finish(job.start, Picoseconds(self.now));
        self.unfinished -= 1;
    }

    /// Adds a work to one of a rank's lanes.
    pub(super) fn occupy(&mut self, lane: usize, work: Work) -> Result<(), ReplayError> {
        let rank = self.frames[work.operation.frame as usize].rank;
        let starts = self.ranks[rank as usize].lanes[lane].push(&mut self.works, work);
        if !starts {
            return Ok(());
        }
        if work.duration == 0 {
            return self.end_work(rank, lane);
        }
        self.schedule(rank, lane, work)
    }

    fn schedule(&mut self, rank: u32, lane: usize, work: Work) -> Result<(), ReplayError> {
        let Some(end) = self.now.checked_add(work.duration) else {
            return Err(self.too_long(work.operation));
        };
        let alarm = if lane == PROCESSOR { Alarm::Processor } else { Alarm::Library };
        self.transport.wake_at(Picoseconds(end), alarm.token(rank));
        Ok(())
    }

    pub(super) fn too_long(&self, operation: OperationRef) -> ReplayError {
        let id = self.ranks[self.frames[operation.frame as usize].rank as usize].id;
        let (call, _) = self.origin(operation);
        let job = self.jobs[id.job as usize].name.clone();
        ReplayError::TooLong { job, rank: id.rank, call }
    }

    /// The first work of a lane is done; the next starts.
    fn end_work(&mut self, rank: u32, lane: usize) -> Result<(), ReplayError> {
        let lanes = &mut self.ranks[rank as usize].lanes;
        let Some((work, next)) = lanes[lane].pop(&mut self.works) else { return Ok(()) };
        if let Some(next) = next {
            self.schedule(rank, lane, next)?;
        }
        match work.kind {
            WorkKind::Compute => {
                let state = &mut self.ranks[rank as usize];
                state.outcome.computing.0 += work.duration;
                let start = Picoseconds(self.now - work.duration);
                self.observer.computed(state.id, start, Picoseconds(self.now));
                self.complete(work.operation, 0);
            }
            WorkKind::Send(envelope) => self.depart(envelope)?,
            WorkKind::Receive => self.complete_communication(work.operation, 0),
        }
        Ok(())
    }

    /// Wakes the replay when the data of a large message may go.
    pub(super) fn wake_for_data(&mut self, end: u64, envelope: u32) {
        self.transport.wake_at(Picoseconds(end), Alarm::Rendezvous.token(envelope));
    }

    pub(super) fn outcome(self) -> Outcome {
        let mut ranks = self.ranks.into_iter().map(|rank| rank.outcome);
        let jobs = self.jobs.iter().map(|job| {
            let ranks: Vec<_> = ranks.by_ref().take(job.mapping.len()).collect();
            let end = ranks.iter().map(|rank| rank.end).max().unwrap_or(job.start);
            JobOutcome { name: job.name.clone(), start: job.start, end, ranks }
        });
        let jobs = jobs.collect();
        let comparisons = self.matcher.comparisons() + self.pairs.comparisons();
        Outcome { jobs, operations: self.played, comparisons }
    }
}

impl<T, L, O> Replay<'_, T, L, O> {
    /// The call of a rank's program that an operation belongs to, and the collective that it
    /// is part of.
    pub(super) fn origin(&self, operation: OperationRef) -> (Call, Option<Collective>) {
        let collective = self.frames[operation.frame as usize].collective;
        let named = collective.map_or(operation, |collective| collective.parent);
        let call = Call { operation: named.operation, iteration: named.iteration };
        (call, collective.map(|collective| collective.call.kind))
    }
}
