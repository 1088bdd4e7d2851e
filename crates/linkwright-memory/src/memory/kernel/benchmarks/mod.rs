//! The benchmarks of the dissertation's Table 3.2, and those that stress one thing.
//!
//! Each is written after its OpenCL kernel: which work-item touches what, in which order. Counts of
//! vector instructions between the accesses to memory are those of the code that such kernels
//! compile to, by hand. How many bytes of code they have is what MGPUSim's disassemblies of them say
//! (`benchmarks/*/*/kernels.disasm`, for an R9 Nano); kernels that it does not have, Xtreme and those
//! that ask one thing of memory, are taken to have 8 bytes an instruction.

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

/// A benchmark, by its name in the dissertation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Benchmark {
    /// AES-256 (Hetero-Mark).
    Aes,
    /// Matrix transpose and vector multiplication (PolyBench).
    Atax,
    /// Breadth-first search (SHOC).
    BreadthFirstSearch,
    /// BiCGStab linear solver (PolyBench).
    Bicg,
    /// Simple convolution (AMD APP SDK).
    Convolution,
    /// Finite impulse response, 16 taps (Hetero-Mark).
    Fir,
    /// Product of two square matrices (AMD APP SDK).
    MatrixMultiplication,
    /// Transpose of a square matrix (AMD APP SDK).
    MatrixTranspose,
    /// Rectified linear unit (DNNMark).
    Relu,
    /// A round of k-means (Hetero-Mark).
    KMeans,
    /// Max-pooling (DNNMark).
    MaxPooling,
    /// Own slices written again and again (section 4.3.3).
    Xtreme1,
    /// Slices shared within a GPU (section 4.3.3).
    Xtreme2,
    /// Slices shared between GPUs (section 4.3.3).
    Xtreme3,
    /// One pointer after another.
    Chase,
    /// Copy of a vector.
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
    /// Bytes of a page.
    page: Bytes,
    size: u64,
    gpus: u32,
}

/// What one benchmark is.
struct Fact {
    /// What it does, in a few words.
    what: &'static str,
    /// What its size counts.
    size: &'static str,
    /// Sizes are multiples of it: what a work-group takes.
    multiple: u64,
    /// A size that takes seconds at most.
    small: u64,
    /// The size of Table 3.2's footprint, or what is nearest to it.
    full: u64,
    /// The largest size.
    most: u64,
    workload: fn(Setting) -> KernelWorkload,
}

/// A size that the work-groups do not divide.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.diagnosis())]
pub struct SizeError {
    /// The benchmark.
    pub benchmark: &'static str,
    /// The size asked for.
    pub size: i128,
    /// What it has to be a multiple of.
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

    /// A size that runs within seconds.
    #[must_use]
    pub fn small_size(self) -> u64 {
        self.fact().small
    }

    /// What its size is a multiple of.
    #[must_use]
    pub fn multiple(self) -> u64 {
        self.fact().multiple
    }

    /// A size that the work-groups divide.
    ///
    /// # Errors
    /// One that they do not, or that is too large.
    pub fn checked(self, size: i128) -> Result<u64, SizeError> {
        let Fact { multiple, most, .. } = self.fact();
        let fits = |size: &u64| (1..=most).contains(size) && size.is_multiple_of(multiple);
        let refused = || SizeError { benchmark: self.name(), size, multiple, most };
        u64::try_from(size).ok().filter(fits).ok_or_else(refused)
    }

    /// The benchmark at a size, over pages of so many bytes, for so many GPUs.
    ///
    /// # Errors
    /// A size that the work-groups do not divide.
    pub fn workload(self, page: Bytes, size: u64, gpus: u32) -> Result<KernelWorkload, SizeError> {
        self.watched(page, size, gpus, || Ok(()))
    }

    /// The same, asking now and then whether to go on: a large graph takes seconds to make.
    ///
    /// # Errors
    /// A size that the work-groups do not divide, and what ended it.
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

/// A number between -1 and 1 for each element, the same every time.
fn number(element: u64) -> f32 {
    let mixed = (element.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u32;
    (mixed as f32) / ((1 << 23) as f32) - 1.0
}

/// The bits of [`number`].
fn number_bits(element: u64) -> u32 {
    number(element).to_bits()
}

/// Small whole numbers of either sign: sums of few are exact in any order.
fn small(element: u64) -> f32 {
    (number(element) * 8.0).round()
}
