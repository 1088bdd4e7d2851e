//! Reads how long workloads of `[jobs]` compute on models of GPUs where somebody measured it.
//!
//! ```toml
//! [jobs.measured]
//! b200-sxm6-180gb = { resnet-50 = "12.5 ms" }    # computing of one iteration
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use super::fields::Fields;
use crate::diagnostic::{Diagnosis, InputError, instead_of};
use crate::simulation::Job;
use crate::simulation::played::MeasuredTimes;
use crate::system::gpus;
use crate::units::Picoseconds;

/// Holds the times of each workload, by its name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Measured(BTreeMap<String, Arc<MeasuredTimes>>);

impl Measured {
    /// Reads them from `[jobs]`.
    ///
    /// # Errors
    /// A model of GPU or a workload that nobody knows; no time, or one of zero.
    pub(super) fn read(jobs: &Fields<'_>) -> Result<Self, InputError> {
        let mut found: BTreeMap<String, MeasuredTimes> = BTreeMap::new();
        let table = jobs.table("measured")?;
        let workloads = &jobs.source.registries.workloads;
        for name in table.keys() {
            let model = gpus::find(name);
            let model = model.map_err(|error| table.refuse_as(name, &error, "name another"))?;
            let times = table.table(name)?;
            for workload in times.keys() {
                let known = workloads.get(workload).map_err(|_| {
                    let remedy = instead_of(workload, &workloads.names());
                    times.refuse_as(
                        workload,
                        Diagnosis::of("no workload has this name").remedy(remedy),
                        "name another",
                    )
                })?;
                let time: Picoseconds = times.or(workload, Picoseconds(0))?;
                if time.0 == 0 {
                    let remedy = "write how long an iteration computes, such as \"12.5 ms\"";
                    return Err(times.refuse(workload, "no time of computing", remedy));
                }
                let of_workload = found.entry(known.name().to_owned()).or_default();
                of_workload.insert(model.name.clone(), time);
            }
        }
        Ok(Self(found.into_iter().map(|(name, times)| (name, Arc::new(times))).collect()))
    }

    /// Tells whether nobody measured anything.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Lets jobs of `[jobs]` compute as was measured. A time of computing that a job has itself stands before it.
    pub(super) fn apply(&self, jobs: &mut [Job]) {
        for job in jobs.iter_mut().filter(|job| job.compute_per_iteration.is_none()) {
            job.measured = self.0.get(&job.workload).cloned();
        }
    }
}
