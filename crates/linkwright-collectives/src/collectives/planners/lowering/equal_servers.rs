//! Collectives among servers that are all alike.
//!
//! Every server has as many ranks, in places that correspond. The ranks in one place of all servers
//! are a **rail**. A place has trees of its own within each server, with the place as their root. A
//! tree's run of the data crosses between servers along the tree's rail and nowhere else. It goes
//! from a server to all others by a doubling tree. In this tree the server `d` further on receives
//! from one before it: the one nearer by the largest power of two in `d`. Every server is a root
//! alike, so that each interface sends as much as it receives, whatever the tree's shape. A server
//! has few neighbours, all a power of two away. The source is Bruck et al., "Efficient algorithms
//! for all-to-all communications in multiport message-passing systems", 1997. Steps are written
//! distance by distance, for all servers at once. They come in the order in which data arrives, and
//! every server's are like every other's.

use super::tree::{Lowering, MAX_CHANNELS, RootedTree};
use crate::collectives::schedule::builder::ScheduleBuilder;
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::{Channel, Schedule, Slice, StepId};

/// Describes a tree of every server, by places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceTree {
    /// Gives, for each place, the one nearer to the root; `None` for the root alone.
    pub parent: Vec<Option<usize>>,
    /// How many chunks: of the shard of the root's place on a server, or, of an all-reduce, of the run
    /// that a server reduces.
    pub chunks: u32,
}

/// Writes an all-gather, reduce-scatter or all-reduce among servers that are alike. `servers` lists
/// the ranks of each in the order of their places. The trees of every place carry the same number
/// of chunks.
///
/// # Panics
/// If the collective is another one, servers differ in their number of ranks, or places in that of
/// their chunks.
#[must_use]
pub fn schedule_of_equal_servers(
    name: &str,
    collective: Collective,
    gpus: &[usize],
    servers: &[Vec<usize>],
    trees: &[PlaceTree],
) -> Schedule {
    let places = servers[0].len();
    assert!(servers.iter().all(|ranks| ranks.len() == places), "servers have as many ranks each");
    let mut used = vec![0; places];
    let starts: Vec<u32> = trees
        .iter()
        .map(|tree| {
            let root = root_of(tree);
            used[root] += tree.chunks;
            used[root] - tree.chunks
        })
        .collect();
    assert!(used.iter().all(|chunks| *chunks == used[0]), "places have equal numbers of chunks");
    // An all-reduce has one shard, in which each place has a run for every server.
    let per_place = used[0];
    let chunks = match collective {
        Collective::AllReduce => per_place * (places * servers.len()) as u32,
        _ => per_place,
    };
    let mut builder = ScheduleBuilder::new(name, collective, gpus.to_vec(), chunks);
    let channels: Vec<usize> =
        (0..trees.len().min(MAX_CHANNELS)).map(|_| builder.channel(Channel::default())).collect();
    for ((at, tree), start) in trees.iter().enumerate().zip(starts) {
        let root = root_of(tree);
        let channel = channels[at % channels.len()];
        let mut lowering = Rail { builder: &mut builder, servers, tree, root, channel, chunks };
        match collective {
            Collective::AllGather => lowering.all_gather(start),
            Collective::ReduceScatter => lowering.reduce_scatter(start),
            Collective::AllReduce => {
                let length = servers.len() as u32;
                lowering.all_reduce(root as u32 * per_place * length + start * length);
            }
            other => panic!("{other} has a root"),
        }
    }
    builder.finish()
}

fn root_of(tree: &PlaceTree) -> usize {
    tree.parent.iter().position(Option::is_none).expect("a tree has a root")
}

/// Returns how much nearer the server is that one at a distance, above 0, receives from.
fn step_back(distance: usize) -> usize {
    1 << distance.ilog2()
}

/// Writes one tree into the schedule.
struct Rail<'a> {
    builder: &'a mut ScheduleBuilder,
    servers: &'a [Vec<usize>],
    tree: &'a PlaceTree,
    /// Names the tree's root, and so the place of its rail.
    root: usize,
    channel: usize,
    /// Chunks in a shard.
    chunks: u32,
}

