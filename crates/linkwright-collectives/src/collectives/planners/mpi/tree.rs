//! Trees: broadcast, reduce, gather and scatter.
//!
//! Ranks count from the root: the rank of number `n` has the index `root + n`, around the last.

use std::ops::Range;

use super::{ONE, Source};
use crate::collectives::schedule::Slice;
use crate::collectives::schedule::source::Group;
use crate::program::CollectiveKind;

/// Where a rank gathers the sum of those below it: nowhere for a leaf that sends its input.
#[derive(Debug, Clone, Copy)]
struct Sums {
    at: Slice,
    has_children: bool,
}

fn number(of: &Source, index: u32) -> u32 {
    (index + (of.ranks - of.root)) % of.ranks
}

fn index(of: &Source, number: u32) -> u32 {
    ((u64::from(number) + u64::from(of.root)) % u64::from(of.ranks)) as u32
}

/// Returns the numbers of a heap's children.
fn children(ranks: u32, me: u32) -> impl Iterator<Item = u32> {
    [1, 2]
        .into_iter()
        .map(move |side| 2 * u64::from(me) + side)
        .filter_map(move |child| u32::try_from(child).ok().filter(|child| *child < ranks))
}

/// Returns a binomial tree's child at a bit. Children have the bits below the lowest of the number
/// itself.
fn child_at(ranks: u32, me: u32, bit: u32) -> Option<u32> {
    let is_below = me == 0 || bit < me.trailing_zeros();
    let child = u64::from(me) + (1_u64 << bit);
    (is_below && child < u64::from(ranks)).then_some(child as u32)
}

fn parent_at(me: u32, bit: u32) -> Option<u32> {
    (me > 0 && bit == me.trailing_zeros()).then(|| me & (me - 1))
}

/// Counts the ranks that stand in a binomial tree from a rank on downwards.
fn subtree(ranks: u32, me: u32) -> u32 {
    if me == 0 { ranks } else { (1 << me.trailing_zeros()).min(ranks - me) }
}

impl Source {
    /// Returns the data that a rank of this number sums, and where.
    fn sums(&self, me: u32, has_children: bool) -> Sums {
        let at = match self.kind {
            CollectiveKind::Reduce if me > 0 => Slice::scratch(0),
            _ => Slice::output(0),
        };
        Sums { at, has_children }
    }

    /// Where what goes down the tree lies: with the root of a broadcast in its input.
    fn sent_down(&self, me: u32) -> Slice {
        let from_input = me == 0 && self.kind == CollectiveKind::Broadcast;
        if from_input { Slice::input(0) } else { Slice::output(0) }
    }

    /// Returns the data of a vector, and none for a barrier.
    fn vector(&self) -> Range<u32> {
        if self.kind == CollectiveKind::Barrier { 0..0 } else { ONE }
    }

    /// From the leaves of a binary tree to its root: receive, then send.
    pub(super) fn binary_up(&self, me: u32, step: u32, group: &mut Group) {
        let me = number(self, me);
        let mut below = children(self.ranks, me).peekable();
        let Sums { at, has_children } = self.sums(me, below.peek().is_some());
        if step == 0 {
            if has_children {
                group.copy(Slice::input(0), at, 1);
            }
            for child in below {
                group.reduce(index(self, child), (at, at), 1, self.vector());
            }
        } else if me > 0 {
            let source = if has_children { at } else { Slice::input(0) };
            group.send(index(self, (me - 1) / 2), source, 1, self.vector());
        }
    }

    /// From the root of a binary tree to its leaves: receive, then send.
    pub(super) fn binary_down(&self, me: u32, step: u32, group: &mut Group) {
        let me = number(self, me);
        if step == 0 {
            if me > 0 {
                group.receive(index(self, (me - 1) / 2), Slice::output(0), 1, self.vector());
            }
            return;
        }
        let source = self.sent_down(me);
        for child in children(self.ranks, me) {
            group.send(index(self, child), source, 1, self.vector());
        }
        if source == Slice::input(0) {
            group.copy(source, Slice::output(0), 1);
        }
    }

    /// From the leaves of a binomial tree to its root, small subtrees first.
    pub(super) fn binomial_up(&self, me: u32, bit: u32, group: &mut Group) {
        let me = number(self, me);
        let Sums { at, has_children } = self.sums(me, child_at(self.ranks, me, 0).is_some());
        if let Some(child) = child_at(self.ranks, me, bit) {
            if bit == 0 {
                group.copy(Slice::input(0), at, 1);
            }
            group.reduce(index(self, child), (at, at), 1, ONE);
        } else if let Some(parent) = parent_at(me, bit) {
            let source = if has_children { at } else { Slice::input(0) };
            group.send(index(self, parent), source, 1, ONE);
        }
    }

