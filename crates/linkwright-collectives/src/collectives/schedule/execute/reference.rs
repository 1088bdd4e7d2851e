//! Computes the result of a collective without any schedule.

use super::element::{Element, Reduction};
use super::lengths::Lengths;
use super::{ExecuteError, reduction_of};
use crate::collectives::schedule::Buffer;
use crate::collectives::schedule::collective::{Collective, Content};

/// Returns the output of every rank.
///
/// Integers equal those of [`super::execute`]. Floats are reduced here in the order of the ranks
/// and there in the order of the schedule. So for `n` ranks sums may differ by up to `n * EPSILON`
/// times the sum of the absolute values. Products may differ by `n * EPSILON` of the product, as
/// long as none overflows or underflows.
///
/// # Errors
/// Inputs that do not fit the collective.
pub fn reference<T: Element>(
    collective: Collective,
    inputs: &[Vec<T>],
    reduction: Reduction,
) -> Result<Vec<Vec<T>>, ExecuteError> {
    let ranks = inputs.len();
    let lengths = Lengths::new(collective, &inputs.iter().map(Vec::len).collect::<Vec<_>>())?;
    let piece = |rank: usize, shard: usize| {
        let ranges = lengths.ranges(rank, Buffer::Input);
        &inputs[rank][ranges[shard].clone()]
    };
    let reduction = reduction_of(collective, reduction);
    let reduced = |last: usize, shard: usize| {
        let mut value = piece(0, shard).to_vec();
        for rank in 1..=last {
            reduction.apply(&mut value, piece(rank, shard));
        }
        value
    };
    let shard_of = |content| match content {
        Content::From { rank, shard } => piece(rank, shard).to_vec(),
        Content::Reduced { shard } => reduced(ranks - 1, shard),
        Content::ReducedTo { rank, shard } => reduced(rank, shard),
    };
    let output = |rank| {
        let shards = 0..collective.output_shards(ranks, rank);
        shards.flat_map(|shard| shard_of(collective.expected(rank, shard))).collect()
    };
    Ok((0..ranks).map(output).collect())
}
