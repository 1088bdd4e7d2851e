//! What drives a simulation: one clock, one loop, events in time order, random numbers, progress.
//!
//! The engine knows nothing of what it simulates. What lives in simulated time is a [`Model`]: a
//! handler of its own events, which asks a [`Scheduler`] for more. An [`Engine`] owns the loop: it
//! takes one event after another from its [`EventQueue`], lets the model settle when none is left
//! at a time, tells a [`Hook`] how far it is, and asks at the end whether anything is undone.
//! [`Random`] makes every choice by chance.
//!
//! Two promises hold everywhere: events at one time run in the order in which they were
//! scheduled, and the same seed gives the same numbers on any machine.

pub mod model;
pub mod progress;
pub mod queue;
pub mod random;
pub mod run;

pub use model::{Model, Scheduler, Within};
pub use progress::{Hook, Progress};
pub use queue::{EventQueue, PastEvent};
pub use random::{Random, mixed};
pub use run::{Engine, EngineError};
