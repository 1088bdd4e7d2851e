//! Xtreme1 to 3 of the dissertation's section 4.3.3: vectors are added again and again, by compute
//! units that read what others have written.
//!
//! Each compute unit has a slice of each of three vectors. An ideal barrier of the whole launch
//! parts the steps. In Xtreme2 every second compute unit works on the slice of its neighbour. In
//! Xtreme3 it works on the slice of the same unit of the next GPU: the text names one unit of each
//! pair.

use super::{Fact, KernelWorkload, Layout, Setting, small};
use crate::memory::kernel::{LANES, Launch, Mismatch, Scope, Wavefront};

/// Counts the compute units of a GPU. Each runs one group.
const UNITS: u64 = 64;
/// Counts the wavefronts of a group.
const WAVEFRONTS: u64 = 4;
/// Counts the instructions of the code: the start, three loads, and three sums of seven each.
const INSTRUCTIONS: u64 = 12 + 3 + 3 * 7;
/// How often a step is repeated after the first time.
const REPEATS: u32 = 10;

const fn fact(what: &'static str, workload: fn(Setting) -> KernelWorkload) -> Fact {
    let multiple = 3 * UNITS * WAVEFRONTS * LANES as u64 * 4 / 1024;
    Fact {
        what,
        size: "KB of the three vectors for each GPU",
        multiple,
        small: 192,
        full: 24_576,
        most: 1 << 22,
        workload,
    }
}

pub(super) const ONE: Fact = fact("own slices written again and again", |setting| {
    workload(setting, "xtreme1", Sharing::None)
});
pub(super) const TWO: Fact = fact("slices of the neighbouring compute unit", |setting| {
    workload(setting, "xtreme2", Sharing::Units)
});
pub(super) const THREE: Fact =
    fact("slices of the next GPU", |setting| workload(setting, "xtreme3", Sharing::Gpus));

/// Whose slices are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sharing {
    None,
    Units,
    Gpus,
}

#[derive(Debug, Clone, Copy)]
struct Vectors {
    a: u64,
    b: u64,
    c: u64,
    /// Counts the elements of a slice.
    slice: u64,
    gpus: u64,
    sharing: Sharing,
}

impl Vectors {
    /// The slice of another that a group works on, if it does.
    fn other(self, group: u64) -> Option<u64> {
        let (gpu, unit) = (group / UNITS, group % UNITS);
        match self.sharing {
            Sharing::None => Some(group),
            Sharing::Units => (unit % 2 == 0).then_some(group + 1),
            Sharing::Gpus => (gpu % 2 == 0 && gpu + 1 < self.gpus).then_some(group + UNITS),
        }
    }
}

fn workload(setting: Setting, name: &str, sharing: Sharing) -> KernelWorkload {
    let Setting { page, size, gpus } = setting;
    let length = size * 1024 / 4 / 3 * u64::from(gpus);
    let groups = UNITS * u64::from(gpus);
    let mut layout = Layout::new(page);
    let of_b = |at: u64| small(at + 77);
    let at = Vectors {
        a: layout.input_and_output("a", length, |at| small(at).to_bits()),
        b: layout.input("b", length, move |at| of_b(at).to_bits()),
        c: layout.output("c", length, true),
        slice: length / groups,
        gpus: u64::from(gpus),
        sharing,
    };
    KernelWorkload {
        name: format!("{name} {size}"),
        buffers: layout.buffers(),
        launches: vec![
            Launch::new("add", (groups, WAVEFRONTS as u32), move |wavefront| add(wavefront, at))
                .of_code(8 * INSTRUCTIONS, INSTRUCTIONS as u32),
        ],
        check: Box::new(move |image| {
            let written: Vec<u64> = (0..groups).filter_map(|group| at.other(group)).collect();
            let a = |element: u64| {
                // Where somebody took the sum into it, A is A + 2 B.
                let is_written = written.binary_search(&(element / at.slice)).is_ok();
                small(element) + if is_written { 2.0 * of_b(element) } else { 0.0 }
            };
            Mismatch::floats(image, ("a", at.a), length, 0.0, a)?;
            Mismatch::floats(image, ("c", at.c), length, 0.0, |element| {
                let first = if sharing == Sharing::None { small(element) } else { a(element) };
                first + of_b(element)
            })
        }),
    }
}

async fn add(wavefront: Wavefront, at: Vectors) {
    let group = u64::from(wavefront.place().group);
    wavefront.compute(12).await;
    // At the start each reads what it has.
    for vector in [at.a, at.b, at.c] {
        for step in 0..at.slice / (WAVEFRONTS * LANES as u64) {
            let loaded =
                wavefront.load(1, |lane| place(&wavefront, vector, at, group, step, lane)).await;
            wavefront.arrived(loaded).await;
        }
    }
    wavefront.barrier(Scope::Launch).await;
    for _ in 0..=if at.sharing == Sharing::None { REPEATS } else { 0 } {
        sum(&wavefront, at, (at.a, at.c), group).await;
    }
    for _ in 0..=REPEATS {
        if let Some(other) = at.other(group) {
            sum(&wavefront, at, (at.c, at.a), other).await;
        } else {
            wavefront.fence().await;
            wavefront.barrier(Scope::Launch).await;
        }
    }
    if at.sharing != Sharing::None {
        sum(&wavefront, at, (at.a, at.c), group).await;
    }
}

/// Returns the address of a lane's element at a step.
fn place(
    wavefront: &Wavefront,
    vector: u64,
    at: Vectors,
    slice: u64,
    step: u64,
    lane: usize,
) -> Option<u64> {
    let of_wavefront = step * WAVEFRONTS + u64::from(wavefront.place().wavefront);
    Some(vector + 4 * (slice * at.slice + of_wavefront * LANES as u64 + lane as u64))
}

/// Adds B to a slice of one vector, into the same slice of another; then all wait.
async fn sum(wavefront: &Wavefront, at: Vectors, (from, to): (u64, u64), slice: u64) {
    for step in 0..at.slice / (WAVEFRONTS * LANES as u64) {
        let of = |vector| move |lane| place(wavefront, vector, at, slice, step, lane);
        let first = wavefront.load(1, of(from)).await;
        let second = wavefront.load(1, of(at.b)).await;
        let first = wavefront.arrived(first).await;
        let second = wavefront.arrived(second).await;
        wavefront.compute(3).await;
        let value = |lane, _| (first.float(lane) + second.float(lane)).to_bits();
        wavefront.store(1, of(to), value).await;
    }
    wavefront.fence().await;
    wavefront.barrier(Scope::Launch).await;
}
