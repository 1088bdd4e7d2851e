//! Tells what of a GPU the time of kernels depends on.

use super::budget::PowerBudget;
use super::generation::KernelGeneration;
use super::numbers::KernelNumbers;
use crate::diagnostic::Named;
use crate::system::gpus::{GpuModel, NumberType};
use crate::training::error::TrainingError;
use crate::training::precision::Precision;
use crate::training::units::Units;

/// Counts the operations that a compute unit of CDNA 3 and 4 does with numbers of 32 bits in a cycle.
const OPERATIONS_OF_CDNA: f64 = 256.0;

/// Describes a GPU as kernels see it, with numbers of one kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KernelGpu {
    /// Counts streaming multiprocessors, or compute units.
    pub units: f64,
    /// Counts cycles a second.
    pub clock: f64,
    /// Operations a second of the matrix units; a multiply-add is two.
    pub peak: f64,
    /// Counts the same with numbers of 16 bits, which attention multiplies.
    pub peak_of_16: f64,
    /// Counts bytes a second of its memory.
    pub memory: f64,
    /// How its matrix units are fed.
    pub generation: KernelGeneration,
    /// Says what limits its clock under load, where its file has it.
    pub power: Option<PowerBudget>,
}

impl KernelGpu {
    /// Gives those of a model that multiplies such numbers.
    ///
    /// # Errors
    /// A model whose file lacks what this needs, and numbers that it does not multiply, with those that it does.
    pub fn of(model: &GpuModel, numbers: KernelNumbers) -> Result<Self, TrainingError> {
        model.peak()?;
        let peak = numbers.peak(model).map_err(|error| {
            let takes = |other: &KernelNumbers| other.peak(model).is_ok();
            let instead = KernelNumbers::ALL.into_iter().filter(takes).map(Named::name).collect();
            TrainingError::Precision { error, instead }
        })?;
        let wide = KernelNumbers::Bf16.peak(model).or_else(|_| KernelNumbers::Fp16.peak(model));
        let (peak, peak_of_16) = (peak.0 as f64, wide.unwrap_or(peak).0 as f64);
        Ok(Self {
            units: f64::from(Units::of(model, Precision::Fp16)?.count),
            clock: Self::clock_of(model)?,
            peak,
            peak_of_16,
            memory: model.memory()?.bandwidth.0 as f64,
            generation: KernelGeneration::of(model),
            power: PowerBudget::of(model),
        })
    }

    /// Gives the cycles a second of a model. Files of AMD's GPUs have no clock: there the operations of its units in a
    /// cycle make the vector peak.
    ///
    /// # Errors
    /// A model whose file has neither.
    pub(in crate::training) fn clock_of(model: &GpuModel) -> Result<f64, TrainingError> {
        if let Ok(chip) = model.chip() {
            return Ok(f64::from(chip.clock) * 1e6);
        }
        let units = f64::from(Units::of(model, Precision::Fp16)?.count);
        Ok(model.vector_rate(NumberType::Fp32)?.0 as f64 / (units * OPERATIONS_OF_CDNA))
    }

    /// Gives the operations a second of one multiprocessor.
    pub(super) fn unit_peak(&self) -> f64 {
        self.peak / self.units
    }
}
