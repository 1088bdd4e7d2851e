//! The plan of an allocation, shared by all of its class.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::classes::Classes;
use crate::collectives::Collective;
use crate::collectives::plan::{Algorithm, Candidates, Links, PlanError};
use crate::collectives::schedule::Schedule;
use crate::simulation::queue::Part;
use crate::system::System;
use crate::system::composition::SystemDevice;
use crate::system::fabric::{Fabric, NodeId};
use crate::units::{Bandwidth, Bytes, Picoseconds};

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

/// The ranks of a job on what it was given: its class, and its GPUs by their ids in the system, in the
/// order of the class.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ranks {
    class: Arc<[PartClass]>,
    pub(super) gpus: Arc<[usize]>,
}

/// What a part of an allocation is to a plan: its class within its server, and its server's ports.
type PartClass = (usize, Arc<[Port]>);

/// The bandwidth and the latency of a port of the fabric; and which it is, where it matters, since the
/// fabric's own links may hold it up.
type Port = (Bandwidth, Picoseconds, Option<NodeId>);

/// The plans that have been made.
#[derive(Debug, Default)]
pub(super) struct AllocationPlans {
    classes: Classes,
    /// The ports of each server that had a part of a job.
    ports: BTreeMap<u32, Arc<[Port]>>,
    /// The plans of each class, once a job has needed them.
    of_class: BTreeMap<Arc<[PartClass]>, Candidates>,
    /// The one for a class and a size.
    for_size: BTreeMap<(Arc<[PartClass]>, Bytes), AllocationPlan>,
    /// How often it was planned.
    made: usize,
}

impl AllocationPlans {
    /// How many plans were made.
    pub(super) fn made(&self) -> usize {
        self.made
    }

    /// The ranks of a job on these parts: of several servers, parts of one class follow one another.
    pub(super) fn ranks(&mut self, system: &System, parts: &[Part]) -> Ranks {
        let mut ordered: Vec<(PartClass, u32, Arc<[usize]>)> =
            parts.iter().map(|part| self.part(system, part, parts.len() > 1)).collect();
        ordered.sort_unstable();
        let gpus = ordered.iter().flat_map(|(_, server, gpus)| {
            gpus.iter().map(|gpu| system.gpu_at(*server, *gpu as u32) as usize)
        });
        let gpus = gpus.collect();
        Ranks { class: ordered.into_iter().map(|(class, ..)| class).collect(), gpus }
    }

    fn part(
        &mut self,
        system: &System,
        Part { server, chosen }: &Part,
        is_one_of_several: bool,
    ) -> (PartClass, u32, Arc<[usize]>) {
        let template = system.kind_of(*server).server();
        let kind = system.kind_index_of(*server);
        let (class, gpus) = self.classes.of(kind, template, &chosen.placement);
        let ports = if is_one_of_several {
            let ports = self.ports.entry(*server).or_insert_with(|| ports(system, *server));
            Arc::clone(ports)
        } else {
            Arc::default()
        };
        ((class, ports), *server, gpus)
    }

    /// The plan that is the fastest for a size.
    pub(super) fn of(
        &mut self,
        system: &System,
        algorithm: Algorithm,
        ranks: &Ranks,
        size: Bytes,
    ) -> Result<AllocationPlan, PlanError> {
        let of_class = self.for_size(system, algorithm, ranks, size)?;
        match relocated(&of_class.schedule, system, &ranks.gpus) {
            Some(schedule) => Ok(AllocationPlan { schedule, ..of_class }),
            None => {
                self.made += 1;
                fastest(&candidates(system, algorithm, &ranks.gpus)?, size)
            }
        }
    }

    /// The plan that is the fastest for a class and a size, on the first GPUs of that class that a job
    /// got.
    fn for_size(
        &mut self,
        system: &System,
        algorithm: Algorithm,
        Ranks { class, gpus }: &Ranks,
        size: Bytes,
    ) -> Result<AllocationPlan, PlanError> {
        let key = (Arc::clone(class), size);
        if let Some(known) = self.for_size.get(&key) {
            return Ok(known.clone());
        }
        if !self.of_class.contains_key(class) {
            self.made += 1;
            self.of_class.insert(Arc::clone(class), candidates(system, algorithm, gpus)?);
        }
        let found = fastest(&self.of_class[class], size)?;
        self.for_size.insert(key, found.clone());
        Ok(found)
    }
}

/// The ports of a server's network interfaces.
fn ports(system: &System, server: u32) -> Arc<[Port]> {
    let Some(fabric) = system.fabric() else { return Arc::default() };
    let nics = 0..system.kind_of(server).nics().len() as u32;
    let is_told = system.fabric_holds_up();
    let ports = nics.map(|nic| {
        let port = system.port_of(system.nic_at(server, nic));
        let channel = &fabric.channels()[Fabric::injection(port) as usize];
        (channel.bandwidth, channel.latency, is_told.then_some(port))
    });
    ports.collect()
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
/// them that cannot be told apart by their servers.
fn relocated(schedule: &Schedule, system: &System, gpus: &[usize]) -> Option<Schedule> {
    if schedule.gpus == gpus {
        return Some(schedule.clone());
    }
    let place = |gpu: usize| schedule.gpus.iter().position(|known| *known == gpu);
    let mut moved = Schedule { gpus: gpus.to_vec(), ..schedule.clone() };
    for relay in moved.channels.iter_mut().flat_map(|channel| &mut channel.relays) {
        relay.through = gpus[place(relay.through)?];
    }
    if schedule.routes.is_empty() {
        return Some(moved);
    }
    let servers = moved_servers(&schedule.gpus, system, gpus)?;
    let paths = moved.routes.iter_mut().flat_map(|route| &mut route.paths);
    for device in paths.flat_map(|path| &mut path.devices) {
        if let SystemDevice::OfServer(at) = system.device(*device) {
            *device = system.device_at(*servers.get(&at.server)?, at.index as usize);
        }
    }
    Some(moved)
}

/// Which server takes the place of which; None where ranks are elsewhere within theirs.
fn moved_servers(from: &[usize], system: &System, to: &[usize]) -> Option<BTreeMap<u32, u32>> {
    let mut servers = BTreeMap::new();
    for (from, to) in from.iter().zip(to) {
        let [from, to] = [from, to].map(|gpu| system.gpu(*gpu as u32));
        let other = *servers.entry(from.server).or_insert(to.server);
        if (other, from.index) != (to.server, to.index) {
            return None;
        }
    }
    Some(servers)
}
