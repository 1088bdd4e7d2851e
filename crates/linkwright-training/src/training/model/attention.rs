//! Holds attention of a block: heads, matrices, and trained numbers.

use serde::{Deserialize, Serialize};

/// Keys and values that are made of a short vector of each token (DeepSeek's multi-head latent attention).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latent {
    /// Numbers of the short vector that queries are made of; none where they are made of the token's own.
    pub query: Option<u64>,
    /// Numbers of the short vector that keys and values are made of.
    pub key_value: u64,
    /// Numbers of a query and a key that are turned by their places; all heads share the key's.
    pub rotary: u64,
}

/// Holds attention of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attention {
    /// Heads of queries.
    pub heads: u64,
    /// Heads of keys and values.
    pub key_value_heads: u64,
    /// Numbers of a query and of a key.
    pub head: u64,
    /// Numbers of a value.
    pub value_head: u64,
    /// The short vectors, where keys and values are made of them.
    pub latent: Option<Latent>,
    /// Whether a trained number is added to each query, key and value.
    pub bias: bool,
    /// Whether a trained number is added to each output.
    pub output_bias: bool,
    /// Whether queries and keys are divided by their root mean square, head by head.
    pub head_norms: bool,
    /// Whether each head has a trained share that no token gets.
    pub sinks: bool,
    /// Whether queries and keys are turned by their places.
    pub rotary: bool,
    /// Whether its kernels are FlashAttention of the first version, in Triton: those that add a bias for each distance.
    pub triton: bool,
}

impl Attention {
    /// Numbers of all queries of a token.
    #[must_use]
    pub const fn queries(&self) -> u64 {
        self.heads * self.head
    }

    /// Numbers of all keys of a token.
    #[must_use]
    pub const fn keys(&self) -> u64 {
        self.key_value_heads * self.head
    }

    /// Numbers of all values of a token.
    #[must_use]
    pub const fn values(&self) -> u64 {
        self.key_value_heads * self.value_head
    }

    /// Numbers of a token that the last product reads.
    #[must_use]
    pub const fn outputs(&self) -> u64 {
        self.heads * self.value_head
    }

    /// Lists its matrices by inputs and outputs, in the order in which they multiply.
    #[must_use]
    pub fn matrices(&self, hidden: u64) -> Vec<Matrix> {
        let last = Matrix::cut("projection", self.outputs(), hidden);
        let Some(latent) = self.latent else {
            let joined = self.queries() + self.keys() + self.values();
            return vec![Matrix::cut("qkv", hidden, joined), last];
        };
        let mut each = Vec::new();
        match latent.query {
            Some(short) => {
                each.push(Matrix::whole("q-down", hidden, short));
                each.push(Matrix::cut("q-up", short, self.queries()));
            }
            None => each.push(Matrix::cut("q", hidden, self.queries())),
        }
        let unturned = self.head - latent.rotary;
        each.push(Matrix::whole("kv-down", hidden, latent.key_value + latent.rotary));
        let up = self.heads * (unturned + self.value_head);
        each.push(Matrix::cut("kv-up", latent.key_value, up));
        each.push(last);
        each
    }

    /// Trained numbers that are in no matrix: biases, norms and sinks.
    #[must_use]
    pub fn other(&self, hidden: u64) -> u64 {
        let bias = if self.bias { self.queries() + self.keys() + self.values() } else { 0 };
        let output_bias = if self.output_bias { hidden } else { 0 };
        let head_norms = if self.head_norms { 2 * self.head } else { 0 };
        let sinks = if self.sinks { self.heads } else { 0 };
        let short = self.latent.map_or(0, |it| it.key_value + it.query.unwrap_or(0));
        bias + output_bias + head_norms + sinks + short
    }

    /// Counts trained numbers.
    #[must_use]
    pub fn parameters(&self, hidden: u64) -> u64 {
        let matrices = self.matrices(hidden);
        matrices.iter().map(Matrix::parameters).sum::<u64>() + self.other(hidden)
    }
}

/// Gives a matrix that multiplies each token's vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matrix {
    /// Says what it is called.
    pub name: &'static str,
    /// Numbers that it reads of a token.
    pub inputs: u64,
    /// Numbers that it writes of a token.
    pub outputs: u64,
    /// Says whether tensor parallelism cuts it.
    pub is_cut: bool,
}

impl Matrix {
    /// Gives one that tensor parallelism cuts.
    #[must_use]
    pub const fn cut(name: &'static str, inputs: u64, outputs: u64) -> Self {
        Self { name, inputs, outputs, is_cut: true }
    }

    /// One that every GPU has whole.
    #[must_use]
    pub const fn whole(name: &'static str, inputs: u64, outputs: u64) -> Self {
        Self { name, inputs, outputs, is_cut: false }
    }

    /// Counts trained numbers.
    #[must_use]
    pub const fn parameters(&self) -> u64 {
        self.inputs * self.outputs
    }
}
