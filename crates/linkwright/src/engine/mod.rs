//! What drives a simulation: events in time order, random numbers, progress.
//!
//! The engine knows nothing of what it simulates. A run is an [`EventQueue`] from which
//! the simulator takes one event after another, a [`Random`] for every choice by chance,
//! and a [`Ticker`] that tells the caller how far it is and asks whether to go on.
//!
//! Two promises hold everywhere: events at one time run in the order in which they were
//! scheduled, and the same seed gives the same numbers on any machine.

pub mod progress;
pub mod queue;
pub mod random;

pub use progress::{Hook, Progress, Ticker};
pub use queue::{EventQueue, PastEvent};
pub use random::Random;
