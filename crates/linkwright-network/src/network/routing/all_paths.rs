//! Chooses among all shortest paths of any fabric: for a connection by a hash, for a packet by load.
//!
//! Order of the virtual channels: a packet enters the next one at every hop, as under
//! [`TableRouting`](super::TableRouting). No cycle of buffers can close, whichever path it takes.
//!
//! Source of the hash over paths of equal cost: C. Hopps, "Analysis of an Equal-Cost Multi-Path
//! Algorithm", RFC 2992, 2000. Each switch mixes its own number in. With the same hash at every
//! switch, all that come to one of them would go on by one channel.

use std::sync::Arc;

use crate::engine::{Random, mixed};
use crate::system::fabric::{ChannelId, Fabric, NodeId, RoutingTables, SwitchId};

use super::least_loaded::least_loaded;
use super::table::shortest_tables;
use super::{AnyRouting, Hop, Load, PacketRoute, Routing, RoutingError, RoutingKind};
use crate::diagnostic::Registered;
use crate::network::transport::Message;

/// Holds all paths of fewest links.
#[derive(Debug, Clone)]
struct AllPaths {
    switch_of: Vec<SwitchId>,
    tables: Arc<RoutingTables>,
}

impl AllPaths {
    fn new(fabric: &Fabric) -> Result<Self, RoutingError> {
        let nodes = 0..fabric.nodes();
        let switch_of = nodes.map(|node| fabric.switch_of(node)).collect();
        Ok(Self { switch_of, tables: Arc::new(shortest_tables(fabric)?) })
    }

    fn virtual_channels(&self) -> u8 {
        self.tables.longest().max(1) as u8
    }

    /// Returns the channels that lead from a switch on to a node: none at its own switch.
    fn next(&self, at: SwitchId, destination: NodeId) -> &[ChannelId] {
        if at == self.switch_of[destination as usize] {
            return &[];
        }
        self.tables.next(at, destination)
    }
}

/// Returns the hop over a channel that leads on, or to the node where there is none.
fn hop(packet: &PacketRoute, channel: Option<ChannelId>) -> Hop {
    match channel {
        Some(channel) => Hop { channel, virtual_channel: packet.hops },
        None => Hop { channel: Fabric::ejection(packet.destination), virtual_channel: 0 },
    }
}

/// Chooses a path for each connection by a hash of its ends: equal-cost multi-path.
#[derive(Debug, Clone)]
pub struct EqualCostPaths {
    paths: AllPaths,
    seed: u64,
}

impl EqualCostPaths {
    /// Makes the routing of a fabric.
    ///
    /// # Errors
    /// Refuses nodes that no links join, tables that are too large, and paths of over 32 links.
    pub fn new(fabric: &Fabric, seed: u64) -> Result<Self, RoutingError> {
        Ok(Self { paths: AllPaths::new(fabric)?, seed })
    }
}

/// Stands for [`EqualCostPaths`]: `ecmp`.
pub const ECMP: &dyn RoutingKind = &Ecmp;

#[derive(Debug)]
struct Ecmp;

impl Registered for Ecmp {
    fn name(&self) -> &'static str {
        "ecmp"
    }
}

impl RoutingKind for Ecmp {
    fn make(&self, fabric: &Fabric, seed: u64) -> Result<Option<AnyRouting>, RoutingError> {
        Ok(Some(AnyRouting::of(EqualCostPaths::new(fabric, seed)?)))
    }
}

/// Puts two numbers into one word.
const fn word(first: u32, second: u32) -> u64 {
    (first as u64) << 32 | second as u64
}

impl Routing for EqualCostPaths {
    fn virtual_channels(&self) -> u8 {
        self.paths.virtual_channels()
    }

    fn in_order(&self) -> bool {
        true
    }

    fn start(&self, packet: &mut PacketRoute, message: &Message) {
        let ends = mixed(self.seed.wrapping_add(mixed(word(packet.source, packet.destination))));
        packet.waypoint =
            (mixed(ends ^ mixed(word(message.source, message.destination))) >> 32) as u32;
    }

    fn route(&mut self, at: SwitchId, packet: &mut PacketRoute, _load: &mut dyn Load) -> Hop {
        let channels = self.paths.next(at, packet.destination);
        // The high half of a product is as even as the hash is.
        let hash = mixed(word(packet.waypoint, at)) >> 32;
        let chosen = channels.get(((hash * channels.len() as u64) >> 32) as usize);
        hop(packet, chosen.copied())
    }
}

/// Chooses for each packet the least loaded channel of all shortest paths; of equally loaded ones one
/// by chance.
#[derive(Debug, Clone)]
pub struct LeastLoadedPaths {
    paths: AllPaths,
    random: Random,
}

impl LeastLoadedPaths {
    /// Makes the routing of a fabric.
    ///
    /// # Errors
    /// Refuses nodes that no links join, tables that are too large, and paths of over 32 links.
    pub fn new(fabric: &Fabric, random: Random) -> Result<Self, RoutingError> {
        Ok(Self { paths: AllPaths::new(fabric)?, random })
    }
}

impl Routing for LeastLoadedPaths {
    fn virtual_channels(&self) -> u8 {
        self.paths.virtual_channels()
    }

    fn in_order(&self) -> bool {
        false
    }

    fn route(&mut self, at: SwitchId, packet: &mut PacketRoute, load: &mut dyn Load) -> Hop {
        let channels = self.paths.next(at, packet.destination);
        let channel = least_loaded(channels.len(), |index| channels[index], load, &mut self.random);
        hop(packet, channel)
    }
}
