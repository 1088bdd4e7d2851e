//! How long the kernels of a layer take on a GPU.
//!
//! **The model.** A kernel takes a least time, and then as long as the slower of its arithmetic and its memory:
//!
//! ```text
//! time = kernels x least + times x max(arithmetic, bytes / (bandwidth x reach))
//! arithmetic = turns x 2 x tile^2 x (depth + start) / (peak x reach / units)
//! ```
//!
//! (Williams et al., Roofline, CACM 2009, has the two bounds.) The results of a product, or of a convolution as a product,
//! are calculated by blocks of a tile each way; each result is a sum of `depth` products, and a block's first loads and last
//! stores cost as much as `start` more. A tile that is not full takes as long as a full one: 20 channels of
//! 64 use a third of a block. Blocks take turns on the units; where they are fewer, a library divides
//! long sums over several blocks. That is why few channels, short sums and small batches reach a small part of a peak.
//!
//! `kernels` and `times` belong to a family of layers, a pass and a width of numbers ([`LayerFamily`]): normalization over a batch
//! reads its input more than once, pooling walks overlapping windows, and libraries copy, cast and change layouts
//! around the kernel that does the work. They are 1 where nothing was measured. A product on matrix units whose rows do not all start
//! at a multiple of 16 bytes takes `unaligned` times as long: pictures of three colours, a vocabulary of an odd number.
//! Where a framework casts weights of 32 bits to 16 in each pass, that is a kernel of its own.
//!
//! The backward pass of a layer with weights is two kernels, for the gradients of its inputs and of its weights, each
//! with the arithmetic of the forward pass; the first layer needs the second alone. Any other layer's reads what
//! it saved and the gradients of its outputs, and writes those of its inputs. An update reads a gradient and
//! the optimizer's state and writes both.
//!
//! Generations of GPUs before those whose kernels were measured reach other parts of their peaks
//! ([`GpuGeneration`](super::GpuGeneration)). On these, convolutions of numbers of 32 bits may take fewer multiplications
//! (`fast.rs` beside this file). Each pass takes the fastest way.
//!
//! **What it leaves out.** Caches that hold one layer's output for the next, kernels that fuse several layers,
//! algorithms of convolution that need fewer operations on later GPUs. Clocks that fall under load are left out, too.

use serde::{Deserialize, Serialize};

use crate::system::gpus::GpuModel;
use crate::units::{Bandwidth, OperationRate, Picoseconds};

use super::error::TrainingError;
use super::family::{LayerFamily, Pass, Passes};
use super::fast::{Calculated, FastWork, UnitStride, works};
use super::generation::GpuGeneration;
use super::layer::{Layer, LayerKind, Split};
use super::precision::Precision;
use super::shape::Shape;
use super::shared_memory::SharedMemory;
use super::terms::KernelReach;
use super::units::Units;

/// A GPU as far as the time of kernels depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GpuRates {
    /// Streaming multiprocessors, or compute units.
    units: u64,
    /// The peak of what multiplies, and whether that is matrix units.
    peak: OperationRate,
    has_matrix_units: bool,
    memory: Bandwidth,
    /// Bytes of a number.
    number: u64,
    generation: Option<GpuGeneration>,
}

impl GpuRates {
    /// Those of a model that calculates with numbers of a precision: by its matrix units where they take them, by
    /// its plain cores where not.
    ///
    /// # Errors
    /// A model whose file lacks a section that this needs, and a precision that it does not calculate with.
    pub fn of(model: &GpuModel, precision: Precision) -> Result<Self, TrainingError> {
        let (peak, has_matrix_units) = match precision.peak_of(model) {
            Ok(found) => found,
            Err(error) => {
                model.peak()?;
                let takes = |other: &&Precision| other.peak_of(model).is_ok();
                let all = [Precision::Fp32, Precision::Tf32, Precision::Fp16, Precision::Bf16];
                let instead = all.iter().filter(takes).map(|it| it.number().name()).collect();
                return Err(TrainingError::Precision { error, instead });
            }
        };
        let units = u64::from(Units::of(model, precision)?.count);
        let memory = model.memory()?.bandwidth;
        let (number, generation) = (precision.bytes(), GpuGeneration::of(model));
        Ok(Self { units, peak, has_matrix_units, memory, number, generation })
    }

