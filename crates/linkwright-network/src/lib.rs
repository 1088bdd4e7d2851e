//! This crate holds the network of Linkwright: messages over a system, as packets or as flows. The crate
//! `linkwright` offers it under its own name.

use linkwright_ground::{diagnostic, engine, units};
use linkwright_system::system;

pub mod network;
