//! The routing of a lone server, which has no fabric.

use super::{Hop, Load, PacketRoute, Routing};
use crate::system::fabric::SwitchId;

/// Routing where there is no switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Nowhere;

impl Routing for Nowhere {
    fn virtual_channels(&self) -> u8 {
        1
    }

    fn in_order(&self) -> bool {
        true
    }

    /// # Panics
    /// Always: there is no switch to be at.
    fn route(&mut self, at: SwitchId, _: &mut PacketRoute, _: &mut dyn Load) -> Hop {
        unreachable!("no fabric has switch {at}")
    }
}
