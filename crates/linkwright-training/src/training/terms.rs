//! Holds the share of a GPU that kernels reach and the costs of frameworks, each a constant with
//! its source.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::diagnostic::{InputError, from_toml};
use crate::units::{Bytes, Picoseconds};

use super::error::TrainingError;
use super::family::{LayerFamily, Pass, Passes};
use super::fast::FastReach;
use super::generation::GpuGeneration;
use super::roofline::GpuRates;

pub(in crate::training) mod values;

use values::{Amount, Count, Microseconds, Multiple, Share, Surplus};

/// The values that are compiled in; the tests read them, so that they cannot fail for a user.
static TERMS: LazyLock<Terms> = LazyLock::new(|| {
    Terms::read("terms.toml", Terms::TEXT).expect("the compiled-in terms are valid")
});

/// The framework that counts where nobody names one.
const DEFAULT_FRAMEWORK: &str = "pytorch";

/// Holds all terms.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// Lists those that measurements gave.
    #[serde(rename = "fitted")]
    _fitted: Vec<String>,
    kernels: BTreeMap<String, Kernel>,
    framework: BTreeMap<String, FrameworkTerms>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kernel {
    least: Microseconds,
    plain: Share,
    matrix: Share,
    memory: Share,
    plain_tile: Count,
    matrix_tile: Count,
    depth: Count,
    plain_start: Amount,
    matrix_start: Amount,
    update: Count,
    cell: Amount,
    #[serde(default)]
    unaligned: Option<Widths<Multiple>>,
    #[serde(default)]
    layers: BTreeMap<LayerFamily, Widths<PassesText>>,
    #[serde(default)]
    fast: Option<FastText>,
    #[serde(default)]
    generation: BTreeMap<GpuGeneration, GenerationText>,
}

/// Says what fast convolutions reach of any GPU that has them.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct FastText {
    product: Share,
    transform: Share,
}

/// Says what GPUs of a generation reach; absent terms are as on any GPU.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct GenerationText {
    plain: Option<Share>,
    memory: Option<Share>,
    product: Option<Share>,
    fused: bool,
}

/// Holds one value for numbers of 16 bits, and one for numbers of 32.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Widths<T> {
    short: T,
    long: T,
}

impl<T: Copy> Widths<T> {
    fn both<U>(&self, map: impl Fn(T) -> U) -> [U; 2] {
        [map(self.short), map(self.long)]
    }
}

/// The passes of a family's layers: forward, then backward.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct PassesText {
    kernels: [Multiple; 2],
    times: [Multiple; 2],
}

impl PassesText {
    fn passes(self) -> Passes {
        let [forward, backward] =
            [0, 1].map(|at| Pass { kernels: self.kernels[at].0, times: self.times[at].0 });
        Passes { forward, backward }
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct FrameworkTerms {
    kernels: String,
    launch: Microseconds,
    iteration: Microseconds,
    gpu: Microseconds,
    copy: Microseconds,
    collective: Microseconds,
    fused_update: bool,
    casts_weights: bool,
    bucket: u64,
    arrays: u32,
    memory: MemoryText,
}

/// Reads the memory that a framework keeps on a GPU: `context` in MiB.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct MemoryText {
    context: u32,
    workspace: Surplus,
    in_place: bool,
}

/// Holds the memory that a framework keeps on a GPU besides the needs of training.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MemoryTerms {
    /// Holds code, and memory that libraries set aside.
    pub context: Bytes,
    /// Gives the work space, as a share of the activations.
    pub workspace: f64,
    /// Whether functions such as a rectifier are done in place of their input.
    pub in_place: bool,
}

/// Which gradients are reduced at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bucketing {
    /// Reduces those of each layer.
    Layer,
    /// Reduces those of one layer after another together, until they reach this size.
    Bytes(Bytes),
    /// Reduces those of this number of arrays, counted from the first layer. A collective for each
    /// array waits for all of them. Where no collective reduces anything, it takes those of each
    /// layer.
    Arrays(u32),
}

impl Bucketing {
    /// Takes this size; each layer's gradients where it is zero.
    #[must_use]
    pub fn of_bytes(size: Bytes) -> Self {
        if size.0 > 0 { Self::Bytes(size) } else { Self::Layer }
    }
}

/// Holds the costs of a framework around its kernels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FrameworkCosts {
    /// Says which part of a GPU its kernels reach.
    pub kernels: KernelReach,
    /// Takes one kernel's launch from the host.
    pub launch: Picoseconds,
    /// Of an iteration, whatever it computes.
    pub iteration: Picoseconds,
    /// Gives the same for each GPU.
    pub gpu: Picoseconds,
    /// Passes before the first byte of a copy between GPUs.
    pub copy: Picoseconds,
    /// Passes at the call of a collective.
    pub collective: Picoseconds,
    /// Whether all weights are updated by one kernel.
    pub fused_update: bool,
    /// Whether weights of 32 bits are cast in each pass of a layer that multiplies numbers of 16.
    pub casts_weights: bool,
    /// Gradients that are reduced at once.
    pub bucket: Bucketing,
}

