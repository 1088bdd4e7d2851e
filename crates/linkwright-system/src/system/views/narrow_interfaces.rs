//! Whether servers' interfaces are narrower towards their host than towards the network.

use crate::system::kinds::DeviceKind;
use crate::system::views::wiring::{Wire, Wiring};

/// Holds GB/s that an interface reaches on its two sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InterfaceSides {
    /// Counts all its links to its host.
    pub host: f64,
    /// Counts its link to the network.
    pub network: f64,
}

impl InterfaceSides {
    fn of(wiring: &Wiring, nic: usize) -> Self {
        let wires = || wiring.adjacency()[nic].iter().map(|at| &wiring.wires()[*at]);
        let reached = |is_wanted: fn(&Wire) -> bool| {
            wires()
                .filter(|wire| is_wanted(wire))
                .map(|wire| wire.bandwidth.as_gigabytes_per_second() * wire.reached_share())
                .sum()
        };
        Self { host: reached(|wire| !wire.is_network()), network: reached(Wire::is_network) }
    }
}

/// Finds the interface that is the widest towards its host, where none is wider there than towards
/// the network. No faster network then carries more of a collective. It is None too where links
/// between switches hold something up, and of a server alone.
#[must_use]
pub fn narrow_interfaces(wiring: &Wiring) -> Option<InterfaceSides> {
    wiring.crossbar()?;
    if wiring.fabric_paths().is_some() {
        return None;
    }
    let devices = wiring.devices().iter().enumerate();
    let nics = devices.filter(|(_, device)| device.kind == DeviceKind::Nic);
    let sides: Vec<InterfaceSides> = nics.map(|(nic, _)| InterfaceSides::of(wiring, nic)).collect();
    if sides.iter().any(|it| it.host > it.network) {
        return None;
    }
    sides.into_iter().reduce(|widest, next| if next.host > widest.host { next } else { widest })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::system::composition::{PortOrder, System};
    use crate::system::fabric::{LinkRate, single_switch};
    use crate::system::presets::preset;
    use crate::units::{Bandwidth, Picoseconds};

    #[test]
    fn only_links_wider_than_every_host_s_side_are_too_wide() {
        let sides = |server: &str, gigabits: u64| {
            let rows = [(Arc::new(preset(server).unwrap()), 2)];
            let bandwidth = Bandwidth(gigabits * 125_000_000);
            let rate = LinkRate { bandwidth, latency: Picoseconds(0) };
            let fabric = single_switch(System::ports_for(&rows).unwrap(), rate).unwrap();
            let system = System::new(&rows, fabric, PortOrder::Plain).unwrap();
            narrow_interfaces(&Wiring::of_system(&system))
        };
        let near = |found: f64, expected: f64| (found - expected).abs() < 0.01;
        let found = sides("hgx-h100", 800).unwrap();
        assert!(near(found.host, 0.71 * 63.015) && near(found.network, 92.0), "{found:?}");
        assert!(sides("hgx-h100", 390).is_some() && sides("hgx-h100", 389).is_none());
        assert!(sides("dgx-a100", 400).is_some() && sides("dgx-a100", 100).is_none());
        let alone = Wiring::of_server(&Arc::new(preset("hgx-h100").unwrap()));
        assert_eq!(narrow_interfaces(&alone), None);
    }
}
