//! Times the matrix kernels of a training step, forward and backward.
//!
//! They run for long: products go at the clock that power leaves ([`KernelTerms::sustained`]). Backward, a
//! product is two of its kind. Attention makes its pairs again and has five products in the place of two. Its kernels
//! reach a little less of the peak than forward ones do.

use super::attention::{AttentionShape, joined};
use super::gpu::KernelGpu;
use super::numbers::KernelNumbers;
use super::product::{ProductShape, Products};
use super::terms::KernelTerms;

/// Attention takes this many times as long backward as forward. It has five products for two, which reach 0.63 and 0.73
/// of the peak (Dao, FlashAttention-2, 2023, section 4.1).
const BACKWARD: f64 = 2.5 * 0.73 / 0.63;
/// FlashAttention 2 is 1.3 to 2.5 times as fast as FlashAttention in Triton (Dao, FlashAttention-2, 2023, section 4.1).
const TRITON: f64 = 1.8;
/// PyTorch's attention is FlashAttention 2, which reaches 0.35 of an H100's peak. Kernels for its generation reach 0.75
/// (Shah et al., FlashAttention-3, 2024, abstract and section 1).
const PORTABLE: f64 = 0.75 / 0.35;

/// Says whose kernels attend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::training) enum FlashVersion {
    /// Uses kernels for the GPU's generation.
    Own,
    /// Uses FlashAttention 2, which PyTorch has.
    Second,
    /// Uses the first version, in Triton.
    Triton,
}

/// Times matrix kernels of steps on a GPU.
#[derive(Debug, Clone, Copy)]
pub(in crate::training) struct MatrixKernels {
    pub gpu: KernelGpu,
    pub numbers: KernelNumbers,
    /// The share of its clock that the GPU keeps.
    clock: f64,
}

impl MatrixKernels {
    pub fn new(gpu: KernelGpu, numbers: KernelNumbers) -> Self {
        let clock = KernelTerms::own().sustained(&gpu, numbers);
        Self { gpu, numbers, clock }
    }

    /// Gives the seconds of products of one shape, `matrices` of them by one kernel.
    pub fn product(&self, shape: ProductShape, matrices: u64) -> f64 {
        let Self { gpu, numbers, clock } = self;
        let all = KernelTerms::own();
        let terms = all.product(gpu.generation, *numbers);
        // A kernel of many products reaches less of the peak than one of a single product. By how much was measured of
        // experts with numbers of 16 bits; kernels of narrower ones differ by engine more than by cause.
        let wide = KernelNumbers::Bf16;
        let of_experts = all.experts(gpu.generation, wide).share;
        let most = of_experts / all.product(gpu.generation, wide).share;
        let clock = if matrices > 1 { clock.min(most) } else { *clock };
        let products =
            Products { shape, matrices: matrices.max(1), gpu, numbers: *numbers, terms, clock };
        products.seconds()
    }

    /// Gives the seconds of attention forward and backward, of `tokens` queries.
    pub fn attention(&self, shape: AttentionShape, tokens: u64, version: FlashVersion) -> [f64; 2] {
        let generation = self.gpu.generation;
        let terms = KernelTerms::own().attention(generation);
        let part = tokens as f64 / (shape.batch * shape.tokens) as f64;
        let [busy, moved] = shape.parts(&self.gpu, terms).map(|seconds| seconds * part);
        let second = if generation.has_own_attention() { PORTABLE } else { 1.0 };
        let slower = match version {
            FlashVersion::Own => 1.0,
            FlashVersion::Second => second,
            FlashVersion::Triton => second * TRITON,
        };
        let forward = joined(busy * slower, moved);
        // Backward it reads and writes twice as many vectors of a token: their gradients, too.
        let backward = joined(busy * slower * BACKWARD, 2.0 * moved);
        [forward + terms.least, backward + 2.0 * terms.least]
    }
}
