//! Runs a rectified linear unit: a load, a maximum, a store, in groups of 64.

use super::{Fact, KernelWorkload, Layout, Setting, number, number_bits};
use crate::memory::kernel::{LANES, Launch, Mismatch, Wavefront};

pub(super) const FACT: Fact = Fact {
    what: "rectified linear unit",
    size: "elements",
    multiple: LANES as u64,
    small: 256 << 10,
    full: 8 << 20,
    most: 1 << 32,
    workload,
};

fn workload(setting: Setting) -> KernelWorkload {
    let Setting { page, size: length, .. } = setting;
    let mut layout = Layout::new(page);
    let input = layout.input("input", length, number_bits);
    let output = layout.output("output", length, true);
    let kernel = move |wavefront| relu(wavefront, input, output);
    KernelWorkload {
        name: format!("relu {length}"),
        buffers: layout.buffers(),
        launches: vec![Launch::new("relu", (length / LANES as u64, 1), kernel).of_code(140, 15)],
        check: Box::new(move |image| {
            Mismatch::floats(image, ("output", output), length, 0.0, |at| number(at).max(0.0))
        }),
    }
}

async fn relu(wavefront: Wavefront, input: u64, output: u64) {
    wavefront.compute(9).await;
    let loaded = wavefront.load(1, |lane| Some(input + 4 * wavefront.item(lane))).await;
    let x = wavefront.arrived(loaded).await;
    wavefront.compute(4).await;
    let y = |lane, _| x.float(lane).max(0.0).to_bits();
    wavefront.store(1, |lane| Some(output + 4 * wavefront.item(lane)), y).await;
}
