//! How far a run is, and whether it should go on.
//!
//! A run may take hours, and a person may want a progress bar or press Ctrl-C. The engine
//! asks a hook of the caller's now and then; it knows neither bars nor signals.

use std::ops::ControlFlow;

use crate::units::Picoseconds;

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Counts the work that is done, in the unit of `total`: jobs, messages, instructions.
    pub done: u64,
    /// Counts the whole work. It is zero where nobody knows.
    pub total: u64,
    /// Gives the simulated time.
    pub time: Picoseconds,
    /// How many events were handled so far, for rates.
    pub events: u64,
}

/// Holds the callback that a run asks now and then; [`ControlFlow::Break`] ends the run.
pub type Hook<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;
