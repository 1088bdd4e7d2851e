//! Tests of this crate and of those above share these systems of presets.

use std::sync::Arc;

use crate::system::composition::{PortOrder, System};
use crate::system::fabric::{LinkRate, single_switch};
use crate::system::presets::preset;
use crate::units::{Bandwidth, Picoseconds};

mod fabrics;
mod measured;
#[cfg(test)]
mod texts;

pub use fabrics::check_fabrics;
pub use measured::{PairRates, is_of_amd};
#[cfg(test)]
pub(super) use texts::{
    assert_cuts_are_safe, assert_is_helpful, assert_nothing_vanishes, assert_rectangles_are_safe,
    census, damaged, example, quirk, relation,
};

/// Makes a system of one preset by itself.
pub fn alone(name: &str) -> System {
    System::of_server(Arc::new(preset(name).unwrap()))
}

/// Puts `servers` servers of a preset on one switch, whose links have 600 ns.
pub fn on_one_switch(name: &str, servers: u32, gigabits: u64) -> System {
    let rows = [(Arc::new(preset(name).unwrap()), servers)];
    let bandwidth = Bandwidth(gigabits * 125_000_000);
    let rate = LinkRate { bandwidth, latency: Picoseconds(600_000) };
    let fabric = single_switch(System::ports_for(&rows).unwrap(), rate).unwrap();
    System::new(&rows, fabric, PortOrder::Plain).unwrap()
}
