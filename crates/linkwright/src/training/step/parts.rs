//! What one GPU does of a step.

use crate::training::layer::Split;
use crate::training::roofline::LayerTime;
use crate::units::{Bytes, Picoseconds};

/// What one GPU does of a layer in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayerStep {
    /// How long it computes.
    pub time: LayerTime,
    /// Its gradients, and as much its weights.
    pub weights: Bytes,
    /// What it writes forward, of the whole batch of the GPU.
    pub output: Bytes,
    /// The block that it lies in.
    pub unit: u32,
    /// How tensor parallelism cuts it.
    pub split: Option<Split>,
}

/// What one GPU does of a step, in the order of its layers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RankStep {
    /// The layers.
    pub layers: Vec<LayerStep>,
    /// Samples that are copied from the host.
    pub input: Bytes,
    /// The update of all weights by one kernel, where the framework has one.
    pub fused_update: Option<Picoseconds>,
}

/// Gradients that are known together, in the order of the backward pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::training) struct Bucket {
    /// What is computed before they are known, since the ones before.
    pub backward: Picoseconds,
    /// How much they are.
    pub size: Bytes,
    /// The update of their weights.
    pub update: Picoseconds,
}

/// A repeated block, or a layer by itself between two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::training) struct Unit {
    /// How many layers it has.
    pub layers: usize,
    pub forward: Picoseconds,
    pub backward: Picoseconds,
    pub weights: Bytes,
    /// What it hands to the next.
    pub output: Bytes,
}

impl RankStep {
    /// The forward pass.
    pub(in crate::training) fn forward(&self) -> Picoseconds {
        sum(self.layers.iter().map(|layer| layer.time.forward))
    }

    /// The backward pass.
    pub(super) fn backward(&self) -> Picoseconds {
        sum(self.layers.iter().map(|layer| layer.time.backward))
    }

    /// The update of all weights.
    pub(in crate::training) fn update(&self) -> Picoseconds {
        let each = || sum(self.layers.iter().map(|layer| layer.time.update));
        self.fused_update.unwrap_or_else(each)
    }

    /// All weights.
    pub(super) fn weights(&self) -> Bytes {
        Bytes(self.layers.iter().map(|layer| layer.weights.0).sum())
    }

    /// The gradients in the order of the backward pass: every layer's apart, or together until a bucket holds `least`.
    /// What is computed after the last of them counts with it.
    pub(in crate::training) fn buckets(&self, least: Option<Bytes>) -> Vec<Bucket> {
        let empty = Bucket { backward: Picoseconds(0), size: Bytes(0), update: Picoseconds(0) };
        let mut buckets = Vec::new();
        let mut open = empty;
        for layer in self.layers.iter().rev() {
            open.backward.0 += layer.time.backward.0;
            open.size.0 += layer.weights.0;
            open.update.0 += layer.time.update.0;
            if layer.weights.0 > 0 && open.size >= least.unwrap_or(Bytes(1)) {
                buckets.push(std::mem::replace(&mut open, empty));
            }
        }
        match buckets.last_mut() {
            Some(last) if open.size.0 == 0 => last.backward.0 += open.backward.0,
            _ => buckets.push(open),
        }
        buckets
    }

    /// The blocks, in the order of the forward pass; where nothing is repeated, every layer with weights begins one.
    pub(in crate::training) fn units(&self) -> Vec<Unit> {
        let is_repeated = self.layers.iter().any(|layer| layer.unit > 0);
        let mut units: Vec<Unit> = Vec::new();
        let mut last = None;
        let mut has_weights = false;
        for layer in &self.layers {
            let begins = has_weights && layer.weights.0 > 0;
            if last.is_none_or(|last| if is_repeated { last != layer.unit } else { begins }) {
                units.push(Unit::default());
            }
            last = Some(layer.unit);
            has_weights |= layer.weights.0 > 0;
            if let Some(unit) = units.last_mut() {
                unit.layers += 1;
                unit.forward.0 += layer.time.forward.0;
                unit.backward.0 += layer.time.backward.0;
                unit.weights.0 += layer.weights.0;
                unit.output = layer.output;
            }
        }
        units
    }
}

fn sum(times: impl Iterator<Item = Picoseconds>) -> Picoseconds {
    Picoseconds(times.map(|time| time.0).sum())
}
