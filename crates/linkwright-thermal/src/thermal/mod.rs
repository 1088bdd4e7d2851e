//! Computes the steady-state heat of a package: layers on one another, blocks that make heat, a
//! sink.
//!
//! The model has conduction in layers by finite volumes. Conductivity differs from block to block
//! and may differ up and down from sideways. Convection from the topmost layer to the air is one
//! resistance spread over its area. Where it is described, the lowest layer has the same through
//! the board. It is the model of HotSpot's grid mode. Its source is Huang et al., HotSpot: a
//! compact thermal modeling methodology for early-stage VLSI design, IEEE Transactions on VLSI
//! Systems 14(5), 2006. The parts of spreader and sink beyond the chips have cells, where HotSpot
//! has one node for each side.
//!
//! The model leaves out change over time, leakage that grows with temperature, and conductivity
//! that changes with temperature. It leaves out resistance where layers meet other than as layers
//! of their own. It leaves out air beside layers that are smaller than others, radiation, fins and
//! the flow of air or liquid.
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
