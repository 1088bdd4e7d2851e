//! Plays a runtime by its own events, and by those of the network.

use crate::engine::{Engine, Hook, Model, Scheduler, Within};
use crate::network::{Occurrence, Transport};
use crate::program::lowering::Lowering;
use crate::units::Picoseconds;

use super::call::RankId;
use super::diagnosis::diagnose;
use super::error::RuntimeError;
use super::event::RuntimeEvent;
use super::lanes::LIBRARY;
use super::observer::Observer;
use super::outcome::Outcome;
use super::port::Port;
use super::protocols::{ProtocolCall, StuckCall};
use super::shared::Shared;
use super::state::Runtime;
use super::token::{COPY, KERNEL, MESSAGE, of_token, of_wake, protocol_of};

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
        self.shared.transport.handle(event, &mut Within::<_, Self::Event>::new(scheduler))?;
        match self.shared.transport.tell() {
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
        // While nothing can end now, the network need not be asked between one start and the next.
        // Its rates are worked out once for all that starts at a moment.
        while !self.shared.transport.may_end_at(now) && self.settle_protocols(scheduler)? {
            has_come = true;
            if self.has_more_to_do() {
                self.go_on(scheduler)?;
                break;
            }
        }
        if has_come {
            return Ok(Some(now));
        }
        let own = self.shared.transport.settle(&mut Within::<_, Self::Event>::new(scheduler))?;
        if let Some(occurrence) = self.shared.transport.tell() {
            self.hear(occurrence, scheduler)?;
        } else if self.settle_protocols(scheduler)? {
            self.go_on(scheduler)?;
            // More may have come.
            return Ok(Some(now));
        }
        Ok(own)
    }

    fn at_rest(&self, now: Picoseconds) -> Result<(), RuntimeError> {
        self.shared.transport.at_rest(now)?;
        self.kernels_at_rest()?;
        if let Some(stuck) = self.protocols.iter().find_map(|protocol| protocol.stuck()) {
            return Err(self.stuck(stuck));
        }
        match diagnose(self) {
            Some(stalled) => Err(Box::new(stalled).into()),
            None => Ok(()),
        }
    }

    fn done(&self) -> (u64, u64) {
        self.shared.frames.progress()
    }
}

