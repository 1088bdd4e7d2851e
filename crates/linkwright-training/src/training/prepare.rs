//! Prepares training: turns a network, the way to train it and the GPUs into the program of a step.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::error::TrainingError;
use super::joins::Joins;
use super::layer::Layer;
use super::network::Network;
use super::optimizer::Optimizer;
use super::precision::Precision;
use super::roofline::{GpuRates, LayerTime, LayerWork, Roofline};
use super::shared_memory::SharedMemories;
use super::step::{LayerStep, RankStep, Step, Way};
use super::terms::{FrameworkCosts, Terms};
use crate::program::Program;
use crate::system::System;
use crate::system::gpus::GpuModel;
use crate::units::{Bytes, Picoseconds};

/// Limits the samples of a step.
pub const MOST_SAMPLES: u64 = 1 << 24;
/// Limits the parts of a pipeline's batch.
pub const MOST_MICRO_BATCHES: u32 = 4096;

/// Bytes of a number of a sample, where no dataset says otherwise: frameworks hand over 32 bits.
const BYTES_OF_INPUT: u64 = 4;

/// Says which network is trained, and how.
#[derive(Debug, Clone)]
pub struct Training<'a> {
    /// The network, on samples of the shape that it is to be trained on.
    pub network: &'a Network,
    /// Samples of a step, over all GPUs.
    pub batch: u64,
    /// Names the numbers.
    pub precision: Precision,
    /// The numbers that gradients are kept and reduced in.
    pub gradients: Precision,
    /// Turns gradients into weights.
    pub optimizer: Optimizer,
    /// Holds the times that drivers take.
    pub terms: &'a Terms,
    /// Holds the costs of the framework.
    pub costs: FrameworkCosts,
    /// How data moves.
    pub way: Way,
    /// Whether gradients are reduced while others are still computed.
    pub overlaps: bool,
    /// Counts the parts of the batch that follow one another through a pipeline.
    pub micro_batches: u32,
    /// Whether samples are copied from the host in every step.
    pub copies_samples: bool,
    /// Measured times of layers by their index, of the samples that one GPU computes at once; they replace the model's.
    pub measured: &'a BTreeMap<usize, LayerTime>,
    /// Says how fast each model of GPU reaches the memory that all share under [`Way::TrulyShared`].
    pub shared: &'a SharedMemories,
}

/// A step by all-reduces, as what one GPU computes and reduces in turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turns {
    /// Samples that come from the host.
    pub copied: Bytes,
    /// Gives the time of the work before gradients are known, and their size. There is at least
    /// one.
    pub buckets: Vec<(Picoseconds, Bytes)>,
    /// The update of the weights, once all gradients are reduced.
    pub update: Picoseconds,
}

impl Turns {
    /// All that is computed.
    #[must_use]
    pub fn computed(&self) -> Picoseconds {
        let before: u64 = self.buckets.iter().map(|(computed, _)| computed.0).sum();
        Picoseconds(before + self.update.0)
    }
}

impl<'a> Training<'a> {
    /// Returns the usual training, where nobody chooses anything. It has numbers of 32 bits,
    /// momentum, and the default framework, which all-reduces gradients while others are computed.
    #[must_use]
    pub fn usual(network: &'a Network, batch: u64) -> Self {
        static UNMEASURED: BTreeMap<usize, LayerTime> = BTreeMap::new();
        static UNSHARED: SharedMemories = SharedMemories::new();
        let (costs, _) = Terms::own().of_default_framework();
        Self {
            network,
            batch,
            precision: Precision::default(),
            gradients: Precision::default(),
            optimizer: Optimizer::default(),
            terms: Terms::own(),
            costs,
            way: Way::AllReduce,
            overlaps: true,
            micro_batches: 1,
            copies_samples: true,
            measured: &UNMEASURED,
            shared: &UNSHARED,
        }
    }
}

