//! Weights, gradients and the optimizer's state of a GPU.

use super::{Bytes, Kernels, Kind, ModelTraining, bytes, sum};
use crate::training::model::Mlp;

/// Counts bytes of a number of the optimizer's state, and of a master copy of a weight.
const MASTER: u64 = 4;

/// Says what a GPU keeps whatever it computes.
pub(super) struct State {
    pub weights: Bytes,
    pub gradients: Bytes,
    pub optimizer: Bytes,
}

/// Numbers that a GPU has before replicas divide them: of blocks, of experts, and of the embedding and the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::training) struct Numbers {
    pub plain: u64,
    pub experts: u64,
    pub ends: u64,
}

impl ModelTraining<'_> {
    /// Gives a block's part.
    pub(in crate::training) fn block(&self, mlp: &Mlp) -> Numbers {
        let (hidden, parts) = (self.model.hidden, self.layout.tp);
        let attention = &self.model.attention;
        let mut plain = 2 * self.model.norm.parameters(hidden) + attention.other(hidden);
        for matrix in attention.matrices(hidden).iter().chain(&mlp.matrices(hidden)) {
            let cut = if matrix.is_cut { parts } else { 1 };
            plain += match matrix.name {
                // Each GPU has one head of keys and values at least.
                "qkv" => {
                    let key_values =
                        self.key_value_heads() * (attention.head + attention.value_head);
                    hidden * (attention.queries().div_ceil(parts) + key_values)
                }
                _ => matrix.parameters().div_ceil(cut),
            };
        }
        // Biases and gates, which are few.
        let of_matrices: u64 = mlp.matrices(hidden).iter().map(|it| it.parameters()).sum();
        plain += mlp.parameters(hidden) - mlp.routed(hidden) - of_matrices;
        let experts = mlp.routed(hidden).div_ceil(self.layout.ep * self.layout.expert_parts());
        Numbers { plain, experts, ends: 0 }
    }

    /// The embedding's and the head's part on a stage: neither lies in a block.
    pub(super) fn ends(&self, stage: u64) -> u64 {
        let parts = self.layout.tp;
        let (is_first, is_last) = (stage == 0, stage + 1 == self.layout.pp);
        let mut numbers = 0;
        if is_first {
            let places = self.model.positions * self.model.hidden;
            numbers += self.matrix_of_ends().div_ceil(parts) + places;
        }
        if is_last {
            // A head that is tied to an embedding of another stage has a copy of it.
            let has_own = !self.model.tied || !is_first;
            let matrix = if has_own { self.matrix_of_ends() } else { 0 };
            numbers += matrix.div_ceil(parts) + self.model.norm.parameters(self.model.hidden);
        }
        numbers
    }

    /// Numbers of the embedding's matrix, which are those of the head's.
    pub(in crate::training) fn matrix_of_ends(&self) -> u64 {
        self.model.vocabulary * self.model.hidden
    }

    pub(super) fn state(&self, stage: u64, chunks: &[&[&Kind]]) -> State {
        let mut all = Numbers { ends: self.ends(stage), ..Numbers::default() };
        let mut small = 0;
        for kind in chunks.iter().copied().flatten() {
            all.plain += kind.own.plain;
            all.experts += kind.own.experts;
            small += kind.small;
        }
        let frozen = Numbers::default();
        match self.lora {
            None => self.divided(all, frozen),
            Some(_) => self.divided(Numbers { plain: small, ..frozen }, all),
        }
    }

    /// Counts bytes of 32 weights of blocks, those that are trained and those that are frozen.
    ///
    /// Transformer Engine's products of eight bits take weights by rows in the forward pass and by columns in the
    /// backward pass. It keeps both copies from one micro-batch to the next, beside weights of 16 bits
    /// unless there are none. Frozen weights have one copy: recipes turn them as they are needed.
    fn of_32_weights(&self) -> [u64; 2] {
        let wide = 32 * self.number();
        match self.precision.narrow().filter(|_| self.kernels == Kernels::Fused) {
            None => [wide; 2],
            Some(narrow) if self.narrow_weights => [2 * narrow, narrow],
            Some(narrow) => [wide + 2 * narrow, narrow],
        }
    }

    /// Counts trained and frozen numbers as replicas divide them.
    fn divided(&self, trained: Numbers, frozen: Numbers) -> State {
        let number = self.number();
        let part = |numbers: Numbers, from: u8, each: u64| {
            let (plain, experts) = if self.zero >= from {
                (self.layout.shards(), self.layout.expert_shards())
            } else {
                (1, 1)
            };
            let blocks = sum([
                bytes(numbers.plain.div_ceil(plain), each),
                bytes(numbers.experts.div_ceil(experts), each),
            ]);
            (blocks, bytes(numbers.ends.div_ceil(plain), each))
        };
        let both = |(blocks, ends): (Bytes, Bytes)| sum([blocks, ends]);
        // Divided weights are the master copy; gathered ones are made of them.
        let is_sharded = self.zero >= 3;
        let weight = if is_sharded { number.max(MASTER) } else { number };
        let masters = if number < MASTER && !is_sharded { MASTER } else { 0 };
        let gradient = if is_sharded { MASTER } else { self.gradients.bytes() };
        let [of_32, of_32_frozen] = self.of_32_weights();
        // Divided weights are turned into what products take once they are gathered.
        let of_32 = if is_sharded { 32 * weight } else { of_32 };
        let each = [(trained, of_32, weight), (frozen, of_32_frozen, number)];
        let weights = each.map(|(numbers, of_32, of_ends)| {
            let (blocks, ends) = part(numbers, 3, 1);
            sum([Bytes(blocks.0.saturating_mul(of_32) / 32), bytes(ends.0, of_ends)])
        });
        State {
            weights: sum(weights),
            gradients: both(part(trained, 2, gradient)),
            optimizer: both(part(trained, 1, masters + MASTER * self.optimizer.state())),
        }
    }
}
