//! Decides which way packets go.
//!
//! A [`Routing`] decides at every switch by which channel a packet leaves and which virtual
//! channel it takes there. Each implementation is free of deadlock by the order of its virtual
//! channels: its file names the order, along which every packet only ascends. A [`RoutingKind`]
//! beside it makes it for a fabric; [`routing_kinds`] lists Linkwright's own.
//!
//! | routing | for | virtual channels | in order |
//! | --- | --- | --- | --- |
//! | [`FatTreeStatic`] | fat-tree | 1 | yes |
//! | [`FatTreeAdaptive`] | fat-tree | 1 | no |
//! | [`LeastLoadedPaths`] | any other | its longest path | no |
//! | [`DragonflyMinimal`] | dragonfly | 2 | no |
//! | [`DragonflyValiant`] | dragonfly | 3 | no |
//! | [`DragonflyUgal`] | dragonfly | 3 | no |
//! | [`DragonflyProgressive`] | dragonfly | 4 | no |
//! | [`TorusDimensionOrder`] | torus | 2 | yes |
//! | [`TableRouting`] | any graph | its longest path | yes |
//! | [`EqualCostPaths`] | any graph | its longest path | yes |

mod all_paths;
mod choice;
pub mod contract;
mod dragonfly;
mod dragonfly_links;
mod fat_tree;
mod least_loaded;
mod nowhere;
mod paths;
mod table;
mod torus;

pub use all_paths::{ECMP, EqualCostPaths, LeastLoadedPaths};
pub use choice::{AnyRouting, RoutingError, RoutingKind, random_of, routing_for, routing_kinds};
pub use dragonfly::{
    DragonflyMinimal, DragonflyProgressive, DragonflyUgal, DragonflyValiant, MINIMAL, PROGRESSIVE,
    UGAL, UGAL_BIAS, VALIANT,
};
pub use fat_tree::{ADAPTIVE, FatTreeAdaptive, FatTreeStatic, STATIC};
pub use nowhere::Nowhere;
pub use table::{SHORTEST_PATH, TableRouting};
pub use torus::{DIMENSION_ORDER, TorusDimensionOrder};

use super::transport::Message;
use crate::system::fabric::{ChannelId, NodeId, SwitchId};

/// Travels with a packet and holds the state of its routing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketRoute {
    /// Says where it started.
    pub source: NodeId,
    /// Where it goes.
    pub destination: NodeId,
    /// A channel or switch that it has to take next; the routing's own.
    pub waypoint: u32,
    /// The group or switch over which a detour leads; the routing's own.
    pub detour: u32,
    /// How far along it is; the routing's own, zero at the source.
    pub phase: u8,
    /// How many switches it has left so far.
    pub hops: u8,
    /// Gives the virtual channel in which it came.
    pub virtual_channel: u8,
}

impl PacketRoute {
    /// The route of a packet that has not left its source.
    #[must_use]
    pub const fn new(source: NodeId, destination: NodeId) -> Self {
        let (waypoint, detour) = (u32::MAX, u32::MAX);
        Self { source, destination, waypoint, detour, phase: 0, hops: 0, virtual_channel: 0 }
    }
}

/// Where a packet goes from a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// By which channel it leaves.
    pub channel: ChannelId,
    /// Gives the virtual channel in which it goes on, from zero.
    pub virtual_channel: u8,
}

/// How busy the channels of a switch are, which adaptive routing asks.
pub trait Load {
    /// Counts the packets that wait for a channel, cross it, or fill the buffer behind it.
    fn queued(&mut self, channel: ChannelId) -> u32;
}

/// An algorithm that decides which way packets go.
pub trait Routing {
    /// How many virtual channels each channel needs.
    fn virtual_channels(&self) -> u8;

    /// Says whether packets of one connection arrive in the order of their departure.
    fn in_order(&self) -> bool;

    /// Notes on a packet that leaves its source what it has to know of its message: the devices at its
    /// ends, its size, its class.
    fn start(&self, _packet: &mut PacketRoute, _message: &Message) {}

    /// Where a packet goes from a switch; at its destination's switch, to the node.
    fn route(&mut self, at: SwitchId, packet: &mut PacketRoute, load: &mut dyn Load) -> Hop;
}
