//! Kernels: what every wavefront of a launch does, written once and run with or without data.
//!
//! What it represents: a kernel is an `async` function of one wavefront of 64 work-items. It asks
//! the GPU for what takes time (an instruction, a load, a barrier) and awaits it; the compiler
//! makes the state machine. Whoever holds the wavefronts decides how long things take: the timed
//! model, or [`flat`], which runs a launch on memory alone. What it leaves out: registers and
//! their pressure, divergence within an instruction (work-items are switched off), and what the
//! code says, of which only the length is known.
//!
//! Decision 0046 compares this with a builder, state machines by hand and an instruction set.

pub mod benchmarks;
pub mod flat;
mod lanes;
pub mod recorded;
mod wavefront;
mod workload;

pub use lanes::{Lanes, PerLane};
pub use wavefront::{
    AtomicOperation, LoadTimes, Loaded, Posted, Scope, Values, Wavefront, WavefrontOperation,
    WavefrontPlace, WavefrontProgram, WavefrontState,
};
pub use workload::{
    Check, Image, KernelBuffer, KernelCode, KernelWorkload, Launch, Layout, Mismatch,
};

/// Work-items of a wavefront.
pub const LANES: usize = 64;
