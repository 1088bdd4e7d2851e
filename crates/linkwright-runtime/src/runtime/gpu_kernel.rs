//! Says what a runtime asks of a kernel that runs in the memory of GPUs.
//!
//! A kernel is a simulation with a queue of events of its own. The runtime has the clock: it asks a kernel
//! when it next does something, and lets it catch up when that time has come. A kernel's messages between GPUs
//! are those of the runtime's network.

use std::fmt::Debug;

use crate::diagnostic::Diagnosis;
use crate::network::{DeviceIndex, GpuIndex, MemoryClass};
use crate::system::System;
use crate::units::{Bytes, Picoseconds};

/// A kernel that a job may run.
pub trait GpuKernel: Debug + Send + Sync {
    /// Makes what it runs on GPUs of a system, which stays the same however often it runs.
    ///
    /// # Errors
    /// GPUs that it cannot run on, and buffers that their memory does not hold.
    fn prepare(
        &self,
        system: &System,
        gpus: &[GpuIndex],
    ) -> Result<Box<dyn PreparedGpuKernel>, Diagnosis>;
}

/// A kernel on its GPUs, before it runs.
pub trait PreparedGpuKernel {
    /// Begins a run, whose own time is zero.
    ///
    /// # Errors
    /// Fails as [`GpuKernel::prepare`] does.
    fn begin(&self) -> Result<Box<dyn GpuKernelRun + '_>, Diagnosis>;
}

/// A message of a kernel, from the moment at which it leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GpuKernelMessage {
    /// Where it starts and ends.
    pub ends: [DeviceIndex; 2],
    /// The rank of the GPU at which it starts; None of the host.
    pub rank: Option<u32>,
    /// Tells it apart from others.
    pub class: MemoryClass,
    /// How much it carries, its own header with it.
    pub size: Bytes,
    /// Names it to the kernel.
    pub what: u32,
}

/// Plays a kernel, in its own time.
pub trait GpuKernelRun {
    /// When it next does something by itself; None where it waits for messages, or is over.
    fn next(&self) -> Option<Picoseconds>;

    /// Plays all that happens up to a time, with that time, and adds what it sends to a list.
    ///
    /// # Errors
    /// A kernel that takes longer than it may.
    fn advance(
        &mut self,
        now: Picoseconds,
        sends: &mut Vec<GpuKernelMessage>,
    ) -> Result<(), Diagnosis>;

    /// Tells that a message has arrived now; [`advance`](Self::advance) plays what follows.
    fn arrive(&mut self, what: u32, now: Picoseconds);

    /// Whether it has ended.
    fn is_over(&self) -> bool;

    /// Says what waits for what never comes.
    ///
    /// # Errors
    /// Fails where wavefronts wait for ever.
    fn at_rest(&self) -> Result<(), Diagnosis>;
}
