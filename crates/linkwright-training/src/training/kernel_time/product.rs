//! Products of matrices, by blocks that take turns.
//!
//! A block makes a tile of results. Libraries have tiles of several shapes. They divide long sums over several blocks where tiles
//! are fewer than multiprocessors; the parts are then added through memory. Kernels of some libraries take a tile of rows by
//! their number alone ([`ProductTerms::rows`]). Two multiprocessors that share their operands make one tile, and 257 rows
//! take as long as 512.

use serde::{Deserialize, Serialize};

use super::beside;
use super::gpu::KernelGpu;
use super::numbers::KernelNumbers;
use super::reach::ProductTerms;

/// Makes the product of a matrix of `rows` x `depth` and one of `depth` x `columns`: m, k and n of libraries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProductShape {
    /// Counts the rows of the first matrix and of the result (m).
    pub rows: u64,
    /// Counts the columns of the second matrix and of the result (n).
    pub columns: u64,
    /// Counts the terms of each sum (k).
    pub depth: u64,
}

/// Rows and columns of a block's results, as libraries have them.
const TILES: [[u64; 2]; 12] = [
    [256, 128],
    [128, 256],
    [128, 128],
    [64, 256],
    [64, 128],
    [128, 64],
    [64, 64],
    [32, 128],
    [16, 128],
    [16, 64],
    [64, 32],
    [32, 64],
];
/// Columns of a block where its rows are given.
const COLUMNS: [u64; 3] = [64, 128, 256];
/// Over how many blocks a sum is divided.
const PARTS: [u64; 9] = [1, 2, 3, 4, 6, 8, 12, 16, 32];
/// Terms that a block adds at once, and at least where a sum is divided.
const STEP: f64 = 64.0;
const LEAST_PART: u64 = 128;
/// One multiprocessor makes this many results at once; larger tiles are two's.
const LARGEST: f64 = 256.0 * 128.0;
/// A block of scales covers this many columns and terms; a kernel needs multiples of them.
const SCALED: [u64; 2] = [64, 128];
/// Up to this many rows, a kernel for few of them is called.
const FEW: u64 = 17;
/// A part of a sum has this many bytes where it is put down.
const BYTES_OF_SUM: f64 = 4.0;
/// A result has these.
const BYTES_OF_RESULT: f64 = 2.0;

impl ProductShape {
    /// Gives the multiply-adds.
    #[must_use]
    pub fn multiply_adds(&self) -> u128 {
        u128::from(self.rows) * u128::from(self.columns) * u128::from(self.depth)
    }

    /// Gives the seconds of making narrow numbers of the first matrix, a row by a block.
    pub(super) fn cast(
        &self,
        gpu: &KernelGpu,
        numbers: KernelNumbers,
        terms: &ProductTerms,
    ) -> f64 {
        if !numbers.is_cast() {
            return 0.0;
        }
        let [rows, depth] = [self.rows, self.depth].map(|it| it as f64);
        let by_rows = rows * terms.cast_row / (gpu.units * gpu.clock);
        by_rows.max(rows * depth * (2.0 + numbers.bytes()) / (gpu.memory * terms.memory))
    }

    /// Gives the seconds that the host of an inference engine takes to call it.
    pub(super) fn host(&self, terms: &ProductTerms) -> f64 {
        let Some(host) = terms.host else { return 0.0 };
        if self.depth.is_multiple_of(SCALED[1]) && self.columns.is_multiple_of(SCALED[0]) {
            if self.rows <= FEW { host.few } else { host.even }
        } else {
            host.odd
        }
    }
}

/// Products of one shape that one kernel makes on a GPU, with operands as they are.
pub(super) struct Products<'a> {
    pub shape: ProductShape,
    pub matrices: u64,
    pub gpu: &'a KernelGpu,
    pub numbers: KernelNumbers,
    pub terms: &'a ProductTerms,
    /// The GPU keeps this share of its clock.
    pub clock: f64,
}

impl Products<'_> {
    /// Gives the seconds.
    pub(super) fn seconds(&self) -> f64 {
        let least = |times: &mut dyn Iterator<Item = f64>| times.fold(f64::INFINITY, f64::min);
        let blocks = match self.terms.tile_rows(self.shape.rows) {
            None => least(&mut TILES.into_iter().map(|tile| self.by_parts(tile))),
            Some(rows) => {
                least(&mut COLUMNS.into_iter().map(|columns| self.turns([rows, columns], 1)))
            }
        };
        self.terms.least + beside(blocks, self.bytes() / (self.gpu.memory * self.terms.memory))
    }

    /// Counts what is read and written once.
    fn bytes(&self) -> f64 {
        let ProductShape { rows, columns, depth } = self.shape;
        let [m, n, k] = [rows, columns, depth].map(|it| it as f64);
        let one = (m * k + k * n) * self.numbers.bytes() + m * n * BYTES_OF_RESULT;
        one * self.matrices as f64
    }

    /// Gives the least seconds of blocks of a tile, over all divisions of their sums.
    fn by_parts(&self, tile: [u64; 2]) -> f64 {
        let ProductShape { rows, columns, depth } = self.shape;
        let fits = |parts: &u64| *parts == 1 || depth >= parts * LEAST_PART;
        let results = rows as f64 * columns as f64 * self.matrices as f64;
        let time = |parts: u64| {
            let added = if parts > 1 { results * BYTES_OF_SUM * parts as f64 } else { 0.0 };
            self.turns(tile, parts) + added / self.gpu.memory
        };
        PARTS.into_iter().take_while(fits).map(time).fold(f64::INFINITY, f64::min)
    }

    /// Gives the seconds of all turns of blocks.
    fn turns(&self, [rows, columns]: [u64; 2], parts: u64) -> f64 {
        let Self { shape, gpu, terms, .. } = self;
        let area = (rows * columns) as f64;
        // This many multiprocessors make one tile; each loads its part of the rows, and all columns.
        let shared = (area / LARGEST).max(1.0);
        let tiles = shape.rows.div_ceil(rows) * shape.columns.div_ceil(columns) * parts;
        let turns = (tiles as f64 * self.matrices as f64 * shared / gpu.units).ceil();
        let depth = (shape.depth as f64 / parts as f64 / STEP).ceil() * STEP;
        let reached = gpu.unit_peak() * terms.share * self.clock;
        let multiplied = 2.0 * area / shared * depth / reached;
        let loaded = (rows as f64 / shared + columns as f64) * depth * self.numbers.bytes()
            / (terms.loaded * gpu.clock);
        turns * (multiplied.max(loaded) + terms.start / gpu.clock)
    }
}
