//! Groups of ranks that exchange data, and whether they lie within servers.

use std::collections::BTreeMap;

use super::order::Axis;
use super::{ModelLayout, Order};

/// Groups of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayoutGroup {
    /// Gives the part of the layout that its ranks differ in.
    pub name: &'static str,
    /// Says what its ranks exchange.
    pub moves: &'static str,
    /// Ranks of each.
    pub size: u64,
    /// Gives the ranks of every group, in order.
    pub ranks: Vec<Vec<u64>>,
}

impl LayoutGroup {
    /// The fewest and the most servers of a group, where the server of each rank is known.
    #[must_use]
    pub fn servers(&self, server: impl Fn(u64) -> u64) -> (u64, u64) {
        let count = |ranks: &Vec<u64>| {
            let mut own: Vec<u64> = ranks.iter().map(|rank| server(*rank)).collect();
            own.sort_unstable();
            own.dedup();
            own.len() as u64
        };
        let counts: Vec<u64> = self.ranks.iter().map(count).collect();
        let least = counts.iter().min().copied().unwrap_or(0);
        (least, counts.into_iter().max().unwrap_or(0))
    }
}

impl Order {
    /// Every kind of group that a layout has; ranks that are alone exchange nothing.
    #[must_use]
    pub fn groups(&self, layout: &ModelLayout, divides_weights: bool) -> Vec<LayoutGroup> {
        let shards = if divides_weights {
            "weights and gradients in parts"
        } else {
            "gradients, or parts of them"
        };
        let mut found = vec![
            self.by("tp", "activations", layout, &[Axis::Tensor]),
            self.by("cp", "keys and values", layout, &[Axis::Context]),
            self.by("pp", "activations of micro-batches", layout, &[Axis::Stage]),
        ];
        // Parts of sequences have the same weights, so that they are summed with the shards.
        if layout.fsdp > 1 {
            let axes = [Axis::Shard, Axis::Context];
            let name = if layout.cp > 1 { "fsdp x cp" } else { "fsdp" };
            found.push(self.by(name, shards, layout, &axes));
            found.push(self.by("dp", "gradients", layout, &[Axis::Replica]));
        } else {
            let name = if layout.cp > 1 { "dp x cp" } else { "dp" };
            found.push(self.by(name, shards, layout, &[Axis::Replica, Axis::Context]));
        }
        if layout.ep > 1 {
            found.extend(self.of_experts(layout));
        }
        found.retain(|group| group.size > 1);
        found
    }

    pub(super) fn by(
        &self,
        name: &'static str,
        moves: &'static str,
        layout: &ModelLayout,
        of: &[Axis],
    ) -> LayoutGroup {
        let strides = self.strides(layout);
        let mut groups: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for rank in 0..layout.gpus() {
            // The least rank of its group: the one whose places in these parts are zero.
            let own = strides.iter().filter(|(axis, ..)| of.contains(axis));
            let first =
                rank - own.map(|(_, count, stride)| rank / stride % count * stride).sum::<u64>();
            groups.entry(first).or_default().push(rank);
        }
        let counts = strides.iter().filter(|(axis, ..)| of.contains(axis));
        let size = counts.map(|(_, count, _)| count).product();
        LayoutGroup { name, moves, size, ranks: groups.into_values().collect() }
    }

    /// Ranks of a stage are counted anew for experts: parts of each first, then experts, then those
    /// that keep the same.
    pub(super) fn of_experts(&self, layout: &ModelLayout) -> Vec<LayoutGroup> {
        let (parts, experts) = (layout.expert_parts(), layout.ep);
        let stage =
            self.by("", "", layout, &[Axis::Tensor, Axis::Context, Axis::Shard, Axis::Replica]);
        let make = |name, moves, size, key: &dyn Fn(u64) -> u64| {
            let mut ranks = Vec::new();
            for own in &stage.ranks {
                let mut groups: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
                for (at, rank) in (0..).zip(own) {
                    groups.entry(key(at)).or_default().push(*rank);
                }
                ranks.extend(groups.into_values());
            }
            LayoutGroup { name, moves, size, ranks }
        };
        let both = parts * experts;
        vec![
            make("etp", "activations of experts", parts, &|at| at / parts),
            make("ep", "tokens to experts and back", experts, &|at| at / both * parts + at % parts),
            make("edp", "gradients of experts", layout.expert_replicas(), &|at| at % both),
        ]
    }
}
