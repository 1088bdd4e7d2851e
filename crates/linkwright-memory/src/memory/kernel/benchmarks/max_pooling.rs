//! Runs max-pooling of squares of 2 by 2, an output for each work-item, in groups of 64.

use super::{Fact, KernelWorkload, Layout, Setting, number, number_bits};
use crate::memory::kernel::{LANES, Launch, Mismatch, Wavefront};

pub(super) const FACT: Fact = Fact {
    what: "the largest of each square of 2 by 2",
    size: "rows",
    multiple: 2 * LANES as u64,
    small: 1024,
    full: 4096,
    most: 1 << 16,
    workload,
};

fn workload(setting: Setting) -> KernelWorkload {
    let Setting { page, size: width, .. } = setting;
    let half = width / 2;
    let mut layout = Layout::new(page);
    let input = layout.input("input", width * width, number_bits);
    let output = layout.output("output", half * half, true);
    let groups = half * half / LANES as u64;
    let kernel = move |wavefront| pool(wavefront, input, output, width);
    KernelWorkload {
        name: format!("max-pooling {width}"),
        buffers: layout.buffers(),
        launches: vec![Launch::new("pool", (groups, 1), kernel).of_code(844, 22)],
        check: Box::new(move |image| {
            Mismatch::floats(image, ("output", output), half * half, 0.0, |element| {
                let at = element / half * 2 * width + element % half * 2;
                let others = [at + 1, at + width, at + width + 1].map(number);
                others.into_iter().fold(number(at), f32::max)
            })
        }),
    }
}

async fn pool(wavefront: Wavefront, input: u64, output: u64, width: u64) {
    let half = width / 2;
    let mut largest = [f32::NEG_INFINITY; LANES];
    wavefront.compute(14).await;
    for place in 0..4 {
        let element = |lane| {
            let item = wavefront.item(lane);
            let (row, column) = (item / half * 2 + place / 2, item % half * 2 + place % 2);
            Some(input + 4 * (row * width + column))
        };
        let loaded = wavefront.load(1, element).await;
        let values = wavefront.arrived(loaded).await;
        wavefront.compute(6).await;
        for (lane, largest) in largest.iter_mut().enumerate() {
            *largest = largest.max(values.float(lane));
        }
    }
    let place = |lane| Some(output + 4 * wavefront.item(lane));
    wavefront.store(1, place, |lane, _| largest[lane].to_bits()).await;
}
