//! Collectives around rings, as NCCL runs them.
//!
//! On a ring every rank sends to the next and receives from the one before, in lockstep. An
//! all-reduce cuts a ring's data into one run for each rank. A run is reduced once around and
//! handed on once around, 2 (n - 1) hops in all (NCCL's `all_reduce.h`, ring).

use std::ops::Range;

use crate::collectives::schedule::builder::ScheduleBuilder;
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::{Channel, Schedule, Slice, ThreadBlock};

/// A directed ring through all ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ring {
    /// The ranks; each sends to the next, the last to the first.
    pub order: Vec<usize>,
    /// How many chunks of a shard it carries: for an all-reduce a multiple of the ranks.
    pub chunks: u32,
    /// The links that it uses.
    pub channel: Channel,
}

/// The schedule of an all-reduce, all-gather or reduce-scatter around rings, each with its
/// own run of every shard. Collectives with a root are chains, which are trees.
///
/// # Panics
/// If the collective is another one, a ring has fewer than two ranks, or an all-reduce's
/// ring does not carry a multiple of the ranks.
#[must_use]
pub fn schedule_of_rings(
    name: &str,
    collective: Collective,
    gpus: &[usize],
    rings: &[Ring],
) -> Schedule {
    written(name, collective, gpus, rings, |ring| 0..ring.order.len())
}

/// Returns the same with the steps of rank 0 alone. Every other rank has the same blocks. A block
/// in the same place takes as many steps of the same kinds with as many chunks each, elsewhere in
/// its buffers. Around a long ring the outline is a small part of the whole, and tells everything
/// that a time depends on.
///
/// # Panics
/// Fails as [`schedule_of_rings`] does.
#[must_use]
pub(in crate::collectives) fn outline_of_rings(
    name: &str,
    collective: Collective,
    gpus: &[usize],
    rings: &[Ring],
) -> Schedule {
    let place = |ring: &Ring| {
        let first = ring.order.iter().position(|rank| *rank == 0).expect("rank 0 is on each ring");
        first..first + 1
    };
    let mut schedule = written(name, collective, gpus, rings, place);
    let (first, others) = schedule.programs.split_first_mut().expect("a ring has ranks");
    for (at, program) in (1..).zip(others) {
        let ends = |ring: &Ring| {
            let length = ring.order.len();
            let own = ring.order.iter().position(|rank| *rank == at).expect("each is on each ring");
            (ring.order[(own + length - 1) % length], ring.order[(own + 1) % length])
        };
        let ends: Vec<(usize, usize)> = rings.iter().map(ends).collect();
        let block = |known: &ThreadBlock| {
            let (before, next) = ends[known.channel];
            ThreadBlock {
                send: known.send.map(|_| next),
                receive: known.receive.map(|_| before),
                channel: known.channel,
                steps: Vec::new(),
            }
        };
        program.blocks = first.blocks.iter().map(block).collect();
    }
    schedule
}

/// Returns the schedule with the steps of the ranks at some positions of each ring.
fn written(
    name: &str,
    collective: Collective,
    gpus: &[usize],
    rings: &[Ring],
    positions: impl Fn(&Ring) -> Range<usize>,
) -> Schedule {
    let chunks = rings.iter().map(|ring| ring.chunks).sum();
    let mut builder = ScheduleBuilder::new(name, collective, gpus.to_vec(), chunks);
    let mut start = 0;
    for ring in rings {
        let channel = builder.channel(ring.channel.clone());
        let mut lowering = Lowering { builder: &mut builder, ring, channel, start, chunks };
        let positions = positions(ring);
        match collective {
            Collective::AllReduce => lowering.all_reduce(positions),
            Collective::AllGather => lowering.all_gather(positions),
            Collective::ReduceScatter => lowering.reduce_scatter(positions),
            other => panic!("{other} does not go around a ring"),
        }
        start += ring.chunks;
    }
    builder.finish()
}

