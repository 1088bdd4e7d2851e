//! What bandwidth an allocation reaches.

pub mod fit;
pub mod published;
pub mod sound;
