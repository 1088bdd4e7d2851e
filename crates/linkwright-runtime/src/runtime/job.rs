//! Describes a job: a program with its place and its time.

use std::num::NonZeroU32;
use std::sync::Arc;

use crate::network::GpuIndex;
use crate::program::Program;
use crate::units::Picoseconds;

use super::gpu_kernel::GpuKernel;

/// A program that runs on some GPUs from some time on.
#[derive(Debug, Clone)]
pub struct ProgramJob {
    /// Names it for people, in errors and results.
    pub name: String,
    /// Holds the program of every rank; jobs that share it share the runtime's preparation.
    pub program: Arc<Program>,
    /// Gives the GPU of each rank; no two of its ranks share one. A GPU belongs to one job at a
    /// time. A job starts when it has arrived, all its GPUs are free, and no job that has waited
    /// longer wants one of them.
    pub mapping: Vec<GpuIndex>,
    /// When it arrives; at once where that has passed.
    pub start: Picoseconds,
    /// How often the main loop runs.
    ///
    /// The next iteration starts when each last operation of the loop is complete: no other
    /// operation of the loop depends on it. It is enough that such an operation has started where
    /// the operations behind the loop depend on no more. Requests that are still open may complete
    /// in a later iteration; operations behind the loop see those of the last.
    pub iterations: NonZeroU32,
    /// Multiplies the durations of computation: 0.5 computes twice as fast.
    pub computation_scale: f64,
    /// Gives the priority of its messages, where the network heeds it; the higher goes first.
    pub priority: u8,
    /// How long each of its copies may take, in thousandths of its time on an idle bus, where the
    /// network heeds it.
    pub deadline: Option<NonZeroU32>,
    /// How many copies each of its GPUs makes at once, in both directions; as many as the GPU has
    /// engines where absent.
    pub copies_at_once: Option<NonZeroU32>,
    /// Runs where its program says [`Operation::Kernel`](crate::program::Operation::Kernel).
    pub kernel: Option<Arc<dyn GpuKernel>>,
}

impl ProgramJob {
    /// A job that starts at once and runs its program as it is.
    #[must_use]
    pub fn new(program: &Arc<Program>, mapping: Vec<GpuIndex>) -> Self {
        Self {
            name: program.name.clone(),
            program: Arc::clone(program),
            mapping,
            start: Picoseconds(0),
            iterations: NonZeroU32::MIN,
            computation_scale: 1.0,
            priority: 0,
            deadline: None,
            copies_at_once: None,
            kernel: None,
        }
    }
}
