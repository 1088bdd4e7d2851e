//! Holds the benchmarks of the dissertation's Table 3.2, and those that stress one thing.
//!
//! Each is written after its OpenCL kernel: which work-item touches which data, in which order.
//! Counts of vector instructions between the accesses to memory were taken by hand from the code
//! that such kernels compile to. MGPUSim's disassemblies give the bytes of code
//! (`benchmarks/*/*/kernels.disasm`, for an R9 Nano). It does not have Xtreme and the kernels that
//! ask one thing of memory. These are taken to have 8 bytes an instruction.

mod aes;
mod breadth_first_search;
mod convolution;
mod fir;
mod k_means;
mod matrix_multiplication;
mod matrix_transpose;
mod max_pooling;
mod micro;
mod relu;
mod rows_and_columns;
mod xtreme;

use super::workload::{KernelWorkload, Layout};
use crate::diagnostic::{Diagnose, Diagnosis, Named};
use crate::units::Bytes;

/// Names a benchmark, as the dissertation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Benchmark {
    /// Runs AES-256 (Hetero-Mark).
    Aes,
    /// Runs matrix transpose and vector multiplication (PolyBench).
    Atax,
    /// Runs breadth-first search (SHOC).
    BreadthFirstSearch,
    /// Runs the BiCGStab linear solver (PolyBench).
    Bicg,
    /// Runs a simple convolution (AMD APP SDK).
    Convolution,
    /// Runs a finite impulse response, 16 taps (Hetero-Mark).
    Fir,
    /// Runs the product of two square matrices (AMD APP SDK).
    MatrixMultiplication,
    /// Runs the transpose of a square matrix (AMD APP SDK).
    MatrixTranspose,
    /// Runs a rectified linear unit (DNNMark).
    Relu,
    /// Runs a round of k-means (Hetero-Mark).
    KMeans,
    /// Runs max-pooling (DNNMark).
    MaxPooling,
    /// Writes own slices again and again (section 4.3.3).
    Xtreme1,
    /// Shares slices within a GPU (section 4.3.3).
    Xtreme2,
    /// Shares slices between GPUs (section 4.3.3).
    Xtreme3,
    /// Follows one pointer after another.
    Chase,
    /// Copies a vector.
    Stream,
    /// A flag that is spun on.
    Message,
}

impl Named for Benchmark {
    const WHAT: &'static str = "benchmark";
    const NAMED: &'static [(&'static str, Self)] = &[
        ("aes", Self::Aes),
        ("atax", Self::Atax),
        ("bfs", Self::BreadthFirstSearch),
        ("bicg", Self::Bicg),
        ("conv", Self::Convolution),
        ("fir", Self::Fir),
        ("mm", Self::MatrixMultiplication),
        ("mt", Self::MatrixTranspose),
        ("relu", Self::Relu),
        ("k-means", Self::KMeans),
        ("max-pooling", Self::MaxPooling),
        ("xtreme1", Self::Xtreme1),
        ("xtreme2", Self::Xtreme2),
        ("xtreme3", Self::Xtreme3),
        ("chase", Self::Chase),
        ("stream", Self::Stream),
        ("message", Self::Message),
    ];
}

/// At what size a benchmark is built, and for what.
#[derive(Debug, Clone, Copy)]
struct Setting {
    /// Counts the bytes of a page.
    page: Bytes,
    size: u64,
    gpus: u32,
}

/// Describes one benchmark.
struct Fact {
    /// Describes its work, in a few words.
    what: &'static str,
    /// Says which things its size counts.
    size: &'static str,
    /// Gives the part of a work-group: sizes are multiples of it.
    multiple: u64,
    /// A size that takes seconds at most.
    small: u64,
    /// The size of Table 3.2's footprint, or what is nearest to it.
    full: u64,
    /// Gives the largest size.
    most: u64,
    workload: fn(Setting) -> KernelWorkload,
}

/// A size that the work-groups do not divide.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.diagnosis())]
pub struct SizeError {
    /// Names the benchmark.
    pub benchmark: &'static str,
    /// Gives the size asked for.
    pub size: i128,
    /// Gives the number that it has to be a multiple of.
    pub multiple: u64,
    /// The largest that is possible.
    pub most: u64,
}

