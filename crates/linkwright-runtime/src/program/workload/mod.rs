//! Workloads of many jobs: random mixes, and which GPU each rank gets.
//!
//! The mixes are drawn as in Bhowmik et al., "A Simulation Study of Hardware Parameters for Future GPU-based
//! HPC Platforms" (IPCCC 2021), Section V.A. There 20 mixes each fill 2048 GPUs, with six
//! applications at five sizes. Each application and size appears at least four times.

mod mapping;
mod mixes;

use std::num::NonZeroU64;

pub use mapping::{Gpu, MappingError, linear_mapping, random_mapping, read_mapping, write_mapping};
pub use mixes::{MixError, MixJob, MixRules, random_mixes};

use crate::engine::Random;

/// Puts items into a random order, each with the same chance (Fisher and Yates).
pub fn shuffle<T>(items: &mut [T], random: &mut Random) {
    for last in (1..items.len()).rev() {
        let bound = NonZeroU64::new(last as u64 + 1).expect("at least two items are left");
        items.swap(last, random.below(bound) as usize);
    }
}
