//! What bandwidth an allocation reaches.

pub mod max_flow;
pub mod partition;
pub mod published;
pub mod sound;
pub mod strength;
