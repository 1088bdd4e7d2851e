//! Counts what each kernel of a block multiplies, reads and writes for a token on one GPU.
//!
//! Numbers count as for layers of a network (`derive.rs`). Functions of each number read and write memory once.
//! Attention is one kernel that causal pairs of tokens take part in. A product reads its matrix once.

use crate::training::family::LayerFamily;
use crate::training::kernel_time::AttentionShape;
use crate::training::model::Norm;
use crate::training::roofline::LayerWork;

/// A kernel that takes a number of tokens on one GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TokenWork {
    /// Recomputation and adapters are told by this name.
    pub name: &'static str,
    /// One token needs this work.
    pub work: LayerWork,
    /// It takes this many tokens.
    pub tokens: u64,
    /// Whether its weights have no gradients.
    pub is_frozen: bool,
    /// Attention has this shape, of one sequence, and whether its kernels are in Triton.
    pub attention: Option<(AttentionShape, bool)>,
}

impl TokenWork {
    pub(super) const fn new(name: &'static str, work: LayerWork, tokens: u64) -> Self {
        Self { name, work, tokens, is_frozen: false, attention: None }
    }
}

/// Counts a function of each number, from the numbers of a token that it reads, writes and keeps.
pub(super) const fn each(family: LayerFamily, read: u64, written: u64, saved: u64) -> LayerWork {
    LayerWork {
        family,
        parameters: 0,
        weights: 0,
        multiply_adds: 0,
        read,
        written,
        saved,
        columns: if written == 0 { 1 } else { written },
        columns_read: 1,
        matrices: 1,
        steps: 1,
        is_recurrent: false,
        is_matrix: false,
        is_first: false,
        unit_stride: None,
    }
}

/// Counts a matrix that multiplies each token's vector, with `biases` added.
pub(super) fn product(inputs: u64, outputs: u64, biases: u64) -> LayerWork {
    products(inputs, outputs, biases, 1)
}

/// Several matrices of one shape; each token is multiplied with one of them.
pub(super) fn products(inputs: u64, outputs: u64, biases: u64, matrices: u64) -> LayerWork {
    let weights = (inputs * outputs).saturating_add(biases).saturating_mul(matrices);
    LayerWork {
        parameters: weights,
        weights,
        multiply_adds: inputs * outputs,
        columns: outputs.max(1),
        columns_read: inputs.max(1),
        is_matrix: true,
        matrices: matrices.max(1),
        ..each(LayerFamily::FullyConnected, inputs, outputs, 0)
    }
}

/// A norm of vectors of a width, whose output the product behind it keeps.
pub(super) fn norm(norm: Norm, width: u64) -> LayerWork {
    let statistics = if matches!(norm, Norm::Layer { .. }) { 2 } else { 1 };
    let weights = norm.parameters(width);
    let work = each(LayerFamily::TokenNorm, width, width, width + statistics);
    LayerWork { parameters: weights, weights, ..work }
}

/// Attention between the tokens of a sequence, as heads of this GPU have it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heads {
    pub heads: u64,
    pub key_value_heads: u64,
    /// Numbers of a query and a key, and of a value.
    pub head: u64,
    pub value_head: u64,
}

impl Heads {
    /// Numbers of a token's queries, keys and values.
    pub(super) const fn joined(&self) -> u64 {
        self.heads * self.head + self.keys_and_values()
    }

    /// Numbers of a token's keys and values.
    pub(super) const fn keys_and_values(&self) -> u64 {
        self.key_value_heads * (self.head + self.value_head)
    }

    /// Numbers that it writes of a token.
    pub(super) const fn written(&self) -> u64 {
        self.heads * self.value_head
    }

    /// Gives the kernel of one sequence.
    pub(super) fn shape(&self, sequence: u64) -> AttentionShape {
        AttentionShape {
            batch: 1,
            tokens: sequence.max(1),
            heads: self.heads.max(1),
            key_value_heads: self.key_value_heads.max(1),
            // Of both products, one has numbers of keys and the other those of values.
            head: u64::midpoint(self.head, self.value_head).max(1),
            window: 0,
            narrow_cache: false,
        }
    }

    /// Counts one token's part of attention over a whole sequence. Each token sees itself and those before it.
    pub(super) fn work(&self, sequence: u64) -> LayerWork {
        let pairs = self.heads * (self.head + self.value_head);
        LayerWork {
            multiply_adds: pairs.saturating_mul(sequence + 1) / 2,
            columns: self.value_head.max(1),
            columns_read: self.head.max(1),
            is_matrix: true,
            ..each(LayerFamily::Attention, self.joined(), self.written(), 0)
        }
    }
}

/// Looks vectors up in a matrix of token numbers.
pub(super) fn embedding(vocabulary: u64, width: u64) -> LayerWork {
    let weights = vocabulary * width;
    let work = each(LayerFamily::Embedding, 1, width, width);
    LayerWork { parameters: weights, weights, is_first: true, ..work }
}
