//! Means over seeds and how sure they are: bootstrap intervals.
//!
//! The seeds of a comparison are a sample of the mixes that could come. All variants are played on the same seeds, so
//! that a variant saves a number for each seed. The mean of these numbers is the answer. Its interval is the
//! percentile bootstrap's (B. Efron, "Bootstrap Methods: Another Look at the Jackknife", Annals of Statistics 7, 1979).
//! The seeds are drawn again, as many with replacement, and 95 of 100 means of such draws lie in it.

use serde::Serialize;

use super::twister::MersenneTwister;
use crate::simulation::summary::{at_fraction, sum};

/// An interval holds this share of the means of draws.
const LEVEL: f64 = 0.95;
/// The seeds are drawn again as often.
const DRAWS: usize = 4_000;

/// Holds a mean over seeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// It is the mean.
    pub mean: f64,
    /// The interval begins here; None of one seed, which has none.
    pub low: Option<f64>,
    /// The interval ends here.
    pub high: Option<f64>,
}

/// Holds the draws of a count of seeds.
///
/// They are the same for all measures, so that these can be compared, and for every run of the program.
#[derive(Debug, Clone)]
pub struct Bootstrap {
    count: usize,
    drawn: Vec<u32>,
}

impl Bootstrap {
    /// Draws as many seeds again and again.
    #[must_use]
    pub fn new(count: usize) -> Self {
        let mut random = MersenneTwister::new(count as u64);
        let draws = if count < 2 { 0 } else { DRAWS * count };
        Self { count, drawn: (0..draws).map(|_| random.index(count) as u32).collect() }
    }

    /// Gives the mean of a value for each seed, with its interval. None where a seed has no value, or there is no seed.
    ///
    /// # Panics
    /// If there are not as many values as seeds.
    #[must_use]
    pub fn estimate(&self, values: &[Option<f64>]) -> Option<Estimate> {
        assert_eq!(values.len(), self.count, "a value for each seed");
        let known = values.iter().copied().collect::<Option<Vec<f64>>>()?;
        if known.is_empty() {
            return None;
        }
        let count = known.len() as f64;
        let mean = sum(known.iter().copied()) / count;
        if known.len() < 2 {
            return Some(Estimate { mean, low: None, high: None });
        }
        let of_draw = |draw: &[u32]| sum(draw.iter().map(|at| known[*at as usize])) / count;
        let mut means: Vec<f64> = self.drawn.chunks(known.len()).map(of_draw).collect();
        means.sort_by(f64::total_cmp);
        let beyond = (1.0 - LEVEL) / 2.0;
        let end = |fraction| Some(at_fraction(&means, fraction));
        Some(Estimate { mean, low: end(beyond), high: end(1.0 - beyond) })
    }
}

/// Gives by how much something is better, as a share of what it was; below zero where it is worse.
///
/// None where that cannot be said: of nothing that has become something.
///
/// ```
/// use linkwright::scenario::comparison::saved;
///
/// assert_eq!(saved(Some(4.0), Some(3.0), true), Some(0.25));
/// assert_eq!(saved(Some(0.0), Some(1.0), true), None);
/// ```
#[must_use]
pub fn saved(before: Option<f64>, after: Option<f64>, less_is_better: bool) -> Option<f64> {
    let (before, after) = (before?, after?);
    if before == after {
        Some(0.0)
    } else if before == 0.0 {
        None
    } else if less_is_better {
        Some(1.0 - after / before)
    } else {
        Some(after / before - 1.0)
    }
}
