//! Ranks as they run: their programs, what waits for what, and what they do one after another.

pub(in crate::runtime) mod dependencies;
pub(in crate::runtime) mod frame;
pub(in crate::runtime) mod lane;
pub(in crate::runtime) mod plan;
pub(in crate::runtime) mod rank;
