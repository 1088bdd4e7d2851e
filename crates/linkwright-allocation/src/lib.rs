//! This crate holds the policies that give jobs their GPUs. The crate `linkwright` offers them under its own
//! name.

use linkwright_graph::graph;
use linkwright_ground::{diagnostic, engine, units};
use linkwright_network::network;
use linkwright_runtime::program;
use linkwright_system::system;

pub mod allocation;
