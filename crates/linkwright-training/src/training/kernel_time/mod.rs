//! Tells how long a kernel alone takes on a GPU, by its shape.
//!
//! **The model.** A kernel starts, and then takes its blocks' time or its memory's, whichever is longer, and more where
//! both are long:
//!
//! ```text
//! time = least + sqrt(blocks^2 + (bytes / (bandwidth x memory))^2)
//! ```
//!
//! Blocks take turns on the multiprocessors: the last turn may be nearly empty. A block's multiply-adds go at a share of its
//! multiprocessor's peak, and it loads its operands from L2 at a rate. Its first loads and last stores are its start.
//! [`product`] has blocks of several shapes, and divided sums; a library takes the fastest. [`attention`] pays for exponentials
//! beside its products. [`decoding`] reads keys and values once. [`experts`] are products of as many rows as each expert
//! has tokens.
//!
//! Every term has a cause, and belongs to a generation of GPUs and a width of numbers. Multiprocessors, clocks, peaks and memory are
//! data sheets'. A GPU whose generation was not measured takes the terms of one that multiplies alike
//! ([`KernelGeneration`]). Nothing is kept for a shape, a model of GPU or a source.
//!
//! **What was measured.** Kernels of an inference engine, forward, alone and for a short while: GPUs then keep their
//! clock. Under load for long a GPU's power limits its clock
//! ([`KernelTerms::sustained`]).
//!
//! **What it leaves out.** Which of several kernels a library of another release takes. Operands that a kernel before left in
//! L2. Rows that do not start at a multiple of 16 bytes.

mod attention;
mod budget;
mod decoding;
mod experts;
mod generation;
mod gpu;
mod in_steps;
mod numbers;
mod product;
mod reach;
mod reader;
mod routed;
mod shape;
mod terms;
#[cfg(test)]
mod tests;

pub use attention::AttentionShape;
pub use budget::PowerBudget;
pub use experts::ExpertsShape;
pub use generation::KernelGeneration;
pub use gpu::KernelGpu;
pub(in crate::training) use in_steps::{FlashVersion, MatrixKernels};
pub use numbers::KernelNumbers;
pub use product::ProductShape;
pub use reader::AskedKernel;
pub use routed::ExpertDraw;
pub use shape::{KernelShape, KernelTime};
pub use terms::KernelTerms;

/// Adds two times that hide behind one another in part.
pub(super) fn beside(first: f64, second: f64) -> f64 {
    first.hypot(second)
}
