//! Adds a routing: each packet goes by the next of all shortest ways.
//!
//! Order of the virtual channels: a packet enters the next one at every hop. No cycle of buffers can
//! close, whichever way it takes.
//!
//! This recipe follows A. Dixit, P. Prakash, Y. Hu and R. Kompella, "On the Impact of Packet
//! Spraying in Data Center Networks", INFOCOM 2013.

use linkwright::diagnostic::Registered;
use linkwright::network::routing::{
    AnyRouting, Hop, Load, PacketRoute, Routing, RoutingError, RoutingKind,
};
use linkwright::system::fabric::{Fabric, RoutingTables, SwitchId};

/// Sends the packets of each switch by all shortest ways in turn.
#[derive(Debug)]
pub struct Spray;

/// Knows the shortest ways, and how many packets each switch has sent.
struct Sprayed {
    switch_of: Vec<SwitchId>,
    tables: RoutingTables,
    dealt: Vec<usize>,
}

impl Registered for Spray {
    fn name(&self) -> &'static str {
        "spray"
    }
}

impl RoutingKind for Spray {
    fn make(&self, fabric: &Fabric, _: u64) -> Result<Option<AnyRouting>, RoutingError> {
        let tables = RoutingTables::shortest(fabric)?;
        let switch_of = (0..fabric.nodes()).map(|node| fabric.switch_of(node)).collect();
        let dealt = vec![0; fabric.switches() as usize];
        // There are as many virtual channels at most.
        let is_short = tables.longest() <= 32;
        Ok(is_short.then(|| AnyRouting::of(Sprayed { switch_of, tables, dealt })))
    }
}

impl Routing for Sprayed {
    fn virtual_channels(&self) -> u8 {
        self.tables.longest().max(1) as u8
    }

    fn in_order(&self) -> bool {
        false
    }

    fn route(&mut self, at: SwitchId, packet: &mut PacketRoute, _: &mut dyn Load) -> Hop {
        if at == self.switch_of[packet.destination as usize] {
            return Hop { channel: Fabric::ejection(packet.destination), virtual_channel: 0 };
        }
        let ways = self.tables.next(at, packet.destination);
        let dealt = &mut self.dealt[at as usize];
        *dealt += 1;
        Hop { channel: ways[*dealt % ways.len()], virtual_channel: packet.hops }
    }
}