impl<T: Transport, L: Lowering, O: Observer> Runtime<'_, T, L, O> {
    /// Plays all jobs to their ends. The hook learns how many operations of the programs are
    /// complete, of how many, and how many events and operations have been handled.
    ///
    /// # Errors
    /// Fails for a message larger than its receive, ranks that call different collectives, and a
    /// lowering that is no program. Fails for a time beyond 213 days, and for a network that is
    /// stuck. Fails for ranks that wait for ever, and for messages that nobody receives. Fails for
    /// a run that the hook ended.
    pub fn run(mut self, hook: Hook<'_>) -> Result<Outcome, RuntimeError> {
        let events = self.play(hook)?;
        Ok(self.outcome(events))
    }

    /// Plays all jobs; returns how many events that took.
    pub(super) fn play(&mut self, hook: Hook<'_>) -> Result<u64, RuntimeError> {
        let mut engine = Engine::new(hook);
        for job in 0..self.shared.jobs.count() {
            engine.schedule(self.shared.jobs.arrival(job), RuntimeEvent::Arrive(job));
        }
        engine.run(self)?;
        Ok(engine.events() + self.shared.transport.own_events())
    }

    /// Something happens to a program.
    fn happen(
        &mut self,
        event: RuntimeEvent<T::Event>,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        self.shared.now = scheduler.now().0;
        match event {
            RuntimeEvent::Processor(rank) => self.shared.end_computation(rank, scheduler)?,
            RuntimeEvent::Library(rank) => self.shared.end_work(rank, LIBRARY, scheduler)?,
            RuntimeEvent::Rendezvous(envelope) => self.shared.end_rendezvous(envelope, scheduler),
            RuntimeEvent::Delay(delay) => self.shared.end_delay(delay),
            RuntimeEvent::Protocol(wake) => {
                let (protocol, what) = of_wake(wake);
                let Self { shared, protocols, .. } = self;
                protocols[protocol].wake(what, &mut Port { shared, scheduler, protocol })?;
            }
            RuntimeEvent::Kernel(job) => self.wake_kernel(job, scheduler)?,
            RuntimeEvent::Arrive(job) => {
                if self.shared.jobs.arrive(job) {
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
        self.shared.now = scheduler.now().0;
        let mut next = Some(first);
        while let Some(occurrence) = next {
            match occurrence {
                Occurrence::Sent { token } => match of_token(token) {
                    (MESSAGE, what) => self.shared.message_sent(what),
                    (COPY, what) => self.shared.copy_left(what),
                    (KERNEL, _) => {}
                    (who, what) => {
                        let Self { shared, protocols, .. } = self;
                        let protocol = protocol_of(who);
                        let mut port = Port { shared, scheduler, protocol };
                        protocols[protocol].sent(what, &mut port)?;
                    }
                },
                Occurrence::Delivered { token } => match of_token(token) {
                    (MESSAGE, what) => self.shared.message_delivered(what, scheduler)?,
                    (COPY, what) => self.shared.copy_arrived(what, scheduler),
                    (KERNEL, what) => self.kernel_message(what, scheduler)?,
                    (who, what) => {
                        let Self { shared, protocols, .. } = self;
                        let protocol = protocol_of(who);
                        let mut port = Port { shared, scheduler, protocol };
                        protocols[protocol].delivered(what, &mut port)?;
                    }
                },
            }
            self.go_on(scheduler)?;
            next = self.shared.transport.tell();
        }
        Ok(())
    }

    /// Takes up the first that protocols have kept for the end of this time; whether there was any.
    fn settle_protocols(
        &mut self,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<bool, RuntimeError> {
        if self.shared.kept == 0 {
            return Ok(false);
        }
        self.shared.now = scheduler.now().0;
        let protocol = self.shared.kept.trailing_zeros() as usize;
        let Self { shared, protocols, .. } = self;
        if !protocols[protocol].settle(&mut Port { shared, scheduler, protocol })? {
            shared.kept &= !(1 << protocol);
        }
        Ok(true)
    }

    /// Tells a person of a collective that waits for ever.
    fn stuck(&self, stuck: StuckCall) -> RuntimeError {
        let Shared { jobs, ranks, frames, .. } = &self.shared;
        let StuckCall { call: ProtocolCall { call, operation, .. }, at: (block, step) } = stuck;
        let RankId { job, rank } = ranks.id(frames.rank_of(operation));
        let (job, kind, (call, _)) =
            (jobs.name(job).to_owned(), call.kind, frames.origin(operation));
        RuntimeError::StuckKernel { job, rank, kind, call, block, step }
    }

    /// Whether an operation waits for nothing any more, or a job has ended.
    fn has_more_to_do(&self) -> bool {
        self.shared.frames.has_ready() || self.shared.jobs.has_ended()
    }

    /// Starts every operation that waits for nothing any more, and jobs whose GPUs are free.
    fn go_on(
        &mut self,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        while let Some(operation) = self.shared.frames.next_ready() {
            self.execute(operation, scheduler)?;
            scheduler.tick(self.shared.frames.progress())?;
        }
        while let Some(job) = self.shared.jobs.take_ended() {
            self.shared.end_job(job, scheduler);
        }
        Ok(())
    }

    /// Makes everything of a job ready that waits for nothing.
    fn start_job(&mut self, job: u32) {
        for rank in self.shared.jobs.start(job, Picoseconds(self.shared.now)) {
            let frame = self.shared.ranks.frame(rank);
            if !self.shared.frames.start(frame) {
                self.shared.finish_rank(rank);
            }
        }
    }

    pub(super) fn outcome(mut self, events: u64) -> Outcome {
        let jobs =
            (0..self.shared.jobs.count()).map(|job| self.shared.jobs.take_outcome(job)).collect();
        let comparisons = self.shared.messages.comparisons();
        Outcome { jobs, operations: self.shared.frames.played(), comparisons, events }
    }
}
