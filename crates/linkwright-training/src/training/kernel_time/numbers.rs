//! Names the numbers that kernels multiply.

use serde::{Deserialize, Serialize};

use crate::diagnostic::Named;
use crate::system::gpus::{GpuError, GpuModel, NumberType};
use crate::training::memory::ModelPrecision;
use crate::units::OperationRate;

/// Numbers of a kernel's operands; its sums and results have 16 bits or 32.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum KernelNumbers {
    /// Is brain floating point of 16 bits.
    #[default]
    Bf16,
    /// Is IEEE half precision.
    Fp16,
    /// Has numbers of 32 bits on matrix units.
    Tf32,
    /// Has eight bits, with a scale for each tensor or row.
    Fp8,
    /// Has eight bits, with a scale for each 128 numbers of activations, and 128 x 128 of weights.
    Fp8Block,
    /// Has eight bits, with a scale of eight bits for each 32 numbers.
    Mxfp8,
    /// Has four bits, with a scale of eight bits for each 16 numbers.
    Nvfp4,
}

impl Named for KernelNumbers {
    const WHAT: &'static str = "precision of a kernel";
    const NAMED: &'static [(&'static str, Self)] = &[
        ("bf16", Self::Bf16),
        ("fp16", Self::Fp16),
        ("tf32", Self::Tf32),
        ("fp8", Self::Fp8),
        ("fp8-block", Self::Fp8Block),
        ("mxfp8", Self::Mxfp8),
        ("nvfp4", Self::Nvfp4),
    ];
    const ELSEWHERE: &'static [(&'static str, Self)] = &[
        ("bfloat16", Self::Bf16),
        ("float16", Self::Fp16),
        ("fp8_block", Self::Fp8Block),
        ("fp8mx", Self::Mxfp8),
        ("fp8cs", Self::Fp8),
        ("fp4", Self::Nvfp4),
    ];
}

impl KernelNumbers {
    /// Lists all.
    pub const ALL: [Self; 7] =
        [Self::Bf16, Self::Fp16, Self::Tf32, Self::Fp8, Self::Fp8Block, Self::Mxfp8, Self::Nvfp4];

    /// Gives the numbers that matrix units multiply in linear layers; None on plain cores.
    #[must_use]
    pub const fn of(precision: ModelPrecision) -> Option<Self> {
        match precision {
            ModelPrecision::Fp32 => None,
            ModelPrecision::Tf32 => Some(Self::Tf32),
            ModelPrecision::Fp16 => Some(Self::Fp16),
            ModelPrecision::Bf16 => Some(Self::Bf16),
            ModelPrecision::Fp8 => Some(Self::Fp8),
            ModelPrecision::Mxfp8 => Some(Self::Mxfp8),
            ModelPrecision::Nvfp4 => Some(Self::Nvfp4),
        }
    }

    /// Gives how fast a model of GPU multiplies them.
    ///
    /// # Errors
    /// A model whose file does not say it, or that has no scales for each few numbers.
    pub fn peak(self, model: &GpuModel) -> Result<OperationRate, GpuError> {
        match self {
            Self::Bf16 => model.matrix_rate(NumberType::Bf16),
            Self::Fp16 => model.matrix_rate(NumberType::Fp16),
            Self::Tf32 => model.matrix_rate(NumberType::Tf32),
            Self::Fp8 | Self::Fp8Block => ModelPrecision::Fp8.narrow_peak(model),
            Self::Mxfp8 => ModelPrecision::Mxfp8.narrow_peak(model),
            Self::Nvfp4 => ModelPrecision::Nvfp4.narrow_peak(model),
        }
    }

    /// Gives the bytes of an operand's number, with its part of a scale.
    #[must_use]
    pub const fn bytes(self) -> f64 {
        match self {
            Self::Tf32 => 4.0,
            Self::Bf16 | Self::Fp16 => 2.0,
            Self::Fp8 | Self::Fp8Block => 1.0,
            Self::Mxfp8 => 33.0 / 32.0,
            Self::Nvfp4 => 9.0 / 16.0,
        }
    }

    /// Gives the bits of an operand's number, without scales; those of 32 bits are cut to 19 before they are multiplied.
    pub(super) const fn bits(self) -> f64 {
        match self {
            Self::Tf32 => 19.0,
            Self::Bf16 | Self::Fp16 => 16.0,
            Self::Fp8 | Self::Fp8Block | Self::Mxfp8 => 8.0,
            Self::Nvfp4 => 4.0,
        }
    }

    /// Whether operands are made of wider numbers before.
    #[must_use]
    pub const fn is_cast(self) -> bool {
        !matches!(self, Self::Bf16 | Self::Fp16 | Self::Tf32)
    }

    /// Those whose terms it takes where it has none of its own, the nearest first.
    pub(super) const fn nearest(self) -> &'static [Self] {
        match self {
            Self::Bf16 | Self::Fp16 | Self::Tf32 => &[Self::Bf16],
            Self::Fp8 | Self::Mxfp8 => &[Self::Fp8],
            Self::Fp8Block => &[Self::Fp8Block, Self::Fp8],
            Self::Nvfp4 => &[Self::Nvfp4, Self::Fp8],
        }
    }
}
