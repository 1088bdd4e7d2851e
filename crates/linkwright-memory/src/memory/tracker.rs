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

    /// An access to a line is done: the next of those that its controller holds begins.
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
mod tests {
    use std::ops::ControlFlow;

    use proptest::prelude::*;

    use super::*;
    use crate::engine::EngineError;
    use crate::memory::kernel::benchmarks::Benchmark;
    use crate::memory::protocol::{Access, Forward, Level, Lookup, Mgcc, MgccStamp};
    use crate::memory::{GpuOptions, memory_system};
    use crate::system::gpus::{self, Hierarchy};

    /// Keeps what is scheduled.
    #[derive(Default)]
    struct Kept {
        now: u64,
        events: Vec<(u64, Event)>,
    }

    impl Scheduler<Event> for Kept {
        fn now(&self) -> Picoseconds {
            Picoseconds(self.now)
        }

        fn schedule(&mut self, time: Picoseconds, event: Event) {
            self.events.push((time.0, event));
        }

        fn tick(&mut self, _done: (u64, u64)) -> Result<(), EngineError> {
            Ok(())
        }

        fn ask(&mut self, _done: (u64, u64)) -> ControlFlow<()> {
            ControlFlow::Continue(())
        }
    }

    impl Kept {
        /// The requests whose access has an end by now, and when, in cycles from now.
        fn begun(&mut self) -> Vec<(u32, u64)> {
            let now = self.now;
            let begun = self.events.drain(..).filter_map(|(at, event)| match event {
                Event::Served(index) => Some((index, (at - now) / 1_000)),
                _ => None,
            });
            begun.collect()
        }
    }

    fn hierarchy(depth: u32, merging: Merging) -> Hierarchy {
        let found = gpus::find("r9-nano").and_then(|model| model.hierarchy()).expect("it is known");
        let tracker = Some(RequestTracker { depth, latency: 0, merging });
        Hierarchy { tracker, ..found.clone() }
    }

    /// The stamp of a request that comes after some writes of its L1.
    fn after(writes: u32) -> MgccStamp {
        let mgcc = Mgcc::MENDED;
        let (mut controller, mut home, mut cache) = Default::default();
        let mut stamp = MgccStamp::default();
        for _ in 0..writes {
            let answer = mgcc.on_request(&mut controller, &mut home, Some(0), Ask::Write, stamp);
            mgcc.on_response(Level::L1, &mut cache, None, Access::Write, answer);
            let looked = mgcc.on_access(Level::L1, &mut cache, None, Access::Write, stamp);
            let Lookup::Forward(Forward { stamp: next, .. }) = looked else { panic!() };
            stamp = next;
        }
        stamp
    }

