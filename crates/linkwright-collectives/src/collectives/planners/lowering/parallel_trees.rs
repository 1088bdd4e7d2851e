//! Writes all-gathers and reduce-scatters along parallel trees, as NCCL's PAT.
//!
//! Every rank's data has a binomial tree of its own. Ranks are counted around from the tree's root. Above the rank that is s
//! behind stands one that is s without its lowest bit behind. So every rank exchanges with those that are a power of two
//! away, and no others. The longest way is taken first, with one part, and each next one of half the length with twice as
//! many. A reduce-scatter runs the other way, and reduces on it (NCCL, `src/include/collectives.h`, `PatAGAlgorithm` and
//! `PatRSAlgorithm`).

use std::ops::Range;

use crate::collectives::schedule::builder::ScheduleBuilder;
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::{Channel, Schedule, Slice, StepId, ThreadBlock};

/// The schedule of an all-gather or a reduce-scatter, whose shards have a chunk on each channel.
///
/// # Panics
/// If the collective is another one, or there are fewer than two GPUs.
#[must_use]
pub fn schedule_of_parallel_trees(
    name: &str,
    collective: Collective,
    gpus: &[usize],
    channels: &[Channel],
) -> Schedule {
    written(name, collective, gpus, channels, 0..gpus.len())
}

/// The same with the steps of rank 0 alone, as [`super::outline_of_rings`]: every rank does the like.
///
/// # Panics
/// Fails as [`schedule_of_parallel_trees`] does.
#[must_use]
pub(in crate::collectives) fn outline_of_parallel_trees(
    name: &str,
    collective: Collective,
    gpus: &[usize],
    channels: &[Channel],
) -> Schedule {
    let ranks = gpus.len();
    let mut schedule = written(name, collective, gpus, channels, 0..1);
    let (first, others) = schedule.programs.split_first_mut().expect("there are ranks");
    for (rank, program) in (1..).zip(others) {
        let like = |peer: usize| (peer + rank) % ranks;
        let block = |known: &ThreadBlock| ThreadBlock {
            send: known.send.map(like),
            receive: known.receive.map(like),
            channel: known.channel,
            steps: Vec::new(),
        };
        program.blocks = first.blocks.iter().map(block).collect();
    }
    schedule
}

fn written(
    name: &str,
    collective: Collective,
    gpus: &[usize],
    channels: &[Channel],
    own: Range<usize>,
) -> Schedule {
    assert!(gpus.len() > 1, "parallel trees join two ranks or more");
    let chunks = channels.len() as u32;
    let mut builder = ScheduleBuilder::new(name, collective, gpus.to_vec(), chunks);
    for (chunk, channel) in channels.iter().enumerate() {
        let channel = builder.channel(channel.clone());
        let mut trees = Trees {
            builder: &mut builder,
            ranks: gpus.len(),
            own: own.clone(),
            channel,
            chunk: chunk as u32,
            chunks,
        };
        match collective {
            Collective::AllGather => trees.gather(),
            Collective::ReduceScatter => trees.scatter(),
            other => panic!("{other} has no parallel trees"),
        }
    }
    builder.finish()
}

/// Writes one channel into the schedule.
struct Trees<'a> {
    builder: &'a mut ScheduleBuilder,
    ranks: usize,
    /// The ranks whose steps are written.
    own: Range<usize>,
    channel: usize,
    chunk: u32,
    chunks: u32,
}

