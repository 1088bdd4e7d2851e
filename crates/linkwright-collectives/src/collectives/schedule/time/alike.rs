//! Thread blocks that behave alike, played once.
//!
//! What it represents: two blocks behave alike if they take the same steps, and if whatever either
//! meets (the block that it receives from, the one that it sends to, the blocks that it waits for,
//! those that it takes turns with, and every link on its path with all that this link carries) behaves
//! alike, too. The coarsest division of blocks and links into such classes is found by refinement: from
//! what each is by itself, classes are split by the classes of what their members meet until no
//! class splits any more. One block of each class then stands for all of it, over one link of each
//! class, which it loads as often as blocks of its class load that link; since rates, arrivals and
//! turns follow from nothing but what a block meets, what it does at any time is what each of its
//! class does. A test plays schedules with and without this, and finds the same times.
//!
//! A hash proposes the classes; they are compared word by word before they are believed.
//!
//! What it leaves out: who is late among ranks, which a lone collective's ranks are not; a network that
//! others use is played in whole.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::engine::mixed;
use crate::network::ResourceId;
use crate::program::kernel::{Kernel, KernelBlock, KernelStep};
use crate::units::Bandwidth;

use super::lowered::{LoweredSchedule, OpenPath};

/// The most looks at blocks that a search for classes takes.
const MOST_LOOKS: usize = 1 << 24;

/// What a word stands for where there is nothing.
const NOTHING: u64 = u64::MAX;

/// A schedule of one rank that takes as long as another of many.
#[derive(Debug, Clone)]
pub(super) struct Alike {
    pub(super) lowered: LoweredSchedule,
    /// For each connection of the whole the one that stands for it.
    pub(super) connections: Vec<u32>,
}

/// The smaller schedule, if some blocks of this one behave alike. `capacities` are those of the
/// links that it was lowered on.
pub(super) fn alike(whole: &LoweredSchedule, capacities: &[Bandwidth]) -> Option<Alike> {
    let parts = Parts::new(whole, capacities);
    let classes = parts.classes()?;
    parts.is_sound(&classes).then(|| parts.folded(whole, &classes))
}

/// A kernel and its links, as the search looks at them.
struct Parts<'a> {
    kernel: &'a Kernel,
    paths: &'a [OpenPath],
    capacities: &'a [Bandwidth],
    takes_turns: bool,
    /// The block of each step.
    block_of: Vec<u32>,
    /// Range of `users` for each link, and who uses it: a connection and its part of the data.
    first_user: Vec<u32>,
    users: Vec<(u32, f64)>,
    /// All parts that there are, in the order of their bits.
    shares: Vec<u64>,
}

/// The class of each block and link, each numbered by its first member.
#[derive(PartialEq)]
struct Classes {
    blocks: Vec<u32>,
    links: Vec<u32>,
}

impl<'a> Parts<'a> {
    fn new(whole: &'a LoweredSchedule, capacities: &'a [Bandwidth]) -> Self {
        let (kernel, paths) = (&*whole.kernel, &whole.paths[..]);
        let mut block_of = vec![0; kernel.steps.len()];
        // Steps that several blocks have wait for none, and none waits for them.
        for (index, block) in kernel.written_blocks() {
            block_of[block.steps.0 as usize..block.steps.1 as usize].fill(index);
        }
        let mut first_user = vec![0_u32; capacities.len() + 1];
        let uses = || paths.iter().flat_map(|path| &path.uses);
        uses().for_each(|(link, _)| first_user[link + 1] += 1);
        for link in 0..capacities.len() {
            first_user[link + 1] += first_user[link];
        }
        let (mut next, mut users) = (first_user.clone(), vec![(0, 0.0); uses().count()]);
        for (connection, path) in (0..).zip(paths) {
            for (link, share) in &path.uses {
                users[next[*link] as usize] = (connection, *share);
                next[*link] += 1;
            }
        }
        let mut shares: Vec<u64> = uses().map(|(_, share)| share.to_bits()).collect();
        shares.sort_unstable();
        shares.dedup();
        let takes_turns = whole.protocol.stream_reuse;
        Self { kernel, paths, capacities, takes_turns, block_of, first_user, users, shares }
    }

    /// A class and a part of the data in one word.
    fn used(&self, class: u32, share: f64) -> u64 {
        let share = self.shares.binary_search(&share.to_bits()).unwrap_or(self.shares.len());
        u64::from(class) << 32 | share as u64
    }