    /// A controller of one memory, with the requests that come to it: GPU, what it asks, the line,
    /// how many writes it comes after.
    fn played(
        hierarchy: &Hierarchy,
        memory: &str,
        requests: &[(u16, Ask, u64, u32)],
        test: impl FnOnce(&mut Gpus<'_, Mgcc>, &mut Kept),
    ) {
        let workload = Benchmark::Relu.workload(hierarchy.page, 64, 4).unwrap();
        let memory = memory_system(memory).unwrap();
        let options = GpuOptions { gpus: 4, memory, with_data: false, ..GpuOptions::default() };
        let mut gpus = Gpus::new(Mgcc::MENDED, hierarchy, &workload, &options).unwrap();
        let mut kept = Kept::default();
        for (at, &(gpu, ask, line, writes)) in requests.iter().enumerate() {
            let of = Request::new(line, line, 0, gpu.into());
            let request = Request { ask, load: 0, stamp: after(writes), ..of };
            assert_eq!(gpus.requests.add(request), at as u32);
            gpus.at_controller(at as u32, &mut kept);
        }
        test(&mut gpus, &mut kept);
    }

    #[test]
    fn two_requests_of_a_line_take_turns_and_reads_pass_a_write_once() {
        let plain = hierarchy(16, Merging::Never);
        let came = [(0, Ask::Write, 0, 0), (1, Ask::Write, 0, 0), (2, Ask::Read, 0, 0)];
        played(&plain, "tsm-wt-c-rc", &came, |gpus, kept| {
            assert_eq!(kept.begun(), [(0, 100)], "the others wait for the line");
            gpus.served(0, kept);
            assert_eq!(kept.begun(), [(2, 100)], "a read passes a write");
            // Another comes: it may not pass the same write.
            let late = gpus.requests.add(Request { load: 0, ..Request::new(0, 0, 0, 3) });
            gpus.at_controller(late, kept);
            gpus.served(2, kept);
            assert_eq!(kept.begun(), [(1, 100)]);
            gpus.served(1, kept);
            assert_eq!(kept.begun(), [(late, 100)]);
            assert_eq!(gpus.memory.counts()[0].reads, 2);
        });
    }

    #[test]
    fn logical_time_decides_under_sequential_consistency_and_one_access_serves_reads() {
        let merging = hierarchy(16, Merging::Sequential);
        let came = [(0, Ask::Write, 0, 0), (1, Ask::Write, 0, 9), (2, Ask::Read, 0, 3)];
        played(&merging, "tsm-wt-c-sc", &came, |gpus, kept| {
            assert_eq!(kept.begun(), [(0, 100)]);
            gpus.served(0, kept);
            // The read is earlier in logical time: the write before serves it, as soon as its
            // timestamp is there, and the next write begins.
            assert_eq!(kept.begun(), [(2, 50), (1, 100)]);
            assert_eq!((gpus.memory.counts()[0].reads, gpus.memory.counts()[0].writes), (0, 2));
        });
        played(&merging, "tsm-wt-c-rc", &came, |gpus, kept| {
            kept.begun();
            gpus.served(0, kept);
            assert_eq!(kept.begun(), [(2, 100)], "an access each under relaxed consistency");
        });
    }

    #[test]
    fn a_full_table_lets_others_wait() {
        let narrow = hierarchy(1, Merging::Never);
        let came = [(0, Ask::Read, 0, 0), (1, Ask::Read, 1, 7), (2, Ask::Read, 2, 2)];
        played(&narrow, "tsm-wt-c-rc", &came, |gpus, kept| {
            assert_eq!(kept.begun(), [(0, 100)]);
            gpus.served(0, kept);
            assert_eq!(kept.begun(), [(1, 100)], "as they came");
        });
        played(&narrow, "tsm-wt-c-sc", &came, |gpus, kept| {
            kept.begun();
            gpus.served(0, kept);
            assert_eq!(kept.begun(), [(2, 100)], "by their times");
        });
    }

    #[test]
    fn none_takes_as_long_as_it_did() {
        let without = Hierarchy { tracker: None, ..hierarchy(1, Merging::Never) };
        let came = [(0, Ask::Write, 0, 0), (1, Ask::Write, 0, 0), (2, Ask::Read, 0, 0)];
        played(&without, "tsm-wt-c-rc", &came, |_, kept| {
            assert_eq!(kept.begun(), [(0, 100), (1, 100), (2, 100)]);
        });
    }

    proptest! {
        #[test]
        fn reads_pass_no_write_of_their_own_gpu(
            came in prop::collection::vec((0_u16..4, any::<bool>()), 1..20),
        ) {
            let mut order: Vec<u32> = (0..came.len() as u32).collect();
            let passed = let_reads_pass(&mut order, |at| {
                let (gpu, is_read) = came[at as usize];
                (is_read, gpu)
            });
            let mut sorted = order.clone();
            sorted.sort_unstable();
            prop_assert!(sorted.iter().copied().eq(0..came.len() as u32));
            prop_assert_eq!(passed, !order.is_sorted());
            for (at, first) in order.iter().enumerate() {
                for second in &order[at + 1..] {
                    let ((one, reads_one), (other, _)) =
                        (came[*first as usize], came[*second as usize]);
                    // Whoever went ahead of an earlier one read, and the earlier was another's.
                    prop_assert!(first < second || (reads_one && one != other));
                }
            }
        }
    }
}
