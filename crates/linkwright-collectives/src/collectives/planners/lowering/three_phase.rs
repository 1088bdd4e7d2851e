//! Writes an all-reduce across servers in three phases (Blink, figure 10).
//!
//! The data is cut into partitions, and each has one root on every server. The server's GPUs reduce
//! to it. The roots of the partition exchange their partial results. Each hands the result to its
//! server's GPUs. Two roots send each other their partial results, in one round. More of them go
//! around a ring. So each sends 2 (S - 1) / S of the partition and not S - 1 times all of it.

use super::tree::{Lowering, RootedTree, channel_for};
use crate::collectives::schedule::builder::ScheduleBuilder;
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::{Channel, Schedule, Slice, StepId};

/// Describes one server's part in a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalTree {
    /// The rank that has the server's partial result, and the whole result first.
    pub root: usize,
    /// Gives, for each rank of the server, the one nearer to the root. It is `None` for the root
    /// and for the ranks of other servers.
    pub parent: Vec<Option<usize>>,
    /// Names the links within the server.
    pub channel: Channel,
}

/// A run of the data that has the same roots and trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// Holds the tree of each server, in the same order for every partition.
    pub servers: Vec<LocalTree>,
    /// Counts the chunks: with more than two servers a multiple of their number.
    pub chunks: u32,
}

/// Returns the schedule of an all-reduce by partitions, each with its run of the data.
///
/// # Panics
/// If there are more than two servers and a partition's chunks are no multiple of their
/// number, or a partition has no server.
#[must_use]
pub fn schedule_of_partitions(name: &str, gpus: &[usize], partitions: &[Partition]) -> Schedule {
    let chunks = partitions.iter().map(|partition| partition.chunks).sum();
    let mut builder = ScheduleBuilder::new(name, Collective::AllReduce, gpus.to_vec(), chunks);
    let (mut users, mut start) = (Vec::new(), 0);
    for partition in partitions {
        let trees: Vec<RootedTree> = partition.servers.iter().map(|server| server.tree()).collect();
        let mut channels: Vec<usize> = Vec::new();
        for (at, tree) in trees.iter().enumerate() {
            // The servers of a partition share its channel where their links are of one kind.
            let alike = trees[..at].iter().position(|other| other.channel == tree.channel);
            let known = alike.map(|other| channels[other]);
            channels.push(known.unwrap_or_else(|| channel_for(&mut builder, &mut users, tree)));
        }
        Phases { builder: &mut builder, partition, trees, channels, start, chunks }.lower();
        start += partition.chunks;
    }
    builder.finish()
}

impl LocalTree {
    fn tree(&self) -> RootedTree {
        // The lowering of a run says how many chunks it carries.
        RootedTree { parent: self.parent.clone(), chunks: 0, channel: self.channel.clone() }
    }
}

/// A run of a partition that a root has in whole after one step.
#[derive(Debug, Clone, Copy)]
struct Whole {
    start: u32,
    count: u32,
    ready: Option<StepId>,
}

/// Holds a root's partial result from its own server: where it is, and after which step.
#[derive(Debug, Clone, Copy)]
struct Partial {
    place: Slice,
    ready: Option<StepId>,
}

impl Partial {
    fn run(&self, offset: u32) -> Slice {
        Slice { offset: self.place.offset + offset, ..self.place }
    }
}

/// Writes one partition into the schedule.
struct Phases<'a> {
    builder: &'a mut ScheduleBuilder,
    partition: &'a Partition,
    trees: Vec<RootedTree>,
    channels: Vec<usize>,
    start: u32,
    chunks: u32,
}

