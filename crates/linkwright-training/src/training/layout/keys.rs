//! Which group of a kind a rank is in, without listing groups.

use super::order::Axis;
use super::{ModelLayout, Order, RankGroup};

impl Order {
    /// A number that ranks of the same group share, and no others of their stage.
    #[must_use]
    pub fn key(&self, layout: &ModelLayout, group: RankGroup, rank: u64) -> u64 {
        let axes: &[Axis] = match group {
            RankGroup::Tensor => &[Axis::Tensor],
            RankGroup::Context => &[Axis::Context],
            RankGroup::Shards if layout.fsdp > 1 => &[Axis::Shard, Axis::Context],
            RankGroup::Shards => &[Axis::Replica, Axis::Context],
            RankGroup::Replicas => &[Axis::Replica],
            RankGroup::Experts | RankGroup::ExpertParts | RankGroup::ExpertShards => {
                return self.key_of_experts(layout, group, rank);
            }
        };
        let own = self.strides(layout).into_iter().filter(|(axis, ..)| axes.contains(axis));
        rank - own.map(|(_, count, stride)| rank / stride % count * stride).sum::<u64>()
    }

    fn key_of_experts(&self, layout: &ModelLayout, group: RankGroup, rank: u64) -> u64 {
        let (parts, both) = (layout.expert_parts(), layout.expert_parts() * layout.ep);
        // The place among the ranks of its stage, in their order.
        let (mut at, mut below) = (0, 1);
        for (axis, count, stride) in self.strides(layout) {
            if axis != Axis::Stage {
                at += rank / stride % count * below;
                below *= count;
            }
        }
        match group {
            RankGroup::ExpertParts => at / parts,
            RankGroup::Experts => at / both * parts + at % parts,
            _ => at % both,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn keys_are_those_of_the_groups(
            dp in 1_u64..3, fsdp in 1_u64..4, tp in 1_u64..4, pp in 1_u64..3, cp in 1_u64..3,
            parts in 0_usize..2, at in 0_usize..3,
        ) {
            let etp = [None, Some(1)][parts];
            let layout = ModelLayout { dp, fsdp, tp, pp, cp, etp, ep: dp, ..ModelLayout::default() };
            let order = Order::read(Order::names()[at]).unwrap();
            for group in RankGroup::ALL {
                let mut found: BTreeMap<(u64, u64), Vec<u64>> = BTreeMap::new();
                for rank in 0..layout.gpus() {
                    let key = (order.stage(&layout, rank), order.key(&layout, group, rank));
                    found.entry(key).or_default().push(rank);
                }
                let mut found: Vec<Vec<u64>> = found.into_values().collect();
                let mut known = order.ranks_of(&layout, group);
                found.sort();
                known.sort();
                prop_assert_eq!(found, known);
            }
        }
    }
}
