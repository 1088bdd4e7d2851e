//! Finding matches of a pattern in the machine: tables for rings, pruned search for the rest.

pub mod by_edges;
pub mod ceiling;
pub mod guess;
pub mod long_ring;
mod paths;
pub mod plan;
pub mod rank;
pub mod ring;
pub mod ring_links;
pub mod scores;
pub mod search;
pub mod subsets;
