//! The memory of each GPU of a layout, by pipeline stage and by what it is for.
//!
//! It represents weights, gradients and the optimizer's state as they are divided. It has the tensors
//! that each block keeps for the backward pass, one by one, under each recomputation. A stage has those
//! of all micro-batches that it has begun. A block's backward pass or the loss needs more for a while, as
//! do collectives; the allocator holds gaps beyond. The GPU whose experts get the most tokens decides.
//! It leaves out activations that are moved to the host.
//!
//! `allocated` is what PyTorch's `max_memory_allocated` counts, `reserved` its `max_memory_reserved`;
//! both leave the driver's context out.

mod collectives;
mod held;
mod kernels;
mod kinds;
mod lora;
mod passing;
mod precision;
mod recompute;
mod remedies;
mod state;
mod tensors;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use super::error::TrainingError;
use super::layout::{AskedLayout, ModelLayout, Stages};
use super::model::{LanguageModel, Mlp};
use super::optimizer::Optimizer;
use super::precision::Precision;
use super::routing::ExpertRouting;
use crate::diagnostic::{Diagnosis, Named};
use crate::units::Bytes;

pub(in crate::training) use held::Held;
use kinds::Kind;

pub use kernels::Kernels;
pub use lora::{Lora, Target, Targets};
pub use precision::ModelPrecision;
pub use recompute::{Module, Recompute};
pub(in crate::training) use state::Numbers;
pub use tensors::Tensor;

/// Counts the thousandths of tensors that come and go which the allocator holds beyond them, as gaps. Calibrated by the measured steps of Llama 3.1 8B that torchtitan
/// publishes (`docs/performance.md`, 2024); the test of this module holds it to them.
const GAPS: u64 = 80;

/// How a model is trained by a layout, as far as memory depends on it.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelTraining<'a> {
    /// Says what is trained, on sequences of its length.
    pub model: &'a LanguageModel,
    /// How it is divided.
    pub layout: ModelLayout,
    /// Samples of a step, over all GPUs.
    pub batch: u64,
    /// Samples that a replica computes at once.
    pub micro_batch: u64,
    /// Gives the numbers of products, and with them of weights and activations.
    pub precision: ModelPrecision,
    /// The numbers that gradients are kept in.
    pub gradients: Precision,
    /// Turns gradients into weights.
    pub optimizer: Optimizer,
    /// Says what replicas divide: nothing (0), the optimizer's state (1), gradients too (2), weights too (3).
    pub zero: u8,
    /// Says what is computed again in the backward pass instead of kept.
    pub recompute: Recompute,
    /// Says whose kernels compute it.
    pub kernels: Kernels,
    /// Whether what tensor parallelism leaves whole is divided by tokens.
    pub sequence_parallel: bool,
    /// Small matrices that are trained in the place of all weights.
    pub lora: Option<Lora>,
    /// Whether weights are kept in the numbers of products of eight bits and fewer alone (Megatron's
    /// `fp8_param_gather`).
    pub narrow_weights: bool,
    /// Whether what a perceptron's function reads is kept in eight bits (Megatron's
    /// `activation_func_fp8_input_store`).
    pub narrow_activations: bool,
    /// How tokens are sent to experts.
    pub routing: ExpertRouting,
}

/// The memory of each GPU of one stage, by what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StageMemory {
    /// Gives the stage, from zero.
    pub stage: u64,
    /// Blocks that it has.
    pub layers: u64,
    /// Micro-batches that it has begun and not ended, at most.
    pub in_flight: u64,
    /// Weights; with `--zero 3` the GPU's part of them, in 32 bits.
    pub weights: Bytes,
    /// Counts gradients.
    pub gradients: Bytes,
    /// The optimizer's state, and master copies of weights.
    pub optimizer: Bytes,
    /// Says what blocks keep for the backward pass, of all micro-batches that are begun.
    pub activations: Bytes,
    /// Says what one block's backward pass or the loss needs for a while.
    pub passing: Bytes,
    /// Buffers of collectives, and weights that are gathered.
    pub collectives: Bytes,
    /// Says what the allocator holds beyond.
    pub reserve: Bytes,
}

impl StageMemory {
    /// Says what tensors take: `max_memory_allocated` of PyTorch.
    #[must_use]
    pub fn allocated(&self) -> Bytes {
        let Self { weights, gradients, optimizer, activations, passing, collectives, .. } = *self;
        sum([weights, gradients, optimizer, activations, passing, collectives])
    }

    /// Says what the allocator holds: `max_memory_reserved` of PyTorch.
    #[must_use]
    pub fn reserved(&self) -> Bytes {
        sum([self.allocated(), self.reserve])
    }

    /// Finds the largest part: its name and its size.
    #[must_use]
    pub fn largest(&self) -> (&'static str, Bytes) {
        let parts = [
            ("weights", self.weights),
            ("gradients", self.gradients),
            ("the optimizer's state", self.optimizer),
            ("activations", self.activations),
            ("memory that a block or the loss needs for a while", self.passing),
            ("buffers of collectives", self.collectives),
            ("the allocator's reserve", self.reserve),
        ];
        parts.into_iter().max_by_key(|(_, size)| *size).unwrap_or_default()
    }
}

fn sum<const N: usize>(parts: [Bytes; N]) -> Bytes {
    Bytes(parts.iter().fold(0, |sum, part| sum.saturating_add(part.0)))
}

/// Gives the size of numbers, or the most that there is.
fn bytes(numbers: u64, each: u64) -> Bytes {
    Bytes(numbers.saturating_mul(each))
}

