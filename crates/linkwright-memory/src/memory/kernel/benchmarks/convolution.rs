//! Runs the convolution of a square image with a mask of 3 by 3, an output for each work-item, in
//! groups of 64. The image has a border, so that no work-item stands aside.
//! 64. The image has a border, so that no work-item stands aside.

use super::{Fact, KernelWorkload, Layout, Setting, small};
use crate::memory::kernel::{LANES, Launch, Mismatch, Wavefront};

const MASK: u64 = 3;

pub(super) const FACT: Fact = Fact {
    what: "convolution with a mask of 3 by 3",
    size: "rows",
    multiple: LANES as u64,
    small: 512,
    full: 4096,
    most: 1 << 16,
    workload,
};

#[derive(Debug, Clone, Copy)]
struct Buffers {
    input: u64,
    mask: u64,
    output: u64,
    width: u64,
}

fn workload(setting: Setting) -> KernelWorkload {
    let Setting { page, size: width, .. } = setting;
    let padded = width + MASK - 1;
    let mut layout = Layout::new(page);
    let at = Buffers {
        input: layout.input("input", padded * padded, |at| small(at).to_bits()),
        mask: layout.input("mask", MASK * MASK, |at| small(at + 3).to_bits()),
        output: layout.output("output", width * width, true),
        width,
    };
    let groups = width * width / LANES as u64;
    KernelWorkload {
        name: format!("conv {width}"),
        buffers: layout.buffers(),
        launches: vec![
            Launch::new("convolve", (groups, 1), move |wavefront| convolve(wavefront, at))
                .of_code(512, 25),
        ],
        check: Box::new(move |image| {
            Mismatch::floats(image, ("output", at.output), width * width, 0.0, |element| {
                let (row, column) = (element / width, element % width);
                let term = |at: u64| {
                    let place = (row + at / MASK) * padded + column + at % MASK;
                    small(place) * small(at + 3)
                };
                (0..MASK * MASK).map(term).sum()
            })
        }),
    }
}

async fn convolve(wavefront: Wavefront, at: Buffers) {
    let padded = at.width + MASK - 1;
    let mut sums = [0.0_f32; LANES];
    wavefront.compute(14).await;
    for place in 0..MASK * MASK {
        let element = |lane| {
            let item = wavefront.item(lane);
            let (row, column) = (item / at.width, item % at.width);
            Some(at.input + 4 * ((row + place / MASK) * padded + column + place % MASK))
        };
        let elements = wavefront.load(1, element).await;
        let factor = wavefront.load_scalar(4, at.mask + 4 * place).await;
        let elements = wavefront.arrived(elements).await;
        let factor = wavefront.arrived(factor).await;
        wavefront.compute(8).await;
        if wavefront.with_data() {
            for (lane, sum) in sums.iter_mut().enumerate() {
                *sum += elements.float(lane) * factor.float(0);
            }
        }
    }
    let output = |lane| Some(at.output + 4 * wavefront.item(lane));
    wavefront.store(1, output, |lane, _| sums[lane].to_bits()).await;
}
