//! Writes collectives along spanning trees.
//!
//! A set of weighted trees cuts the data into runs of chunks, one for each tree. Broadcast and
//! all-gather go down their trees, reduce and reduce-scatter up, an all-reduce up and then down.
//! Gather and scatter go along the path between each rank and the root. Trees keep to channels of
//! their own as far as there are channels.

use super::path::forward;
use crate::collectives::schedule::builder::ScheduleBuilder;
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::{Channel, Schedule, Slice, StepId};
use serde::{Deserialize, Serialize};

/// Gives NCCL's largest number of channels (`MAXCHANNELS`), which executors of its kind share.
pub const MAX_CHANNELS: usize = 32;

/// Holds a spanning tree of the ranks and its part of the data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootedTree {
    /// Gives, for each rank, the one nearer to the root; `None` for the root alone.
    pub parent: Vec<Option<usize>>,
    /// How many chunks of a shard it carries.
    pub chunks: u32,
    /// The links that it uses.
    pub channel: Channel,
}

impl RootedTree {
    /// Returns the rank without a parent.
    ///
    /// # Panics
    /// If every rank has one: a tree is not a cycle.
    #[must_use]
    pub fn root(&self) -> usize {
        self.parent.iter().position(Option::is_none).expect("a tree has a root")
    }

    /// Returns, for each rank, the ranks below it, in rising order.
    #[must_use]
    pub fn children(&self) -> Vec<Vec<usize>> {
        let mut children = vec![Vec::new(); self.parent.len()];
        for (rank, parent) in self.parent.iter().enumerate() {
            if let Some(parent) = parent {
                children[*parent].push(rank);
            }
        }
        children
    }

    /// Lists the ranks from the root outwards, level by level.
    #[must_use]
    pub fn outward(&self) -> Vec<usize> {
        self.outward_from(self.root())
    }

    /// Lists a rank and those below it, level by level.
    fn outward_from(&self, top: usize) -> Vec<usize> {
        let children = self.children();
        let mut order = vec![top];
        let mut next = 0;
        while let Some(rank) = order.get(next).copied() {
            order.extend(&children[rank]);
            next += 1;
        }
        order
    }

    /// Links on the longest path from the root.
    #[must_use]
    pub fn depth(&self) -> usize {
        let mut depth = vec![0; self.parent.len()];
        for rank in self.outward() {
            if let Some(parent) = self.parent[rank] {
                depth[rank] = depth[parent] + 1;
            }
        }
        depth.into_iter().max().unwrap_or(0)
    }

    /// Lists the ranks from one to the root, both included.
    fn path_to_root(&self, rank: usize) -> Vec<usize> {
        std::iter::successors(Some(rank), |at| self.parent[*at]).collect()
    }
}

/// The schedule that moves each tree's run of chunks along it.
///
/// A collective with one root takes trees with that root. All-gather and reduce-scatter take, for
/// every rank, trees rooted there that carry its shard. An all-reduce takes any trees.
///
/// # Panics
/// If the trees of a shard do not carry the same number of chunks, or the collective is
/// all-to-all, which no tree describes.
#[must_use]
pub fn schedule_of_trees(
    name: &str,
    collective: Collective,
    gpus: &[usize],
    trees: &[RootedTree],
) -> Schedule {
    let ranks = gpus.len();
    let per_rank = matches!(collective, Collective::AllGather | Collective::ReduceScatter);
    let shards = if per_rank { ranks } else { 1 };
    let mut used = vec![0; shards];
    let starts: Vec<u32> = trees
        .iter()
        .map(|tree| {
            let shard = if per_rank { tree.root() } else { 0 };
            used[shard] += tree.chunks;
            used[shard] - tree.chunks
        })
        .collect();
    assert!(used.iter().all(|chunks| *chunks == used[0]), "shards have equal numbers of chunks");
    let mut builder = ScheduleBuilder::new(name, collective, gpus.to_vec(), used[0]);
    let mut users = Vec::new();
    for (tree, start) in trees.iter().zip(starts) {
        let channel = channel_for(&mut builder, &mut users, tree);
        let (root, chunks) = (tree.root(), used[0]);
        let ranks = None;
        let mut lowering = Lowering { builder: &mut builder, tree, root, channel, chunks, ranks };
        match collective {
            Collective::Broadcast { .. } => lowering.broadcast(start),
            Collective::Reduce { .. } => lowering.reduce(start),
            Collective::Gather { .. } => lowering.gather(start),
            Collective::Scatter { .. } => lowering.scatter(start),
            Collective::AllReduce => lowering.all_reduce(start),
            Collective::AllGather => lowering.all_gather(start),
            Collective::ReduceScatter => lowering.reduce_scatter(start),
            Collective::AllToAll | Collective::Barrier | Collective::Scan => {
                panic!("{collective} follows no tree")
            }
        }
    }
    builder.finish()
}

