//! Attention of one new token of each sequence, which reads all keys and values that came before.

use serde::{Deserialize, Serialize};

use super::beside;
use super::gpu::KernelGpu;
use super::reach::DecodingTerms;

/// Lets one token of each sequence attend to those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DecodingShape {
    /// Counts the sequences.
    pub batch: u64,
    /// Counts the tokens of each, with the new one.
    pub tokens: u64,
    /// Heads of queries.
    pub heads: u64,
    /// Heads of keys and values.
    pub key_value_heads: u64,
    /// Numbers of a head.
    pub head: u64,
    /// A token sees this many at most; all where it is zero.
    pub window: u64,
    /// Whether keys and values are kept in eight bits.
    pub narrow_cache: bool,
}

const BYTES: f64 = 2.0;

impl DecodingShape {
    /// Counts the keys of a head that are read.
    fn seen(&self) -> f64 {
        let all = self.tokens.max(1);
        let seen = if self.window == 0 || self.window > all { all } else { self.window };
        seen as f64
    }

    /// Gives the multiply-adds of both products.
    #[must_use]
    pub fn multiply_adds(&self) -> f64 {
        2.0 * (self.batch * self.heads * self.head) as f64 * self.seen()
    }

    /// Gives the seconds on a GPU.
    pub(super) fn seconds(&self, gpu: &KernelGpu, terms: &DecodingTerms) -> f64 {
        let [batch, heads, shared, head] =
            [self.batch, self.heads, self.key_value_heads, self.head].map(|it| it as f64);
        let seen = self.seen();
        let number = if self.narrow_cache { 1.0 } else { BYTES };
        let keys = 2.0 * batch * seen * shared * head * number;
        let moved = (keys + 2.0 * batch * heads * head * BYTES) / (gpu.memory * terms.memory);
        // The queries of one head of keys are the rows of a block's tile.
        let blocks = batch * shared * ((heads / shared).max(1.0) / terms.queries).ceil();
        // Where blocks are few, several have parts of the keys, and their results are put together.
        let most = (seen / terms.part).max(1.0);
        let parts = (gpu.units / blocks).clamp(1.0, most);
        let block = seen / parts * head * 2.0 * number / (terms.loaded * gpu.clock)
            + terms.start / gpu.clock;
        let turns = (blocks * parts / gpu.units).max(1.0);
        let merged = if parts > 1.01 { terms.merge } else { 0.0 };
        let cast = if self.narrow_cache { terms.cast } else { 0.0 };
        terms.least + beside(block * turns, moved) + merged + cast
    }
}
