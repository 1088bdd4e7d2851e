//! Computes the part that each GPU of a step holds, by the way that data moves.

use std::ops::Range;

use super::remedies::Ground;
use super::{Footprint, Holding, Keeping};
use crate::system::System;
use crate::training::error::TrainingError;
use crate::training::prepare::{Training, model_of};
use crate::training::step::{PipelineStages, Way};
use crate::training::terms::MemoryTerms;
use crate::units::Bytes;

impl Training<'_> {
    /// Returns the memory of each GPU in a step, by their ids in the system, in the order of its
    /// ranks. It does not ask whether it fits.
    ///
    /// # Errors
    /// A batch that does not divide, GPUs that are not known well enough, more stages than blocks.
    pub fn footprints(
        &self,
        system: &System,
        gpus: &[u32],
        terms: MemoryTerms,
    ) -> Result<Vec<Footprint>, TrainingError> {
        let (samples, keeping) = (self.samples(gpus.len())?, self.keeping(terms));
        let holdings = self.holdings(system, gpus, terms)?;
        Ok(holdings.iter().map(|holding| holding.footprint(samples, keeping)).collect())
    }

    /// The same, where it has to fit.
    ///
    /// # Errors
    /// As [`Training::footprints`]; a GPU whose memory is too small, with what is missing and what would fit, or not
    /// known.
    pub fn fitting(
        &self,
        system: &System,
        gpus: &[u32],
        terms: MemoryTerms,
    ) -> Result<Vec<Footprint>, TrainingError> {
        let advice = || self.remedies(Ground { system, gpus, terms });
        self.footprints_that_fit(system, gpus, terms).map_err(|error| error.advised(advice))
    }

    /// As [`Training::fitting`], without a word on what would fit.
    ///
    /// # Errors
    /// Fails as [`Training::fitting`] does.
    pub fn footprints_that_fit(
        &self,
        system: &System,
        gpus: &[u32],
        terms: MemoryTerms,
    ) -> Result<Vec<Footprint>, TrainingError> {
        let (samples, keeping) = (self.samples(gpus.len())?, self.keeping(terms));
        let holdings = self.holdings(system, gpus, terms)?;
        let each = gpus.iter().zip(&holdings).map(|(gpu, holding)| {
            let capacity: Bytes = model_of(system, *gpu)?.memory()?.capacity;
            holding.fitting(*gpu, capacity, samples, keeping)
        });
        each.collect()
    }

    /// The most samples that every GPU has memory for at once; none where one has it for none.
    ///
    /// # Errors
    /// As [`Training::footprints`]; a GPU whose memory is not known.
    pub fn most_at_once(
        &self,
        system: &System,
        gpus: &[u32],
        terms: MemoryTerms,
    ) -> Result<Option<u64>, TrainingError> {
        let keeping = self.keeping(terms);
        let holdings = self.holdings(system, gpus, terms)?;
        let each = gpus.iter().zip(&holdings).map(|(gpu, holding)| {
            let capacity = model_of(system, *gpu)?.memory()?.capacity;
            Ok(holding.most_samples(capacity, keeping))
        });
        let each: Result<Vec<Option<u64>>, TrainingError> = each.collect();
        Ok(each?.into_iter().min().flatten())
    }

    pub(super) fn keeping(&self, terms: MemoryTerms) -> Keeping {
        let Self { precision, gradients, optimizer, .. } = *self;
        Keeping { precision, gradients, optimizer, terms }
    }

    fn holdings(
        &self,
        system: &System,
        gpus: &[u32],
        terms: MemoryTerms,
    ) -> Result<Vec<Holding>, TrainingError> {
        let (network, in_place, count) = (self.network, terms.in_place, gpus.len() as u64);
        let replica = Holding::replica(network, in_place);
        let first_and_others = |first: Holding, other: Holding| {
            let mut all = vec![other; gpus.len()];
            if let Some(holding) = all.first_mut() {
                *holding = first;
            }
            all
        };
        Ok(match self.way {
            Way::AllReduce => vec![replica; gpus.len()],
            _ if count < 2 => vec![replica; gpus.len()],
            Way::AllReduceBroadcast
            | Way::ReduceBroadcast
            | Way::PeerCopies
            | Way::RelayedCopies
            | Way::DirectAccess => first_and_others(replica.server(), replica.worker()),
            // Pages are where they were touched last: in the end, all of them.
            Way::UnifiedMemory => first_and_others(replica, replica.worker()),
            // Weights and all gradients are in the host's memory, or in the first GPU's.
            Way::ZeroCopy => vec![replica.guest(); gpus.len()],
            Way::SharedMemory => {
                let aggregated = (count - 1) * replica.gradients;
                first_and_others(Holding { aggregated, ..replica }, replica.guest())
            }
            Way::TrulyShared => vec![replica.pooled(count); gpus.len()],
            Way::FullySharded => vec![Holding::sharded(network, in_place, count); gpus.len()],
            Way::TensorParallel => vec![Holding::tensor(network, in_place, count); gpus.len()],
            Way::Pipeline => {
                let parts = u64::from(self.micro_batches.max(1));
                let stages = self.stages(system, gpus)?;
                // A stage has begun as many parts as there are stages from it to the last.
                let under_way = (1..=count).rev().map(|parts_begun| parts_begun.min(parts));
                let each = stages
                    .into_iter()
                    .zip(under_way)
                    .map(|(layers, parts)| Holding::stage(network, in_place, layers, parts));
                each.collect()
            }
        })
    }

    /// Returns the layers of each stage of a pipeline.
    fn stages(&self, system: &System, gpus: &[u32]) -> Result<Vec<Range<usize>>, TrainingError> {
        let Some(first) = gpus.first() else { return Ok(Vec::new()) };
        let units = self.rank(model_of(system, *first)?, gpus.len())?.units();
        let times: Vec<u64> = units.iter().map(|unit| unit.forward.0 + unit.backward.0).collect();
        let (stages, blocks) = (gpus.len(), units.len());
        let cuts = PipelineStages::of(&times, stages)
            .ok_or(TrainingError::TooManyStages { stages, blocks })?;
        let mut from = 0;
        let each = cuts.0.into_iter().map(|cut| {
            let layers: usize = units[cut].iter().map(|unit| unit.layers).sum();
            from += layers;
            from - layers..from
        });
        Ok(each.collect())
    }
}
