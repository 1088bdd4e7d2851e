//! Names generations of GPUs whose matrix units work alike.

use serde::{Deserialize, Serialize};

use crate::system::gpus::{GpuModel, Vendor};

/// Tells how a GPU's matrix units are fed, which decides what kernels reach of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KernelGeneration {
    /// Has warps that load registers and multiply (`mma.sync`): Volta, Turing, Ampere, Ada.
    Ampere,
    /// Groups of four warps multiply from shared memory (`wgmma`).
    Hopper,
    /// One thread starts products whose sums stay in a memory of their own (`tcgen05`).
    Blackwell,
    /// Has wavefronts that multiply from registers: AMD's CDNA.
    Cdna,
}

impl KernelGeneration {
    /// Lists all.
    pub const ALL: [Self; 4] = [Self::Ampere, Self::Hopper, Self::Blackwell, Self::Cdna];

    /// Finds that of a model.
    #[must_use]
    pub fn of(model: &GpuModel) -> Self {
        if model.vendor == Vendor::Amd {
            return Self::Cdna;
        }
        let capability = |processor: &String| processor.strip_prefix("sm_")?.parse::<u32>().ok();
        match model.processors.iter().find_map(capability) {
            Some(90..=99) => Self::Hopper,
            Some(100..=110) => Self::Blackwell,
            _ => Self::Ampere,
        }
    }

    /// Whether attention that reaches most of its peak is written for it alone.
    #[must_use]
    pub const fn has_own_attention(self) -> bool {
        matches!(self, Self::Hopper | Self::Blackwell)
    }

    /// Lists whose terms are taken where it has none of its own, the nearest first.
    #[must_use]
    pub const fn nearest(self) -> [Self; 4] {
        use KernelGeneration::{Ampere, Blackwell, Cdna, Hopper};
        match self {
            Ampere => [Ampere, Hopper, Blackwell, Cdna],
            Hopper => [Hopper, Ampere, Blackwell, Cdna],
            Blackwell => [Blackwell, Hopper, Ampere, Cdna],
            Cdna => [Cdna, Ampere, Hopper, Blackwell],
        }
    }
}
