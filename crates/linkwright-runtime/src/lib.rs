//! This crate holds programs, which say what every rank of a job does, and the runtime that plays them
//! over a network. The crate `linkwright` offers both under its own name.

use linkwright_ground::{diagnostic, engine, table, units};
use linkwright_network::network;
use linkwright_system::system;

pub mod program;
pub mod runtime;
