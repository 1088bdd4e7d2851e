//! Tells of causes, of sizes and of the gap.

use super::case::Case;
use super::cause::SlowCause;
use super::fit::Against;
use super::played::{COSTS, Played, cost, largest};
use super::verdict::{JudgedCause, JudgedRow};
use crate::collectives::baselines::Expectation;

/// Tells of every candidate that costs something, those that explain most first.
pub(super) fn told(
    case: &Case<'_>,
    sound: &[Expectation],
    played: &[Played],
    before: f64,
) -> Vec<JudgedCause> {
    let mut order: Vec<&Played> = played.iter().collect();
    order.sort_by(|a, b| {
        let key = |it: &Played| (!it.candidate.is_stated(), it.misfit);
        key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal)
    });
    let mut causes: Vec<JudgedCause> = Vec::new();
    for it in order {
        let cost = cost(it, sound);
        let is_dear = cost.is_none_or(|cost| cost >= COSTS);
        let is_known = causes.iter().any(|known| known.cause == it.candidate.cause);
        if is_known || !(is_dear || it.candidate.is_stated()) {
            continue;
        }
        let explains = (!case.rows.is_empty() && it.misfit.is_finite() && before > 0.0)
            .then(|| (1.0 - it.misfit / before).max(0.0));
        causes.push(JudgedCause {
            cost,
            bus_bandwidth: largest(&it.times).map(|row| row.bus_bandwidth),
            explains,
            ..JudgedCause::unplayed(it.candidate.clone())
        });
    }
    causes
}

/// Puts a cause first.
pub(super) fn first_of(mut causes: Vec<JudgedCause>, first: SlowCause) -> Vec<JudgedCause> {
    causes.sort_by_key(|it| it.cause != first);
    causes
}

/// How much is reached at the largest size.
pub(super) fn gap_text(case: &Case<'_>, sound: &[Expectation]) -> String {
    let rows = case.rows.iter().zip(sound).max_by_key(|(row, _)| row.size);
    let Some((row, expected)) = rows else { return String::new() };
    let reached = expected.time.as_seconds() / row.time;
    format!(
        "{} reaches {:.1} GB/s of {:.1} GB/s of bus bandwidth ({:.0} %) at {}.",
        case.collective.name(),
        expected.bus_bandwidth * reached,
        expected.bus_bandwidth,
        reached * 100.0,
        row.size
    )
}

pub(super) fn judged_rows(
    case: &Case<'_>,
    sound: &[Expectation],
    errors: &[f64],
    gaps: &[Against],
) -> Vec<JudgedRow> {
    let row = |(at, expected): (usize, &Expectation)| JudgedRow {
        size: expected.size.0,
        measured: case.rows.get(at).map(|row| row.time),
        expected: expected.time.as_seconds(),
        expected_bus_bandwidth: expected.bus_bandwidth,
        error: errors[at],
        fits: gaps.get(at).is_none_or(|gap| gap.fits()),
        algorithm: expected.choice.algorithm.name(),
        protocol: expected.choice.protocol.name(),
        line: case.rows.get(at).map(|row| row.line.clone()),
    };
    sound.iter().enumerate().map(row).collect()
}
