//! Perceptrons of experts: products of as many rows as each expert has tokens.
//!
//! A library makes the products of all experts by one kernel, before and behind a gated function. An expert's last tile of rows
//! is seldom full, and each expert that has a token is read whole.

use serde::{Deserialize, Serialize};

use super::beside;
use super::gpu::KernelGpu;
use super::numbers::KernelNumbers;
use super::reach::ExpertsTerms;
use super::routed::ExpertDraw;
use crate::diagnostic::Diagnosis;
use crate::training::error::TrainingError;

/// Sends tokens through the experts of one GPU.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ExpertsShape {
    /// Counts the tokens of all GPUs that share the experts.
    pub tokens: u64,
    /// Numbers of a token.
    pub hidden: u64,
    /// Numbers between an expert's products.
    pub inner: u64,
    /// Each token goes to this many experts.
    pub top: u64,
    /// Counts the experts of all GPUs.
    pub experts: u64,
    /// This many GPUs have other experts.
    pub ep: u64,
    /// This many GPUs have parts of the same ones.
    pub tp: u64,
    /// How tokens are drawn over experts.
    pub draw: ExpertDraw,
}

/// A block has one of these numbers of rows; a library takes the fastest.
const ROWS: [f64; 4] = [16.0, 32.0, 64.0, 128.0];
/// A block has this many columns.
const COLUMNS: f64 = 128.0;
const BYTES: f64 = 2.0;

impl ExpertsShape {
    pub(super) fn check(&self) -> Result<(), TrainingError> {
        let refuse = |problem: String, remedy: String| {
            Err(TrainingError::Kernel(Diagnosis::of(problem).remedy(remedy)))
        };
        let Self { top, experts, ep, .. } = *self;
        if top > experts {
            return refuse(
                format!("a token cannot go to {top} of {experts} experts"),
                format!("take {experts} at most for `top`"),
            );
        }
        if !experts.is_multiple_of(ep) {
            return refuse(
                format!("{experts} experts cannot be divided over {ep} GPUs"),
                "take an `ep` that divides the experts".to_owned(),
            );
        }
        if experts > 1 << 20 {
            return refuse(
                format!("{experts} experts are too many"),
                "take a million at most".to_owned(),
            );
        }
        Ok(())
    }

    /// Gives the multiply-adds of three matrices, of the tokens of one GPU of an even draw.
    #[must_use]
    pub fn multiply_adds(&self) -> f64 {
        let tokens = self.tokens as f64 * self.top as f64 / self.ep as f64;
        3.0 * tokens * self.hidden as f64 * self.inner as f64 / self.tp as f64
    }

    /// Gives the seconds on a GPU.
    pub(super) fn seconds(
        &self,
        gpu: &KernelGpu,
        numbers: KernelNumbers,
        terms: &ExpertsTerms,
    ) -> f64 {
        let loads = self.draw.loads([self.tokens, self.top, self.experts, self.ep]);
        let tokens: f64 = loads.iter().sum();
        // Where fewer than one token comes to an expert, it is read as often as one comes.
        let read = |load: f64| 1.0 - (-load).exp();
        let touched: f64 = loads.iter().map(|load| read(*load)).sum();
        let (hidden, inner) = (self.hidden as f64, self.inner as f64 / self.tp as f64);
        let products = [(2.0 * inner, hidden), (hidden, inner)];
        let by_rows = |rows: f64| {
            let tiles: f64 = loads
                .iter()
                .map(|load| (load / rows).ceil() * if *load < 1.0 { read(*load) } else { 1.0 })
                .sum();
            let product = |(columns, depth): (f64, f64)| {
                let turns = (tiles * (columns / COLUMNS).ceil() / gpu.units).ceil();
                let multiplied = 2.0 * rows * COLUMNS * depth / (gpu.unit_peak() * terms.share);
                let loaded =
                    (rows * BYTES + COLUMNS * numbers.bytes()) * depth / (terms.loaded * gpu.clock);
                let start = terms.start / gpu.clock;
                let blocks = turns * (multiplied + start).max(loaded + start);
                let moved =
                    touched * columns * depth * numbers.bytes() / (gpu.memory * terms.memory);
                beside(blocks, moved)
            };
            products.into_iter().map(product).sum::<f64>()
        };
        let computed = ROWS.into_iter().map(by_rows).fold(f64::INFINITY, f64::min);
        // Tokens are put in the order of their experts, and back. Numbers between the products are written and read.
        let numbers_moved = tokens * (3.0 * hidden + 6.0 * inner) + self.tokens as f64 * hidden;
        let moved = numbers_moved * BYTES / (gpu.memory * terms.ordered);
        terms.least + computed + moved
    }
}
