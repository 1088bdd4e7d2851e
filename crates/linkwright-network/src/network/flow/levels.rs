//! Keeps the level of each resource and the rate of each flow right from change to change.
//!
//! A flow's rate is the least of its limit and its resources' levels. A resource's level follows
//! from its flows' rates. Flows that are slower, or as fast as their limits allow, keep their
//! rates. The others share the rest equally, rounded down. Without others, the resource has no
//! level. Progressive filling from nothing fulfils these conditions, and nothing else does: going
//! upwards, each level depends on lower rates only. So levels that agree with all rates are the
//! right ones, whatever happened before.
//!
//! After a change, the resources that no longer agree are put right from the lowest level up, as in
//! Dijkstra's algorithm. Everything below a level is final when its turn comes. So a level that
//! falls is final at once. A level that rises is looked at again only when rates below its new
//! height change. The method follows Ramalingam and Reps, "An incremental algorithm for a
//! generalization of the shortest-path problem", 1996.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::incidence::{Incidence, User};
use super::quotient::quotient;

/// Stands for the level of a resource that slows no flow, and for the limit of a flow without one.
const NONE: u64 = u64::MAX;

#[derive(Debug, Clone, Copy)]
struct Resource {
    level: u64,
    /// Sums its flows' rates times their shares.
    used: u128,
    /// Where its turn comes: the lower level that it ought to have or, where that is higher,
    /// the level that it has. [`NONE`] while level and rates agree.
    turn: u64,
    /// Whether its flows changed since its turn was worked out.
    open: bool,
}

const IDLE: Resource = Resource { level: NONE, used: 0, turn: NONE, open: false };

/// Describes the demand of a flow on a resource.
#[derive(Debug, Clone, Copy)]
struct Demand {
    /// The flow's rate if this resource did not slow it.
    rate: u64,
    /// From this level on the rate is that, whatever the resource's level.
    met: u64,
    share: u64,
}

/// Holds levels and rates, and the memory of their computation.
#[derive(Debug, Clone, Default)]
pub(super) struct Levels {
    resources: Vec<Resource>,
    /// Holds each flow's rate by its slot.
    rates: Vec<u64>,
    is_changed: Vec<bool>,
    /// Lists the slots of flows whose rates changed.
    changed: Vec<u32>,
    open: Vec<u32>,
    /// Resources by their turns; one whose turn has changed since is passed over.
    turns: BinaryHeap<Reverse<(u64, u32)>>,
    demands: Vec<Demand>,
}

impl Levels {
    /// Makes levels for a given number of resources without flows.
    pub(super) fn new(resources: usize) -> Self {
        Self { resources: vec![IDLE; resources], ..Self::default() }
    }

    /// One resource more, that no flow uses.
    pub(super) fn add_resource(&mut self) {
        self.resources.push(IDLE);
    }

    /// Forgets all flows; not between a change and [`Self::settle`].
    pub(super) fn clear(&mut self) {
        self.resources.fill(IDLE);
    }

    /// Takes in a flow that the incidence has already.
    pub(super) fn add(&mut self, incidence: &Incidence, slot: u32) {
        if self.rates.len() <= slot as usize {
            self.rates.resize(slot as usize + 1, 0);
            self.is_changed.resize(slot as usize + 1, false);
        }
        self.rates[slot as usize] = 0;
        self.set_rate(incidence, slot, self.allowed(incidence, slot, None));
    }

    /// Lets go of a flow that the incidence still has.
    pub(super) fn remove(&mut self, incidence: &Incidence, slot: u32) {
        self.set_rate(incidence, slot, 0);
    }

    /// Takes out a slot whose flow changed its rate since the last call, with that rate. The rate
    /// is 0 if the flow ended.
    pub(super) fn pop_changed(&mut self) -> Option<(u32, u64)> {
        let slot = self.changed.pop()?;
        self.is_changed[slot as usize] = false;
        Some((slot, self.rates[slot as usize]))
    }

    /// Puts levels and rates right after flows came and went.
    pub(super) fn settle(&mut self, incidence: &Incidence) {
        loop {
            while let Some(resource) = self.open.pop() {
                self.find_turn(incidence, resource);
            }
            let Some(Reverse((turn, _))) = self.turns.peek().copied() else { break };
            // Turns at one height do not touch each other, so that those whose flows change
            // with them need one look, not one after each.
            while let Some(Reverse((next, resource))) = self.turns.peek().copied()
                && next == turn
            {
                self.turns.pop();
                self.take_turn(incidence, resource, turn);
            }
        }
    }

    /// Sets a resource's level, unless its turn has changed since it was queued.
    fn take_turn(&mut self, incidence: &Incidence, resource: u32, turn: u64) {
        let entry = &mut self.resources[resource as usize];
        if entry.turn == turn {
            entry.turn = NONE;
            if turn < entry.level {
                self.lower(incidence, resource, turn);
            } else {
                self.raise(incidence, resource);
            }
        }
    }

