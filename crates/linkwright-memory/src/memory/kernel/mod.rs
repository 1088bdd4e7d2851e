//! Holds kernels: the work of every wavefront of a launch, written once and run with or without
//! data.
//!
//! A kernel is an `async` function of one wavefront of 64 work-items. It asks the GPU for things
//! that take time (an instruction, a load, a barrier) and awaits them. The compiler makes the state
//! machine. The holder of the wavefronts decides how long things take. It is the timed model, or
//! [`flat`], which runs a launch on memory alone. This leaves out registers and their pressure, and
//! divergence within an instruction (work-items are switched off). It also leaves out the content
//! of the code: only its length is known.
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

/// Counts the work-items of a wavefront.
pub const LANES: usize = 64;
