//! Models the bandwidth that an allocation reaches.

pub mod copies;
pub mod demands;
pub mod fit;
pub mod published;
pub mod sound;
