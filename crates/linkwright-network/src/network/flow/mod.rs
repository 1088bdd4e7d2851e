//! Plays transfers as fluids that share capacities by max-min fairness: the flow model.
//!
//! Each active flow has one rate. A resource carries the sum of its flows' rates times their
//! shares, and never more than its capacity. The rates are the max-min fair ones (Bertsekas and
//! Gallager, *Data Networks*, 1992, Section 6.5.2). No flow can go faster without slowing one that
//! is no faster. The model leaves out packets, queues, and the time in which real senders find
//! their rates. The caller adds latency.
//!
//! Everything is whole numbers. Rates are multiples of 2^-10 bytes per second. Shares are multiples
//! of a fraction whose denominator halves, thirds and sixths divide. So sums do not depend on their
//! order, and equal flows end at the same picosecond. Rates depend only on the flows that are
//! active, not on earlier ones. A flow never ends early. Above rates of 1 GB/s it ends late by less
//! than one part in 10^12 and one picosecond.

mod completions;
mod filling;
mod incidence;
mod levels;
mod quotient;
#[cfg(test)]
mod tests;

use self::completions::Completions;
use self::filling::Filling;
use self::incidence::{Incidence, WHOLE_SHARE};
use self::levels::Levels;
use self::quotient::quotient_up;
use super::ResourceId;
use crate::units::{Bandwidth, Bytes, Picoseconds};

/// Rates per byte per second: 2^10, so that rounding a rate down loses nothing one can see.
const RATES_PER_BANDWIDTH: u64 = 1 << 10;

/// Bytes times this are rates times picoseconds.
const WORK_PER_BYTE: u128 = 1_000_000_000_000 * RATES_PER_BANDWIDTH as u128;

/// Above this many flows it pays to keep levels; below, to fill a component anew is quicker.
const MANY_FLOWS: usize = 64;

/// Names one flow of a [`FlowNetwork`]. Flows that started earlier compare less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId {
    sequence: u64,
    slot: u32,
}

impl FlowId {
    /// Gives a small number that no other active flow has, for a caller's flat arrays. It is always
    /// less than the largest number of flows that were active at once.
    #[must_use]
    pub fn slot(self) -> usize {
        self.slot as usize
    }
}

#[derive(Debug, Clone)]
struct Flow {
    sequence: u64,
    active: bool,
    /// Holds the work left at `settled`, in rates times picoseconds.
    remaining: u128,
    settled: Picoseconds,
    rate: u64,
}

impl Flow {
    /// Gives the work left at a time not before `settled`, while the rate stays as it is.
    fn remaining_at(&self, now: Picoseconds) -> u128 {
        let elapsed = u128::from(now.0 - self.settled.0);
        self.remaining.saturating_sub(elapsed * u128::from(self.rate))
    }

    fn change_rate(&mut self, rate: u64, now: Picoseconds) {
        self.remaining = self.remaining_at(now);
        self.settled = now;
        self.rate = rate;
    }

    /// When nothing is left, rounded up; the largest time where that does not fit.
    fn completion(&self) -> Picoseconds {
        let span = quotient_up(self.remaining, self.rate);
        Picoseconds(self.settled.0.saturating_add(span))
    }
}

/// Plays active flows over resources of fixed capacity, in simulated time.
///
/// The caller starts flows and takes completions in the order of time. Rates are worked out when
/// they are asked for, so that all starts and ends at one time cost one computation. It covers only
/// the flows that they reach through shared resources. Where flows are many, it covers only those
/// whose rates change and the resources of these.
///
/// ```
/// use linkwright_network::network::FlowNetwork;
/// use linkwright_ground::units::{Bandwidth, Bytes, Picoseconds};
///
/// let mut network = FlowNetwork::new(&[Bandwidth::gigabytes_per_second(10)]);
/// let start = Picoseconds(0);
/// let short = network.start(&[(0, 1.0)], Bytes(5_000), None, start);
/// let long = network.start(&[(0, 1.0)], Bytes(10_000), None, start);
/// assert_eq!(network.rate(long), Bandwidth::gigabytes_per_second(5));
/// assert_eq!(network.complete_next(), Some((Picoseconds(1_000_000), short)));
/// assert_eq!(network.complete_next(), Some((Picoseconds(1_500_000), long)));
/// assert_eq!(network.complete_next(), None);
/// ```
#[derive(Debug, Clone)]
pub struct FlowNetwork {
    now: Picoseconds,
    started: u64,
    flows: Vec<Flow>,
    free_slots: Vec<u32>,
    incidence: Incidence,
    completions: Completions,
    filling: Filling,
    /// The slots of flows that started and have no rate yet, and resources whose flows changed.
    unrated: Vec<u32>,
    changed: Vec<u32>,
    /// In use from above `many` flows until there are fewer than half as many.
    levels: Levels,
    keeps_levels: bool,
    many: usize,
    /// The class of each slot's flow, and how many active flows are above the lowest.
    classes: Vec<u8>,
    ranked: usize,
}

