//! The terms that a run tells, as near to its times as they come.
//!
//! Differences of logarithms are made small in the sense of soft L1, by steps of Gauss and Newton.
//! The clock's own terms are fitted in the same sense (`scripts/calibrate.py`). A launch adds the
//! same to every time, so that only links are played.

use super::terms::{Candidate, Candidates, Term};
use super::{MOST_UNCERTAIN, NOISE};
use crate::collectives::schedule::time::TimeError;
use crate::system::Wiring;

/// By which factor a share is lowered to see what hangs on it.
const NUDGE: f64 = 0.98;
/// Sets the difference from which on it counts linearly.
const SOFT: f64 = 0.1;
/// The most steps, and how small the last is.
const MOST_STEPS: usize = 20;
const LAST_STEP: f64 = 1e-5;
/// Limits the length of a step, of a logarithm.
const LONGEST_STEP: f64 = 0.7;

/// Holds the values that were found.
pub(super) struct Fit {
    /// The terms that the run tells, by their places, with their values.
    pub(super) values: Vec<(usize, f64)>,
    /// How uncertain each of them is, as a part of it.
    pub(super) uncertain: Vec<f64>,
    /// Those that it does not tell, and why.
    pub(super) untold: Vec<(usize, String)>,
}

/// Says how times depend on some terms. For each term and each size it holds the change of the
/// time's logarithm by the change of the term's.
type Sensitivity = Vec<Vec<f64>>;

/// Fits the terms that times tell; `play` gives the times on other links.
///
/// # Errors
/// Fails where no links join the GPUs.
pub(super) fn fit(
    candidates: &Candidates,
    measured: &[f64],
    play: &impl Fn(&Wiring) -> Result<Vec<f64>, TimeError>,
) -> Result<Fit, TimeError> {
    let model = Model { candidates, play };
    let start: Vec<(usize, f64)> =
        candidates.all.iter().map(|candidate| candidate.value).enumerate().collect();
    let times = model.times(&start)?;
    let sensitivity = model.sensitivity(&start, &times)?;
    let (told, untold) = told_by(&candidates.all, &sensitivity, measured.len());
    let mut values: Vec<(usize, f64)> = told.iter().map(|at| start[*at]).collect();
    let mut uncertain = Vec::new();
    for _ in 0..MOST_STEPS {
        if told.is_empty() {
            break;
        }
        let times = model.times(&values)?;
        let sensitivity = model.sensitivity(&values, &times)?;
        let off: Vec<f64> = times.iter().zip(measured).map(|(time, it)| (time / it).ln()).collect();
        let weights: Vec<f64> =
            off.iter().map(|it| 1.0 / (1.0 + (it / SOFT).powi(2)).sqrt()).collect();
        let Some(inverse) = inverse(&products(&sensitivity, &weights)) else { break };
        let pulls: Vec<f64> = sensitivity
            .iter()
            .map(|column| (0..off.len()).map(|row| column[row] * weights[row] * off[row]).sum())
            .collect();
        let mut longest = 0.0_f64;
        for (row, (at, value)) in inverse.iter().zip(&mut values) {
            let step: f64 = -row.iter().zip(&pulls).map(|(a, b)| a * b).sum::<f64>();
            let before = *value;
            *value *= step.clamp(-LONGEST_STEP, LONGEST_STEP).exp();
            if !candidates.all[*at].term.is_time() {
                *value = value.min(1.0);
            }
            longest = longest.max((*value / before).ln().abs());
        }
        if longest < LAST_STEP {
            break;
        }
    }
    if !told.is_empty() {
        let times = model.times(&values)?;
        let sensitivity = model.sensitivity(&values, &times)?;
        uncertain = uncertainties(&sensitivity);
    }
    Ok(Fit { values, uncertain, untold })
}

struct Model<'a, P> {
    candidates: &'a Candidates,
    play: &'a P,
}

impl<P: Fn(&Wiring) -> Result<Vec<f64>, TimeError>> Model<'_, P> {
    /// The times with these values of some terms, the others as they were.
    fn times(&self, values: &[(usize, f64)]) -> Result<Vec<f64>, TimeError> {
        let launch = values.iter().find_map(|(at, value)| {
            let candidate = &self.candidates.all[*at];
            candidate.term.is_time().then_some(value - candidate.value)
        });
        let times = (self.play)(&self.candidates.wiring(values))?;
        Ok(times.into_iter().map(|time| time + launch.unwrap_or(0.0)).collect())
    }

    fn sensitivity(
        &self,
        values: &[(usize, f64)],
        times: &[f64],
    ) -> Result<Sensitivity, TimeError> {
        let column = |(place, (at, value)): (usize, &(usize, f64))| {
            if self.candidates.all[*at].term.is_time() {
                return Ok(times.iter().map(|time| value / time).collect());
            }
            let mut nudged = values.to_vec();
            nudged[place].1 *= NUDGE;
            let nudged = self.times(&nudged)?;
            let change = |(nudged, time): (f64, &f64)| (nudged / time).ln() / NUDGE.ln();
            Ok(nudged.into_iter().zip(times).map(change).collect())
        };
        values.iter().enumerate().map(column).collect()
    }
}

