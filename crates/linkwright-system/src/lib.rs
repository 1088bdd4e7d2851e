//! This crate holds the systems of Linkwright: servers, fabrics and what both make together. The crate
//! `linkwright` offers them under its own name.

use linkwright_ground::{diagnostic, table, units, xml};

pub mod system;
