//! How long the event queue takes per event, beside four other structures.
//!
//! `cargo bench --bench event_queue` runs it. Each queue holds a fixed number of events and takes
//! the next one, then schedules another, again and again. The queues take turns in slices, and the
//! mean of the slices is shown. Where Linux tells it, a slice's time is its time on a processor, in
//! ticks of some 4 ms. So other work on the machine disturbs it little.

use std::hint::black_box;
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use linkwright::engine::{EventQueue, Random};

use linkwright_bench::event_queue_references::{
    BinaryHeap, CalendarQueue, FourAryHeap, Queue, RadixHeap,
};

/// Counts the events that one slice handles.
const SLICE: usize = 1_000_000;
/// How many slices each queue gets after the one that warms it.
const SLICES: usize = 2;
const PENDING: [usize; 3] = [1_000, 10_000, 100_000];
/// Lists spans until an event, in picoseconds. A packet of 4 KiB at 11.9 GB/s comes without and
/// with a hop of 100 ns, one of 256 bytes with it. The others are a credit's way back and a
/// router's delay.
const COMMON: [u64; 5] = [344_205, 444_205, 121_513, 100_000, 50_000];

/// Says where the spans between events come from.
#[derive(Clone, Copy)]
enum Mix {
    /// Eight in ten are common, one in twenty is zero, the others lie anywhere in the range.
    Packets,
    /// All are common, so that many events fall on one time.
    Common,
    /// Draws all spans from anywhere between 10 ns and 2 us.
    Uniform,
}

fn below(random: &mut Random, bound: u64) -> u64 {
    random.below(NonZeroU64::new(bound).expect("bounds are positive"))
}

fn span(random: &mut Random, mix: Mix) -> u64 {
    let chance = below(random, 100);
    match mix {
        Mix::Packets if chance < 5 => 0,
        Mix::Packets if chance < 85 => COMMON[below(random, 5) as usize],
        Mix::Common => COMMON[below(random, 5) as usize],
        Mix::Packets | Mix::Uniform => 10_000 + below(random, 1_990_000),
    }
}

/// Holds the load of every queue: its first events, then the span of each that follows.
struct Load {
    first: Vec<u64>,
    spans: Vec<u64>,
}

/// One event in twenty is a computation's end, 1 ms to 1 s away.
fn load(pending: usize, mix: Mix) -> Load {
    let mut random = Random::new(pending as u64);
    let first = (0..pending).map(|event| match event % 20 {
        0 => 1_000_000_000 + below(&mut random, 999_000_000_000),
        _ => below(&mut random, 2_000) * 1_000 + span(&mut random, mix),
    });
    let first = first.collect();
    let spans = (0..1 << 16).map(|_| span(&mut random, mix)).collect();
    Load { first, spans }
}

/// One queue under a load; a slice gives its time and a sum that only the right order gives.
struct Run<'a, Q> {
    queue: Q,
    load: &'a Load,
    handled: usize,
    sum: u64,
}

impl<'a, Q: Queue> Run<'a, Q> {
    fn new(load: &'a Load) -> Self {
        let mut queue = Q::create();
        for (event, time) in load.first.iter().enumerate() {
            queue.push(*time, event as u64);
        }
        Self { queue, load, handled: 0, sum: 0 }
    }

    #[inline(never)]
    fn play(&mut self) {
        for _ in 0..SLICE {
            let Some((time, event)) = self.queue.pop() else { return };
            self.sum = self.sum.rotate_left(1) ^ time ^ (event << 32);
            let span = self.load.spans[self.handled % self.load.spans.len()];
            self.queue.push(time + span, event);
            self.handled += 1;
        }
    }
}

/// How long this thread has run on a processor, where the system tells.
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split(' ').next()?.parse().ok()?))
}

trait Slice {
    fn slice(&mut self) -> (Duration, u64);
}

impl<Q: Queue> Slice for Run<'_, Q> {
    fn slice(&mut self) -> (Duration, u64) {
        let (wall, processor) = (Instant::now(), processor_time());
        black_box(&mut *self).play();
        let spent = processor_time().zip(processor).map(|(end, start)| end.saturating_sub(start));
        (spent.unwrap_or_else(|| wall.elapsed()), self.sum)
    }
}

fn main() {
    let names = ["linkwright", "binary heap", "4-ary heap", "radix heap", "calendar"];
    println!("nanoseconds per event taken and scheduled (times that of linkwright)\n");
    println!("load     pending  {}", names.map(|name| format!("{name:>15}")).join(""));
    for (label, mix) in
        [("packets", Mix::Packets), ("common", Mix::Common), ("uniform", Mix::Uniform)]
    {
        for pending in PENDING {
            let load = load(pending, mix);
            let mut runs: [Box<dyn Slice + '_>; 5] = [
                Box::new(Run::<EventQueue<u64>>::new(&load)),
                Box::new(Run::<BinaryHeap>::new(&load)),
                Box::new(Run::<FourAryHeap>::new(&load)),
                Box::new(Run::<RadixHeap>::new(&load)),
                Box::new(Run::<CalendarQueue>::new(&load)),
            ];
            let mut means = [0.0; 5];
            for turn in 0..=SLICES {
                let mut sums = [0; 5];
                for (index, run) in runs.iter_mut().enumerate() {
                    let (elapsed, sum) = run.slice();
                    sums[index] = sum;
                    if turn > 0 {
                        means[index] += elapsed.as_secs_f64() * 1e9 / (SLICE * SLICES) as f64;
                    }
                }
                assert!(sums.iter().all(|sum| *sum == sums[0]), "all queues agree: {sums:?}");
            }
            let cells = means.map(|each| format!("{each:>8.1} ({:.1})", each / means[0]));
            let cells = cells.map(|cell| format!("{cell:>15}"));
            println!("{label:<8} {pending:>7}  {}", cells.join(""));
        }
    }
}
