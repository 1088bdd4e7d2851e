//! Finds the most rings that fit on a server's NVLinks, by exact search.
//!
//! NCCL searches depth first within a time limit and keeps the best (`search.cc`). Here a number of
//! steps bounds the search, so that it gives the same rings on every machine. It says whether it
//! was complete.

use super::fabric::Fabric;

/// The most rings that are looked at.
const MOST_CYCLES: usize = 20_000;

/// Limits the steps of the search for rings, and of the search for a set of them.
const MOST_STEPS: usize = 2_000_000;

/// Holds rings that fit on the links together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Packed {
    /// Lists each ring's GPUs, in the order in which they send.
    pub(super) orders: Vec<Vec<usize>>,
    /// Whether no larger set exists.
    pub(super) exact: bool,
}

/// One ring and the lanes that it uses, as indices in [`Fabric::lanes`].
struct Cycle {
    order: Vec<usize>,
    uses: Vec<usize>,
}

/// Packs as many directed rings as the lanes of the fabric carry, each lane one ring in each
/// direction. With `relays` it also takes pairs that a third GPU joins.
pub(super) fn pack_rings(fabric: &Fabric, relays: bool) -> Packed {
    let mut finder = Finder {
        fabric,
        relays,
        order: vec![0],
        visited: vec![false; fabric.gpus],
        left: fabric.lanes.clone(),
        uses: Vec::new(),
        found: Vec::new(),
        steps: 0,
    };
    finder.visited[0] = true;
    finder.extend();
    let complete = finder.steps < MOST_STEPS && finder.found.len() < MOST_CYCLES;
    let mut cycles = finder.found;
    // Rings on plentiful links first, so that the first set found is a large one.
    let scarcity = |cycle: &Cycle| -> u64 {
        cycle.uses.iter().map(|lane| 1_000_000 / u64::from(fabric.lanes[*lane])).sum()
    };
    cycles.sort_by_cached_key(|cycle| (scarcity(cycle), cycle.order.clone()));
    let mut chooser = Chooser {
        cycles: &cycles,
        gpus: fabric.gpus,
        left: fabric.lanes.clone(),
        chosen: Vec::new(),
        best: Vec::new(),
        steps: 0,
    };
    let limit = chooser.bound();
    chooser.choose(0);
    let exact = chooser.best.len() == limit || (complete && chooser.steps < MOST_STEPS);
    let orders = chooser.best.iter().map(|index| cycles[*index].order.clone()).collect();
    Packed { orders, exact }
}

/// Finds every ring that the lanes carry by itself.
struct Finder<'a> {
    fabric: &'a Fabric,
    relays: bool,
    order: Vec<usize>,
    visited: Vec<bool>,
    left: Vec<u32>,
    uses: Vec<usize>,
    found: Vec<Cycle>,
    steps: usize,
}

impl Finder<'_> {
    fn extend(&mut self) {
        self.steps += 1;
        if self.steps >= MOST_STEPS || self.found.len() >= MOST_CYCLES {
            return;
        }
        let last = self.order[self.order.len() - 1];
        if self.order.len() == self.fabric.gpus {
            if let Some(taken) = self.take(last, 0) {
                let (order, uses) = (self.order.clone(), self.uses.clone());
                self.found.push(Cycle { order, uses });
                self.give_back(taken);
            }
            return;
        }
        for next in 1..self.fabric.gpus {
            if self.visited[next] {
                continue;
            }
            let Some(taken) = self.take(last, next) else { continue };
            self.visited[next] = true;
            self.order.push(next);
            self.extend();
            self.order.pop();
            self.visited[next] = false;
            self.give_back(taken);
        }
    }

    /// Takes the lanes of a hop; how many it took, or None where they do not suffice.
    fn take(&mut self, from: usize, to: usize) -> Option<usize> {
        let lane = |a: usize, b: usize| a * self.fabric.gpus + b;
        let hops = if self.fabric.lanes(from, to) > 0 {
            vec![lane(from, to)]
        } else {
            let through = self.fabric.relay(from, to).filter(|_| self.relays)?;
            vec![lane(from, through), lane(through, to)]
        };
        if hops.iter().any(|hop| self.left[*hop] == 0) {
            return None;
        }
        hops.iter().for_each(|hop| self.left[*hop] -= 1);
        self.uses.extend(&hops);
        Some(hops.len())
    }

    fn give_back(&mut self, count: usize) {
        for hop in self.uses.split_off(self.uses.len() - count) {
            self.left[hop] += 1;
        }
    }
}

/// Finds the largest set of rings, each as often as wanted, that fit together.
struct Chooser<'a> {
    cycles: &'a [Cycle],
    gpus: usize,
    left: Vec<u32>,
    chosen: Vec<usize>,
    best: Vec<usize>,
    steps: usize,
}

impl Chooser<'_> {
    /// No set has more rings than the links that lead out of, or into, any GPU.
    fn bound(&self) -> usize {
        let out = |gpu: usize| (0..self.gpus).map(|to| self.left[gpu * self.gpus + to]).sum();
        let into = |gpu: usize| (0..self.gpus).map(|from| self.left[from * self.gpus + gpu]).sum();
        let least = |gpu: usize| u32::min(out(gpu), into(gpu));
        (0..self.gpus).map(least).min().unwrap_or(0) as usize
    }

    fn choose(&mut self, from: usize) {
        if self.chosen.len() > self.best.len() {
            self.best.clone_from(&self.chosen);
        }
        // Each cycle that is tried gives back its lanes, so that the bound stays.
        let most = self.chosen.len() + self.bound();
        for index in from..self.cycles.len() {
            if most <= self.best.len() || self.steps >= MOST_STEPS {
                return;
            }
            self.steps += 1;
            let cycle = &self.cycles[index];
            if !self.fits(cycle) {
                continue;
            }
            cycle.uses.iter().for_each(|lane| self.left[*lane] -= 1);
            self.chosen.push(index);
            self.choose(index);
            self.chosen.pop();
            cycle.uses.iter().for_each(|lane| self.left[*lane] += 1);
        }
    }

    fn fits(&self, cycle: &Cycle) -> bool {
        // A relayed ring may cross one lane more than once.
        let times = |lane: usize| cycle.uses.iter().filter(|used| **used == lane).count();
        cycle.uses.iter().all(|lane| self.left[*lane] as usize >= times(*lane))
    }
}
