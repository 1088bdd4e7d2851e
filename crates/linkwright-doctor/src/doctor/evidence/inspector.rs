//! Holds what NCCL Inspector measured.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::line::Line;

/// Says what operations of one size took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InspectorRow {
    /// The data has this number of bytes, as nccl-tests counts it: of all ranks for all-gather and reduce-scatter.
    pub size: u64,
    /// Sizes go up to this one, where the file gives a range; else it equals `size`.
    pub most: u64,
    /// How many operations were measured.
    pub count: u64,
    /// Is in seconds of the fastest rank: the median over the operations. Slower ranks wait for
    /// others within their time.
    pub time: f64,
    /// Is in seconds of the fastest operation.
    pub least: f64,
    /// Ranks that reported the operation that has most reports.
    pub reports: u32,
    /// Is the first line of this size.
    pub line: Line,
}

/// Holds what NCCL Inspector measured of one collective on one communicator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InspectorRun {
    /// Is NCCL's name of the collective: `AllReduce`.
    pub collective: String,
    /// The communicator, as the file names it.
    pub communicator: String,
    /// How many ranks it has.
    pub ranks: u32,
    /// How many hosts it spans, where the file says it.
    pub nodes: Option<u32>,
    /// Names the hosts that reported.
    pub hosts: BTreeSet<String>,
    /// How times were taken: `kernel_gpu`, `kernel_cpu` or `collective_cpu`.
    pub timing: BTreeSet<String>,
    /// Holds what was measured, by size.
    pub rows: Vec<InspectorRow>,
}
