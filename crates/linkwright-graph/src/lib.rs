//! This crate holds the graph algorithms of Linkwright. The crate `linkwright` offers them under its
//! own name.

use linkwright_ground::diagnostic;

pub mod graph;
