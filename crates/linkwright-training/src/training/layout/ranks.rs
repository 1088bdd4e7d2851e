//! Kinds of groups of ranks, and which ranks each group has.

use super::order::Axis;
use super::{ModelLayout, Order};

/// Ranks of a layout that exchange data: those that differ in one of its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RankGroup {
    /// Those that have parts of the same layers.
    Tensor,
    /// Those that have parts of the same sequences.
    Context,
    /// Those that have the same weights, or divide them.
    Shards,
    /// Those that have the same part of divided weights.
    Replicas,
    /// Those that have different experts of the same blocks.
    Experts,
    /// Those that have parts of the same experts.
    ExpertParts,
    /// Those that have the same experts, or divide them.
    ExpertShards,
}

impl RankGroup {
    /// Lists every group.
    pub const ALL: [Self; 7] = [
        Self::Tensor,
        Self::Context,
        Self::Shards,
        Self::Replicas,
        Self::Experts,
        Self::ExpertParts,
        Self::ExpertShards,
    ];

    /// Names the part of a layout that its ranks differ in.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tensor => "tp",
            Self::Context => "cp",
            Self::Shards => "shards",
            Self::Replicas => "dp",
            Self::Experts => "ep",
            Self::ExpertParts => "etp",
            Self::ExpertShards => "edp",
        }
    }
}

impl Order {
    /// The ranks of every group of a kind, in order; each rank is in one.
    #[must_use]
    pub fn ranks_of(&self, layout: &ModelLayout, group: RankGroup) -> Vec<Vec<u64>> {
        let by = |axes: &[Axis]| self.by("", "", layout, axes).ranks;
        let experts = |at: usize| self.of_experts(layout).swap_remove(at).ranks;
        match group {
            RankGroup::Tensor => by(&[Axis::Tensor]),
            RankGroup::Context => by(&[Axis::Context]),
            RankGroup::Shards if layout.fsdp > 1 => by(&[Axis::Shard, Axis::Context]),
            RankGroup::Shards => by(&[Axis::Replica, Axis::Context]),
            RankGroup::Replicas => by(&[Axis::Replica]),
            RankGroup::ExpertParts => experts(0),
            RankGroup::Experts => experts(1),
            RankGroup::ExpertShards => experts(2),
        }
    }
}