/// A new channel while there are any, then the least used one over the same links.
pub(super) fn channel_for(
    builder: &mut ScheduleBuilder,
    users: &mut Vec<(Channel, usize)>,
    tree: &RootedTree,
) -> usize {
    let alike = (0..users.len()).filter(|index| users[*index].0 == tree.channel);
    let least = alike.min_by_key(|index| users[*index].1);
    if let Some(least) = least.filter(|_| users.len() >= MAX_CHANNELS) {
        users[least].1 += 1;
        return least;
    }
    users.push((tree.channel.clone(), 1));
    builder.channel(tree.channel.clone())
}

/// Writes one tree into the schedule.
pub(super) struct Lowering<'a> {
    pub(super) builder: &'a mut ScheduleBuilder,
    pub(super) tree: &'a RootedTree,
    /// Its root; a tree of one server leaves the ranks of the others without a parent, too.
    pub(super) root: usize,
    pub(super) channel: usize,
    /// Chunks in a shard.
    pub(super) chunks: u32,
    /// The rank of each of the tree's vertices, where these are not the ranks themselves.
    pub(super) ranks: Option<&'a [usize]>,
}

impl Lowering<'_> {
    /// Returns the rank of a vertex.
    fn rank(&self, vertex: usize) -> usize {
        self.ranks.map_or(vertex, |ranks| ranks[vertex])
    }

    fn broadcast(&mut self, start: u32) {
        let root = self.root;
        self.keep(root, Slice::input(start), Slice::output(start));
        self.distribute(Slice::input(start), Slice::output(start), None);
    }

    fn all_gather(&mut self, start: u32) {
        let root = self.root;
        let place = Slice::output(root as u32 * self.chunks + start);
        self.keep(root, Slice::input(start), place);
        self.distribute(Slice::input(start), place, None);
    }

    fn reduce(&mut self, start: u32) {
        let room = self.rooms();
        self.collect(Slice::input(start), &room, Slice::output(start));
    }

    fn reduce_scatter(&mut self, start: u32) {
        let own = Slice::input(self.root as u32 * self.chunks + start);
        let room = self.rooms();
        self.collect(own, &room, Slice::output(start));
    }

    fn all_reduce(&mut self, start: u32) {
        let place = Slice::output(start);
        let room = vec![place; self.tree.parent.len()];
        let reduced = self.collect(Slice::input(start), &room, place);
        self.distribute(place, place, reduced);
    }

    /// Sends every rank's shard to the root, nearest first.
    fn gather(&mut self, start: u32) {
        let (root, count) = (self.root, self.tree.chunks);
        let place = |rank: usize| Slice::output(rank as u32 * self.chunks + start);
        let (own, places) =
            (place(root), (0..self.tree.parent.len()).map(place).collect::<Vec<_>>());
        self.keep(root, Slice::input(start), own);
        for rank in self.tree.outward_from(self.root).into_iter().skip(1) {
            let path = self.tree.path_to_root(rank);
            forward(self.builder, self.channel, &path, Slice::input(start), places[rank], count);
        }
    }

    /// Sends the root's shards to every rank, farthest first, so that long paths start early.
    fn scatter(&mut self, start: u32) {
        let (root, count) = (self.root, self.tree.chunks);
        let shard = |rank: usize| Slice::input(rank as u32 * self.chunks + start);
        let shards: Vec<Slice> = (0..self.tree.parent.len()).map(shard).collect();
        self.keep(root, shards[root], Slice::output(start));
        for rank in self.tree.outward_from(self.root).into_iter().skip(1).rev() {
            let mut path = self.tree.path_to_root(rank);
            path.reverse();
            forward(self.builder, self.channel, &path, shards[rank], Slice::output(start), count);
        }
    }

    /// The root's own copy, which needs no link.
    fn keep(&mut self, root: usize, source: Slice, place: Slice) {
        self.builder.copy(self.rank(root), self.channel, source, place, self.tree.chunks, &[]);
    }

    /// Scratch room for partial results on every rank between leaves and root.
    fn rooms(&mut self) -> Vec<Slice> {
        let (root, count) = (self.root, self.tree.chunks);
        let room = |(rank, below): (usize, Vec<usize>)| {
            let between = rank != root && !below.is_empty();
            if between { self.builder.scratch(rank, count) } else { Slice::scratch(0) }
        };
        self.tree.children().into_iter().enumerate().map(room).collect()
    }

    /// Sends from the root's `source`, after `ready`, to `place` on every other rank.
    pub(super) fn distribute(&mut self, source: Slice, place: Slice, ready: Option<StepId>) {
        let (channel, count, root) = (self.channel, self.tree.chunks, self.root);
        let children = self.tree.children();
        for rank in self.tree.outward_from(self.root) {
            let below = &children[rank];
            let (from, onward, after) = match (self.tree.parent[rank], below.split_first()) {
                (None, _) => (source, &below[..], ready),
                (Some(parent), None) => {
                    let [to, from] = [rank, parent].map(|vertex| self.rank(vertex));
                    self.builder.receive(to, channel, from, None, place, count, &[]);
                    continue;
                }
                (Some(parent), Some((first, rest))) => {
                    let ends = (self.rank(parent), self.rank(*first));
                    let received = self.builder.receive_and_send(
                        self.rank(rank),
                        channel,
                        ends,
                        None,
                        Some(place),
                        place,
                        count,
                        &[],
                    );
                    (place, rest, Some(received))
                }
            };
            debug_assert!(rank == root || after.is_some(), "only received pieces are sent on");
            for child in onward {
                let ends = [rank, *child].map(|vertex| self.rank(vertex));
                self.builder.send(ends[0], channel, ends[1], from, count, after.as_slice());
            }
        }
    }

    /// The reduction of every rank's `own` to `place` on the root, by way of `room`. Returns
    /// the step after which it lies there; `None` for a single rank.
    pub(super) fn collect(&mut self, own: Slice, room: &[Slice], place: Slice) -> Option<StepId> {
        let (channel, count) = (self.channel, self.tree.chunks);
        let children = self.tree.children();
        let mut reduced = None;
        for rank in self.tree.outward_from(self.root).into_iter().rev() {
            let parent = self.tree.parent[rank];
            let Some((last, first)) = children[rank].split_last() else {
                match parent {
                    Some(parent) => {
                        let ends = [rank, parent].map(|vertex| self.rank(vertex));
                        self.builder.send(ends[0], channel, ends[1], own, count, &[]);
                    }
                    None => self.keep(rank, own, place),
                }
                continue;
            };
            let keep = if parent.is_none() { place } else { room[rank] };
            let (mut source, mut before) = (own, None::<StepId>);
            for child in first {
                let after = before.as_slice().to_vec();
                let source_now = Some(source);
                let ends = [rank, *child].map(|vertex| self.rank(vertex));
                let step = self
                    .builder
                    .receive(ends[0], channel, ends[1], source_now, keep, count, &after);
                (source, before) = (keep, Some(step));
            }
            let after = before.as_slice();
            match parent {
                Some(parent) => {
                    let (ends, rank) = ((self.rank(*last), self.rank(parent)), self.rank(rank));
                    let kept = Some(source);
                    self.builder
                        .receive_and_send(rank, channel, ends, kept, None, keep, count, after);
                }
                None => {
                    let (kept, from, rank) = (Some(source), self.rank(*last), self.rank(rank));
                    reduced =
                        Some(self.builder.receive(rank, channel, from, kept, place, count, after));
                }
            }
        }
        reduced
    }
}
