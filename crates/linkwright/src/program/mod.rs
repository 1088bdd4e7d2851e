//! Rank programs: what every rank of a parallel job does, and the readers of what real jobs did.
//!
//! [`otf2`] reads the traces that measurement systems such as Score-P write: regions, messages
//! and collectives per rank, each with its time.

pub mod otf2;
