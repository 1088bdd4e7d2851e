//! How far times are from those of a change.

use crate::collectives::baselines::Expectation;

use super::case::MeasuredRow;

/// Times are as expected that are off by no more than this part: runs of nccl-tests differ by 10 % from one to the next.
const NOISE: f64 = 0.15;
/// No row counts for more than this many of its errors, so that none decides alone.
const MOST: f64 = 6.0;

/// A row's time beside what is expected of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Against {
    /// Is the natural logarithm of measured over expected time.
    pub off: f64,
    /// How far it may be off: that of the expected time's own error.
    pub error: f64,
}

impl Against {
    /// Whether it is off by no more than its error, or is faster.
    pub(super) fn is_sound(self) -> bool {
        self.off <= self.error
    }

    /// Whether it is off by no more than its error, either way.
    pub(super) fn fits(self) -> bool {
        self.off.abs() <= self.error
    }
}

/// Sets rows against expected times; `errors` are parts of these.
pub(super) fn against(
    rows: &[MeasuredRow],
    expected: &[Expectation],
    errors: &[f64],
) -> Vec<Against> {
    let pairs = rows.iter().zip(expected).zip(errors);
    pairs
        .map(|((row, expected), error)| {
            let off = (row.time / expected.time.as_seconds()).ln();
            Against { off, error: error.max(NOISE).ln_1p() }
        })
        .collect()
}

/// The mean of how many errors each row is off. It is zero where every time is as expected.
pub(super) fn misfit(rows: &[Against]) -> f64 {
    if rows.is_empty() {
        return 0.0;
    }
    let of = |row: &Against| (row.off.abs() / row.error).min(MOST);
    rows.iter().map(of).sum::<f64>() / rows.len() as f64
}

/// Gives the median of measured over expected times.
pub(super) fn median_ratio(rows: &[Against]) -> Option<f64> {
    let mut off: Vec<f64> = rows.iter().map(|row| row.off).collect();
    off.sort_by(f64::total_cmp);
    off.get(off.len() / 2).map(|off| off.exp())
}
