//! Where a dragonfly's local and global channels are.

use std::num::NonZeroU64;

use crate::engine::Random;
use crate::topology::interconnect::{ChannelId, Dragonfly, End, Interconnect, Shape, SwitchId};

/// The channels of a dragonfly by the switches and groups that they join.
#[derive(Debug, Clone)]
pub(super) struct DragonflyLinks {
    pub(super) shape: Dragonfly,
    /// The channel from a switch (row) to each switch of its group (column).
    local: Vec<ChannelId>,
    /// Where the global channels from a group (row) to another (column) start in `global`.
    global_start: Vec<u32>,
    /// Global channels, each with the switch that it leaves; of a pair of groups by switch.
    global: Vec<(ChannelId, SwitchId)>,
    /// The switch that each channel leaves.
    owner: Vec<SwitchId>,
}

impl DragonflyLinks {
    /// The links of a dragonfly; `None` for any other shape.
    pub(super) fn new(interconnect: &Interconnect) -> Option<Self> {
        let Shape::Dragonfly(shape) = *interconnect.shape() else { return None };
        let (size, groups) = (shape.switches_per_group, shape.groups);
        let mut local = vec![ChannelId::MAX; (shape.switches() * size) as usize];
        let mut global = Vec::new();
        let mut owner = vec![SwitchId::MAX; interconnect.channels().len()];
        for at in 0..shape.switches() {
            for channel in interconnect.outgoing(at) {
                owner[*channel as usize] = at;
                let End::Switch(to) = interconnect.channels()[*channel as usize].to else {
                    continue;
                };
                let (from_group, to_group) = (shape.group_of(at), shape.group_of(to));
                if from_group == to_group {
                    local[(at * size + to % size) as usize] = *channel;
                } else {
                    global.push((from_group * groups + to_group, at, *channel));
                }
            }
        }
        global.sort_unstable();
        let mut global_start = vec![0; (groups * groups) as usize + 1];
        for (pair, _, _) in &global {
            global_start[*pair as usize + 1] += 1;
        }
        for pair in 0..(groups * groups) as usize {
            global_start[pair + 1] += global_start[pair];
        }
        let global = global.into_iter().map(|(_, at, channel)| (channel, at)).collect();
        Some(Self { shape, local, global_start, global, owner })
    }

    /// The channel to another switch of the same group.
    pub(super) fn local(&self, at: SwitchId, to: SwitchId) -> ChannelId {
        let size = self.shape.switches_per_group;
        self.local[(at * size + to % size) as usize]
    }

    /// The switch that a channel leaves.
    pub(super) fn owner(&self, channel: ChannelId) -> SwitchId {
        self.owner[channel as usize]
    }

    /// The global channels from one group to another.
    fn between(&self, from: u32, to: u32) -> &[(ChannelId, SwitchId)] {
        let pair = (from * self.shape.groups + to) as usize;
        &self.global[self.global_start[pair] as usize..self.global_start[pair + 1] as usize]
    }

    /// One of the global channels to a group, by chance; of this switch's own, if it has some.
    pub(super) fn global(&self, at: SwitchId, to: u32, random: &mut Random) -> GlobalLink {
        let links = self.between(self.shape.group_of(at), to);
        let first = links.partition_point(|(_, owner)| *owner < at);
        let own = links[first..].partition_point(|(_, owner)| *owner == at);
        let among = if own > 0 { &links[first..first + own] } else { links };
        let (channel, owner) = random.choose(among).copied().unwrap_or((ChannelId::MAX, at));
        GlobalLink { channel, owner }
    }

    /// A group other than the two, by chance; `None` where there is no third.
    pub(super) fn third_group(&self, a: u32, b: u32, random: &mut Random) -> Option<u32> {
        let others = self.shape.groups.saturating_sub(if a == b { 1 } else { 2 });
        let mut group = random.below(NonZeroU64::new(u64::from(others))?) as u32;
        let (low, high) = (a.min(b), a.max(b));
        group += u32::from(group >= low);
        group += u32::from(high != low && group >= high);
        Some(group)
    }

    /// A switch of a group other than the two, by chance; `None` where there is no third.
    pub(super) fn third_switch(
        &self,
        a: SwitchId,
        b: SwitchId,
        random: &mut Random,
    ) -> Option<SwitchId> {
        let size = self.shape.switches_per_group;
        let first = self.shape.group_of(a) * size;
        let others = NonZeroU64::new(u64::from(size.saturating_sub(2)))?;
        let mut switch = random.below(others) as u32;
        let (low, high) = (a.min(b) - first, a.max(b) - first);
        switch += u32::from(switch >= low);
        switch += u32::from(switch >= high);
        Some(first + switch)
    }
}

/// A global channel and the switch that it leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GlobalLink {
    pub(super) channel: ChannelId,
    pub(super) owner: SwitchId,
}
