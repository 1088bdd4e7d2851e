//! Attention of all tokens of sequences at once, as flash kernels have it.
//!
//! A block has some queries of a head. It goes through the keys that they see, a tile at a time: two products, and an
//! exponential for each pair. Both hide behind one another in part. Blocks of late queries are longer, and the last ones run alone.

use serde::{Deserialize, Serialize};

use super::beside;
use super::gpu::KernelGpu;
use super::reach::AttentionTerms;

/// Describes attention in sequences: of all tokens, each to itself and those before it, or of the last alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AttentionShape {
    /// Counts the sequences.
    pub batch: u64,
    /// Counts the tokens of each.
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

/// A tile has this many keys.
const KEYS: f64 = 128.0;
/// Heads from this width on have half as many queries in a block.
const WIDE: u64 = 192;
/// A number of 16 bits has these.
pub(super) const BYTES: f64 = 2.0;

impl AttentionShape {
    /// Gives the pairs of tokens of one head and sequence.
    fn pairs(&self) -> f64 {
        let tokens = self.tokens as f64;
        let window = self.seen() as f64;
        window * (window + 1.0) / 2.0 + (tokens - window) * window
    }

    /// Counts the tokens that the last one sees.
    pub(super) const fn seen(&self) -> u64 {
        if self.window == 0 || self.window > self.tokens { self.tokens } else { self.window }
    }

    /// Gives the multiply-adds of both products.
    #[must_use]
    pub fn multiply_adds(&self) -> f64 {
        2.0 * (self.batch * self.heads * self.head) as f64 * self.pairs()
    }

    /// Gives the seconds on a GPU.
    pub(super) fn seconds(&self, gpu: &KernelGpu, terms: &AttentionTerms) -> f64 {
        let [busy, moved] = self.parts(gpu, terms);
        let cast = if self.narrow_cache {
            let queries = (self.batch * self.tokens * self.heads * self.head) as f64;
            terms.cast + terms.cast_bytes * queries / gpu.memory
        } else {
            0.0
        };
        terms.least + joined(busy, moved) + cast
    }

    /// Gives the seconds of all blocks, and of what memory moves.
    pub(super) fn parts(&self, gpu: &KernelGpu, terms: &AttentionTerms) -> [f64; 2] {
        let [batch, tokens, heads, shared, head] =
            [self.batch, self.tokens, self.heads, self.key_value_heads, self.head]
                .map(|it| it as f64);
        let queries = if self.head < WIDE { terms.queries } else { terms.queries / 2.0 };
        let blocks = (tokens / queries).ceil();
        let seen = self.seen() as f64;
        // The tile of a block's own tokens is gone through whole.
        let pairs = if seen >= tokens {
            tokens * (tokens + queries) / 2.0
        } else {
            seen * (seen + queries) / 2.0 + (tokens - seen) * (seen + (queries + KEYS) / 2.0)
        };
        let tiles = blocks.max(pairs / queries / KEYS + blocks / 4.0);
        let products = 4.0 * queries * KEYS * head / (gpu.peak_of_16 / gpu.units * terms.share);
        let exponentials = queries * KEYS / (terms.exponentials * gpu.clock);
        let narrow = if self.narrow_cache { terms.narrow } else { 1.0 };
        let tile = beside(products, exponentials) * narrow;
        let start = terms.start / gpu.clock;
        let all = (tiles * tile + blocks * start) * batch * heads / gpu.units;
        let last = (seen.min(tokens).min(seen + queries) / KEYS).ceil() * tile + start;
        let number = if self.narrow_cache { 1.0 } else { BYTES };
        let bytes = 2.0 * batch * tokens * head * (heads * BYTES + shared * number);
        [all + terms.last * last, bytes / (gpu.memory * terms.memory)]
    }
}

/// Adds the time of blocks and of memory, which kernels that begin with loads hide less.
pub(super) fn joined(busy: f64, moved: f64) -> f64 {
    (busy.powf(1.5) + moved.powf(1.5)).powf(1.0 / 1.5)
}
