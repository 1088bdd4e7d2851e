//! How fast a GPU's own silicon is: its clock and its dies.
//!
//! NCCL's kernels start, fence, look at flags and copy in a block's registers between two transfers. These take cycles, so
//! that a GPU with a faster clock takes less time. Where a GPU has two dies, half of what a block reaches lies on the
//! other, and each way is longer.

use super::generation::Generation;
use crate::system::{Wiring, gpus::find};

/// Tells the gigahertz of a GPU, and its dies with cores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::collectives) struct Silicon {
    pub(in crate::collectives) gigahertz: f64,
    pub(in crate::collectives) dies: u32,
}

impl Silicon {
    /// Finds that of the slowest of a job's GPUs.
    pub(in crate::collectives) fn of(wiring: &Wiring, gpus: &[usize]) -> Self {
        let of_one = |gpu: &usize| Self::of_one(wiring, *gpu);
        let all = gpus.iter().map(of_one);
        let slower = |a: Self, b: Self| {
            let slow = |it: Self| f64::from(it.dies) / it.gigahertz;
            if slow(b) > slow(a) { b } else { a }
        };
        all.reduce(slower).unwrap_or_else(|| Self::usual(Generation::Volta))
    }

    fn of_one(wiring: &Wiring, gpu: usize) -> Self {
        let described = wiring.described(wiring.gpu(gpu));
        let model = described.and_then(|it| find(it.model.as_deref()?).ok());
        match model.and_then(|it| it.chip().ok()) {
            Some(chip) => Self { gigahertz: f64::from(chip.clock) / 1e3, dies: chip.dies },
            None => Self::usual(Generation::of(wiring, &[gpu])),
        }
    }

    /// Gives that of a generation's largest GPU, for models that are not known or whose files lack it.
    const fn usual(generation: Generation) -> Self {
        let (gigahertz, dies) = match generation {
            Generation::Pascal => (1.48, 1),
            Generation::Volta => (1.53, 1),
            Generation::Ampere => (1.41, 1),
            Generation::Hopper => (1.98, 1),
            Generation::Blackwell => (1.98, 2),
        };
        Self { gigahertz, dies }
    }
}
