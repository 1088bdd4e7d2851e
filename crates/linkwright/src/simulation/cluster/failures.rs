//! Names the parts that a system lacks, and those that fail for a time.

use std::collections::BTreeSet;

use crate::system::composition::SystemPart;
use crate::units::Picoseconds;

/// A day has no more failures.
pub const MOST_FAILURES: usize = 1_000;

/// Says which parts are lost, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// They are lost together.
    pub parts: Vec<SystemPart>,
    /// They are lost from then on.
    pub from: Picoseconds,
    /// They are back then; None where they stay lost.
    pub to: Option<Picoseconds>,
}

/// Says what a system loses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SystemFailures {
    /// Names the GPUs that are absent all day.
    pub absent_gpus: BTreeSet<u32>,
    /// Numbers the servers that reach no others all day.
    pub cut_off: BTreeSet<usize>,
    /// Lists what fails for a time.
    pub timed: Vec<Failure>,
}
