//! The five numbers that a box plot draws.

use serde::Serialize;

/// Holds the five numbers that a box plot draws, in the unit of the values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Quartiles {
    /// No value is less.
    pub minimum: f64,
    /// A quarter of the values lies below it.
    pub lower: f64,
    /// Half of the values lies below it.
    pub median: f64,
    /// A quarter of the values lies above it.
    pub upper: f64,
    /// No value is more.
    pub maximum: f64,
}

impl Quartiles {
    /// Gives those of numbers; None where there is no number.
    #[must_use]
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let ordered = super::sorted(values);
        if ordered.is_empty() {
            return None;
        }
        let quarter = |count: f64| at_fraction(&ordered, count / 4.0);
        Some(Self {
            minimum: quarter(0.0),
            lower: quarter(1.0),
            median: quarter(2.0),
            upper: quarter(3.0),
            maximum: quarter(4.0),
        })
    }
}

/// Gives the value below which a fraction of ordered values lies, interpolated linearly.
///
/// ```
/// use linkwright::simulation::summary::at_fraction;
///
/// assert_eq!(at_fraction(&[1.0, 2.0, 4.0], 0.75), 3.0);
/// ```
///
/// # Panics
/// If there is no value.
#[must_use]
pub fn at_fraction(ordered: &[f64], fraction: f64) -> f64 {
    let last = ordered.len() - 1;
    let position = fraction * last as f64;
    let below = position.floor();
    let rest = position - below;
    let below = below as usize;
    let (low, high) = (ordered[below], ordered[(below + 1).min(last)]);
    // The weighted sum neither overflows nor leaves the interval between its two values.
    (low * (1.0 - rest) + high * rest).max(low).min(high)
}