    /// The coarsest classes; None where all blocks differ, or telling them apart takes long.
    fn classes(&self) -> Option<Classes> {
        let blocks = self.kernel.blocks.len();
        let mut of_steps = BTreeMap::new();
        let mut words = Vec::new();
        let steps = self.kernel.blocks.iter().enumerate().map(|(index, block)| {
            *of_steps.entry(block.steps).or_insert_with(|| {
                words.clear();
                self.steps(index, &mut words);
                hashed(&words)
            })
        });
        let mut of_blocks = Labels::of(&steps.collect::<Vec<u64>>());
        let capacities: Vec<u64> = self.capacities.iter().map(|capacity| capacity.0).collect();
        let mut of_links = Labels::of(&capacities);
        let mut classes = Classes { blocks: of_blocks.all.clone(), links: of_links.all.clone() };
        let mut looks = 0;
        loop {
            looks += of_blocks.marked.len();
            for link in &of_links.marked {
                looks += self.users_of(*link as usize).len();
            }
            let moved_links = of_links.split(|link, words| self.link(link, &classes, words));
            for link in &moved_links {
                classes.links[*link as usize] = of_links.all[*link as usize];
                for (connection, _) in self.users_of(*link as usize) {
                    of_blocks.mark(self.kernel.connections[*connection as usize].sender);
                }
            }
            let moved_blocks = of_blocks.split(|block, words| self.block(block, &classes, words));
            if moved_links.is_empty() && moved_blocks.is_empty() {
                break;
            }
            if of_blocks.sizes.len() == blocks || looks > MOST_LOOKS {
                return None;
            }
            for block in moved_blocks {
                classes.blocks[block as usize] = of_blocks.all[block as usize];
                self.met_by(block, |met| of_blocks.mark(met), |link| of_links.mark(link));
            }
        }
        Some(Classes { blocks: of_blocks.by_first(), links: of_links.by_first() })
    }

    /// The blocks and links in whose words a block's class is.
    fn met_by(&self, block: u32, mut meets: impl FnMut(u32), mut carries: impl FnMut(u32)) {
        let KernelBlock { steps, incoming, outgoing, .. } = self.kernel.blocks[block as usize];
        if let Some(incoming) = incoming {
            meets(self.kernel.connections[incoming as usize].sender);
        }
        // Steps that several blocks have are waited for by none.
        let steps = if self.kernel.waits.is_empty() { (0, 0) } else { steps };
        for linked in &self.kernel.steps[steps.0 as usize..steps.1 as usize] {
            let (from, to) = linked.wakes;
            self.kernel.wakes[from as usize..to as usize].iter().for_each(|woken| meets(*woken));
        }
        let Some(outgoing) = outgoing else { return };
        let connection = self.kernel.connections[outgoing as usize];
        meets(connection.receiver);
        if self.takes_turns {
            let lane = &self.kernel.lanes[connection.lane as usize];
            lane.iter().for_each(|other| meets(*other));
        }
        self.paths[outgoing as usize].uses.iter().for_each(|(link, _)| carries(*link as u32));
    }

    /// What a block does: its steps, and for each its place in the blocks of those that it waits for.
    fn steps(&self, block: usize, words: &mut Vec<u64>) {
        let block = self.kernel.blocks[block];
        for linked in &self.kernel.steps[block.steps.0 as usize..block.steps.1 as usize] {
            let KernelStep { sends, receives, count, copies } = linked.step;
            let bits = [sends, receives, copies, linked.is_behind].map(u64::from);
            let bits = bits.into_iter().fold(0, |bits, bit| bits << 1 | bit);
            words.push(u64::from(count) << 4 | bits);
            for earlier in self.waits(linked.waits) {
                let of = self.kernel.blocks[self.block_of[earlier as usize] as usize];
                words.push(u64::from(earlier - of.steps.0));
            }
            words.push(NOTHING);
        }
    }

