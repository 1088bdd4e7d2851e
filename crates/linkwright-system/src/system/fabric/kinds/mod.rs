//! The kinds of fabrics: each is one file here, and one line of [`KINDS`].
//!
//! Sizes and bandwidths come from a study: S. Bhowmik et al., "A Simulation Study of Hardware
//! Parameters for Future GPU-based HPC Platforms", IPCCC 2021. Its Section V.B has the fat-tree and the
//! dragonfly, its Section IV has Quartz. 11.9 GB/s is what Quartz' links reach at their peak.
//!
//! The paper gives no latencies. TraceR's public configuration, examples/conf/fattree.conf in
//! <https://github.com/hpcgroup/TraceR>, gives each router 60 ns (`router_delay`) and links none; a
//! router's delay is the simulation's, not the fabric's. Links here have the time of light in glass
//! (5 ns a metre), which is an assumption. Cables are 2 m long to a node, 10 m otherwise and 20 m
//! between groups. The same configuration gives nodes links of 24 GB/s (`cn_bandwidth`), about twice
//! those between switches. The paper's text has one link bandwidth, which nodes get here.

mod dragonfly;
mod fat_tree;
mod quartz;
mod single_switch;
mod torus;

use super::FabricValue;
use super::kind::FabricKind;
use super::links::LARGEST_RADIX;
use crate::units::{Bandwidth, Picoseconds};

/// Lists Linkwright's own kinds, in the order in which they are told.
pub(super) const KINDS: &[&dyn FabricKind] = &[
    &fat_tree::FatTreeKind,
    &dragonfly::DragonflyKind,
    &torus::TorusKind,
    &quartz::QuartzKind,
    &single_switch::SingleSwitchKind,
];

/// Gives the links of the study: 11.9 GB/s, 2 m of cable to a node and 10 m otherwise.
fn links_of_study() -> [(&'static str, FabricValue); 3] {
    [
        ("bandwidth", Bandwidth(11_900_000_000).into()),
        ("latency", Picoseconds(50_000).into()),
        ("node-latency", Picoseconds(10_000).into()),
    ]
}

/// Bounds the switches that are tried, far beyond real ones.
const LARGEST: u64 = LARGEST_RADIX as u64;

/// Refuses fewer ports than are needed, by how many there are.
fn enough(has: u64, needed: u64) -> Result<(), u64> {
    if has < needed { Err(has) } else { Ok(()) }
}

/// Makes a parameter of a number. Building refuses the largest as too large.
fn fitting(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
