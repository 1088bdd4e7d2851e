//! Truly shared memory for steps of training, as `linkwright.GpuSystem` has it for kernels.

use linkwright::diagnostic::Diagnosis;
use linkwright::memory::{self, MemorySystem};
use linkwright::simulation::SharedMemoryChoice;
use linkwright::units::Bandwidth;
use pyo3::prelude::*;

use crate::errors;

/// Limits the bandwidth of a switch of shared memory, in GB/s for each GPU.
const MOST_BANDWIDTH: f64 = 1e6;

/// Chooses how GPUs share memory in training.
///
/// # Errors
/// A memory system that is none, or not of shared memory under relaxed consistency; a bandwidth that is not possible.
pub fn shared_memory(name: &str, gigabytes: Option<f64>) -> PyResult<SharedMemoryChoice> {
    let bandwidth = gigabytes.map(checked_bandwidth).transpose()?;
    SharedMemoryChoice::new(name, bandwidth).map_err(errors::range)
}

/// Gives a bandwidth of a GPU to shared memory, given in GB/s.
///
/// # Errors
/// One that is not possible.
pub fn checked_bandwidth(gigabytes: f64) -> PyResult<Bandwidth> {
    if !(gigabytes > 0.0 && gigabytes <= MOST_BANDWIDTH) {
        let refused = format!("a bandwidth of {gigabytes} GB/s is not possible");
        let remedy = format!("more than 0 and up to {MOST_BANDWIDTH} GB/s are");
        return Err(errors::range(Diagnosis::of(refused).remedy(remedy)));
    }
    Ok(Bandwidth((gigabytes * 1e9).round() as u64))
}

/// Finds a memory system by its name.
pub fn memory_system(name: &str) -> PyResult<&'static dyn MemorySystem> {
    memory::memory_system(name).map_err(errors::range)
}