impl ModelTraining<'_> {
    /// Counts bytes of a weight, and of an activation between products.
    pub(in crate::training) fn number(&self) -> u64 {
        self.precision.numbers().bytes()
    }

    /// Says what its layout is asked for.
    #[must_use]
    pub fn asked(&self) -> AskedLayout<'_> {
        let Self { model, batch, micro_batch, sequence_parallel, .. } = *self;
        AskedLayout { model, gpus: self.layout.gpus(), batch, micro_batch, sequence_parallel }
    }

    /// The memory of each GPU, stage by stage; whether it fits is not asked.
    ///
    /// # Errors
    /// A layout that is not sound, with the nearest that is.
    pub fn memory(&self) -> Result<Vec<StageMemory>, TrainingError> {
        let stages = self.check()?;
        Ok(self.memory_of(&stages))
    }

    /// Says whether its parts go together.
    ///
    /// # Errors
    /// A layout that is not sound, with the nearest that is; numbers of eight bits where products have
    /// others; imbalance without experts.
    pub fn check(&self) -> Result<Stages, TrainingError> {
        let refuse = |problem: String, remedy: &str| {
            Err(TrainingError::ModelLayout(Diagnosis::of(problem).remedy(remedy)))
        };
        let is_narrow = self.precision.narrow().is_some() && self.kernels == Kernels::Fused;
        let narrow = [(self.narrow_weights, "weights"), (self.narrow_activations, "activations")];
        if let Some((_, what)) = narrow.into_iter().find(|(wanted, _)| *wanted && !is_narrow) {
            let (precision, kernels) = (self.precision.name(), self.kernels.name());
            let problem = format!("{what} in eight bits with {precision} and {kernels} kernels");
            return refuse(problem, "take fp8, mxfp8 or nvfp4 with fused kernels, or leave it out");
        }
        if self.routing != ExpertRouting::default() && self.model.experts().is_none() {
            let problem = format!("{} has no experts to which tokens are sent", self.model.name);
            return refuse(problem, "leave imbalance, capacity and their seed out");
        }
        self.asked().check(&self.layout)
    }

    /// The same where the layout is known to be sound, and its stages.
    pub(in crate::training) fn memory_of(&self, stages: &Stages) -> Vec<StageMemory> {
        let each: Vec<Mlp> = self.model.each_mlp().collect();
        // Each GPU of an expert group, or one for all where their experts get as many tokens.
        let places: Vec<Vec<Held>> = self.held(&each);
        let places: Vec<(Vec<Kind>, Vec<usize>)> =
            places.iter().map(|each| self.kinds(each)).collect();
        let places: Vec<Vec<&Kind>> = places
            .iter()
            .map(|(kinds, each)| each.iter().map(|at| &kinds[*at]).collect())
            .collect();
        let busiest = |stage| {
            let of_each = places.iter().map(|each| self.stage(stage, stages, each));
            of_each.max_by_key(StageMemory::reserved).unwrap_or_default()
        };
        (0..self.layout.pp).map(busiest).collect()
    }

    fn stage(&self, stage: u64, stages: &Stages, each: &[&Kind]) -> StageMemory {
        let chunks = stages.chunks(stage);
        let held: Vec<&[&Kind]> =
            chunks.iter().map(|it| &each[it.start as usize..it.end as usize]).collect();
        let begun = self.begun(stage);
        let mut activations = 0_u64;
        for (chunk, begun) in held.iter().zip(&begun) {
            let kept = chunk.iter().enumerate().map(|(at, kind)| self.kept_of(kind, at as u64));
            let kept = kept.fold(0_u64, u64::saturating_add);
            activations = activations.saturating_add(kept.saturating_mul(*begun));
        }
        let state = self.state(stage, &held);
        let passing = self.passing(stage, &held);
        let collectives = self.collectives(stage, &held);
        let comes_and_goes = sum([Bytes(activations), passing.most(), collectives]);
        let gaps = u128::from(comes_and_goes.0) * u128::from(GAPS) / 1000;
        StageMemory {
            stage,
            layers: stages.layers(stage),
            in_flight: begun.iter().sum::<u64>().div_ceil(self.layout.vp),
            weights: state.weights,
            gradients: state.gradients,
            optimizer: state.optimizer,
            activations: Bytes(activations),
            passing: passing.most(),
            collectives,
            reserve: sum([Bytes(gaps as u64), passing.holes()]),
        }
    }

    /// Micro-batches that each chunk of a stage has begun and not ended, at most (one forward, one
    /// backward; with chunks as Megatron interleaves them).
    fn begun(&self, stage: u64) -> Vec<u64> {
        let ModelLayout { pp, vp, .. } = self.layout;
        let all = self.asked().micro_batches(&self.layout);
        if vp == 1 {
            return vec![(pp - stage).min(all)];
        }
        let begun = (2 * (pp - stage - 1) + (vp - 1) * pp + 1).min(all * vp);
        // A stage takes as many micro-batches through a chunk as there are stages, then the next chunk.
        let mut each = vec![0; vp as usize];
        for at in 0..begun {
            each[(at / pp % vp) as usize] += 1;
        }
        each
    }

    /// Says whether a tensor is kept of the first block of a chunk.
    #[must_use]
    pub fn keeps(&self, tensor: &Tensor) -> bool {
        self.recompute.keeps(tensor, 0)
    }

    /// Bytes that a block keeps of one micro-batch; `at` is its place in its chunk.
    fn kept(&self, held: &Held, at: u64) -> u64 {
        let tensors = self.tensors_of(held);
        let kept = tensors.iter().filter(|it| self.recompute.keeps(it, at));
        kept.fold(0, |sum, tensor| sum.saturating_add(tensor.bytes.0))
    }
}
