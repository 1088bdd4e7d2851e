//! Says which bandwidth an iteration of a job asks of links, and for how long.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use super::arbiter::Copies;
use crate::collectives::time::{LinkDemand, LoweredSchedule, protocol_of};
use crate::network::{FlowNetwork, HostChannels, ResourceId, Route, Routes};
use crate::simulation::played::allocations::AllocationPlan;
use crate::simulation::played::plans::PlanningFault;
use crate::system::System;
use crate::units::{Bandwidth, Bytes, Picoseconds};

/// Holds an iteration in phases, at least one, one after another.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Iteration {
    pub(super) phases: Vec<Phase>,
    /// Lists the resources that they use. Each comes with the most of it at one time while nothing
    /// slows the job, in bytes per second; ascending.
    pub(super) peaks: Vec<(ResourceId, f64)>,
}

/// Holds a time that asks nothing of links, and then the data that moves: images that are copied,
/// or gradients.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Phase {
    /// Gives the time of computing, and of the launch of a collective.
    pub(super) quiet: Picoseconds,
    /// Holds the data on its way.
    pub(super) moving: Option<Moving>,
}

/// Describes the data that moves, as the flow that stands for all. This is the load of one of them
/// over the busiest resource.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Moving {
    /// How long it takes alone.
    pub(super) alone: Picoseconds,
    /// Gives the bytes that this one carries.
    pub(super) bytes: Bytes,
    /// Gives its rate alone.
    pub(super) limit: Bandwidth,
    /// Gives the load of all over each resource, for the load of the one.
    pub(super) uses: Vec<(ResourceId, f64)>,
    /// The copies that it is, if it is not of kernels.
    pub(super) copies: Option<Copies>,
}

impl Iteration {
    pub(super) fn new(phases: Vec<Phase>) -> Self {
        let mut peaks: BTreeMap<ResourceId, f64> = BTreeMap::new();
        for moving in phases.iter().filter_map(|phase| phase.moving.as_ref()) {
            for (resource, share) in &moving.uses {
                let most = peaks.entry(*resource).or_default();
                *most = most.max(share * moving.limit.0 as f64);
            }
        }
        Self { peaks: peaks.into_iter().collect(), phases }
    }

    /// How long it takes on idle links.
    pub(super) fn alone(&self) -> Picoseconds {
        let all = self.phases.iter().map(|phase| phase.alone().0);
        Picoseconds(all.fold(0, u64::saturating_add).max(1))
    }

    /// The most of a resource that it uses at one time while nothing slows it, in bytes per second.
    pub(super) fn peak(&self, resource: ResourceId) -> f64 {
        let found = self.peaks.binary_search_by_key(&resource, |(of, _)| *of);
        found.map_or(0.0, |index| self.peaks[index].1)
    }
}

impl Phase {
    /// Of a job that only computes.
    pub(super) const fn quiet(compute: Picoseconds) -> Self {
        Self { quiet: compute, moving: None }
    }

    /// How long it takes on idle links.
    pub(super) fn alone(&self) -> Picoseconds {
        let moving = self.moving.as_ref().map_or(0, |moving| moving.alone.0);
        Picoseconds(self.quiet.0.saturating_add(moving))
    }

    /// Copies bytes over each of these routes at once, to GPUs that go on when all have theirs. If
    /// they have a deadline, they have to finish within this number of thousandths of the time that
    /// they take alone.
    pub(super) fn copying(
        (size, deadline): (Bytes, Option<NonZeroU32>),
        ways: &[(Route, Bytes)],
        capacities: &[Bandwidth],
    ) -> Self {
        let Load { time: alone, launch: quiet, demand } = Load::of_copies(ways, capacities);
        let within = deadline.map(|times| {
            let whole =
                u128::from(alone.0.saturating_add(quiet.0)) * u128::from(times.get()) / 1000;
            let whole = u64::try_from(whole).unwrap_or(u64::MAX);
            Picoseconds(whole.saturating_sub(quiet.0))
        });
        let copies = Some(Copies { size, within });
        let moving = Moving::new(alone, &demand, capacities);
        Self { quiet, moving: moving.map(|moving| Moving { copies, ..moving }) }
    }

