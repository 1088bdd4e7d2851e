//! A run on somebody else's clock, whose messages somebody else carries.
//!
//! The run keeps its own events in its own queue, and never looks ahead. Whoever has the clock asks when
//! the next is due ([`SteppedRun::next`]). It lets the run catch up when that time has come
//! ([`SteppedRun::advance`]). Messages to another GPU or to the host are handed over, and the run hears when one
//! is there ([`SteppedRun::arrive`]).

use super::crossing::Leaving;
use super::error::GpuRunError;
use super::protocol::CoherenceProtocol;
use super::run::GpuRun;
use super::system::{Event, Gpus};
use crate::engine::{Engine, Model, Scheduler, Within};
use crate::units::Picoseconds;

/// A run that is played step by step. Its time begins at zero.
pub trait SteppedRun {
    /// Says when the run next does something by itself; None where it waits for messages, or is over.
    fn next(&self) -> Option<Picoseconds>;

    /// Plays all that happens up to a time, with that time, and adds what leaves for the network to a list.
    /// Nothing may be due before that time that was not played.
    ///
    /// # Errors
    /// A run that takes longer than it may.
    fn advance(&mut self, now: Picoseconds, left: &mut Vec<Leaving>) -> Result<(), GpuRunError>;

    /// Tells that a message has arrived now; [`advance`](Self::advance) plays what follows.
    fn arrive(&mut self, what: u32, now: Picoseconds);

    /// Whether all steps are done.
    fn is_over(&self) -> bool;

    /// Says what waits for what never comes.
    ///
    /// # Errors
    /// Fails for wavefronts that wait for ever.
    fn at_rest(&self) -> Result<(), GpuRunError>;

    /// Gives what the run has done.
    fn finish(self: Box<Self>) -> GpuRun;
}

/// Hands events on to GPUs.
///
/// It does so by a scheduler of another type. The compiler makes a second copy of the model for that, and one loop
/// for each. Shared by two loops, neither would have the model within it. A run would take 1.15 times as long.
struct Steps<'w, P: CoherenceProtocol>(Gpus<'w, P>);

impl<P: CoherenceProtocol> Model for Steps<'_, P> {
    type Event = Event;
    type Error = GpuRunError;
    const SETTLES: bool = false;

    fn handle(
        &mut self,
        event: Event,
        scheduler: &mut impl Scheduler<Event>,
    ) -> Result<(), GpuRunError> {
        self.0.handle(event, &mut Within::<_, Event>::new(scheduler))
    }
}

/// Holds GPUs with the queue of their events.
pub(super) struct Stepped<'w, P: CoherenceProtocol> {
    steps: Steps<'w, P>,
    engine: Engine<'static, Event>,
}

impl<'w, P: CoherenceProtocol> Stepped<'w, P> {
    /// Begins at time zero.
    pub(super) fn new(gpus: Gpus<'w, P>) -> Self {
        let mut engine = Engine::unwatched();
        engine.schedule(Picoseconds(0), Event::Phase);
        Self { steps: Steps(gpus), engine }
    }
}

impl<P: CoherenceProtocol> SteppedRun for Stepped<'_, P> {
    fn next(&self) -> Option<Picoseconds> {
        self.engine.next_time()
    }

    fn advance(&mut self, now: Picoseconds, left: &mut Vec<Leaving>) -> Result<(), GpuRunError> {
        while self.engine.next_time().is_some_and(|next| next <= now) {
            self.engine.step(&mut self.steps)?;
        }
        self.steps.0.links.leave(left);
        Ok(())
    }

    fn arrive(&mut self, what: u32, now: Picoseconds) {
        self.engine.schedule(now, Event::Arrive(what));
    }

    fn is_over(&self) -> bool {
        self.steps.0.phases.are_over()
    }

    fn at_rest(&self) -> Result<(), GpuRunError> {
        self.steps.0.at_rest(self.engine.now())
    }

    fn finish(self: Box<Self>) -> GpuRun {
        let Self { steps, engine } = *self;
        steps.0.result(engine.now(), engine.events())
    }
}
