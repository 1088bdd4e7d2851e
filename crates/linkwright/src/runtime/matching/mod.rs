//! Messages and receives that find each other.

pub(in crate::runtime) mod announcements;
pub(in crate::runtime) mod bins;
pub(in crate::runtime) mod envelope;
pub(in crate::runtime) mod pairs;
pub(in crate::runtime) mod queues;
