//! Graph algorithms on integer capacities, exact and without any word of GPUs.
//!
//! What links can carry is a question of cuts and trees. These modules answer it for plain
//! numbered vertices and whole-number capacities, so that every answer can be checked against
//! brute force and used by more than one layer.

pub mod arborescences;
pub mod max_flow;
pub mod partition;
pub mod strength;
