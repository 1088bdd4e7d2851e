//! Collectives of jobs as kernels, over connections that are opened before anything runs.
//!
//! Each size has the plan that is the fastest for it, or NCCL's own choice, as [`Offers`] finds
//! them. Sizes share a plan if their plans differ in their chunks alone.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::planner::Ground;
use crate::collectives::plan::{Plan, PlanError, Question};
use crate::collectives::schedule::{Pacing, Schedule};
use crate::collectives::time::{KnownTimes, LoweredSchedule, protocol_of};
use crate::network::{ConnectionIndex, Connections, Routes};
use crate::program::CollectiveKind;
use crate::program::kernel::KernelCall;
use crate::simulation::offers::{Offers, PlannedBy};
use crate::system::System;
use crate::units::{Bandwidth, Bytes};

/// Where kernels' connections are opened.
pub(in crate::simulation) struct Opening<'n, 'r> {
    pub(in crate::simulation) network: &'n mut Connections<'r>,
    pub(in crate::simulation) routes: &'r Routes<'r>,
}

/// Holds a plan that some sizes take.
pub(super) struct Taken {
    pub(super) algorithm: Cow<'static, str>,
    pub(super) rate: Bandwidth,
    pub(super) notes: Vec<String>,
}

/// Of a collective on some GPUs the kernel for each size, by what a program calls so.
pub(super) struct Kernels {
    pub(super) calls: BTreeMap<Bytes, KernelCall>,
    pub(super) taken: Vec<Taken>,
}

impl Kernels {
    /// Plans a collective for each size, and opens the connections.
    pub(super) fn new(
        system: &System,
        by: PlannedBy,
        ground: &Ground<'_>,
        sizes: &BTreeSet<Bytes>,
        opening: &mut Opening<'_, '_>,
    ) -> Result<Self, PlanError> {
        let Ground { gpus, kind, .. } = *ground;
        let ids: Vec<usize> = gpus.iter().map(|gpu| *gpu as usize).collect();
        let question = Question::new(system, &ids, ground.collective());
        let (mut offers, mut times) = (Offers::new(by, &question)?, KnownTimes::default());
        let mut kernels = Self { calls: BTreeMap::new(), taken: Vec::new() };
        let mut known: Vec<Schedule> = Vec::new();
        // This holds the schedule opened for each, with its first connection.
        let mut opened: Vec<(ConnectionIndex, LoweredSchedule)> = Vec::new();
        for size in sizes {
            let whole = whole_buffer(kind, *size, gpus.len());
            let (plan, timing) = offers.fastest(&question, whole, &mut times)?;
            let Plan { mut schedule, algorithm, rate, notes, .. } = plan;
            let pacing = schedule.pacing;
            if let Pacing::SideBySide { chunk, .. } = &mut schedule.pacing {
                *chunk = Bytes(0);
            }
            let at = match known.iter().position(|other| *other == schedule) {
                Some(at) => at,
                None => {
                    let protocol = protocol_of(&Schedule { pacing, ..schedule.clone() }, system)?;
                    let lowered = LoweredSchedule::new(&schedule, opening.routes, &protocol)?;
                    opened.push((lowered.open(opening.network), lowered));
                    known.push(schedule);
                    known.len() - 1
                }
            };
            let (first, lowered) = &opened[at];
            let call = match pacing {
                Pacing::SideBySide { chunk, .. } => lowered.call(whole, chunk, *first)?,
                Pacing::InTurns | Pacing::InParallel => {
                    lowered.call_in_pieces(whole, timing.pieces, *first)
                }
            };
            kernels.calls.insert(*size, call);
            kernels.take(Taken { algorithm, rate, notes });
        }
        Ok(kernels)
    }

    /// Notes a plan; of one algorithm the highest rate.
    fn take(&mut self, taken: Taken) {
        match self.taken.iter_mut().find(|known| known.algorithm == taken.algorithm) {
            Some(known) if known.rate < taken.rate => *known = taken,
            Some(_) => {}
            None => self.taken.push(taken),
        }
    }
}

/// Returns the size in nccl-tests' sense of a collective to which each rank contributes `size`.
fn whole_buffer(kind: CollectiveKind, size: Bytes, ranks: usize) -> Bytes {
    let shards = match kind {
        CollectiveKind::Gather
        | CollectiveKind::Scatter
        | CollectiveKind::AllGather
        | CollectiveKind::AllToAll => ranks as u64,
        CollectiveKind::Barrier
        | CollectiveKind::Broadcast
        | CollectiveKind::Reduce
        | CollectiveKind::AllReduce
        | CollectiveKind::ReduceScatter
        | CollectiveKind::Scan => 1,
    };
    Bytes(size.0.saturating_mul(shards))
}
