//! Holds candidates with what they take, and tells which of them times do not tell apart.

use super::case::Case;
use super::cause::{CauseCandidate, SlowCause};
use super::change::Job;
use super::fit::{against, misfit};
use crate::collectives::baselines::Expectation;
use crate::units::Bytes;

/// Is the ratio of times from which on a cause costs something.
pub(super) const COSTS: f64 = 1.1;
/// Guesses that are as near as this to each other are not told apart.
const ALIKE: f64 = 1.3;

/// Lists causes that are slow by themselves and that times hardly tell apart. The likeliest stands
/// first.
const SLOW: [(SlowCause, &str); 4] = [
    (SlowCause::SlowServer, "a slow network of one server"),
    (SlowCause::SlowNetwork, "a slow network of all servers"),
    (SlowCause::SlowGpu, "one slow GPU"),
    (SlowCause::SlowLinks, "slow links between all GPUs"),
];

/// A candidate with what it takes.
pub(super) struct Played {
    pub candidate: CauseCandidate,
    pub times: Vec<Expectation>,
    pub misfit: f64,
}

impl CauseCandidate {
    /// Tells whether a file states it.
    pub(super) fn is_stated(&self) -> bool {
        self.line.is_some() || self.change.as_ref().is_some_and(|change| change.as_described)
    }
}

pub(super) fn played(
    job: &Job<'_>,
    case: &Case<'_>,
    candidates: Vec<CauseCandidate>,
    sizes: &[Bytes],
    errors: &[f64],
) -> Vec<Played> {
    let play = |candidate: CauseCandidate| {
        let times = candidate.change.as_ref().map(|change| job.play(change, sizes));
        // A system that has lost the way between GPUs carries nothing: that is not what ran.
        let times = times.and_then(Result::ok).unwrap_or_default();
        let misfit = if times.is_empty() {
            f64::INFINITY
        } else {
            misfit(&against(&case.rows, &times, errors))
        };
        Played { candidate, times, misfit }
    };
    candidates.into_iter().map(play).collect()
}

/// Gives the time over that of the sound system at the largest size.
pub(super) fn cost(played: &Played, sound: &[Expectation]) -> Option<f64> {
    let (with, without) = (largest(&played.times)?, largest(sound)?);
    Some(with.time.as_seconds() / without.time.as_seconds())
}

pub(super) fn largest(rows: &[Expectation]) -> Option<&Expectation> {
    rows.iter().max_by_key(|row| row.size)
}

/// The likeliest of the guesses that are about as near as the nearest.
pub(super) fn likeliest<'a>(
    best: &'a Played,
    played: &'a [Played],
    weight: impl Fn(&Played) -> f64,
) -> &'a Played {
    let place = |it: &Played| SLOW.iter().position(|(cause, _)| *cause == it.candidate.cause);
    if place(best).is_none() {
        return best;
    }
    let alike = played.iter().filter(|it| {
        !it.candidate.is_stated() && place(it).is_some() && weight(it) <= ALIKE * weight(best)
    });
    let order = |it: &&Played| (place(it), (weight(it) * 1e6) as u64);
    alike.min_by_key(order).unwrap_or(best)
}

/// Says which other guesses times do not tell from the first.
pub(super) fn others_alike(
    first: &Played,
    played: &[Played],
    weight: impl Fn(&Played) -> f64,
) -> String {
    let is_slow = |cause: SlowCause| SLOW.iter().any(|(known, _)| *known == cause);
    if first.candidate.is_stated() || !is_slow(first.candidate.cause) {
        return String::new();
    }
    let is_alike = |cause: SlowCause| {
        let mut of = played.iter().filter(|it| it.candidate.cause == cause);
        cause != first.candidate.cause && of.any(|it| weight(it) <= ALIKE * weight(first))
    };
    let others = SLOW.iter().filter(|(cause, _)| is_alike(*cause));
    let others: Vec<&str> = others.map(|(_, text)| *text).collect();
    if others.is_empty() {
        return String::new();
    }
    format!("; times do not tell this from {}", others.join(" or "))
}