    /// Gives the least of a flow's limit and its levels, leaving out the level of one resource.
    fn allowed(&self, incidence: &Incidence, slot: u32, but: Option<u32>) -> u64 {
        let uses = incidence.uses(slot).iter().map(|each| each.resource);
        let others = uses.filter(|resource| Some(*resource) != but);
        let levels = others.map(|resource| self.resources[resource as usize].level);
        levels.fold(incidence.limit(slot), u64::min)
    }

    fn set_rate(&mut self, incidence: &Incidence, slot: u32, rate: u64) {
        let old = std::mem::replace(&mut self.rates[slot as usize], rate);
        if !std::mem::replace(&mut self.is_changed[slot as usize], true) {
            self.changed.push(slot);
        }
        for each in incidence.uses(slot) {
            let resource = &mut self.resources[each.resource as usize];
            resource.used -= u128::from(old) * u128::from(each.share);
            resource.used += u128::from(rate) * u128::from(each.share);
            if !std::mem::replace(&mut resource.open, true) {
                self.open.push(each.resource);
            }
        }
    }

    /// Compares a resource's level with its flows' rates and queues it where they disagree.
    fn find_turn(&mut self, incidence: &Incidence, resource: u32) {
        let Resource { level, used, turn: before, .. } = self.resources[resource as usize];
        let turn = if used + u128::from(incidence.share(resource)) <= incidence.capacity(resource) {
            // Each flow could be faster by one: the resource stops none, at any level.
            level
        } else {
            self.demands.clear();
            for user in incidence.users(resource) {
                let rate = self.rates[user.slot as usize];
                self.demands.push(demand(incidence, user, rate));
            }
            if agrees(incidence, resource, level, &self.demands) {
                NONE
            } else {
                let right = fill(incidence.capacity(resource), &mut self.demands, level);
                if right == level { NONE } else { right.min(level) }
            }
        };
        let entry = &mut self.resources[resource as usize];
        (entry.open, entry.turn) = (false, turn);
        if turn != NONE && turn != before {
            self.turns.push(Reverse((turn, resource)));
        }
    }

    fn lower(&mut self, incidence: &Incidence, resource: u32, level: u64) {
        self.resources[resource as usize].level = level;
        for user in incidence.users(resource) {
            if self.rates[user.slot as usize] > level {
                self.set_rate(incidence, user.slot, level);
            }
        }
    }

    /// Sets a level that is too low to what its flows' other levels would have it.
    fn raise(&mut self, incidence: &Incidence, resource: u32) {
        let level = self.resources[resource as usize].level;
        let mut demands = std::mem::take(&mut self.demands);
        demands.clear();
        for user in incidence.users(resource) {
            let mut rate = self.rates[user.slot as usize];
            if rate == level {
                rate = self.allowed(incidence, user.slot, Some(resource));
            }
            demands.push(demand(incidence, user, rate));
        }
        let right = fill(incidence.capacity(resource), &mut demands, NONE);
        self.resources[resource as usize].level = right;
        for user in incidence.users(resource) {
            if self.rates[user.slot as usize] == level {
                let rate = self.allowed(incidence, user.slot, None);
                if rate != level {
                    self.set_rate(incidence, user.slot, rate);
                }
            }
        }
        self.demands = demands;
    }
}

fn demand(incidence: &Incidence, user: &User, rate: u64) -> Demand {
    let at_limit = rate == incidence.limit(user.slot) && rate != NONE;
    let met = if at_limit { rate } else { rate.saturating_add(1) };
    Demand { rate, met, share: user.share }
}

/// Says whether a level is surely the one that [`fill`] would find. The level must be the quotient
/// of the capacity that slower flows leave. Those flows must be so far below it that no lower level
/// is possible.
fn agrees(incidence: &Incidence, resource: u32, level: u64, demands: &[Demand]) -> bool {
    let (mut left, mut share, mut below) = (incidence.capacity(resource), 0_u64, 0);
    for each in demands {
        if each.met <= level {
            left = left.saturating_sub(u128::from(each.rate) * u128::from(each.share));
            below = each.rate.max(below);
        } else {
            share += each.share;
        }
    }
    if share == 0 || below >= level {
        return false;
    }
    let apart = u128::from(level - below - 1) * u128::from(share);
    let slower = incidence.share(resource) - share;
    (slower == 0 || apart >= u128::from(incidence.share(resource)))
        && quotient(left, share).max(1) == level
}

/// The level at which a resource is full, or [`NONE`]; something above `enough` where it is
/// above that. Uses the demands up.
fn fill(capacity: u128, demands: &mut Vec<Demand>, enough: u64) -> u64 {
    let mut left = capacity;
    let mut share: u64 = demands.iter().map(|each| each.share).sum();
    loop {
        if share == 0 {
            return NONE;
        }
        // At least one, so that no flow stands still for want of capacity.
        let level = quotient(left, share).max(1);
        let before = demands.len();
        demands.retain(|each| {
            if each.met <= level {
                left = left.saturating_sub(u128::from(each.rate) * u128::from(each.share));
                share -= each.share;
            }
            each.met > level
        });
        if demands.len() == before || level > enough {
            return level;
        }
    }
}
