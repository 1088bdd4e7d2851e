//! Systems that several tests are about.

use std::sync::Arc;

use linkwright::system::fabric::{FabricSpecification, LinkRate, single_switch};
use linkwright::system::presets::preset;
use linkwright::system::{PortOrder, System};
use linkwright::units::{Bandwidth, Picoseconds};

/// Builds a preset by itself.
pub fn alone(name: &str) -> System {
    System::of_server(Arc::new(preset(name).unwrap()))
}

/// Builds `servers` servers of a preset, joined by interfaces of `gigabits` gigabits per second.
pub fn on_one_switch(name: &str, servers: u32, gigabits: u64) -> System {
    let rows = [(Arc::new(preset(name).unwrap()), servers)];
    let bandwidth = Bandwidth(gigabits * 125_000_000);
    let rate = LinkRate { bandwidth, latency: Picoseconds(600_000) };
    let fabric = single_switch(System::ports_for(&rows).unwrap(), rate).unwrap();
    System::new(&rows, fabric, PortOrder::Plain).unwrap()
}

/// Builds `servers` servers of a preset on the smallest fabric of a kind.
pub fn on_fabric(name: &str, servers: u32, kind: &str) -> System {
    let rows = [(Arc::new(preset(name).unwrap()), servers)];
    let ports = System::ports_for(&rows).unwrap();
    let fabric = FabricSpecification::preset(kind).unwrap().for_ports(ports).unwrap();
    System::new(&rows, fabric, PortOrder::Plain).unwrap()
}
