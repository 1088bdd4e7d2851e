//! A `[[job]]` that runs a published workload, as a job of `[jobs]` that is played: its program follows from the GPUs that
//! it gets.
//!
//! ```toml
//! [[job]]
//! workload = "vgg-16"
//! ranks = 4
//! iterations = 100
//! host_copies = true      # images come from the host in every iteration
//! gpu_speed = "own"       # or "reference", the V100 that the workloads are timed on
//! precision = "bf16"      # the numbers that a net multiplies, at the peak of the unit that does so
//! bucket = "25 MB"        # gradients are reduced in such parts while the rest is computed
//! ```

use std::sync::Arc;

use super::demand;
use super::fields::Fields;
use super::iteration;
use super::settings::{SettingGroup, grouped};
use super::source::Place;
use crate::diagnostic::InputError;
use crate::program::Program;
use crate::simulation::played::{GpuSpeed, IterationSettings};
use crate::system::System;
use crate::training::{Workload, workload_of};

/// Runs a workload on a given number of GPUs.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadSource {
    pub(super) workload: Workload,
    /// Counts the GPUs of the job.
    pub(super) ranks: u32,
    settings: IterationSettings,
    /// Says where errors of it on the GPUs point.
    place: Place,
}

impl WorkloadSource {
    /// The job in a table that may have `workload`; None where it has not.
    pub(super) fn read(fields: &Fields<'_>) -> Result<Option<Self>, InputError> {
        let workloads = &fields.source.registries.workloads;
        let Some(workload) = fields.named("workload", |name| workload_of(workloads, name))? else {
            let mut keys = grouped("job", SettingGroup::Iterations);
            return match keys.find(|key| fields.has(key)) {
                None => Ok(None),
                Some(key) => {
                    let problem = format!("`{key}` of a job that runs no workload");
                    let remedy = "remove it, or write `workload`; `train` has `parameters`";
                    Err(fields.refuse(key, &problem, remedy))
                }
            };
        };
        let others =
            ["program", "goal", "trace", "main_loop", "gpu", "train", "model", "parameters"];
        if let Some(other) = others.iter().find(|other| fields.has(other)) {
            let problem = format!("`{other}` beside a workload");
            let remedy = format!("remove `{other}` or `workload`");
            return Err(fields.refuse(other, &problem, remedy));
        }
        let Some(ranks) = demand::ranks(fields)? else {
            let remedy = "write on how many GPUs it runs, such as `ranks = 8`";
            return Err(fields.refuse("workload", "a workload without `ranks`", remedy));
        };
        let settings = iteration::settings(fields, "job")?;
        Ok(Some(Self { workload, ranks, settings, place: fields.place("workload") }))
    }

    /// How its iterations are made.
    pub(super) const fn settings(&self) -> IterationSettings {
        self.settings
    }

    /// Tells whether the numbers that it multiplies say how fast GPUs compute.
    pub(super) fn has_numbers(&self) -> bool {
        self.settings.gpu_speed == GpuSpeed::Own && self.workload.is_training()
    }

    /// Builds the program on the GPUs of its ranks.
    pub(super) fn program(
        &self,
        scenario: &str,
        (system, gpus): (&System, &[u32]),
    ) -> Result<Arc<Program>, InputError> {
        let gpus: Vec<usize> = gpus.iter().map(|gpu| *gpu as usize).collect();
        self.settings.program(system, &self.workload, &gpus).map_err(|error| {
            self.place.refuse_as(scenario, &error, &self.workload.name, "name other GPUs")
        })
    }
}
