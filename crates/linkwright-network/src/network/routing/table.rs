//! Sends packets by tables: on shortest paths of any graph, or by tables that somebody wrote.
//!
//! One channel serves each destination at each switch, always the same. Where a table allows
//! several, destinations are spread over them as evenly as [`Paths`] can. A packet enters the next
//! virtual channel at every hop. So it enters none twice, and no cycle of buffers can close. A
//! table needs as many virtual channels as its longest path has links between switches.

use crate::system::fabric::{Fabric, RoutingTables, SwitchId};

use super::paths::Paths;
use super::{AnyRouting, Hop, Load, PacketRoute, Routing, RoutingError, RoutingKind};
use crate::diagnostic::Registered;

/// Limits the virtual channels, and so the links of a path.
const MOST_HOPS: u32 = 32;

/// Follows paths that tables name.
#[derive(Debug, Clone)]
pub struct TableRouting {
    /// Gives the switch of each node.
    switch_of: Vec<SwitchId>,
    paths: Paths,
    virtual_channels: u8,
}

impl TableRouting {
    /// Follows tables of this fabric.
    ///
    /// # Errors
    /// Refuses paths of over 32 links.
    pub fn new(fabric: &Fabric, tables: &RoutingTables) -> Result<Self, RoutingError> {
        let hops = tables.longest();
        short_enough(hops)?;
        let nodes = 0..fabric.nodes();
        let switch_of = nodes.map(|node| fabric.switch_of(node)).collect();
        let paths = Paths::spread(fabric, tables);
        Ok(Self { switch_of, paths, virtual_channels: hops.max(1) as u8 })
    }

    /// Follows the paths of fewest links.
    ///
    /// # Errors
    /// Refuses nodes that no links join, tables that are too large, and paths of over 32 links.
    pub fn shortest(fabric: &Fabric) -> Result<Self, RoutingError> {
        Self::new(fabric, &shortest_tables(fabric)?)
    }
}

/// Stands for [`TableRouting::shortest`]: `shortest-path`.
pub const SHORTEST_PATH: &dyn RoutingKind = &ShortestPath;

#[derive(Debug)]
struct ShortestPath;

impl Registered for ShortestPath {
    fn name(&self) -> &'static str {
        "shortest-path"
    }
}

impl RoutingKind for ShortestPath {
    fn make(&self, fabric: &Fabric, _: u64) -> Result<Option<AnyRouting>, RoutingError> {
        Ok(Some(AnyRouting::of(TableRouting::shortest(fabric)?)))
    }
}

/// Makes the tables of all paths of fewest links.
///
/// # Errors
/// Refuses nodes that no links join, tables that are too large, and paths of over 32 links.
pub(super) fn shortest_tables(fabric: &Fabric) -> Result<RoutingTables, RoutingError> {
    // Tables of a long ring fill a gigabyte before they tell that they are of no use.
    short_enough(RoutingTables::least_longest(fabric))?;
    let tables = RoutingTables::shortest(fabric)?;
    short_enough(tables.longest())?;
    Ok(tables)
}

/// Checks that there is a virtual channel for each link of a path.
fn short_enough(hops: u32) -> Result<(), RoutingError> {
    if hops > MOST_HOPS { Err(RoutingError::TooLong { hops }) } else { Ok(()) }
}

impl Routing for TableRouting {
    fn virtual_channels(&self) -> u8 {
        self.virtual_channels
    }

    fn in_order(&self) -> bool {
        true
    }

    fn route(&mut self, at: SwitchId, packet: &mut PacketRoute, _load: &mut dyn Load) -> Hop {
        if at == self.switch_of[packet.destination as usize] {
            let channel = Fabric::ejection(packet.destination);
            return Hop { channel, virtual_channel: 0 };
        }
        let channel = self.paths.next(at, packet.destination);
        Hop { channel, virtual_channel: packet.hops }
    }
}