impl FlowNetwork {
    /// An idle network at time zero; a [`ResourceId`] is an index of `capacities`.
    ///
    /// A flow over a resource without capacity goes at about a thousandth of a byte per
    /// second rather than never.
    #[must_use]
    pub fn new(capacities: &[Bandwidth]) -> Self {
        Self {
            now: Picoseconds(0),
            started: 0,
            flows: Vec::new(),
            free_slots: Vec::new(),
            incidence: Incidence::new(capacities),
            completions: Completions::default(),
            filling: Filling::new(capacities.len()),
            unrated: Vec::new(),
            changed: Vec::new(),
            levels: Levels::new(capacities.len()),
            keeps_levels: false,
            many: MANY_FLOWS,
            classes: Vec::new(),
            ranked: 0,
        }
    }

    /// Adds a resource, whose id is the next.
    pub fn add_resource(&mut self, capacity: Bandwidth) -> ResourceId {
        self.filling.add_resource();
        self.levels.add_resource();
        self.incidence.add_resource(capacity)
    }

    /// The time of the last call that had one.
    #[must_use]
    pub fn now(&self) -> Picoseconds {
        self.now
    }

    /// How many flows are active.
    #[must_use]
    pub fn active(&self) -> usize {
        self.flows.len() - self.free_slots.len()
    }

    /// Starts a flow of `bytes` that goes no faster than `rate_limit`. It uses each resource of
    /// `route` with the given share of its rate, from above 0 to 4. A share may pass 1: data that a
    /// switch reads from a GPU and gives back to it crosses that GPU's links twice.
    ///
    /// A flow with neither route nor limit takes no time. It is of the lowest class
    /// ([`Self::set_class`]).
    ///
    /// # Panics
    /// If a resource does not exist or a share is out of its range. If `now` is before the clock,
    /// or after a completion that was not taken.
    pub fn start(
        &mut self,
        route: &[(ResourceId, f64)],
        bytes: Bytes,
        rate_limit: Option<Bandwidth>,
        now: Picoseconds,
    ) -> FlowId {
        self.advance(now);
        let slot = self.free_slots.pop().unwrap_or(self.flows.len() as u32);
        let sequence = self.started;
        self.started += 1;
        let instant = route.is_empty() && rate_limit.is_none();
        let remaining = if instant { 0 } else { u128::from(bytes.0) * WORK_PER_BYTE };
        let flow = Flow { sequence, active: true, remaining, settled: now, rate: 0 };
        match self.flows.get_mut(slot as usize) {
            Some(free) => *free = flow,
            None => self.flows.push(flow),
        }
        self.incidence.add(slot, route, rate_limit);
        if self.classes.len() <= slot as usize {
            self.classes.push(0);
        }
        if self.keeps_levels {
            self.levels.add(&self.incidence, slot);
        } else {
            self.unrated.push(slot);
        }
        FlowId { sequence, slot }
    }

    /// Puts a flow into a class. The flows of the highest class take all that they can of every
    /// resource, max-min fairly among each other. Those of the next class share the rest, and so
    /// on. A flow that gets nothing goes as over a resource without capacity.
    ///
    /// # Panics
    /// If the flow is not active.
    pub fn set_class(&mut self, flow: FlowId, class: u8) {
        self.active_flow(flow);
        let old = std::mem::replace(&mut self.classes[flow.slot()], class);
        if old == class {
            return;
        }
        self.ranked = self.ranked - usize::from(old > 0) + usize::from(class > 0);
        if self.keeps_levels {
            self.leave_levels();
        } else {
            self.unrated.push(flow.slot);
        }
    }

    /// Classes are filled, not kept level: all rates are worked out anew.
    fn leave_levels(&mut self) {
        self.keeps_levels = false;
        self.levels.clear();
        self.unrated.clear();
        let active = (0..).zip(&self.flows).filter(|(_, flow)| flow.active);
        self.unrated.extend(active.map(|(slot, _)| slot));
    }

    /// The flow that ends next, and when; the earliest started of those that end together.
    /// None while no flow is active, or none ends within the largest time.
    pub fn next_completion(&mut self) -> Option<(Picoseconds, FlowId)> {
        // A flow that ends now ends now, whatever rates the changes of this moment bring.
        let ends_now = |first: &(Picoseconds, FlowId)| first.0 == self.now;
        if let Some(first) = self.completions.first().filter(ends_now) {
            return Some(first);
        }
        self.update_rates();
        self.completions.first().filter(|(time, _)| *time != Picoseconds(u64::MAX))
    }

    /// Says whether a flow ends at this time, which is not before the clock. Flows that have begun
    /// since, or will begin then, change nothing about that, unless they take no time themselves.
    #[must_use]
    pub fn completes_at(&self, time: Picoseconds) -> bool {
        self.completions.first().is_some_and(|(first, _)| first <= time)
    }

    /// Sets the clock to the next completion and ends that flow.
    pub fn complete_next(&mut self) -> Option<(Picoseconds, FlowId)> {
        let (time, flow) = self.next_completion()?;
        self.now = time;
        self.end(flow);
        Some((time, flow))
    }

