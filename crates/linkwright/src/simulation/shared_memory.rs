//! Says how GPUs share memory where training communicates by `tsm`.
//!
//! A GPU's link to that memory is its own, so that jobs on other GPUs do not slow what it reads and writes. It leaves
//! out waits at a controller that several GPUs want at once, of one job or of several.

use crate::diagnostic::{Chosen, Diagnosis};
use crate::memory::{
    GpuOptions, MemorySystem, Pages, SharedBytes, memory_system, memory_systems, shared_bytes,
};
use crate::system::System;
use crate::system::gpus::{GpuError, GpuModel, Hierarchy, find};
use crate::training::{SharedMemories, SharedMemory};
use crate::units::{Bandwidth, Picoseconds};

/// Shares memory where nobody says how.
const USUAL: &str = "tsm-wt-c-rc";
/// Limits the bandwidth of a GPU to the memory.
const MOST_BANDWIDTH: Bandwidth = Bandwidth(1_000_000_000_000_000);
/// The model whose file has the messages of shared memory, where a GPU's own has no `[hierarchy]`.
const DESCRIBED: &str = "r9-nano";

/// Says how GPUs share memory, and how fast each reaches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedMemoryChoice {
    memory: Chosen<dyn MemorySystem>,
    bandwidth: Bandwidth,
}

impl SharedMemoryChoice {
    /// Gives the names of the memory systems that training takes: those of shared memory under relaxed consistency.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        memory_systems().iter().filter(|it| is_taken(*it)).map(|it| it.name()).collect()
    }

    /// Chooses a memory system by its name, and the bandwidth of each GPU to it, each way; that of runs of kernels
    /// where absent.
    ///
    /// # Errors
    /// A memory system that is none, or not of shared memory under relaxed consistency; a bandwidth that is not
    /// possible.
    pub fn new(name: &str, bandwidth: Option<Bandwidth>) -> Result<Self, Diagnosis> {
        let memory = memory_system(name)?;
        if !is_taken(memory) {
            let why = if memory.is_sequential() {
                "is sequentially consistent, and its kernels wait for each access; `linkwright gpu run` times them"
            } else {
                "is no memory that all GPUs share"
            };
            let refused = Diagnosis::of(format!("`{name}` {why}"));
            return Err(refused.remedy(format!("use {}", Self::names().join(", "))));
        }
        let bandwidth = bandwidth.unwrap_or_else(|| GpuOptions::default().shared_bandwidth);
        if bandwidth.0 == 0 || bandwidth > MOST_BANDWIDTH {
            let refused = Diagnosis::of("this bandwidth to shared memory is not possible");
            return Err(refused.remedy("write more than 0 and up to \"1000000 GB/s\""));
        }
        Ok(Self { memory: Chosen(memory), bandwidth })
    }

    /// Gives the name of the memory system.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.memory.0.name()
    }

    /// Gives what bytes of shared memory take of the links of a GPU.
    ///
    /// A model without a `[hierarchy]` has the messages of the one that is described, and links that are not bound to
    /// whole cycles.
    ///
    /// # Errors
    /// A file of the described GPU that lacks its hierarchy.
    pub fn links(&self, model: &GpuModel) -> Result<SharedMemory, GpuError> {
        let of = |hierarchy: &Hierarchy| shared_bytes(hierarchy, self.memory.0, self.bandwidth);
        let SharedBytes { read, written } = match model.hierarchy() {
            Ok(hierarchy) => of(hierarchy),
            Err(_) => {
                let cycle = Picoseconds(1);
                of(&Hierarchy { cycle, ..find(DESCRIBED)?.hierarchy()?.clone() })
            }
        };
        Ok(SharedMemory { read, written })
    }

    /// Gives the links of every model of GPU that a system has.
    ///
    /// # Errors
    /// Fails as [`Self::links`] does.
    pub fn links_of(&self, system: &System) -> Result<SharedMemories, GpuError> {
        let mut all = SharedMemories::new();
        for server in system.kinds().iter().map(|kind| kind.server()) {
            for model in server.gpus().iter().filter_map(|it| server.devices()[*it].gpu_model()) {
                if !all.contains_key(&model.name) {
                    all.insert(model.name.clone(), self.links(model)?);
                }
            }
        }
        Ok(all)
    }
}

impl Default for SharedMemoryChoice {
    fn default() -> Self {
        Self::new(USUAL, None).expect("training takes it")
    }
}

fn is_taken(memory: &dyn MemorySystem) -> bool {
    memory.pages() == Pages::Shared && !memory.is_sequential()
}