impl Trees<'_> {
    /// Lists the lengths of ways: the powers of two below the number of ranks.
    fn lengths(&self) -> Vec<usize> {
        let powers = (0..usize::BITS).map(|power| 1 << power);
        powers.take_while(|length| *length < self.ranks).collect()
    }

    /// How far behind roots the ranks are that send over ways of a length: each part that goes that way.
    fn above(&self, length: usize) -> Vec<usize> {
        (0..self.ranks - length).step_by(2 * length).collect()
    }

    /// A chunk of the shard of the rank that is so far ahead.
    fn of_shard(&self, rank: usize, ahead: usize) -> u32 {
        ((rank + ahead) % self.ranks) as u32 * self.chunks + self.chunk
    }

    fn gather(&mut self) {
        let ranks = self.ranks;
        let mut received: Vec<Vec<Option<StepId>>> = vec![vec![None; ranks]; self.own.len()];
        for rank in self.own.clone() {
            let kept = Slice::output(self.of_shard(rank, 0));
            self.builder.copy(rank, self.channel, Slice::input(self.chunk), kept, 1, &[]);
        }
        for length in self.lengths().into_iter().rev() {
            for (at, rank) in self.own.clone().enumerate() {
                let (to, from) = ((rank + ranks - length) % ranks, (rank + length) % ranks);
                for ahead in self.above(length) {
                    let source = match ahead {
                        0 => Slice::input(self.chunk),
                        _ => Slice::output(self.of_shard(rank, ahead)),
                    };
                    let after = received[at][ahead].as_slice().to_vec();
                    self.builder.send(rank, self.channel, to, source, 1, &after);
                }
                for ahead in self.above(length) {
                    let kept = Slice::output(self.of_shard(rank, ahead + length));
                    let step = self.builder.receive(rank, self.channel, from, None, kept, 1, &[]);
                    received[at][ahead + length] = Some(step);
                }
            }
        }
    }

    fn scatter(&mut self) {
        let ranks = self.ranks;
        let mut sums: Vec<Vec<Option<(Slice, StepId)>>> = vec![vec![None; ranks]; self.own.len()];
        let rooms: Vec<Slice> =
            self.own.clone().map(|rank| self.builder.scratch(rank, ranks as u32)).collect();
        for length in self.lengths() {
            for (at, rank) in self.own.clone().enumerate() {
                let (to, from) = ((rank + length) % ranks, (rank + ranks - length) % ranks);
                for above in self.above(length) {
                    let ahead = above + length;
                    let whole = Slice::input(self.of_shard(rank, ahead));
                    let (source, after) = match sums[at][ahead] {
                        Some((place, step)) => (place, vec![step]),
                        None => (whole, Vec::new()),
                    };
                    self.builder.send(rank, self.channel, to, source, 1, &after);
                }
                for ahead in self.above(length) {
                    let place = match ahead {
                        0 => Slice::output(self.chunk),
                        _ => Slice::scratch(rooms[at].offset + ahead as u32),
                    };
                    let own = Slice::input(self.of_shard(rank, ahead));
                    let (source, after) = match sums[at][ahead] {
                        Some((place, step)) => (place, vec![step]),
                        None => (own, Vec::new()),
                    };
                    let (builder, channel) = (&mut *self.builder, self.channel);
                    let step = builder.receive(rank, channel, from, Some(source), place, 1, &after);
                    sums[at][ahead] = Some((place, step));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectives::schedule::check::check;

    /// The number of ranks may be no power of two. Every rank sends each shard but its own once on each channel.
    #[test]
    fn any_number_of_ranks_ends_with_the_collective() {
        for ranks in (2..=17).chain([24, 31]) {
            let gpus: Vec<usize> = (0..ranks).collect();
            for collective in [Collective::AllGather, Collective::ReduceScatter] {
                for channels in [1, 3] {
                    let channels = vec![Channel::default(); channels];
                    let schedule = schedule_of_parallel_trees("pat", collective, &gpus, &channels);
                    check(&schedule).unwrap();
                    let sends = |rank: usize| {
                        let steps = schedule.programs[rank].blocks.iter().flat_map(|it| &it.steps);
                        steps.filter(|step| step.operation.sends()).count()
                    };
                    assert!((0..ranks).all(|rank| sends(rank) == (ranks - 1) * channels.len()));
                    let outline = outline_of_parallel_trees("pat", collective, &gpus, &channels);
                    assert_eq!(outline.programs[0], schedule.programs[0]);
                    let ends = |schedule: &Schedule, rank: usize| -> Vec<_> {
                        let blocks = schedule.programs[rank].blocks.iter();
                        blocks.map(|it| (it.send, it.receive, it.channel)).collect()
                    };
                    assert!((0..ranks).all(|rank| ends(&outline, rank) == ends(&schedule, rank)));
                }
            }
        }
    }
}
