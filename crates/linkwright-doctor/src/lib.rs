//! This crate finds why a collective is slow on a cluster. The crate `linkwright` offers it under its own name.

use linkwright_collectives::collectives;
use linkwright_ground::{diagnostic, units};
use linkwright_system::system;

pub mod doctor;