    /// Names its generation, where that is one that reaches other parts of its peaks.
    #[must_use]
    pub const fn generation(&self) -> Option<GpuGeneration> {
        self.generation
    }
}

/// What one kernel does.
#[derive(Debug, Clone, Copy, Default)]
struct Kernel {
    /// Multiply-adds, each two operations.
    multiply_adds: u128,
    /// Bytes that it reads and writes.
    bytes: u128,
    /// Counts those that it writes.
    stored: u128,
    /// Results of its sums.
    results: u128,
    /// Results of one row: channels, or the width of what is written.
    columns: u64,
    /// Whether rows of what it multiplies start at a multiple of 16 bytes.
    is_aligned: bool,
}

/// Holds the kernels of a layer: forward, for the gradients of its inputs and of its weights, and backward where it multiplies
/// nothing.
struct Kernels {
    forward: Kernel,
    to_inputs: Kernel,
    to_weights: Kernel,
    back: Kernel,
}

impl Kernels {
    fn of(work: &LayerWork, samples: u128, number: u128, is_aligned: bool) -> Self {
        let [read, written, saved, multiply_adds] =
            [work.read, work.written, work.saved, work.multiply_adds]
                .map(|it| u128::from(it) * samples);
        let weights = u128::from(work.weights);
        let bytes = (read + written + weights) * number;
        let (stored, columns) = (written * number, work.columns);
        let forward =
            Kernel { multiply_adds, bytes, stored, results: written, columns, is_aligned };
        let (stored, columns) = (read * number, work.columns_read);
        let to_inputs = Kernel { stored, results: read, columns, ..forward };
        let to_weights = Kernel { stored: weights * number, results: weights, ..forward };
        let (bytes, stored) = (bytes + saved * number, (read + weights) * number);
        let back = Kernel { bytes, stored, ..Kernel::default() };
        Self { forward, to_inputs, to_weights, back }
    }
}

/// What one GPU does of a layer for one sample, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayerWork {
    /// How its kernels are written.
    pub family: LayerFamily,
    /// Trained numbers that are its own, which it updates.
    pub parameters: u64,
    /// Trained numbers that it reads, and that its backward pass has gradients of: its own, and a matrix that it shares.
    pub weights: u64,
    /// Of the forward pass.
    pub multiply_adds: u64,
    /// Of its inputs.
    pub read: u64,
    /// Of its output.
    pub written: u64,
    /// Kept for the backward pass.
    pub saved: u64,
    /// Channels, or numbers of a vector, that one product writes.
    pub columns: u64,
    /// Those that it reads, which are the columns of the gradients of its inputs.
    pub columns_read: u64,
    /// Kernels that wait for each other.
    pub steps: u32,
    /// Whether these are time steps, each with kernels beside its products.
    pub is_recurrent: bool,
    /// Whether it multiplies matrices.
    pub is_matrix: bool,
    /// Whether it reads the network's input alone, which has no gradients.
    pub is_first: bool,
    /// The points of a convolution whose window moves by one.
    pub unit_stride: Option<UnitStride>,
}