    fn waits(&self, range: (u32, u32)) -> impl Iterator<Item = u32> + '_ {
        self.kernel.waits[range.0 as usize..range.1 as usize].iter().copied()
    }

    /// A block's class, and the classes of all that it meets.
    fn block(&self, index: usize, classes: &Classes, words: &mut Vec<u64>) {
        let class = |block: u32| u64::from(classes.blocks[block as usize]);
        let block = self.kernel.blocks[index];
        words.push(class(index as u32));
        let incoming = block.incoming.map(|from| self.kernel.connections[from as usize].sender);
        words.push(incoming.map_or(NOTHING, class));
        let mut last = NOTHING;
        let steps = if self.kernel.waits.is_empty() { (0, 0) } else { block.steps };
        for linked in &self.kernel.steps[steps.0 as usize..steps.1 as usize] {
            for earlier in self.waits(linked.waits) {
                let waited = class(self.block_of[earlier as usize]);
                if waited != last {
                    words.push(waited);
                    last = waited;
                }
            }
        }
        let Some(outgoing) = block.outgoing else { return };
        let connection = self.kernel.connections[outgoing as usize];
        words.extend([NOTHING, class(connection.receiver), u64::from(connection.is_late)]);
        if self.takes_turns {
            let lane = &self.kernel.lanes[connection.lane as usize];
            let before = lane.iter().filter(|other| (**other as usize) < index).count();
            words.push(before as u64);
            words.extend(lane.iter().map(|other| class(*other)));
        }
        let OpenPath { uses, latency, limit, .. } = &self.paths[outgoing as usize];
        words.extend([NOTHING, latency.0, limit.map_or(NOTHING, |limit| limit.0)]);
        let from = words.len();
        words.extend(uses.iter().map(|(link, share)| self.used(classes.links[*link], *share)));
        words[from..].sort_unstable();
    }

    /// A link's class, and the classes of what it carries.
    fn link(&self, link: usize, classes: &Classes, words: &mut Vec<u64>) {
        words.push(u64::from(classes.links[link]));
        for (connection, share) in self.users_of(link) {
            let sender = self.kernel.connections[*connection as usize].sender;
            words.push(self.used(classes.blocks[sender as usize], *share));
        }
        words[1..].sort_unstable();
    }

    fn users_of(&self, link: usize) -> &[(u32, f64)] {
        &self.users[self.first_user[link] as usize..self.first_user[link + 1] as usize]
    }

    /// Whether all members of a class are as its first in every word.
    fn is_sound(&self, classes: &Classes) -> bool {
        let (mut own, mut first) = (Vec::new(), Vec::new());
        let mut same = |index: usize, class: u32, describe: &dyn Fn(usize, &mut Vec<u64>)| {
            own.clear();
            first.clear();
            describe(index, &mut own);
            describe(class as usize, &mut first);
            own == first
        };
        let mut known = BTreeSet::new();
        let mut steps = |index: usize, class: u32| {
            let pair = [index, class as usize].map(|block| self.kernel.blocks[block].steps);
            let is_new = pair[0] != pair[1] && known.insert(pair);
            !is_new || same(index, class, &|block, words| self.steps(block, words))
        };
        let blocks = (0..).zip(&classes.blocks);
        if !blocks.clone().all(|(index, class)| steps(index, *class)) {
            return false;
        }
        let blocks = |block: usize, words: &mut Vec<u64>| self.block(block, classes, words);
        let links = |link: usize, words: &mut Vec<u64>| {
            words.push(self.capacities[link].0);
            self.link(link, classes, words);
        };
        let mut of_all = |classes: &[u32], describe: &dyn Fn(usize, &mut Vec<u64>)| {
            let mut members = classes.iter().enumerate();
            members.all(|(index, class)| index == *class as usize || same(index, *class, describe))
        };
        of_all(&classes.blocks, &blocks) && of_all(&classes.links, &links)
    }

    /// One rank with a block for each class.
    fn folded(&self, whole: &LoweredSchedule, classes: &Classes) -> Alike {
        // Blocks that take turns keep their order: the first member of the class of one that
        // precedes another in its lane precedes the first of the other's.
        let mut place = vec![0; classes.blocks.len()];
        let firsts = || (0_u32..).zip(&classes.blocks).filter(|(index, class)| index == *class);
        (0_u32..).zip(firsts()).for_each(|(at, (first, _))| place[first as usize] = at);
        let of = |block: u32| place[classes.blocks[block as usize] as usize];
        let mut kernel = Kernel::new(self.kernel.is_in_order());
        kernel.begin_rank();
        for (first, _) in firsts() {
            kernel.begin_block();
            let block = self.kernel.blocks[first as usize];
            for linked in &self.kernel.steps[block.steps.0 as usize..block.steps.1 as usize] {
                let named = |earlier: u32| {
                    let waited = self.block_of[earlier as usize];
                    (of(waited), earlier - self.kernel.blocks[waited as usize].steps.0)
                };
                kernel.step(linked.step, self.waits(linked.waits).map(named));
            }
        }
        let sender = |connection: usize| self.kernel.connections[connection].sender;
        let mut folded = vec![0; self.paths.len()];
        let mut lanes = vec![None; self.kernel.lanes.len()];
        let (mut used_lanes, mut paths, mut opened) =
            (0, Vec::new(), vec![0_u32; classes.blocks.len()]);
        for (index, connection) in self.kernel.connections.iter().enumerate() {
            if classes.blocks[connection.sender as usize] != connection.sender {
                continue;
            }
            let whole_lane = &self.kernel.lanes[connection.lane as usize];
            // A lane is where the first of its blocks is.
            let first = whole_lane.iter().map(|block| classes.blocks[*block as usize]).min();
            let first = first.unwrap_or(connection.sender);
            let known = self.kernel.blocks[first as usize].outgoing;
            let lane = known.map_or(0, |at| self.kernel.connections[at as usize].lane as usize);
            let lane = *lanes[lane].get_or_insert(used_lanes);
            used_lanes = used_lanes.max(lane + 1);
            let ends = [connection.sender, connection.receiver].map(|block| (0, of(block)));
            opened[connection.sender as usize] = paths.len() as u32;
            kernel.connect(ends[0], ends[1], lane, connection.is_late);
            paths.push(OpenPath { uses: Vec::new(), ..self.paths[index].clone() });
        }
        for (connection, place) in folded.iter_mut().enumerate() {
            *place = opened[classes.blocks[sender(connection) as usize] as usize];
        }
        let first_links =
            (0..classes.links.len()).filter(|link| classes.links[*link] as usize == *link);
        for link in first_links {
            for (connection, share) in self.users_of(link) {
                let uses: &mut Vec<(ResourceId, f64)> =
                    &mut paths[folded[*connection as usize] as usize].uses;
                uses.push((link, *share));
            }
        }
        let lowered = whole.with(Arc::new(kernel.finished()), paths);
        Alike { lowered, connections: folded }
    }
}

