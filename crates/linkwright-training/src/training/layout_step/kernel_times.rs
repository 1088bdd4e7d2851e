//! Times the kernels of pieces, forward and backward.
//!
//! Products and attention take what their shapes take on matrix units ([`MatrixKernels`]). All else reads and writes memory.
//! That happens once where kernels are fused or compiled, and as often as measured families of layers do where each operation is a kernel.

use super::works::TokenWork;
use crate::training::family::LayerFamily;
use crate::training::kernel_ratios::KernelRatios;
use crate::training::kernel_time::{FlashVersion, MatrixKernels, ProductShape};
use crate::training::memory::Kernels;
use crate::training::roofline::{LayerWork, Roofline};
use crate::units::Picoseconds;

/// Tells how long the kernels of a block or an end take.
#[derive(Clone, Copy)]
pub(super) struct KernelTimes<'a> {
    pub roofline: &'a Roofline,
    pub kernels: Kernels,
    /// Says how many times as long a trace measured them to take.
    pub measured: Option<&'a KernelRatios>,
}

impl KernelTimes<'_> {
    /// Gives the picoseconds of a piece's kernels, forward and backward.
    pub(super) fn of(&self, work: &TokenWork) -> [u64; 2] {
        let modelled = self.modelled(work);
        let (name, family) = (work.name, work.work.family);
        self.measured.map_or(modelled, |ratios| ratios.times(name, family, modelled))
    }

    fn modelled(&self, work: &TokenWork) -> [u64; 2] {
        let is_product = work.work.is_matrix && work.work.weights > 0;
        let matrix = self.roofline.matrix_kernels(is_product);
        match (matrix, work.attention) {
            (Some(matrix), Some((shape, is_in_triton))) => {
                let library = match self.kernels {
                    _ if is_in_triton => FlashVersion::Triton,
                    Kernels::Fused => FlashVersion::Own,
                    Kernels::Eager | Kernels::Compiled => FlashVersion::Second,
                };
                matrix
                    .attention(shape, work.tokens, library)
                    .map(|seconds| Picoseconds::from_seconds(seconds).0)
            }
            (Some(matrix), None) if is_product => self.product(work, &matrix),
            (_, None) if !work.work.is_matrix => self.each(work),
            _ => self.by_layer(work),
        }
    }

    /// Times a product forward, and those for the gradients of its inputs and its weights.
    fn product(&self, work: &TokenWork, matrix: &MatrixKernels) -> [u64; 2] {
        let LayerWork { columns, columns_read, matrices, read, written, .. } = work.work;
        let rows = work.tokens.div_ceil(matrices);
        if rows == 0 {
            return [0; 2];
        }
        let slower = self.roofline.unaligned(&work.work);
        let time = |rows, columns, depth| {
            let seconds = matrix.product(ProductShape { rows, columns, depth }, matrices);
            Picoseconds::from_seconds(seconds * slower).0
        };
        let [inputs, _] = self.roofline.casts(u128::from(read) * u128::from(work.tokens));
        let [_, gradients] = self.roofline.casts(u128::from(written) * u128::from(work.tokens));
        let of_inputs = time(rows, columns_read, columns) + gradients;
        let of_weights = if work.is_frozen { 0 } else { time(columns, columns_read, rows) };
        [time(rows, columns, columns_read) + inputs, of_inputs + of_weights]
    }

    /// Times work that multiplies nothing.
    fn each(&self, work: &TokenWork) -> [u64; 2] {
        if self.kernels == Kernels::Eager {
            return self.by_layer(work);
        }
        // A gated function and its product are one kernel, which counts as the product.
        if work.name == "silu" {
            return [0; 2];
        }
        let [forward, backward] = self.roofline.in_one_kernel(&work.work, work.tokens);
        let is_frozen = work.is_frozen && work.work.family == LayerFamily::Embedding;
        [forward, if is_frozen { 0 } else { backward }]
    }

    /// By families of layers, as networks are timed.
    fn by_layer(&self, work: &TokenWork) -> [u64; 2] {
        let time = self.roofline.layer(&work.work, work.tokens, 0);
        let is_product = work.work.is_matrix && work.work.weights > 0;
        let backward = match work.is_frozen {
            // Of the two products of a backward pass only that for the inputs is left.
            true if is_product => time.backward.0 / 2,
            true if work.work.is_first => 0,
            _ => time.backward.0,
        };
        [time.forward.0, backward]
    }
}