impl LayerWork {
    /// A whole layer.
    #[must_use]
    pub fn of(layer: &Layer) -> Self {
        let output = match layer.output {
            Shape::Image { channels, .. } => channels,
            Shape::Tokens { width, .. } | Shape::Vector { width } => width,
        };
        let depth = layer.multiply_adds / layer.output.elements().max(1);
        let (columns, columns_read) = match layer.kind {
            LayerKind::Convolution { groups, window, .. } => {
                let [height, width] = window.kernel;
                (output / groups.max(1), depth / (height * width).max(1))
            }
            // Four gates, from the input and from the state of the step before.
            LayerKind::LongShortTermMemory { width, .. } => (4 * width, depth / 4),
            // Keys by queries, and values by both.
            LayerKind::Attention { heads, .. } => {
                let head = output / heads.max(1);
                (head, head)
            }
            _ => (output, depth),
        };
        Self {
            family: LayerFamily::of(&layer.kind),
            parameters: layer.parameters,
            weights: layer.weights(),
            multiply_adds: layer.multiply_adds,
            read: layer.read,
            written: layer.output.elements(),
            saved: layer.saved,
            columns: columns.max(1),
            columns_read: columns_read.max(1),
            steps: layer.steps,
            is_recurrent: matches!(layer.kind, LayerKind::LongShortTermMemory { .. }),
            is_matrix: layer.kind.is_matrix(),
            is_first: layer.inputs.iter().all(Option::is_none),
            unit_stride: UnitStride::of(&layer.kind, layer.output),
        }
    }

    /// The part of a layer that one of so many GPUs does under tensor parallelism; the last parts may be smaller.
    #[must_use]
    pub fn part(self, split: Option<Split>, parts: u64) -> Self {
        let Self { read, written, columns, columns_read, .. } = self;
        let part = |whole: u64| whole.div_ceil(parts.max(1));
        let of_both = Self {
            parameters: part(self.parameters),
            weights: part(self.weights),
            multiply_adds: part(self.multiply_adds),
            saved: part(self.saved),
            ..self
        };
        match split {
            None => self,
            // What lies between has a part of its inputs, too; the first of them has all, and reads them once.
            Some(Split::Columns) => Self {
                read: if self.is_matrix { read } else { part(read) },
                written: part(written),
                columns: part(columns),
                ..of_both
            },
            Some(Split::Rows) => {
                Self { read: part(read), columns_read: part(columns_read), ..of_both }
            }
        }
    }
}

/// How long a layer takes, of one batch on one GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LayerTime {
    /// Forward.
    pub forward: Picoseconds,
    /// The gradients of its weights and its inputs.
    pub backward: Picoseconds,
    /// New weights.
    pub update: Picoseconds,
}

/// Times of layers on a GPU.
#[derive(Debug, Clone, Copy)]
pub struct Roofline {
    /// The GPU.
    pub gpu: GpuRates,
    /// What kernels reach of it, and how many there are.
    pub reach: KernelReach,
    /// What the host takes to launch one.
    pub launch: Picoseconds,
    /// Whether weights of 32 bits are cast in each pass of a layer that multiplies numbers of 16.
    pub casts_weights: bool,
    /// The memory that it shares with the other GPUs, where it has none of its own.
    pub shared: Option<SharedMemory>,
}

impl Roofline {
    /// How long a layer takes with so many samples, and an optimizer that keeps so many numbers for each weight.
    #[must_use]
    pub fn layer(&self, work: &LayerWork, samples: u64, state: u64) -> LayerTime {
        let samples = u128::from(samples);
        let steps = u64::from(work.steps.max(1));
        let Kernels { forward, to_inputs, to_weights, back: whole } =
            Kernels::of(work, samples, self.gpu.number.into(), self.is_aligned(work));
        let Passes { forward: ahead, backward: back } = self.passes(work.family);
        let fast = |direct: u64, of: Kernel, pass: Pass, calculated: Calculated| {
            self.fast(work, calculated, of, samples, pass).map_or(direct, |fast| fast.min(direct))
        };
        let backward = if work.is_matrix {
            let of_inputs = self.kernels(to_inputs, steps, back);
            let of_inputs = fast(of_inputs, to_inputs, back, Calculated::InputGradients);
            let inputs = if work.is_first { 0 } else { of_inputs };
            // What has no weights multiplies two inputs, each of which has a gradient.
            let second = if work.weights > 0 {
                let of_weights = self.kernels(to_weights, 1, back);
                fast(of_weights, to_weights, back, Calculated::WeightGradients)
            } else {
                of_inputs
            };
            inputs + second
        } else {
            self.kernels(whole, steps, back)
        };
        let beside = if work.is_recurrent { steps } else { 0 };
        let cast = self.cast(work);
        let direct = self.kernels(forward, steps, ahead);
        let ahead = fast(direct, forward, ahead, Calculated::Outputs);
        LayerTime {
            forward: Picoseconds(ahead + self.least(beside, 1.0) + cast),
            backward: Picoseconds(backward + self.least(beside, 2.0) + cast),
            update: self.update(work.parameters, state),
        }
    }

