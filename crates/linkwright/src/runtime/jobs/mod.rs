//! Jobs: what they are, how they come and go, and what becomes of them.

pub(in crate::runtime) mod admission;
pub(in crate::runtime) mod job;
pub(in crate::runtime) mod occupancy;
pub(in crate::runtime) mod outcome;
pub(in crate::runtime) mod ranges;
pub(in crate::runtime) mod validate;
