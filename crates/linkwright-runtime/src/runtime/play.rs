//! What drives a runtime: its own events, and what occurs in the network.

use crate::engine::{Engine, Hook, Model, Scheduler, Within};
use crate::network::{Occurrence, Transport};
use crate::program::lowering::Lowering;
use crate::units::Picoseconds;

use super::diagnosis::diagnose;
use super::error::RuntimeError;
use super::observer::Observer;
use super::outcome::Outcome;
use super::protocols::nccl::OF_KERNEL;
use super::lanes::LIBRARY;
use super::state::Runtime;
use super::works::RuntimeEvent;

impl<T: Transport, L: Lowering, O: Observer> Model for Runtime<'_, T, L, O> {
    type Event = RuntimeEvent<T::Event>;
    type Error = RuntimeError;
    const SETTLES: bool = T::SETTLES;

    #[inline]
    fn handle(
        &mut self,
        event: Self::Event,
        scheduler: &mut impl Scheduler<Self::Event>,
    ) -> Result<(), RuntimeError> {
        // Most events are the network's, and few of them concern a program.
        let RuntimeEvent::Network(event) = event else { return self.happen(event, scheduler) };
        self.transport.handle(event, &mut Within::<_, Self::Event>::new(scheduler))?;
        match self.transport.tell() {
            None => Ok(()),
            Some(occurrence) => self.hear(occurrence, scheduler),
        }
    }

    fn settle(
        &mut self,
        scheduler: &mut impl Scheduler<Self::Event>,
    ) -> Result<Option<Picoseconds>, RuntimeError> {
        let now = scheduler.now();
        let mut has_come = false;
        // While nothing can end now, the network need not be asked between what has come: its rates are worked
        // out once for all that starts at a moment.
        while !self.transport.may_end_at(now) && self.settle_kernels(scheduler)? {
            has_come = true;
            if self.has_more_to_do() {
                self.go_on(scheduler)?;
                break;
            }
        }
        if has_come {
            return Ok(Some(now));
        }
        let own = self.transport.settle(&mut Within::<_, Self::Event>::new(scheduler))?;
        if let Some(occurrence) = self.transport.tell() {
            self.hear(occurrence, scheduler)?;
        } else if self.settle_kernels(scheduler)? {
            self.go_on(scheduler)?;
            // More may have come.
            return Ok(Some(now));
        }
        Ok(own)
    }

    fn at_rest(&self, now: Picoseconds) -> Result<(), RuntimeError> {
        self.transport.at_rest(now)?;
        if let Some(stuck) = self.kernels.stuck() {
            return Err(self.stuck_kernel(stuck));
        }
        match diagnose(self) {
            Some(stalled) => Err(Box::new(stalled).into()),
            None => Ok(()),
        }
    }

    fn done(&self) -> (u64, u64) {
        self.frames.progress()
    }
}

impl<T: Transport, L: Lowering, O: Observer> Runtime<'_, T, L, O> {
    /// Plays all jobs to their ends. The hook learns how many operations of the programs are
    /// complete, of how many, and how many events and operations have been handled.
    ///
    /// # Errors
    /// A message larger than its receive, ranks that call different collectives, a lowering
    /// that is no program, a time beyond 213 days, a network that is stuck, ranks that wait for
    /// ever and messages that nobody receives, a run that the hook ended.
    pub fn run(mut self, hook: Hook<'_>) -> Result<Outcome, RuntimeError> {
        let events = self.play(hook)?;
        Ok(self.outcome(events))
    }

    /// Plays all jobs; returns how many events that took.
    pub(super) fn play(&mut self, hook: Hook<'_>) -> Result<u64, RuntimeError> {
        let mut engine = Engine::new(hook);
        for job in 0..self.jobs.count() {
            engine.schedule(self.jobs.arrival(job), RuntimeEvent::Arrive(job));
        }
        engine.run(self)?;
        Ok(engine.events() + self.transport.own_events())
    }

    /// Something happens to a program.
    fn happen(
        &mut self,
        event: RuntimeEvent<T::Event>,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        self.now = scheduler.now().0;
        match event {
            RuntimeEvent::Processor(rank) => self.end_computation(rank, scheduler)?,
            RuntimeEvent::Library(rank) => self.end_work(rank, LIBRARY, scheduler)?,
            RuntimeEvent::Rendezvous(envelope) => self.end_rendezvous(envelope, scheduler),
            RuntimeEvent::Delay(delay) => self.end_delay(delay),
            RuntimeEvent::Kernel(timed) => self.kernel_event(timed, scheduler)?,
            RuntimeEvent::Timed(context) => self.end_timed(context),
            RuntimeEvent::Arrive(job) => {
                if self.jobs.arrive(job) {
                    self.start_job(job);
                }
            }
            RuntimeEvent::Start(job) => self.start_job(job),
            RuntimeEvent::Network(_) => unreachable!("the network handles its own events"),
        }
        self.go_on(scheduler)
    }

    /// Takes up what has occurred in the network: this first, and all that has not been told.
    fn hear(
        &mut self,
        first: Occurrence,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        self.now = scheduler.now().0;
        let mut next = Some(first);
        while let Some(occurrence) = next {
            match occurrence {
                Occurrence::Sent { token } if token >= OF_KERNEL => {
                    self.kernel_sent(token, scheduler)?;
                }
                Occurrence::Delivered { token } if token >= OF_KERNEL => {
                    self.kernel_delivered(token, scheduler)?;
                }
                Occurrence::Sent { token } => self.message_sent(token),
                Occurrence::Delivered { token } => self.message_delivered(token, scheduler)?,
            }
            self.go_on(scheduler)?;
            next = self.transport.tell();
        }
        Ok(())
    }

    /// Whether an operation waits for nothing any more, or a job has ended.
    fn has_more_to_do(&self) -> bool {
        self.frames.has_ready() || self.jobs.has_ended()
    }

    /// Starts every operation that waits for nothing any more, and jobs whose GPUs are free.
    fn go_on(
        &mut self,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        while let Some(operation) = self.frames.next_ready() {
            self.execute(operation, scheduler)?;
            scheduler.tick(self.frames.progress())?;
        }
        while let Some(job) = self.jobs.take_ended() {
            self.end_job(job, scheduler);
        }
        Ok(())
    }

    /// Makes everything of a job ready that waits for nothing.
    fn start_job(&mut self, job: u32) {
        for rank in self.jobs.start(job, Picoseconds(self.now)) {
            let frame = self.ranks.frame(rank);
            if !self.frames.start(frame) {
                self.finish_rank(rank);
            }
        }
    }

    pub(super) fn outcome(mut self, events: u64) -> Outcome {
        let jobs = (0..self.jobs.count()).map(|job| self.jobs.take_outcome(job)).collect();
        let comparisons = self.messages.comparisons();
        Outcome { jobs, operations: self.frames.played(), comparisons, events }
    }
}
