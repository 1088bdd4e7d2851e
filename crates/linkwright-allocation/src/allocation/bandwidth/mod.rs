//! What bandwidth an allocation reaches.

pub mod published;
pub mod sound;
