//! What bandwidth an allocation reaches.

pub mod partition;
pub mod published;
pub mod sound;
pub mod strength;
