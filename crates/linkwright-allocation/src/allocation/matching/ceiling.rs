//! Limits every match of a pattern, on any set of GPUs among some.

use super::plan::Plan;
use crate::allocation::GpuSet;
use crate::allocation::links::PairTable;

/// Returns an aggregated bandwidth that no match on GPUs among these exceeds. A match of N edges
/// has at most the weight of the N heaviest pairs. It also has at most half the sum of the GPUs'
/// heaviest pairs, each GPU with as many as a vertex has edges.
#[must_use]
pub fn most_aggregated(plan: &Plan<'_>, pairs: &PairTable, gpus: GpuSet) -> u64 {
    let count = gpus.len();
    let mut all = Vec::with_capacity(count * count / 2);
    // Each GPU's pairs, the heaviest first, one GPU after another.
    let mut of_gpus = Vec::with_capacity(count * count);
    for gpu in gpus.iter() {
        let (weights, start) = (pairs.weights_of(gpu), of_gpus.len());
        for other in gpus.iter().filter(|other| *other != gpu) {
            of_gpus.push(weights[other]);
        }
        all.extend_from_slice(&of_gpus[start..start + gpus.intersection(GpuSet::first(gpu)).len()]);
        of_gpus[start..].sort_unstable_by(|a, b| b.cmp(a));
    }
    let mut both_ends = 0;
    let mut of_one = Vec::with_capacity(count);
    for (degree, vertices) in plan.degrees() {
        of_one.clear();
        for weights in of_gpus.chunks(count.saturating_sub(1).max(1)) {
            of_one.push(weights.iter().take(*degree).sum());
        }
        both_ends += sum_of_heaviest(&mut of_one, *vertices);
    }
    sum_of_heaviest(&mut all, plan.pattern().edges().len()).min(both_ends / 2)
}

/// Returns a bandwidth that the inside of no set of `size` of these GPUs exceeds.
#[must_use]
pub fn most_inside(pairs: &PairTable, gpus: GpuSet, size: usize) -> u64 {
    let mut all = Vec::new();
    let mut of_gpu = Vec::with_capacity(gpus.len());
    for gpu in gpus.iter() {
        let others = gpus.iter().filter(|other| *other != gpu);
        let mut weights: Vec<u64> = others.map(|other| pairs.weight(gpu, other)).collect();
        of_gpu.push(sum_of_heaviest(&mut weights, size.saturating_sub(1)));
        all.extend(gpus.iter().take_while(|other| *other < gpu).map(|b| pairs.weight(gpu, b)));
    }
    let both_ends = sum_of_heaviest(&mut of_gpu, size);
    sum_of_heaviest(&mut all, size * size.saturating_sub(1) / 2).min(both_ends / 2)
}

fn sum_of_heaviest(weights: &mut [u64], count: usize) -> u64 {
    if count < weights.len() {
        weights.select_nth_unstable_by(count, |a, b| b.cmp(a));
    }
    weights.iter().take(count).sum()
}
