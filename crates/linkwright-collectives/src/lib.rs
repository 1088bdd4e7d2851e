//! This crate holds the collectives of Linkwright: schedules of broadcast, all-reduce and the others. The
//! crate `linkwright` offers them under its own name.

use linkwright_graph::graph;
use linkwright_ground::{diagnostic, engine, table, units, xml};
use linkwright_network::network;
use linkwright_runtime::{program, runtime};
use linkwright_system::system;

pub mod collectives;
