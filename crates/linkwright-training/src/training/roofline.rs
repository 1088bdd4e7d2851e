//! Says how long the kernels of a layer take on a GPU.
//!
//! **The model.** A kernel takes a least time, and then as long as the slower of its arithmetic and its memory:
//!
//! ```text
//! time = kernels x least + times x max(arithmetic, bytes / (bandwidth x reach))
//! arithmetic = turns x 2 x tile^2 x (depth + start) / (peak x reach / units)
//! ```
//!
//! (Williams et al., Roofline, CACM 2009, has the two bounds.) The results of a product, or of a convolution as a product,
//! are calculated by blocks of a tile each way. Each result is a sum of `depth` products, and a block's first loads and last
//! stores cost as much as `start` more. A tile that is not full takes as long as a full one: 20 channels of
//! 64 use a third of a block. Blocks take turns on the units; where they are fewer, a library divides
//! long sums over several blocks. That is why few channels, short sums and small batches reach a small part of a peak.
//!
//! `kernels` and `times` belong to a family of layers, a pass and a width of numbers ([`LayerFamily`]). Normalization over a batch
//! reads its input more than once, and pooling walks overlapping windows. Libraries copy, cast and change layouts
//! around the kernel that does the work. They are 1 where nothing was measured. A product on matrix units whose rows do not all start
//! at a multiple of 16 bytes takes `unaligned` times as long. Pictures of three colours have such rows, and so has
//! a vocabulary of an odd number.
//! Where a framework casts weights of 32 bits to 16 in each pass, that is a kernel of its own.
//!
//! The backward pass of a layer with weights is two kernels, for the gradients of its inputs and of its weights. Each
//! has the arithmetic of the forward pass; the first layer needs the second alone. Any other layer's reads what
//! it saved and the gradients of its outputs, and writes those of its inputs. An update reads a gradient and
//! the optimizer's state and writes both.
//!
//! Generations of GPUs before those whose kernels were measured reach other parts of their peaks
//! ([`GpuGeneration`](super::GpuGeneration)). On these, convolutions of numbers of 32 bits may take fewer multiplications
//! (`fast.rs` beside this file). Each pass takes the fastest way.
//!
//! Language models have times of their products and attention by shapes instead
//! (`layout_step/kernel_times.rs`).
//!
//! **What it leaves out.** Caches that hold one layer's output for the next. Kernels that fuse several layers.
//! Algorithms of convolution that need fewer operations on later GPUs. Clocks that fall under load at the data sheet's power are in
//! what kernels reach; those under a lower limit are the model's ([`GpuChanges`](crate::system::gpus::GpuChanges)).

mod kernel;
mod rates;
mod work;

use serde::{Deserialize, Serialize};

use crate::units::Picoseconds;

use super::family::{LayerFamily, Pass, Passes};
use super::fast::{Calculated, FastWork, works};
use super::kernel_time::MatrixKernels;
use super::shared_memory::SharedMemory;
use super::terms::KernelReach;
use kernel::{Kernel, Kernels, Operands};

pub use rates::GpuRates;
pub use work::LayerWork;

/// How long a layer takes, of one batch on one GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LayerTime {
    /// Gives the time of the forward pass.
    pub forward: Picoseconds,
    /// Gives the time of the gradients of its weights and its inputs.
    pub backward: Picoseconds,
    /// Gives the time of new weights.
    pub update: Picoseconds,
}

/// Times of layers on a GPU.
#[derive(Debug, Clone, Copy)]
pub struct Roofline {
    /// Gives the rates of the GPU.
    pub gpu: GpuRates,
    /// Says which share of the rates kernels reach, and how many kernels there are.
    pub reach: KernelReach,
    /// Gives the time that the host takes to launch one.
    pub launch: Picoseconds,
    /// Whether weights of 32 bits are cast in each pass of a layer that multiplies numbers of 16.
    pub casts_weights: bool,
    /// The memory that it shares with the other GPUs, where it has none of its own.
    pub shared: Option<SharedMemory>,
}

