//! Limits every match of a pattern, on any set of GPUs among some.

use super::plan::Plan;
use crate::allocation::GpuSet;
use crate::allocation::links::PairTable;

/// Returns an aggregated bandwidth that no match on GPUs among these exceeds. A match of N edges
/// has at most the weight of the N heaviest pairs. It also has at most half the sum of the GPUs'
/// heaviest pairs, each GPU with as many as a vertex has edges.
#[must_use]
pub fn most_aggregated(plan: &Plan<'_>, pairs: &PairTable, gpus: GpuSet) -> u64 {
    let mut all = Vec::with_capacity(gpus.len() * gpus.len() / 2);
    let mut of_gpu = Vec::with_capacity(gpus.len());
    for gpu in gpus.iter() {
        let others = gpus.iter().filter(|other| *other != gpu);
        let mut weights: Vec<u64> = others.map(|other| pairs.weight(gpu, other)).collect();
        all.extend(gpus.iter().take_while(|other| *other < gpu).map(|b| pairs.weight(gpu, b)));
        weights.sort_unstable_by(|a, b| b.cmp(a));
        of_gpu.push(weights);
    }
    let mut both_ends = 0;
    for (degree, vertices) in plan.degrees() {
        let of_one = |weights: &Vec<u64>| weights.iter().take(degree).sum();
        both_ends += sum_of_heaviest(of_gpu.iter().map(of_one).collect(), vertices);
    }
    sum_of_heaviest(all, plan.pattern().edges().len()).min(both_ends / 2)
}

/// Returns a bandwidth that the inside of no set of `size` of these GPUs exceeds.
#[must_use]
pub fn most_inside(pairs: &PairTable, gpus: GpuSet, size: usize) -> u64 {
    let mut all = Vec::new();
    let mut of_gpu = Vec::with_capacity(gpus.len());
    for gpu in gpus.iter() {
        let others = gpus.iter().filter(|other| *other != gpu);
        let weights = others.map(|other| pairs.weight(gpu, other)).collect();
        of_gpu.push(sum_of_heaviest(weights, size.saturating_sub(1)));
        all.extend(gpus.iter().take_while(|other| *other < gpu).map(|b| pairs.weight(gpu, b)));
    }
    let both_ends = sum_of_heaviest(of_gpu, size);
    sum_of_heaviest(all, size * size.saturating_sub(1) / 2).min(both_ends / 2)
}

fn sum_of_heaviest(mut weights: Vec<u64>, count: usize) -> u64 {
    if count < weights.len() {
        weights.select_nth_unstable_by(count, |a, b| b.cmp(a));
    }
    weights.iter().take(count).sum()
}
