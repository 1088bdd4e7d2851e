//! Runs the transpose of a square matrix, in groups of 16 by 16 work-items, each with 4 by 4
//! elements. The elements change places in the memory that a group shares.

use super::{Fact, KernelWorkload, Layout, Setting, number_bits};
use crate::memory::kernel::{Launch, Mismatch, Scope, Wavefront};
use crate::units::Bytes;

/// Counts the work-items of a group, each way.
const SIDE: u64 = 16;
/// Counts the elements of a group, each way.
const TILE: u64 = 4 * SIDE;

pub(super) const FACT: Fact = Fact {
    what: "transpose of a square matrix",
    size: "rows",
    multiple: TILE,
    small: 512,
    full: 4096,
    most: 1 << 16,
    workload,
};

fn workload(setting: Setting) -> KernelWorkload {
    let Setting { page, size: width, .. } = setting;
    let mut layout = Layout::new(page);
    let input = layout.input("input", width * width, number_bits);
    let output = layout.output("output", width * width, true);
    let groups = (width / TILE) * (width / TILE);
    let kernel = move |wavefront| transpose(wavefront, input, output, width);
    KernelWorkload {
        name: format!("mt {width}"),
        buffers: layout.buffers(),
        launches: vec![
            Launch::new("transpose", (groups, 4), kernel)
                .sharing(Bytes(4 * TILE * TILE))
                .of_code(756, 53),
        ],
        check: Box::new(move |image| {
            let expected = |at: u64| number_bits(at % width * width + at / width);
            Mismatch::words(image, ("output", output), width * width, expected)
        }),
    }
}

async fn transpose(wavefront: Wavefront, input: u64, output: u64, width: u64) {
    let place = wavefront.place();
    let tiles = width / TILE;
    let (column, row) = (u64::from(place.group) % tiles, u64::from(place.group) / tiles);
    let item = |lane: usize| {
        let item = 64 * u64::from(place.wavefront) + lane as u64;
        (item % SIDE, item / SIDE)
    };
    wavefront.compute(20).await;
    let mut rows = [Default::default(); 4];
    for (part, loaded) in (0..4).zip(&mut rows) {
        let address = |lane| {
            let (x, y) = item(lane);
            Some(input + 4 * ((row * TILE + 4 * y + part) * width + column * TILE + 4 * x))
        };
        *loaded = wavefront.load(4, address).await;
    }
    for (part, loaded) in (0..4).zip(rows) {
        let values = wavefront.arrived(loaded).await;
        wavefront.lds(1).await;
        for lane in 0..if wavefront.with_data() { 64 } else { 0 } {
            let (x, y) = item(lane);
            for word in 0..4 {
                let place = (4 * y + part) * TILE + 4 * x + word;
                wavefront.set_local(place as usize, values.word(lane, word as usize));
            }
        }
    }
    wavefront.barrier(Scope::Group).await;
    wavefront.lds(4).await;
    wavefront.compute(16).await;
    for part in 0..4 {
        let address = |lane| {
            let (x, y) = item(lane);
            Some(output + 4 * ((column * TILE + 4 * y + part) * width + row * TILE + 4 * x))
        };
        let value = |lane, word| {
            let (x, y) = item(lane);
            wavefront.local(((4 * x + word as u64) * TILE + 4 * y + part) as usize)
        };
        wavefront.store(4, address, value).await;
    }
}