    /// Gives the bytes that a layer's kernels read and write of these samples, but for its update.
    #[must_use]
    pub fn traffic(&self, work: &LayerWork, samples: u64) -> [u128; 2] {
        let (samples, number) = (u128::from(samples), u128::from(self.gpu.number));
        let kernels = Kernels::of(work, samples, number, true);
        let backward = match (work.is_matrix, work.weights > 0, work.is_first) {
            (false, ..) => vec![kernels.back],
            (true, true, true) => vec![kernels.to_weights],
            (true, true, false) => vec![kernels.to_inputs, kernels.to_weights],
            (true, false, true) => vec![kernels.to_inputs],
            (true, false, false) => vec![kernels.to_inputs; 2],
        };
        let all = backward.into_iter().chain([kernels.forward]);
        all.fold([0; 2], |[read, written], it| [read + it.bytes - it.stored, written + it.stored])
    }

    /// What layers of a family take, with these numbers.
    fn passes(&self, family: LayerFamily) -> Passes {
        self.reach.layers[family as usize][usize::from(self.gpu.number > 2)]
    }

    /// Whether rows of inputs and of outputs start at a multiple of 16 bytes.
    fn is_aligned(&self, work: &LayerWork) -> bool {
        [work.columns, work.columns_read].iter().all(|it| (it * self.gpu.number).is_multiple_of(16))
    }

    /// The cast of a layer's weights to 16 bits, or of their gradients to 32.
    fn cast(&self, work: &LayerWork) -> u64 {
        if !self.casts_weights || self.gpu.number > 2 || !work.is_matrix || work.weights == 0 {
            return 0;
        }
        let weights = u128::from(work.weights);
        let cast = Kernel { bytes: weights * 6, stored: weights * 2, ..Kernel::default() };
        self.kernels(cast, 1, Pass::default())
    }

    /// The kernels of so many time steps beside their products: gates, sums, copies.
    fn least(&self, steps: u64, times: f64) -> u64 {
        let each = self.reach.least.max(self.launch).0 as f64;
        (each * self.reach.cell * times * steps as f64) as u64
    }

    /// The update of so many weights, with so many numbers of state for each.
    #[must_use]
    pub fn update(&self, parameters: u64, state: u64) -> Picoseconds {
        if parameters == 0 {
            return Picoseconds(0);
        }
        // Weight and gradient are read, the weight is written; state is read and written. All have 32 bits: where
        // numbers have 16, weights are kept in both.
        let [read, stored] = Self::updated(parameters, state);
        let updated = Kernel { bytes: read + stored, stored, ..Kernel::default() };
        Picoseconds(self.kernels(updated, self.reach.update, Pass::default()))
    }

    /// Gives the bytes that an update of `weights` weights reads and writes, each with `state` numbers of the optimizer.
    #[must_use]
    pub fn updated(parameters: u64, state: u64) -> [u128; 2] {
        [2 + state, 1 + state].map(|numbers| u128::from(parameters) * u128::from(numbers) * 4)
    }

    /// So many kernels that wait for each other and share the work, in picoseconds.
    fn kernels(&self, whole: Kernel, steps: u64, pass: Pass) -> u64 {
        let of = u128::from(steps);
        let Kernel { multiply_adds, bytes, stored, results, .. } = whole;
        let one = Kernel {
            multiply_adds: multiply_adds / of,
            bytes: bytes / of,
            stored: stored / of,
            results: results / of,
            ..whole
        };
        self.kernel(one, pass).saturating_mul(steps)
    }

