//! Leads packets through fat-trees: up to a common ancestor, then down.
//!
//! A packet climbs until its destination lies below, and then descends. So one virtual channel is
//! free of deadlock: upward channels come before downward ones. Lower levels come first on the way
//! up and last on the way down.

use crate::engine::Random;
use crate::system::fabric::{
    ChannelId, Fabric, FabricShape, FatTree, FatTreeLevel, NodeId, SwitchId,
};

use super::least_loaded::least_loaded;
use super::{
    AnyRouting, Hop, LeastLoadedPaths, Load, PacketRoute, Routing, RoutingError, RoutingKind,
    random_of,
};
use crate::diagnostic::Registered;

/// Channels of parallel links, or of all those up from a switch: every other number, because
/// the other direction of each link lies between.
#[derive(Clone, Copy)]
struct Channels {
    first: ChannelId,
    count: u32,
}

/// Describes a packet's way from one switch.
enum Way {
    /// Any of these leads up.
    Up(Channels, FatTreeLevel),
    /// Any of these leads down.
    Down(Channels),
}

/// Says which channels lead up and down from each switch.
#[derive(Debug, Clone)]
struct Levels {
    tree: FatTree,
}

impl Channels {
    const fn get(self, index: u32) -> ChannelId {
        self.first + 2 * index
    }
}

impl Levels {
    fn new(fabric: &Fabric) -> Option<Self> {
        let FabricShape::FatTree(tree) = *fabric.shape() else { return None };
        Some(Self { tree })
    }

    fn way(&self, at: SwitchId, destination: NodeId) -> Way {
        let tree = &self.tree;
        let leaf = tree.leaf_of(destination);
        let pod = tree.pod_of_leaf(leaf);
        let level = tree.level(at);
        match level {
            FatTreeLevel::Leaf => {
                let (first, count) = (tree.leaf_up(at, 0, 0), tree.uplinks_per_leaf());
                Way::Up(Channels { first, count }, level)
            }
            FatTreeLevel::Aggregate if tree.pod_of_aggregate(at) == pod => {
                let (first, count) = (tree.aggregate_down(at, leaf, 0), tree.leaf_links);
                Way::Down(Channels { first, count })
            }
            FatTreeLevel::Aggregate => {
                let (first, count) = (tree.aggregate_up(at, 0, 0), tree.uplinks_per_aggregate());
                Way::Up(Channels { first, count }, level)
            }
            FatTreeLevel::Core => {
                let (first, count) = (tree.core_down(at, pod, 0), tree.core_links);
                Way::Down(Channels { first, count })
            }
        }
    }

    fn ejection(&self, at: SwitchId, destination: NodeId) -> Option<Hop> {
        let channel = Fabric::ejection(destination);
        (self.tree.leaf_of(destination) == at).then_some(Hop { channel, virtual_channel: 0 })
    }
}

/// Destination-mod-k: every packet to one node takes the same way down.
///
/// The leaf's upward channel is the destination modulo their number. The aggregate's is the
/// destination divided by that number, modulo its own (Gomez et al., "Deterministic versus Adaptive
/// Routing in Fat-Trees", IPDPS workshops 2007). Of parallel links down it takes the one that
/// mirrors the link up. Destinations whose packets come to one switch have their number's lowest
/// digits in common. So the number itself would choose one link for all of them.
#[derive(Debug, Clone)]
pub struct FatTreeStatic {
    levels: Levels,
}

impl FatTreeStatic {
    /// Makes the routing of a fat-tree; `None` for any other shape.
    #[must_use]
    pub fn new(fabric: &Fabric) -> Option<Self> {
        Some(Self { levels: Levels::new(fabric)? })
    }
}

impl Routing for FatTreeStatic {
    fn virtual_channels(&self) -> u8 {
        1
    }

    fn in_order(&self) -> bool {
        true
    }

    fn route(&mut self, at: SwitchId, packet: &mut PacketRoute, _load: &mut dyn Load) -> Hop {
        let destination = packet.destination;
        if let Some(hop) = self.levels.ejection(at, destination) {
            return hop;
        }
        let tree = &self.levels.tree;
        let from_leaf = destination % tree.uplinks_per_leaf();
        let from_aggregate = |uplinks: u32| destination / tree.uplinks_per_leaf() % uplinks;
        let channel = match self.levels.way(at, destination) {
            Way::Up(up, FatTreeLevel::Leaf) => up.get(from_leaf),
            Way::Up(up, _) => up.get(from_aggregate(up.count)),
            Way::Down(down) => {
                let mirrored = match tree.level(at) {
                    FatTreeLevel::Core => from_aggregate(tree.uplinks_per_aggregate()),
                    FatTreeLevel::Leaf | FatTreeLevel::Aggregate => from_leaf,
                };
                down.get(mirrored % down.count)
            }
        };
        Hop { channel, virtual_channel: 0 }
    }
}

/// Stands for [`FatTreeStatic`]: `static`.
pub const STATIC: &dyn RoutingKind = &Static;

#[derive(Debug)]
struct Static;

impl Registered for Static {
    fn name(&self) -> &'static str {
        "static"
    }
}

impl RoutingKind for Static {
    fn wanted(&self) -> &'static str {
        "fat-trees"
    }

    fn make(&self, fabric: &Fabric, _: u64) -> Result<Option<AnyRouting>, RoutingError> {
        Ok(FatTreeStatic::new(fabric).map(AnyRouting::of))
    }
}

/// Stands for [`FatTreeAdaptive`], on what is no fat-tree for [`LeastLoadedPaths`]: `adaptive`.
pub const ADAPTIVE: &dyn RoutingKind = &Adaptive;

#[derive(Debug)]
struct Adaptive;

impl Registered for Adaptive {
    fn name(&self) -> &'static str {
        "adaptive"
    }
}

impl RoutingKind for Adaptive {
    fn make(&self, fabric: &Fabric, seed: u64) -> Result<Option<AnyRouting>, RoutingError> {
        Ok(Some(match FatTreeAdaptive::new(fabric, random_of(seed)) {
            Some(tree) => AnyRouting::of(tree),
            None => AnyRouting::of(LeastLoadedPaths::new(fabric, random_of(seed))?),
        }))
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
    /// Makes the routing of a fat-tree; `None` for any other shape.
    #[must_use]
    pub fn new(fabric: &Fabric, random: Random) -> Option<Self> {
        Some(Self { levels: Levels::new(fabric)?, random })
    }
}

impl Routing for FatTreeAdaptive {
    fn virtual_channels(&self) -> u8 {
        1
    }

    fn in_order(&self) -> bool {
        false
    }

    fn route(&mut self, at: SwitchId, packet: &mut PacketRoute, load: &mut dyn Load) -> Hop {
        if let Some(hop) = self.levels.ejection(at, packet.destination) {
            return hop;
        }
        let (Way::Up(channels, _) | Way::Down(channels)) = self.levels.way(at, packet.destination);
        let (count, get) = (channels.count as usize, |index| channels.get(index as u32));
        let channel = least_loaded(count, get, load, &mut self.random);
        Hop { channel: channel.unwrap_or(ChannelId::MAX), virtual_channel: 0 }
    }
}
