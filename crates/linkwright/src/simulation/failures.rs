//! Follows a system through a day in which parts of it fail.
//!
//! A day goes through states: between one change and the next the same parts are lost. A job on a GPU that is lost
//! ends, and waits in the queue for its next try. It begins anew, or from its last checkpoint. Other jobs go around what is
//! lost: they keep their GPUs and are planned for what is left. So are they again when it comes back.
//!
//! As flows, a job notices either at the end of the iteration that it is in. A library of collectives, too, hears of a link
//! when it waits for it. So lost parts still carry for the rest of one iteration. As fluids they are missed at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::cluster::{Cluster, Failure};
use super::error::SimulationError;
use crate::allocation::{AllocationError, PreparedMachine};
use crate::network::routing::routing_for;
use crate::system::System;
use crate::system::composition::SystemPart;
use crate::system::fabric::{ChannelId, FabricShape};
use crate::units::Picoseconds;

/// Tells what failures cost a job.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Endured {
    /// Counts how often it began anew.
    pub restarts: u32,
    /// Is the time of iterations that were lost with its GPUs, and of waiting for others.
    pub lost: Picoseconds,
    /// Lists what counted, in the order of time.
    pub stretches: Vec<Stretch>,
}

/// Is a time in which a job was planned for one state of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// Numbers the state; 0 is the whole system.
    pub state: usize,
    /// Counts the iterations that the job did.
    pub iterations: u64,
    /// Is what they took.
    pub time: Picoseconds,
}

impl Stretch {
    /// Gives the part of it that has this number of iterations, at most all of them.
    fn part(self, iterations: u64) -> Self {
        let time =
            u128::from(self.time.0) * u128::from(iterations) / u128::from(self.iterations.max(1));
        Self { iterations, time: Picoseconds(time as u64), ..self }
    }
}

impl Endured {
    /// Counts the iterations that counted.
    pub(super) fn iterations(&self) -> u64 {
        self.stretches.iter().map(|it| it.iterations).sum()
    }

    /// Keeps this number of iterations, the first, and forgets the others.
    pub(super) fn keep(&mut self, iterations: u64) {
        let mut left = iterations;
        for stretch in &mut self.stretches {
            *stretch = stretch.part(stretch.iterations.min(left));
            left -= stretch.iterations;
        }
        self.stretches.retain(|it| it.iterations > 0);
    }
}

/// A system while the same parts are lost.
#[derive(Debug, Clone)]
pub(super) struct State {
    /// It is what is left.
    pub(super) cluster: Cluster,
    /// Has a machine for each kind of its servers.
    pub(super) machines: Vec<PreparedMachine>,
    /// Names the channels that are lost, by their numbers in the whole system.
    pub(super) channels: BTreeSet<ChannelId>,
    /// Names the GPUs that are lost, by their servers and their ids there, but for those out of order all day.
    pub(super) gpus: BTreeSet<(usize, usize)>,
    /// Names the servers that reach no others.
    pub(super) cut_off: BTreeSet<usize>,
}

/// The states of a system in a day. The first is the whole.
#[derive(Debug, Clone)]
pub struct States {
    pub(super) each: Vec<State>,
    /// Says from when on which holds, ascending; before the first the whole does.
    pub(super) changes: Vec<(Picoseconds, usize)>,
}

impl States {
    /// Those of a day with failures; None where nothing fails.
    pub(super) fn of(
        cluster: &Cluster,
        unhealthy: &[(usize, usize)],
        prepared: impl Fn(&System) -> Result<Vec<PreparedMachine>, AllocationError>,
    ) -> Result<Option<Self>, SimulationError> {
        let lasting = |it: &&Failure| it.to.is_none_or(|to| to > it.from) && !it.parts.is_empty();
        let failures: Vec<&Failure> = cluster.failures.timed.iter().filter(lasting).collect();
        if failures.is_empty() {
            return Ok(None);
        }
        let times: BTreeSet<Picoseconds> =
            failures.iter().flat_map(|it| [Some(it.from), it.to]).flatten().collect();
        let mut known: BTreeMap<BTreeSet<usize>, usize> = BTreeMap::from([(BTreeSet::new(), 0)]);
        let whole = State {
            cluster: cluster.clone(),
            machines: prepared(&cluster.system)?,
            channels: BTreeSet::new(),
            gpus: BTreeSet::new(),
            cut_off: BTreeSet::new(),
        };
        let (mut each, mut changes): (Vec<State>, Vec<(Picoseconds, usize)>) =
            (vec![whole], Vec::new());
        for time in times {
            let is_lost = |it: &Failure| it.from <= time && it.to.is_none_or(|to| to > time);
            let lost: BTreeSet<usize> =
                (0..failures.len()).filter(|at| is_lost(failures[*at])).collect();
            let state = match known.get(&lost) {
                Some(state) => *state,
                None => {
                    let parts: Vec<SystemPart> =
                        lost.iter().flat_map(|at| failures[*at].parts.iter().copied()).collect();
                    each.push(State::losing(cluster, &parts, unhealthy, &prepared)?);
                    known.insert(lost, each.len() - 1);
                    each.len() - 1
                }
            };
            if changes.last().map_or(0, |(_, last)| *last) != state {
                changes.push((time, state));
            }
        }
        Ok(Some(Self { each, changes }))
    }

    /// Tells whether links between switches of the fabric fail.
    pub(super) fn touch_switches(&self) -> bool {
        let system = &self.each[0].cluster.system;
        self.each.iter().any(|it| it.channels.iter().any(|channel| system.is_inner(*channel)))
    }
}

impl State {
    /// Gives what is left of a cluster without parts.
    fn losing(
        cluster: &Cluster,
        parts: &[SystemPart],
        unhealthy: &[(usize, usize)],
        prepared: impl Fn(&System) -> Result<Vec<PreparedMachine>, AllocationError>,
    ) -> Result<Self, SimulationError> {
        let whole = &cluster.system;
        let losses = whole.losing(parts)?;
        let place = |gpu: &u32| {
            let at = whole.gpu(*gpu);
            (at.server as usize, at.index as usize)
        };
        Ok(Self {
            gpus: losses.gpus.iter().map(place).filter(|at| !unhealthy.contains(at)).collect(),
            cut_off: losses.cut_off.iter().map(|server| *server as usize).collect(),
            machines: prepared(&losses.system)?,
            cluster: without(cluster, losses.system),
            channels: losses.channels,
        })
    }
}

/// The same cluster on what is left of its system. A fabric that has lost links is a graph, which the routing of its kind does
/// not know.
#[must_use]
pub fn without(cluster: &Cluster, left: System) -> Cluster {
    let shape = |system: &System| system.fabric().map(|fabric| fabric.shape().clone());
    let is_graph = shape(&left) == Some(FabricShape::Graph);
    let becomes_graph = is_graph && shape(&cluster.system) != Some(FabricShape::Graph);
    let by_kind = becomes_graph && cluster.routing_is_default;
    let routing = if by_kind { routing_for(&FabricShape::Graph) } else { cluster.routing };
    Cluster { system: Arc::new(left), routing, ..cluster.clone() }
}
