//! Writes a schedule as the messages of each rank, for a replay of programs.
//!
//! Every step that sends is a message of its run of chunks, and every step that receives waits for
//! one. This leaves out the time of reductions and of copies within a rank, and relays. A replay's
//! network finds the way of every message itself. Only messages that a plan leads by interfaces of
//! its choice or over the host have a given way ([`ways`]).
//!
//! - In a [`Schedule`] ([`MessageSchedule`]) the steps of a block follow one another, and the steps
//!   of different blocks run side by side. Data longer than one message's share is cut into pieces.
//!   Every piece runs the whole schedule, one behind the other in each block. A connection has
//!   [`DEFAULT_SLOTS`] receives posted ahead. So a schedule which
//!   [`check`](crate::collectives::check()) finds free of deadlock stays free where a send ends
//!   only with its receive.
//! - In a [`ScheduleSource`] ([`program`], [`part`]) the messages of a group post together,
//!   receives and sends in the order of its steps. The next group waits for all of them.

#[doc(hidden)]
pub mod contract;
mod order;
mod ways;

use std::ops::Range;

use self::order::{Walk, follow};
use self::ways::Ways;
use crate::collectives::schedule::check::DEFAULT_SLOTS;
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::source::{Group, ScheduleSource};
use crate::collectives::schedule::time::TimeError;
use crate::collectives::schedule::{Schedule, StepId};
use crate::network::RouteClass;
use crate::program::{Dependency, Operation, RankBuilder, RankProgram, WORLD};
use crate::system::System;
use crate::units::Bytes;

/// The most operations that all ranks have together because data is cut into pieces; a schedule
/// that has more by itself runs in one piece.
const MOST_OPERATIONS: u64 = 1 << 21;

/// A schedule whose programs can be written for data of any size.
#[derive(Debug, Clone)]
pub struct MessageSchedule {
    schedule: Schedule,
    walk: Walk,
    ways: Ways,
}

impl MessageSchedule {
    /// Follows the data through a schedule.
    ///
    /// # Panics
    /// Where a step names chunks that its rank's buffers do not have; [`check`](crate::collectives::check())
    /// tells beforehand.
    ///
    /// # Errors
    /// Returns [`TimeError::Unpaired`] where a send has no receive or a receive no send. Returns
    /// [`TimeError::Stuck`] where steps wait for one another for ever, and [`TimeError::InSwitch`]
    /// where a switch does some of them.
    pub fn new(schedule: Schedule) -> Result<Self, TimeError> {
        if let Some((rank, block, step)) = schedule.first_in_switch() {
            return Err(TimeError::InSwitch { rank, block, step });
        }
        let walk = follow(&schedule)?;
        Ok(Self { schedule, walk, ways: Ways::default() })
    }

    /// With its messages on the ways that it chose, of a schedule that was planned for GPUs of this
    /// system.
    #[must_use]
    pub fn on_its_ways(self, system: &System) -> Self {
        Self { ways: Ways::of(&self.schedule, system), ..self }
    }

    /// Returns the schedule.
    #[must_use]
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Returns the messages that one rank sends and receives. `size` is as in
    /// [`Operation::Collective`](crate::program::Operation): the whole vector of a broadcast,
    /// reduction or reduce-scatter, one rank's part otherwise. `longest` is the most bytes of one
    /// message, as long as the operations are not too many.
    ///
    /// Peers are ranks of the schedule, tags number the messages of a connection, and every
    /// message names [`WORLD`]. Runs of no bytes are not sent.
    ///
    /// # Panics
    /// For a rank that the schedule does not have.
    #[must_use]
    pub fn program(&self, rank: usize, size: Bytes, longest: Bytes) -> RankProgram {
        let mut writer = Writer::new(self.cut(size, longest), self.lanes(rank));
        writer.schedule(self, rank, |_, _, _| ());
        writer.program.finish()
    }

    /// How many blocks a rank has.
    fn lanes(&self, rank: usize) -> usize {
        self.schedule.programs[rank].blocks.len()
    }

