//! Attention of one new token of each sequence, which reads all keys and values that came before.

use super::attention::{AttentionShape, BYTES};
use super::beside;
use super::gpu::KernelGpu;
use super::reach::DecodingTerms;

/// Gives the multiply-adds of both products of one new token of each sequence.
pub(super) fn multiply_adds(shape: &AttentionShape) -> f64 {
    2.0 * (shape.batch * shape.heads * shape.head) as f64 * shape.seen() as f64
}

/// Gives the seconds on a GPU. The tokens of a sequence count with the new one.
pub(super) fn seconds(shape: &AttentionShape, gpu: &KernelGpu, terms: &DecodingTerms) -> f64 {
    let [batch, heads, shared, head] =
        [shape.batch, shape.heads, shape.key_value_heads, shape.head].map(|it| it as f64);
    let seen = shape.seen() as f64;
    let number = if shape.narrow_cache { 1.0 } else { BYTES };
    let keys = 2.0 * batch * seen * shared * head * number;
    let moved = (keys + 2.0 * batch * heads * head * BYTES) / (gpu.memory * terms.memory);
    // The queries of one head of keys are the rows of a block's tile.
    let blocks = batch * shared * ((heads / shared).max(1.0) / terms.queries).ceil();
    // Where blocks are few, several have parts of the keys, and their results are put together.
    let most = (seen / terms.part).max(1.0);
    let parts = (gpu.units / blocks).clamp(1.0, most);
    let block =
        seen / parts * head * 2.0 * number / (terms.loaded * gpu.clock) + terms.start / gpu.clock;
    let turns = (blocks * parts / gpu.units).max(1.0);
    let merged = if parts > 1.01 { terms.merge } else { 0.0 };
    let cast = if shape.narrow_cache { terms.cast } else { 0.0 };
    terms.least + beside(block * turns, moved) + merged + cast
}