impl Rail<'_> {
    fn length(&self) -> usize {
        self.servers.len()
    }

    /// Returns the rank of the rail `on` servers further on.
    fn rank(&self, server: usize, on: usize) -> usize {
        self.servers[(server + on) % self.length()][self.root]
    }

    /// Returns a lowering of the tree on a server, with the tree's own number of chunks.
    fn on<'a>(&'a mut self, server: usize, tree: &'a RootedTree) -> Lowering<'a> {
        Lowering {
            builder: self.builder,
            tree,
            root: self.root,
            channel: self.channel,
            chunks: self.chunks,
            ranks: Some(&self.servers[server]),
        }
    }

    /// Returns the tree by places, for runs of `chunks` chunks.
    fn local(&self, chunks: u32) -> RootedTree {
        let channel = Channel::default();
        RootedTree { parent: self.tree.parent.clone(), chunks, channel }
    }

    /// Whether each server has but one rank.
    fn is_alone(&self) -> bool {
        self.tree.parent.len() == 1
    }

    /// Sends each rank's shard along the rail, and from there to the ranks of each server.
    fn all_gather(&mut self, start: u32) {
        let (length, count, channel) = (self.length(), self.tree.chunks, self.channel);
        let tree = self.local(count);
        for distance in 0..length {
            for server in 0..length {
                let rank = self.rank(server, 0);
                let origin = self.rank(server, length - distance);
                let place = Slice::output(origin as u32 * self.chunks + start);
                let (source, ready) = if distance == 0 {
                    let own = Slice::input(start);
                    self.builder.copy(rank, channel, own, place, count, &[]);
                    (own, None)
                } else {
                    let from = self.rank(server, length - step_back(distance));
                    let received =
                        self.builder.receive(rank, channel, from, None, place, count, &[]);
                    (place, Some(received))
                };
                for next in nexts(distance, length) {
                    let to = self.rank(server, next - distance);
                    self.builder.send(rank, channel, to, source, count, ready.as_slice());
                }
                self.on(server, &tree).distribute(source, place, ready);
            }
        }
    }

    /// Takes the way of an all-gather back. The ranks of each server reduce to the rail. Servers
    /// along it reduce to the one whose shard it is.
    fn reduce_scatter(&mut self, start: u32) {
        let (length, count, channel) = (self.length(), self.tree.chunks, self.channel);
        let tree = self.local(count);
        let alone = self.is_alone();
        let inner: Vec<bool> = tree.children().iter().map(|below| !below.is_empty()).collect();
        for distance in (0..length).rev() {
            for server in 0..length {
                let rank = self.rank(server, 0);
                let owner = self.rank(server, length - distance);
                let own = Slice::input(owner as u32 * self.chunks + start);
                let place = if distance == 0 {
                    Slice::output(start)
                } else {
                    self.builder.scratch(rank, count)
                };
                let mut room = vec![place; inner.len()];
                for at in (0..inner.len()).filter(|at| inner[*at] && *at != self.root) {
                    room[at] = self.builder.scratch(self.servers[server][at], count);
                }
                let reduced =
                    if alone { None } else { self.on(server, &tree).collect(own, &room, place) };
                let partial = if alone { own } else { place };
                let nexts: Vec<usize> = nexts(distance, length).collect();
                let (place, ready) =
                    self.add_all(server, distance, &nexts, (partial, place), reduced);
                if distance > 0 {
                    let to = self.rank(server, length - step_back(distance));
                    self.builder.send(rank, channel, to, place, count, ready.as_slice());
                }
            }
        }
    }

    /// Adds the runs that the rail's rank of a server receives to the data that it has at
    /// `partial`, after `ready`. It receives from the ranks behind it, the farthest first. Returns
    /// where the sum is, and after which step.
    fn add_all(
        &mut self,
        server: usize,
        distance: usize,
        nexts: &[usize],
        (mut partial, place): (Slice, Slice),
        mut ready: Option<StepId>,
    ) -> (Slice, Option<StepId>) {
        let (rank, channel, count) = (self.rank(server, 0), self.channel, self.tree.chunks);
        for next in nexts.iter().rev() {
            let from = self.rank(server, next - distance);
            let (own, after) = (Some(partial), ready.as_slice().to_vec());
            let added = self.builder.receive(rank, channel, from, own, place, count, &after);
            (partial, ready) = (place, Some(added));
        }
        (partial, ready)
    }

    /// Reduces the data on each server to the rail. Every server then reduces a run of it, and
    /// hands it to all others. The result is sent out on each server.
    fn all_reduce(&mut self, start: u32) {
        let (length, count, channel) = (self.length(), self.tree.chunks, self.channel);
        let (tree, alone) = (self.local(count * length as u32), self.is_alone());
        let whole = Slice::output(start);
        let mut ready = vec![None::<StepId>; length];
        if !alone {
            let room = vec![whole; tree.parent.len()];
            for (server, ready) in ready.iter_mut().enumerate() {
                *ready = self.on(server, &tree).collect(Slice::input(start), &room, whole);
            }
        }
        // A server's run is reduced on the way to it, by those behind it: data only goes on.
        let run = |server: usize| start + (server % length) as u32 * count;
        let partial = if alone { Slice::input } else { Slice::output };
        let mut sent = vec![None::<StepId>; length * length];
        let mut reduced = vec![None::<StepId>; length];
        for distance in (0..length).rev() {
            for server in 0..length {
                let at = run(server + distance);
                let (mut own, mut after) = (partial(at), ready[server]);
                let rank = self.rank(server, 0);
                for next in nexts(distance, length).collect::<Vec<_>>().into_iter().rev() {
                    let from = self.rank(server, length - (next - distance));
                    let (with, place) = (Some(own), Slice::output(at));
                    let before = after.as_slice().to_vec();
                    let added =
                        self.builder.receive(rank, channel, from, with, place, count, &before);
                    (own, after) = (place, Some(added));
                }
                if distance == 0 {
                    reduced[server] = after;
                } else {
                    let to = self.rank(server, step_back(distance));
                    let step = self.builder.send(rank, channel, to, own, count, after.as_slice());
                    sent[server * length + distance] = Some(step);
                }
            }
        }
        let mut there: Vec<Vec<StepId>> = vec![Vec::new(); length];
        for distance in 0..length {
            for server in 0..length {
                let place = Slice::output(run(server + length - distance));
                let rank = self.rank(server, 0);
                let ready = if distance == 0 {
                    reduced[server]
                } else {
                    let from = self.rank(server, length - step_back(distance));
                    // This receive replaces a part that must have been sent before.
                    let replaced = sent[server * length + (length - distance)];
                    let after: Vec<StepId> = replaced.into_iter().collect();
                    let received =
                        self.builder.receive(rank, channel, from, None, place, count, &after);
                    Some(received)
                };
                there[server].extend(ready);
                for next in nexts(distance, length) {
                    let to = self.rank(server, next - distance);
                    self.builder.send(rank, channel, to, place, count, ready.as_slice());
                }
            }
        }
        for (server, there) in there.iter().enumerate().filter(|_| !alone) {
            // Of the steps of one block the last comes after all others.
            let mut last: Vec<StepId> = Vec::new();
            for step in there {
                match last.iter_mut().find(|known| known.block == step.block) {
                    Some(known) => known.step = known.step.max(step.step),
                    None => last.push(*step),
                }
            }
            let all = self.builder.wait(self.rank(server, 0), channel, &last);
            self.on(server, &tree).distribute(whole, whole, Some(all));
        }
    }
}

/// The distances of those that one at a distance sends to, the nearest last: the widest part of the
/// tree first.
fn nexts(distance: usize, length: usize) -> impl DoubleEndedIterator<Item = usize> {
    let first = if distance == 0 { 0 } else { distance.ilog2() + 1 };
    let last = usize::BITS - (length - 1).leading_zeros();
    let next = move |power: u32| distance + (1 << power);
    (first..last).map(next).filter(move |next| *next < length)
}