    fn kernel(&self, kernel: Kernel, pass: Pass) -> u64 {
        let moved = self.moved(kernel.bytes as f64, kernel.stored as f64, 1.0);
        self.started(self.arithmetic(kernel).max(moved) * pass.times, pass)
    }

    /// Gives the seconds that a kernel's bytes take, some of them written. Memory, which gives it a share of its
    /// bandwidth, may be what they wait for, or the links to memory that all share.
    fn moved(&self, bytes: f64, stored: f64, share: f64) -> f64 {
        let of_memory = bytes / (self.memory() * share);
        self.shared
            .map_or(of_memory, |shared| of_memory.max(shared.seconds(bytes - stored, stored)))
    }

    /// Gives the bytes a second that reading and writing reach.
    fn memory(&self) -> f64 {
        self.gpu.memory.0 as f64 * self.reach.memory
    }

    /// Gives the picoseconds of a pass of a convolution by the fastest algorithm that transforms tiles, if there is one.
    /// The times by which direct kernels exceed their bounds say nothing of these.
    fn fast(
        &self,
        work: &LayerWork,
        calculated: Calculated,
        direct: Kernel,
        samples: u128,
        pass: Pass,
    ) -> Option<u64> {
        let reach =
            self.reach.fast.filter(|_| self.gpu.number > 2 && !self.gpu.has_matrix_units)?;
        let channels = [work.columns_read, work.columns];
        let points = work.unit_stride.as_ref()?;
        let number = self.gpu.number as f64;
        let (bytes, stored) = (direct.bytes as f64, direct.stored as f64);
        let time = |it: FastWork| {
            let FastWork { multiply_adds, results, transformed } = it;
            let product = self.arithmetic(Kernel { multiply_adds, results, ..direct });
            let product = product * self.reach.share[0] / reach.product;
            let seconds = if transformed == 0 {
                product.max(self.moved(bytes, stored, 1.0))
            } else {
                let between = transformed as f64 * number;
                // Half of what lies between the three kernels is written, and half is read.
                let transformed =
                    self.moved(bytes + between, stored + between / 2.0, reach.transform);
                product.max(self.moved(between, between / 2.0, 1.0)) + transformed
            };
            self.started(seconds, pass)
        };
        works(points, calculated, reach.is_fused, samples, channels).map(time).min()
    }

    /// Adds the starts of a pass's kernels to the seconds that it is busy, in picoseconds.
    fn started(&self, seconds: f64, pass: Pass) -> u64 {
        let started = (self.reach.least.0 as f64 * pass.kernels) as u64;
        let busy = Picoseconds::from_seconds(seconds).0.saturating_add(started);
        // The host launches the next while this one runs.
        busy.max(self.launch.0)
    }

    /// Seconds of a product's blocks, which take turns on the units.
    fn arithmetic(&self, kernel: Kernel) -> f64 {
        let Kernel { multiply_adds, results, columns, .. } = kernel;
        if multiply_adds == 0 || results == 0 {
            return 0.0;
        }
        let which = usize::from(self.gpu.has_matrix_units);
        let (tile, units) = (u128::from(self.reach.tile[which]), self.gpu.units as f64);
        let columns = u128::from(columns.max(1));
        let rows = results.div_ceil(columns);
        let blocks = (rows.div_ceil(tile) * columns.div_ceil(tile)) as f64;
        let depth = multiply_adds as f64 / results as f64;
        // Over how many blocks the sum of a tile is divided.
        let most = (depth / self.reach.depth as f64).max(1.0);
        let divided = (units / blocks).clamp(1.0, most);
        let turns = (blocks * divided / units).max(1.0);
        let sums = (tile * tile) as f64 * (depth / divided + self.reach.start[which]);
        let times = if kernel.is_aligned || !self.gpu.has_matrix_units {
            1.0
        } else {
            self.reach.unaligned[usize::from(self.gpu.number > 2)]
        };
        times * turns * 2.0 * sums * units / (self.gpu.peak.0 as f64 * self.reach.share[which])
    }
}

#[cfg(test)]
mod tests;