    /// How data of a size is cut, the same for every rank.
    fn cut(&self, size: Bytes, longest: Bytes) -> Cut {
        let Schedule { collective, chunks, .. } = self.schedule;
        let mut cut = Cut::whole(collective, self.schedule.ranks(), chunks, size);
        let run = u128::from(size.0.div_ceil(cut.shards)) * u128::from(self.walk.longest_run);
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
    /// Cuts nothing: it keeps the data in one piece.
    fn whole(collective: Collective, ranks: usize, chunks: u32, size: Bytes) -> Self {
        let shards = match collective {
            Collective::ReduceScatter => ranks as u64,
            _ => 1,
        };
        Self { size: size.0, shards, chunks: u64::from(chunks.max(1)), pieces: 1 }
    }

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
            let length =
                share(own + 1, self.shards, self.size) - share(own, self.shards, self.size);
            share(piece + 1, self.pieces, length) - share(piece, self.pieces, length)
        };
        let whole: u64 = match (self.shards, self.pieces) {
            (1, _) => shard.saturating_mul(length(0)),
            (shards, 1) => share(shard, shards, self.size),
            _ => (0..shard).map(length).sum(),
        };
        if chunk == 0 {
            whole
        } else {
            whole.saturating_add(share(chunk, self.chunks, length(shard)))
        }
    }
}

/// Where a part of a whole starts when it is cut into equal ones, in whole bytes.
fn share(index: u64, of: u64, whole: u64) -> u64 {
    (u128::from(whole) * u128::from(index) / u128::from(of)) as u64
}

/// Returns the messages that one rank of a rule sends and receives. `size` is as in
/// [`MessageSchedule::program`].
///
/// Peers are ranks of the rule, tags are those of its groups, and every message names [`WORLD`].
/// Messages of no bytes are sent, too.
///
/// # Panics
/// For a rank that the rule does not have.
#[must_use]
pub fn program(source: &impl ScheduleSource, rank: u32, size: Bytes) -> RankProgram {
    part(source, rank, size, 0, u32::MAX).0
}