    /// Sets the clock to the next completion and gives that flow more to carry instead of ending it.
    pub fn prolong_next(&mut self, bytes: Bytes) -> Option<(Picoseconds, FlowId)> {
        let (time, id) = self.next_completion()?;
        self.now = time;
        let flow = &mut self.flows[id.slot()];
        flow.remaining = flow.remaining_at(time) + u128::from(bytes.0) * WORK_PER_BYTE;
        flow.settled = time;
        self.completions.set(id, flow.completion());
        Some((time, id))
    }

    /// Ends a flow before its completion and returns what it did not carry, rounded up.
    ///
    /// # Panics
    /// If the flow is not active, or as for [`Self::advance`].
    pub fn cancel(&mut self, flow: FlowId, now: Picoseconds) -> Bytes {
        self.advance(now);
        let remaining = self.remaining(flow);
        self.end(flow);
        remaining
    }

    /// Sets the clock.
    ///
    /// # Panics
    /// If `now` is before the clock or after a completion that was not taken.
    pub fn advance(&mut self, now: Picoseconds) {
        assert!(now >= self.now, "{now} is before the clock, {}", self.now);
        if now > self.now {
            let due = self.next_completion();
            assert!(due.is_none_or(|(time, _)| time >= now), "a completion before {now} is open");
            self.now = now;
        }
    }

    /// Returns a flow's rate from now on, rounded down to whole bytes per second.
    ///
    /// # Panics
    /// If the flow is not active.
    pub fn rate(&mut self, flow: FlowId) -> Bandwidth {
        self.update_rates();
        Bandwidth(self.active_flow(flow).rate / RATES_PER_BANDWIDTH)
    }

    /// Returns the bytes that a flow has yet to carry, rounded up.
    ///
    /// # Panics
    /// If the flow is not active.
    #[must_use]
    pub fn remaining(&self, flow: FlowId) -> Bytes {
        let work = self.active_flow(flow).remaining_at(self.now);
        Bytes(u64::try_from(work.div_ceil(WORK_PER_BYTE)).unwrap_or(u64::MAX))
    }

    /// Returns the bandwidth that the flows over a resource use, as rates were last worked out.
    ///
    /// # Panics
    /// If it does not exist.
    #[must_use]
    pub fn used(&self, resource: ResourceId) -> Bandwidth {
        let users = self.incidence.users(resource as u32).iter();
        let taken = users
            .map(|user| u128::from(self.flows[user.slot as usize].rate) * u128::from(user.share));
        let parts = u128::from(WHOLE_SHARE) * u128::from(RATES_PER_BANDWIDTH);
        Bandwidth((taken.sum::<u128>() / parts) as u64)
    }

    fn active_flow(&self, id: FlowId) -> &Flow {
        let flow = self.flows.get(id.slot());
        let flow = flow.filter(|flow| flow.active && flow.sequence == id.sequence);
        flow.expect("the flow is active")
    }

    fn end(&mut self, flow: FlowId) {
        self.flows[flow.slot()].active = false;
        self.ranked -= usize::from(std::mem::take(&mut self.classes[flow.slot()]) > 0);
        self.completions.remove(flow.slot);
        if self.keeps_levels {
            self.levels.remove(&self.incidence, flow.slot);
        } else {
            self.unrated.retain(|slot| *slot != flow.slot);
        }
        self.incidence.remove(flow.slot, &mut self.changed);
        self.free_slots.push(flow.slot);
    }

    fn update_rates(&mut self) {
        if self.keeps_levels {
            self.update_levels();
        } else if self.unrated.is_empty() && self.changed.is_empty() {
            return;
        } else if self.active() > self.many && self.ranked == 0 {
            self.levels.clear();
            let flows = self.flows.iter().enumerate().filter(|(_, flow)| flow.active);
            flows.for_each(|(slot, _)| self.levels.add(&self.incidence, slot as u32));
            self.keeps_levels = true;
            self.update_levels();
        } else {
            let classes = (self.ranked > 0).then_some(&self.classes[..]);
            self.filling.fill(&self.incidence, &self.unrated, &self.changed, classes);
            for (slot, rate) in self.filling.rates() {
                let flow = &mut self.flows[slot as usize];
                set_rate(flow, slot, rate, self.now, &mut self.completions);
            }
        }
        self.unrated.clear();
        self.changed.clear();
    }

    fn update_levels(&mut self) {
        self.levels.settle(&self.incidence);
        while let Some((slot, rate)) = self.levels.pop_changed() {
            let flow = &mut self.flows[slot as usize];
            if flow.active {
                set_rate(flow, slot, rate, self.now, &mut self.completions);
            }
        }
        self.keeps_levels = self.active() >= self.many / 2;
    }
}

fn set_rate(
    flow: &mut Flow,
    slot: u32,
    rate: u64,
    now: Picoseconds,
    completions: &mut Completions,
) {
    if flow.rate != rate {
        flow.change_rate(rate, now);
        let id = FlowId { sequence: flow.sequence, slot };
        completions.set(id, flow.completion());
    }
}
