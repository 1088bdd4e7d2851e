//! Names the numbers that a model's products multiply, and counts those that are kept.

use serde::{Deserialize, Serialize};

use crate::diagnostic::Named;
use crate::training::precision::Precision;

/// Numbers of a model's products. Those of eight bits and fewer are made of numbers of 16 bits, in
/// which weights and activations are else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelPrecision {
    /// Means 32-bit numbers on the plain cores.
    Fp32,
    /// Means 32-bit numbers on the matrix units.
    Tf32,
    /// Means IEEE half precision.
    Fp16,
    /// Means brain floating point.
    #[default]
    Bf16,
    /// Means eight bits, with a scale for each tensor.
    Fp8,
    /// Means eight bits, with a scale of eight bits for each 32 numbers.
    Mxfp8,
    /// Means four bits, with a scale of eight bits for each 16 numbers.
    Nvfp4,
}

impl Named for ModelPrecision {
    const WHAT: &'static str = "precision of a model";
    const NAMED: &'static [(&'static str, Self)] = &[
        ("fp32", Self::Fp32),
        ("tf32", Self::Tf32),
        ("fp16", Self::Fp16),
        ("bf16", Self::Bf16),
        ("fp8", Self::Fp8),
        ("mxfp8", Self::Mxfp8),
        ("nvfp4", Self::Nvfp4),
    ];
    const ELSEWHERE: &'static [(&'static str, Self)] =
        &[("fp8mx", Self::Mxfp8), ("fp8cs", Self::Fp8), ("fp4", Self::Nvfp4)];
}

impl ModelPrecision {
    /// Gives the numbers of weights and activations.
    #[must_use]
    pub const fn numbers(self) -> Precision {
        match self {
            Self::Fp32 => Precision::Fp32,
            Self::Tf32 => Precision::Tf32,
            Self::Fp16 => Precision::Fp16,
            Self::Bf16 | Self::Fp8 | Self::Mxfp8 | Self::Nvfp4 => Precision::Bf16,
        }
    }

    /// Bytes of 32 numbers as a product takes them, with their scales; none where it takes them as
    /// they are.
    pub(super) const fn narrow(self) -> Option<u64> {
        match self {
            Self::Fp32 | Self::Tf32 | Self::Fp16 | Self::Bf16 => None,
            Self::Fp8 => Some(32),
            Self::Mxfp8 => Some(33),
            Self::Nvfp4 => Some(16 + 2),
        }
    }
}
