//! This crate holds what lies inside GPUs: caches, memory and the coherence of copies. The crate
//! `linkwright` offers it under its own name.

use linkwright_ground::{diagnostic, engine, table, units};
use linkwright_network::network;
use linkwright_system::system;

pub mod memory;
