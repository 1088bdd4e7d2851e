//! Holds the work of one GPU in a step.

use crate::training::layer::Split;
use crate::training::roofline::LayerTime;
use crate::training::terms::Bucketing;
use crate::units::{Bytes, Picoseconds};

/// Holds the work of one GPU for a layer in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayerStep {
    /// How long it computes.
    pub time: LayerTime,
    /// Gives the size of its weights.
    pub weights: Bytes,
    /// Gives the size of their gradients.
    pub gradients: Bytes,
    /// In how many arrays they are.
    pub arrays: u64,
    /// Gives the size of its output forward, of the whole batch of the GPU.
    pub output: Bytes,
    /// The block that it lies in.
    pub unit: u32,
    /// Says how tensor parallelism cuts it.
    pub split: Option<Split>,
}

/// Holds the work of one GPU in a step, in the order of its layers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RankStep {
    /// Lists the layers.
    pub layers: Vec<LayerStep>,
    /// Samples that are copied from the host.
    pub input: Bytes,
    /// The update of all weights by one kernel, where the framework has one.
    pub fused_update: Option<Picoseconds>,
}

/// Gradients that are known together, in the order of the backward pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::training) struct Bucket {
    /// Gives the computing time before they are known, since the ones before.
    pub backward: Picoseconds,
    /// How much they are.
    pub gradients: Bytes,
    /// How much the weights are that they change.
    pub weights: Bytes,
    /// Gives the time to update their weights.
    pub update: Picoseconds,
    /// Counts the collectives that reduce them.
    pub calls: u64,
}

/// Holds a repeated block, or a layer by itself between two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::training) struct Unit {
    /// How many layers it has.
    pub layers: usize,
    pub forward: Picoseconds,
    pub backward: Picoseconds,
    pub weights: Bytes,
    pub gradients: Bytes,
    /// Gives the size of the data that the unit hands to the next one.
    pub output: Bytes,
}

impl RankStep {
    /// Returns the time of the forward pass.
    pub(in crate::training) fn forward(&self) -> Picoseconds {
        sum(self.layers.iter().map(|layer| layer.time.forward))
    }

    /// Returns the time of the backward pass.
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

    /// The gradients that are copied at once, in the order of the backward pass.
    pub(super) fn copied(&self, bucketing: Bucketing) -> Vec<Bucket> {
        self.buckets(match bucketing {
            Bucketing::Arrays(_) => Bucketing::Layer,
            other => other,
        })
    }

    /// Returns the gradients that are reduced at once, in the order of the backward pass. All
    /// computing after the last of them counts with it.
    pub(in crate::training) fn buckets(&self, bucketing: Bucketing) -> Vec<Bucket> {
        let nothing = Picoseconds(0);
        let (backward, update) = (nothing, nothing);
        let empty = Bucket { backward, gradients: Bytes(0), weights: Bytes(0), update, calls: 0 };
        let mut buckets = Vec::new();
        let mut open = empty;
        for (index, layer) in self.layers.iter().enumerate().rev() {
            open.backward.0 += layer.time.backward.0;
            open.gradients.0 += layer.gradients.0;
            open.weights.0 += layer.weights.0;
            open.update.0 += layer.time.update.0;
            let (is_full, calls) = match bucketing {
                Bucketing::Layer => (true, 1),
                Bucketing::Bytes(least) => (open.gradients >= least, 1),
                Bucketing::Arrays(each) => {
                    (self.begins_group(index, u64::from(each.max(1))), open.calls + layer.arrays)
                }
            };
            open.calls = calls;
            if layer.weights.0 > 0 && is_full {
                buckets.push(std::mem::replace(&mut open, empty));
            }
        }
        match buckets.last_mut() {
            Some(last) if open.gradients.0 == 0 => last.backward.0 += open.backward.0,
            _ => buckets.push(open),
        }
        buckets
    }

    /// Says whether a layer begins a group. Its first array then lies in another group of `each`
    /// arrays than the first arrays of earlier layers, counted from the first layer.
    fn begins_group(&self, index: usize, each: u64) -> bool {
        let (earlier, _) = self.layers.split_at(index);
        let Some(last) = earlier.iter().rfind(|layer| layer.arrays > 0) else { return true };
        let arrays: u64 = earlier.iter().map(|layer| layer.arrays).sum();
        arrays / each != (arrays - last.arrays) / each
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
                unit.gradients.0 += layer.gradients.0;
                unit.output = layer.output;
            }
        }
        units
    }
}

fn sum(times: impl Iterator<Item = Picoseconds>) -> Picoseconds {
    Picoseconds(times.map(|time| time.0).sum())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn layer(arrays: u64, size: u64) -> LayerStep {
        let time = LayerTime { backward: Picoseconds(1 + size), ..LayerTime::default() };
        let bytes = Bytes(if arrays > 0 { size } else { 0 });
        let output = Bytes(0);
        LayerStep { time, weights: bytes, gradients: bytes, arrays, output, unit: 0, split: None }
    }

    proptest! {
        /// Arrays that are reduced at once are those between two multiples of a group, by the first of each layer.
        #[test]
        fn groups_of_arrays_are_what_counting_says(
            layers in prop::collection::vec((0_u64..5, 1_u64..100), 1..40), each in 1_u32..20,
        ) {
            let layers: Vec<LayerStep> =
                layers.into_iter().map(|(arrays, size)| layer(arrays, size)).collect();
            let mut groups: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
            let mut before = 0;
            for layer in layers.iter().filter(|layer| layer.arrays > 0) {
                let group = groups.entry(before / u64::from(each)).or_default();
                *group = (group.0 + layer.weights.0, group.1 + layer.arrays);
                before += layer.arrays;
            }
            let step = RankStep { layers, ..RankStep::default() };
            let found = step.buckets(Bucketing::Arrays(each));
            let counted: Vec<_> = groups.into_values().rev().collect();
            let of = |bucket: &Bucket| (bucket.gradients.0, bucket.calls);
            if !counted.is_empty() {
                prop_assert_eq!(found.iter().map(of).collect::<Vec<_>>(), counted);
            }
            let backward = found.iter().map(|bucket| bucket.backward);
            prop_assert_eq!(sum(backward), step.backward());
            prop_assert_eq!(step.copied(Bucketing::Arrays(each)), step.buckets(Bucketing::Layer));
        }
    }
}
