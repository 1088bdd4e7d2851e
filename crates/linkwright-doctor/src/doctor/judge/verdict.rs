//! Holds what a judgement says.

use serde::Serialize;

use super::cause::{CauseCandidate, SlowCause};
use super::mended::MendedLink;
use crate::doctor::evidence::Line;

/// Says what a verdict finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictKind {
    /// All is as it should be.
    Healthy,
    /// A cause explains the gap, or a part of it.
    Cause,
    /// Nothing can be said; the headline says why.
    NoVerdict,
}

/// Holds one size, measured and expected.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgedRow {
    /// Is the data in bytes.
    pub size: u64,
    /// Seconds, as measured; None where nothing was.
    pub measured: Option<f64>,
    /// Seconds that it should take.
    pub expected: f64,
    /// GB/s of bus bandwidth that it should reach.
    pub expected_bus_bandwidth: f64,
    /// How far off that may be, as a part of it.
    pub error: f64,
    /// Whether the measured time is as it should be.
    pub fits: bool,
    /// Names what NCCL should run.
    pub algorithm: &'static str,
    /// Names the protocol that NCCL should run it with.
    pub protocol: &'static str,
    /// The line that says what was measured.
    pub line: Option<Line>,
}

/// Holds a cause beside the measured times.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgedCause {
    /// Says what it is.
    pub cause: SlowCause,
    /// A sentence says what is at work.
    pub text: String,
    /// Is the line that states it; None where only times tell.
    pub line: Option<Line>,
    /// Time over that of the sound system at the largest size; None where the model lacks the cause.
    pub cost: Option<f64>,
    /// Is the bus bandwidth at the largest size with it, in GB/s.
    pub bus_bandwidth: Option<f64>,
    /// The part of the gap that it explains, from 0 to 1; None where nothing was measured.
    pub explains: Option<f64>,
    /// Names the setting or the part to look at.
    pub look: String,
    /// The command that shows it.
    pub command: String,
}

impl JudgedCause {
    /// Makes a cause whose words alone are known.
    pub(super) fn unplayed(candidate: CauseCandidate) -> Self {
        Self {
            cause: candidate.cause,
            text: candidate.text,
            line: candidate.line,
            cost: None,
            bus_bandwidth: None,
            explains: None,
            look: candidate.look,
            command: candidate.command,
        }
    }
}

/// Holds a run that was judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunVerdict {
    /// Says what it finds.
    pub kind: VerdictKind,
    /// Says it in one sentence.
    pub headline: String,
    /// Names the collective.
    pub collective: &'static str,
    /// Counts the ranks that ran.
    pub ranks: usize,
    /// The library and the release that was asked: `NCCL 2.21`.
    pub library: String,
    /// Holds each size.
    pub rows: Vec<JudgedRow>,
    /// The causes that were looked at, the first one first.
    pub causes: Vec<JudgedCause>,
}

/// The causes of links that are slower than their like, where nothing was run.
#[must_use]
pub fn narrow_causes(links: &[MendedLink]) -> Vec<JudgedCause> {
    let cause = |link: &MendedLink| {
        JudgedCause::unplayed(CauseCandidate::guessed(
            SlowCause::PcieNarrow,
            link.to_string(),
            None,
        ))
    };
    links.iter().map(cause).collect()
}
