//! Tells whether a run is slower than it should be.

use super::case::Case;
use super::fit::{Against, median_ratio};
use crate::collectives::accuracy::{Measurable, TimeAsked, error_bars};
use crate::collectives::baselines::Expectation;
use crate::units::Bytes;

/// Is the size from which on bandwidth alone counts, so that it is large.
pub(super) const LARGE: Bytes = Bytes(64 << 20);

/// Times of small sizes are longer than any host's latency makes them from this ratio on.
const FAR: f64 = 1.5;

/// How far off each expected time may be, as a part of it.
pub(super) fn errors(case: &Case<'_>, sound: &[Expectation]) -> Vec<f64> {
    let of = Measurable {
        collective: Some(case.collective.name()),
        p2p: case.settings.p2p,
        without: None,
    };
    let times: Vec<TimeAsked<'_>> = sound
        .iter()
        .map(|it| TimeAsked { size: it.size, algorithm: Some(it.choice.algorithm.name()) })
        .collect();
    error_bars(case.system, case.gpus, of, &times).map_or_else(
        |_| vec![0.0; sound.len()],
        |bars| bars.iter().map(|it| it.ninetieth).collect(),
    )
}

/// Whether the run is slower than it should be.
pub(super) fn has_gap(case: &Case<'_>, gaps: &[Against]) -> bool {
    if let Some(threshold) = case.threshold {
        return large(case, gaps).any(|it| it.off > -threshold.ln());
    }
    let (slow, all): (Vec<Against>, Vec<Against>) = {
        let large: Vec<Against> = large(case, gaps).collect();
        let all = if large.is_empty() { gaps.to_vec() } else { large };
        (all.iter().copied().filter(|it| !it.is_sound()).collect(), all)
    };
    if !all.is_empty() && 2 * slow.len() >= all.len() {
        return true;
    }
    // A wrong protocol or algorithm shows in a range of sizes, far off. Latencies differ from host to host by less.
    let far = gaps.iter().filter(|it| it.off > (2.0 * it.error).max(FAR.ln())).count();
    gaps.len() >= 4 && 3 * far >= gaps.len()
}

/// Gives the rows of large sizes; of a run without these, that of the largest.
pub(super) fn large<'a>(
    case: &'a Case<'_>,
    gaps: &'a [Against],
) -> impl Iterator<Item = Against> + 'a {
    let most = case.rows.iter().map(|row| row.size).max().unwrap_or_default();
    let from = LARGE.min(most);
    let rows = case.rows.iter().zip(gaps).filter(move |(row, _)| row.size >= from);
    rows.map(|(_, gap)| *gap)
}

pub(super) fn ratio_of_large(case: &Case<'_>, gaps: &[Against]) -> f64 {
    let large: Vec<Against> = large(case, gaps).collect();
    median_ratio(&large).unwrap_or(1.0).max(1.0)
}
