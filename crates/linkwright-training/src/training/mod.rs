//! Trains neural networks: holds their layers, and computes the time and memory of a step of
//! training.
//!
//! The model: a [`Network`] is a list of [`Layer`]s with shapes. One file a network describes the
//! layers. Parameters, multiply-adds, activations and the needs of the backward pass are derived
//! from them, for one sample. The model leaves out operations that frameworks add (copies, changes
//! of layout, random numbers). It also leaves out all that a network computes beside its layers.
//!
//! A [`Training`] turns a network into the program of a step on the GPUs of a system. A
//! [`Roofline`] gives the times of layers, and data moves by one [`Way`] of several.
//!
//! [`Network::find`] gives a published network, [`Network::read`] one's own, and
//! [`Network::with_input`] either on samples of another shape.
//!
//! ```
//! use linkwright_training::training::{Network, Shape};
//!
//! let vgg = Network::find("vgg-16")?;
//! assert_eq!(vgg.parameters(), 138_357_544);
//! let small = Network::find("mlp")?.with_input(Shape::Vector { width: 3072 })?;
//! assert_eq!(small.layers[0].parameters, 128 * 3073);
//! # Ok::<(), linkwright_training::training::TrainingError>(())
//! ```

mod dataset;
mod derive;
mod error;
mod family;
mod fast;
mod flags;
mod footprint;
mod generation;
mod joins;
mod kernel_ratios;
mod kernel_time;
mod layer;
mod layout;
mod layout_step;
mod measured;
mod memory;
mod model;
mod model_task;
mod network;
mod optimizer;
mod precision;
mod prepare;
mod reader;
mod roofline;
mod routing;
mod search;
mod shape;
mod shared_memory;
mod step;
pub mod tables;
mod task;
mod terms;
#[cfg(test)]
mod tests;
mod trace;
mod traced_layers;
mod units;
pub mod workload;

pub use dataset::Dataset;
pub use error::TrainingError;
pub use family::{LayerFamily, Pass, Passes};
pub use fast::{FastReach, UnitStride};
pub use flags::{FlagsOf, FrameworkFlags};
pub use footprint::{Footprint, Holding, Keeping};
pub use generation::GpuGeneration;
pub use joins::{Join, Joins};
pub use kernel_ratios::{KernelRatios, MeasuredRatio};
pub use kernel_time::{
    AskedKernel, AttentionShape, ExpertDraw, ExpertsShape, KernelGeneration, KernelGpu,
    KernelNumbers, KernelShape, KernelTerms, KernelTime, ProductShape,
};
pub use layer::{Activation, Layer, LayerKind, Split, Window};
pub use layout::{AskedLayout, LayoutGroup, MOST_RANKS, ModelLayout, Order, RankGroup, Stages};
pub use layout_step::{
    BesideTimes, ClassTimes, ContextExchange, ExchangeTimes, Exchanges, Execution, FreeExchanges,
    GroupCall, LayoutStep, PipelineSend, StageSpread, StageWork, TakenShare, TracedRun, Variation,
    VariedStep,
};
pub use measured::MeasuredLayers;
pub use memory::{
    Kernels, Lora, ModelPrecision, ModelTraining, Module, Recompute, StageMemory, Target, Targets,
    Tensor,
};
pub use model::{Attention, Blocks, Experts, FAMILIES, Family, LanguageModel, Latent, Mlp, Norm};
pub use model_task::{ModelChoices, ModelTask, rooflines};
pub use network::{Network, SampleSize};
pub use optimizer::Optimizer;
pub use precision::Precision;
pub use prepare::{MOST_MICRO_BATCHES, MOST_SAMPLES, Training, Turns, model_of};
pub use roofline::{GpuRates, LayerTime, LayerWork, Roofline};
pub use routing::{ExpertImbalance, ExpertRouting};
pub use search::{
    ClosestLayouts, FoundLayouts, LayoutCandidate, LayoutSearch, LinkPeaks, SearchedMachine,
    Wanting,
};
pub use shape::{MOST_EXTENT, Shape};
pub use shared_memory::{SharedMemories, SharedMemory};
pub use step::{
    FRAMEWORK_REGION, LayerStep, PipelineStages, RankStep, Representatives, Step, Way,
    collectives_of,
};
pub use task::TrainingTask;
pub use terms::{Bucketing, FrameworkCosts, GenerationReach, KernelReach, MemoryTerms, Terms};
pub use trace::{
    KernelKind, KernelTrace, TracedCollectives, TracedKernels, TracedProducts, TracedTime,
};
pub use traced_layers::TracedLayers;
pub use units::Units;
pub use workload::{NamedWorkload, UnknownWorkload, Work, Workload, workload_of, workloads};
