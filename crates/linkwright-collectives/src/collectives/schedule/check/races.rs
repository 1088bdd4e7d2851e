//! Whether two steps of a rank may use a chunk at once.
//!
//! A clock per step says how far it has surely come after each block of one rank. The steps are
//! followed in an order that respects all waits. Each access of a chunk is compared with the last
//! write and the reads since. If those are ordered before it, everything that came before them is,
//! too (C. Flanagan and S. Freund, "FastTrack", PLDI 2009).

use super::fault::{ScheduleFault, StepPlace};
use super::limits;
use super::order::{StepGraph, StepIndex};
use super::structure::chunk_of;
use crate::collectives::schedule::placement::{MemoryMap, Placement};
use crate::collectives::schedule::{Schedule, Slice, StepOperation};

/// Names a step of the rank at hand by its block and its position there.
type Access = (usize, usize);

/// Who has used a stretch of memory that no step divides.
#[derive(Debug, Clone, Default)]
struct History {
    written: Option<Access>,
    /// Holds, since then, the last read of each block.
    read: Vec<Access>,
}

/// Finds a race in any of the placements.
pub(super) fn check(
    schedule: &Schedule,
    graph: &StepGraph<'_>,
    order: &[StepIndex],
    placements: &[Placement],
) -> Result<(), ScheduleFault> {
    let mut own = vec![Vec::new(); schedule.ranks()];
    for &index in order {
        own[graph.place(index).rank].push(index);
    }
    let mut runs = 0;
    for (rank, steps) in own.iter().enumerate() {
        let blocks = schedule.programs[rank].blocks.len();
        if blocks < 2 {
            continue;
        }
        let clocks = clocks(graph, order, rank, blocks);
        for placement in placements {
            let memory = MemoryMap::new(schedule, rank, *placement);
            let rank = Rank { graph, steps, clocks: &clocks, blocks, memory };
            rank.check(*placement, &mut runs)?;
        }
    }
    Ok(())
}

/// For each step and each block of the rank, how many steps of the block have surely ended
/// once the step has.
fn clocks(graph: &StepGraph<'_>, order: &[StepIndex], rank: usize, blocks: usize) -> Vec<u32> {
    let mut clocks = vec![0_u32; graph.len() * blocks];
    let mut clock = vec![0_u32; blocks];
    for &index in order {
        clock.fill(0);
        for (earlier, _) in graph.predecessors(index) {
            let known = &clocks[earlier * blocks..(earlier + 1) * blocks];
            for (ours, theirs) in clock.iter_mut().zip(known) {
                *ours = (*ours).max(*theirs);
            }
        }
        let place = graph.place(index);
        if place.rank == rank {
            clock[place.block] = place.step as u32 + 1;
        }
        clocks[index * blocks..(index + 1) * blocks].copy_from_slice(&clock);
    }
    clocks
}

/// Follows one rank in one placement.
struct Rank<'a> {
    graph: &'a StepGraph<'a>,
    steps: &'a [StepIndex],
    clocks: &'a [u32],
    blocks: usize,
    memory: MemoryMap,
}

impl Rank<'_> {
    /// Lists the runs that a step reads and writes, reads first. A copy of a run to itself leaves
    /// all as it is. Copying the input to the output may come to this in place. It conflicts with
    /// other steps' writes but not with their reads.
    fn slices(&self, index: StepIndex) -> impl Iterator<Item = (Slice, bool)> {
        let step = self.graph.step(index);
        let address = |slice| self.memory.address(slice);
        let still = step.operation == StepOperation::Copy
            && step.source.map(address) == step.destination.map(address);
        let read = step.source.filter(|_| step.operation.reads_source());
        let writes = step.operation.writes_destination() && !still;
        let written = step.destination.filter(|_| writes);
        let read = read.map(|slice| (slice, false));
        read.into_iter().chain(written.map(|slice| (slice, true)))
    }

    fn check(&self, placement: Placement, runs: &mut usize) -> Result<(), ScheduleFault> {
        let mut cuts = Vec::with_capacity(4 * self.steps.len());
        for &index in self.steps {
            for (slice, _) in self.slices(index) {
                let first = self.memory.address(slice);
                cuts.extend([first, first + self.graph.step(index).count as usize]);
            }
        }
        cuts.sort_unstable();
        cuts.dedup();
        let mut histories = vec![History::default(); cuts.len()];
        for &index in self.steps {
            for (slice, writes) in self.slices(index) {
                let first = self.memory.address(slice);
                let end = first + self.graph.step(index).count as usize;
                let from = cuts.partition_point(|cut| *cut < first);
                let until = cuts.partition_point(|cut| *cut < end);
                *runs += until - from;
                if *runs > limits::RUNS {
                    let (what, limit) = ("runs of chunks to compare", limits::RUNS);
                    return Err(ScheduleFault::TooLarge { what, found: *runs, limit });
                }
                for stretch in from..until {
                    if let Some((other, other_writes)) =
                        self.record(&mut histories[stretch], index, writes)
                    {
                        let second = self.graph.place(index);
                        let first_place = StepPlace { block: other.0, step: other.1, ..second };
                        let (buffer, chunk) = chunk_of(slice, first, cuts[stretch]);
                        return Err(ScheduleFault::Race {
                            first: first_place,
                            first_writes: other_writes,
                            second,
                            second_writes: writes,
                            buffer,
                            chunk,
                            placement,
                        });
                    }
                }
            }
        }
        Ok(())
    }

    /// Notes an access, or returns an earlier one that conflicts and whether that one writes.
    fn record(
        &self,
        history: &mut History,
        index: StepIndex,
        writes: bool,
    ) -> Option<(Access, bool)> {
        let clock = &self.clocks[index * self.blocks..(index + 1) * self.blocks];
        let unordered = |&(block, step): &Access| clock[block] as usize <= step;
        let place = self.graph.place(index);
        let access = (place.block, place.step);
        if let Some(write) = history.written.filter(unordered) {
            return Some((write, true));
        }
        if !writes {
            match history.read.iter_mut().find(|(block, _)| *block == place.block) {
                Some(read) => *read = access,
                None => history.read.push(access),
            }
            return None;
        }
        if let Some(read) = history.read.iter().copied().find(unordered) {
            return Some((read, false));
        }
        history.read.clear();
        history.written = Some(access);
        None
    }
}
