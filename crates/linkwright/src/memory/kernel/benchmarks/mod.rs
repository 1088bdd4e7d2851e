//! The benchmarks of the dissertation's Table 3.2, and those that stress one thing.
//!
//! Each is written after its OpenCL kernel: which work-item touches what, in which order. Counts of
//! vector instructions between the accesses to memory are those of the code that such kernels
//! compile to, by hand.

mod fir;
mod matrix_multiplication;
mod matrix_transpose;
mod relu;

use super::workload::{Layout, Workload};
use crate::diagnostic::{Diagnose, Diagnosis, Named};
use crate::units::Bytes;

/// A benchmark, by its name in the dissertation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Benchmark {
    /// Finite impulse response, 16 taps (Hetero-Mark).
    Fir,
    /// Product of two square matrices (AMD APP SDK).
    MatrixMultiplication,
    /// Transpose of a square matrix (AMD APP SDK).
    MatrixTranspose,
    /// Rectified linear unit (DNNMark).
    Relu,
}

impl Named for Benchmark {
    const WHAT: &'static str = "benchmark";
    const NAMED: &'static [(&'static str, Self)] = &[
        ("fir", Self::Fir),
        ("mm", Self::MatrixMultiplication),
        ("mt", Self::MatrixTranspose),
        ("relu", Self::Relu),
    ];
}

/// What one benchmark is.
struct Fact {
    /// What it does, in a few words.
    what: &'static str,
    /// What its size counts.
    size: &'static str,
    /// Sizes are multiples of it: what a work-group takes.
    multiple: u64,
    /// The size of Table 3.2's footprint.
    full: u64,
    workload: fn(Bytes, u64) -> Workload,
}

/// A size that the work-groups do not divide.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.diagnosis())]
pub struct SizeError {
    /// The benchmark.
    pub benchmark: &'static str,
    /// The size asked for.
    pub size: u64,
    /// What it has to be a multiple of.
    pub multiple: u64,
}

impl Diagnose for SizeError {
    fn diagnosis(&self) -> Diagnosis {
        let Self { benchmark, size, multiple } = self;
        let near = (size / multiple).max(1) * multiple;
        Diagnosis::of(format!("the work-groups of {benchmark} do not divide a size of {size}"))
            .remedy(format!("take a multiple of {multiple} up to 2^32, such as {near}"))
    }
}

impl Benchmark {
    fn fact(self) -> Fact {
        match self {
            Self::Fir => fir::FACT,
            Self::MatrixMultiplication => matrix_multiplication::FACT,
            Self::MatrixTranspose => matrix_transpose::FACT,
            Self::Relu => relu::FACT,
        }
    }

    /// What it does, in a few words.
    #[must_use]
    pub fn what(self) -> &'static str {
        self.fact().what
    }

    /// What its size counts.
    #[must_use]
    pub fn size(self) -> &'static str {
        self.fact().size
    }

    /// The size whose footprint Table 3.2 has.
    #[must_use]
    pub fn full_size(self) -> u64 {
        self.fact().full
    }

    /// The benchmark at a size, over pages of so many bytes.
    ///
    /// # Errors
    /// A size that the work-groups do not divide.
    pub fn workload(self, page: Bytes, size: u64) -> Result<Workload, SizeError> {
        let Fact { multiple, workload, .. } = self.fact();
        if size == 0 || !size.is_multiple_of(multiple) || size > 1 << 32 {
            return Err(SizeError { benchmark: self.name(), size, multiple });
        }
        Ok(workload(page, size))
    }
}

/// A number between -1 and 1 for each element, the same every time.
fn number(element: u64) -> f32 {
    let mixed = (element.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u32;
    (mixed as f32) / ((1 << 23) as f32) - 1.0
}

/// The bits of [`number`].
fn number_bits(element: u64) -> u32 {
    number(element).to_bits()
}
