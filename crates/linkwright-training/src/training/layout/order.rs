//! Orders of a layout's parts over ranks: which ranks are neighbours.

use serde::{Deserialize, Serialize};

use super::ModelLayout;
use crate::diagnostic::{Diagnosis, shown};
use crate::training::error::TrainingError;

/// A part of a layout that ranks are counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Axis {
    Tensor,
    Context,
    Shard,
    Replica,
    Stage,
}

const AXES: [(&str, Axis); 5] = [
    ("tp", Axis::Tensor),
    ("cp", Axis::Context),
    ("fsdp", Axis::Shard),
    ("dp", Axis::Replica),
    ("pp", Axis::Stage),
];

/// Orders by the name of whose they are, the part of neighbouring ranks first.
///
/// `megatron` is the default of Megatron-LM's `initialize_model_parallel` (`tp-cp-ep-dp-pp`), and
/// `megatron-tp-pp-dp` the one of its `--use-tp-pp-dp-mapping`. `torchtitan` is the mesh of torchtitan's
/// `ParallelDims` (`pp, dp_replicate, dp_shard, cp, tp`), whose last part is that of neighbours.
const NAMED: &[(&str, &str)] = &[
    ("megatron", "tp-cp-fsdp-dp-pp"),
    ("torchtitan", "tp-cp-fsdp-dp-pp"),
    ("megatron-tp-pp-dp", "tp-cp-pp-fsdp-dp"),
];

/// Orders the parts over ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    axes: [Axis; 5],
}

impl Default for Order {
    fn default() -> Self {
        Self { axes: AXES.map(|(_, axis)| axis) }
    }
}

impl Order {
    /// The names of orders.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        NAMED.iter().map(|(name, _)| *name).collect()
    }

    /// Reads an order: a name, or the five parts from neighbours on, as `tp-cp-fsdp-dp-pp`.
    ///
    /// # Errors
    /// A text that is neither.
    pub fn read(text: &str) -> Result<Self, TrainingError> {
        let known = NAMED.iter().find(|(name, _)| *name == text);
        let parts = known.map_or(text, |(_, parts)| parts);
        let axis = |part: &str| AXES.iter().find(|(name, _)| *name == part).map(|(_, axis)| *axis);
        let found: Option<Vec<Axis>> = parts.split('-').map(axis).collect();
        let axes = found.and_then(|found| <[Axis; 5]>::try_from(found).ok());
        let is_whole = |axes: &[Axis; 5]| AXES.iter().all(|(_, axis)| axes.contains(axis));
        axes.filter(is_whole).map(|axes| Self { axes }).ok_or_else(|| {
            let problem = format!("`{}` is no order of a layout's parts", shown(text));
            let names = Self::names().join(", ");
            let remedy =
                format!("take {names}, or five parts from neighbours on: tp-cp-fsdp-dp-pp");
            TrainingError::ModelLayout(Diagnosis::of(problem).remedy(remedy))
        })
    }

    /// Each part with its count and with how far apart ranks that differ by one in it are.
    pub(super) fn strides(&self, layout: &ModelLayout) -> [(Axis, u64, u64); 5] {
        let mut stride = 1;
        self.axes.map(|axis| {
            let count = match axis {
                Axis::Tensor => layout.tp,
                Axis::Context => layout.cp,
                Axis::Shard => layout.fsdp,
                Axis::Replica => layout.dp,
                Axis::Stage => layout.pp,
            };
            let own = (axis, count, stride);
            stride *= count;
            own
        })
    }

    /// Gives the stage of a rank.
    #[must_use]
    pub fn stage(&self, layout: &ModelLayout, rank: u64) -> u64 {
        let own = self.strides(layout).into_iter().find(|(axis, ..)| *axis == Axis::Stage);
        own.map_or(0, |(_, count, stride)| rank / stride % count)
    }

    /// The rank of another stage that has the same place in all other parts.
    #[must_use]
    pub fn at_stage(&self, layout: &ModelLayout, rank: u64, stage: u64) -> u64 {
        let own = self.strides(layout).into_iter().find(|(axis, ..)| *axis == Axis::Stage);
        let Some((_, count, stride)) = own else { return rank };
        rank - rank / stride % count * stride + stage * stride
    }
}
