//! Holds what is judged.

use serde::{Deserialize, Serialize};

use super::mended::MendedLink;
use crate::collectives::Collective;
use crate::collectives::baselines::Settings;
use crate::doctor::evidence::{DebugLog, Line};
use crate::system::System;
use crate::units::Bytes;

/// Holds one size of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredRow {
    /// Is the data, as nccl-tests counts it.
    pub size: Bytes,
    /// Is in seconds of one operation.
    pub time: f64,
    /// The line says so.
    pub line: Line,
}

/// A run, and the system that it should have run on.
#[derive(Debug, Clone)]
pub struct Case<'a> {
    /// Is the system with all its parts sound.
    pub system: &'a System,
    /// Lists what its own description has slower than its like, which `system` has as its like.
    pub narrow: &'a [MendedLink],
    /// The system as its own description has it.
    pub described: &'a System,
    /// Lists the GPUs of the job, by their ids.
    pub gpus: &'a [usize],
    /// Names what was run.
    pub collective: Collective,
    /// How NCCL runs where nobody sets anything: its version, processes and numbers are the run's.
    pub settings: Settings,
    /// Holds what was measured; empty where nothing was.
    pub rows: Vec<MeasuredRow>,
    /// The run is of another machine than this one, as this says; None where it is not.
    pub other_machine: Option<String>,
    /// Holds what NCCL says of the run.
    pub log: &'a DebugLog,
    /// Is the part of the expected bandwidth that a healthy run reaches at each of its large sizes.
    /// Where it is absent, a run is healthy whose times lie within the error of the expected ones.
    pub threshold: Option<f64>,
}
