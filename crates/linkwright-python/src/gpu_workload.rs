//! Names what GPUs run: a benchmark, or a kernel of one's own.

use std::cell::RefCell;
use std::rc::Rc;

use linkwright::engine::Hook;
use linkwright::memory::kernel::KernelWorkload;
use linkwright::memory::kernel::benchmarks::Benchmark;
use linkwright::memory::kernel::recorded::{Checked, LoadedWords, WrongLoad};
use linkwright::memory::{self, tables};
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
/// Columns: name, what (it does), size (what its size counts), multiple (what the size is a
/// multiple of), small_size (which runs within seconds), full_size (that of the footprint in the dissertation's Table 3.2).
#[pyfunction]
pub fn gpu_benchmarks() -> PyResult<Table> {
    Table::new(tables::benchmarks())
}
