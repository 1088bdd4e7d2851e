//! Which of a dragonfly's channels a packet may take, by chance where there are several.

use std::num::NonZeroU64;

use crate::engine::Random;
use crate::system::fabric::{ChannelId, Dragonfly, Fabric, FabricShape, SwitchId};

/// Finds the channels of a dragonfly by the switches and groups that they join.
#[derive(Debug, Clone, Copy)]
pub(super) struct DragonflyLinks {
    pub(super) shape: Dragonfly,
}

/// A global link, seen from one of the groups that it joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GlobalLink {
    /// Says which of the links to the other group it is.
    pub(super) link: u32,
    /// Gives the channel to the other group.
    pub(super) channel: ChannelId,
    /// The switch that the channel leaves.
    pub(super) owner: SwitchId,
}

impl DragonflyLinks {
    /// Finds the links of a dragonfly; `None` for any other shape.
    pub(super) fn new(fabric: &Fabric) -> Option<Self> {
        let FabricShape::Dragonfly(shape) = *fabric.shape() else { return None };
        Some(Self { shape })
    }

    /// Returns a global link from one group to another.
    pub(super) fn between(&self, from: u32, to: u32, link: u32) -> GlobalLink {
        let channel = self.shape.global_channel(from, to, link);
        GlobalLink { link, channel, owner: self.shape.global_switch(from, to, link) }
    }

    /// One of the global links to a group, by chance; of this switch's own, if it has some.
    pub(super) fn global(&self, at: SwitchId, to: u32, random: &mut Random) -> GlobalLink {
        let from = self.shape.group_of(at);
        let own = self.shape.global_links_of(at, to);
        let among = if own.is_empty() { 0..self.shape.links_between(from, to) } else { own };
        let count = NonZeroU64::new(among.len() as u64);
        self.between(from, to, among.start + count.map_or(0, |count| random.below(count) as u32))
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