impl Roofline {
    /// Says how long a layer takes with `samples` samples, and an optimizer that keeps `state`
    /// numbers for each weight.
    #[must_use]
    pub fn layer(&self, work: &LayerWork, samples: u64, state: u64) -> LayerTime {
        let samples = u128::from(samples);
        let steps = u64::from(work.steps.max(1));
        let operands = self.operands(work);
        let Kernels { forward, to_inputs, to_weights, back: whole } =
            Kernels::of(work, samples, operands);
        let Passes { forward: ahead, backward: back } = self.passes(work.family);
        let fast = |direct: u64, of: Kernel, pass: Pass, calculated: Calculated| {
            self.fast(work, calculated, of, samples, pass).map_or(direct, |fast| fast.min(direct))
        };
        let backward = if work.is_matrix {
            let of_inputs = self.kernels(to_inputs, steps, back);
            let of_inputs = fast(of_inputs, to_inputs, back, Calculated::InputGradients);
            let inputs = if work.is_first { 0 } else { of_inputs };
            // A layer without weights multiplies two inputs. Each has a gradient.
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
        let kernels = Kernels::of(work, samples.into(), self.operands(work));
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

    /// Gives the kernels of matrix units, of linear layers whose numbers may be narrow; none on plain cores.
    pub(super) fn matrix_kernels(&self, is_narrow: bool) -> Option<MatrixKernels> {
        let (gpu, numbers) = self.gpu.matrix_units(is_narrow)?;
        Some(MatrixKernels::new(gpu, numbers))
    }

    /// How many times as long products take whose rows do not all start at a multiple of 16 bytes.
    pub(super) fn unaligned(&self, work: &LayerWork) -> f64 {
        let operands = self.operands(work);
        if [work.columns, work.columns_read].iter().all(|it| operands.are_aligned(*it)) {
            1.0
        } else {
            self.reach.unaligned[usize::from(self.gpu.number > 2)]
        }
    }

    /// Gives the picoseconds, forward and backward, of work that multiplies no matrices. One kernel does all of it, and
    /// nothing is copied or cast besides.
    pub(super) fn in_one_kernel(&self, work: &LayerWork, samples: u64) -> [u64; 2] {
        let Kernels { forward, back, .. } = Kernels::of(work, samples.into(), self.operands(work));
        [forward, back].map(|kernel| self.kernel(kernel, Pass::default()))
    }

    /// Gives the picoseconds of making narrow numbers of others, where a kernel before writes them and where one of its own
    /// reads them.
    pub(super) fn casts(&self, numbers: u128) -> [u64; 2] {
        let Some(_) = self.gpu.narrow else { return [0; 2] };
        let cast = Operands { number: self.gpu.number, narrow: self.gpu.narrow }.cast(numbers);
        let written = Kernel { bytes: cast.stored, ..cast };
        let seconds = self.moved(written.bytes as f64, written.stored as f64, 1.0);
        [Picoseconds::from_seconds(seconds).0, self.kernel(cast, Pass::default())]
    }

    /// Returns the costs of layers of a family, with these numbers.
    fn passes(&self, family: LayerFamily) -> Passes {
        self.reach.layers[family as usize][usize::from(self.gpu.number > 2)]
    }

    /// The numbers of a layer's products: narrow ones where it is linear and the GPU was asked for them.
    fn operands(&self, work: &LayerWork) -> Operands {
        let is_linear = work.family == LayerFamily::FullyConnected && work.weights > 0;
        Operands { number: self.gpu.number, narrow: self.gpu.narrow.filter(|_| is_linear) }
    }

    /// Returns the same with no narrow numbers. Frameworks leave some layers wide, such as the head
    /// of a language model.
    #[must_use]
    pub fn wide(&self) -> Self {
        Self { gpu: GpuRates { narrow: None, ..self.gpu }, ..*self }
    }

    /// Returns the time of the cast of a layer's weights to 16 bits, or of their gradients to 32.
    fn cast(&self, work: &LayerWork) -> u64 {
        if !self.casts_weights || self.gpu.number > 2 || !work.is_matrix || work.weights == 0 {
            return 0;
        }
        let weights = u128::from(work.weights);
        let cast = Kernel { bytes: weights * 6, stored: weights * 2, ..Kernel::default() };
        self.kernels(cast, 1, Pass::default())
    }

    /// Returns the time of the kernels of `steps` time steps beside their products: gates, sums,
    /// copies.
    fn least(&self, steps: u64, times: f64) -> u64 {
        let each = self.reach.least.max(self.launch).0 as f64;
        (each * self.reach.cell * times * steps as f64) as u64
    }

    /// Returns the time to update `parameters` weights, with `state` numbers of state for each.
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

    /// Returns the time of `steps` kernels that wait for each other and share the work, in
    /// picoseconds.
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
        let peak = kernel.narrow.map_or(self.gpu.peak, |narrow| narrow.peak).0 as f64;
        times * turns * 2.0 * sums * units / (peak * self.reach.share[which])
    }
}

#[cfg(test)]
mod tests;
