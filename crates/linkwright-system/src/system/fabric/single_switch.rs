//! Puts one switch between all nodes.
//!
//! The model is a network without a narrow place: one switch with a port for every network
//! interface. It leaves out the switches of a real network and the places where they are too
//! narrow.

use super::links::{LinkRate, numberable, positive};
use super::{Fabric, FabricError, FabricShape};

/// Makes the fabric of one switch and its nodes.
///
/// # Errors
/// Refuses no port, links without bandwidth, and more than 2^24 ports.
pub fn single_switch(ports: u32, rate: LinkRate) -> Result<Fabric, FabricError> {
    positive("ports", ports)?;
    numberable(Some(ports.into()))?;
    let nodes = vec![rate.to_node(0); ports as usize];
    Fabric::new(&format!("single-switch-{ports}"), FabricShape::SingleSwitch, 1, &nodes, &[])
}