/// The terms that are told by times that depend on them so, and the others with the reason.
fn told_by(
    terms: &[Candidate],
    sensitivity: &Sensitivity,
    rows: usize,
) -> (Vec<usize>, Vec<(usize, String)>) {
    let mut told: Vec<usize> = (0..terms.len()).collect();
    let mut untold = Vec::new();
    let most = |at: usize| sensitivity[at].iter().fold(0.0_f64, |most, it| most.max(it.abs()));
    told.retain(|at| {
        let alone = uncertainties(&vec![sensitivity[*at].clone()])[0];
        if alone > MOST_UNCERTAIN {
            untold.push((*at, too_little(terms[*at].term, most(*at))));
        }
        alone <= MOST_UNCERTAIN
    });
    while !told.is_empty() {
        let own: Sensitivity = told.iter().map(|at| sensitivity[*at].clone()).collect();
        let uncertain = uncertainties(&own);
        let worst = (0..told.len()).max_by(|a, b| uncertain[*a].total_cmp(&uncertain[*b]));
        let worst = worst.expect("some are left");
        if uncertain[worst] <= MOST_UNCERTAIN && told.len() < rows {
            break;
        }
        let at = told.remove(worst);
        let others: Vec<String> = told.iter().map(|at| terms[*at].term.name()).collect();
        let name = terms[at].term.name();
        let reason = format!("{name} changes the same sizes as {}", others.join(" and "));
        untold.push((at, reason));
    }
    (told, untold)
}

fn too_little(term: Term, most: f64) -> String {
    let (name, percent) = (term.name(), (most * 100.0).round());
    let remedy = if term.is_time() {
        "smaller sizes would tell it"
    } else {
        "larger sizes would tell it where it limits them"
    };
    format!("{name} is at most {percent} % of a size's time; {remedy}")
}

/// How uncertain each term is, as a part of it.
fn uncertainties(sensitivity: &Sensitivity) -> Vec<f64> {
    let rows = sensitivity.first().map_or(0, Vec::len);
    match inverse(&products(sensitivity, &vec![1.0; rows])) {
        Some(inverse) => {
            (0..inverse.len()).map(|at| NOISE * inverse[at][at].max(0.0).sqrt()).collect()
        }
        None => vec![f64::INFINITY; sensitivity.len()],
    }
}

/// The matrix of the terms' products over all sizes.
fn products(sensitivity: &Sensitivity, weights: &[f64]) -> Vec<Vec<f64>> {
    let product =
        |a: &[f64], b: &[f64]| (0..weights.len()).map(|row| weights[row] * a[row] * b[row]).sum();
    sensitivity.iter().map(|a| sensitivity.iter().map(|b| product(a, b)).collect()).collect()
}

/// The inverse of a symmetric matrix that is positive; None where it has none.
fn inverse(matrix: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let size = matrix.len();
    let mut left: Vec<Vec<f64>> = matrix.to_vec();
    let mut right: Vec<Vec<f64>> =
        (0..size).map(|at| (0..size).map(|to| f64::from(u8::from(at == to))).collect()).collect();
    for at in 0..size {
        // The pivot is the rest of the diagonal, as a part of its first value.
        let pivot = left[at][at];
        if pivot.is_nan() || pivot <= 1e-9 * matrix[at][at].abs() {
            return None;
        }
        for column in 0..size {
            left[at][column] /= pivot;
            right[at][column] /= pivot;
        }
        for row in (0..size).filter(|row| *row != at) {
            let times = left[row][at];
            for column in 0..size {
                left[row][column] -= times * left[at][column];
                right[row][column] -= times * right[at][column];
            }
        }
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A matrix times its inverse is one.
        #[test]
        fn inverses_invert(values in prop::collection::vec(-1.0_f64..1.0, 9)) {
            let columns: Vec<Vec<f64>> = values.chunks(3).map(<[f64]>::to_vec).collect();
            let matrix = products(&columns, &[1.0; 3]);
            let Some(inverse) = inverse(&matrix) else { return Ok(()) };
            let largest = inverse.iter().flatten().fold(0.0_f64, |most, it| most.max(it.abs()));
            for (row, own) in matrix.iter().enumerate() {
                for column in 0..3 {
                    let sum: f64 = own.iter().zip(&inverse).map(|(a, b)| a * b[column]).sum();
                    let one = f64::from(u8::from(row == column));
                    prop_assert!((sum - one).abs() < 1e-12 * (1.0 + largest));
                }
            }
        }
    }

    #[test]
    fn what_has_no_inverse_is_none() {
        assert_eq!(inverse(&[vec![1.0, 1.0], vec![1.0, 1.0]]), None);
        assert_eq!(inverse(&[vec![0.0]]), None);
    }
}
