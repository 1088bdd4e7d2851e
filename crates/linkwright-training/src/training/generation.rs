//! Finds the generation of GPUs that multiply numbers of 32 bits on plain cores alone.

use serde::{Deserialize, Serialize};

use crate::system::gpus::GpuModel;

/// A generation before the GPUs whose kernels were measured, by the compute capability of its processors. Later ones have
/// matrix units for numbers of 32 bits, or were never asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GpuGeneration {
    /// Has compute capability 3: its four schedulers feed 128 of a multiprocessor's 192 cores without pairs of instructions.
    Kepler,
    /// Has compute capability 6.
    Pascal,
    /// Has compute capability 7.0 or 7.2; Turing's is 7.5.
    Volta,
}

impl GpuGeneration {
    /// How many there are.
    pub const COUNT: usize = Self::Volta as usize + 1;

    /// Finds the generation of a model; none of later and other ones.
    #[must_use]
    pub fn of(model: &GpuModel) -> Option<Self> {
        let capability = |processor: &String| processor.strip_prefix("sm_")?.parse::<u32>().ok();
        match model.processors.iter().find_map(capability)? {
            30..=37 => Some(Self::Kepler),
            60..=62 => Some(Self::Pascal),
            70..=72 => Some(Self::Volta),
            _ => None,
        }
    }
}
