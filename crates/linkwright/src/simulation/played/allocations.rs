//! Makes the plan of an allocation, shared by all of its class.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::classes::{Classes, Placed};
use super::relocation::{ServerOfClass, relocated};
use crate::collectives::Collective;
use crate::collectives::plan::{PlanError, Question};
use crate::collectives::schedule::Schedule;
use crate::collectives::time::KnownTimes;
use crate::simulation::offers::{Offers, PlannedBy};
use crate::simulation::queue::Part;
use crate::system::System;
use crate::system::fabric::{Fabric, NodeId};
use crate::units::{Bandwidth, Bytes, Picoseconds};

/// Says how the GPUs of an allocation reduce a buffer of a given size.
#[derive(Debug, Clone)]
pub(super) struct AllocationPlan {
    /// Runs on these GPUs of the system.
    pub(super) schedule: Schedule,
    /// Counts the pieces of the data that follow one another.
    pub(super) pieces: u64,
    /// Gives the time that it takes alone.
    pub(super) time: Picoseconds,
}

/// Holds the ranks of a job on its allocation. It has the class, the GPUs by their ids in the
/// system, and the servers, in the order of the class.
#[derive(Debug, Clone)]
pub(super) struct Ranks {
    class: AllocationClass,
    pub(super) gpus: Arc<[usize]>,
    servers: Vec<ServerOfClass>,
}

/// Describes an allocation as a plan sees it: its parts in order.
pub(super) type AllocationClass = Arc<[PartClass]>;

impl Ranks {
    /// Gives the class of the allocation.
    pub(super) fn class(self) -> AllocationClass {
        self.class
    }
}

/// Something that was found for the first job of a class, and the servers of that job.
type OnFirst<T> = (T, Vec<ServerOfClass>);

/// A class chooses from these, which were made for the GPUs of its first job.
type OnGpus = (Offers, Arc<[usize]>);

/// Describes a part of an allocation as a plan sees it: its class within its server, and its
/// server's ports.
type PartClass = (usize, Arc<[Port]>);

/// Describes a port of the fabric: its bandwidth, its latency and, where it matters, its number. It
/// matters since the fabric's own links may hold the port up.
type Port = (Bandwidth, Picoseconds, Option<NodeId>);

/// The plans that have been made.
#[derive(Debug)]
pub(super) struct AllocationPlans {
    by: PlannedBy,
    classes: Classes,
    /// The ports of each server that had a part of a job.
    ports: BTreeMap<u32, Arc<[Port]>>,
    /// The plans of each class, once a job has needed them, and the GPUs of that job.
    of_class: BTreeMap<AllocationClass, OnFirst<OnGpus>>,
    /// Holds the plan for a class and a size.
    for_size: BTreeMap<(AllocationClass, Bytes), OnFirst<AllocationPlan>>,
    /// Those for GPUs onto which that of their class cannot be moved.
    for_gpus: BTreeMap<(Arc<[usize]>, Bytes), AllocationPlan>,
    /// The times of all schedules that were played to find them.
    known: KnownTimes,
    /// How often it was planned.
    made: usize,
}

impl AllocationPlans {
    /// Begins without any.
    pub(super) fn new(by: PlannedBy) -> Self {
        Self {
            by,
            classes: Classes::default(),
            ports: BTreeMap::new(),
            of_class: BTreeMap::new(),
            for_size: BTreeMap::new(),
            for_gpus: BTreeMap::new(),
            known: KnownTimes::default(),
            made: 0,
        }
    }

    /// Begins without any, by the same planner.
    pub(super) fn of_none(&self) -> Self {
        Self::new(self.by)
    }

    /// How many plans were made.
    pub(super) fn made(&self) -> usize {
        self.made
    }

    /// Returns the ranks of a job on these parts. Of several servers, parts of one class follow one
    /// another.
    pub(super) fn ranks(&mut self, system: &System, parts: &[Part]) -> Ranks {
        let is_near = self.are_near(system, parts);
        let of = |part: &Part| self.part(system, part, (parts.len() > 1, is_near));
        let mut ordered: Vec<(PartClass, u32, Placed)> = parts.iter().map(of).collect();
        ordered.sort_unstable_by(|(a, first, _), (b, second, _)| (a, first).cmp(&(b, second)));
        let gpus = ordered.iter().flat_map(|(_, server, placed)| {
            placed.gpus.iter().map(|gpu| system.gpu_at(*server, *gpu as u32) as usize)
        });
        let gpus = gpus.collect();
        let servers = ordered.iter().map(|(_, server, placed)| ServerOfClass {
            server: *server,
            devices: Arc::clone(&placed.devices),
        });
        let servers = servers.collect();
        Ranks { class: ordered.into_iter().map(|(class, ..)| class).collect(), gpus, servers }
    }

