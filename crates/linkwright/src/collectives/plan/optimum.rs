//! What a plan's optimum is the optimum of.

use super::super::collective::Collective;
use super::super::link_graph::{LinkClass, fabric_of};
use super::Plan;
use crate::system::{DeviceKind, System, Wiring};

impl Plan {
    /// What no schedule could pass [`Plan::optimum`] in, in words that follow "the optimum of";
    /// None where no optimum is known. `system` is what it was planned for.
    #[must_use]
    pub fn optimum_of(&self, system: &System) -> Option<String> {
        self.optimum?;
        let wiring = &Wiring::of_gpus(system, &self.schedule.gpus);
        let collective = self.schedule.collective;
        let shape = match collective {
            Collective::Gather { .. } | Collective::Scatter { .. } | Collective::AllToAll => "ways",
            _ => "trees",
        };
        let fabric = fabric_of(wiring);
        let links = match (self.links, fabric) {
            (LinkClass::Fabric, fabric) => fabric.unwrap_or("NVLink").to_owned(),
            (LinkClass::Host, _) => "PCIe".to_owned(),
            (LinkClass::Network, Some(fabric)) => format!("{fabric} and the network"),
            (LinkClass::Network, None) => "PCIe and the network".to_owned(),
        };
        let has_switches =
            wiring.devices().iter().any(|device| device.kind == DeviceKind::NvSwitch);
        let switches_could = self.links != LinkClass::Host && has_switches && collective.reduces();
        let without = if switches_could { ", without in-switch reduction" } else { "" };
        Some(format!("{shape} over {links}{without}"))
    }
}
