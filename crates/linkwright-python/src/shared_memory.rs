//! Truly shared memory for steps of training, as `linkwright.GpuSystem` has it for kernels.

use linkwright::diagnostic::Diagnosis;
use linkwright::memory::{
    self, GpuOptions, MemorySystem, Pages, SharedBytes, memory_systems, shared_bytes,
};
use linkwright::system::gpus::{GpuModel, Hierarchy, find};
use linkwright::training::SharedMemory;
use linkwright::units::{Bandwidth, Picoseconds};
use pyo3::prelude::*;

use crate::errors;

/// Limits the bandwidth of a switch of shared memory, in GB/s for each GPU.
const MOST_BANDWIDTH: f64 = 1e6;

/// The model whose file has the messages of shared memory, where a GPU's own has no `[hierarchy]`.
const DESCRIBED: &str = "r9-nano";

/// Gives what bytes of shared memory take of the links of a GPU.
///
/// A model without a `[hierarchy]` has the messages of the one that is described, and links that are not bound to
/// whole cycles.
///
/// # Errors
/// A memory system that is none, or not of shared memory under relaxed consistency; a bandwidth that is not possible.
pub fn shared_memory(
    model: &GpuModel,
    name: &str,
    gigabytes: Option<f64>,
) -> PyResult<SharedMemory> {
    let system = memory_system(name)?;
    if system.pages() != Pages::Shared || system.is_sequential() {
        let why = if system.is_sequential() {
            "is sequentially consistent, and its kernels wait for each access; `linkwright gpu run` times them"
        } else {
            "is no memory that all GPUs share"
        };
        let takes =
            |it: &&'static dyn MemorySystem| it.pages() == Pages::Shared && !it.is_sequential();
        let all = memory_systems();
        let instead: Vec<&str> = all.iter().filter(takes).map(|it| it.name()).collect();
        let refused = Diagnosis::of(format!("`{name}` {why}"));
        return Err(errors::range(refused.remedy(format!("take {}", instead.join(", ")))));
    }
    let bandwidth = match gigabytes {
        Some(gigabytes) => checked_bandwidth(gigabytes)?,
        None => GpuOptions::default().shared_bandwidth,
    };
    of_links(model, system, bandwidth)
}

fn of_links(
    model: &GpuModel,
    system: &dyn MemorySystem,
    bandwidth: Bandwidth,
) -> PyResult<SharedMemory> {
    let SharedBytes { read, written } = match model.hierarchy() {
        Ok(hierarchy) => shared_bytes(hierarchy, system, bandwidth),
        Err(_) => {
            let described = find(DESCRIBED).map_err(errors::machine)?;
            let described = described.hierarchy().map_err(errors::machine)?;
            let unbound = Hierarchy { cycle: Picoseconds(1), ..described.clone() };
            shared_bytes(&unbound, system, bandwidth)
        }
    };
    Ok(SharedMemory { read, written })
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