impl Diagnose for SizeError {
    fn diagnosis(&self) -> Diagnosis {
        let Self { benchmark, size, multiple, most } = self;
        let near = (*size).clamp((*multiple).into(), (*most).into()) / i128::from(*multiple)
            * i128::from(*multiple);
        let problem = if *size > (*most).into() {
            format!("a size of {size} is too large for {benchmark}")
        } else if *size < 1 {
            format!("a size of {size} is too small for {benchmark}")
        } else {
            format!("a size of {size} does not divide into the work-groups of {benchmark}")
        };
        Diagnosis::of(problem)
            .remedy(format!("use a multiple of {multiple} up to {most}, such as {near}"))
    }
}

impl Benchmark {
    fn fact(self) -> Fact {
        match self {
            Self::Aes => aes::FACT,
            Self::Atax => rows_and_columns::ATAX,
            Self::BreadthFirstSearch => breadth_first_search::FACT,
            Self::Bicg => rows_and_columns::BICG,
            Self::Convolution => convolution::FACT,
            Self::Fir => fir::FACT,
            Self::MatrixMultiplication => matrix_multiplication::FACT,
            Self::MatrixTranspose => matrix_transpose::FACT,
            Self::Relu => relu::FACT,
            Self::KMeans => k_means::FACT,
            Self::MaxPooling => max_pooling::FACT,
            Self::Xtreme1 => xtreme::ONE,
            Self::Xtreme2 => xtreme::TWO,
            Self::Xtreme3 => xtreme::THREE,
            Self::Chase => micro::CHASE,
            Self::Stream => micro::STREAM,
            Self::Message => micro::MESSAGE,
        }
    }

    /// Describes its work, in a few words.
    #[must_use]
    pub fn what(self) -> &'static str {
        self.fact().what
    }

    /// Says which things its size counts.
    #[must_use]
    pub fn size(self) -> &'static str {
        self.fact().size
    }

    /// The size whose footprint Table 3.2 has.
    #[must_use]
    pub fn full_size(self) -> u64 {
        self.fact().full
    }

    /// A size that runs within seconds.
    #[must_use]
    pub fn small_size(self) -> u64 {
        self.fact().small
    }

    /// Returns the number that its size is a multiple of.
    #[must_use]
    pub fn multiple(self) -> u64 {
        self.fact().multiple
    }

    /// Checks that a size is one that the work-groups divide, and returns it.
    ///
    /// # Errors
    /// One that they do not, or that is too large.
    pub fn checked(self, size: i128) -> Result<u64, SizeError> {
        let Fact { multiple, most, .. } = self.fact();
        let fits = |size: &u64| (1..=most).contains(size) && size.is_multiple_of(multiple);
        let refused = || SizeError { benchmark: self.name(), size, multiple, most };
        u64::try_from(size).ok().filter(fits).ok_or_else(refused)
    }

    /// Makes the benchmark at a size, over pages of `page` bytes, for `gpus` GPUs.
    ///
    /// # Errors
    /// A size that the work-groups do not divide.
    pub fn workload(self, page: Bytes, size: u64, gpus: u32) -> Result<KernelWorkload, SizeError> {
        self.watched(page, size, gpus, || Ok(()))
    }

    /// The same, asking now and then whether to go on: a large graph takes seconds to make.
    ///
    /// # Errors
    /// Refuses a size that the work-groups do not divide, and passes on the error that ended it.
    pub fn watched<E: From<SizeError>>(
        self,
        page: Bytes,
        size: u64,
        gpus: u32,
        tick: impl FnMut() -> Result<(), E>,
    ) -> Result<KernelWorkload, E> {
        let setting = Setting { page, size: self.checked(size.into())?, gpus };
        match self {
            Self::BreadthFirstSearch => breadth_first_search::watched(setting, tick),
            _ => Ok((self.fact().workload)(setting)),
        }
    }
}

/// Returns a number between -1 and 1 for each element, the same every time.
fn number(element: u64) -> f32 {
    let mixed = (element.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u32;
    (mixed as f32) / ((1 << 23) as f32) - 1.0
}

/// Returns the bits of [`number`].
fn number_bits(element: u64) -> u32 {
    number(element).to_bits()
}

/// Small whole numbers of either sign: sums of few are exact in any order.
fn small(element: u64) -> f32 {
    (number(element) * 8.0).round()
}