/// Says which part of a GPU a kernel reaches.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct KernelReach {
    /// Of a kernel that does nothing.
    pub least: Picoseconds,
    /// Gives the part of the peak that products of matrices reach, on plain cores and on matrix
    /// units.
    pub share: [f64; 2],
    /// Results that a block calculates each way, on plain cores and on matrix units.
    pub tile: [u64; 2],
    /// Part of the peak that the memory reaches.
    pub memory: f64,
    /// Terms of a sum that a block adds at least.
    pub depth: u64,
    /// Terms of a sum that would take as long as a block's first loads and last stores, on plain cores and on
    /// matrix units.
    pub start: [f64; 2],
    /// Counts the kernels that update the weights of one layer.
    pub update: u64,
    /// Counts the kernels of one time step of an LSTM beside its products, forward; there are twice
    /// as many backward.
    pub cell: f64,
    /// Says how many times as long a product takes on matrix units whose rows do not all start at a
    /// multiple of 16 bytes. It has one value for numbers of 16 bits and one for 32.
    pub unaligned: [f64; 2],
    /// Holds the costs of layers of each family, in the order of the families, with numbers of 16
    /// bits and of 32.
    pub layers: [[Passes; 2]; LayerFamily::COUNT],
    /// Says what GPUs of some generations reach instead, in their order.
    pub generations: [Option<GenerationReach>; GpuGeneration::COUNT],
    /// Says what fast convolutions reach; none before a GPU is named, or on one that has none.
    pub fast: Option<FastReach>,
}

/// Says what kernels reach of a GPU of a generation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GenerationReach {
    /// Says which part of the peak products of matrices reach on plain cores.
    pub plain: f64,
    /// Says which part of its peak the memory reaches.
    pub memory: f64,
    /// Says what fast convolutions reach.
    pub fast: Option<FastReach>,
}

impl KernelReach {
    /// Gives what a kernel reaches of this GPU.
    #[must_use]
    pub fn on(self, gpu: &GpuRates) -> Self {
        let Some(own) = gpu.generation().and_then(|it| self.generations[it as usize]) else {
            return self;
        };
        let share = [own.plain, self.share[1]];
        Self { share, memory: own.memory, fast: own.fast, ..self }
    }
}

impl Terms {
    /// The text of those that are compiled in.
    pub const TEXT: &'static str = include_str!("terms.toml");

    /// Those that are compiled in.
    #[must_use]
    pub fn own() -> &'static Self {
        &TERMS
    }

    /// Reads terms from their TOML text.
    ///
    /// # Errors
    /// Text that is none, with line and column.
    pub fn read(file: &str, text: &str) -> Result<Self, InputError> {
        from_toml(file, text)
    }

    /// The names of the frameworks.
    #[must_use]
    pub fn frameworks(&self) -> Vec<&str> {
        self.framework.keys().map(String::as_str).collect()
    }

    /// Returns the costs and the memory of the framework that counts where nobody names one.
    ///
    /// # Panics
    /// Never: the compiled-in terms have it.
    #[must_use]
    pub fn of_default_framework(&self) -> (FrameworkCosts, MemoryTerms) {
        let found = self.framework(DEFAULT_FRAMEWORK).ok().zip(self.memory(DEFAULT_FRAMEWORK).ok());
        found.expect("the terms have the default framework")
    }

    /// Returns the costs of a framework, and the part of a GPU that its kernels reach.
    ///
    /// # Errors
    /// A name that none has, and kernels that its entry names without there being any.
    pub fn framework(&self, name: &str) -> Result<FrameworkCosts, TrainingError> {
        let costs = self.find(name)?;
        let kernels = self.kernels.get(&costs.kernels).ok_or_else(|| TrainingError::Unknown {
            what: "kernels",
            name: costs.kernels.clone(),
            known: self.kernels.keys().cloned().collect(),
        })?;
        let FrameworkTerms {
            launch,
            iteration,
            gpu,
            copy,
            collective,
            fused_update,
            casts_weights,
            bucket,
            arrays,
            ..
        } = *costs;
        Ok(FrameworkCosts {
            kernels: kernels.reach(),
            launch: launch.0,
            iteration: iteration.0,
            gpu: gpu.0,
            copy: copy.0,
            collective: collective.0,
            fused_update,
            casts_weights,
            bucket: match arrays {
                0 => Bucketing::of_bytes(Bytes(bucket)),
                arrays => Bucketing::Arrays(arrays),
            },
        })
    }

    /// Returns the memory that a framework keeps on a GPU.
    ///
    /// # Errors
    /// A name that none has.
    pub fn memory(&self, name: &str) -> Result<MemoryTerms, TrainingError> {
        let MemoryText { context, workspace, in_place } = self.find(name)?.memory;
        Ok(MemoryTerms {
            context: Bytes(u64::from(context) << 20),
            workspace: workspace.0,
            in_place,
        })
    }

    fn find(&self, name: &str) -> Result<&FrameworkTerms, TrainingError> {
        self.framework.get(name).ok_or_else(|| TrainingError::Unknown {
            what: "framework",
            name: name.to_owned(),
            known: self.framework.keys().cloned().collect(),
        })
    }
}

impl Kernel {
    fn reach(&self) -> KernelReach {
        let mut layers = [[Passes::default(); 2]; LayerFamily::COUNT];
        for (family, passes) in &self.layers {
            layers[*family as usize] = passes.both(PassesText::passes);
        }
        let mut generations = [None; GpuGeneration::COUNT];
        for (generation, own) in &self.generation {
            generations[*generation as usize] = Some(GenerationReach {
                plain: own.plain.unwrap_or(self.plain).0,
                memory: own.memory.unwrap_or(self.memory).0,
                fast: self.fast.map(|fast| FastReach {
                    product: own.product.unwrap_or(fast.product).0,
                    transform: fast.transform.0,
                    is_fused: own.fused,
                }),
            });
        }
        KernelReach {
            least: self.least.0,
            share: [self.plain.0, self.matrix.0],
            tile: [self.plain_tile.0, self.matrix_tile.0],
            memory: self.memory.0,
            depth: self.depth.0,
            start: [self.plain_start.0, self.matrix_start.0],
            update: self.update.0,
            cell: self.cell.0,
            unaligned: self.unaligned.map_or([1.0; 2], |it| it.both(|times| times.0)),
            layers,
            generations,
            fast: None,
        }
    }
}
