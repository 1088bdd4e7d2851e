//! Holds what is judged.

use serde::{Deserialize, Serialize};

use super::mended::MendedLink;
use crate::collectives::Collective;
use crate::collectives::baselines::Settings;
use crate::doctor::evidence::{DebugLog, Line};
use crate::system::System;
use crate::units::Bytes;

/// One size of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredRow {
    /// The data, as nccl-tests counts it.
    pub size: Bytes,
    /// Seconds of one operation.
    pub time: f64,
    /// The line says so.
    pub line: Line,
}

/// A run, and the system that it should have run on.
#[derive(Debug, Clone)]
pub struct Case<'a> {
    /// The system with all its parts sound.
    pub system: &'a System,
    /// What its own description has slower than its like, which `system` has as its like.
    pub narrow: &'a [MendedLink],
    /// The system as its own description has it.
    pub described: &'a System,
    /// The GPUs of the job, by their ids.
    pub gpus: &'a [usize],
    /// What was run.
    pub collective: Collective,
    /// How NCCL runs where nobody sets anything: its version, processes and numbers are the run's.
    pub settings: Settings,
    /// What was measured; empty where nothing was.
    pub rows: Vec<MeasuredRow>,
    /// The run is of another machine than this one, as this says; None where it is not.
    pub other_machine: Option<String>,
    /// What NCCL says of the run.
    pub log: &'a DebugLog,
    /// A run is healthy that reaches this part of the expected bandwidth at each of its large sizes; where it is
    /// absent, one whose times lie within the error of the expected ones.
    pub threshold: Option<f64>,
}
