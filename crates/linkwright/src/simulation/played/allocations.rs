//! The plan of an allocation, shared by all of its class.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::classes::Classes;
use crate::collectives::Collective;
use crate::collectives::plan::{Algorithm, Candidates, Links, PlanError};
use crate::collectives::schedule::Schedule;
use crate::system::System;
use crate::units::{Bytes, Picoseconds};

/// How the GPUs of an allocation reduce so many bytes.
#[derive(Debug, Clone)]
pub(super) struct AllocationPlan {
    /// On these GPUs of the system.
    pub(super) schedule: Schedule,
    /// How many pieces of the data follow one another.
    pub(super) pieces: u64,
    /// What it takes alone.
    pub(super) time: Picoseconds,
}

/// The plans that have been made.
#[derive(Debug, Default)]
pub(super) struct AllocationPlans {
    classes: Classes,
    /// The plans of each class, once a job has needed them.
    of_class: BTreeMap<usize, Candidates>,
    /// The one for a class and a size.
    for_size: BTreeMap<(usize, Bytes), AllocationPlan>,
    /// How often it was planned.
    made: usize,
}

impl AllocationPlans {
    /// How many plans were made.
    pub(super) fn made(&self) -> usize {
        self.made
    }

    /// The GPUs of a server in the order of their class: the ranks of a job on them.
    pub(super) fn order(&mut self, system: &System, server: u32, gpus: &[usize]) -> Arc<[usize]> {
        let template = system.kind_of(server).server();
        self.classes.of(system.kind_index_of(server), template, gpus).1
    }

    /// The plan that is the fastest for a size, of GPUs of a server in the order of their class.
    pub(super) fn of(
        &mut self,
        system: &System,
        algorithm: Algorithm,
        (server, order): (u32, &[usize]),
        size: Bytes,
    ) -> Result<AllocationPlan, PlanError> {
        let template = system.kind_of(server).server();
        let (class, _) = self.classes.of(system.kind_index_of(server), template, order);
        let gpus: Vec<usize> =
            order.iter().map(|gpu| system.gpu_at(server, *gpu as u32) as usize).collect();
        let of_class = self.for_size(system, (class, algorithm), &gpus, size)?;
        match relocated(&of_class.schedule, &gpus) {
            Some(schedule) => Ok(AllocationPlan { schedule, ..of_class }),
            None => {
                self.made += 1;
                fastest(&candidates(system, algorithm, &gpus)?, size)
            }
        }
    }

    /// The plan that is the fastest for a class and a size, on the first GPUs of that class that a job
    /// got.
    fn for_size(
        &mut self,
        system: &System,
        (class, algorithm): (usize, Algorithm),
        gpus: &[usize],
        size: Bytes,
    ) -> Result<AllocationPlan, PlanError> {
        if let Some(known) = self.for_size.get(&(class, size)) {
            return Ok(known.clone());
        }
        if !self.of_class.contains_key(&class) {
            self.made += 1;
            self.of_class.insert(class, candidates(system, algorithm, gpus)?);
        }
        let found = fastest(&self.of_class[&class], size)?;
        self.for_size.insert((class, size), found.clone());
        Ok(found)
    }
}

fn candidates(
    system: &System,
    algorithm: Algorithm,
    gpus: &[usize],
) -> Result<Candidates, PlanError> {
    Candidates::new(system, gpus, Collective::AllReduce, algorithm, Links::Auto)
}

fn fastest(candidates: &Candidates, size: Bytes) -> Result<AllocationPlan, PlanError> {
    let (plan, timing) = candidates.fastest(size)?;
    let (schedule, pieces, time) = (plan.schedule, timing.pieces, timing.time);
    Ok(AllocationPlan { schedule, pieces, time })
}

/// The same schedule on other GPUs, which are joined alike; None where it names devices between
/// them.
fn relocated(schedule: &Schedule, gpus: &[usize]) -> Option<Schedule> {
    if schedule.gpus == gpus {
        return Some(schedule.clone());
    }
    if !schedule.routes.is_empty() {
        return None;
    }
    let place = |gpu: usize| schedule.gpus.iter().position(|known| *known == gpu);
    let mut moved = Schedule { gpus: gpus.to_vec(), ..schedule.clone() };
    for relay in moved.channels.iter_mut().flat_map(|channel| &mut channel.relays) {
        relay.through = gpus[place(relay.through)?];
    }
    Some(moved)
}
