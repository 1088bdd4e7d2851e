//! Holds the kernels of a layer, by what each multiplies and moves.

use super::rates::NarrowNumbers;
use super::work::LayerWork;

/// Counts the work of one kernel.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Kernel {
    /// Counts multiply-adds, each two operations.
    pub multiply_adds: u128,
    /// Bytes that it reads and writes.
    pub bytes: u128,
    /// Counts those that it writes.
    pub stored: u128,
    /// Results of its sums.
    pub results: u128,
    /// Results of one row: channels, or the width of what is written.
    pub columns: u64,
    /// Says whether rows of its operands start at a multiple of 16 bytes.
    pub is_aligned: bool,
    /// The numbers that it multiplies, where these are narrower than others.
    pub narrow: Option<NarrowNumbers>,
}

/// The numbers of a layer: as they are in memory, and as its products take them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operands {
    /// A number has this many bytes in memory.
    pub number: u64,
    /// Replaces such numbers in products.
    pub narrow: Option<NarrowNumbers>,
}

impl Operands {
    /// Gives the bytes of numbers that a product reads.
    fn taken(self, numbers: u128) -> u128 {
        match self.narrow {
            Some(narrow) => (numbers * u128::from(narrow.of_32)).div_ceil(32),
            None => numbers * u128::from(self.number),
        }
    }

    /// Says whether rows with these columns start at a multiple of 16 bytes, as products take them.
    pub fn are_aligned(self, columns: u64) -> bool {
        let bits = self.narrow.map_or(8 * self.number, |narrow| narrow.bits);
        (columns * bits).is_multiple_of(8 * 16)
    }

    /// Makes narrow numbers of others: by rows for one product, and by columns for that of the other pass.
    pub fn cast(self, numbers: u128) -> Kernel {
        let stored = 2 * self.taken(numbers);
        Kernel { bytes: numbers * u128::from(self.number) + stored, stored, ..Kernel::default() }
    }
}

/// Holds the kernels of a layer: forward, for the gradients of its inputs and of its weights, and backward where it multiplies
/// nothing.
pub(super) struct Kernels {
    pub forward: Kernel,
    pub to_inputs: Kernel,
    pub to_weights: Kernel,
    pub back: Kernel,
}

impl Kernels {
    /// Gives those of some samples.
    pub fn of(work: &LayerWork, samples: u128, operands: Operands) -> Self {
        let [read, written, saved, multiply_adds] =
            [work.read, work.written, work.saved, work.multiply_adds]
                .map(|it| u128::from(it) * samples);
        let (weights, number) = (u128::from(work.weights), u128::from(operands.number));
        let is_aligned =
            [work.columns, work.columns_read].iter().all(|it| operands.are_aligned(*it));
        let product = |taken: u128, results: u128, columns: u64| {
            let stored = results * number;
            Kernel {
                multiply_adds,
                bytes: operands.taken(taken) + stored,
                stored,
                results,
                columns,
                is_aligned,
                narrow: operands.narrow,
            }
        };
        let forward = product(read + weights, written, work.columns);
        let to_inputs = product(written + weights, read, work.columns_read);
        let to_weights = product(read + written, weights, work.columns);
        let bytes = (read + written + weights + saved) * number;
        let back = Kernel { bytes, stored: (read + weights) * number, ..Kernel::default() };
        Self { forward, to_inputs, to_weights, back }
    }
}
