//! Computes the memory of a GPU before and during training.
//!
//! The model has weights and gradients. It has the optimizer's state, with a master copy of the
//! weights where these have 16 bits. It has activations that the backward pass needs, which grow
//! with the samples, and work space as a share of them. It has the framework's own memory. Where
//! one GPU aggregates the gradients of all, it has the memory for that. The model leaves out gaps
//! between allocations, and larger work space where a library finds it worth while. It leaves out
//! activations that are computed again instead of kept.
//!
//! The constants are a framework's, in `terms.toml`, with what they were calibrated on.

mod remedies;
mod ways;

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::error::TrainingError;
use super::layer::Split;
use super::network::Network;
use super::optimizer::Optimizer;
use super::precision::Precision;
use super::terms::MemoryTerms;
use crate::units::Bytes;

/// Gives the bytes of a number of the optimizer's state, and of a master copy of a weight.
const MASTER: u64 = 4;
/// More samples than any GPU has memory for.
const MOST_SAMPLES: u64 = 1 << 40;

/// How a network is trained, as far as memory depends on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Keeping {
    /// Numbers of weights and activations.
    pub precision: Precision,
    /// Numbers of gradients.
    pub gradients: Precision,
    /// Says which numbers are kept for each weight.
    pub optimizer: Optimizer,
    /// Says which memory the framework keeps.
    pub terms: MemoryTerms,
}

/// Holds the part of a network that one GPU holds, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holding {
    /// Weights.
    pub weights: u64,
    /// Counts the gradients of its own samples.
    pub gradients: u64,
    /// Weights that it updates: their optimizer's state and master copies are its.
    pub updated: u64,
    /// Numbers that it keeps to aggregate the gradients of all GPUs.
    pub aggregated: u64,
    /// Weights and gradients of others that it has for a while.
    pub gathered: u64,
    /// Counts the numbers of one sample.
    pub sample: u64,
    /// Counts the numbers that the backward pass of one sample needs.
    pub activations: u64,
    /// Counts how many times it has activations of the samples that it computes at once. Stages of
    /// a pipeline begin several parts of a batch before they end one.
    pub under_way: u64,
}

impl Holding {
    /// A whole network that is trained on samples of the GPU's own; it updates all weights.
    #[must_use]
    pub fn replica(network: &Network, in_place: bool) -> Self {
        Self::part(network, in_place, 0..network.layers.len(), 1)
    }

    /// Returns the same where another GPU updates the weights.
    #[must_use]
    pub fn worker(self) -> Self {
        Self { updated: 0, ..self }
    }

    /// The same where weights and gradients are in other memory than its own.
    #[must_use]
    pub fn guest(self) -> Self {
        Self { weights: 0, gradients: 0, updated: 0, ..self }
    }

    /// Returns the same where this GPU updates the weights of all. It keeps the sum of the
    /// gradients and, as MXNet's key-value store does, weights of its own.
    #[must_use]
    pub fn server(self) -> Self {
        Self { aggregated: 2 * self.weights, ..self }
    }

    /// Puts a part of each parameter of a network (ZeRO stage 3, FSDP) on each of `gpus` GPUs. The
    /// weights of two units are gathered at once, one of them ahead, and the gradients of one.
    #[must_use]
    pub fn sharded(network: &Network, in_place: bool, gpus: u64) -> Self {
        let whole = Self::replica(network, in_place);
        let own = whole.weights.div_ceil(gpus);
        let mut units: BTreeMap<u32, u64> = BTreeMap::new();
        // Where nothing is repeated, every layer is gathered by itself.
        let is_repeated = network.layers.iter().any(|layer| layer.unit > 0);
        for (at, layer) in (0..).zip(&network.layers) {
            let unit = if is_repeated { layer.unit } else { at };
            *units.entry(unit).or_default() += layer.parameters;
        }
        let largest = units.into_values().max().unwrap_or(0);
        let gathered = if gpus > 1 { 3 * largest } else { 0 };
        Self { weights: own, gradients: own, updated: own, gathered, ..whole }
    }

    /// Gives each of the GPUs an equal part of one copy of weights, gradients and the optimizer's state.
    #[must_use]
    pub fn pooled(self, gpus: u64) -> Self {
        let part = self.weights.div_ceil(gpus);
        Self { weights: part, gradients: part, updated: part, ..self }
    }

    /// Puts a part of each layer that the network's file cuts (tensor parallelism) on each of
    /// `gpus` GPUs. The other layers are whole on each.
    #[must_use]
    pub fn tensor(network: &Network, in_place: bool, gpus: u64) -> Self {
        Self::part(network, in_place, 0..network.layers.len(), gpus)
    }

    /// Takes some layers in a row, a stage of a pipeline, which has activations of `under_way`
    /// parts of a batch.
    ///
    /// # Panics
    /// A range that leaves the network.
    #[must_use]
    pub fn stage(network: &Network, in_place: bool, layers: Range<usize>, under_way: u64) -> Self {
        Self { under_way, ..Self::part(network, in_place, layers, 1) }
    }

