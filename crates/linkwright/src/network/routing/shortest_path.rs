//! Shortest-path routing on any graph.
//!
//! Packets for a node take ways of fewest links, one from each switch, chosen as for tables
//! that were given ([`TableRouting`]), with the same order of virtual channels.

use thiserror::Error;

use crate::topology::interconnect::{Interconnect, InterconnectError, RoutingTables, SwitchId};

use super::{Hop, Load, PacketRoute, Routing, TableRouting};

/// Tables that do not lead every packet to its node.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TableError {
    /// A graph on which no tables can be computed.
    #[error(transparent)]
    Graph(#[from] InterconnectError),
    /// Routes longer than there are virtual channels.
    #[error("the longest route has {hops} links between switches; at most 32 are possible")]
    TooLong {
        /// How many links it has.
        hops: u32,
    },
}

/// One way of fewest links to each node.
#[derive(Debug, Clone)]
pub struct ShortestPath(TableRouting);

impl ShortestPath {
    /// Computes the tables: ways of fewest links, spread over equal ones by destination.
    ///
    /// # Errors
    /// A graph that is not connected or too large for tables, or routes of over 32 links.
    pub fn new(interconnect: &Interconnect) -> Result<Self, TableError> {
        let tables = RoutingTables::shortest(interconnect)?;
        TableRouting::new(interconnect, &tables).map(Self)
    }
}

impl Routing for ShortestPath {
    fn virtual_channels(&self) -> u8 {
        self.0.virtual_channels()
    }

    fn in_order(&self) -> bool {
        true
    }

    fn route(&mut self, at: SwitchId, packet: &mut PacketRoute, load: &mut impl Load) -> Hop {
        self.0.route(at, packet, load)
    }
}
