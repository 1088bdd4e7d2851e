//! A language model's training with all that was chosen for it, as a value that a job keeps until it has GPUs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::error::TrainingError;
use super::layout::{ModelLayout, Order};
use super::layout_step::{Execution, LayoutStep};
use super::memory::{Kernels, Lora, ModelPrecision, ModelTraining, Recompute};
use super::model::LanguageModel;
use super::optimizer::Optimizer;
use super::precision::Precision;
use super::prepare::model_of;
use super::roofline::{GpuRates, Roofline};
use super::routing::ExpertRouting;
use super::terms::{FrameworkCosts, Terms};
use crate::diagnostic::Diagnosis;
use crate::system::System;
use crate::units::{Bytes, Picoseconds};

/// Micro-batches for each stage of a pipeline where nobody says how many.
const FOR_EACH_STAGE: u64 = 4;

/// How a model is trained, whichever it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelChoices {
    /// How it is divided.
    pub layout: ModelLayout,
    /// Which ranks are neighbours.
    pub order: Order,
    /// Samples of a step, over all GPUs.
    pub batch: u64,
    /// Samples that a replica computes at once.
    pub micro_batch: u64,
    /// Gives the numbers of products.
    pub precision: ModelPrecision,
    /// The numbers that gradients are kept in.
    pub gradients: Precision,
    /// Turns gradients into weights.
    pub optimizer: Optimizer,
    /// Says what replicas divide, as [`ModelTraining::zero`].
    pub zero: u8,
    /// Says what the backward pass computes again.
    pub recompute: Recompute,
    /// Says whose kernels compute.
    pub kernels: Kernels,
    /// Whether what tensor parallelism leaves whole is divided by tokens.
    pub sequence_parallel: bool,
    /// Small matrices that are trained in the place of all weights.
    pub lora: Option<Lora>,
    /// Whether weights are kept in the numbers of products of eight bits and fewer alone.
    pub narrow_weights: bool,
    /// Whether what a perceptron's function reads is kept in eight bits.
    pub narrow_activations: bool,
    /// How tokens are sent to experts.
    pub routing: ExpertRouting,
    /// How the step is run.
    pub execution: Execution,
}

impl ModelChoices {
    /// Gives a training by a layout where nobody chooses anything else.
    #[must_use]
    pub fn usual(layout: ModelLayout) -> Self {
        let zero = Self::usual_zero(&layout);
        let (batch, micro_batch) = Self::batches(&layout, None, None);
        Self {
            layout,
            order: Order::default(),
            batch,
            micro_batch,
            precision: ModelPrecision::Bf16,
            gradients: Precision::Fp32,
            optimizer: Optimizer::Adam,
            zero,
            recompute: Recompute::None,
            kernels: Kernels::usual(zero),
            sequence_parallel: false,
            lora: None,
            narrow_weights: false,
            narrow_activations: false,
            routing: ExpertRouting::default(),
            execution: Execution::default(),
        }
    }

    /// Says how much replicas divide by default: all where the layout has `fsdp`, else nothing.
    #[must_use]
    pub const fn usual_zero(layout: &ModelLayout) -> u8 {
        if layout.fsdp > 1 { 3 } else { 0 }
    }

    /// Gives the samples of a step and of a micro-batch. Either may be chosen. Else each replica has one micro-batch
    /// of one sample, or four for each stage of a pipeline.
    #[must_use]
    pub fn batches(layout: &ModelLayout, batch: Option<u64>, micro: Option<u64>) -> (u64, u64) {
        let replicas = layout.replicas();
        let for_each = if layout.pp > 1 { FOR_EACH_STAGE * layout.pp } else { 1 };
        let usual = || replicas.saturating_mul(micro.unwrap_or(1)).saturating_mul(for_each);
        let batch = batch.unwrap_or_else(usual);
        let at_once = if layout.pp > 1 { 1 } else { (batch / replicas.max(1)).max(1) };
        (batch, micro.unwrap_or(at_once))
    }
}

/// Says what model a job trains, and how; [`ModelTraining`] is the same on loan, for one question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelTask {
    /// The model takes sequences of its length.
    pub model: LanguageModel,
    /// How it is trained.
    pub choices: ModelChoices,
}

