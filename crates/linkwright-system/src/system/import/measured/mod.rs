//! Reads what people measure by pairs of GPUs, and says which pairs and links it speaks of.
//!
//! [`read()`] takes what three programs print: `p2pBandwidthLatencyTest` of cuda-samples, `nvbandwidth` as text or
//! JSON, and `rocm-bandwidth-test`. [`with_measured`] gives a server the bandwidths in the place of those of its
//! data sheets. [`far_below`] names the pairs that reach much less than those that are joined as they are.
//!
//! The formats are those of these sources:
//! - <https://github.com/NVIDIA/cuda-samples> has `p2pBandwidthLatencyTest.cu`. At v12.8 it has
//!   devices in line 638, and who cannot access whom in 116. It has matrices in 255 to 270 and 410
//!   to 425, and titles in 668 to 686. The titles are the same from v10.0 to v13.0.
//! - <https://github.com/NVIDIA/nvbandwidth> has matrices in `inline_common.h` of v0.8, lines 56 to
//!   98, and in `common.h` of v0.4, line 199. `testcases_ce.cpp` and `testcases_sm.cpp` have the
//!   titles. `output.cpp` has devices in lines 90 and 166, and names of the tests in 177.
//!   `json_output.cpp` has the JSON, since v0.5.
//! - <https://github.com/ROCm/rocm_bandwidth_test> has `rocm_bandwidth_test_report.cpp`. At
//!   rocm-6.3.3 it has matrices in lines 242 to 320 and devices in 336 to 357. At roc-1.9.1 the
//!   same file has older titles in lines 240 to 290.
//!
//! The GPUs of a file are those of the machine with the same PCI addresses, where both say them
//! all. Else they are those of the same number. CUDA numbers GPUs along the PCI bus, as
//! `nvidia-smi` does, where they are of one model or `CUDA_DEVICE_ORDER=PCI_BUS_ID` is set. HSA
//! lists its agents in the driver's order.

mod devices;
mod json;
mod likes;
mod links;
mod matching;
mod tables;
mod text;
mod titles;

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnostic::{InputError, Position};

pub use devices::PciPlace;
pub use likes::{FAR_BELOW, SlowPair, far_below};
pub use links::{MeasuredServer, TakenLink, with_measured};
pub use tables::{slow_table, taken_table};
pub use titles::{Copier, Quantity, What};

/// Names the program that printed a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Is of NVIDIA's cuda-samples.
    P2pBandwidthLatencyTest,
    /// Is NVIDIA's.
    Nvbandwidth,
    /// Is AMD's.
    RocmBandwidthTest,
}

impl Tool {
    /// Gives its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::P2pBandwidthLatencyTest => "p2pBandwidthLatencyTest",
            Self::Nvbandwidth => "nvbandwidth",
            Self::RocmBandwidthTest => "rocm-bandwidth-test",
        }
    }
}

/// Where data comes from or goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MeasuredEnd {
    /// Is a GPU, by its number.
    Gpu(usize),
    /// Is the memory of a host's CPU, by its number.
    Host(usize),
}

/// Holds what was measured between two ends. A GPU to itself is its own memory, where both tools
/// count what is read and written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// Where the data comes from; of both directions at once, one of the two.
    pub from: MeasuredEnd,
    /// Where it goes.
    pub to: MeasuredEnd,
    /// Is in GB/s (10^9 bytes), or of a latency in microseconds; above zero.
    pub value: f64,
    /// Where the number stands.
    pub position: Position,
}

/// Holds one matrix of a file, without the cells that hold no number.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    /// Is its title as printed.
    pub title: String,
    /// Where the title stands.
    pub position: Position,
    /// Says what its numbers are.
    pub what: What,
    /// Holds the numbers, row by row.
    pub cells: Vec<Cell>,
}

/// Holds what a file says was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurements {
    /// Is the file's name.
    pub file: String,
    /// Is the program.
    pub tool: Tool,
    /// Counts the GPUs that it numbered.
    pub gpus: usize,
    /// Where the GPUs sit, as far as the file says.
    pub places: BTreeMap<usize, PciPlace>,
    /// Pairs of GPUs that the file says cannot access each other.
    pub without_access: BTreeSet<(usize, usize)>,
    /// Holds the matrices, in the file's order.
    pub matrices: Vec<Matrix>,
    /// Says what was skipped, each with its line.
    pub notes: Vec<String>,
}

/// A matrix has at most this number of rows and columns.
pub const MOST_DEVICES: usize = 1024;
/// A file has at most this number of cells.
const MOST_CELLS: usize = 1 << 22;
/// No link and no memory is so fast, GB/s; no copy takes so long, µs.
const MOST_VALUE: f64 = 1e6;

/// Whether a text looks like what one of the programs prints.
#[must_use]
pub fn looks_measured(text: &str) -> bool {
    json::start(text).is_some() || text.lines().any(titles::is_in)
}

/// Reads what was measured by pairs; `file` names the text in errors. Colour codes, quotation marks and what `srun -l`
/// or `mpirun` put before lines make no difference. A text that was cut keeps its whole rows.
///
/// # Errors
/// No matrix is an error, as is a cell that is no bandwidth, or a matrix of more than 1,024
/// devices. So are GPUs of AMD without the list of devices, and JSON that is cut. The error has the
/// place.
pub fn read(file: &str, text: &str) -> Result<Measurements, InputError> {
    let found = match json::start(text) {
        Some(start) => json::read(file, text, start)?,
        None => text::read(file, text)?,
    };
    if found.matrices.iter().all(|matrix| matrix.cells.is_empty()) {
        let start =
            found.matrices.first().map_or(Position { line: 1, column: 1 }, |it| it.position);
        let problem = "the text has no matrix of what pairs of GPUs reach";
        let remedy = "give what p2pBandwidthLatencyTest, nvbandwidth or rocm-bandwidth-test prints";
        let first = text.lines().nth(start.line - 1).unwrap_or_default().trim();
        return Err(InputError::at(file, start, problem, first, remedy));
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
