//! Sums up a day of jobs, or a step of training, in few numbers.
//!
//! A run of a comparison is summed up where it is played, so that hundreds of runs stay small. Times are in
//! seconds. Sums run over sorted values, or over the jobs in their order, so that the same day gives the same bytes.

mod link_use;
mod measures;
mod policies;
mod quartiles;
mod step_parts;
mod time_parts;

pub use link_use::LinkUse;
pub use measures::{DayMeasures, MEASURES, Measure, SHARES, measure};
pub use policies::{PolicySummary, Speedup, speedups};
pub use quartiles::{Quartiles, at_fraction};
pub use step_parts::{CollectiveParts, StepParts};
pub use time_parts::{JobTimes, TimeParts};

/// Adds numbers in their order, from zero on.
pub fn sum(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(0.0, |sum, value| sum + value)
}

/// Sorts numbers, the least first.
fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}
