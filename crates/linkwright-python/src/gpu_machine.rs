//! Joins the GPUs of a [`GpuSystem`](crate::gpu_run::GpuSystem) by a machine's links.

use std::collections::BTreeSet;

use linkwright::diagnostic::Diagnosis;
use linkwright::memory::{self, MemorySystem, Pages};
use linkwright::network::wires::{self, Wires};
use linkwright::simulation::cluster::inside_of;
use linkwright::system::gpus::Hierarchy;
use linkwright::system::{self, SystemPart};
use pyo3::prelude::*;

use crate::errors;
use crate::gpu_model::GpuModel;
use crate::number;
use crate::system::System;

/// Holds GPUs of a machine, and the parts that it lacks.
#[derive(Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct GpuMachine {
    system: System,
    gpus: Vec<u32>,
    without: Vec<String>,
}

impl GpuMachine {
    /// Takes GPUs by their ids, or the first ones of those that are not absent; all of them where
    /// nobody says how many.
    ///
    /// # Errors
    /// Parts and GPUs that are not there, a GPU twice, and links that do not join them.
    pub fn new(
        system: &System,
        count: Option<i128>,
        on: Option<Vec<i128>>,
        without: Vec<String>,
    ) -> PyResult<Self> {
        let core = system.core();
        let absent = absent_gpus(core, &without)?;
        let name = |gpu: u32| core.device_name(core.gpu_device(gpu));
        let gpus: Vec<u32> = match (on, count) {
            (Some(_), Some(_)) => {
                let refused = Diagnosis::of("`on` names the GPUs, and `gpus` counts them");
                return Err(errors::range(refused.remedy("give one")));
            }
            (Some(on), None) => {
                let known = on.iter().map(|gpu| number::gpu_of(core.gpus() as usize, *gpu));
                known.map(|gpu| gpu.map(|gpu| gpu as u32)).collect::<PyResult<_>>()?
            }
            (None, count) => {
                let mut there = (0..core.gpus()).filter(|gpu| !absent.contains(gpu));
                let all = core.gpus() as usize - absent.len();
                let wanted = count.map_or(Some(all), |count| usize::try_from(count).ok());
                match wanted.filter(|wanted| (1..=all).contains(wanted)) {
                    Some(wanted) => there.by_ref().take(wanted).collect(),
                    None => {
                        let count = count.unwrap_or(0);
                        let refused = Diagnosis::of(format!(
                            "`{}` has {all} GPUs, and {count} are asked for",
                            core.name()
                        ));
                        return Err(errors::range(refused.remedy(format!("take 1 to {all}"))));
                    }
                }
            }
        };
        let mut seen = BTreeSet::new();
        let refused = match gpus.iter().find(|gpu| absent.contains(*gpu)) {
            Some(gone) => Some(
                Diagnosis::of(format!("`{}` is absent", name(*gone)))
                    .remedy("leave it out of `on`"),
            ),
            None if gpus.is_empty() => {
                Some(Diagnosis::of("`on` names no GPU").remedy("name one, or leave it out"))
            }
            None => gpus.iter().find(|gpu| !seen.insert(**gpu)).map(|twice| {
                Diagnosis::of(format!("`{}` is named twice", name(*twice))).remedy("name it once")
            }),
        };
        match refused {
            Some(refused) => Err(errors::range(refused)),
            None => Ok(Self { system: system.clone(), gpus, without }),
        }
    }

    /// Whether it has what a memory system needs.
    ///
    /// # Errors
    /// A memory that all GPUs share, where it has none, and GPUs that links do not join.
    pub fn joins(&self, memory: &dyn MemorySystem, inside: &Hierarchy) -> PyResult<()> {
        self.wires(memory, inside).map(|_| ())
    }

    /// How many GPUs it has.
    pub fn count(&self) -> i128 {
        self.gpus.len() as i128
    }

    /// Gives the ids of its GPUs.
    pub fn gpus(&self) -> &[u32] {
        &self.gpus
    }

    /// Gives the parts that are absent.
    pub fn without(&self) -> &[String] {
        &self.without
    }

    /// Gives the whole machine.
    pub fn system(&self) -> System {
        self.system.clone()
    }

    /// Gives the name of the machine.
    pub fn name(&self) -> &str {
        self.system.core().name()
    }

    /// Builds the links between its GPUs, and to the host, or to the memory that all GPUs share.
    ///
    /// # Errors
    /// GPUs that links do not join, and no memory that they share.
    pub fn wires(&self, memory: &dyn MemorySystem, inside: &Hierarchy) -> PyResult<Wires> {
        let core = self.system.core();
        let there = core.without(&self.without).map_err(errors::machine)?;
        if memory.pages() == Pages::Shared {
            let ways = wires::shared_ways(&there, &self.gpus).map_err(errors::machine)?;
            let refused = || memory::GpuRunError::NoSharedMemory { memory: memory.name() };
            let ways = ways.ok_or_else(|| errors::gpus(refused()))?;
            return Ok(memory::wiring::shared_of(inside, &ways));
        }
        let ends = wires::between(&there, &self.gpus).map_err(errors::machine)?;
        Ok(ends.wires)
    }

    /// Gives the model of its GPUs, where that says what lies inside.
    ///
    /// # Errors
    /// A model that is not known, or has no `[hierarchy]`, and GPUs of several models.
    pub fn inside(&self) -> PyResult<GpuModel> {
        let found = inside_of(self.system.core(), &self.gpus);
        found.map(Into::into).map_err(errors::machine)
    }
}

/// Finds the GPUs among the parts that are absent.
fn absent_gpus(core: &system::System, without: &[String]) -> PyResult<BTreeSet<u32>> {
    let mut absent = BTreeSet::new();
    for name in without {
        for part in core.parts_named(name).map_err(errors::machine)? {
            if let SystemPart::Device { server, device } = part {
                let gpus = core.kind_of(server).server().gpus();
                let index = gpus.iter().position(|gpu| *gpu == device);
                absent.extend(index.map(|index| core.gpu_at(server, index as u32)));
            }
        }
    }
    Ok(absent)
}
