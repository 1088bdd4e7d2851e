//! Gives the capacities of the host channels of servers as resources of [`Routes`], under a PCIe
//! bus or without one.
//!
//! Without a bus, host channels carry the bandwidth that long transfers reach. A copy engine
//! reaches more, and takes less of a channel's time for its data. The settings of a bus say what
//! packets are. Then host channels carry the data of full packets, and copy engines fill them. A
//! kernel's transfers reach no more than without a bus: they take more of a channel's time in
//! proportion.

use super::pcie::PcieSettings;
use super::{ResourceId, Routes};
use crate::system::kinds::LinkKind;
use crate::units::Bandwidth;

/// Says what each resource carries, and how much of it kernels and copy engines take.
#[derive(Debug, Clone)]
pub struct HostChannels {
    capacities: Vec<Bandwidth>,
    /// How many times the share of a resource that a kernel asks for is what it takes.
    of_kernels: Vec<f64>,
    /// Holds the same of a copy engine.
    of_copies: Vec<f64>,
}

impl HostChannels {
    /// Those of routes at what long transfers reach, under a bus if there is one.
    #[must_use]
    pub fn new(routes: &Routes<'_>, bus: Option<&PcieSettings>) -> Self {
        let capacities = routes.capacities().to_vec();
        let of_kernels = vec![1.0; capacities.len()];
        let of_copies = (0..capacities.len()).map(|resource| routes.of_copy((resource, 1.0)).1);
        let mut channels = Self { capacities, of_kernels, of_copies: of_copies.collect() };
        let Some(bus) = bus else { return channels };
        for (resource, reached) in routes.capacities().iter().enumerate() {
            let (wire, _) = routes.wire(resource);
            if let Some(kind) = wire.kind.filter(|kind| LinkKind::is_host_bus(*kind)) {
                let data = bus.data_rate_of(kind, wire.bandwidth);
                channels.capacities[resource] = data;
                channels.of_kernels[resource] = data.0 as f64 / reached.0 as f64;
                channels.of_copies[resource] = 1.0;
            }
        }
        channels
    }

    /// Returns the bandwidth of each resource.
    #[must_use]
    pub fn capacities(&self) -> &[Bandwidth] {
        &self.capacities
    }

    /// Converts the share of a kernel's data that crosses a resource into the share that it takes
    /// of the resource.
    ///
    /// # Panics
    /// If there is no such resource.
    #[must_use]
    pub fn of_kernel(&self, (resource, share): (ResourceId, f64)) -> (ResourceId, f64) {
        (resource, share * self.of_kernels[resource])
    }

    /// Gives the share of a resource that a copy engine takes, from the share of a copy that crosses it.
    ///
    /// # Panics
    /// If there is no such resource.
    #[must_use]
    pub fn of_copy(&self, (resource, share): (ResourceId, f64)) -> (ResourceId, f64) {
        (resource, share * self.of_copies[resource])
    }

    /// Converts the share that a kernel takes of a resource back into the share of its data that
    /// crosses the resource.
    pub(super) fn crossing(&self, (resource, taken): (ResourceId, f64)) -> (ResourceId, f64) {
        (resource, taken / self.of_kernels[resource])
    }
}
