//! Runs a simulation: one clock, one loop, events in time order, random numbers, progress.
//!
//! The engine knows nothing of the things that it simulates. Anything that lives in simulated time
//! is a [`Model`]: a handler of its own events, which asks a [`Scheduler`] for more. An [`Engine`]
//! owns the loop. It takes one event after another from its [`EventQueue`], and lets the model
//! settle when none is left at a time. It tells a [`Hook`] how far it is, and asks at the end
//! whether anything is undone. [`Random`] makes every choice by chance.
//!
//! Two promises hold everywhere. Events at one time run in the order in which they were scheduled.
//! The same seed gives the same numbers on any machine.

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
