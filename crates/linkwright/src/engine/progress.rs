//! How far a run is, and whether it should go on.
//!
//! A run may take hours, and a person may want a progress bar or press Ctrl-C. The engine
//! asks a hook of the caller's now and then; it knows neither bars nor signals.

use std::ops::ControlFlow;

use crate::units::Picoseconds;

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is done, in the unit of `total`: jobs, messages, instructions.
    pub done: u64,
    /// What there is to do; zero where nobody knows.
    pub total: u64,
    /// The simulated time.
    pub time: Picoseconds,
    /// How many events were handled so far, for rates.
    pub events: u64,
}

/// What a run asks now and then; [`ControlFlow::Break`] ends the run.
pub type Hook<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// Counts events, and asks the hook at every 65,536th.
///
/// A simulator handles some millions of events per second, so that the hook runs many
/// times per second and its cost cannot be measured.
///
/// ```
/// use std::ops::ControlFlow;
/// use linkwright::engine::{Progress, Ticker};
/// use linkwright::units::Picoseconds;
///
/// let mut calls = 0;
/// let mut hook = |_: Progress| { calls += 1; ControlFlow::Continue(()) };
/// let mut ticker = Ticker::new();
/// for event in 0..200_000 {
///     let time = Picoseconds(event);
///     let progress = || Progress { done: event, total: 200_000, time, events: event };
///     if ticker.tick(&mut hook, progress).is_break() {
///         break;
///     }
/// }
/// assert_eq!(calls, 3);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Ticker {
    events: u64,
}

impl Ticker {
    /// How many events lie between two questions.
    pub const INTERVAL: u64 = 65_536;

    /// A ticker that has counted nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts one event; at every [`Ticker::INTERVAL`]th makes the progress and asks the hook.
    pub fn tick(&mut self, hook: Hook<'_>, progress: impl FnOnce() -> Progress) -> ControlFlow<()> {
        self.events += 1;
        if self.events.is_multiple_of(Self::INTERVAL) {
            hook(progress())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Notes how many events there were in all, for a run that counts them itself; asks the
    /// hook where a multiple of [`Ticker::INTERVAL`] was reached since the last call.
    pub fn reach(
        &mut self,
        events: u64,
        hook: Hook<'_>,
        progress: impl FnOnce() -> Progress,
    ) -> ControlFlow<()> {
        let asked = self.events / Self::INTERVAL;
        self.events = self.events.max(events);
        if self.events / Self::INTERVAL > asked {
            hook(progress())
        } else {
            ControlFlow::Continue(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_counts_itself_is_asked_at_each_interval() {
        let mut asked = Vec::new();
        let mut ticker = Ticker::new();
        for events in [0, 65_535, 65_536, 65_537, 400_000, 400_001, 458_752] {
            let progress = || Progress { done: events, total: 0, time: Picoseconds(0), events };
            let mut hook = |progress: Progress| {
                asked.push(progress.done);
                ControlFlow::Continue(())
            };
            assert!(ticker.reach(events, &mut hook, progress).is_continue());
        }
        assert_eq!(asked, [65_536, 400_000, 458_752]);
    }

    #[test]
    fn a_break_of_the_hook_reaches_the_run() {
        let mut seen = Vec::new();
        let mut hook = |progress: Progress| {
            seen.push(progress.done);
            if seen.len() == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let mut ticker = Ticker::new();
        let stopped = (1..=1_000_000_u64).find(|done| {
            let time = Picoseconds(0);
            let progress = || Progress { done: *done, total: 0, time, events: *done };
            ticker.tick(&mut hook, progress).is_break()
        });
        assert_eq!(stopped, Some(2 * Ticker::INTERVAL));
        assert_eq!(seen, [Ticker::INTERVAL, 2 * Ticker::INTERVAL]);
    }
}
