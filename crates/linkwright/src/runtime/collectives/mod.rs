//! Who is in which collective, and what the collective is made of.

pub(in crate::runtime) mod communicator;
pub(in crate::runtime) mod plans;
