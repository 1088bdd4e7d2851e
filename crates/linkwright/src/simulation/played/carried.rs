//! What each link carries of jobs that were played.
//!
//! What it represents: an iteration moves the same bytes however fast it is. So they follow from the programs
//! and from the GPUs that jobs got. They are samples that each GPU copies from its host, and the all-reduce of
//! every bucket by the plan that was played. What it leaves out: jobs that run a program, or train by more
//! than all-reduces. It also leaves out MPI's algorithms, which make no plan, and all that protocols and packets add
//! to data.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::allocations::AllocationPlans;
use super::iteration::{IterationSettings, ProgramsBySettings};
use super::plans::{PlannerChoice, PlanningFault};
use super::{host_ways, sites};
use crate::collectives::time::{LoweredSchedule, protocol_of, resources};
use crate::network::ResourceId;
use crate::simulation::error::SimulationError;
use crate::simulation::job::Job;
use crate::simulation::queue::JobRecord;
use crate::system::{LinkKind, System, Wiring};
use crate::units::Bytes;

/// What crossed one direction of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkTraffic {
    /// The device that sends, by its number in the system.
    pub from: usize,
    /// The device that it goes to.
    pub to: usize,
    /// What the link is.
    pub kind: LinkKind,
    /// Bytes of all jobs; parts of one where a message is split over several ways.
    pub bytes: f64,
}

/// The GPUs of an all-reduce in the order of their ranks, and its size.
type Reduced = (Arc<[usize]>, Bytes);

/// What each direction of each link carried of the jobs until all had ended, in the order of the links.
///
/// # Errors
/// MPI's algorithms; a plan that cannot be had; copies to a GPU without a host.
pub fn carried(
    system: &System,
    (planner, settings): (PlannerChoice, IterationSettings),
    jobs: &[Job],
    records: &[JobRecord],
) -> Result<Vec<LinkTraffic>, SimulationError> {
    let PlannerChoice::Plan(by) = planner else { return Err(SimulationError::NoPlan) };
    let wiring = Wiring::of_system(system);
    let routes = resources(&wiring);
    let mut programs = ProgramsBySettings::new(system, settings, jobs)?;
    let sites = if programs.copies() || jobs.iter().any(|job| !job.is_workload()) {
        sites(system, &wiring)?
    } else {
        Vec::new()
    };
    let mut plans = AllocationPlans::new(by);
    let mut known: BTreeMap<Reduced, BTreeMap<ResourceId, f64>> = BTreeMap::new();
    let mut bytes: BTreeMap<ResourceId, f64> = BTreeMap::new();
    // Allocations of one class share the plan of the first.
    let mut records: Vec<&JobRecord> = records.iter().collect();
    records.sort_by_key(|record| record.start);
    for record in records {
        let job = &jobs[record.job];
        if !job.is_fluid() {
            continue;
        }
        let ranks = plans.ranks(system, &record.parts);
        let steps = programs.steps(job, system, &ranks.gpus)?;
        let iterations = job.iterations as f64;
        if steps.copied.0 > 0 {
            let ways = host_ways(ranks.gpus.iter().map(|gpu| sites[*gpu]), &routes);
            let ways = ways.ok_or_else(|| SimulationError::NoHost { job: job.name.clone() })?;
            for (resource, share) in ways.iter().flat_map(|way| &way.uses) {
                *bytes.entry(*resource).or_default() += share * steps.copied.0 as f64 * iterations;
            }
        }
        if ranks.gpus.len() < 2 {
            continue;
        }
        for (_, size) in steps.buckets {
            let key = (Arc::clone(&ranks.gpus), size);
            if !known.contains_key(&key) {
                let planned = plans.of(system, &ranks, size).map_err(PlanningFault::from);
                let data = planned.and_then(|plan| {
                    let protocol = protocol_of(&plan.schedule, system)?;
                    let lowered = LoweredSchedule::new(&plan.schedule, &routes, &protocol)?;
                    Ok(lowered.data(size))
                });
                let data = data.map_err(|fault| SimulationError::Planning {
                    job: job.name.clone(),
                    fault: Box::new(fault),
                })?;
                known.insert(key.clone(), data);
            }
            for (resource, moved) in &known[&key] {
                *bytes.entry(*resource).or_default() += moved * iterations;
            }
        }
    }
    let of_link = |(resource, bytes): (ResourceId, f64)| {
        let (wire, from) = routes.wire(resource);
        let to = wire.other_end(from);
        // Where devices meet without a channel, there is no link to carry anything.
        Some(LinkTraffic { from, to, kind: wire.kind?, bytes })
    };
    Ok(bytes.into_iter().filter_map(of_link).collect())
}
