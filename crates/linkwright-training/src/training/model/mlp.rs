//! Holds the part of a block behind attention: one perceptron, or experts that a router chooses from.

use serde::{Deserialize, Serialize};

use super::attention::Matrix;

/// Holds perceptrons; a router sends each token to a few.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Experts {
    /// How many there are.
    pub count: u64,
    /// To how many a token goes.
    pub top: u64,
    /// Numbers between both products of an expert.
    pub inner: u64,
    /// Numbers between both products of those that every token goes to, together.
    pub shared: u64,
    /// Whether the shared ones' output is scaled by a trained gate.
    pub shared_gate: bool,
    /// Counts trained numbers of the router beside its matrix, for each expert.
    pub router_bias: bool,
    /// Whether a trained number is added to each output of an expert's products.
    pub bias: bool,
}

/// Says what follows attention in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mlp {
    /// One perceptron, which every token goes through.
    Dense {
        /// Numbers between both products.
        inner: u64,
        /// Says whether a second product gates the first.
        gated: bool,
        /// Whether a trained number is added to each output.
        bias: bool,
    },
    /// Several, all gated; each token goes through a few.
    Experts(Experts),
}

impl Mlp {
    /// The experts, where it has some.
    #[must_use]
    pub const fn experts(&self) -> Option<Experts> {
        match self {
            Self::Dense { .. } => None,
            Self::Experts(experts) => Some(*experts),
        }
    }

    /// Lists the matrices that every token is multiplied with.
    #[must_use]
    pub fn matrices(&self, hidden: u64) -> Vec<Matrix> {
        match *self {
            Self::Dense { inner, gated, .. } => {
                let first = if gated { 2 * inner } else { inner };
                vec![Matrix::cut("up", hidden, first), Matrix::cut("down", inner, hidden)]
            }
            Self::Experts(Experts { count, shared, .. }) => {
                let router = Matrix::whole("router", hidden, count);
                if shared == 0 {
                    return vec![router];
                }
                let up = Matrix::cut("shared-up", hidden, 2 * shared);
                vec![router, up, Matrix::cut("shared-down", shared, hidden)]
            }
        }
    }

    /// Trained numbers of all experts that tokens are sent to.
    #[must_use]
    pub fn routed(&self, hidden: u64) -> u64 {
        self.experts().map_or(0, |experts| experts.count * experts.each(hidden))
    }

    /// Trained numbers of experts that a token does not go to.
    #[must_use]
    pub fn idle(&self, hidden: u64) -> u64 {
        self.experts().map_or(0, |it| (it.count - it.top) * it.each(hidden))
    }

    /// Counts trained numbers.
    #[must_use]
    pub fn parameters(&self, hidden: u64) -> u64 {
        let matrices = self.matrices(hidden).iter().map(Matrix::parameters).sum::<u64>();
        let other = match *self {
            Self::Dense { bias: false, .. } => 0,
            Self::Dense { inner, gated, .. } => hidden + if gated { 2 * inner } else { inner },
            Self::Experts(experts) => {
                let gate = if experts.shared_gate { hidden } else { 0 };
                gate + if experts.router_bias { experts.count } else { 0 }
            }
        };
        matrices + other + self.routed(hidden)
    }
}

impl Experts {
    /// Experts without biases and without shared ones; how many there are is to be said.
    pub(super) const fn plain() -> Self {
        Self {
            count: 1,
            top: 1,
            inner: 1,
            shared: 0,
            shared_gate: false,
            router_bias: false,
            bias: false,
        }
    }

    /// Counts trained numbers of one.
    #[must_use]
    pub const fn each(&self, hidden: u64) -> u64 {
        let bias = if self.bias { 2 * self.inner + hidden } else { 0 };
        3 * hidden * self.inner + bias
    }
}