    /// Computes, and reduces each bucket by a plan. A bucket is ready once its computing time after
    /// the bucket before has passed, and is reduced after that.
    ///
    /// Calls `tell` with the schedule of each size of buckets.
    ///
    /// From the first bucket on its way to the end of the last, all are one flow. It moves the data
    /// of that time.
    pub(super) fn reducing(
        buckets: &[(Picoseconds, Bytes, AllocationPlan)],
        (system, channels): (&System, &HostChannels),
        routes: &Routes<'_>,
        mut tell: impl FnMut(Bytes, &LoweredSchedule),
    ) -> Result<Self, PlanningFault> {
        let mut known: BTreeMap<Bytes, Load> = BTreeMap::new();
        for (_, size, plan) in buckets {
            if !known.contains_key(size) {
                let protocol = protocol_of(&plan.schedule, system)?;
                let lowered = LoweredSchedule::new(&plan.schedule, routes, &protocol)?;
                tell(*size, &lowered);
                let launch = protocol.launch.min(plan.time);
                let time = Picoseconds(plan.time.0 - launch.0);
                known.insert(*size, Load { time, launch, demand: lowered.demand(*size) });
            }
        }
        let loads = buckets.iter().map(|(compute, size, _)| (*compute, &known[size]));
        let mut phase = Self::in_turns(loads, routes.capacities());
        for part in phase.moving.iter_mut().flat_map(|moving| &mut moving.uses) {
            *part = channels.of_kernel(*part);
        }
        Ok(phase)
    }

    /// Computing and copying along the edges of a pattern, for each bucket as [`Self::reducing`] does. `copies` says what a
    /// bucket of a size sends over which routes.
    pub(super) fn exchanging(
        buckets: &[(Picoseconds, Bytes)],
        copies: impl Fn(&Bytes) -> Vec<(Route, Bytes)>,
        capacities: &[Bandwidth],
    ) -> Self {
        let mut known: BTreeMap<Bytes, Load> = BTreeMap::new();
        for (_, size) in buckets {
            known.entry(*size).or_insert_with(|| Load::of_copies(&copies(size), capacities));
        }
        let loads = buckets.iter().map(|(compute, size)| (*compute, &known[size]));
        Self::in_turns(loads, capacities)
    }

    /// Plays loads one after another. Each is ready once its computing time after the load before
    /// has passed.
    fn in_turns<'a>(
        loads: impl Iterator<Item = (Picoseconds, &'a Load)>,
        capacities: &[Bandwidth],
    ) -> Self {
        let (mut computed, mut quiet, mut moved) = (0_u64, None, 0_u64);
        let mut demand: BTreeMap<ResourceId, LinkDemand> = BTreeMap::new();
        for (compute, load) in loads {
            computed = computed.saturating_add(compute.0);
            quiet.get_or_insert(computed.saturating_add(load.launch.0));
            let time = load.launch.0.saturating_add(load.time.0);
            moved = moved.max(computed).saturating_add(time);
            for one in &load.demand {
                let nothing = LinkDemand { bytes: 0.0, flows: 0, ..*one };
                let all = demand.entry(one.resource).or_insert(nothing);
                (all.bytes, all.flows) = (all.bytes + one.bytes, all.flows.max(one.flows));
            }
        }
        let quiet = Picoseconds(quiet.unwrap_or(computed));
        let alone = Picoseconds(moved.saturating_sub(quiet.0));
        let demand: Vec<LinkDemand> = demand.into_values().collect();
        match Moving::new(alone, &demand, capacities) {
            Some(moving) => Self { quiet, moving: Some(moving) },
            None => Self::quiet(Picoseconds(quiet.0.saturating_add(alone.0))),
        }
    }
}

/// Holds what a bucket moves, all at once.
struct Load {
    /// How long it is under way alone.
    time: Picoseconds,
    /// How long it takes before.
    launch: Picoseconds,
    demand: Vec<LinkDemand>,
}

impl Load {
    /// Copies over routes at once.
    fn of_copies(ways: &[(Route, Bytes)], capacities: &[Bandwidth]) -> Self {
        let mut network = FlowNetwork::new(capacities);
        for (way, size) in ways {
            network.start(&way.uses, *size, None, Picoseconds(0));
        }
        let mut time = Picoseconds(0);
        while let Some((end, _)) = network.complete_next() {
            time = end;
        }
        let mut demand: BTreeMap<ResourceId, (f64, u32)> = BTreeMap::new();
        for (way, size) in ways {
            for (resource, share) in &way.uses {
                let of = demand.entry(*resource).or_default();
                *of = (of.0 + share * size.0 as f64, of.1 + 1);
            }
        }
        let demand = demand.into_iter();
        let demand = demand.map(|(resource, (bytes, flows))| LinkDemand { resource, bytes, flows });
        let launch = ways.iter().map(|(way, _)| way.latency).max().unwrap_or_default();
        Self { time, launch, demand: demand.collect() }
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
        Some(Self { alone, bytes: Bytes(bytes as u64), limit, uses, copies: None })
    }
}
