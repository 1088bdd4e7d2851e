//! Finds chains through the GPUs of one server that enter and leave it by given interfaces.
//!
//! NCCL searches depth first within a time (`ncclTopoSearchRecGpu` of `src/graph/search.cc`); here steps are bounded, so
//! that every machine finds the same. Where any GPU sends to any other as fast, no search is needed.

use std::cell::Cell;
use std::cmp::Reverse;

use super::reach::{Distance, Reach};
use crate::collectives::nccl::baselines::fabric::Fabric;

/// Holds a channel on one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::collectives::nccl::baselines) struct Chain {
    /// Its GPUs by their places in the job's part; the first receives and the last sends.
    pub(in crate::collectives::nccl::baselines) order: Vec<usize>,
    /// The interface by which data arrives, and that by which it leaves.
    pub(super) arrives: usize,
    pub(super) leaves: usize,
    /// The GPU that hands data to the interface in the place of the last.
    pub(super) through: Option<usize>,
}

/// Says where a chain may leave its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// By the interface that it enters by.
    Same,
    /// By another one, by which the next chain enters; that one leaves by the first's.
    Paired,
    /// It may leave by any.
    Any,
}

/// Asks for chains that enter by interfaces in turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) reach: &'a Reach,
    /// Lists the interfaces in their turn.
    pub(super) nics: &'a [usize],
    pub(super) count: usize,
    pub(super) exit: Exit,
    /// The farthest that the last GPU may be from its interface.
    pub(super) farthest: Distance,
    /// Whether GPUs take interfaces of others where their own PCIe links are full.
    pub(super) spread: bool,
}

/// Says how many steps one search takes at most: those that find something take a few hundred.
const MOST_STEPS: usize = 3_000;

/// Counts what chains have taken.
#[derive(Debug, Clone)]
struct Taken {
    /// How many more may leave by each interface.
    quotas: Vec<usize>,
    /// How many start at each GPU, and how many each hands to interfaces.
    starts: Vec<usize>,
    handed: Vec<usize>,
}

impl Taken {
    fn add(&mut self, chain: &Chain) {
        self.quotas[chain.leaves] -= 1;
        self.starts[chain.order[0]] += 1;
        self.handed[chain.hands()] += 1;
    }

    fn remove(&mut self, chain: &Chain) {
        self.quotas[chain.leaves] += 1;
        self.starts[chain.order[0]] -= 1;
        self.handed[chain.hands()] -= 1;
    }
}

impl Chain {
    /// The GPU that hands data to the interface.
    pub(super) fn hands(&self) -> usize {
        self.through.unwrap_or(self.order[self.order.len() - 1])
    }
}

/// Ranks a way out of a server: by how much its GPU hands over already, and by its distance. Behind them are the interface
/// and the GPU that forwards.
type Way = (usize, Distance, usize, Option<usize>);

