//! How far off the clock's times are, by size.

use crate::units::Bytes;

/// Lists the sizes where decades begin: first launch and latency decide the time, at last bandwidth
/// does, and both do between.
pub const DECADES: [Bytes; 5] =
    [Bytes(0), Bytes(1 << 16), Bytes(1 << 20), Bytes(1 << 24), Bytes(1 << 28)];

/// Returns the index of a size's decade.
#[must_use]
pub fn decade(size: Bytes) -> usize {
    DECADES.iter().rposition(|from| *from <= size).unwrap_or(0)
}

/// The value that so large a part of some does not exceed; of an even number's half, the mean of the
/// two in the middle. Zero of none.
#[must_use]
pub fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let [.., last] = sorted[..] else { return 0.0 };
    let place = part * sorted.len() as f64;
    let at = |place: f64| sorted.get((place as usize).saturating_sub(1)).copied().unwrap_or(last);
    if place.fract() == 0.0 && part == 0.5 {
        return f64::midpoint(at(place), at(place + 1.0));
    }
    at(place.ceil())
}

mod bars;
mod rows;

pub use bars::{ErrorBar, ErrorBasis, Measurable, TimeAsked, error_bars};
pub use rows::{Joined, Likeness};
