//! Whose kernels compute a block, which decides what is kept between them.

use serde::{Deserialize, Serialize};

use crate::diagnostic::Named;

/// Names the kernels of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kernels {
    /// Transformer Engine's, as Megatron runs them: norms, rotation and the gated function are one
    /// kernel each, and weights' gradients are added where they are kept.
    #[default]
    Fused,
    /// Means PyTorch's, one for each operation.
    Eager,
    /// Means PyTorch's, compiled: results of each number by itself are computed again in the backward pass.
    Compiled,
}

impl Kernels {
    /// Those that compute where nobody says whose: PyTorch's where replicas divide weights, as its own sharding has it.
    #[must_use]
    pub const fn usual(zero: u8) -> Self {
        if zero == 3 { Self::Eager } else { Self::Fused }
    }
}

impl Named for Kernels {
    const WHAT: &'static str = "kind of kernels";
    const NAMED: &'static [(&'static str, Self)] =
        &[("fused", Self::Fused), ("eager", Self::Eager), ("compiled", Self::Compiled)];
    const ELSEWHERE: &'static [(&'static str, Self)] = &[
        ("transformerengine", Self::Fused),
        ("te", Self::Fused),
        ("megatron", Self::Fused),
        ("inductor", Self::Compiled),
        ("torchcompile", Self::Compiled),
    ];
}
