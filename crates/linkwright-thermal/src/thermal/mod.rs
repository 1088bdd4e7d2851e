//! Steady-state heat of a package: layers on one another, blocks that make heat, a sink.
//!
//! What it represents: conduction in layers whose conductivity differs from block to block and may
//! differ up and down from sideways, by finite volumes; convection from the topmost layer to the
//! air as one resistance spread over its area, and, where it is described, the same from the
//! lowest layer through the board. It is the model of HotSpot's grid mode (Huang et al., HotSpot: a
//! compact thermal modeling methodology for early-stage VLSI design, IEEE Transactions on VLSI
//! Systems 14(5), 2006), with cells in what of spreader and sink is beyond the chips, where HotSpot
//! has one node for each side.
//!
//! What it leaves out: change over time, leakage that grows with temperature, conductivity that
//! changes with temperature, resistance where layers meet other than as layers of their own, air
//! beside layers that are smaller than others, radiation, fins and the flow of air or liquid.
//!
//! A [`Floorplan`] is read from TOML; [`Floorplan::solve`] gives its [`ThermalMap`], and
//! [`Floorplan::sink_for`] the sink under which the hottest place has a given temperature.

mod error;
mod floorplan;
mod grid;
mod map;
mod multigrid;
mod network;
mod reader;
mod solve;
pub mod tables;
#[cfg(test)]
mod tests;

pub use error::{MOST_CELLS, MOST_CELLS_IN_ALL, ThermalError};
pub use floorplan::{Block, Conductivity, Floorplan, PackageLayer};
pub use map::{Extremes, Heat, ThermalMap};
