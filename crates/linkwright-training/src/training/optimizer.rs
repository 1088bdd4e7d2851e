//! Describes optimizers, which turn gradients into new weights.

use serde::{Deserialize, Serialize};

use crate::diagnostic::Named;

/// Names an optimizer, as far as its memory and its kernels depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Optimizer {
    /// Gradient descent, which keeps nothing.
    Sgd,
    /// Gradient descent with momentum, which keeps a number for each weight.
    #[default]
    Momentum,
    /// Adam, which keeps two (Kingma and Ba, ICLR 2015).
    Adam,
}

impl Named for Optimizer {
    const WHAT: &'static str = "optimizer";
    const NAMED: &'static [(&'static str, Self)] =
        &[("sgd", Self::Sgd), ("momentum", Self::Momentum), ("adam", Self::Adam)];
}

impl Optimizer {
    /// Numbers that it keeps for each weight.
    #[must_use]
    pub const fn state(self) -> u64 {
        match self {
            Self::Sgd => 0,
            Self::Momentum => 1,
            Self::Adam => 2,
        }
    }
}
