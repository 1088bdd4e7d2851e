//! What an iteration of a job asks of links, and for how long.

use crate::collectives::time::{LinkDemand, LoweredSchedule, protocol_of};
use crate::network::{ResourceId, Routes};
use crate::simulation::played::allocations::AllocationPlan;
use crate::simulation::played::plans::PlanningFault;
use crate::system::System;
use crate::units::{Bandwidth, Bytes, Picoseconds};

/// An iteration in two phases: one that asks nothing of links, and one that moves the gradients.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Iteration {
    /// Computing, and the launch of the collective.
    pub(super) quiet: Picoseconds,
    /// The gradients on their way.
    pub(super) moving: Option<Moving>,
}

/// What is moved, as the flow that stands for all of the collective's: what one of them carries over
/// the resource that is the busiest.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Moving {
    /// How long it takes alone.
    pub(super) alone: Picoseconds,
    /// What that one carries.
    pub(super) bytes: Bytes,
    /// Its rate alone.
    pub(super) limit: Bandwidth,
    /// What all carry over each resource for what the one carries.
    pub(super) uses: Vec<(ResourceId, f64)>,
}

impl Iteration {
    /// Of a job that only computes.
    pub(super) const fn quiet(compute: Picoseconds) -> Self {
        Self { quiet: compute, moving: None }
    }

    /// Of one that computes, and then reduces `size` bytes by a plan.
    pub(super) fn reducing(
        compute: Picoseconds,
        plan: &AllocationPlan,
        size: Bytes,
        system: &System,
        routes: &Routes<'_>,
    ) -> Result<Self, PlanningFault> {
        let protocol = protocol_of(&plan.schedule, system)?;
        let lowered = LoweredSchedule::new(&plan.schedule, routes, &protocol)?;
        let launch = protocol.launch.min(plan.time);
        let quiet = Picoseconds(compute.0.saturating_add(launch.0));
        let alone = Picoseconds(plan.time.0 - launch.0);
        let moving = Moving::new(alone, &lowered.demand(size), routes.capacities());
        Ok(match moving {
            Some(moving) => Self { quiet, moving: Some(moving) },
            None => Self::quiet(Picoseconds(quiet.0.saturating_add(alone.0))),
        })
    }

    /// How long it takes on idle links.
    pub(super) fn alone(&self) -> Picoseconds {
        let moving = self.moving.as_ref().map_or(0, |moving| moving.alone.0);
        Picoseconds(self.quiet.0.saturating_add(moving).max(1))
    }
}

impl Moving {
    fn new(alone: Picoseconds, demand: &[LinkDemand], capacities: &[Bandwidth]) -> Option<Self> {
        let busy = |it: &LinkDemand| it.bytes / capacities[it.resource].0.max(1) as f64;
        let busiest = demand.iter().max_by(|a, b| busy(a).total_cmp(&busy(b)))?;
        let bytes = (busiest.bytes / f64::from(busiest.flows)).ceil().max(1.0);
        if alone.0 == 0 {
            return None;
        }
        let limit = Bandwidth((bytes / alone.as_seconds()).ceil() as u64);
        let uses = demand.iter().map(|it| (it.resource, it.bytes / bytes)).collect();
        Some(Self { alone, bytes: Bytes(bytes as u64), limit, uses })
    }

    /// What a resource carries while nothing slows it, in bytes per second.
    pub(super) fn peak(&self, share: f64) -> f64 {
        share * self.limit.0 as f64
    }
}