    fn part(network: &Network, in_place: bool, layers: Range<usize>, cut: u64) -> Self {
        let kept = network.kept(in_place);
        let (mut weights, mut activations) = (0, 0);
        for (layer, kept) in network.layers[layers.clone()].iter().zip(&kept[layers]) {
            weights += layer.parameters.div_ceil(if layer.split.is_some() { cut } else { 1 });
            // Behind rows the output is whole again.
            let is_cut = layer.split == Some(Split::Columns);
            activations += kept.div_ceil(if is_cut { cut } else { 1 });
        }
        let (sample, under_way) = (network.input.elements(), 1);
        let (gradients, updated) = (weights, weights);
        let (aggregated, gathered) = (0, 0);
        Self { weights, gradients, updated, aggregated, gathered, sample, activations, under_way }
    }

    /// Returns the memory that these samples take.
    #[must_use]
    pub fn footprint(&self, samples: u64, keeping: Keeping) -> Footprint {
        let Keeping { precision, gradients, optimizer, terms } = keeping;
        let number = precision.bytes();
        let bytes = |numbers: u64, size: u64| Bytes(numbers.saturating_mul(size));
        let masters = if number < MASTER { 1 } else { 0 };
        let at_once = samples.saturating_mul(self.under_way);
        let activations = bytes(self.activations.saturating_mul(at_once), number);
        Footprint {
            context: terms.context,
            weights: bytes(self.weights, number),
            gradients: bytes(self.gradients, gradients.bytes()),
            optimizer: bytes(self.updated, MASTER * (optimizer.state() + masters)),
            aggregation: bytes(self.aggregated, number),
            gathered: bytes(self.gathered, number),
            samples: bytes(self.sample.saturating_mul(samples), MASTER),
            activations,
            workspace: Bytes((activations.0 as f64 * terms.workspace) as u64),
        }
    }

    /// The most samples whose footprint a GPU's memory holds; none where not even one fits.
    #[must_use]
    pub fn most_samples(&self, capacity: Bytes, keeping: Keeping) -> Option<u64> {
        let fits = |samples: u64| self.footprint(samples, keeping).total() <= capacity;
        let (mut least, mut most) = (0, MOST_SAMPLES);
        while least < most {
            let middle = least + (most - least).div_ceil(2);
            if fits(middle) {
                least = middle;
            } else {
                most = middle - 1;
            }
        }
        (least > 0).then_some(least)
    }

    /// Returns the memory that these samples take on a GPU of a given capacity.
    ///
    /// # Errors
    /// More than it has: by how much, and the largest part.
    pub fn fitting(
        &self,
        gpu: u32,
        capacity: Bytes,
        samples: u64,
        keeping: Keeping,
    ) -> Result<Footprint, TrainingError> {
        let footprint = self.footprint(samples, keeping);
        let needed = footprint.total();
        if needed <= capacity {
            return Ok(footprint);
        }
        let (largest, remedies) = (footprint.largest(), Vec::new());
        Err(TrainingError::Memory { gpu, samples, needed, capacity, largest, remedies })
    }
}

/// The memory of one GPU, by what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Footprint {
    /// Belongs to the framework.
    pub context: Bytes,
    /// Weights.
    pub weights: Bytes,
    /// Holds the gradients.
    pub gradients: Bytes,
    /// Holds the optimizer's state, and master copies of weights.
    pub optimizer: Bytes,
    /// Gives the memory that it takes to aggregate the gradients of all GPUs.
    pub aggregation: Bytes,
    /// Holds weights and gradients that other GPUs keep, while they are gathered.
    pub gathered: Bytes,
    /// Holds the samples.
    pub samples: Bytes,
    /// Holds the activations that the backward pass needs.
    pub activations: Bytes,
    /// Is work space.
    pub workspace: Bytes,
}

impl Footprint {
    /// Sums the memory before the first step: the framework, weights, gradients and room for the
    /// samples.
    #[must_use]
    pub fn before(&self) -> Bytes {
        sum(&[self.context, self.weights, self.gradients, self.samples])
    }

    /// Sums the memory while it trains.
    #[must_use]
    pub fn total(&self) -> Bytes {
        let Self { optimizer, aggregation, gathered, activations, workspace, .. } = *self;
        sum(&[self.before(), optimizer, aggregation, gathered, activations, workspace])
    }

    /// Finds the largest part: its name and its size.
    #[must_use]
    pub fn largest(&self) -> (&'static str, Bytes) {
        let parts = [
            ("the framework", self.context),
            ("weights", self.weights),
            ("gradients", self.gradients),
            ("the optimizer's state", self.optimizer),
            ("gradients of all GPUs", self.aggregation),
            ("weights that are gathered", self.gathered),
            ("the samples", self.samples),
            ("activations", self.activations),
            ("work space", self.workspace),
        ];
        parts.into_iter().max_by_key(|(_, size)| *size).unwrap_or_default()
    }
}

fn sum(parts: &[Bytes]) -> Bytes {
    Bytes(parts.iter().fold(0, |sum, part| sum.saturating_add(part.0)))
}

#[cfg(test)]
mod tests;