impl ModelTask {
    /// Gives the same on loan.
    #[must_use]
    pub fn training(&self) -> ModelTraining<'_> {
        let own = &self.choices;
        ModelTraining {
            model: &self.model,
            layout: own.layout,
            batch: own.batch,
            micro_batch: own.micro_batch,
            precision: own.precision,
            gradients: own.gradients,
            optimizer: own.optimizer,
            zero: own.zero,
            recompute: own.recompute.clone(),
            kernels: own.kernels,
            sequence_parallel: own.sequence_parallel,
            lora: own.lora,
            narrow_weights: own.narrow_weights,
            narrow_activations: own.narrow_activations,
            routing: own.routing,
        }
    }

    /// Refuses what these GPUs of a system have no memory for.
    ///
    /// # Errors
    /// A training that does not fit, with what would; a layout that is not sound, or of other GPUs. A GPU whose
    /// memory is not known.
    pub fn fitting(&self, system: &System, gpus: &[u32]) -> Result<(), TrainingError> {
        let layout = &self.choices.layout;
        let own = layout.gpus();
        if own != gpus.len() as u64 {
            let problem = format!("the layout {layout} has {own} GPUs, and {} train", gpus.len());
            let told = Diagnosis::of(problem).remedy(format!("take {own} GPUs, or another layout"));
            return Err(TrainingError::ModelLayout(told));
        }
        let mut least: Option<Bytes> = None;
        for gpu in gpus {
            let capacity = model_of(system, *gpu)?.memory()?.capacity;
            least = Some(least.map_or(capacity, |known| known.min(capacity)));
        }
        let context = Terms::own().of_default_framework().1.context;
        self.training().fitting(least.unwrap_or_default(), context).map(drop)
    }

    /// Gives its step on GPUs of a system.
    ///
    /// # Errors
    /// Fails as [`LayoutStep::slowest`] does.
    pub fn step(&self, system: &System, gpus: &[u32]) -> Result<LayoutStep, TrainingError> {
        LayoutStep::slowest(
            &self.training(),
            (self.choices.order, self.choices.execution),
            system,
            gpus,
        )
    }
}

/// Says how long kernels take on each model of a system's GPUs, for products of a precision.
///
/// # Errors
/// GPUs that are not known well enough, or that do not calculate with such numbers.
pub fn rooflines(
    system: &System,
    gpus: &[u32],
    precision: ModelPrecision,
) -> Result<Vec<Roofline>, TrainingError> {
    let (costs, _) = Terms::own().of_default_framework();
    let mut models = BTreeMap::new();
    for gpu in gpus {
        let model = model_of(system, *gpu)?;
        models.insert(&model.name, model);
    }
    let roofline = |model| {
        let gpu = GpuRates::with_products(model, precision)?;
        let FrameworkCosts { kernels, casts_weights, .. } = costs;
        // The host's launches of kernels are counted over whole units, since it runs ahead.
        let launch = Picoseconds(0);
        Ok(Roofline { gpu, reach: kernels.on(&gpu), launch, casts_weights, shared: None })
    };
    models.into_values().map(roofline).collect()
}

impl LayoutStep {
    /// The step on the GPU of a system that takes longest, as all wait for it.
    ///
    /// # Errors
    /// A layout that is not sound; GPUs that are not known well enough, or that do not calculate with such numbers.
    pub fn slowest(
        training: &ModelTraining<'_>,
        how: (Order, Execution),
        system: &System,
        gpus: &[u32],
    ) -> Result<Self, TrainingError> {
        let (costs, _) = Terms::own().of_default_framework();
        let rooflines = rooflines(system, gpus, training.precision)?;
        let found = Self::slowest_of(training, how, &rooflines, &costs)?;
        found.ok_or_else(|| {
            TrainingError::ModelLayout(Diagnosis::of("no GPU trains").remedy("name one"))
        })
    }

    /// The same of GPUs whose kernels take what is said of each; none where nothing is.
    ///
    /// # Errors
    /// A layout that is not sound.
    pub fn slowest_of(
        training: &ModelTraining<'_>,
        (order, execution): (Order, Execution),
        rooflines: &[Roofline],
        costs: &FrameworkCosts,
    ) -> Result<Option<Self>, TrainingError> {
        let mut found: Option<Self> = None;
        for roofline in rooflines {
            let step = Self::new(training, order, execution, roofline, costs)?;
            if found.as_ref().is_none_or(|other| other.busiest().1 < step.busiest().1) {
                found = Some(step);
            }
        }
        Ok(found)
    }
}
