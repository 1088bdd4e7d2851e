//! Names the numbers that a model's products multiply, and counts those that are kept.

use serde::{Deserialize, Serialize};

use crate::diagnostic::Named;
use crate::system::gpus::{GpuError, GpuModel, NumberType};
use crate::training::precision::Precision;
use crate::units::OperationRate;

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

impl From<Precision> for ModelPrecision {
    fn from(precision: Precision) -> Self {
        match precision {
            Precision::Fp32 => Self::Fp32,
            Precision::Tf32 => Self::Tf32,
            Precision::Fp16 => Self::Fp16,
            Precision::Bf16 => Self::Bf16,
        }
    }
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

    /// How fast a model of GPU multiplies numbers of eight bits or four; those in which weights are, of others.
    ///
    /// # Errors
    /// A model whose file does not say it. Numbers with a scale for each block need one that multiplies fewer than eight bits:
    /// scales came to matrix units with these.
    pub(in crate::training) fn narrow_peak(
        self,
        model: &GpuModel,
    ) -> Result<OperationRate, GpuError> {
        match self {
            Self::Fp32 | Self::Tf32 | Self::Fp16 | Self::Bf16 => {
                self.numbers().peak_of(model).map(|(peak, _)| peak)
            }
            Self::Fp8 => model.matrix_rate(NumberType::Fp8),
            Self::Mxfp8 => {
                model
                    .matrix_rate(NumberType::Fp6)
                    .or_else(|_| model.matrix_rate(NumberType::Fp4))?;
                model.matrix_rate(NumberType::Fp8)
            }
            Self::Nvfp4 => model.matrix_rate(NumberType::Fp4),
        }
    }

    /// Counts the bits of a number that products take, without scales; none where they take weights as they are.
    pub(in crate::training) const fn narrow_bits(self) -> Option<u64> {
        match self {
            Self::Fp32 | Self::Tf32 | Self::Fp16 | Self::Bf16 => None,
            Self::Fp8 | Self::Mxfp8 => Some(8),
            Self::Nvfp4 => Some(4),
        }
    }

    /// Bytes of 32 numbers as a product takes them, with their scales; none where it takes them as
    /// they are.
    pub(in crate::training) const fn narrow(self) -> Option<u64> {
        match self {
            Self::Fp32 | Self::Tf32 | Self::Fp16 | Self::Bf16 => None,
            Self::Fp8 => Some(32),
            Self::Mxfp8 => Some(33),
            Self::Nvfp4 => Some(16 + 2),
        }
    }
}
