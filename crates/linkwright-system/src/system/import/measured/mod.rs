//! Reads what people measure by pairs of GPUs, and says which pairs and links it speaks of.
//!
//! [`read()`] takes what three programs print: `p2pBandwidthLatencyTest` of cuda-samples, `nvbandwidth` as text or
//! JSON, and `rocm-bandwidth-test`. [`with_measured`] gives a server the bandwidths in the place of those of its
//! data sheets. [`far_below`] names the pairs that reach much less than those that are joined as they are.
//!
//! The formats are those of these sources:
//! - <https://github.com/NVIDIA/cuda-samples>, `p2pBandwidthLatencyTest.cu`: v12.8, lines 638 (devices), 116 (who
//!   cannot access whom), 255 to 270 and 410 to 425 (matrices), 668 to 686 (titles). The titles are the same from
//!   v10.0 to v13.0.
//! - <https://github.com/NVIDIA/nvbandwidth>: v0.8, `inline_common.h` lines 56 to 98 and v0.4, `common.h` line 199
//!   (matrices), `testcases_ce.cpp` and `testcases_sm.cpp` (titles), `output.cpp` lines 90 and 166 (devices), 177
//!   (names of the tests), `json_output.cpp` (JSON, since v0.5).
//! - <https://github.com/ROCm/rocm_bandwidth_test>: rocm-6.3.3, `rocm_bandwidth_test_report.cpp` lines 242 to 320
//!   (matrices) and 336 to 357 (devices); roc-1.9.1, the same file, lines 240 to 290 (older titles).
//!
//! The GPUs of a file are those of the machine with the same PCI addresses, where both say them all, and else those
//! of the same number: CUDA numbers GPUs along the PCI bus, as `nvidia-smi` does, where they are of one model or
//! `CUDA_DEVICE_ORDER=PCI_BUS_ID` is set; HSA lists its agents in the driver's order.

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

/// Which program printed a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Of NVIDIA's cuda-samples.
    P2pBandwidthLatencyTest,
    /// NVIDIA's.
    Nvbandwidth,
    /// AMD's.
    RocmBandwidthTest,
}

impl Tool {
    /// Its name.
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
pub enum End {
    /// A GPU, by its number.
    Gpu(usize),
    /// The memory of a host's CPU, by its number.
    Host(usize),
}

/// What was measured between two ends. A GPU to itself is its own memory, of which both tools count what is read and
/// written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// Where the data comes from; of both directions at once, one of the two.
    pub from: End,
    /// Where it goes.
    pub to: End,
    /// GB/s (10^9 bytes), or of a latency microseconds; above zero.
    pub value: f64,
    /// Where the number stands.
    pub position: Position,
}

/// One matrix of a file, without the cells that hold no number.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    /// Its title as printed.
    pub title: String,
    /// Where the title stands.
    pub position: Position,
    /// What its numbers are.
    pub what: What,
    /// The numbers, row by row.
    pub cells: Vec<Cell>,
}

/// What a file says was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurements {
    /// The file's name.
    pub file: String,
    /// The program.
    pub tool: Tool,
    /// How many GPUs it numbered.
    pub gpus: usize,
    /// Where the GPUs sit, as far as the file says.
    pub places: BTreeMap<usize, PciPlace>,
    /// Pairs of GPUs that the file says cannot access each other.
    pub without_access: BTreeSet<(usize, usize)>,
    /// The matrices, in the file's order.
    pub matrices: Vec<Matrix>,
    /// What was skipped, each with its line.
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
/// No matrix, a cell that is no bandwidth, a matrix of more than 1,024 devices, GPUs of AMD without the list of
/// devices, JSON that is cut; with the place.
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
