//! Whatever a network does to the messages of a kernel, coherent memory gives right answers.

use std::collections::BTreeMap;

use super::*;
use crate::engine::Random;
use crate::network::MemoryClass;
use crate::system::gpus;
use crate::system::presets::preset;

/// Delivers messages after times by chance; those of one pair and class in their order, as a virtual channel does.
struct Chance {
    random: Random,
    /// The most picoseconds that a message takes; a probe takes less.
    most: u64,
    /// Tells the last arrival of each pair and class.
    last: BTreeMap<([u32; 2], MemoryClass), u64>,
    /// Holds messages under way, by their arrival.
    under_way: BTreeMap<(u64, u64), u32>,
    sent: u64,
}

impl Chance {
    fn send(&mut self, now: u64, message: &GpuKernelMessage) {
        let most = if message.class == MemoryClass::Probe { 20_000 } else { self.most };
        let after = self.random.below(std::num::NonZeroU64::new(most).unwrap());
        let last = self.last.entry((message.ends, message.class)).or_default();
        *last = (*last).max(now + after);
        self.under_way.insert((*last, self.sent), message.what);
        self.sent += 1;
    }
}

/// Plays a benchmark on three GPUs, and says whether its answer is right; None where it never ends.
fn is_right(
    (name, size): (&str, u64),
    memory: &str,
    (most, seed): (u64, u64),
    keeps_order: bool,
) -> Option<bool> {
    let system = System::of_server(Arc::new(preset("dgx1-v100").unwrap()));
    let source = KernelSource::Benchmark { name: name.to_owned(), size };
    let model = gpus::find_inside("r9-nano").unwrap().clone();
    let choices =
        KernelChoices { memory: memory.to_owned(), code: false, ..KernelChoices::default() };
    let kernel = ClusterKernel { source, model, choices };
    let mut prepared = kernel.on(&system, &[0, 3, 5]).unwrap();
    prepared.options.with_data = true;
    let mut run = prepared.start().unwrap();
    let mut network = Chance {
        random: Random::new(seed),
        most,
        last: BTreeMap::new(),
        under_way: BTreeMap::new(),
        sent: 0,
    };
    let mut sends = Vec::new();
    while !run.is_over() {
        let next = run.next().map(|next| next.0);
        let arrival = network.under_way.first_key_value().map(|((time, _), _)| *time);
        let now = [next, arrival].into_iter().flatten().min()?;
        if arrival == Some(now) {
            let (_, what) = network.under_way.pop_first().unwrap();
            if keeps_order {
                run.arrive(what, Picoseconds(now));
            } else {
                run.run.arrive(what, Picoseconds(now));
            }
        }
        run.advance(Picoseconds(now), &mut sends).ok()?;
        for message in sends.drain(..) {
            network.send(now, &message);
        }
    }
    let image = run.run.finish().image.unwrap();
    Some((prepared.workload.check)(&image).is_ok())
}

const SHARED: [(&str, u64); 4] = [("bfs", 256), ("xtreme3", 192), ("message", 64), ("mt", 64)];

#[test]
fn answers_are_right_whatever_overtakes_what() {
    for memory in ["hmg", "g-tsc", "zero-copy", "unified"] {
        for benchmark in SHARED {
            let right = is_right(benchmark, memory, (400_000, 1), true);
            assert_eq!(right, Some(true), "{benchmark:?} {memory}");
        }
    }
}

#[test]
fn an_answer_is_wrong_where_a_pair_does_not_keep_its_order() {
    let of = |keeps_order| is_right(("message", 64), "hmg", (4_000_000, 7), keeps_order);
    assert_eq!(of(true), Some(true));
    assert_eq!(of(false), Some(false));
}