/// Writes one ring into the schedule.
struct Lowering<'a> {
    builder: &'a mut ScheduleBuilder,
    ring: &'a Ring,
    channel: usize,
    /// Names the ring's first chunk in a shard.
    start: u32,
    /// Chunks in a shard.
    chunks: u32,
}

impl Lowering<'_> {
    /// Returns the rank at a position, counted around the ring in both directions.
    fn rank(&self, position: usize, back: usize) -> usize {
        let length = self.ring.order.len();
        self.ring.order[(position + 2 * length - back) % length]
    }

    /// Returns the ranks before and after a position.
    fn ends(&self, position: usize) -> (usize, usize) {
        let next = (position + 1) % self.ring.order.len();
        (self.rank(position, 1), self.ring.order[next])
    }

    fn all_reduce(&mut self, positions: Range<usize>) {
        let length = self.ring.order.len();
        let count = self.ring.chunks / length as u32;
        assert_eq!(self.ring.chunks, count * length as u32, "one run for each rank");
        for position in positions {
            let rank = self.ring.order[position];
            let (before, next) = self.ends(position);
            let run =
                |step: usize| self.start + ((position + 2 * length - step) % length) as u32 * count;
            let builder = &mut *self.builder;
            builder.on_ring(rank, self.channel, (before, next));
            builder.send(rank, self.channel, next, Slice::input(run(0)), count, &[]);
            for step in 1..2 * length - 2 {
                let (own, kept) = (Slice::input(run(step)), Slice::output(run(step)));
                let own = (step < length).then_some(own);
                let destination = (step >= length - 1).then_some(kept);
                let ends = (before, next);
                builder.receive_and_send(
                    rank,
                    self.channel,
                    ends,
                    own,
                    destination,
                    kept,
                    count,
                    &[],
                );
            }
            let last = Slice::output(run(2 * length - 2));
            builder.receive(rank, self.channel, before, None, last, count, &[]);
        }
    }

    fn all_gather(&mut self, positions: Range<usize>) {
        let (length, count) = (self.ring.order.len(), self.ring.chunks);
        for position in positions {
            let rank = self.ring.order[position];
            let (before, next) = self.ends(position);
            let place = |back: usize| {
                Slice::output(self.rank(position, back) as u32 * self.chunks + self.start)
            };
            let places: Vec<Slice> = (0..length).map(place).collect();
            let builder = &mut *self.builder;
            builder.on_ring(rank, self.channel, (before, next));
            let own = Slice::input(self.start);
            builder.copy(rank, self.channel, own, places[0], count, &[]);
            builder.send(rank, self.channel, next, own, count, &[]);
            for place in &places[1..length - 1] {
                let ends = (before, next);
                let kept = Some(*place);
                builder.receive_and_send(rank, self.channel, ends, None, kept, *place, count, &[]);
            }
            builder.receive(rank, self.channel, before, None, places[length - 1], count, &[]);
        }
    }

    fn reduce_scatter(&mut self, positions: Range<usize>) {
        let (length, count) = (self.ring.order.len(), self.ring.chunks);
        for position in positions {
            let rank = self.ring.order[position];
            let (before, next) = self.ends(position);
            let own = |back: usize| {
                Slice::input(self.rank(position, back) as u32 * self.chunks + self.start)
            };
            let shards: Vec<Slice> = (1..=length).map(own).collect();
            let builder = &mut *self.builder;
            builder.on_ring(rank, self.channel, (before, next));
            builder.send(rank, self.channel, next, shards[0], count, &[]);
            let kept = Slice::output(self.start);
            for shard in &shards[1..length - 1] {
                let (ends, own) = ((before, next), Some(*shard));
                builder.receive_and_send(rank, self.channel, ends, own, None, kept, count, &[]);
            }
            let own = Some(shards[length - 1]);
            builder.receive(rank, self.channel, before, own, kept, count, &[]);
        }
    }
}
