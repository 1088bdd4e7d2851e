//! Products of a matrix and a vector, by rows and by columns: `atax` and `bicg` (PolyBench), each
//! two kernels, in groups of 256. A work-item that takes a row reads it alone, a line for each; one
//! that takes a column reads it beside its neighbours.

use super::{Fact, KernelWorkload, Layout, Setting, small};
use crate::memory::kernel::{Image, LANES, Launch, Mismatch, Wavefront};

const GROUP: u64 = 256;

pub(super) const ATAX: Fact = Fact {
    what: "a matrix's transpose times its product with a vector",
    size: "rows",
    multiple: GROUP,
    small: 1024,
    full: 4096,
    most: 1 << 16,
    workload: atax,
};

pub(super) const BICG: Fact = Fact {
    what: "a matrix and its transpose, each times a vector",
    size: "rows",
    multiple: GROUP,
    small: 1024,
    full: 4096,
    most: 1 << 16,
    workload: bicg,
};

/// A matrix, the vector that it is multiplied with, and where the product goes.
#[derive(Debug, Clone, Copy)]
struct Product {
    matrix: u64,
    vector: u64,
    product: u64,
    width: u64,
    /// Whether each work-item takes a row of the matrix, or a column.
    by_rows: bool,
}

impl Product {
    fn launch(self, name: &'static str) -> Launch {
        Launch::new(name, (self.width / GROUP, 4), move |wavefront| multiply(wavefront, self))
            .of_code(236, 19)
    }
}

async fn multiply(wavefront: Wavefront, at: Product) {
    let mut sums = [0.0_f32; LANES];
    wavefront.compute(10).await;
    for step in 0..at.width {
        let element = |lane| {
            let item = wavefront.item(lane);
            let (row, column) = if at.by_rows { (item, step) } else { (step, item) };
            Some(at.matrix + 4 * (row * at.width + column))
        };
        let elements = wavefront.load(1, element).await;
        let factor = wavefront.load(1, |_| Some(at.vector + 4 * step)).await;
        let elements = wavefront.arrived(elements).await;
        let factor = wavefront.arrived(factor).await;
        wavefront.compute(6).await;
        if wavefront.with_data() {
            for (lane, sum) in sums.iter_mut().enumerate() {
                *sum += elements.float(lane) * factor.float(lane);
            }
        }
    }
    let product = |lane| Some(at.product + 4 * wavefront.item(lane));
    wavefront.store(1, product, |lane, _| sums[lane].to_bits()).await;
}

/// Returns the elements of the matrix, and of the vectors.
fn element(at: u64) -> f32 {
    small(at)
}

fn bits(at: u64) -> u32 {
    element(at).to_bits()
}

/// Sums over a row or a column, exact in 64 bits.
fn sum(width: u64, term: impl Fn(u64) -> f64) -> f32 {
    (0..width).map(term).sum::<f64>() as f32
}

fn check(
    image: &Image,
    buffer: (&'static str, u64),
    width: u64,
    expected: impl Fn(u64) -> f32,
) -> Result<(), Mismatch> {
    // Sums of many terms of either sign: as far off as their order allows.
    Mismatch::floats(image, buffer, width, 1e-3, expected)
}

fn atax(setting: Setting) -> KernelWorkload {
    let Setting { page, size: width, .. } = setting;
    let mut layout = Layout::new(page);
    let matrix = layout.input("matrix", width * width, bits);
    let x = layout.input("x", width, |at| bits(at + 5));
    let between = layout.output("product", width, false);
    let y = layout.output("y", width, true);
    let rows = Product { matrix, vector: x, product: between, width, by_rows: true };
    let columns = Product { matrix, vector: between, product: y, width, by_rows: false };
    KernelWorkload {
        name: format!("atax {width}"),
        buffers: layout.buffers(),
        launches: vec![rows.launch("rows"), columns.launch("columns")],
        check: Box::new(move |image| {
            let value = |row: u64, column: u64| f64::from(element(row * width + column));
            let between: Vec<f64> = (0..width)
                .map(|row| sum(width, |at| value(row, at) * f64::from(element(at + 5))).into())
                .collect();
            check(image, ("y", y), width, |column| {
                sum(width, |row| value(row, column) * between[row as usize])
            })
        }),
    }
}

fn bicg(setting: Setting) -> KernelWorkload {
    let Setting { page, size: width, .. } = setting;
    let mut layout = Layout::new(page);
    let matrix = layout.input("matrix", width * width, bits);
    let p = layout.input("p", width, |at| bits(at + 5));
    let r = layout.input("r", width, |at| bits(at + 9));
    let q = layout.output("q", width, true);
    let s = layout.output("s", width, true);
    let rows = Product { matrix, vector: p, product: q, width, by_rows: true };
    let columns = Product { matrix, vector: r, product: s, width, by_rows: false };
    KernelWorkload {
        name: format!("bicg {width}"),
        buffers: layout.buffers(),
        launches: vec![rows.launch("rows"), columns.launch("columns")],
        check: Box::new(move |image| {
            let value = |row: u64, column: u64| f64::from(element(row * width + column));
            check(image, ("q", q), width, |row| {
                sum(width, |at| value(row, at) * f64::from(element(at + 5)))
            })?;
            check(image, ("s", s), width, |column| {
                sum(width, |at| value(at, column) * f64::from(element(at + 9)))
            })
        }),
    }
}
