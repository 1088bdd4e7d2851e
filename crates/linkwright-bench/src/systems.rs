//! Builds systems that more than one benchmark plans or routes on.

use std::sync::Arc;

use linkwright::system::fabric::{LinkRate, single_switch};
use linkwright::system::presets::preset;
use linkwright::system::{PortOrder, System};
use linkwright::units::{Bandwidth, Picoseconds};

/// Returns a preset by itself.
///
/// # Panics
/// If there is none of that name.
#[must_use]
pub fn alone(name: &str) -> System {
    System::of_server(Arc::new(preset(name).expect("a preset's name")))
}

/// Builds DGX A100s, joined by their eight interfaces of 200 Gb/s each.
///
/// # Panics
/// Panics for no server; it needs one.
#[must_use]
pub fn dgx_a100s(count: u32) -> System {
    let rows = [(Arc::new(preset("dgx-a100").expect("a preset's name")), count)];
    let rate = LinkRate { bandwidth: Bandwidth(25_000_000_000), latency: Picoseconds(600_000) };
    let ports = System::ports_for(&rows).expect("it has interfaces");
    let fabric = single_switch(ports, rate).expect("few ports");
    System::new(&rows, fabric, PortOrder::Plain).expect("as many ports as interfaces")
}
