//! Whether a schedule does what its collective promises, without running it.
//!
//! The check follows the kernel that a schedule is written for (MSCCL's, on NCCL's primitives).
//! Blocks run side by side and each runs its steps in order. A connection delivers runs in the
//! order in which they were sent and holds a few of them. A step waits until it can both receive
//! and send. A reduction in the switch waits for the data that every other rank of its group has
//! sent for it. A multicast waits for room at each of them. The check proves this, for every
//! interleaving of blocks and for each placement that the schedule declares:
//!
//! 1. [`structure`]: all names, ranges and connections fit together;
//! 2. [`order`]: no step waits for itself, with [`DEFAULT_SLOTS`] runs in flight;
//! 3. [`races`]: no two steps use a chunk at once where one of them writes it;
//! 4. [`content`]: every output chunk ends with exactly the contributions that it must have.
//!
//! After the third, memory holds the same values in every interleaving, so that the fourth needs to
//! follow only one. The check leaves out sizes, time, and the limits of any one executor (steps per
//! block, channels), which belong to the exports.

mod content;
mod fault;
mod order;
mod races;
mod structure;

use crate::collectives::schedule::placement::Placement;
use crate::collectives::schedule::{Schedule, ScheduleStep};
use serde::{Deserialize, Serialize};

pub use fault::{Cause, ScheduleFault, StepPlace, Wait};

/// Runs of chunks that a connection holds until a sender has to wait.
///
/// A connection of NCCL has a buffer of 8 steps (`NCCL_STEPS`, src/include/device.h). Under the
/// Simple protocol a run takes half of it, so two runs are in flight. (`MSCCL_CHUNKSTEPS` is
/// `NCCL_STEPS/2`, src/include/msccl; `ALLREDUCE_CHUNKSTEPS` alike.) LL and LL128 take one step a
/// run and hold eight. A schedule that ends with two ends with more, since a further slot only
/// takes away a reason to wait. With a single slot the usual ring would deadlock: every rank's
/// second step receives and sends at once, and all slots are full.
pub const DEFAULT_SLOTS: usize = 2;

/// The most that the checker takes on; beyond it the check is refused before memory is taken.
pub mod limits {
    /// Ranks.
    pub const RANKS: usize = 4096;
    /// Steps of all ranks together.
    pub const STEPS: usize = 1 << 19;
    /// Entries in the `after` lists of all steps together.
    pub const DEPENDENCIES: usize = 1 << 21;
    /// Steps of all ranks, times the blocks of the rank that has most: entries of the clocks
    /// that order one rank's blocks.
    pub const CLOCK_ENTRIES: usize = 1 << 26;
    /// Steps times blocks, both of all ranks: updates of those clocks.
    pub const CLOCK_UPDATES: usize = 1 << 33;
    /// Runs of chunks with values of their own that steps read or write, in all.
    pub const RUNS: usize = 1 << 27;
}

/// Shows a sound schedule from above.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckReport {
    /// Steps of all ranks together.
    pub steps: usize,
    /// For each rank, how many chunks it sends.
    pub sent_chunks: Vec<u64>,
    /// Counts the most messages that must follow one another. Latency is multiplied by it.
    pub longest_chain: usize,
    /// The placements for which the schedule was found sound.
    pub placements: Vec<Placement>,
}

/// Checks a schedule with [`DEFAULT_SLOTS`] runs in flight per connection.
///
/// # Errors
/// Returns the first fault, always the same for the same schedule.
pub fn check(schedule: &Schedule) -> Result<CheckReport, ScheduleFault> {
    check_with_slots(schedule, DEFAULT_SLOTS)
}

/// Checks a schedule with that many runs in flight per connection (one at least).
///
/// # Errors
/// Returns the first fault, always the same for the same schedule.
pub fn check_with_slots(schedule: &Schedule, slots: usize) -> Result<CheckReport, ScheduleFault> {
    structure::check(schedule)?;
    let graph = order::StepGraph::new(schedule)?;
    let order = graph.order(slots.max(1))?;
    let placements = Placement::declared(schedule);
    races::check(schedule, &graph, &order, &placements)?;
    for placement in &placements {
        content::check(schedule, &graph, &order, *placement)?;
    }
    let sent_chunks = schedule.programs.iter().map(|program| {
        let steps = program.blocks.iter().flat_map(|block| &block.steps);
        let leaving = |step: &&ScheduleStep| step.operation.sends() || step.operation.multicasts();
        steps.filter(leaving).map(|step| u64::from(step.count)).sum()
    });
    Ok(CheckReport {
        steps: graph.len(),
        sent_chunks: sent_chunks.collect(),
        longest_chain: graph.longest_chain(&order),
        placements,
    })
}
