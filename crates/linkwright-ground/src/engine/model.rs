//! Describes a model that lives in simulated time, and the scheduler that hands out time to it.

use std::marker::PhantomData;
use std::ops::ControlFlow;

use super::run::EngineError;
use crate::units::Picoseconds;

/// Stands for a part of the simulated world: it handles its own events.
///
/// A model never takes an event itself: [`Engine`](super::Engine) owns the loop, and the model
/// asks its [`Scheduler`] for more. A model may hold others, as programs hold the network they run
/// on: its events then wrap theirs, and it passes theirs on through [`Within`].
///
/// ```
/// use linkwright_ground::engine::{Engine, EngineError, Model, Scheduler};
/// use linkwright_ground::units::Picoseconds;
///
/// /// A candle that loses an inch an hour.
/// struct Candle { inches: u32 }
///
/// #[derive(Clone, Copy)]
/// struct Burnt;
///
/// impl Model for Candle {
///     type Event = Burnt;
///     type Error = EngineError;
///     const SETTLES: bool = false;
///
///     fn handle(
///         &mut self,
///         _: Burnt,
///         scheduler: &mut impl Scheduler<Burnt>,
///     ) -> Result<(), EngineError> {
///         self.inches -= 1;
///         if self.inches > 0 {
///             scheduler.schedule_in(Picoseconds(3_600), Burnt);
///         }
///         Ok(())
///     }
/// }
///
/// let mut candle = Candle { inches: 5 };
/// let mut engine = Engine::unwatched();
/// engine.schedule(Picoseconds(3_600), Burnt);
/// engine.run(&mut candle)?;
/// assert_eq!((candle.inches, engine.now()), (0, Picoseconds(5 * 3_600)));
/// # Ok::<(), EngineError>(())
/// ```
pub trait Model {
    /// Describes an event that happens to it.
    type Event: Copy;
    /// Why it cannot go on.
    type Error: From<EngineError>;

    /// An event's time has come.
    ///
    /// # Errors
    /// Fails with the error that ends the run. The model is of no use afterwards.
    fn handle(
        &mut self,
        event: Self::Event,
        scheduler: &mut impl Scheduler<Self::Event>,
    ) -> Result<(), Self::Error>;

    /// Whether the model settles at all. One that does not pays nothing for the others.
    const SETTLES: bool;

    /// Works out the consequences of all events at the current time together, once, when none is
    /// left. It may schedule more at the current time, and settles again after that.
    ///
    /// Returns when the model next does something by itself, without an event, the current time
    /// included: it settles then, if no event comes before. None where events alone move it.
    ///
    /// # Errors
    /// Fails as [`Model::handle`] does.
    fn settle(
        &mut self,
        scheduler: &mut impl Scheduler<Self::Event>,
    ) -> Result<Option<Picoseconds>, Self::Error> {
        let _ = scheduler;
        Ok(None)
    }

    /// Nothing is left to happen: the watchdog asks whether anything is left undone.
    ///
    /// # Errors
    /// Names the thing that waits for ever, and for which event.
    fn at_rest(&self, now: Picoseconds) -> Result<(), Self::Error> {
        let _ = now;
        Ok(())
    }

    /// How much is done, and of how much; the second is zero where nobody knows.
    fn done(&self) -> (u64, u64) {
        (0, 0)
    }
}

/// Hands out time to a model.
pub trait Scheduler<E> {
    /// Returns the current time.
    fn now(&self) -> Picoseconds;

    /// Schedules an event, at the current time or later. Events at one time happen in the order in
    /// which they were scheduled.
    ///
    /// An event in the past, or after the last time that is counted, ends the run. It ends as soon
    /// as the model has handled the current event. A model that could go on without it would be
    /// wrong.
    fn schedule(&mut self, time: Picoseconds, event: E);

    /// Puts an event after a span of time.
    fn schedule_in(&mut self, span: Picoseconds, event: E) {
        self.schedule(Picoseconds(self.now().0.saturating_add(span.0)), event);
    }

    /// Counts a piece of work that is no event, so that a long chain of them can be interrupted
    /// too; `done` is that of [`Model::done`].
    ///
    /// # Errors
    /// [`EngineError::Interrupted`] where the caller wants the run to end.
    fn tick(&mut self, done: (u64, u64)) -> Result<(), EngineError>;

    /// Asks the caller at once whether to go on, from within a work that takes long.
    fn ask(&mut self, done: (u64, u64)) -> ControlFlow<()>;
}

/// A whole's scheduler as its part sees it: the part's events become the whole's.
#[derive(Debug)]
pub struct Within<'a, S, W> {
    whole: &'a mut S,
    event: PhantomData<W>,
}

impl<'a, W, S: Scheduler<W>> Within<'a, S, W> {
    /// Makes the view of a part.
    pub fn new(whole: &'a mut S) -> Self {
        Self { whole, event: PhantomData }
    }
}

impl<E, W: From<E>, S: Scheduler<W>> Scheduler<E> for Within<'_, S, W> {
    #[inline]
    fn now(&self) -> Picoseconds {
        self.whole.now()
    }

    #[inline]
    fn schedule(&mut self, time: Picoseconds, event: E) {
        self.whole.schedule(time, W::from(event));
    }

    fn tick(&mut self, done: (u64, u64)) -> Result<(), EngineError> {
        self.whole.tick(done)
    }

    fn ask(&mut self, done: (u64, u64)) -> ControlFlow<()> {
        self.whole.ask(done)
    }
}
