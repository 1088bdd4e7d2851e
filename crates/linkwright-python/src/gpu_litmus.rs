//! Gives Python `linkwright.gpu_litmus`: small programs that tell a coherent memory from another.

use linkwright::diagnostic::{Diagnosis, Named as _};
use linkwright::engine::Progress;
use linkwright::memory::litmus::{Litmus, Played};
use linkwright::memory::tables;
use pyo3::prelude::*;

use crate::argument::{callback, given};
use crate::errors;
use crate::gpu_run::GpuSystem;
use crate::table::Table;
use crate::worker;

/// Limits the seeds of a call.
const MOST_SEEDS: u64 = 1 << 32;

/// Returns one row for each litmus test.
///
/// Columns are name, program (of each wavefront, with `‖` between them), wavefronts and addresses.
#[pyfunction]
pub fn gpu_litmus_tests() -> PyResult<Table> {
    Table::new(tables::litmus_tests())
}

/// Plays a litmus test on GPUs, from many starts, and counts what its wavefronts read.
///
/// A seed draws the compute unit of each wavefront: the unit of the one before, one of its GPU, or
/// any. It draws when the wavefront starts, 0 to 500 cycles after the first could. It draws where x
/// and y lie: in one line, in one bank, or in two. The draws are the same under every memory
/// system. Where the memory system is not sequentially consistent there is a fence between any two
/// accesses.
///
/// Args:
///     system: The GPUs, and how they share memory.
///     test: A name of `gpu_litmus_tests`.
///     seeds: How many starts.
///     first_seed: The first seed; with `seeds=1`, one start is repeated.
///     warm: Whether every wavefront has read all addresses before, so that caches hold them.
///     limit: Simulated seconds after which a wavefront that spins is given up.
///     progress: Called every 100 ms with seeds done and how many there are.
///
/// Returns:
///     One row for each outcome, those that are wrong first. Columns: outcome (what each wavefront
///     has read, in order), verdict (`allowed`; `forbidden`, where no order of all accesses gives
///     it; `never ends`), count (from how many seeds), seed (the first of these).
///
/// Raises:
///     SimulationError: If there is no such test, or a number is out of range.
///     KeyboardInterrupt: Within a second of Ctrl-C.
#[pyfunction]
#[pyo3(signature = (
    system: "GpuSystem", test: "LitmusTestName", *, seeds: "int" = 1000, first_seed: "int" = 0, warm: "bool" = false,
    limit: "float" = 1e-3, progress: "Callable[[int, int], object] | None" = None
))]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub fn gpu_litmus(
    py: Python<'_>,
    #[pyo3(from_py_with = given)] system: &GpuSystem,
    #[pyo3(from_py_with = given)] test: &str,
    #[pyo3(from_py_with = given)] seeds: i128,
    #[pyo3(from_py_with = given)] first_seed: i128,
    #[pyo3(from_py_with = given)] warm: bool,
    #[pyo3(from_py_with = given)] limit: f64,
    #[pyo3(from_py_with = callback)] progress: Option<Py<PyAny>>,
) -> PyResult<Table> {
    let litmus = Litmus::from_name(test).map_err(errors::range)?;
    let within = |what: &str, value: i128, least: u64, most: u64| {
        let fits = u64::try_from(value).ok().filter(|value| (least..=most).contains(value));
        fits.ok_or_else(|| {
            let refused = Diagnosis::of(format!("{what} is {value}"));
            errors::range(refused.remedy(format!("give {least} to {most}")))
        })
    };
    let count = within("seeds", seeds, 1, MOST_SEEDS)?;
    let first = within("first_seed", first_seed, 0, u64::MAX - count)?;
    let wires = system.wires()?;
    let options = system.options(true, limit, wires.as_ref())?;
    let hierarchy = system.hierarchy()?;
    let report = |py: Python<'_>, at: Progress| match &progress {
        Some(call) => call.call1(py, (at.done, at.total)).map(|_| ()),
        None => Ok(()),
    };
    let found = worker::watched(py, report, |hook| {
        let played = Played::new(hierarchy, &litmus, warm, &options)?;
        played.outcomes(first..first + count, hook)
    })?;
    Table::new(tables::litmus(&litmus, &found.map_err(errors::gpus)?))
}
