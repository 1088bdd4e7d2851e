//! Truly shared memory for steps of training, as `linkwright.GpuSystem` has it for kernels.

use linkwright::diagnostic::Diagnosis;
use linkwright::memory::{
    GpuOptions, MemorySystem, Pages, SharedBytes, memory_systems, shared_bytes,
};
use linkwright::system::gpus::{GpuModel, Hierarchy, find};
use linkwright::training::SharedMemory;
use linkwright::units::{Bandwidth, Picoseconds};
use pyo3::prelude::*;

use crate::errors;
use crate::gpu_run::{checked_bandwidth, memory_system};

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
