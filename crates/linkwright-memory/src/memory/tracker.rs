//! Request trackers: which lines controllers of shared memory have in flight, and who waits for each.
//!
//! A tracker is the first stage of a unified controller (MGPU-TSM, sections 3.1 and 4.2.5). It has a
//! table of lines in flight, and holds any other request of such a line. Those of one line take
//! turns. Logical times order them where accesses are sequentially consistent. Elsewhere they go as
//! they came, but reads pass a write that waits, once. An access may serve the reads that come next
//! without one of their own to DRAM. Requests that find the table full wait; nothing bounds how many.

use super::cache::{Mshrs, NONE};
use super::protocol::{Ask, CoherenceProtocol};
use super::requests::Request;
use super::system::{Event, Gpus};
use crate::engine::Scheduler;
use crate::system::gpus::{Merging, RequestTracker};
use crate::units::Picoseconds;

/// Keeps the trackers of all controllers.
#[derive(Debug)]
pub(super) struct Tracker {
    /// Lines in flight at each.
    lines: Mshrs,
    /// Keeps those that wait for a place in each table.
    waiting: Vec<Vec<u32>>,
    /// Room for a line's requests while they are put in order.
    held: Vec<u32>,
    /// Picoseconds that each takes for a request.
    latency: u64,
    /// Whether logical time decides who is next.
    is_sequential: bool,
    /// Whether an access serves the reads after it.
    merges: bool,
}

impl Tracker {
    /// Makes trackers of `controllers`, which have nothing in flight.
    pub(super) fn new(
        of: &RequestTracker,
        is_sequential: bool,
        controllers: u32,
        cycle: u64,
    ) -> Self {
        Self {
            lines: Mshrs::new(controllers, of.depth),
            waiting: vec![Vec::new(); controllers as usize],
            held: Vec::new(),
            latency: u64::from(of.latency) * cycle,
            is_sequential,
            merges: match of.merging {
                Merging::Never => false,
                Merging::Sequential => is_sequential,
                Merging::Always => true,
            },
        }
    }
}

/// Whether a request only reads.
fn reads<S>(request: &Request<S>) -> bool {
    matches!(request.ask, Ask::Read | Ask::Renew | Ask::Own)
}

/// Lets reads pass the first write of a list, but for those whose own GPU wrote before them. Whether
/// any did. `of` tells of a request whether it reads, and its GPU.
fn let_reads_pass(held: &mut [u32], of: impl Fn(u32) -> (bool, u16)) -> bool {
    let first = held.iter().position(|index| !of(*index).0).unwrap_or(held.len());
    let (mut next, mut writers) = (first, 0_u32);
    for at in first..held.len() {
        let (reads, gpu) = of(held[at]);
        let own = 1 << (gpu % 32);
        if !reads {
            writers |= own;
        } else if writers & own == 0 {
            held[next..=at].rotate_right(1);
            next += 1;
        }
    }
    next > first
}

impl<P: CoherenceProtocol> Gpus<'_, P> {
    /// A request is at the controller of its line.
    pub(super) fn at_controller(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        match &self.tracker {
            None => self.at_memory(index, scheduler),
            Some(Tracker { latency: 0, .. }) => self.tracked(index, scheduler),
            Some(Tracker { latency, .. }) => {
                scheduler.schedule_in(Picoseconds(*latency), Event::Tracked(index));
            }
        }
    }

    /// A request is in its controller's tracker: it is served, or waits for its line or a place.
    pub(super) fn tracked(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        let Request { line, physical, .. } = *self.requests.get(index);
        let controller = self.channel(physical);
        let Some(tracker) = &mut self.tracker else { return };
        if let Some(last) = tracker.lines.join(controller, line, index) {
            self.requests.link(last, index);
            return;
        }
        let waiting = &mut tracker.waiting[controller as usize];
        if !waiting.is_empty() || tracker.lines.is_full(controller) {
            waiting.push(index);
            return;
        }
        tracker.lines.take(controller, line);
        self.at_memory(index, scheduler);
    }

    /// Refuses a message of more than [`MOST_MESSAGE`].
    pub(super) fn line_served(
        &mut self,
        request: &Request<P::Stamp>,
        scheduler: &mut impl Scheduler<Event>,
    ) {
        let controller = self.channel(request.physical);
        let Some(tracker) = &mut self.tracker else { return };
        // Whoever was served with another has no line in flight.
        if reads(request) && request.is_passed {
            return;
        }
        let (merges, first) = (tracker.merges, tracker.lines.free(controller, request.line));
        let held = self.in_order(first);
        let is_read = |index: &&u32| reads(self.requests.get(**index));
        let merged = if merges { held.iter().take_while(is_read).count() } else { 0 };
        for index in &held[..merged] {
            self.requests.get_mut(*index).is_passed = true;
            self.served_with(*index, scheduler);
        }
        for (at, index) in held[merged..].iter().enumerate() {
            if at == 0 {
                self.begin(*index, scheduler);
            } else {
                self.hold(*index);
            }
        }
        if let Some(tracker) = &mut self.tracker {
            tracker.held = held;
        }
        self.let_in(controller, scheduler);
    }

    /// Gives the requests of a list that waited for a line, in the order of their turns.
    fn in_order(&mut self, first: u32) -> Vec<u32> {
        let Some(tracker) = &mut self.tracker else { return Vec::new() };
        let mut held = std::mem::take(&mut tracker.held);
        held.clear();
        let mut next = first;
        while next != NONE {
            held.push(next);
            next = self.requests.get(next).next;
        }
        if tracker.is_sequential {
            held.sort_by_key(|index| self.protocol.asked_at(self.requests.get(*index).stamp));
            return held;
        }
        let write = held.iter().copied().find(|index| !reads(self.requests.get(*index)));
        if let Some(write) = write.filter(|index| !self.requests.get(*index).is_passed) {
            let requests = &self.requests;
            let of = |index| (reads(requests.get(index)), requests.get(index).gpu);
            self.requests.get_mut(write).is_passed = let_reads_pass(&mut held, of);
        }
        held
    }

    /// A request whose line is not in flight begins.
    fn begin(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        let Request { line, physical, .. } = *self.requests.get(index);
        let controller = self.channel(physical);
        if let Some(tracker) = &mut self.tracker {
            tracker.lines.take(controller, line);
        }
        self.at_memory(index, scheduler);
    }

    /// A request whose line is in flight waits for it. Whether it is.
    fn hold(&mut self, index: u32) -> bool {
        let Request { line, physical, .. } = *self.requests.get(index);
        let controller = self.channel(physical);
        let last = self.tracker.as_mut().and_then(|it| it.lines.join(controller, line, index));
        if let Some(last) = last {
            self.requests.link(last, index);
        }
        last.is_some()
    }

    /// Those that wait for a place in a table come in, as long as there is one.
    fn let_in(&mut self, controller: u32, scheduler: &mut impl Scheduler<Event>) {
        loop {
            let Some(tracker) = &mut self.tracker else { return };
            let waiting = &mut tracker.waiting[controller as usize];
            if waiting.is_empty() || tracker.lines.is_full(controller) {
                return;
            }
            let next = if tracker.is_sequential {
                let time = |index: u32| self.protocol.asked_at(self.requests.get(index).stamp);
                (0..waiting.len()).min_by_key(|at| time(waiting[*at])).unwrap_or(0)
            } else {
                0
            };
            let index = waiting.remove(next);
            if !self.hold(index) {
                self.begin(index, scheduler);
            }
        }
    }
}

#[cfg(test)]
mod tests;
