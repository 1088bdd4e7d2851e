//! Finds the temperatures of a network, by conjugate gradients with multigrid as their
//! preconditioner.

use super::multigrid::Multigrid;
use super::network::Network;

/// Bounds the share of the heat that may be unaccounted for, summed over the cells without their
/// signs.
pub(super) const UNACCOUNTED: f64 = 1e-8;
/// Far more rounds than any package of matter that there is takes.
const MOST_ROUNDS: usize = 400;

/// Temperatures over ambient, and how they were found.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// Gives the rise of each cell, in K.
    pub rise: Vec<f64>,
    /// Rounds of conjugate gradients.
    pub rounds: usize,
    /// The share of the heat that is unaccounted for.
    pub unaccounted: f64,
}

/// The temperatures over ambient at which as much heat leaves every cell as arises in it, in W.
pub(super) fn solve(network: Network, mut left: Vec<f64>) -> Found {
    let cells = network.shape.cells();
    let total: f64 = left.iter().sum();
    let mut multigrid = Multigrid::new(network);
    let (mut rise, mut step, mut out) = (vec![0.0; cells], vec![0.0; cells], vec![0.0; cells]);
    let (mut rounds, mut before, mut unaccounted) = (0, 0.0, f64::from(u8::from(total > 0.0)));
    for (into, heat) in multigrid.heat().iter_mut().zip(&left) {
        *into = *heat as f32;
    }
    while unaccounted > UNACCOUNTED && rounds < MOST_ROUNDS {
        let guess = multigrid.apply();
        let now: f64 = left.iter().zip(guess).map(|(left, guess)| left * f64::from(*guess)).sum();
        let keep = if rounds == 0 { 0.0 } else { now / before };
        before = now;
        for (step, guess) in step.iter_mut().zip(guess) {
            *step = f64::from(*guess) + keep * *step;
        }
        let length = now / multigrid.network().outflow(&step, &mut out);
        if !length.is_finite() {
            break;
        }
        let mut sum = 0.0;
        let heat = multigrid.heat();
        for at in 0..cells {
            rise[at] += length * step[at];
            left[at] -= length * out[at];
            heat[at] = left[at] as f32;
            sum += left[at].abs();
        }
        unaccounted = sum / total;
        rounds += 1;
    }
    Found { rise, rounds, unaccounted }
}
