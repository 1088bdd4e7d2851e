//! Finds changes that make a step fit into the memory of its GPUs. Each was tried before it is told.

use super::{Holding, Keeping};
use crate::diagnostic::Named;
use crate::system::System;
use crate::training::network::SampleSize;
use crate::training::precision::Precision;
use crate::training::prepare::{Training, model_of};
use crate::training::roofline::GpuRates;
use crate::training::shape::Shape;
use crate::training::step::Way;
use crate::training::terms::MemoryTerms;
use crate::units::Bytes;

/// The most GPUs that are tried in place of those that a step has.
const MOST_GPUS: u64 = 1 << 16;
/// Samples that are smaller than this are nobody's.
const SMALLEST: u64 = 16;

/// The GPUs of a step, and the terms by which the framework keeps memory on them.
#[derive(Clone, Copy)]
pub(super) struct Ground<'a> {
    pub(super) system: &'a System,
    pub(super) gpus: &'a [u32],
    pub(super) terms: MemoryTerms,
}

impl Ground<'_> {
    fn count(&self) -> u64 {
        self.gpus.len() as u64
    }

    /// The memory of the GPU that has the least.
    fn least_capacity(&self) -> Option<Bytes> {
        let capacity = |gpu: &u32| {
            model_of(self.system, *gpu).ok()?.memory().ok().map(|memory| memory.capacity)
        };
        self.gpus.iter().map(capacity).min().flatten()
    }
}

impl Training<'_> {
    /// Tells single changes that make it fit, or else several that do together; nothing where none does.
    pub(super) fn remedies(&self, ground: Ground<'_>) -> Vec<String> {
        let own = Changed { training: self.clone(), told: Vec::new() };
        let others = [own.over_all(ground), own.of_16_bits(ground)];
        let mut found: Vec<String> = own.fewer_samples(ground).into_iter().collect();
        let enough = others.iter().flatten().filter(|changed| changed.fits(ground));
        found.extend(enough.map(Changed::told));
        found.extend(own.smaller_samples(ground));
        if found.is_empty() {
            found.extend(own.over_more(ground));
        }
        if !found.is_empty() {
            return found;
        }
        // No change is enough by itself.
        let mut all = own;
        for change in [Changed::over_all, Changed::of_16_bits] {
            let Some(changed) = change(&all, ground) else { continue };
            all = changed;
            let last = if all.fits(ground) { Some(String::new()) } else { None };
            let last = last.or_else(|| all.fewer_samples(ground));
            if let Some(last) = last.or_else(|| all.smaller_samples(ground)) {
                return vec![all.with(last).told()];
            }
        }
        all.over_more(ground).map(|last| all.with(last).told()).into_iter().collect()
    }
}

/// A training that some changes have made, with their names.
#[derive(Clone)]
struct Changed<'a> {
    training: Training<'a>,
    told: Vec<String>,
}

/// Whether every GPU has memory for a training.
fn is_enough(training: &Training<'_>, Ground { system, gpus, terms }: Ground<'_>) -> bool {
    training.footprints_that_fit(system, gpus, terms).is_ok()
}

impl<'a> Changed<'a> {
    fn with(&self, told: String) -> Self {
        let mut changed = self.clone();
        changed.told.extend(Some(told).filter(|told| !told.is_empty()));
        changed
    }

    fn told(&self) -> String {
        self.told.join(" and ")
    }

    fn fits(&self, ground: Ground<'_>) -> bool {
        is_enough(&self.training, ground)
    }

    fn keeping(&self, ground: Ground<'_>) -> Keeping {
        self.training.keeping(ground.terms)
    }

    /// Weights, gradients and the optimizer's state divided over the same GPUs.
    fn over_all(&self, ground: Ground<'_>) -> Option<Self> {
        let is_new = self.training.way != Way::FullySharded && self.training.overlaps;
        let training = Training { way: Way::FullySharded, ..self.training.clone() };
        let may = is_new && ground.count() > 1 && training.samples(ground.gpus.len()).is_ok();
        may.then(|| Self { training, ..self.with("`fsdp`".to_owned()) })
    }

    /// Numbers of 16 bits, where all of the GPUs calculate with them.
    fn of_16_bits(&self, ground: Ground<'_>) -> Option<Self> {
        if self.training.precision.bytes() < 4 || !self.training.measured.is_empty() {
            return None;
        }
        let takes = |precision: &Precision| {
            let rates = |gpu: &u32| {
                model_of(ground.system, *gpu).and_then(|it| GpuRates::of(it, *precision))
            };
            ground.gpus.iter().all(|gpu| rates(gpu).is_ok())
        };
        let precision = [Precision::Bf16, Precision::Fp16].into_iter().find(takes)?;
        let gradients = match self.training.gradients == self.training.precision {
            true => precision,
            false => self.training.gradients,
        };
        let training = Training { precision, gradients, ..self.training.clone() };
        Some(Self { training, ..self.with(format!("`{}`", precision.name())) })
    }

    /// Fewer samples at once, where one fits at all.
    fn fewer_samples(&self, ground: Ground<'_>) -> Option<String> {
        let count = ground.gpus.len();
        let own =
            self.training.samples(count).ok().filter(|_| self.training.measured.is_empty())?;
        let Ground { system, gpus, terms } = ground;
        let most = self.training.most_at_once(system, gpus, terms).ok()??.min(own);
        let batch = most * (self.training.batch / own.max(1));
        Some(format!("{most} at once or fewer, a batch of {batch}"))
    }

    /// Shorter sequences or smaller pictures, halved until one fits.
    fn smaller_samples(&self, ground: Ground<'_>) -> Option<String> {
        let (extent, what) = match self.training.network.input {
            Shape::Tokens { tokens, .. } => (tokens, "tokens"),
            Shape::Image { height, .. } => (height, "points"),
            Shape::Vector { .. } => return None,
        };
        if !self.training.measured.is_empty() {
            return None;
        }
        let mut halves = (1..).map(|halvings| extent >> halvings).take_while(|it| *it >= SMALLEST);
        let fits = |size: &u64| {
            let size = match what {
                "tokens" => SampleSize { tokens: Some(*size), ..SampleSize::default() },
                _ => SampleSize { points: Some(*size), ..SampleSize::default() },
            };
            let Ok(network) = self.training.network.resized(size) else { return false };
            let training = Training { network: &network, ..self.training.clone() };
            is_enough(&training, ground)
        };
        let size = halves.find(fits)?;
        Some(format!("samples of {size} {what}"))
    }

    /// More GPUs over which weights, gradients and the optimizer's state are divided, each with one sample.
    fn over_more(&self, ground: Ground<'_>) -> Option<String> {
        let (capacity, keeping) = (ground.least_capacity()?, self.keeping(ground));
        if !self.training.overlaps || !self.training.measured.is_empty() {
            return None;
        }
        let fits = |count: &u64| {
            let part = Holding::sharded(self.training.network, ground.terms.in_place, *count);
            part.footprint(1, keeping).total() <= capacity
        };
        let mut counts = (1..).map(|doublings| ground.count() << doublings);
        let count = counts.by_ref().take_while(|count| *count <= MOST_GPUS).find(fits)?;
        let way = if self.training.way == Way::FullySharded { "" } else { "`fsdp` over " };
        Some(format!("{way}{count} GPUs, a batch of {count}"))
    }
}
