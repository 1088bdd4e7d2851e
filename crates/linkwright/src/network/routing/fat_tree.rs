//! Routing in fat-trees: up to a common ancestor, then down.
//!
//! A packet climbs until its destination lies below and then descends, so that one virtual
//! channel is free of deadlock: upward channels come before downward ones, lower levels first
//! on the way up and last on the way down.

use std::num::NonZeroU64;

use crate::engine::Random;
use crate::topology::interconnect::{
    ChannelId, End, FatTree, FatTreeLevel, Interconnect, NodeId, Shape, SwitchId,
};

use super::{Hop, Load, PacketRoute, Routing};

/// Which channels lead up and down from each switch.
#[derive(Debug, Clone)]
struct Levels {
    tree: FatTree,
    /// Upward channels of every leaf and aggregate.
    up: Vec<Vec<ChannelId>>,
    /// Of an aggregate: the channels to each leaf of its pod. Of a core: those to each pod.
    down: Vec<Vec<Vec<ChannelId>>>,
}

/// A packet's way from one switch.
enum Way<'a> {
    /// Any of these leads up.
    Up(&'a [ChannelId], Level),
    /// Any of these leads down.
    Down(&'a [ChannelId]),
}

#[derive(Clone, Copy)]
enum Level {
    Leaf,
    Aggregate,
}

impl Levels {
    fn new(interconnect: &Interconnect) -> Option<Self> {
        let Shape::FatTree(tree) = *interconnect.shape() else { return None };
        let (leaves, aggregates) = (tree.leaves(), tree.aggregates());
        let switches = interconnect.switches();
        let mut up = vec![Vec::new(); (leaves + aggregates) as usize];
        let mut down = vec![Vec::new(); switches as usize];
        for at in leaves..switches {
            let parts = if at < leaves + aggregates { tree.leaves_per_pod } else { tree.pods };
            down[at as usize] = vec![Vec::new(); parts as usize];
        }
        for at in 0..switches {
            for channel in interconnect.outgoing(at) {
                let End::Switch(to) = interconnect.channels()[*channel as usize].to else {
                    continue;
                };
                if to > at {
                    up[at as usize].push(*channel);
                } else if at < leaves + aggregates {
                    down[at as usize][(to % tree.leaves_per_pod) as usize].push(*channel);
                } else {
                    let pod = (to - leaves) / tree.aggregates_per_pod;
                    down[at as usize][pod as usize].push(*channel);
                }
            }
        }
        Some(Self { tree, up, down })
    }

    fn way(&self, at: SwitchId, destination: NodeId) -> Way<'_> {
        let tree = &self.tree;
        let leaf = tree.leaf_of(destination);
        let pod = tree.pod_of_leaf(leaf);
        if at < tree.leaves() {
            return Way::Up(&self.up[at as usize], Level::Leaf);
        }
        let aggregate = at - tree.leaves();
        if aggregate >= tree.aggregates() {
            return Way::Down(&self.down[at as usize][pod as usize]);
        }
        if aggregate / tree.aggregates_per_pod == pod {
            return Way::Down(&self.down[at as usize][(leaf % tree.leaves_per_pod) as usize]);
        }
        Way::Up(&self.up[at as usize], Level::Aggregate)
    }

    fn ejection(&self, at: SwitchId, destination: NodeId) -> Option<Hop> {
        let channel = Interconnect::ejection(destination);
        (self.tree.leaf_of(destination) == at).then_some(Hop { channel, virtual_channel: 0 })
    }
}

/// Destination-mod-k: every packet to one node takes the same way down.
///
/// The leaf's upward channel is the destination modulo their number; the aggregate's is the
/// destination divided by that number, modulo its own (Gomez et al., "Deterministic versus
/// Adaptive Routing in Fat-Trees", IPDPS workshops 2007). Of parallel links down it takes the
/// one that mirrors the link up: those who come to a switch have their number's lowest digits
/// in common, so that the number itself would choose one link for all of them.
#[derive(Debug, Clone)]
pub struct FatTreeStatic {
    levels: Levels,
}

impl FatTreeStatic {
    /// The routing of a fat-tree; `None` for any other shape.
    #[must_use]
    pub fn new(interconnect: &Interconnect) -> Option<Self> {
        Some(Self { levels: Levels::new(interconnect)? })
    }
}

impl Routing for FatTreeStatic {
    fn virtual_channels(&self) -> u8 {
        1
    }

    fn in_order(&self) -> bool {
        true
    }

    fn route(&mut self, at: SwitchId, packet: &mut PacketRoute, _load: &mut impl Load) -> Hop {
        let destination = packet.destination;
        if let Some(hop) = self.levels.ejection(at, destination) {
            return hop;
        }
        let tree = &self.levels.tree;
        let from_leaf = destination % tree.uplinks_per_leaf();
        let from_aggregate = |up: u32| destination / tree.uplinks_per_leaf() % up;
        let channel = match self.levels.way(at, destination) {
            Way::Up(up, Level::Leaf) => up[from_leaf as usize],
            Way::Up(up, Level::Aggregate) => up[from_aggregate(up.len() as u32) as usize],
            Way::Down(down) => {
                let mirrored = match tree.level(at) {
                    FatTreeLevel::Core => from_aggregate(tree.uplinks_per_aggregate()),
                    FatTreeLevel::Leaf | FatTreeLevel::Aggregate => from_leaf,
                };
                down[mirrored as usize % down.len()]
            }
        };
        Hop { channel, virtual_channel: 0 }
    }
}

/// The least loaded channel that leads up, and among parallel ones down.
///
/// Of equally loaded ones it takes one by chance.
#[derive(Debug, Clone)]
pub struct FatTreeAdaptive {
    levels: Levels,
    random: Random,
}

impl FatTreeAdaptive {
    /// The routing of a fat-tree; `None` for any other shape.
    #[must_use]
    pub fn new(interconnect: &Interconnect, random: Random) -> Option<Self> {
        Some(Self { levels: Levels::new(interconnect)?, random })
    }
}

impl Routing for FatTreeAdaptive {
    fn virtual_channels(&self) -> u8 {
        1
    }

    fn in_order(&self) -> bool {
        false
    }

    fn route(&mut self, at: SwitchId, packet: &mut PacketRoute, load: &mut impl Load) -> Hop {
        if let Some(hop) = self.levels.ejection(at, packet.destination) {
            return hop;
        }
        let (Way::Up(channels, _) | Way::Down(channels)) = self.levels.way(at, packet.destination);
        let channel = least_loaded(channels, load, &mut self.random);
        Hop { channel, virtual_channel: 0 }
    }
}

/// The channel with the shortest queue; the search starts by chance, so that ties are fair.
pub(super) fn least_loaded(
    channels: &[ChannelId],
    load: &mut impl Load,
    random: &mut Random,
) -> ChannelId {
    let Some(count) = NonZeroU64::new(channels.len() as u64) else { return ChannelId::MAX };
    let start = if channels.len() == 1 { 0 } else { random.below(count) as usize };
    let (before, from) = channels.split_at(start);
    let mut best = (u32::MAX, channels[0]);
    for channel in from.iter().chain(before) {
        let queued = load.queued(*channel);
        if queued < best.0 {
            best = (queued, *channel);
        }
        if queued == 0 {
            break;
        }
    }
    best.1
}
