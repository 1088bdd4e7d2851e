//! Systems that several tests are about.

use std::sync::Arc;

use linkwright::system::fabric::{LinkRate, single_switch};
use linkwright::system::presets::preset;
use linkwright::system::{PortOrder, System};
use linkwright::units::{Bandwidth, Picoseconds};

/// A preset by itself.
pub fn alone(name: &str) -> System {
    System::of_server(Arc::new(preset(name).unwrap()))
}

/// So many of a preset, joined by interfaces of so many gigabits per second.
pub fn on_one_switch(name: &str, servers: u32, gigabits: u64) -> System {
    let rows = [(Arc::new(preset(name).unwrap()), servers)];
    let bandwidth = Bandwidth(gigabits * 125_000_000);
    let rate = LinkRate { bandwidth, latency: Picoseconds(600_000) };
    let fabric = single_switch(System::ports_for(&rows).unwrap(), rate).unwrap();
    System::new(&rows, fabric, PortOrder::Plain).unwrap()
}
