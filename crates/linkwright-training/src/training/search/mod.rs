//! Searches for the layout by which a model's step takes the least time.
//!
//! It goes through every sound layout of some GPUs, with every size of micro-batches, what replicas divide
//! and what is computed again. Those that fit in memory are candidates. Each has a bound: its step never takes
//! less. Candidates come in the order of their bounds, so that whoever plays them stops where
//! a bound is above the best time that was played.
//!
//! It leaves out before what can only lose. Of the same layout, more that is computed again is never faster. The
//! order of each stream is fixed, so that every event begins at the latest of sums of durations. None of
//! these sums falls where a backward pass grows. So of each chain of recomputations, from nothing
//! to blocks whole, the first that fits is enough ([`again::Chain`]).
//!
//! It leaves out to choose whose kernels compute, the numbers, and the order of parts over ranks.

mod again;
mod bound;
mod closest;
mod peaks;
mod spaces;
#[cfg(test)]
mod tests;
mod wanting;

use super::error::TrainingError;
use super::layout::{ModelLayout, Stages};
use super::memory::{ModelTraining, Recompute};
use crate::units::{Bytes, Picoseconds};

use again::Chain;

pub use bound::SearchedMachine;
pub use closest::ClosestLayouts;
pub use peaks::LinkPeaks;
pub use wanting::Wanting;

/// Holds a question: given things stay as they are, and all else is chosen.
#[derive(Debug, Clone)]
pub struct LayoutSearch<'a> {
    /// Says how a model is trained, in all that is not searched for. Its layout, its micro-batches, its `zero`, its
    /// recomputation and its sequence parallelism change nothing.
    pub training: ModelTraining<'a>,
    /// Counts the GPUs that train.
    pub gpus: u64,
    /// Samples that a replica computes at once, where they are given.
    pub micro_batch: Option<u64>,
    /// Says how much replicas divide, where it is given.
    pub zero: Option<u8>,
    /// Names the recomputation, where it is given.
    pub recompute: Option<Recompute>,
    /// The memory of each GPU, where it is known; without, all fits.
    pub capacity: Option<Bytes>,
    /// Counts the driver's bytes, beside PyTorch's.
    pub context: Bytes,
    /// The GPUs and links that a step is bounded on.
    pub machine: &'a SearchedMachine,
}

/// A layout with all that was chosen for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayoutCandidate {
    /// How the model is divided.
    pub layout: ModelLayout,
    /// Samples that a replica computes at once.
    pub micro_batch: u64,
    /// Says how much replicas divide.
    pub zero: u8,
    /// Names the recomputation.
    pub recompute: Recompute,
    /// Bytes that the allocator holds on the GPU that needs the most.
    pub reserved: Bytes,
    /// The bound: a step never takes less.
    pub least: Picoseconds,
}

/// Holds all that a search found before anything is played.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FoundLayouts {
    /// Lists those that fit, the least bound first.
    pub candidates: Vec<LayoutCandidate>,
    /// Counts sound layouts; the same with other micro-batches or other divided state counts again.
    pub sound: u64,
    /// The one that needs the least memory; none where no layout is sound.
    pub smallest: Option<LayoutCandidate>,
}

impl<'a> LayoutSearch<'a> {
    /// Finds all that fit.
    #[must_use]
    pub fn candidates(&self) -> FoundLayouts {
        let mut found = FoundLayouts::default();
        for space in self.spaces() {
            let chains = self.chains(&space);
            for training in &space.trainings {
                self.fill(training, &space.stages, &chains, &mut found);
            }
        }
        // Of equal bounds the one that needs less memory comes first, then the simpler layout.
        found.candidates.sort_by_key(LayoutCandidate::key);
        found
    }

    /// Adds what fits of one layout.
    fn fill(
        &self,
        training: &ModelTraining<'a>,
        stages: &Stages,
        chains: &[Chain],
        found: &mut FoundLayouts,
    ) {
        found.sound += 1;
        for chain in chains {
            let fitting = self.first_that_fits((training, stages), chain, found);
            let Some((training, reserved)) = fitting else { continue };
            let is_plain = training.recompute == Recompute::None;
            let least = self.least(&training);
            found
                .candidates
                .push(LayoutCandidate { least, ..LayoutCandidate::of(&training, reserved) });
            if is_plain {
                // Every other chain begins with the same.
                break;
            }
        }
    }

    /// Gives the bytes that a GPU of the fullest stage needs. It tells whether they fit beside the driver's.
    fn needs(
        &self,
        training: &ModelTraining<'a>,
        stages: &Stages,
        found: &mut FoundLayouts,
    ) -> Option<(Bytes, bool)> {
        let memory = training.memory_of(stages);
        let reserved = memory.iter().map(|stage| stage.reserved()).max()?;
        let all = Bytes(reserved.0.saturating_add(self.context.0));
        if found.smallest.as_ref().is_none_or(|least| reserved < least.reserved) {
            found.smallest = Some(LayoutCandidate::of(training, reserved));
        }
        Some((reserved, self.capacity.is_none_or(|capacity| all <= capacity)))
    }

    /// Gives the training by a candidate of this search.
    #[must_use]
    pub fn training(&self, candidate: &LayoutCandidate) -> ModelTraining<'a> {
        let LayoutCandidate { layout, micro_batch, zero, .. } = *candidate;
        let plain = self.plain(layout, micro_batch, zero);
        ModelTraining { recompute: candidate.recompute.clone(), ..plain }
    }

    /// Whether a layout divides by tokens what tensor parallelism leaves whole. It does wherever it can: that divides
    /// memory and work between products, and moves no more.
    fn divides_tokens(&self, layout: &ModelLayout) -> bool {
        let tokens = self.training.model.tokens / layout.cp;
        layout.tp > 1 && tokens.is_multiple_of(layout.tp)
    }

    /// The training by a layout where nothing is computed again.
    fn plain(&self, layout: ModelLayout, micro_batch: u64, zero: u8) -> ModelTraining<'a> {
        ModelTraining {
            layout,
            micro_batch,
            zero,
            recompute: Recompute::None,
            sequence_parallel: self.divides_tokens(&layout),
            ..self.training.clone()
        }
    }
}

impl LayoutCandidate {
    fn of(training: &ModelTraining<'_>, reserved: Bytes) -> Self {
        let ModelTraining { layout, micro_batch, zero, .. } = *training;
        let (recompute, least) = (training.recompute.clone(), Picoseconds(0));
        Self { layout, micro_batch, zero, recompute, reserved, least }
    }

    /// Says which comes first. Of equal ones it is the one with fewer parts of sequences, stages and parts of layers.
    fn key(&self) -> impl Ord + use<> {
        let ModelLayout { tp, pp, vp, cp, .. } = self.layout;
        let parts = [cp, pp, vp, tp];
        (self.least, self.reserved, parts, self.layout, self.micro_batch, self.zero)
    }
}

/// Refuses a batch of nothing and GPUs beyond the most, which no layout has.
pub(in crate::training) fn is_possible(search: &LayoutSearch<'_>) -> Result<(), TrainingError> {
    use crate::diagnostic::Diagnosis;
    let refuse = |problem: String, remedy: &str| {
        Err(TrainingError::ModelLayout(Diagnosis::of(problem).remedy(remedy)))
    };
    if search.training.batch == 0 {
        return refuse("a step of no samples has no layout".to_owned(), "take one sample or more");
    }
    if search.gpus == 0 || search.gpus > super::layout::MOST_RANKS {
        let problem = format!("{} GPUs have no layout", search.gpus);
        return refuse(problem, "take 1 to 1,048,576");
    }
    Ok(())
}
