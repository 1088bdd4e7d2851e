//! A network to train with all that was chosen for it, as a value that a job keeps until it has GPUs.

use serde::{Deserialize, Serialize};

use super::TrainingError;
use super::network::Network;
use super::optimizer::Optimizer;
use super::precision::Precision;
use super::prepare::Training;
use super::shared_memory::SharedMemories;
use super::step::Way;
use super::terms::{FrameworkCosts, MemoryTerms, Terms};
use crate::program::Program;
use crate::system::System;

/// Says what a job trains, and how; [`Training`] is the same on loan, for one question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrainingTask {
    /// The network, on samples of the shape that it is to be trained on.
    pub network: Network,
    /// Samples of a step, over all GPUs.
    pub batch: u64,
    /// Names the numbers.
    pub precision: Precision,
    /// The numbers that gradients are kept and reduced in.
    pub gradients: Precision,
    /// Turns gradients into weights.
    pub optimizer: Optimizer,
    /// Says what the framework costs.
    pub costs: FrameworkCosts,
    /// Says what it keeps in a GPU's memory.
    pub memory: MemoryTerms,
    /// How data moves.
    pub way: Way,
    /// Whether gradients are reduced while others are still computed.
    pub overlaps: bool,
    /// Counts the parts of the batch that follow one another through a pipeline.
    pub micro_batches: u32,
    /// Whether samples are copied from the host in every step.
    pub copies_samples: bool,
    /// Says how fast each model of GPU reaches the memory that all share, where they do.
    pub shared: SharedMemories,
}

impl TrainingTask {
    /// Gives a task where nobody chooses anything, as [`Training::usual`].
    #[must_use]
    pub fn usual(network: Network, batch: u64) -> Self {
        let (_, memory) = Terms::own().of_default_framework();
        let usual = Training::usual(&network, batch);
        let Training { precision, gradients, optimizer, costs, way, overlaps, .. } = usual;
        let Training { micro_batches, copies_samples, .. } = usual;
        Self {
            batch,
            precision,
            gradients,
            optimizer,
            costs,
            memory,
            way,
            overlaps,
            micro_batches,
            copies_samples,
            shared: SharedMemories::new(),
            network,
        }
    }

    /// Gives the same on loan.
    #[must_use]
    pub fn training(&self) -> Training<'_> {
        Training {
            precision: self.precision,
            gradients: self.gradients,
            optimizer: self.optimizer,
            costs: self.costs,
            way: self.way,
            overlaps: self.overlaps,
            micro_batches: self.micro_batches,
            copies_samples: self.copies_samples,
            shared: &self.shared,
            ..Training::usual(&self.network, self.batch)
        }
    }

    /// Gives the program of a step on GPUs of a system, in the order of its ranks.
    ///
    /// # Errors
    /// Training that does not fit into the memory of a GPU; a batch that the GPUs do not divide; a GPU without
    /// a model.
    pub fn program(&self, system: &System, gpus: &[u32]) -> Result<Program, TrainingError> {
        let training = self.training();
        training.fitting(system, gpus, self.memory)?;
        training.program(system, gpus)
    }
}