impl Training<'_> {
    /// Returns a step by all-reduces on one of `gpus` GPUs.
    ///
    /// # Errors
    /// Fails as [`Self::layers`] does.
    pub fn turns(&self, gpu: &GpuModel, gpus: usize) -> Result<Turns, TrainingError> {
        let own = self.rank(gpu, gpus)?;
        let framework = self.costs.iteration.0 + gpus as u64 * self.costs.gpu.0;
        let buckets = own.buckets(self.costs.bucket).into_iter();
        let mut buckets: Vec<_> =
            buckets.map(|bucket| (bucket.backward, bucket.gradients)).collect();
        if let Some((first, _)) = buckets.first_mut() {
            first.0 += framework + own.forward().0;
        }
        Ok(Turns { copied: own.input, buckets, update: own.update() })
    }

    /// Gives a step by all-reduces on the slowest of these GPUs, as all wait for it.
    ///
    /// # Errors
    /// Fails as [`Self::layers`] does, and for a GPU without a model.
    ///
    /// # Panics
    /// If there is no GPU.
    pub fn turns_on(&self, system: &System, gpus: &[u32]) -> Result<Turns, TrainingError> {
        let mut models = BTreeMap::new();
        for gpu in gpus {
            let model = model_of(system, *gpu)?;
            models.insert(&model.name, model);
        }
        let turns = models.into_values().map(|model| self.turns(model, gpus.len()));
        let turns: Vec<Turns> = turns.collect::<Result<_, _>>()?;
        Ok(turns.into_iter().max_by_key(Turns::computed).expect("a job has a GPU"))
    }

    /// Counts the samples that one of `gpus` GPUs computes at once.
    ///
    /// # Errors
    /// A batch that the GPUs, or the parts of a pipeline, do not divide.
    pub fn samples(&self, gpus: usize) -> Result<u64, TrainingError> {
        let (parts, of) = match self.way {
            Way::TensorParallel => (1, "GPUs"),
            Way::Pipeline => (u64::from(self.micro_batches.max(1)), "parts of a pipeline's batch"),
            _ => (gpus.max(1) as u64, "GPUs"),
        };
        if self.batch == 0 || !self.batch.is_multiple_of(parts) {
            return Err(TrainingError::Batch { batch: self.batch, parts, of });
        }
        Ok(self.batch / parts)
    }

    /// Returns the times of all layers on a GPU, one of `gpus`.
    ///
    /// # Errors
    /// A batch that does not divide, a GPU that is not known well enough.
    pub fn layers(&self, gpu: &GpuModel, gpus: usize) -> Result<Vec<LayerTime>, TrainingError> {
        let samples = self.samples(gpus)?;
        let roofline = self.roofline(gpu)?;
        let parts = if self.way == Way::TensorParallel { gpus as u64 } else { 1 };
        let time = |(index, layer): (usize, &Layer)| {
            let measured = self.measured.get(&index).copied();
            let work = LayerWork::of(layer).part(layer.split, parts);
            let own = || roofline.layer(&work, samples, self.optimizer.state());
            measured.unwrap_or_else(own)
        };
        Ok(self.network.layers.iter().enumerate().map(time).collect())
    }

    /// Builds the program of a step on GPUs by their ids in the system, in the order of its ranks.
    ///
    /// # Errors
    /// A batch that does not divide, GPUs that are not known well enough, a way that they cannot go.
    pub fn program(&self, system: &System, gpus: &[u32]) -> Result<Program, TrainingError> {
        let mut known: BTreeMap<&str, Arc<RankStep>> = BTreeMap::new();
        let mut ranks = Vec::with_capacity(gpus.len());
        let mut has_faults = true;
        for gpu in gpus {
            let model = model_of(system, *gpu)?;
            has_faults &= has_page_faults(model);
            let step = match known.get(model.name.as_str()) {
                Some(step) => Arc::clone(step),
                None => {
                    let step = Arc::new(self.rank(model, gpus.len())?);
                    known.insert(&model.name, Arc::clone(&step));
                    step
                }
            };
            ranks.push(step);
        }
        if self.way == Way::TensorParallel
            && gpus.len() > 1
            && self.network.layers.iter().all(|layer| layer.split.is_none())
        {
            return Err(TrainingError::NoSplit { network: self.network.full_name() });
        }
        let step = Step {
            name: &self.network.full_name(),
            ranks: &ranks,
            joins: &Joins::of(system, gpus),
            costs: self.costs,
            has_faults,
            overlaps: self.overlaps,
            micro_batches: self.micro_batches,
        };
        step.program(self.way)
    }

    /// Gives the times of all layers as a step spends them. Where weights are divided, a GPU updates its part. The time of
    /// one update of all weights is shared out by how many a layer has.
    ///
    /// # Errors
    /// Fails as [`Self::layers`] does.
    pub fn spent(&self, gpu: &GpuModel, gpus: usize) -> Result<Vec<LayerTime>, TrainingError> {
        let rank = self.rank(gpu, gpus)?;
        let mut times: Vec<LayerTime> = rank.layers.iter().map(|layer| layer.time).collect();
        let parts = if self.way.divides_updates() { gpus as u64 } else { 1 };
        let fused = rank.fused_update.filter(|_| self.way.updates_at_once());
        let of_layer = |layer: &LayerStep| match fused {
            Some(_) => layer.weights.0,
            None => layer.time.update.0,
        };
        let shares: Vec<u64> = rank.layers.iter().map(of_layer).collect();
        let whole: u64 = shares.iter().sum();
        let all = fused.map_or(whole, |fused| fused.0) / parts;
        let mut before = 0;
        for (time, share) in times.iter_mut().zip(shares) {
            let until =
                |shares: u64| u128::from(all) * u128::from(shares) / u128::from(whole.max(1));
            time.update = Picoseconds((until(before + share) - until(before)) as u64);
            before += share;
        }
        Ok(times)
    }

    /// Gives the bytes that the kernels of one GPU read and write in a step. Bytes that caches give again within a
    /// kernel count once.
    ///
    /// # Errors
    /// Fails as [`Self::layers`] does.
    pub fn traffic(&self, gpu: &GpuModel, gpus: usize) -> Result<[Bytes; 2], TrainingError> {
        let (samples, roofline) = (self.samples(gpus)?, self.roofline(gpu)?);
        let parts = if self.way.divides_updates() { gpus as u128 } else { 1 };
        let mut all = [0; 2];
        for layer in &self.network.layers {
            let work = LayerWork::of(layer);
            let passes = roofline.traffic(&work, samples);
            let updated = Roofline::updated(work.parameters, self.optimizer.state());
            for (all, (passes, updated)) in all.iter_mut().zip(passes.into_iter().zip(updated)) {
                *all += passes + updated / parts;
            }
        }
        Ok(all.map(|bytes| Bytes(bytes as u64)))
    }

    pub(super) fn rank(&self, gpu: &GpuModel, gpus: usize) -> Result<RankStep, TrainingError> {
        let samples = self.samples(gpus)?;
        let number = self.precision.bytes();
        let parts = if self.way == Way::TensorParallel { gpus as u64 } else { 1 };
        let times = self.layers(gpu, gpus)?;
        let layers = times.into_iter().zip(&self.network.layers).map(|(time, layer)| {
            let parameters = LayerWork::of(layer).part(layer.split, parts).parameters;
            LayerStep {
                time,
                weights: Bytes(parameters * number),
                gradients: Bytes(parameters * self.gradients.bytes()),
                arrays: layer.kind.arrays(),
                output: Bytes(layer.output.elements() * samples * number),
                unit: layer.unit,
                split: layer.split,
            }
        });
        let layers: Vec<LayerStep> = layers.collect();
        let fused_update = if self.costs.fused_update && self.measured.is_empty() {
            let numbers = layers.iter().map(|layer| layer.weights.0 / number).sum();
            Some(self.roofline(gpu)?.update(numbers, self.optimizer.state()))
        } else {
            None
        };
        Ok(RankStep { layers, input: Bytes(self.input() * samples), fused_update })
    }

    /// Bytes of a sample as it is copied from the host.
    fn input(&self) -> u64 {
        // Where all memory is shared, the host has written samples where GPUs read them.
        if !self.copies_samples || self.way == Way::TrulyShared {
            return 0;
        }
        let input = self.network.input;
        let dataset = self.network.dataset();
        dataset.map_or(input.elements() * BYTES_OF_INPUT, |dataset| dataset.bytes(input))
    }

    fn roofline(&self, gpu: &GpuModel) -> Result<Roofline, TrainingError> {
        let shared = match self.way {
            Way::TrulyShared => {
                let links = self.shared.get(&gpu.name);
                Some(*links.ok_or(TrainingError::NoSharedMemory)?)
            }
            _ => None,
        };
        let gpu = GpuRates::of(gpu, self.precision)?;
        let FrameworkCosts { kernels, launch, casts_weights, .. } = self.costs;
        Ok(Roofline { gpu, reach: kernels.on(&gpu), launch, casts_weights, shared })
    }
}

/// Returns the model of a GPU of a system.
///
/// # Errors
/// [`TrainingError::NoModel`] where it is not known.
pub fn model_of(system: &System, gpu: u32) -> Result<&GpuModel, TrainingError> {
    let place = system.gpu(gpu);
    let server = system.kind_of(place.server).server();
    let device = &server.devices()[server.gpus()[place.index as usize]];
    device.gpu_model().ok_or_else(|| TrainingError::NoModel {
        gpu: device.name.clone(),
        server: server.name().to_owned(),
    })
}

/// Says whether a GPU's memory pages move when it touches them. NVIDIA's do from Pascal on (compute
/// capability 6), and AMD's do.
fn has_page_faults(model: &GpuModel) -> bool {
    let capability = |processor: &String| processor.strip_prefix("sm_")?.parse::<u32>().ok();
    model.processors.iter().filter_map(capability).all(|capability| capability >= 60)
}
