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
    roofline: &'a Roofline,
    /// Matrix units with numbers as they are, and with those of linear layers; none on plain cores.
    matrix: [Option<MatrixKernels>; 2],
    pub kernels: Kernels,
    /// Says how many times as long a trace measured them to take.
    measured: Option<&'a KernelRatios>,
}

impl<'a> KernelTimes<'a> {
    pub(super) fn new(
        roofline: &'a Roofline,
        kernels: Kernels,
        measured: Option<&'a KernelRatios>,
    ) -> Self {
        let matrix = [false, true].map(|is_narrow| roofline.matrix_kernels(is_narrow));
        Self { roofline, matrix, kernels, measured }
    }

    /// Gives the picoseconds of a piece's kernels, forward and backward.
    pub(super) fn of(&self, work: &TokenWork) -> [u64; 2] {
        let modelled = self.modelled(work);
        let (name, family) = (work.name, work.work.family);
        self.measured.map_or(modelled, |ratios| ratios.times(name, family, modelled))
    }

    fn modelled(&self, work: &TokenWork) -> [u64; 2] {
        let is_product = work.work.is_matrix && work.work.weights > 0;
        let matrix = self.matrix[usize::from(is_product)];
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

#[cfg(test)]
mod tests {
    use super::super::works::{Heads, norm, product};
    use super::*;
    use crate::system::gpus;
    use crate::training::memory::ModelPrecision;
    use crate::training::model::Norm;
    use crate::training::roofline::GpuRates;
    use crate::training::{FrameworkCosts, Terms};

    fn times(precision: ModelPrecision, kernels: Kernels, work: &TokenWork) -> [u64; 2] {
        let gpu = GpuRates::with_products(gpus::find("h100").unwrap(), precision).unwrap();
        let FrameworkCosts { kernels: reach, launch, .. } =
            Terms::own().framework("pytorch").unwrap();
        let reach = reach.on(&gpu);
        let roofline = Roofline { gpu, reach, launch, casts_weights: true, shared: None };
        KernelTimes::new(&roofline, kernels, None).of(work)
    }

    #[test]
    fn products_take_what_their_shapes_take_with_their_numbers() {
        let work = TokenWork::new("up", product(4096, 14_336, 0), 8192);
        let [wide, narrow] = [ModelPrecision::Bf16, ModelPrecision::Fp8]
            .map(|precision| times(precision, Kernels::Fused, &work));
        // Backward are two products; casts and starts are the rest.
        for [forward, backward] in [wide, narrow] {
            let ratio = backward as f64 / forward as f64;
            assert!((1.8..2.4).contains(&ratio), "{ratio}");
        }
        assert!(narrow[0] < wide[0] * 3 / 4 && narrow[1] < wide[1] * 3 / 4, "{wide:?} {narrow:?}");
        let frozen = TokenWork { is_frozen: true, ..work };
        let [forward, backward] = times(ModelPrecision::Bf16, Kernels::Fused, &frozen);
        assert!(forward == wide[0] && backward < wide[1] * 2 / 3);
    }

    #[test]
    fn fused_kernels_read_and_write_once() {
        let work = TokenWork::new("norm1", norm(Norm::RootMeanSquare, 4096), 8192);
        let [eager, fused, compiled] = [Kernels::Eager, Kernels::Fused, Kernels::Compiled]
            .map(|kernels| times(ModelPrecision::Bf16, kernels, &work));
        assert!(fused[0] < eager[0] && fused[1] < eager[1], "{fused:?} {eager:?}");
        assert_eq!(fused, compiled);
    }

    #[test]
    fn attention_takes_what_its_library_does() {
        let heads = Heads { heads: 32, key_value_heads: 8, head: 128, value_head: 128 };
        let work = |is_in_triton| TokenWork {
            attention: Some((heads.shape(8192), is_in_triton)),
            ..TokenWork::new("attention", heads.work(8192), 8192)
        };
        let [own, second, triton] =
            [(Kernels::Fused, false), (Kernels::Compiled, false), (Kernels::Fused, true)]
                .map(|(kernels, triton)| times(ModelPrecision::Bf16, kernels, &work(triton)));
        for pass in 0..2 {
            assert!(own[pass] < second[pass] && second[pass] < triton[pass]);
        }
        assert!(own[1] > 2 * own[0]);
        // Half of the tokens' queries take half as long.
        let half = TokenWork { tokens: 4096, ..work(false) };
        let [forward, _] = times(ModelPrecision::Bf16, Kernels::Fused, &half);
        assert!((forward as f64 / own[0] as f64 - 0.5).abs() < 0.05);
    }
}
