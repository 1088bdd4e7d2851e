//! Makes programs of ranks that stand in the network of a system.

use std::sync::Arc;

use linkwright::program::skeletons;
use linkwright::simulation::cluster::{place, placed_program};
use linkwright::system;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::cluster_job::MappingArgument;
use crate::errors;
use crate::number;
use crate::program::Program;
use crate::values;
use crate::worker;

/// Makes the program of `System.skeleton`.
///
/// # Errors
/// An unknown application or parameter, and a number of ranks on which it cannot run. Where messages
/// go by places, also ranks that do not fit and a system without a network.
pub fn placed_skeleton(
    py: Python<'_>,
    (application, ranks): (&str, i128),
    system: &Arc<system::System>,
    (mapping, seed): (Option<MappingArgument>, i128),
    parameters: Option<&Bound<'_, PyDict>>,
) -> PyResult<Program> {
    let ranks = number::whole("ranks", ranks, u32::MAX)?;
    let seed = number::whole("the seed", seed, u64::MAX)?;
    let mapping = mapping.map(MappingArgument::mapping).transpose()?.unwrap_or_default();
    let options = values::table(parameters)?;
    let application =
        skeletons::application(application, &skeletons::applications()).map_err(errors::program)?;
    if !application.knows_places(&options) {
        let made = worker::interruptible(py, move || application.program(ranks, &options))?;
        return Ok(Program(Arc::new(made.map_err(errors::program)?)));
    }
    let wanted = [(application.name(), ranks, &mapping)];
    let placed = place(&wanted, system, seed).map_err(errors::placement)?;
    let gpus = placed.into_iter().flatten().collect::<Vec<_>>();
    let system = Arc::clone(system);
    let made =
        worker::interruptible(py, move || placed_program(application, &options, (&system, &gpus)))?;
    Ok(Program(Arc::new(made.map_err(errors::program)?)))
}
