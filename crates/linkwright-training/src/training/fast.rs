//! Convolutions by fewer multiplications, as cuDNN has them for numbers of 32 bits on plain cores.
//!
//! **The model.** Where a window moves by one point, a library can transform tiles of pictures and the filters. It
//! multiplies number by number, and transforms back. Each of a tile's numbers is a product of matrices of its own, over channels:
//!
//! ```text
//! multiplications = tiles x products of a tile x channels in x channels out
//! time = max(arithmetic, transformed / memory) + (read + written + transformed) / (memory x transform)
//! ```
//!
//! | algorithm | windows | results of a tile | its numbers | its products |
//! | --- | --- | --- | --- | --- |
//! | Winograd, fused | 3 x 3 | 2 x 2 | 16 | 16, 2.25 times fewer |
//! | Winograd | 3 x 3 | 4 x 4 | 36 | 36, 4 times fewer |
//! | Fourier, tiles of 32 x 32 | 5 or more | 33 less the window | 1,088 | 2,176 |
//!
//! The transform of real numbers leaves 32 x 17 complex ones, and a complex product takes four multiply-adds. A fused
//! kernel keeps what it transforms on the chip, and is not there for gradients of weights. Tiles reach beyond a
//! picture whose size they do not divide: 7 x 7 points take 8 x 8. The library's own search takes the fastest for each
//! pass of each layer, the direct one included, and so does [`Roofline::layer`](super::Roofline::layer).
//!
//! Winograd's tiles are those of Lavin and Gray, Fast algorithms for convolutional neural networks, CVPR 2016. Fourier's
//! are those of Vasilache et al., Fast convolutional nets with fbfft, ICLR 2015. cuDNN's API reference says what each
//! algorithm takes. The eldest fused kernel is called `maxwell_scudnn_winograd`: Kepler has none.
//!
//! **What it leaves out.** Work space that lacks, Winograd for larger windows, operations of the transforms themselves.

use serde::{Deserialize, Serialize};

use super::layer::LayerKind;
use super::shape::Shape;

/// Points of a tile that is transformed by Fourier, each way.
const FOURIER: u64 = 32;
/// The least window, each way, that is worth it.
const LEAST_FOURIER: u64 = 5;

/// Says how much of a GPU fast convolutions reach.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FastReach {
    /// Says which part of the peak products of transformed numbers reach.
    pub product: f64,
    /// Says how much of the bandwidth that reading and writing reach is left for transforms.
    pub transform: f64,
    /// Says whether there is a kernel that transforms and multiplies at once.
    pub is_fused: bool,
}

/// Points of a convolution whose window moves by one point at a time: heights, then widths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnitStride {
    /// Measures the window.
    pub kernel: [u64; 2],
    /// Measures the pictures that it reads.
    pub input: [u64; 2],
    /// Measures the pictures that it writes.
    pub output: [u64; 2],
    /// Into how many groups channels are cut.
    pub groups: u64,
}

impl UnitStride {
    /// Finds them of a layer's kind and output; none of other kinds and strides.
    #[must_use]
    pub fn of(kind: &LayerKind, output: Shape) -> Option<Self> {
        let LayerKind::Convolution { window, groups, .. } = *kind else { return None };
        let Shape::Image { height, width, .. } = output else { return None };
        if window.stride != [1, 1] {
            return None;
        }
        let read = |written: u64, axis: usize| {
            (written + window.kernel[axis] - 1).saturating_sub(2 * window.padding[axis])
        };
        Some(Self {
            kernel: window.kernel,
            input: [read(height, 0), read(width, 1)],
            output: [height, width],
            groups: groups.max(1),
        })
    }
}

/// The passes of a convolution, each by what it calculates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Calculated {
    Outputs,
    InputGradients,
    WeightGradients,
}

/// An algorithm: a tile that is transformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tile {
    /// Results, each way.
    results: [u64; 2],
    /// Numbers of a tile, and of a filter, once transformed.
    numbers: u64,
    /// Counts the multiply-adds of a tile for each pair of channels.
    products: u64,
    is_fused: bool,
}

/// Counts the work of one pass of a convolution by an algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FastWork {
    pub multiply_adds: u128,
    /// Results of its sums.
    pub results: u128,
    /// Numbers that are transformed and multiplied; none where both is one kernel.
    pub transformed: u128,
}

/// Lists the algorithms for a window and a pass, besides the direct one.
fn tiles(kernel: [u64; 2], pass: Calculated, is_fused: bool) -> Vec<Tile> {
    let winograd = |results: u64, is_fused| {
        let numbers = (results + 2) * (results + 2);
        Tile { results: [results; 2], numbers, products: numbers, is_fused }
    };
    if kernel == [3, 3] {
        let fused = is_fused && pass != Calculated::WeightGradients;
        return if fused {
            vec![winograd(2, true), winograd(4, false)]
        } else {
            vec![winograd(4, false)]
        };
    }
    let largest = kernel[0].max(kernel[1]);
    if !(LEAST_FOURIER..FOURIER).contains(&largest) {
        return Vec::new();
    }
    let complex = FOURIER * (FOURIER / 2 + 1);
    vec![Tile {
        results: kernel.map(|extent| FOURIER + 1 - extent),
        numbers: 2 * complex,
        products: 4 * complex,
        is_fused: false,
    }]
}

/// Lists the work of a pass by each algorithm besides the direct one. Channels are those of a group, read and written.
pub(super) fn works(
    points: &UnitStride,
    pass: Calculated,
    is_fused: bool,
    samples: u128,
    [read, written]: [u64; 2],
) -> impl Iterator<Item = FastWork> {
    let UnitStride { kernel, input, output, groups } = *points;
    let of = if pass == Calculated::InputGradients { input } else { output };
    let [read, written, groups] = [read, written, groups].map(u128::from);
    tiles(kernel, pass, is_fused).into_iter().map(move |tile| {
        let each_way = |axis: usize| u128::from(of[axis].div_ceil(tile.results[axis]));
        let count = each_way(0) * each_way(1) * samples;
        let numbers = u128::from(tile.numbers) * groups;
        let [inputs, outputs] = [read, written].map(|channels| count * numbers * channels);
        let filters = numbers * read * written;
        FastWork {
            multiply_adds: count * u128::from(tile.products) * groups * read * written,
            results: match pass {
                Calculated::Outputs => outputs,
                Calculated::InputGradients => inputs,
                Calculated::WeightGradients => filters,
            },
            transformed: if tile.is_fused { 0 } else { inputs + outputs + filters },
        }
    })
}

#[cfg(test)]
mod tests;
