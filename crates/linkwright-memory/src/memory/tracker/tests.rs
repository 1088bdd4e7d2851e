//! Turns of requests of one line, full tables, and reads that pass writes.

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