impl Phases<'_> {
    fn lower(&mut self) {
        let servers = self.partition.servers.len();
        let partial: Vec<Partial> = (0..servers).map(|server| self.reduce(server)).collect();
        let whole = match servers {
            1 => vec![vec![Whole {
                start: self.start,
                count: self.partition.chunks,
                ready: partial[0].ready,
            }]],
            2 => self.swap(&partial),
            _ => self.around(&partial),
        };
        for (server, runs) in whole.into_iter().enumerate() {
            runs.into_iter().for_each(|run| self.broadcast(server, run));
        }
    }

    fn root(&self, server: usize) -> usize {
        self.partition.servers[server].root
    }

    /// The first phase; a GPU that is alone on its server has the partial result already.
    fn reduce(&mut self, server: usize) -> Partial {
        let (root, channel) = (self.root(server), self.channels[server]);
        if self.trees[server].parent.iter().all(Option::is_none) {
            return Partial { place: Slice::input(self.start), ready: None };
        }
        self.trees[server].chunks = self.partition.chunks;
        let (tree, chunks) = (&self.trees[server], self.chunks);
        let place = Slice::output(self.start);
        let room = vec![place; tree.parent.len()];
        let mut lowering =
            Lowering { builder: self.builder, tree, root, channel, chunks, ranks: None };
        let ready = lowering.collect(Slice::input(self.start), &room, place);
        Partial { place, ready }
    }

    /// The second phase of two servers: each root sends what it has and adds what it gets.
    fn swap(&mut self, partial: &[Partial]) -> Vec<Vec<Whole>> {
        let (channel, count, start) = (self.channels[0], self.partition.chunks, self.start);
        let ends = [(self.root(0), self.root(1)), (self.root(1), self.root(0))];
        let send = |((rank, to), partial): ((usize, usize), &Partial)| {
            let after = partial.ready.as_slice();
            self.builder.send(rank, channel, to, partial.place, count, after)
        };
        let sent: Vec<StepId> = ends.into_iter().zip(partial).map(send).collect();
        let receive = |(((rank, from), partial), sent): (((usize, usize), &Partial), StepId)| {
            // The sum replaces what was sent, and so waits for the sending, too.
            let after: Vec<StepId> = partial.ready.into_iter().chain([sent]).collect();
            let (own, place) = (Some(partial.place), Slice::output(start));
            let ready = self.builder.receive(rank, channel, from, own, place, count, &after);
            vec![Whole { start, count, ready: Some(ready) }]
        };
        ends.into_iter().zip(partial).zip(sent).map(receive).collect()
    }

    /// Writes the second phase of more servers: a ring of the roots, a run for each.
    fn around(&mut self, partial: &[Partial]) -> Vec<Vec<Whole>> {
        let (channel, length) = (self.channels[0], partial.len());
        let count = self.partition.chunks / length as u32;
        assert_eq!(self.partition.chunks, count * length as u32, "one run for each server");
        let mut whole = vec![Vec::new(); length];
        for step in 0..2 * length - 1 {
            for (server, partial) in partial.iter().enumerate() {
                let rank = self.root(server);
                let before = self.root((server + length - 1) % length);
                let next = self.root((server + 1) % length);
                let offset = ((server + 2 * length - step) % length) as u32 * count;
                let (own, start) = (partial.run(offset), self.start + offset);
                let (place, after) = (Slice::output(start), partial.ready.as_slice());
                let builder = &mut *self.builder;
                if step == 0 {
                    builder.send(rank, channel, next, own, count, after);
                    continue;
                }
                let own = (step < length).then_some(own);
                let kept = (step >= length - 1).then_some(place);
                let ready = if step < 2 * length - 2 {
                    let ends = (before, next);
                    builder.receive_and_send(rank, channel, ends, own, kept, place, count, after)
                } else {
                    builder.receive(rank, channel, before, own, place, count, after)
                };
                if kept.is_some() {
                    whole[server].push(Whole { start, count, ready: Some(ready) });
                }
            }
        }
        whole
    }

    /// Writes the third phase.
    fn broadcast(&mut self, server: usize, run: Whole) {
        let (root, channel) = (self.root(server), self.channels[server]);
        self.trees[server].chunks = run.count;
        let (tree, chunks) = (&self.trees[server], self.chunks);
        let place = Slice::output(run.start);
        let mut lowering =
            Lowering { builder: self.builder, tree, root, channel, chunks, ranks: None };
        lowering.distribute(place, place, run.ready);
    }
}
