//! One switch between all nodes.
//!
//! What it represents: a network without a narrow place: one switch with a port for every
//! network interface. What it leaves out: the switches of a real network and the
//! places where they are too narrow.

use super::links::{LinkRate, numberable, positive};
use super::{Fabric, FabricError, FabricShape};

/// The fabric of one switch and its nodes.
///
/// # Errors
/// No port, links without bandwidth, or more than 2^24 ports.
pub fn single_switch(ports: u32, rate: LinkRate) -> Result<Fabric, FabricError> {
    positive("ports", ports)?;
    numberable(Some(ports.into()))?;
    let nodes = vec![rate.to_node(0); ports as usize];
    Fabric::new(&format!("single-switch-{ports}"), FabricShape::SingleSwitch, 1, &nodes, &[])
}
