//! How much work a decision may do, and whether it should go on.
//!
//! Work is counted, not timed, so that a decision comes out the same on every machine. The
//! same count asks the caller, several times a second, whether a person still waits.

use std::ops::ControlFlow;

/// The work that is left, in steps: a step is about what placing one vertex takes, some
/// 0.2 µs.
pub struct Effort<'a> {
    left: u64,
    since_asked: u64,
    stopped: bool,
    go_on: Option<&'a mut dyn FnMut() -> ControlFlow<()>>,
}

impl<'a> Effort<'a> {
    /// How many steps one decision may take before it settles for the best match found:
    /// about a second.
    pub const LIMIT: u64 = 5_000_000;

    /// Counts the steps between two questions whether to go on.
    pub const INTERVAL: u64 = 65_536;

    /// Allows [`Self::LIMIT`] steps that nobody interrupts.
    #[must_use]
    pub fn new() -> Self {
        Self { left: Self::LIMIT, since_asked: 0, stopped: false, go_on: None }
    }

    /// Allows a number of steps, which nobody interrupts.
    #[must_use]
    pub fn of(steps: u64) -> Self {
        Self { left: steps, ..Self::new() }
    }

    /// [`Self::LIMIT`] steps; [`ControlFlow::Break`] ends the work early.
    #[must_use]
    pub fn interruptible(go_on: &'a mut dyn FnMut() -> ControlFlow<()>) -> Self {
        Self { go_on: Some(go_on), ..Self::new() }
    }

    /// Takes `steps` steps from the rest, or all of the rest where it is less.
    #[inline]
    pub fn spend(&mut self, steps: u64) {
        self.left = self.left.saturating_sub(steps);
        self.pass(steps);
    }

    /// Counts work towards the next question, but takes nothing from the rest. Such work has a
    /// result that is kept for later decisions, and these must not come out differently because of
    /// it.
    #[inline]
    pub fn pass(&mut self, steps: u64) {
        self.since_asked += steps;
        if self.since_asked >= Self::INTERVAL {
            self.ask();
        }
    }

    #[cold]
    fn ask(&mut self) {
        self.since_asked = 0;
        if self.go_on.as_mut().is_some_and(|go_on| go_on().is_break()) {
            self.stopped = true;
            self.left = 0;
        }
    }

    /// How many steps are left.
    #[must_use]
    pub const fn left(&self) -> u64 {
        self.left
    }

    /// Says whether nothing is left. Then the result may not be the best.
    #[must_use]
    pub const fn is_spent(&self) -> bool {
        self.left == 0
    }

    /// Says whether the caller ended the work. Then the result is to be thrown away.
    #[must_use]
    pub const fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Allows [`Self::LIMIT`] steps again, for the next question, unless the caller ended it.
    pub const fn renew(&mut self) {
        if !self.stopped {
            self.left = Self::LIMIT;
        }
    }
}

impl Default for Effort<'_> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_asks_now_and_then_and_ends_when_told() {
        let mut asked = 0;
        let mut go_on = || {
            asked += 1;
            if asked == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let mut effort = Effort::interruptible(&mut go_on);
        let mut steps = 0;
        while !effort.is_spent() {
            effort.spend(1);
            steps += 1;
        }
        assert_eq!(steps, 3 * Effort::INTERVAL);
        assert!(effort.is_stopped());
        effort.renew();
        assert!(effort.is_spent(), "what was ended stays ended");
        assert_eq!(asked, 3);
    }

    #[test]
    fn it_is_spent_after_its_limit() {
        let mut effort = Effort::new();
        effort.spend(Effort::LIMIT - 1);
        assert!(!effort.is_spent());
        effort.spend(7);
        assert!(effort.is_spent() && !effort.is_stopped());
        effort.renew();
        assert_eq!(effort.left(), Effort::LIMIT);
    }
}
