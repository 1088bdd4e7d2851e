//! Tells what of a GPU the time of kernels depends on.

use crate::diagnostic::Named;
use crate::system::gpus::GpuModel;
use crate::training::error::TrainingError;
use crate::training::generation::GpuGeneration;
use crate::training::kernel_time::{KernelGeneration, KernelGpu, KernelNumbers, PowerBudget};
use crate::training::memory::ModelPrecision;
use crate::training::precision::Precision;
use crate::training::units::Units;
use crate::units::{Bandwidth, OperationRate};

/// A GPU as far as the time of kernels depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GpuRates {
    /// Counts streaming multiprocessors, or compute units.
    pub(super) units: u64,
    /// The peak of what multiplies, and whether that is matrix units.
    pub(super) peak: OperationRate,
    pub(super) has_matrix_units: bool,
    pub(super) memory: Bandwidth,
    /// A number has this many bytes.
    pub(super) number: u64,
    pub(super) generation: Option<GpuGeneration>,
    /// How its matrix units are fed, and cycles a second.
    pub(super) feeds: KernelGeneration,
    pub(super) clock: u64,
    /// Says what limits its clock under load, where its file has it.
    pub(super) power: Option<PowerBudget>,
    /// Replaces such numbers in products of linear layers.
    pub(super) narrow: Option<NarrowNumbers>,
}

/// Numbers of eight bits or four, which products of linear layers are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NarrowNumbers {
    pub(super) peak: OperationRate,
    pub(super) bits: u64,
    /// Bytes of 32 numbers with their scales.
    pub(super) of_32: u64,
}

impl GpuRates {
    /// Gives those of a model that calculates with numbers of a precision. Its matrix units do where they take them, and
    /// its plain cores where not.
    ///
    /// # Errors
    /// A model whose file lacks a section that this needs, and a precision that it does not calculate with.
    pub fn of(model: &GpuModel, precision: Precision) -> Result<Self, TrainingError> {
        let (peak, has_matrix_units) = match precision.peak_of(model) {
            Ok(found) => found,
            Err(error) => {
                model.peak()?;
                let takes = |other: &&Precision| other.peak_of(model).is_ok();
                let all = [Precision::Fp32, Precision::Tf32, Precision::Fp16, Precision::Bf16];
                let instead = all.iter().filter(takes).map(|it| it.number().name()).collect();
                return Err(TrainingError::Precision { error, instead });
            }
        };
        let units = u64::from(Units::of(model, precision)?.count);
        let memory = model.memory()?.bandwidth;
        Ok(Self {
            units,
            peak,
            has_matrix_units,
            memory,
            number: precision.bytes(),
            generation: GpuGeneration::of(model),
            feeds: KernelGeneration::of(model),
            // Kernels on plain cores need none.
            clock: KernelGpu::clock_of(model).map_or(0, |clock| clock as u64),
            power: PowerBudget::of(model),
            narrow: None,
        })
    }

    /// Those of a model whose linear layers multiply such numbers; all else is in the numbers that they are made of.
    ///
    /// # Errors
    /// As [`Self::of`]; narrow numbers that the GPU does not multiply.
    pub fn with_products(
        model: &GpuModel,
        precision: ModelPrecision,
    ) -> Result<Self, TrainingError> {
        let wide = Self::of(model, precision.numbers())?;
        let (Some(bits), Some(of_32)) = (precision.narrow_bits(), precision.narrow()) else {
            return Ok(wide);
        };
        let refused = |error| {
            let all = [ModelPrecision::Fp8, ModelPrecision::Mxfp8, ModelPrecision::Nvfp4];
            let takes = |other: &ModelPrecision| other.narrow_peak(model).is_ok();
            let wide = precision.numbers().number().name();
            let narrow = all.into_iter().filter(takes).map(Named::name);
            TrainingError::Precision {
                error,
                instead: std::iter::once(wide).chain(narrow).collect(),
            }
        };
        let peak = precision.narrow_peak(model).map_err(refused)?;
        Ok(Self { narrow: Some(NarrowNumbers { peak, bits, of_32 }), ..wide })
    }

    /// Gives the GPU as kernels of matrix units see it, with numbers that are as they are in memory or narrow. Gives
    /// none where plain cores multiply.
    pub(in crate::training) fn matrix_units(
        &self,
        is_narrow: bool,
    ) -> Option<(KernelGpu, KernelNumbers)> {
        if !self.has_matrix_units || self.clock == 0 {
            return None;
        }
        let narrow = self.narrow.filter(|_| is_narrow);
        let numbers = match narrow {
            Some(NarrowNumbers { bits: 4, .. }) => KernelNumbers::Nvfp4,
            Some(NarrowNumbers { of_32: 33, .. }) => KernelNumbers::Mxfp8,
            Some(_) => KernelNumbers::Fp8,
            None if self.number > 2 => KernelNumbers::Tf32,
            None => KernelNumbers::Bf16,
        };
        let peak = narrow.map_or(self.peak, |narrow| narrow.peak);
        let gpu = KernelGpu {
            units: self.units as f64,
            clock: self.clock as f64,
            peak: peak.0 as f64,
            peak_of_16: self.peak.0 as f64,
            memory: self.memory.0 as f64,
            generation: self.feeds,
            power: self.power,
        };
        Some((gpu, numbers))
    }

    /// Counts its streaming multiprocessors, or compute units.
    #[must_use]
    pub const fn units(&self) -> u64 {
        self.units
    }

    /// Gives the peak of its memory.
    #[must_use]
    pub const fn memory(&self) -> Bandwidth {
        self.memory
    }

    /// Names its generation, where that is one that reaches other parts of its peaks.
    #[must_use]
    pub const fn generation(&self) -> Option<GpuGeneration> {
        self.generation
    }
}
