//! Jobs that ask for GPUs by name: they start when all of these are free.

use std::collections::{BTreeMap, BTreeSet};

use super::{Choice, JobPlace};
use crate::allocation::{
    AllocationError, GpuSet, Pattern, PreparedMachine, Selection, ServerState,
};
use crate::simulation::error::SimulationError;
use crate::simulation::job::Job;
use crate::system::System;

/// Says what such a job asks for of a server: its GPUs there, in the order of the job's ranks.
pub(super) type Wanted = (usize, Vec<usize>);

/// Holds what each job that names its GPUs asks for of each server, in the servers' order.
#[derive(Debug, Default)]
pub(super) struct NamedGpus(BTreeMap<usize, Vec<Wanted>>);

impl NamedGpus {
    /// Gives what these jobs name of a system.
    pub(super) fn of(system: &System, jobs: &[Job]) -> Result<Self, SimulationError> {
        let mut all = BTreeMap::new();
        let known = system.gpus() as usize;
        for (index, job) in jobs.iter().enumerate() {
            let Some(gpus) = job.own().and_then(|written| written.gpus.as_deref()) else {
                continue;
            };
            let mut wanted: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
            for gpu in gpus {
                if *gpu as usize >= known {
                    let gpu = *gpu as usize;
                    return Err(AllocationError::UnknownGpu { gpu, gpus: known }.into());
                }
                let place = system.gpu(*gpu);
                wanted.entry(place.server as usize).or_default().push(place.index as usize);
            }
            all.insert(index, wanted.into_iter().collect());
        }
        Ok(Self(all))
    }

    /// Gives each job the place that was found for it.
    pub(super) fn at(places: &[JobPlace]) -> Self {
        Self(places.iter().cloned().enumerate().collect())
    }

    /// Gives what a job asks for; None where a policy chooses.
    pub(super) fn get(&self, job: usize) -> Option<&[Wanted]> {
        self.0.get(&job).map(Vec::as_slice)
    }

    /// Says which jobs these are, and how many GPUs each asks for of one server.
    pub(super) fn sizes(&self) -> impl Iterator<Item = (usize, usize)> {
        let of = |(job, wanted): (&usize, &Vec<Wanted>)| {
            let job = *job;
            wanted.iter().map(move |(_, gpus)| (job, gpus.len())).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of)
    }

    /// A job that waits for a GPU that is out of order, and that GPU of its server.
    pub(super) fn hopeless(&self, unhealthy: &[(usize, usize)]) -> Option<(usize, (usize, usize))> {
        let broken: BTreeSet<(usize, usize)> = unhealthy.iter().copied().collect();
        self.0.iter().find_map(|(job, wanted)| {
            let mut all =
                wanted.iter().flat_map(|(server, gpus)| gpus.iter().map(|gpu| (*server, *gpu)));
            Some((*job, all.find(|place| broken.contains(place))?))
        })
    }
}

/// These GPUs, if all of them are free.
pub(super) fn choice<'p>(
    wanted: &[Wanted],
    servers: &[(&PreparedMachine, ServerState)],
    pattern: impl Fn(usize) -> &'p Pattern,
) -> Option<Choice> {
    let of = |(server, gpus): &Wanted| {
        let (machine, state) = &servers[*server];
        let set: GpuSet = gpus.iter().copied().collect();
        let free = state.free();
        (free.without(set).len() + set.len() == free.len()).then(|| {
            let chosen = machine.score(pattern(gpus.len()), gpus.clone(), free);
            (*server, Selection { chosen, candidates: 1, optimal: true, gap: Some(0.0) })
        })
    };
    let parts = wanted.iter().map(of).collect::<Option<Vec<_>>>()?;
    Some(Choice { parts })
}
