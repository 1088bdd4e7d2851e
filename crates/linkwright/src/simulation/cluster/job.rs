//! A job of a cluster before it has GPUs.

use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use std::sync::Arc;

use super::gpu_kernel::ClusterKernel;
use super::placement::Mapping;
use crate::program::Program;
use crate::runtime::{GpuKernel, ProgramJob};
use crate::units::Picoseconds;

/// A program that is to run on some GPUs from some time on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClusterJob {
    /// Names the job in errors and results.
    pub name: String,
    /// Holds the work of every rank; jobs that share it share the preparation of a replay.
    pub program: Arc<Program>,
    /// How often the main loop runs.
    pub iterations: NonZeroU32,
    /// Says when its ranks start.
    pub start: Picoseconds,
    /// Scales the durations of computation: 0.5 computes twice as fast.
    pub computation_scale: f64,
    /// Gives the priority of its messages, where the network heeds it; the higher first.
    pub priority: u8,
    /// How long each of its copies may take, in thousandths of its time on an idle bus, where the
    /// network heeds it.
    pub deadline: Option<NonZeroU32>,
    /// How its ranks find their GPUs; `None` leaves that to whoever places all jobs.
    pub mapping: Option<Mapping>,
    /// The kernel that its program runs, where that is one.
    pub kernel: Option<Arc<ClusterKernel>>,
}

impl ClusterJob {
    /// Returns the job of a replay, on the GPU of each rank.
    #[must_use]
    pub fn on(&self, mapping: Vec<u32>) -> ProgramJob {
        ProgramJob {
            name: self.name.clone(),
            program: Arc::clone(&self.program),
            mapping,
            start: self.start,
            iterations: self.iterations,
            computation_scale: self.computation_scale,
            priority: self.priority,
            deadline: self.deadline,
            copies_at_once: None,
            kernel: self.kernel.clone().map(|kernel| kernel as Arc<dyn GpuKernel>),
        }
    }
}
