//! Holds what several files say, and which files they were.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::debug::DebugLog;
use super::inspected::Inspected;
use super::inspector::InspectorRun;
use crate::collectives::graph_file::GraphFile;
use crate::collectives::nccl::nccl_tests::NcclTestsLog;
use crate::system::System;

/// A file is of one of these formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Format {
    /// Is what a job printed: nccl-tests, lines of `NCCL_DEBUG`, or both.
    Log,
    /// Describes a machine: NCCL's topology, or the matrix of `nvidia-smi topo -m` and its like.
    Machine,
    /// Is NCCL's dump of the graphs that it found.
    Graphs,
    /// Holds NCCL Inspector's lines of JSON.
    Inspector,
    /// Holds NCCL Inspector's metrics for Prometheus.
    InspectorPrometheus,
    /// Matrices of what pairs of GPUs reach.
    Pairs,
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadFile {
    /// It has this name.
    pub name: String,
    /// It is of this format.
    pub format: Format,
    /// Counts its lines.
    pub lines: u64,
    /// Counts its bytes.
    pub bytes: u64,
    /// Lines that look like those of the format, and could not be read.
    pub skipped: u64,
    /// Says what a person should know, with the line that it is about.
    pub notes: Vec<(u64, String)>,
}

/// Holds a job, with its measurements and with NCCL's lines on it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LoggedRun {
    /// The table of nccl-tests, where there is one.
    pub tests: Option<NcclTestsLog>,
    /// Holds NCCL's lines.
    pub debug: DebugLog,
}

/// A file that holds matrices of pairs, as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairMatrices {
    /// The file has this name.
    pub file: String,
    /// It reads so.
    pub text: String,
}

/// Holds what all files say.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Evidence {
    /// Lists the files, in the order of reading.
    pub files: Vec<ReadFile>,
    /// Lists the jobs, in the order of their files and lines.
    pub runs: Vec<LoggedRun>,
    /// Holds what NCCL Inspector measured.
    pub inspector: Vec<InspectorRun>,
    /// Its operations: a rank of each may stand in another file.
    pub inspected: Inspected,
    /// Machines, with the names of their files.
    pub machines: Vec<(String, Arc<System>)>,
    /// Holds graphs of NCCL's dumps.
    pub graphs: Vec<(String, GraphFile)>,
    /// Holds files of matrices of pairs.
    pub pairs: Vec<PairMatrices>,
}
