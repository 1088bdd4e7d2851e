//! A schedule as the messages of each rank, for a replay of programs.
//!
//! What it represents: every step that sends is a message of its run of chunks, every step that
//! receives waits for one; the steps of a block follow one another, and those of different blocks
//! run side by side, as the schedule says. Data longer than one message's share is cut into
//! pieces, and every piece runs the whole schedule, one behind the other in each block. A
//! connection has [`DEFAULT_SLOTS`] receives posted ahead, so that a schedule which
//! [`check`](super::check()) finds free of deadlock stays so where a send ends only with its
//! receive. What it leaves out: the time of reductions and of copies within a rank, as the
//! [lowerings of programs](crate::program::lowering) do; and relays and chosen ways, since a
//! replay's network finds the way of every message itself.

#[cfg(test)]
pub(crate) mod contract;
mod order;

use std::ops::Range;

use self::order::{Walk, walk};
use super::check::DEFAULT_SLOTS;
use super::collective::Collective;
use super::schedule::{Schedule, StepId};
use super::time::TimeError;
use crate::program::{Dependency, Operation, RankBuilder, RankProgram, WORLD};
use crate::units::Bytes;

/// The most operations that all ranks have together because data is cut into pieces; a schedule
/// that has more by itself runs in one piece.
const MOST_OPERATIONS: u64 = 1 << 21;

/// A schedule whose programs can be written for data of any size.
#[derive(Debug, Clone)]
pub struct MessageSchedule {
    schedule: Schedule,
    walk: Walk,
}

impl MessageSchedule {
    /// Follows the data through a schedule.
    ///
    /// # Panics
    /// Where a step names chunks that its rank's buffers do not have; [`check`](super::check())
    /// tells beforehand.
    ///
    /// # Errors
    /// [`TimeError::Unpaired`] where a send has no receive or a receive no send, and
    /// [`TimeError::Stuck`] where steps wait for one another for ever.
    pub fn new(schedule: Schedule) -> Result<Self, TimeError> {
        let walk = walk(&schedule)?;
        Ok(Self { schedule, walk })
    }

    /// The schedule.
    #[must_use]
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// What one rank sends and receives. `size` is as in
    /// [`Operation::Collective`](crate::program::Operation): the whole vector of a broadcast,
    /// reduction or reduce-scatter, one rank's part otherwise; `longest` is what one message
    /// carries at most, as long as the operations are not too many.
    ///
    /// Peers are ranks of the schedule, tags number the messages of a connection, and every
    /// message names [`WORLD`]. Runs of no bytes are not sent.
    ///
    /// # Panics
    /// For a rank that the schedule does not have.
    #[must_use]
    pub fn program(&self, rank: usize, size: Bytes, longest: Bytes) -> RankProgram {
        Writer::new(self, rank, self.cut(size, longest)).write()
    }

    /// How data of a size is cut, the same for every rank.
    fn cut(&self, size: Bytes, longest: Bytes) -> Cut {
        let Schedule { collective, chunks, .. } = &self.schedule;
        let shards = match collective {
            Collective::ReduceScatter => self.schedule.ranks() as u64,
            _ => 1,
        };
        let mut cut = Cut { size: size.0, shards, chunks: u64::from((*chunks).max(1)), pieces: 1 };
        let run = u128::from(size.0.div_ceil(shards)) * u128::from(self.walk.longest_run);
        let wanted = run.div_ceil(u128::from(longest.0.max(1)) * u128::from(cut.chunks));
        let most = MOST_OPERATIONS / (self.schedule.step_count() as u64).max(1);
        cut.pieces = u64::try_from(wanted).unwrap_or(u64::MAX).min(most).max(1);
        cut
    }
}

/// How the data is cut: into the shards whose lengths differ, these into pieces, and each piece of
/// a shard into chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cut {
    size: u64,
    shards: u64,
    chunks: u64,
    pieces: u64,
}

impl Cut {
    /// Bytes of runs of chunks in one piece.
    fn bytes(&self, piece: u64, runs: &[Range<u32>]) -> u64 {
        runs.iter().map(|run| self.before(piece, run.end) - self.before(piece, run.start)).sum()
    }

    /// Bytes of all chunks before this one in one piece, those of earlier shards included.
    fn before(&self, piece: u64, chunk: u32) -> u64 {
        let (shard, chunk) = (u64::from(chunk) / self.chunks, u64::from(chunk) % self.chunks);
        let length = |shard: u64| {
            // Shards of all collectives but one are as long as the size.
            let own = shard.min(self.shards - 1);
            let length = part(own + 1, self.shards, self.size) - part(own, self.shards, self.size);
            part(piece + 1, self.pieces, length) - part(piece, self.pieces, length)
        };
        let whole: u64 = match self.shards {
            1 => shard * length(0),
            _ => (0..shard).map(length).sum(),
        };
        if chunk == 0 { whole } else { whole + part(chunk, self.chunks, length(shard)) }
    }
}

