//! How many times as long as the model says kernels took on a GPU, as a trace measured them.
//!
//! A kernel of a layout takes what the model says for its size, times the ratio of its kind and pass. A product whose size the
//! trace names has its own ratio, and keeps it under another layout. So ratios of one layout serve any other. Measured
//! kernels that stand for none of the model's keep their time.

mod matched;

use serde::{Deserialize, Serialize};

pub(super) use matched::{Modelled, ModelledProduct, PassTimes, matched};

use super::family::LayerFamily;
use super::trace::KernelKind;
use crate::units::Picoseconds;

/// Counts ratios in these parts of one.
const WHOLE: u64 = 1_000_000;
/// Bounds ratios, so that times can be multiplied.
const MOST: f64 = 1e4;
/// The products of a model, by the names of their kernels.
pub(super) const PRODUCTS: [&str; 16] = [
    "qkv",
    "projection",
    "up",
    "gate",
    "down",
    "head",
    "router",
    "q-down",
    "q-up",
    "kv-down",
    "kv-up",
    "experts-up",
    "experts-down",
    "shared-up",
    "shared-down",
    "adapter",
];

/// Holds measured times over modelled ones, forward and backward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelRatios {
    /// Gives millionths by kind of layer.
    kinds: [[u64; 2]; KernelKind::OF_LAYERS],
    /// Gives millionths by product.
    products: [[u64; 2]; PRODUCTS.len()],
    /// Gives millionths of the update of the weights.
    update: u64,
    /// Sums up kernels of a step that stand for none of the model's.
    pub rest: Picoseconds,
}

/// Compares the measured time of some kernels in a step with the model's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MeasuredRatio {
    /// Names a kind of kernels, a product of the model, or the update.
    pub name: &'static str,
    /// Says `forward`, `backward` or `update`.
    pub pass: &'static str,
    /// Sums up their times in a step of the trace.
    pub measured: Picoseconds,
    /// The model says this of the same step.
    pub modelled: Picoseconds,
}

impl KernelRatios {
    /// Leaves every kernel what the model says.
    pub(super) const SAME: Self = Self::all(WHOLE);
    /// Leaves no time to any.
    pub(super) const NOTHING: Self = Self::all(0);

    const fn all(ratio: u64) -> Self {
        Self {
            kinds: [[ratio; 2]; KernelKind::OF_LAYERS],
            products: [[ratio; 2]; PRODUCTS.len()],
            update: ratio,
            rest: Picoseconds(0),
        }
    }

    /// Gives a kind's kernels other ratios, and all of its products.
    pub(super) fn with_kind(mut self, kind: KernelKind, ratios: [f64; 2]) -> Self {
        self.kinds[kind as usize] = ratios.map(millionths);
        if kind == KernelKind::Product {
            self.products = [ratios.map(millionths); PRODUCTS.len()];
        }
        self
    }

    /// Gives a product other ratios; a name that no product has changes nothing.
    pub(super) fn with_product(mut self, name: &str, ratios: [f64; 2]) -> Self {
        if let Some(own) = product(name) {
            self.products[own] = ratios.map(millionths);
        }
        self
    }

    /// Gives the update another ratio.
    pub(super) fn with_update(mut self, ratio: f64) -> Self {
        self.update = millionths(ratio);
        self
    }

    /// Gives the ratios of a kernel, forward and backward.
    #[must_use]
    pub fn of(&self, name: &str, family: LayerFamily) -> [f64; 2] {
        let kind = KernelKind::of_family(family);
        let own = if kind == KernelKind::Product { product(name) } else { None };
        let ratios = own.map_or(self.kinds[kind as usize], |own| self.products[own]);
        ratios.map(|ratio| ratio as f64 / WHOLE as f64)
    }

    /// Gives the measured time of an update for that of the model.
    #[must_use]
    pub fn update(&self, modelled: Picoseconds) -> Picoseconds {
        Picoseconds(scaled(modelled.0, self.update as f64 / WHOLE as f64))
    }

    /// Gives a kernel's measured times for those of the model, in picoseconds.
    pub(super) fn times(&self, name: &str, family: LayerFamily, modelled: [u64; 2]) -> [u64; 2] {
        let [forward, backward] = self.of(name, family);
        [scaled(modelled[0], forward), scaled(modelled[1], backward)]
    }
}

/// Gives a time times a ratio.
pub(super) fn scaled(time: u64, ratio: f64) -> u64 {
    (time as f64 * ratio).round() as u64
}

fn product(name: &str) -> Option<usize> {
    PRODUCTS.iter().position(|known| *known == name)
}

/// Gives a ratio in parts of one; a hostile one is cut to what times can be multiplied with.
fn millionths(ratio: f64) -> u64 {
    (ratio.clamp(0.0, MOST) * WHOLE as f64).round() as u64
}
