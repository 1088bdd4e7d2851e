//! Builds a system and jobs from a scenario.

use std::collections::BTreeMap;

use super::facts::Facts;
use super::files::Files;
use super::read::{Asked, Scenario};
use super::unheeded::unheeded;
use crate::diagnostic::InputError;
use crate::program::trace::TraceNote;
use crate::simulation::cluster::{Cluster, ClusterJob, Mapping};
use crate::simulation::heat::Package;
use crate::simulation::power::GpuPower;
use crate::simulation::{Job, RunTime};
use crate::system::System;

/// Holds the system and jobs of a scenario, ready to be played.
#[derive(Debug, Clone)]
pub struct Built {
    /// The system, and how it is simulated.
    pub cluster: Cluster,
    /// Holds the jobs.
    pub work: ReadyJobs,
    /// It has the package whose heat is observed.
    pub package: Option<Package>,
    /// Lists notes on programs from traces and on recorded jobs: the parts left out, the
    /// assumptions, and the facts that could not be told. They also say which choices of the
    /// scenario count for nothing.
    pub notes: Vec<String>,
}

/// Jobs that are ready to be played.
#[derive(Debug, Clone)]
pub enum ReadyJobs {
    /// Holds jobs of GPUs, which a policy places.
    Mix(Vec<Job>),
    /// Holds jobs of ranks, each with its GPUs.
    Programs(Vec<ClusterJob>),
}

impl Built {
    /// Gives the powers that the scenario says of single GPUs, by their ids.
    #[must_use]
    pub fn powers(&self) -> BTreeMap<u32, GpuPower> {
        self.package.as_ref().map(|package| package.powers.clone()).unwrap_or_default()
    }
}

impl Scenario {
    /// Builds the system and its jobs, from the files that the scenario names, and the notes about
    /// them.
    ///
    /// # Errors
    /// Refuses a file that is not given or that its reader refuses. It refuses iterations of a
    /// program without a loop, and jobs that do not fit on the system. Each error has file, line
    /// and column.
    pub fn build(&self, files: &Files) -> Result<Built, InputError> {
        let files = &*self.network.with_own(files);
        let (cluster, told) = self.cluster(files)?;
        let (work, notes) = match &self.asked {
            Asked::Mix(mix) => {
                let (jobs, mut notes) = mix.build(&self.file, (&cluster, self.seed), files)?;
                if mix.choices.run_time == RunTime::Played {
                    let fidelity = mix.choices.fidelity;
                    notes.extend(Cluster { fidelity, ..cluster.clone() }.notes());
                }
                (ReadyJobs::Mix(jobs), notes)
            }
            Asked::Programs(programs) => {
                let (jobs, notes) =
                    programs.build(&self.file, &cluster.system, self.seed, files)?;
                let told = |(name, note): &(String, TraceNote)| format!("{name}: {note}");
                let inside = jobs.iter().filter_map(|job| {
                    let (kernel, Mapping::Gpus(gpus)) =
                        (job.kernel.as_ref()?, job.mapping.as_ref()?)
                    else {
                        return None;
                    };
                    kernel.note(&job.name, &cluster.system, gpus)
                });
                let assumed = programs.assumed(&cluster.system);
                let notes = notes.iter().map(told).chain(inside).chain(assumed).collect();
                (ReadyJobs::Programs(jobs), notes)
            }
        };
        let package = self.package(&cluster.system, files)?;
        let facts = Facts { scenario: self, cluster: &cluster, work: &work, files };
        let observed = self.package.as_ref().zip(package.as_ref());
        let left_out = observed.and_then(|(it, built)| it.left_out(&cluster.system, built));
        let notes = told.into_iter().chain(notes).chain(unheeded(&facts)).chain(left_out).collect();
        Ok(Built { cluster, work, package, notes })
    }

    /// Gives the system without its absent parts, and notes of these.
    ///
    /// # Errors
    /// A file that is not given or that its reader refuses, servers and switches that do not fit, a part that cannot fail.
    pub fn cluster(&self, files: &Files) -> Result<(Cluster, Vec<String>), InputError> {
        let whole = self.network.build(&self.file, files)?;
        self.failures.build(&self.file, whole)
    }

    /// Makes the package whose heat it observes on a system that was built of it; None where it observes none.
    ///
    /// # Errors
    /// A server without a package, a floorplan that its reader refuses, GPUs and blocks that are not there.
    pub fn package(&self, system: &System, files: &Files) -> Result<Option<Package>, InputError> {
        self.package.as_ref().map(|it| it.build(&self.file, system, files)).transpose()
    }
}
