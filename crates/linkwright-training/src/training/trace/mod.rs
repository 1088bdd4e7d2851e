//! Reads measured kernels of a step from a trace of PyTorch's profiler.
//!
//! Kineto writes events of the Chrome trace format, gzipped or not. They are of kernels on the GPU, of their launches on the
//! host, and of the operators that launched them. [`KernelTrace::read`] reads them one by one and keeps compact records. It gives each kernel its
//! kind ([`KernelKind`]), its pass and its step, and sums up.
//!
//! A step is what the host launches within an annotation `ProfilerStep#`. On the GPU it lasts from its first kernel to that of
//! the next step. A trace without such annotations is one step. Kernels launched before the trace began are in no
//! step. A kernel belongs to the backward pass if a thread launched it on which gradients are calculated, or else if its name
//! says so.
//!
//! The GPU idles where no kernel, copy or collective runs. The host holds it up then for as long as it has not yet launched the
//! next one.

mod event;
mod kinds;
mod reader;
mod records;
mod spans;
mod steps;
#[cfg(test)]
mod tests;

use std::io::Read;

use serde::{Deserialize, Serialize};

use crate::diagnostic::{InputError, Position};
use crate::units::Picoseconds;

pub use kinds::KernelKind;

/// Sums up the kernels of one kind and pass on one stream, over all steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedKernels {
    /// They are of this kind.
    pub kind: KernelKind,
    /// Tells whether they belong to the backward pass.
    pub is_backward: bool,
    /// Numbers the stream of the GPU.
    pub stream: u32,
    /// Counts them.
    pub count: u64,
    /// Sums up their times.
    pub time: Picoseconds,
}

/// Sums up the products of one shape and pass, over all steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedProducts {
    /// Counts rows and columns of the result, and terms of each sum.
    pub shape: [u64; 3],
    /// Tells whether they belong to the backward pass.
    pub is_backward: bool,
    /// Counts operators.
    pub count: u64,
    /// Sums up their kernels' times.
    pub time: Picoseconds,
}

/// Sums up alike collectives, over all steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedCollectives {
    /// The trace calls it so; the kernel's name where it says no more.
    pub name: String,
    /// Names the group of ranks; empty where the trace does not.
    pub group: String,
    /// Counts the ranks of the group.
    pub group_size: Option<u64>,
    /// Counts the numbers that a rank gives.
    pub elements: Option<u64>,
    /// Names the kind of number; empty where the trace does not.
    pub number: String,
    /// Numbers the stream of the GPU.
    pub stream: u32,
    /// Counts them.
    pub count: u64,
    /// Sums up their times.
    pub time: Picoseconds,
}

/// Divides the time of a trace's steps; the first four parts sum to the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TracedTime {
    /// Sums up the time in which a kernel or a copy ran.
    pub computing: Picoseconds,
    /// Sums up the time in which only collectives ran.
    pub exposed: Picoseconds,
    /// Nothing ran, and the host had not launched the next kernel.
    pub host: Picoseconds,
    /// Nothing ran, though the next kernel was launched, or nobody knows.
    pub waiting: Picoseconds,
    /// Collectives ran, whatever else did.
    pub collectives: Picoseconds,
}

impl TracedTime {
    /// Gives the time of all steps.
    #[must_use]
    pub const fn whole(&self) -> Picoseconds {
        let busy = self.computing.0.saturating_add(self.exposed.0);
        Picoseconds(busy.saturating_add(self.host.0).saturating_add(self.waiting.0))
    }
}

/// Sums up a GPU's kernels in the steps of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelTrace {
    /// Counts the events of the file.
    pub events: u64,
    /// Counts the steps over which all times are summed.
    pub steps: u64,
    /// Whether the trace says where steps begin.
    pub names_steps: bool,
    /// The rank that wrote it, where it says which.
    pub rank: Option<u64>,
    /// Names the GPU; empty where the trace does not.
    pub gpu: String,
    /// Counts the ranks of the job, where it says how many.
    pub ranks: Option<u64>,
    /// Lists kernels, copies and collectives by kind, pass and stream.
    pub kernels: Vec<TracedKernels>,
    /// Lists the products whose shapes were recorded.
    pub products: Vec<TracedProducts>,
    /// Lists collectives.
    pub collectives: Vec<TracedCollectives>,
    /// Names kernels that no rule knows, with their times, the longest first.
    pub unknown: Vec<(String, Picoseconds)>,
    /// Divides the time of the steps.
    pub time: TracedTime,
    /// Says what was left out.
    pub skipped: Vec<String>,
}

impl KernelTrace {
    /// Reads a trace; `file` names it in errors. Memory does not grow with the file beyond some hundreds of megabytes.
    ///
    /// # Errors
    /// A file that is cut off, is no JSON, is another profiler's, or holds nothing of a GPU, with line and column.
    pub fn read(file: &str, input: impl Read) -> Result<Self, InputError> {
        let records = reader::read(file, input)?;
        if records.kernels.is_empty() {
            let position = Position { line: 1, column: 1 };
            let (problem, remedy) = if records.is_pytorch {
                let problem = "the trace holds nothing that ran on a GPU";
                (
                    problem,
                    "profile with ProfilerActivity.CUDA, and within steps that train on a GPU",
                )
            } else {
                let problem = "this is no trace of PyTorch's profiler: no event is a kernel";
                (problem, "export one by torch.profiler.profile(...).export_chrome_trace(FILE)")
            };
            return Err(InputError::at(file, position, problem, "", remedy));
        }
        steps::summed(file, records)
    }

    /// Sums up the times of a kind's kernels in a pass.
    #[must_use]
    pub fn time_of(&self, is_kind: impl Fn(KernelKind) -> bool, is_backward: bool) -> Picoseconds {
        let own = self.kernels.iter();
        let own = own.filter(|it| is_kind(it.kind) && it.is_backward == is_backward);
        sum(own)
    }

    /// Gives the part of the GPU's time whose kernels were recognised.
    #[must_use]
    pub fn recognised(&self) -> f64 {
        let all = sum(self.kernels.iter()).0;
        let unknown = sum(self.kernels.iter().filter(|it| it.kind == KernelKind::Other)).0;
        if all == 0 { 0.0 } else { 1.0 - unknown as f64 / all as f64 }
    }
}

/// Sums up times; a hostile trace may have too many.
fn sum<'a>(kernels: impl Iterator<Item = &'a TracedKernels>) -> Picoseconds {
    Picoseconds(kernels.fold(0, |all, it| all.saturating_add(it.time.0)))
}
