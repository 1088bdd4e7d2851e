//! Tells the energy that jobs take of GPUs, and the heat of the package that a scenario observes.

use std::collections::BTreeMap;

use linkwright::simulation::power::{self, Held};
use linkwright::units::Picoseconds;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::argument::given;
use crate::errors;
use crate::number;
use crate::scenario::Scenario;
use crate::system::System;
use crate::table::Table;
use crate::thermal::ThermalMap;
use crate::watts::{Watts, of_models};
use crate::worker;

/// Lists the GPUs of a job, with the seconds when it got them and gave them back.
type JobSpan = (Vec<i128>, f64, f64);

/// Reads what jobs held of a system.
fn held(system: &System, jobs: Vec<JobSpan>) -> PyResult<Vec<Held>> {
    let count = system.core().gpus() as usize;
    let of_job = |(gpus, start, end): JobSpan| {
        let ids = gpus.into_iter().map(|gpu| number::gpu_of(count, gpu).map(|id| id as u32));
        let (start, end) = (Picoseconds::from_seconds(start), Picoseconds::from_seconds(end));
        Ok(Held { gpus: ids.collect::<PyResult<_>>()?, start, end: end.max(start) })
    };
    jobs.into_iter().map(of_job).collect()
}

/// Gives the energy that jobs take of GPUs, in kWh: busy power while a job holds a GPU, and power at rest else.
///
/// `whole` is that of all GPUs from time zero until the last job's end, `jobs` has that of each job's GPUs while it
/// holds them. They are None where the busy power of a GPU that was held is unknown. `has_rest` tells whether all that
/// GPUs draw at rest is in the whole. An unknown power counts as nothing. Hosts, switches and cooling are not in it.
///
/// Args:
///     system: Ran the jobs.
///     jobs: Are the GPUs of each job. Beside them stand the seconds when it got them and gave them back.
///     watts: Stand in place of data sheets. They are of each model of GPU, by its name in small letters, busy and at
///         rest. The empty name is of all others.
///     scenario: Goes before all else. Its `[thermal]` tells of single GPUs.
///     files: Are those of the scenario.
///
/// Raises:
///     AllocationError: If a GPU is unknown.
///     InputError: If the scenario's package is not as it should be.
#[pyfunction]
#[pyo3(signature = (
    system: "System", jobs: "Sequence[tuple[Sequence[int], float, float]]",
    watts: "dict[str, tuple[float | None, float | None]]" = Watts::new(),
    scenario: "Scenario | None" = None, files: "dict[str, bytes]" = BTreeMap::new()
) -> "dict[str, Any]", text_signature = "(system, jobs, watts={}, scenario=None, files={})")]
pub fn gpu_energy<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = given)] system: &System,
    #[pyo3(from_py_with = given)] jobs: Vec<JobSpan>,
    #[pyo3(from_py_with = given)] watts: Watts,
    #[pyo3(from_py_with = given)] scenario: Option<PyRef<'py, Scenario>>,
    #[pyo3(from_py_with = given)] files: BTreeMap<String, Vec<u8>>,
) -> PyResult<Bound<'py, PyDict>> {
    let held = held(system, jobs)?;
    let package = scenario.map(|it| it.package(system, &files)).transpose()?.flatten();
    let of_gpus = package.map(|package| package.powers).unwrap_or_default();
    let powers = power::powers(system.core(), &of_models(watts), &of_gpus);
    let found = py.detach(|| power::gpu_energy(&powers, &held));
    let made = PyDict::new(py);
    made.set_item("whole", found.whole)?;
    made.set_item("jobs", found.jobs)?;
    made.set_item("has_rest", found.has_rest)?;
    Ok(made)
}

/// Gives the heat of the package that a scenario observes; None where it has no `[thermal]`.
///
/// `gpus` has a row for each GPU. Its columns are gpu, name, block, busy_share, busy_power, rest_power and mean_power.
/// Then come gpu_energy (kWh), maximum and mean (degrees Celsius). Powers are in W. `map` is a `ThermalMap` of the whole package under the mean powers.
/// All its blocks took `energy` until the last job's end, and `heat` left it, in kWh.
///
/// Args:
///     scenario: Observes the package.
///     system: Ran the jobs.
///     jobs: Are as for `gpu_energy`.
///     files: Are those of the scenario.
///     watts: Are as for `gpu_energy`.
///
/// Raises:
///     AllocationError: If a GPU is unknown.
///     InputError: If the package is not as it should be.
///     SimulationError: If its temperatures cannot be told.
///     KeyboardInterrupt: Within a second of Ctrl-C.
#[pyfunction]
#[pyo3(signature = (
    scenario: "Scenario", system: "System", jobs: "Sequence[tuple[Sequence[int], float, float]]",
    files: "dict[str, bytes]" = BTreeMap::new(),
    watts: "dict[str, tuple[float | None, float | None]]" = Watts::new()
) -> "dict[str, Any] | None", text_signature = "(scenario, system, jobs, files={}, watts={})")]
pub fn observed_heat<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = given)] scenario: PyRef<'py, Scenario>,
    #[pyo3(from_py_with = given)] system: &System,
    #[pyo3(from_py_with = given)] jobs: Vec<JobSpan>,
    #[pyo3(from_py_with = given)] files: BTreeMap<String, Vec<u8>>,
    #[pyo3(from_py_with = given)] watts: Watts,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let held = held(system, jobs)?;
    let Some(package) = scenario.package(system, &files)? else { return Ok(None) };
    let powers = power::powers(system.core(), &of_models(watts), &package.powers);
    let cells = package.cells;
    let found = worker::interruptible(py, move || package.observe(&powers, &held))?;
    let found = found.map_err(errors::range)?;
    let made = PyDict::new(py);
    made.set_item("gpus", Table::new(found.table(system.core()))?)?;
    made.set_item("energy", found.energy())?;
    made.set_item("heat", found.heat())?;
    made.set_item("map", ThermalMap::found(cells, found.map))?;
    Ok(Some(made))
}
