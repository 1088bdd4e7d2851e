//! Adds a routing of one kind of fabric: each packet corrects one bit of its place after another.
//!
//! Order of the virtual channels: there is one. Packets correct bits in one order, and never return to a bit, so that no
//! cycle of buffers can close.
//!
//! Source: W. Dally and C. Seitz, "Deadlock-Free Message Routing in Multiprocessor Interconnection Networks", IEEE
//! Transactions on Computers C-36(5), 1987, which names it.

use linkwright::diagnostic::Registered;
use linkwright::network::routing::{
    AnyRouting, Hop, Load, PacketRoute, Routing, RoutingError, RoutingKind,
};
use linkwright::system::fabric::{ChannelId, End, Fabric, SwitchId};

/// Sends packets over a binary n-cube by the bits in which their places differ.
#[derive(Debug)]
pub struct ECube;

/// Knows the channel of each switch for each bit.
struct BitByBit {
    order: u32,
    highest_first: bool,
    channels: Vec<ChannelId>,
}

impl Registered for ECube {
    fn name(&self) -> &'static str {
        "e-cube"
    }
}

impl RoutingKind for ECube {
    fn wanted(&self) -> &'static str {
        "binary n-cubes"
    }

    fn make(&self, fabric: &Fabric, _: u64) -> Result<Option<AnyRouting>, RoutingError> {
        // The keys of a kind say what its graph alone does not. Only such a cube has both.
        let keys = fabric.parameters();
        let keys = keys.and_then(|it| Some((it.count("order")?, it.truth("highest-first")?)));
        let Some((order, highest_first)) = keys else { return Ok(None) };
        let mut channels = vec![0; (fabric.switches() * order) as usize];
        for (id, channel) in (0..).zip(fabric.channels()) {
            if let (End::Switch(from), End::Switch(to)) = (channel.from, channel.to) {
                channels[(from * order + (from ^ to).trailing_zeros()) as usize] = id;
            }
        }
        Ok(Some(AnyRouting::of(BitByBit { order, highest_first, channels })))
    }
}

impl Routing for BitByBit {
    fn virtual_channels(&self) -> u8 {
        1
    }

    fn in_order(&self) -> bool {
        true
    }

    fn route(&mut self, at: SwitchId, packet: &mut PacketRoute, _: &mut dyn Load) -> Hop {
        // A node has the number of its switch.
        let wrong = at ^ packet.destination;
        if wrong == 0 {
            return Hop { channel: Fabric::ejection(packet.destination), virtual_channel: 0 };
        }
        let bit = if self.highest_first { wrong.ilog2() } else { wrong.trailing_zeros() };
        Hop { channel: self.channels[(at * self.order + bit) as usize], virtual_channel: 0 }
    }
}
