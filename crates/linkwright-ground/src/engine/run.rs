//! The loop: events in time order, models that settle, time that moves.

use std::ops::ControlFlow;

use thiserror::Error;

use super::model::{Model, Scheduler};
use super::progress::{Hook, Progress};
use super::queue::{EventQueue, PastEvent};
use crate::diagnostic::{Diagnose, Diagnosis};
use crate::units::Picoseconds;

/// Why a run cannot go on, whatever it simulates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum EngineError {
    /// Tells that a model has scheduled an event before the current time: an error of its own.
    Past(#[from] PastEvent),
    /// Time is counted in 64 bits of picoseconds.
    TooLong {
        /// When that was noticed.
        now: Picoseconds,
    },
    /// Tells that the caller's hook has ended the run.
    Interrupted(Progress),
}

impl Diagnose for EngineError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Past(error) => Diagnosis::of(format!("this is a fault in Linkwright: {error}")),
            Self::TooLong { now } => Diagnosis::of(format!(
                "at {now}, the next event lies more than 213 days after the start of the run"
            )),
            Self::Interrupted(error) => Diagnosis::of(format!(
                "interrupted at {}, with {} of {} done",
                error.time, error.done, error.total
            )),
        }
    }
}

/// Runs every simulation with one clock, one loop, one watchdog and one hook.
///
/// Events at one time happen in the order in which they were scheduled. When none is left at that
/// time the model settles ([`Model::settle`]). When that brings no more either, time moves on to
/// the next event, or to the model's own next time. When nothing is left at all, the model is asked
/// whether it has finished ([`Model::at_rest`]).
///
/// The hook is asked at every 65,536th event or piece of work ([`Scheduler::tick`]).
pub struct Engine<'h, E> {
    queue: EventQueue<E>,
    /// The first event that could not be scheduled.
    fault: Option<EngineError>,
    /// Counts the events taken so far.
    events: u64,
    /// Events, pieces of work and moves of the clock so far.
    work: u64,
    hook: Option<Hook<'h>>,
}

/// After how much work the hook is asked: some hundred times a second.
const INTERVAL: u64 = 65_536;

impl<'h, E: Copy> Engine<'h, E> {
    /// An engine at time zero, whose hook learns how far the run is and may end it.
    #[must_use]
    pub fn new(hook: Hook<'h>) -> Self {
        Self { hook: Some(hook), ..Self::unwatched() }
    }

    /// An engine at time zero that nobody watches.
    #[must_use]
    pub fn unwatched() -> Self {
        Self { queue: EventQueue::new(), fault: None, events: 0, work: 0, hook: None }
    }

    /// How many events have happened.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// When the next event happens; none where none is left.
    #[must_use]
    pub fn next_time(&self) -> Option<Picoseconds> {
        self.queue.peek_time()
    }

    /// Plays a model until nothing is left to happen.
    ///
    /// # Errors
    /// Fails with the cause that ends the run. This is the model's own error, an event in the past
    /// or beyond 213 days, or the hook. It may also be work that the watchdog finds undone at the
    /// end.
    pub fn run<M: Model<Event = E>>(&mut self, model: &mut M) -> Result<(), M::Error> {
        self.check()?;
        while self.go_on(model)? {}
        model.at_rest(self.now())
    }

    /// Plays the next event; where none is left at the current time, the model settles and time
    /// moves. Whether there was anything to do.
    ///
    /// # Errors
    /// As [`Engine::run`], but for what is undone.
    pub fn step<M: Model<Event = E>>(&mut self, model: &mut M) -> Result<bool, M::Error> {
        self.check()?;
        self.go_on(model)
    }

    #[inline(always)]
    fn go_on<M: Model<Event = E>>(&mut self, model: &mut M) -> Result<bool, M::Error> {
        if M::SETTLES && self.queue.peek_time() != Some(self.queue.now()) {
            let own = model.settle(self)?;
            self.check()?;
            let next = self.queue.peek_time();
            if let Some(own) = own.filter(|own| next.is_none_or(|next| *own < next)) {
                self.queue.move_to(own).map_err(EngineError::from)?;
                self.tick(model.done())?;
                return Ok(true);
            }
        }
        let Some((_, event)) = self.queue.pop() else { return Ok(false) };
        self.events += 1;
        model.handle(event, self)?;
        self.check()?;
        self.work += 1;
        if self.work.is_multiple_of(INTERVAL) {
            self.report(model.done())?;
        }
        Ok(true)
    }

    /// Returns the fault, if an event could not be scheduled.
    #[inline]
    fn check(&self) -> Result<(), EngineError> {
        self.fault.map_or(Ok(()), Err)
    }

    #[cold]
    fn refuse(&mut self, time: Picoseconds, event: E) {
        if self.fault.is_none() {
            let past = self.queue.push(time, event).err();
            let too_long = EngineError::TooLong { now: self.queue.now() };
            self.fault = Some(past.map_or(too_long, EngineError::Past));
        }
    }

    fn progress(&self, (done, total): (u64, u64)) -> Progress {
        Progress { done, total, time: self.queue.now(), events: self.events }
    }

    #[cold]
    fn report(&mut self, done: (u64, u64)) -> Result<(), EngineError> {
        match self.ask(done) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(EngineError::Interrupted(self.progress(done))),
        }
    }
}

impl<E: Copy> Scheduler<E> for Engine<'_, E> {
    #[inline]
    fn now(&self) -> Picoseconds {
        self.queue.now()
    }

    // One copy of it for all who schedule: the queue's part is long, and inlined into it.
    #[inline(never)]
    fn schedule(&mut self, time: Picoseconds, event: E) {
        // Sums of times stop at the last that is counted.
        if time.0 == u64::MAX || self.queue.push(time, event).is_err() {
            self.refuse(time, event);
        }
    }

    #[inline]
    fn tick(&mut self, done: (u64, u64)) -> Result<(), EngineError> {
        self.work += 1;
        if self.work.is_multiple_of(INTERVAL) { self.report(done) } else { Ok(()) }
    }

    fn ask(&mut self, done: (u64, u64)) -> ControlFlow<()> {
        let progress = self.progress(done);
        self.hook.as_mut().map_or(ControlFlow::Continue(()), |hook| hook(progress))
    }
}

#[cfg(test)]
mod tests;
