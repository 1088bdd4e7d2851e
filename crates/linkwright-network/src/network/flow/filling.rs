//! Progressive filling: all rates rise together until a resource is full, which fixes the
//! rates of its flows; the others rise on.
//!
//! The level at which a resource fills is a quotient of whole numbers, rounded down. Hence
//! the capacities hold exactly, and equal levels are equal however their sums were made.

use super::incidence::Incidence;
use super::quotient::quotient;

/// Holds the state of one resource of the components that are being filled.
#[derive(Debug, Clone, Copy, Default)]
struct Filled {
    visit: u64,
    /// Holds the part of the capacity that fixed flows leave free.
    capacity: u128,
    /// The sum of the shares of flows that are not fixed.
    share: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Rated {
    visit: u64,
    fixed: bool,
    rate: u64,
}

/// Keeps the memory of the computation from one run to the next.
#[derive(Debug, Clone, Default)]
pub(super) struct Filling {
    visit: u64,
    resources: Vec<Filled>,
    flows: Vec<Rated>,
    /// Lists the slots of the components' flows.
    slots: Vec<u32>,
    /// The components' resources, first all, then those that still have rising flows.
    rising: Vec<u32>,
    /// Lists the flows that have a limit, the lowest limit last.
    limited: Vec<(u64, u32)>,
    full: Vec<u32>,
}

impl Filling {
    /// Makes the memory for a given number of resources.
    pub(super) fn new(resources: usize) -> Self {
        Self { resources: vec![Filled::default(); resources], ..Self::default() }
    }

    /// Adds one resource.
    pub(super) fn add_resource(&mut self) {
        self.resources.push(Filled::default());
    }

    /// Gives the slots and rates that [`Self::fill`] worked out last.
    pub(super) fn rates(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.slots.iter().map(|slot| (*slot, self.flows[*slot as usize].rate))
    }

    /// Works out the rates of the components that hold these flows and resources. Where slots have
    /// classes, the rates of the highest class come first.
    pub(super) fn fill(
        &mut self,
        incidence: &Incidence,
        slots: &[u32],
        resources: &[u32],
        classes: Option<&[u8]>,
    ) {
        self.visit += 1;
        self.slots.clear();
        self.rising.clear();
        self.limited.clear();
        for slot in slots {
            self.visit_flow(incidence, *slot);
        }
        for resource in resources {
            self.visit_resource(incidence, *resource);
        }
        let mut next = 0;
        while let Some(resource) = self.rising.get(next) {
            for user in incidence.users(*resource) {
                self.visit_flow(incidence, user.slot);
            }
            next += 1;
        }
        self.limited.sort_unstable_by(|a, b| b.cmp(a));
        match classes {
            Some(classes) => self.fill_by_class(incidence, classes),
            None => self.fix_all(incidence, self.slots.len()),
        }
    }

    fn fix_all(&mut self, incidence: &Incidence, count: usize) {
        let mut unfixed = count;
        while unfixed > 0 {
            unfixed -= self.fix_lowest(incidence);
        }
    }

    /// Sets the rates of one class after the other. A class shares only the capacity that higher
    /// classes leave.
    fn fill_by_class(&mut self, incidence: &Incidence, classes: &[u8]) {
        let class = |slot: &u32| classes[*slot as usize];
        let mut left: Vec<u8> = self.slots.iter().map(class).collect();
        left.sort_unstable();
        left.dedup();
        let resources = std::mem::take(&mut self.rising);
        let limited = std::mem::take(&mut self.limited);
        let slots = std::mem::take(&mut self.slots);
        while let Some(highest) = left.pop() {
            for resource in &resources {
                self.resources[*resource as usize].share = 0;
            }
            let mut count = 0;
            for slot in &slots {
                // Those of other classes have their turn, or had it.
                let own = class(slot) == highest;
                self.flows[*slot as usize].fixed = !own;
                if own {
                    count += 1;
                    for each in incidence.uses(*slot) {
                        self.resources[each.resource as usize].share += each.share;
                    }
                }
            }
            self.rising.clone_from(&resources);
            self.limited.clear();
            self.limited.extend(limited.iter().filter(|(_, slot)| class(slot) == highest));
            self.fix_all(incidence, count);
        }
        self.slots = slots;
    }

    fn visit_flow(&mut self, incidence: &Incidence, slot: u32) {
        if self.flows.len() <= slot as usize {
            self.flows.resize(slot as usize + 1, Rated::default());
        }
        let flow = &mut self.flows[slot as usize];
        if flow.visit == self.visit {
            return;
        }
        *flow = Rated { visit: self.visit, fixed: false, rate: 0 };
        self.slots.push(slot);
        let limit = incidence.limit(slot);
        let uses = incidence.uses(slot);
        if limit < u64::MAX || uses.is_empty() {
            self.limited.push((limit, slot));
        }
        for each in uses {
            self.visit_resource(incidence, each.resource);
        }
    }

    fn visit_resource(&mut self, incidence: &Incidence, resource: u32) {
        let filled = &mut self.resources[resource as usize];
        if filled.visit != self.visit {
            filled.visit = self.visit;
            filled.capacity = incidence.capacity(resource);
            filled.share = incidence.share(resource);
            self.rising.push(resource);
        }
    }

    /// Raises the level to where the next resource is full and returns how many flows it fixed. It
    /// fixes the flows that meet their limits on the way. Where none does, it fixes those that the
    /// resource stops. Fixing a flow below a level never lowers that level for the others.
    fn fix_lowest(&mut self, incidence: &Incidence) -> usize {
        let lowest = self.find_full();
        let mut count = 0;
        while let Some((limit, slot)) = self.limited.pop_if(|(limit, _)| *limit <= lowest) {
            count += self.fix(incidence, slot, limit);
        }
        if count == 0 {
            for index in 0..self.full.len() {
                for user in incidence.users(self.full[index]) {
                    count += self.fix(incidence, user.slot, lowest);
                }
            }
        }
        count
    }

    /// The lowest level at which a resource is full; leaves all that are so in `full`.
    fn find_full(&mut self) -> u64 {
        self.full.clear();
        let mut lowest = u64::MAX;
        let mut index = 0;
        while let Some(resource) = self.rising.get(index).copied() {
            let filled = self.resources[resource as usize];
            if filled.share == 0 {
                self.rising.swap_remove(index);
                continue;
            }
            // Products tell how its level compares, and cost less than quotients.
            let (capacity, share) = (filled.capacity, u128::from(filled.share));
            let product = u128::from(lowest) * share;
            if capacity < product {
                let level = quotient(capacity, filled.share);
                // At least one, so that no flow stands still for want of capacity.
                let level = level.max(1);
                if level < lowest {
                    lowest = level;
                    self.full.clear();
                }
                self.full.push(resource);
            } else if capacity - product < share || lowest == u64::MAX {
                self.full.push(resource);
            }
            index += 1;
        }
        lowest
    }

    /// Fixes a flow's rate where it is not fixed yet; returns how many flows that is.
    fn fix(&mut self, incidence: &Incidence, slot: u32, rate: u64) -> usize {
        let flow = &mut self.flows[slot as usize];
        if flow.fixed {
            return 0;
        }
        (flow.fixed, flow.rate) = (true, rate);
        for each in incidence.uses(slot) {
            let filled = &mut self.resources[each.resource as usize];
            let used = u128::from(rate) * u128::from(each.share);
            filled.capacity = filled.capacity.saturating_sub(used);
            filled.share -= each.share;
        }
        1
    }
}
