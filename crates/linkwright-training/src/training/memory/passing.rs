//! Says what a block's backward pass or the loss needs for a while.

use std::collections::BTreeSet;

use super::{Bytes, Held, Kernels, Kind, ModelTraining, bytes, sum};
use crate::training::model::{Family, Mlp};

/// Holds the space of matrix libraries: Transformer Engine's for cuBLASLt, 32 MiB, and PyTorch's for cuBLAS, 8 MiB
/// (`CUBLAS_WORKSPACE_CONFIG` `:4096:2`).
const LIBRARIES: Bytes = Bytes((32 + 8) << 20);

/// Counts vectors of a token that goes to an expert in the forward pass: sent, computed, and back.
const DISPATCHED: u64 = 3;

/// Says what passes on a stage, by when.
pub(super) struct Passing {
    always: Bytes,
    block: Bytes,
    loss: Bytes,
    embedding: Bytes,
    dispatch: Bytes,
}

impl Passing {
    /// The most that there is at once.
    pub fn most(&self) -> Bytes {
        sum([self.always, self.block.max(self.loss)])
    }

    /// Gives what the allocator keeps for tensors of one size and cannot give to those that need the most.
    ///
    /// Where the loss needs more, pieces of a block's backward pass are too small for it. The embedding's
    /// gradient is larger than every piece that activations leave. Tokens that go to
    /// experts and come back have a size of their own in the forward pass.
    pub fn holes(&self) -> Bytes {
        let block = if self.loss > self.block { self.block } else { Bytes(0) };
        sum([block, self.embedding, self.dispatch])
    }
}

impl ModelTraining<'_> {
    pub(super) fn passing(&self, stage: u64, chunks: &[&[&Kind]]) -> Passing {
        let block = chunks.iter().copied().flatten().map(|kind| kind.backward).max();
        let block = block.unwrap_or_default();
        let kinds: Vec<Held> = kinds(chunks);
        let loss = if stage + 1 == self.layout.pp { self.loss() } else { Bytes(0) };
        let has_gradient = stage == 0 && self.lora.is_none();
        let matrix = if has_gradient { self.matrix_of_ends().div_ceil(self.layout.tp) } else { 0 };
        let sent = kinds.iter().map(|held| held.sent).max().unwrap_or(0);
        Passing {
            always: sum([LIBRARIES, self.set_aside(&kinds)]),
            block,
            loss,
            embedding: bytes(matrix, self.number()),
            dispatch: bytes(sent, DISPATCHED * self.model.hidden * self.number()),
        }
    }

    /// Counts gradients within a block, and activations that were computed again for them.
    pub(super) fn backward(&self, held: &Held) -> Bytes {
        let number = self.number();
        let (tokens, attention) = (self.tokens(), self.model.attention);
        let incoming = bytes(self.own_tokens(), self.model.hidden * number);
        let of_mlp = match &held.mlp {
            Mlp::Dense { inner, gated, .. } => {
                let factors: u64 = match (self.kernels, gated) {
                    // Of the product, of both factors, and of the gate before it was opened.
                    (Kernels::Eager, true) => 4,
                    (_, true) | (Kernels::Eager, false) => 2,
                    (_, false) => 1,
                };
                bytes(tokens, factors * inner.div_ceil(self.layout.tp) * number)
            }
            Mlp::Experts(experts) => {
                let inner = experts.inner.div_ceil(self.layout.expert_parts());
                bytes(held.sent, (2 * inner + self.model.hidden) * number)
            }
        };
        let heads = attention.heads.div_ceil(self.layout.tp);
        let of_heads = heads * 2 * (attention.head + attention.value_head);
        let of_attention = bytes(tokens, of_heads * number);
        let tensors = self.tensors_of(held);
        let again = tensors.iter().fold(0_u64, |sum, it| sum.saturating_add(it.bytes.0));
        // Place zero is computed again wherever any block is.
        let again = again.saturating_sub(self.kept(held, 0));
        let mut keys = tensors.iter().filter(|tensor| tensor.name == "keys");
        let is_turned_again = keys.any(|tensor| !self.recompute.keeps(tensor, 0));
        let turned = match self.kernels {
            // Queries and keys are turned in 32 bits, before and behind.
            Kernels::Eager if attention.rotary && is_turned_again => {
                bytes(tokens, heads * attention.head * 2 * 2 * 4)
            }
            _ => Bytes(0),
        };
        sum([incoming, of_mlp.max(of_attention), Bytes(again), turned])
    }

    /// Counts logits with their loss, then the head's gradients.
    fn loss(&self) -> Bytes {
        let number = self.number();
        let parts = self.layout.tp;
        let vocabulary = self.model.vocabulary.div_ceil(parts);
        let logits = self.tokens().saturating_mul(vocabulary);
        let whole = bytes(self.own_tokens(), self.model.hidden * number);
        // The last norm's input and output.
        let before = sum([whole, whole]);
        let forward = sum([before, bytes(logits, self.of_each_logit())]);
        let matrix = if self.lora.is_some() { 0 } else { self.matrix_of_ends().div_ceil(parts) };
        // The gradients of the norm's output and input.
        let backward = sum([before, bytes(logits, number), bytes(matrix, number), before]);
        forward.max(backward)
    }

    /// Counts bytes of each logit while the loss is computed; the most are there in its backward pass.
    fn of_each_logit(&self) -> u64 {
        match (self.kernels, self.model.family) {
            // The gradient is written in the logit's place (Transformer Engine's `parallel_cross_entropy`).
            (Kernels::Fused, _) => self.number(),
            // llm-foundry computes MPT's loss by one kernel (`loss_fn: fused_crossentropy`).
            (_, Family::Mpt) => 2 * self.number(),
            // Logarithms of shares, their gradient and that of the logits, each in 32 bits.
            _ => 3 * 4,
        }
    }

    /// Gradients of weights that Transformer Engine keeps as placeholders once they are added where they
    /// belong: one for each shape (`get_dummy_wgrad`).
    fn set_aside(&self, kinds: &[Held]) -> Bytes {
        if self.kernels != Kernels::Fused || self.lora.is_some() {
            return Bytes(0);
        }
        let hidden = self.model.hidden;
        let mut shapes = BTreeSet::new();
        for Held { mlp, .. } in kinds {
            let matrices = self.model.attention.matrices(hidden).into_iter();
            for matrix in matrices.chain(mlp.matrices(hidden)) {
                let parts = if matrix.is_cut { self.layout.tp } else { 1 };
                shapes.insert((matrix.inputs, matrix.outputs, parts));
            }
            if let Some(experts) = mlp.experts() {
                let parts = self.layout.expert_parts();
                shapes.insert((hidden, 2 * experts.inner, parts));
                shapes.insert((experts.inner, hidden, parts));
            }
        }
        let numbers =
            shapes.iter().map(|(inputs, outputs, parts)| (inputs * outputs).div_ceil(*parts));
        bytes(numbers.sum(), self.number())
    }
}

/// Says what blocks of a stage are like.
fn kinds(chunks: &[&[&Kind]]) -> Vec<Held> {
    let mut kinds: Vec<Held> = Vec::new();
    for kind in chunks.iter().copied().flatten() {
        if !kinds.contains(&kind.held) {
            kinds.push(kind.held);
        }
    }
    kinds
}
