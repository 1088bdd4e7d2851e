//! Names what GPUs run: a benchmark, or a kernel of one's own.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use linkwright::diagnostic::Diagnosis;
use linkwright::engine::Hook;
use linkwright::memory::kernel::KernelWorkload;
use linkwright::memory::kernel::benchmarks::Benchmark;
use linkwright::memory::kernel::recorded::{Checked, LoadedWords, WrongLoad};
use linkwright::memory::{self, tables};
use linkwright::simulation::cluster::KernelSource;
use linkwright::units::Bytes;
use pyo3::prelude::*;

use crate::argument::as_extracted;
use crate::choices::Choice;
use crate::errors;
use crate::gpu_kernel::GpuKernel;
use crate::table::Table;

/// Runs on GPUs: a benchmark, or a kernel of one's own.
#[derive(Clone, serde::Serialize, serde::Deserialize)]
pub enum What {
    Benchmark { name: String, size: u64 },
    Kernel(GpuKernel),
}

/// The same as Python gives it.
#[derive(FromPyObject)]
pub enum Wanted<'py> {
    Benchmark(String),
    Kernel(PyRef<'py, GpuKernel>),
}

as_extracted!(Wanted<'py>: "a benchmark's name or a `GpuKernel`", "benchmarks";);

/// Where a kernel's loads are kept, in the thread that plays it.
pub type Kept = Rc<RefCell<Vec<LoadedWords>>>;

impl What {
    /// Takes what is wanted, of a benchmark at a size.
    ///
    /// # Errors
    /// An unknown benchmark, a size that is not possible, and one of a kernel of one's own.
    pub fn new(wanted: Wanted<'_>, size: Option<i128>) -> PyResult<Self> {
        match wanted {
            Wanted::Benchmark(name) => {
                let benchmark = Benchmark::named(&name)?;
                let size = size.unwrap_or(benchmark.small_size().into());
                let size = benchmark.checked(size).map_err(errors::range)?;
                Ok(Self::Benchmark { name, size })
            }
            Wanted::Kernel(_) if size.is_some() => {
                let refused = Diagnosis::of("a kernel of one's own has no size");
                Err(errors::range(refused.remedy("leave the size out")))
            }
            Wanted::Kernel(kernel) => Ok(Self::Kernel(kernel.clone())),
        }
    }

    /// Gives the same as a job's.
    pub fn source(&self) -> KernelSource {
        match self {
            Self::Benchmark { name, size } => {
                KernelSource::Benchmark { name: name.clone(), size: *size }
            }
            Self::Kernel(kernel) => KernelSource::Recorded(Arc::clone(kernel.core())),
        }
    }

    /// Makes the workload for `gpus` GPUs with pages of a size. The hook can end that.
    pub fn workload(
        &self,
        page: Bytes,
        gpus: u32,
        hook: Hook<'_>,
    ) -> PyResult<(KernelWorkload, Kept)> {
        Ok(match self {
            Self::Benchmark { name, size } => {
                let built = memory::build(Benchmark::named(name)?, (page, *size, gpus), hook);
                (built.map_err(errors::gpus)?, Kept::default())
            }
            Self::Kernel(kernel) => kernel.core().workload(page),
        })
    }

    /// Says which part of a run a verdict judges; None where nothing says what should be.
    pub fn checked_part(&self) -> Option<Checked> {
        match self {
            Self::Benchmark { .. } => Some(Checked::Answer),
            Self::Kernel(kernel) => kernel.core().checked(),
        }
    }

    /// Loads compared with what they must bring.
    pub fn wrong_load(&self, loads: &[LoadedWords]) -> Option<WrongLoad> {
        match self {
            Self::Benchmark { .. } => None,
            Self::Kernel(kernel) => kernel.core().check_loads(loads).err(),
        }
    }

    /// Gives its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Benchmark { name, .. } => name,
            Self::Kernel(kernel) => kernel.core().name(),
        }
    }
}

/// One row for each benchmark that GPUs can run.
///
/// Columns are name, `what` (it does), size (the thing that its size counts) and multiple (its size
/// is a multiple of this). Then come small_size (which runs within seconds) and full_size (with the
/// footprint in the dissertation's Table 3.2).
#[pyfunction]
pub fn gpu_benchmarks() -> PyResult<Table> {
    Table::new(tables::benchmarks())
}