impl Wanted<'_> {
    fn taken(&self, gpus: usize) -> Taken {
        let mut quotas = vec![0; self.reach.nics()];
        for at in 0..self.count {
            quotas[self.nics[at % self.nics.len()]] += 1;
        }
        Taken { quotas, starts: vec![0; gpus], handed: vec![0; gpus] }
    }

    /// The interface by which the next chain enters.
    fn entry(&self, found: usize, taken: &Taken) -> Option<usize> {
        match self.exit {
            Exit::Paired => {
                let open = self.nics.iter().rev().filter(|nic| taken.quotas[**nic] > 0);
                open.max_by_key(|nic| taken.quotas[**nic]).copied()
            }
            Exit::Same | Exit::Any => self.nics.get(found % self.nics.len()).copied(),
        }
    }

    /// The GPU that a chain starts at which enters by an interface: its own, else of the nearest the one at which the
    /// fewest start.
    fn start(&self, nic: usize, taken: &Taken) -> Option<usize> {
        if self.spread {
            let all = 0..taken.starts.len();
            let ways = all.filter_map(|gpu| Some((self.reach.own(gpu, nic)?.distance, gpu)));
            let best = ways.min_by_key(|(distance, gpu)| (taken.starts[*gpu], *distance));
            return best.map(|(_, gpu)| gpu);
        }
        let own = self.reach.gpu_of(nic);
        own.or_else(|| self.reach.gpus_near(nic).into_iter().min_by_key(|gpu| taken.starts[*gpu]))
    }

    /// The ways by which a chain may leave that ends at a GPU, the best first.
    fn exits(&self, gpu: usize, entered: usize, taken: &Taken) -> Vec<Way> {
        let may = |nic: &&usize| match self.exit {
            Exit::Same => **nic == entered,
            Exit::Paired => **nic != entered,
            Exit::Any => true,
        };
        let mut exits: Vec<Way> = Vec::new();
        for nic in self.nics.iter().filter(may).filter(|nic| taken.quotas[**nic] > 0) {
            let forwarder = self.reach.forwarder(gpu, *nic);
            let load = |by: usize| if self.spread { taken.handed[by] } else { 0 };
            if let Some(by) = forwarder {
                exits.push((load(by), Distance::Forwarded, *nic, forwarder));
            }
            if let Some(own) = self.reach.own(gpu, *nic)
                && (forwarder.is_none() || self.spread)
            {
                exits.push((load(gpu), own.distance, *nic, None));
            }
        }
        exits.retain(|(_, distance, ..)| *distance <= self.farthest);
        exits.sort_by_key(|(load, distance, ..)| (*load, *distance));
        exits
    }

    /// Gives the second of a pair: the first the other way round.
    fn back(&self, chain: &Chain) -> Chain {
        let order: Vec<usize> = chain.order.iter().rev().copied().collect();
        let (arrives, leaves) = (chain.leaves, chain.arrives);
        let through = self.reach.forwarder(chain.order[0], leaves);
        Chain { order, arrives, leaves, through }
    }

    /// Finds chains where any order of GPUs is as good. Neighbours in `ring` stay neighbours where they can.
    pub(super) fn in_any_order(&self, ring: &[usize]) -> Option<Vec<Chain>> {
        let gpus = ring.len();
        let mut taken = self.taken(gpus);
        let mut ends = vec![0_usize; gpus];
        let mut found: Vec<Chain> = Vec::with_capacity(self.count);
        while found.len() < self.count {
            let entered = self.entry(found.len(), &taken)?;
            let start = self.start(entered, &taken)?;
            let first = ring.iter().position(|gpu| *gpu == start)?;
            let backs = (0..gpus).filter(|back| *back > 0 || gpus == 1);
            let ways = backs.filter_map(|back| {
                let end = ring[(first + gpus - back) % gpus];
                let way = self.exits(end, entered, &taken).into_iter().next()?;
                Some(((way.0, way.1, ends[end], back), end, way))
            });
            let (_, end, (_, _, leaves, through)) = ways.min_by_key(|(key, ..)| *key)?;
            let others = (1..gpus).map(|on| ring[(first + on) % gpus]).filter(|gpu| *gpu != end);
            let last = (gpus > 1).then_some(end);
            let order = [start].into_iter().chain(others).chain(last).collect();
            let chain = Chain { order, arrives: entered, leaves, through };
            let back = (self.exit == Exit::Paired).then(|| self.back(&chain));
            ends[end] += 1;
            for chain in [chain].into_iter().chain(back) {
                taken.add(&chain);
                found.push(chain);
            }
        }
        Some(found).filter(|found| found.len() == self.count)
    }

    /// Finds chains over direct links, with no more than `most` on each; with `relays` also over pairs that a third GPU
    /// joins.
    pub(super) fn over_links(
        &self,
        fabric: &Fabric,
        relays: bool,
        most: u32,
        steps: &Cell<usize>,
    ) -> Option<Vec<Chain>> {
        let left = fabric.lanes.iter().map(|lanes| i64::from(lanes * most)).collect();
        let taken = self.taken(fabric.gpus);
        let found = Vec::new();
        let budget = steps.get().min(MOST_STEPS);
        let mut search = Search { wanted: self, fabric, relays, left, taken, found, steps: budget };
        let is_found = search.next();
        steps.set(steps.get() - (budget - search.steps));
        is_found.then_some(search.found)
    }
}