    /// From the root of a binomial tree to its leaves, large subtrees first.
    pub(super) fn binomial_down(&self, me: u32, step: u32, group: &mut Group) {
        let (me, bit) = (number(self, me), self.levels() - 1 - step);
        if let Some(parent) = parent_at(me, bit) {
            group.receive(index(self, parent), Slice::output(0), 1, ONE);
        } else if let Some(child) = child_at(self.ranks, me, bit) {
            let source = self.sent_down(me);
            group.send(index(self, child), source, 1, ONE);
            if bit == 0 && source == Slice::input(0) {
                group.copy(source, Slice::output(0), 1);
            }
        }
    }

    /// Returns the shards of the ranks below an edge of a binomial tree.
    fn shards_below(&self, child: u32) -> (Range<u32>, u32) {
        let (first, count) = (index(self, child), subtree(self.ranks, child));
        (first..first + count, count)
    }

    /// Returns the scratch of a gather or scatter along a binomial tree. A rank holds shards for
    /// the ranks below it. With the root, it also holds a run of shards that goes around the last.
    pub(super) fn binomial_scratch(&self, me: u32) -> u32 {
        let me = number(self, me);
        if me > 0 {
            let held = subtree(self.ranks, me);
            return if held > 1 { held } else { 0 };
        }
        let children = (0..self.levels()).filter_map(|bit| child_at(self.ranks, 0, bit));
        let around = |child| Some(self.shards_below(child)).filter(|(run, _)| run.end > self.ranks);
        children.filter_map(around).map(|(_, count)| count).max().unwrap_or(0)
    }

    /// Sends shards up a binomial tree. A rank holds the shards of the ranks below it in the order
    /// of their numbers. The root holds all in its output.
    pub(super) fn binomial_gather(&self, me: u32, bit: u32, group: &mut Group) {
        let place = me;
        let me = number(self, me);
        let is_leaf = child_at(self.ranks, me, 0).is_none();
        if let Some(child) = child_at(self.ranks, me, bit) {
            let (run, count) = self.shards_below(child);
            if bit == 0 {
                let own = if me == 0 { Slice::output(place) } else { Slice::scratch(0) };
                group.copy(Slice::input(0), own, 1);
            }
            let peer = index(self, child);
            if me > 0 {
                group.receive(peer, Slice::scratch(1 << bit), count, run);
            } else if run.end <= self.ranks {
                group.receive(peer, Slice::output(run.start), count, run);
            } else {
                let whole = self.ranks - run.start;
                group.receive(peer, Slice::scratch(0), count, run.clone());
                group.copy(Slice::scratch(0), Slice::output(run.start), whole);
                group.copy(Slice::scratch(whole), Slice::output(0), count - whole);
            }
        } else if let Some(parent) = parent_at(me, bit) {
            let (run, count) = self.shards_below(me);
            let source = if is_leaf { Slice::input(0) } else { Slice::scratch(0) };
            group.send(index(self, parent), source, count, run);
        }
    }

    /// Sends shards down a binomial tree, from the root's input.
    pub(super) fn binomial_scatter(&self, me: u32, step: u32, group: &mut Group) {
        let place = me;
        let (me, bit) = (number(self, me), self.levels() - 1 - step);
        if let Some(parent) = parent_at(me, bit) {
            let (run, count) = self.shards_below(me);
            if count > 1 {
                group.receive(index(self, parent), Slice::scratch(0), count, run);
                group.copy(Slice::scratch(0), Slice::output(0), 1);
            } else {
                group.receive(index(self, parent), Slice::output(0), count, run);
            }
        } else if let Some(child) = child_at(self.ranks, me, bit) {
            let (run, count) = self.shards_below(child);
            if me == 0 && bit == 0 {
                group.copy(Slice::input(place), Slice::output(0), 1);
            }
            let source = if me > 0 {
                Slice::scratch(1 << bit)
            } else if run.end <= self.ranks {
                Slice::input(run.start)
            } else {
                let whole = self.ranks - run.start;
                group.copy(Slice::input(run.start), Slice::scratch(0), whole);
                group.copy(Slice::input(0), Slice::scratch(whole), count - whole);
                Slice::scratch(0)
            };
            group.send(index(self, child), source, count, run);
        }
    }

    /// Sends from each rank straight to the root.
    pub(super) fn linear_gather(&self, me: u32, group: &mut Group) {
        if me != self.root {
            group.send(self.root, Slice::input(0), 1, me..me + 1);
            return;
        }
        group.copy(Slice::input(0), Slice::output(me), 1);
        for peer in (1..self.ranks).map(|number| index(self, number)) {
            group.receive(peer, Slice::output(peer), 1, peer..peer + 1);
        }
    }

    /// Sends from the root straight to each rank.
    pub(super) fn linear_scatter(&self, me: u32, group: &mut Group) {
        if me != self.root {
            group.receive(self.root, Slice::output(0), 1, me..me + 1);
            return;
        }
        group.copy(Slice::input(me), Slice::output(0), 1);
        for peer in (1..self.ranks).map(|number| index(self, number)) {
            group.send(peer, Slice::input(peer), 1, peer..peer + 1);
        }
    }
}