    /// Whether plans look at no host, and no data between these GPUs crosses one. All ports of a server are then at one
    /// switch, so that none makes up for a way through its host.
    fn are_near(&mut self, system: &System, parts: &[Part]) -> bool {
        let looks = !matches!(self.by, PlannedBy::Planner(planner) if !planner.looks_at_hosts());
        let at_one_switch = |server: u32| {
            let Some(fabric) = system.fabric() else { return true };
            let nics = 0..system.kind_of(server).nics().len() as u32;
            let switches =
                nics.map(|nic| fabric.switch_of(system.port_of(system.nic_at(server, nic))));
            switches.collect::<BTreeSet<_>>().len() <= 1
        };
        let is_near = |Part { server, chosen }: &Part| {
            let (kind, of) = (system.kind_index_of(*server), system.kind_of(*server).server());
            let is_near = self.classes.is_near(kind, of, &chosen.placement);
            is_near && (parts.len() < 2 || at_one_switch(*server))
        };
        !looks && parts.iter().all(is_near)
    }

    fn part(
        &mut self,
        system: &System,
        Part { server, chosen }: &Part,
        (is_one_of_several, is_near): (bool, bool),
    ) -> (PartClass, u32, Placed) {
        let template = system.kind_of(*server).server();
        let kind = system.kind_index_of(*server);
        let placed = self.classes.of((kind, is_near), template, &chosen.placement);
        let ports = if is_one_of_several {
            let ports = self.ports.entry(*server).or_insert_with(|| ports(system, *server));
            Arc::clone(ports)
        } else {
            Arc::default()
        };
        ((placed.class, ports), *server, placed)
    }

    /// The plan that is the fastest for a size.
    pub(super) fn of(
        &mut self,
        system: &System,
        ranks: &Ranks,
        size: Bytes,
    ) -> Result<AllocationPlan, PlanError> {
        let (of_class, servers) = self.for_size(system, ranks, size)?;
        if let Some(schedule) =
            relocated(&of_class.schedule, (system, &ranks.gpus), &servers, &ranks.servers)
            && ports_agree(system, &ranks.class, &servers, &ranks.servers)
        {
            return Ok(AllocationPlan { schedule, ..of_class });
        }
        let key = (Arc::clone(&ranks.gpus), size);
        if let Some(known) = self.for_gpus.get(&key) {
            return Ok(known.clone());
        }
        self.made += 1;
        let question = question(system, &ranks.gpus);
        let mut offers = Offers::new(self.by, &question)?;
        let found = fastest(&mut offers, &question, size, &mut self.known)?;
        self.for_gpus.insert(key, found.clone());
        Ok(found)
    }

    /// The plan that is the fastest for a class and a size, on the first GPUs of that class that a job
    /// got.
    fn for_size(
        &mut self,
        system: &System,
        Ranks { class, gpus, servers }: &Ranks,
        size: Bytes,
    ) -> Result<OnFirst<AllocationPlan>, PlanError> {
        let key = (Arc::clone(class), size);
        if let Some(known) = self.for_size.get(&key) {
            return Ok(known.clone());
        }
        if !self.of_class.contains_key(class) {
            self.made += 1;
            let offers = Offers::new(self.by, &question(system, gpus))?;
            let first = ((offers, Arc::clone(gpus)), servers.clone());
            self.of_class.insert(Arc::clone(class), first);
        }
        let of_class = self.of_class.get_mut(class).expect("it is there by now");
        let ((offers, gpus), servers) = of_class;
        let question = question(system, gpus);
        let found = (fastest(offers, &question, size, &mut self.known)?, servers.clone());
        self.for_size.insert(key, found.clone());
        Ok(found)
    }
}

/// Lists the ports of a server's network interfaces.
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

/// Whether interfaces that play one another's parts have equal ports; those that no plan looks at play none.
fn ports_agree(
    system: &System,
    class: &[PartClass],
    from: &[ServerOfClass],
    to: &[ServerOfClass],
) -> bool {
    class.iter().zip(from.iter().zip(to)).all(|((_, ports), (from, to))| {
        let [own, others] = [from, to].map(|part| system.kind_of(part.server).nics());
        ports.iter().zip(own).filter(|(_, nic)| from.devices.contains(nic)).all(|(port, nic)| {
            let other = to.counterpart(from, *nic);
            let other = other.and_then(|nic| others.iter().position(|known| *known == nic));
            other.is_some_and(|other| ports[other] == *port)
        })
    })
}

fn question<'a>(system: &'a System, gpus: &'a [usize]) -> Question<'a> {
    Question::new(system, gpus, Collective::AllReduce)
}

fn fastest(
    offers: &mut Offers,
    question: &Question<'_>,
    size: Bytes,
    known: &mut KnownTimes,
) -> Result<AllocationPlan, PlanError> {
    let (plan, timing) = offers.fastest(question, size, known)?;
    let (schedule, pieces, time) = (plan.schedule, timing.pieces, timing.time);
    Ok(AllocationPlan { schedule, pieces, time })
}
