//! The numbers that a network is trained with.

use serde::{Deserialize, Serialize};

use crate::diagnostic::Named;
use crate::system::gpus::{GpuError, GpuModel, NumberType};
use crate::units::OperationRate;

/// Names the numbers of weights, gradients and activations, and the units that multiply them.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// Takes 32-bit numbers on the plain cores.
    #[default]
    Fp32,
    /// Takes 32-bit numbers, which the matrix units take with 10 bits of mantissa.
    Tf32,
    /// Takes 16-bit numbers (IEEE half precision) with a master copy of the weights in 32 bits.
    Fp16,
    /// Takes 16-bit numbers (brain floating point) with a master copy of the weights in 32 bits.
    Bf16,
}

impl Named for Precision {
    const WHAT: &'static str = "precision";
    const NAMED: &'static [(&'static str, Self)] =
        &[("fp32", Self::Fp32), ("tf32", Self::Tf32), ("fp16", Self::Fp16), ("bf16", Self::Bf16)];
}

impl Precision {
    /// Tells whether nobody chose it.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Names the numbers that matrix units multiply.
    #[must_use]
    pub const fn number(self) -> NumberType {
        match self {
            Self::Fp32 => NumberType::Fp32,
            Self::Tf32 => NumberType::Tf32,
            Self::Fp16 => NumberType::Fp16,
            Self::Bf16 => NumberType::Bf16,
        }
    }

    /// The peak of what multiplies them on a model: its matrix units where they take them, which is told, its plain
    /// cores where not.
    ///
    /// # Errors
    /// A model whose file does not say how fast it calculates with them.
    pub fn peak_of(self, model: &GpuModel) -> Result<(OperationRate, bool), GpuError> {
        let number = self.number();
        match model.matrix_rate(number) {
            Ok(rate) if number != NumberType::Fp32 => Ok((rate, true)),
            _ => model.vector_rate(number).map(|rate| (rate, false)),
        }
    }

    /// Returns the bytes of a weight, a gradient or an activation in a GPU's memory.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Fp32 | Self::Tf32 => 4,
            Self::Fp16 | Self::Bf16 => 2,
        }
    }
}
