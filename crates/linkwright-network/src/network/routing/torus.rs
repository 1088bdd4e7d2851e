//! Leads packets through tori by dimension order.
//!
//! A packet corrects its first dimension, then the next, always the shorter way round. The virtual
//! channels follow the order of the dimensions. Within one, virtual channel 0 serves before the
//! wrap-around link and 1 from it on. This order is from Dally and Seitz, "Deadlock-Free Message
//! Routing in Multiprocessor Interconnection Networks", 1987.

use crate::system::fabric::{ChannelId, End, Fabric, FabricShape, SwitchId};

use super::{AnyRouting, Hop, Load, PacketRoute, Routing, RoutingError, RoutingKind};
use crate::diagnostic::Registered;

/// Goes dimension by dimension, the shorter way round.
///
/// Where both ways are equally long, packets from even places go upward and those from odd ones
/// downward. So both directions carry as much. The choice is fixed, and packets stay in order.
#[derive(Debug, Clone)]
pub struct TorusDimensionOrder {
    dimensions: Vec<u32>,
    nodes_per_switch: u32,
    /// Holds the channels upward and downward, per switch and dimension.
    neighbours: Vec<[ChannelId; 2]>,
}

impl TorusDimensionOrder {
    /// Makes the routing of a torus; `None` for any other shape.
    #[must_use]
    pub fn new(fabric: &Fabric) -> Option<Self> {
        let FabricShape::Torus(torus) = fabric.shape() else { return None };
        let dimensions = torus.dimensions.clone();
        let count = fabric.switches() as usize * dimensions.len();
        let mut neighbours = vec![[ChannelId::MAX; 2]; count];
        for at in 0..fabric.switches() {
            for channel in fabric.outgoing(at) {
                let End::Switch(to) = fabric.channels()[*channel as usize].to else {
                    continue;
                };
                let mut stride = 1;
                for (dimension, size) in dimensions.iter().enumerate() {
                    let (from, onto) = (at / stride % size, to / stride % size);
                    let slot = &mut neighbours[at as usize * dimensions.len() + dimension];
                    // In a dimension of two, both ways are the same link.
                    if from != onto && (from + 1) % size == onto {
                        slot[0] = *channel;
                    }
                    if from != onto && (onto + 1) % size == from {
                        slot[1] = *channel;
                    }
                    stride *= size;
                }
            }
        }
        Some(Self { dimensions, nodes_per_switch: torus.nodes_per_switch, neighbours })
    }
}

/// Stands for [`TorusDimensionOrder`]: `dimension-order`.
pub const DIMENSION_ORDER: &dyn RoutingKind = &DimensionOrder;

#[derive(Debug)]
struct DimensionOrder;

impl Registered for DimensionOrder {
    fn name(&self) -> &'static str {
        "dimension-order"
    }
}

impl RoutingKind for DimensionOrder {
    fn wanted(&self) -> &'static str {
        "tori"
    }

    fn make(&self, fabric: &Fabric, _: u64) -> Result<Option<AnyRouting>, RoutingError> {
        Ok(TorusDimensionOrder::new(fabric).map(AnyRouting::of))
    }
}

impl Routing for TorusDimensionOrder {
    fn virtual_channels(&self) -> u8 {
        2
    }

    fn in_order(&self) -> bool {
        true
    }

    fn route(&mut self, at: SwitchId, packet: &mut PacketRoute, _load: &mut dyn Load) -> Hop {
        let goal = packet.destination / self.nodes_per_switch;
        let mut stride = 1;
        for (dimension, size) in self.dimensions.iter().enumerate() {
            let (from, onto) = (at / stride % size, goal / stride % size);
            stride *= size;
            if from == onto {
                continue;
            }
            let (ahead, behind) = ((onto + size - from) % size, (from + size - onto) % size);
            let upward = ahead < behind || ahead == behind && from % 2 == 0;
            let wraps = if upward { from + 1 == *size } else { from == 0 };
            // The phase holds the dimension, twice, and whether its wrap-around is behind.
            let entered = 2 * dimension as u8;
            let wrapped = wraps || packet.phase == entered + 1;
            packet.phase = entered + u8::from(wrapped);
            let neighbours = self.neighbours[at as usize * self.dimensions.len() + dimension];
            let channel = neighbours[usize::from(!upward)];
            return Hop { channel, virtual_channel: u8::from(wrapped) };
        }
        Hop { channel: Fabric::ejection(packet.destination), virtual_channel: 0 }
    }
}