/// Where a part of a whole starts when it is cut into equal ones, in whole bytes.
fn part(index: u64, of: u64, whole: u64) -> u64 {
    (u128::from(whole) * u128::from(index) / u128::from(of)) as u64
}

/// One block as its operations are written.
#[derive(Debug, Clone, Default)]
struct Lane {
    /// The operation that ends its last step.
    last: Option<u32>,
    /// Those that end its last steps with a receive, as many as a connection has slots.
    received: Vec<u32>,
    /// How many messages it has sent and received.
    sent: u32,
    taken: u32,
}

/// Writes one rank's program.
struct Writer<'a> {
    of: &'a MessageSchedule,
    rank: usize,
    cut: Cut,
    program: RankBuilder,
    lanes: Vec<Lane>,
    /// The operation that ends each step of each block in this piece.
    ends: Vec<Vec<u32>>,
    /// The step behind each operation, with its piece; only the tests ask.
    #[cfg(test)]
    steps: Vec<(u64, StepId)>,
}

impl<'a> Writer<'a> {
    fn new(of: &'a MessageSchedule, rank: usize, cut: Cut) -> Self {
        let blocks = &of.schedule.programs[rank].blocks;
        Self {
            of,
            rank,
            cut,
            program: RankBuilder::default(),
            lanes: vec![Lane::default(); blocks.len()],
            ends: blocks.iter().map(|block| vec![0; block.steps.len()]).collect(),
            #[cfg(test)]
            steps: Vec::new(),
        }
    }

    fn write(mut self) -> RankProgram {
        self.steps();
        self.program.finish()
    }

    fn steps(&mut self) {
        let of = self.of;
        for piece in 0..self.cut.pieces {
            for id in &of.walk.order[self.rank] {
                self.step(piece, *id);
            }
        }
    }

    fn step(&mut self, piece: u64, id: StepId) {
        let of = self.of;
        let (at, index) = (id.block as usize, id.step as usize);
        let block = &of.schedule.programs[self.rank].blocks[at];
        let step = &block.steps[index];
        let bytes = Bytes(self.cut.bytes(piece, &of.walk.moved[self.rank][at][index]));
        let mut before: Vec<Dependency> = self.lanes[at].last.map(completed).into_iter().collect();
        let ended = |earlier: &StepId| self.ends[earlier.block as usize][earlier.step as usize];
        before.extend(step.after.iter().map(ended).map(completed));
        let channels = of.schedule.channels.len() as u32;
        let tag = |count: u32| count.wrapping_mul(channels).wrapping_add(block.channel as u32);
        let from = block.receive.filter(|_| step.operation.receives() && bytes.0 > 0);
        let to = block.send.filter(|_| step.operation.sends() && bytes.0 > 0);
        if let Some(from) = from {
            let lane = &self.lanes[at];
            let slot = lane.received.len().checked_sub(DEFAULT_SLOTS);
            let free: Vec<Dependency> =
                slot.map(|slot| completed(lane.received[slot])).into_iter().collect();
            let receive = Operation::Receive {
                from: Some(from as u32),
                tag: Some(tag(lane.taken)),
                communicator: WORLD,
                size: bytes,
            };
            self.lanes[at].taken += 1;
            before.push(completed(self.push(receive, &free, piece, id)));
        }
        let last = match to {
            Some(to) => {
                let tag = tag(self.lanes[at].sent);
                self.lanes[at].sent += 1;
                let send = Operation::Send { to: to as u32, tag, communicator: WORLD, size: bytes };
                self.push(send, &before, piece, id)
            }
            None => self.push(Operation::Join, &before, piece, id),
        };
        let lane = &mut self.lanes[at];
        lane.last = Some(last);
        if from.is_some() {
            if lane.received.len() == DEFAULT_SLOTS {
                lane.received.remove(0);
            }
            lane.received.push(last);
        }
        self.ends[at][index] = last;
    }

    #[cfg_attr(not(test), allow(unused_variables, reason = "only the tests ask for the step"))]
    fn push(&mut self, operation: Operation, before: &[Dependency], piece: u64, id: StepId) -> u32 {
        #[cfg(test)]
        self.steps.push((piece, id));
        self.program.push(operation, before)
    }
}

fn completed(operation: u32) -> Dependency {
    Dependency::Completed(operation)
}

#[cfg(test)]
mod tests;
