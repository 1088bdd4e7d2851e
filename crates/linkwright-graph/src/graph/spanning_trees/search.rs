//! Looks for a packing of few and shallow trees, by seeded trials.
//!
//! Peeling reaches the rate whatever it chooses; how many trees it takes is luck. So it runs
//! many times, and some trees of a good packing are taken out and what they leave is split
//! anew. Effort is counted in trees that were tried, never in time, so that the result is the
//! same on every machine.

use super::super::greatest_common_divisor;
use super::peel::{Dice, MOST_UNITS, Preference, split};
use super::{Graph, Search, Share};

/// Vain attempts after which the search starts over from another packing.
const PATIENCE: usize = 3;

/// One in this many trials goes into the best packing alone.
const POLISHED: usize = 3;

/// The most trees that are taken out at once.
const MOST_OUT: usize = 5;

/// Trees whose weights are counted in `1 / unit`, and how good they are.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub shares: Vec<Share>,
    pub unit: u128,
    /// Trees, then the depth of the deepest, then all depths together: less is better.
    score: (usize, usize, usize),
}

impl Candidate {
    /// Joins equal trees and leaves common factors out.
    fn new(graph: &Graph, mut shares: Vec<Share>, unit: u128) -> Self {
        shares.sort_by(|x, y| x.tree.cmp(&y.tree));
        shares.dedup_by(|next, kept| {
            let same = next.tree == kept.tree;
            kept.weight += if same { next.weight } else { 0 };
            same
        });
        let weights = shares.iter().map(|share| share.weight);
        let common = weights.fold(unit, greatest_common_divisor);
        shares.iter_mut().for_each(|share| share.weight /= common);
        let depths = shares.iter().map(|share| graph.root_and_depth(&share.tree).1);
        let (deepest, total) = depths.fold((0, 0), |(most, sum), d| (most.max(d), sum + d));
        Self { score: (shares.len(), deepest, total), shares, unit: unit / common }
    }
}

/// The best packing that the search comes across, `whole` and `rate` being in one unit.
///
/// Two thirds of the trials go into many packings from scratch, since the start decides most. Each
/// is improved for a short while. The last third goes into the best of them.
pub(super) fn look_for_best(
    graph: &Graph,
    whole: &[u128],
    rate: u128,
    search: Search,
) -> Option<Candidate> {
    let mut dice = Dice(search.seed);
    let mut wide = search.trials - search.trials / POLISHED;
    let mut best: Option<Candidate> = None;
    for round in 0.. {
        // A first packing has no limit on its trials.
        let mut enough = usize::MAX;
        let trials = if best.is_none() { &mut enough } else { &mut wide };
        let most = best.as_ref().map_or(usize::MAX, |best| best.score.0);
        let preference = Preference::of_round(round, graph.vertices);
        let found = split(graph, whole, rate, most, preference, &mut dice, trials);
        if let Some((shares, unit)) = found {
            let start = Candidate::new(graph, shares, unit);
            let end = improve(graph, whole, rate, start, PATIENCE, &mut dice, &mut wide);
            if best.as_ref().is_none_or(|best| end.score < best.score) {
                best = Some(end);
            }
        }
        if wide == 0 || best.is_none() && round > search.trials {
            break;
        }
    }
    let mut last = search.trials / POLISHED;
    best.map(|best| improve(graph, whole, rate, best, usize::MAX, &mut dice, &mut last))
}

/// Spreads trees anew until that has been in vain a given number of times, or no trials are left.
fn improve(
    graph: &Graph,
    whole: &[u128],
    rate: u128,
    mut current: Candidate,
    patience: usize,
    dice: &mut Dice,
    trials: &mut usize,
) -> Candidate {
    let mut in_vain = 0;
    while in_vain < patience && *trials > 0 {
        in_vain += 1;
        let other = respread(graph, whole, rate, &current, dice, trials);
        // As good a one is taken too: from it the search sees other trees.
        if let Some(other) = other.filter(|other| other.score <= current.score) {
            in_vain = if other.score < current.score { 0 } else { in_vain };
            current = other;
        }
    }
    current
}

/// Takes some trees out and splits what they leave, into no more trees than they were.
fn respread(
    graph: &Graph,
    whole: &[u128],
    rate: u128,
    current: &Candidate,
    dice: &mut Dice,
    trials: &mut usize,
) -> Option<Candidate> {
    let mut kept = current.shares.clone();
    let out = kept.len().min(2 + dice.below(MOST_OUT - 1));
    for last in (kept.len() - out..kept.len()).rev() {
        kept.swap(dice.below(last + 1), last);
    }
    let gone: u128 = kept.drain(kept.len() - out..).map(|share| share.weight).sum();
    let mut left: Vec<u128> = whole.iter().map(|value| value * current.unit).collect();
    for share in &kept {
        share.tree.iter().for_each(|edge| left[*edge] -= share.weight);
    }
    let preference = Preference::of_round(dice.below(2 * graph.vertices), graph.vertices);
    let (fresh, finer) = split(graph, &left, gone, out, preference, dice, trials)?;
    let unit = current.unit.checked_mul(finer).filter(|unit| *unit <= MOST_UNITS / rate)?;
    kept.iter_mut().for_each(|share| share.weight *= finer);
    kept.extend(fresh);
    Some(Candidate::new(graph, kept, unit))
}
