//! Runs the product of two square matrices, in groups of 8 by 8 work-items, each with 4 by 4
//! elements. The first matrix goes through the memory that a group shares. The second is read as it
//! is needed.

use super::{Fact, KernelWorkload, Layout, Setting, small};
use crate::memory::kernel::{Launch, Loaded, Mismatch, Scope, Wavefront};
use crate::units::Bytes;

/// Counts the work-items of a group, each way.
const SIDE: u64 = 8;
/// Counts the elements of a group, each way.
const TILE: u64 = 4 * SIDE;

pub(super) const FACT: Fact = Fact {
    what: "product of two square matrices",
    size: "rows",
    multiple: TILE,
    small: 256,
    full: 4096,
    most: 1 << 16,
    workload,
};

/// Where the matrices are.
#[derive(Debug, Clone, Copy)]
struct Matrices {
    a: u64,
    b: u64,
    c: u64,
    width: u64,
}

fn workload(setting: Setting) -> KernelWorkload {
    let Setting { page, size: width, .. } = setting;
    let mut layout = Layout::new(page);
    let second = move |element| small(element + width * width);
    let at = Matrices {
        a: layout.input("a", width * width, |element| small(element).to_bits()),
        b: layout.input("b", width * width, move |element| second(element).to_bits()),
        c: layout.output("c", width * width, true),
        width,
    };
    let groups = (width / TILE) * (width / TILE);
    let kernel = move |wavefront| multiply(wavefront, at);
    KernelWorkload {
        name: format!("mm {width}"),
        buffers: layout.buffers(),
        launches: vec![
            Launch::new("multiply", (groups, 1), kernel)
                .sharing(Bytes(4 * TILE * TILE))
                .of_code(2020, 118),
        ],
        check: Box::new(move |image| {
            let expected = |element: u64| {
                let (row, column) = (element / width, element % width);
                (0..width).map(|k| small(row * width + k) * second(k * width + column)).sum()
            };
            Mismatch::floats(image, ("c", at.c), width * width, 0.0, expected)
        }),
    }
}

async fn multiply(wavefront: Wavefront, at: Matrices) {
    let tiles = at.width / TILE;
    let group = u64::from(wavefront.place().group);
    let (column, row) = (group % tiles, group / tiles);
    let item = |lane: usize| (lane as u64 % SIDE, lane as u64 / SIDE);
    let with_data = wavefront.with_data();
    // The sum of each work-item's 4 by 4 elements, in a run with data.
    let mut sums = vec![[[0.0_f32; 4]; 4]; if with_data { 64 } else { 0 }];
    wavefront.compute(24).await;
    for step in 0..tiles {
        let mut rows = [Loaded::default(); 4];
        for (part, loaded) in (0..4).zip(&mut rows) {
            let address = |lane| {
                let (x, y) = item(lane);
                Some(at.a + 4 * ((row * TILE + 4 * y + part) * at.width + step * TILE + 4 * x))
            };
            *loaded = wavefront.load(4, address).await;
        }
        for (part, loaded) in (0..4).zip(rows) {
            let values = wavefront.arrived(loaded).await;
            wavefront.lds(1).await;
            for lane in 0..sums.len() {
                let (x, y) = item(lane);
                for word in 0..4 {
                    let place = (4 * y + part) * TILE + 4 * x + word;
                    wavefront.set_local(place as usize, values.word(lane, word as usize));
                }
            }
        }
        wavefront.barrier(Scope::Group).await;
        for k in 0..SIDE {
            let mut rows = [Loaded::default(); 4];
            for (part, loaded) in (0..4).zip(&mut rows) {
                let address = |lane| {
                    let from = (step * TILE + 4 * k + part) * at.width + column * TILE;
                    Some(at.b + 4 * (from + 4 * item(lane).0))
                };
                *loaded = wavefront.load(4, address).await;
            }
            wavefront.lds(4).await;
            for (part, loaded) in (0..4).zip(rows) {
                let b = wavefront.arrived(loaded).await;
                for (lane, sum) in sums.iter_mut().enumerate() {
                    let (_, y) = item(lane);
                    for (i, sum) in sum.iter_mut().enumerate() {
                        let place = (4 * y + i as u64) * TILE + 4 * k + part;
                        let a = f32::from_bits(wavefront.local(place as usize));
                        for (j, sum) in sum.iter_mut().enumerate() {
                            *sum += a * f32::from_bits(b.word(lane, j));
                        }
                    }
                }
            }
            wavefront.compute(64 + 8).await;
        }
        wavefront.barrier(Scope::Group).await;
    }
    for part in 0..4 {
        let address = |lane| {
            let (x, y) = item(lane);
            Some(at.c + 4 * ((row * TILE + 4 * y + part) * at.width + column * TILE + 4 * x))
        };
        wavefront.store(4, address, |lane, word| sums[lane][part as usize][word].to_bits()).await;
    }
}
