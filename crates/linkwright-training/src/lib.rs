//! This crate holds the training of neural networks by their layers. The crate `linkwright` offers it under
//! its own name.

use linkwright_ground::{diagnostic, engine, table, units};
use linkwright_network::network;
use linkwright_runtime::program;
use linkwright_system::system;

pub mod training;