/// Finds chains one after the other, by a search in depth.
struct Search<'a> {
    wanted: &'a Wanted<'a>,
    fabric: &'a Fabric,
    relays: bool,
    /// Counts what is left of each pair's links, in each direction.
    left: Vec<i64>,
    taken: Taken,
    found: Vec<Chain>,
    /// How many it may take yet.
    steps: usize,
}

impl Search<'_> {
    /// Finds the next chain, and all after it.
    fn next(&mut self) -> bool {
        let wanted = self.wanted;
        if self.found.len() >= wanted.count {
            return self.found.len() == wanted.count;
        }
        let Some(entered) = wanted.entry(self.found.len(), &self.taken) else { return false };
        let Some(start) = wanted.start(entered, &self.taken) else { return false };
        self.extend(entered, &mut vec![start])
    }

    fn extend(&mut self, entered: usize, order: &mut Vec<usize>) -> bool {
        if self.steps == 0 {
            return false;
        }
        self.steps -= 1;
        let (last, gpus) = (order[order.len() - 1], self.fabric.gpus);
        if order.len() == gpus {
            return self.leave(entered, order);
        }
        let mut nexts: Vec<usize> = (0..gpus).filter(|gpu| !order.contains(gpu)).collect();
        // Where most is left first, of equal ones around.
        let left = |gpu: &usize| Reverse(self.left[last * gpus + gpu]);
        nexts.sort_by_key(|gpu| (left(gpu), (gpu + gpus - last) % gpus));
        for next in nexts {
            let Some(links) = self.links(last, next) else { continue };
            self.take(&links, 1);
            order.push(next);
            if self.extend(entered, order) {
                return true;
            }
            order.pop();
            self.take(&links, -1);
        }
        false
    }

    /// Ends a chain at an interface that has room.
    fn leave(&mut self, entered: usize, order: &[usize]) -> bool {
        let wanted = self.wanted;
        let last = order[order.len() - 1];
        for (_, _, leaves, through) in wanted.exits(last, entered, &self.taken) {
            let mut links = Vec::new();
            if let Some(through) = through {
                let Some(handed) = self.links(last, through) else { continue };
                links.extend(handed);
            }
            let mut chains =
                vec![Chain { order: order.to_vec(), arrives: entered, leaves, through }];
            if wanted.exit == Exit::Paired {
                let back = wanted.back(&chains[0]);
                let hops = back.order.windows(2).map(|pair| self.links(pair[0], pair[1]));
                let Some(hops) = hops.collect::<Option<Vec<_>>>() else { continue };
                links.extend(hops.into_iter().flatten());
                chains.push(back);
            }
            self.take(&links, 1);
            chains.iter().for_each(|chain| self.taken.add(chain));
            let before = self.found.len();
            self.found.extend(chains);
            if self.next() {
                return true;
            }
            for chain in self.found.split_off(before) {
                self.taken.remove(&chain);
            }
            self.take(&links, -1);
        }
        false
    }

    /// The pairs of GPUs whose links a hop takes; None where none are left.
    fn links(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let pair = |a: usize, b: usize| a * self.fabric.gpus + b;
        let links = if self.fabric.lanes(from, to) > 0 || !self.relays {
            vec![pair(from, to)]
        } else {
            let through = self.fabric.relay(from, to)?;
            vec![pair(from, through), pair(through, to)]
        };
        Some(links).filter(|links| links.iter().all(|at| self.left[*at] > 0))
    }

    fn take(&mut self, links: &[usize], times: i64) {
        for at in links {
            self.left[*at] -= times;
        }
    }
}
