//! Routing by tables: on shortest paths of any graph, or by tables that somebody wrote.
//!
//! Where a table allows several channels, the destination chooses one of them, always the same:
//! by its switch's number on shortest paths, so that the packets for one switch stay together,
//! and by its own in tables that were given. Order of the virtual channels: a packet enters the
//! next one at every hop, so that none is entered twice and no cycle of buffers can close; a
//! table needs as many as its longest way has links between switches.

use crate::topology::interconnect::{Interconnect, RoutingTables, SwitchId};

use super::{Hop, Load, PacketRoute, Routing, RoutingError};

/// The most virtual channels, and so the most links of a way.
const MOST_HOPS: u32 = 32;

/// Ways that tables name.
#[derive(Debug, Clone)]
pub struct TableRouting {
    tables: RoutingTables,
    /// By which number each destination chooses among the channels that its table allows.
    choice: Vec<u32>,
    virtual_channels: u8,
}

impl TableRouting {
    /// Follows tables of this interconnect.
    ///
    /// # Errors
    /// Ways of over 32 links.
    pub fn new(interconnect: &Interconnect, tables: RoutingTables) -> Result<Self, RoutingError> {
        Self::choosing_by((0..interconnect.nodes()).collect(), tables)
    }

    /// Follows the ways of fewest links.
    ///
    /// # Errors
    /// Nodes that no links join, tables too large, or ways of over 32 links.
    pub fn shortest(interconnect: &Interconnect) -> Result<Self, RoutingError> {
        let tables = RoutingTables::shortest(interconnect)?;
        let nodes = 0..interconnect.nodes();
        Self::choosing_by(nodes.map(|node| interconnect.switch_of(node)).collect(), tables)
    }

    fn choosing_by(choice: Vec<u32>, tables: RoutingTables) -> Result<Self, RoutingError> {
        let hops = tables.longest();
        if hops > MOST_HOPS {
            return Err(RoutingError::TooLong { hops });
        }
        Ok(Self { tables, choice, virtual_channels: hops.max(1) as u8 })
    }
}

impl Routing for TableRouting {
    fn virtual_channels(&self) -> u8 {
        self.virtual_channels
    }

    fn in_order(&self) -> bool {
        true
    }

    fn route(&mut self, at: SwitchId, packet: &mut PacketRoute, _load: &mut impl Load) -> Hop {
        let allowed = self.tables.next(at, packet.destination);
        if allowed.is_empty() {
            let channel = Interconnect::ejection(packet.destination);
            return Hop { channel, virtual_channel: 0 };
        }
        let channel = allowed[self.choice[packet.destination as usize] as usize % allowed.len()];
        Hop { channel, virtual_channel: packet.hops }
    }
}
