//! Runs a finite impulse response: an output for each work-item, 16 taps, in groups of 256.

use super::{Fact, KernelWorkload, Layout, Setting, number, number_bits};
use crate::memory::kernel::{Launch, Mismatch, Values, Wavefront};

const TAPS: u64 = 16;
const GROUP: u64 = 256;

pub(super) const FACT: Fact = Fact {
    what: "finite impulse response, 16 taps",
    size: "elements",
    multiple: GROUP,
    small: 256 << 10,
    full: 8 << 20,
    most: 1 << 32,
    workload,
};

/// Where the buffers are: the samples follow what came before them.
#[derive(Debug, Clone, Copy)]
struct Buffers {
    input: u64,
    output: u64,
    taps: u64,
    history: u64,
}

fn workload(setting: Setting) -> KernelWorkload {
    let Setting { page, size: length, .. } = setting;
    let mut layout = Layout::new(page);
    let at = Buffers {
        input: layout.input("input", length, number_bits),
        output: layout.output("output", length, false),
        taps: layout.input("taps", TAPS, |tap| number_bits(tap + 7)),
        history: layout.input("history", TAPS, |_| 0),
    };
    let kernel = move |wavefront| fir(wavefront, at);
    KernelWorkload {
        name: format!("fir {length}"),
        buffers: layout.buffers(),
        launches: vec![Launch::new("fir", (length / GROUP, 4), kernel).of_code(228, 23)],
        check: Box::new(move |image| {
            Mismatch::floats(image, ("output", at.output), length, 1e-5, |item| {
                let product = |tap: u64| number(tap + 7) * number(item - tap);
                (0..TAPS.min(item + 1)).map(product).sum()
            })
        }),
    }
}

async fn fir(wavefront: Wavefront, at: Buffers) {
    wavefront.compute(12).await;
    let mut sums = [0.0_f32; 64];
    for tap in 0..TAPS {
        let taps = wavefront.load_scalar(4, at.taps + 4 * tap).await;
        let sample = |lane| {
            let item = wavefront.item(lane);
            Some(if item >= tap {
                at.input + 4 * (item - tap)
            } else {
                at.history + 4 * (TAPS + item - tap)
            })
        };
        let samples = wavefront.load(1, sample).await;
        let factor: Values = wavefront.arrived(taps).await;
        let samples = wavefront.arrived(samples).await;
        wavefront.compute(8).await;
        if wavefront.with_data() {
            for (lane, sum) in sums.iter_mut().enumerate() {
                *sum += factor.float(0) * samples.float(lane);
            }
        }
    }
    let output = |lane| Some(at.output + 4 * wavefront.item(lane));
    wavefront.store(1, output, |lane, _| sums[lane].to_bits()).await;
}