/// A label for each block or link, the same for those that have not been told apart, and which are to be looked at
/// again: those in whose words a label has changed. Of the others nothing can be told that was not told before.
struct Labels {
    all: Vec<u32>,
    /// How many have each label.
    sizes: Vec<u32>,
    marked: Vec<u32>,
    is_marked: Vec<bool>,
}

impl Labels {
    /// Those with equal values have one label; all are to be looked at.
    fn of(values: &[u64]) -> Self {
        let count = values.len() as u32;
        let mut labels = Self {
            all: vec![0; values.len()],
            sizes: vec![count],
            marked: (0..count).collect(),
            is_marked: vec![true; values.len()],
        };
        labels.split(|index, words| words.push(values[index]));
        (0..count).for_each(|index| labels.mark(index));
        labels
    }

    fn mark(&mut self, index: u32) {
        if !std::mem::replace(&mut self.is_marked[index as usize], true) {
            self.marked.push(index);
        }
    }

    /// Tells those apart that are marked and whose words differ, by a hash; returns those that have new labels.
    fn split(&mut self, describe: impl Fn(usize, &mut Vec<u64>)) -> Vec<u32> {
        let (mut words, mut told) = (Vec::new(), Vec::with_capacity(self.marked.len()));
        for index in self.marked.drain(..) {
            self.is_marked[index as usize] = false;
            words.clear();
            describe(index as usize, &mut words);
            told.push((self.all[index as usize], hashed(&words), index));
        }
        told.sort_unstable();
        let mut moved = Vec::new();
        for of_label in told.chunk_by(|a, b| a.0 == b.0) {
            let label = of_label[0].0 as usize;
            let by_words = || of_label.chunk_by(|a, b| a.1 == b.1);
            // Those that are not marked keep the label, else most of the others do.
            let is_whole = of_label.len() == self.sizes[label] as usize;
            let most = by_words().map(<[_]>::len).max().filter(|_| is_whole);
            let kept = most.and_then(|most| by_words().position(|same| same.len() == most));
            for (at, same) in by_words().enumerate() {
                if kept == Some(at) {
                    continue;
                }
                let new = self.sizes.len() as u32;
                self.sizes.push(same.len() as u32);
                self.sizes[label] -= same.len() as u32;
                for (.., index) in same {
                    self.all[*index as usize] = new;
                    moved.push(*index);
                }
            }
        }
        moved
    }

    /// For each the first that has its label.
    fn by_first(&self) -> Vec<u32> {
        let mut first = vec![u32::MAX; self.sizes.len()];
        let by_first = (0..).zip(&self.all).map(|(index, label)| {
            let first = &mut first[*label as usize];
            *first = index.min(*first);
            *first
        });
        by_first.collect()
    }
}

fn hashed(words: &[u64]) -> u64 {
    words.iter().fold(words.len() as u64, |hash, word| joined(hash, *word))
}

/// Two words as one.
const fn joined(a: u64, b: u64) -> u64 {
    mixed((a ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ b)
}

#[cfg(test)]
mod tests;