/// Returns the same from one of the rank's groups on, with whole groups until it has `most`
/// operations. It also returns the next group with messages, from which to go on when all of these
/// are complete. There is none behind the last.
///
/// # Panics
/// For a rank that the rule does not have.
#[must_use]
pub fn part(
    source: &impl ScheduleSource,
    rank: u32,
    size: Bytes,
    from: u32,
    most: u32,
) -> (RankProgram, Option<u32>) {
    assert!((rank as usize) < source.ranks(), "rank {rank} of {}", source.ranks());
    let cut = Cut::whole(source.collective(), source.ranks(), source.chunks(), size);
    let mut writer = Writer::new(cut, 1);
    let mut group = Group::of_messages();
    let (groups, mut next) = (source.groups(rank), from);
    while next < groups {
        group.steps.clear();
        source.group(rank, next, &mut group);
        if writer.operations >= most && !group.steps.is_empty() {
            break;
        }
        writer.together(&group);
        next += 1;
    }
    (writer.program.finish(), (next < groups).then_some(next))
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
struct Writer {
    cut: Cut,
    program: RankBuilder,
    /// How many operations it has.
    operations: u32,
    lanes: Vec<Lane>,
}

impl Writer {
    fn new(cut: Cut, lanes: usize) -> Self {
        Self {
            cut,
            program: RankBuilder::default(),
            operations: 0,
            lanes: vec![Lane::default(); lanes],
        }
    }

    /// Writes all steps of a rank of a schedule; after each it tells the step's piece, the step, and how
    /// many operations there are.
    fn schedule(
        &mut self,
        of: &MessageSchedule,
        rank: usize,
        mut wrote: impl FnMut(u64, StepId, u32),
    ) {
        let blocks = &of.schedule.programs[rank].blocks;
        // The operation that ends each step of each block in this piece.
        let mut ends: Vec<Vec<u32>> =
            blocks.iter().map(|block| vec![0; block.steps.len()]).collect();
        for piece in 0..self.cut.pieces {
            for id in &of.walk.order[rank] {
                let last = self.step(of, rank, piece, *id, &ends);
                ends[id.block as usize][id.step as usize] = last;
                wrote(piece, *id, self.operations);
            }
        }
    }

    /// Writes one step, whose block goes on behind its last operation.
    fn step(
        &mut self,
        of: &MessageSchedule,
        rank: usize,
        piece: u64,
        id: StepId,
        ends: &[Vec<u32>],
    ) -> u32 {
        let (at, index) = (id.block as usize, id.step as usize);
        let block = &of.schedule.programs[rank].blocks[at];
        let step = &block.steps[index];
        let bytes = Bytes(self.cut.bytes(piece, &of.walk.moved[rank][at][index]));
        let mut before: Vec<Dependency> = self.lanes[at].last.map(completed).into_iter().collect();
        let ended = |earlier: &StepId| ends[earlier.block as usize][earlier.step as usize];
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
            for (_, part) in of.ways.parts(block.channel, (from, rank), bytes.0) {
                let receive = receive(from as u32, tag(self.lanes[at].taken), part);
                self.lanes[at].taken += 1;
                before.push(completed(self.push(receive, &free)));
            }
        }
        let parts = to.map(|to| (to, of.ways.parts(block.channel, (rank, to), bytes.0)));
        let sends = parts.into_iter().flat_map(|(to, parts)| {
            parts.into_iter().map(move |(route, part)| (to as u32, route, part))
        });
        let sent: Vec<u32> = sends
            .map(|(to, route, part)| {
                let tag = tag(self.lanes[at].sent);
                self.lanes[at].sent += 1;
                let communicator = WORLD;
                let send = Operation::Send { to, tag, communicator, size: part, route };
                self.push(send, &before)
            })
            .collect();
        let last = match sent[..] {
            [sent] => sent,
            [] => self.push(Operation::Join, &before),
            _ => {
                let sent: Vec<Dependency> = sent.into_iter().map(completed).collect();
                self.push(Operation::Join, &sent)
            }
        };
        let lane = &mut self.lanes[at];
        lane.last = Some(last);
        if from.is_some() {
            if lane.received.len() == DEFAULT_SLOTS {
                lane.received.remove(0);
            }
            lane.received.push(last);
        }
        last
    }

    /// Writes a group's messages, each behind the start of the one before, and the operation that
    /// waits for all.
    fn together(&mut self, group: &Group) {
        let mut before = self.lanes[0].last.map(completed);
        let first = self.operations;
        for step in &group.steps {
            let Some(peer) = step.peer else { continue };
            let bytes = Bytes(self.cut.bytes(0, std::slice::from_ref(&step.moved)));
            let operation = match step.operation.sends() {
                true => send(peer, group.tag, bytes),
                false => receive(peer, group.tag, bytes),
            };
            before = Some(Dependency::Started(self.push(operation, before.as_slice())));
        }
        let posted = first..self.operations;
        if posted.len() > 1 {
            let dependencies: Vec<_> = before.into_iter().chain(posted.map(completed)).collect();
            self.push(Operation::Join, &dependencies);
        }
        if self.operations > first {
            self.lanes[0].last = Some(self.operations - 1);
        }
    }

    fn push(&mut self, operation: Operation, before: &[Dependency]) -> u32 {
        self.operations += 1;
        self.program.push(operation, before)
    }
}

fn receive(from: u32, tag: u32, size: Bytes) -> Operation {
    Operation::Receive { from: Some(from), tag: Some(tag), communicator: WORLD, size }
}

fn send(to: u32, tag: u32, size: Bytes) -> Operation {
    Operation::Send { to, tag, communicator: WORLD, size, route: RouteClass::Any }
}

fn completed(operation: u32) -> Dependency {
    Dependency::Completed(operation)
}

#[cfg(test)]
mod tests;
