//! This crate holds the heat of packages. The crate `linkwright` offers it under its own name.

use linkwright_ground::{diagnostic, table};

pub mod thermal;
