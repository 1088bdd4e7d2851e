//! Collectives: how the data of a job moves between its GPUs.
//!
//! A collective is planned once, as a [`Schedule`]: per rank, what is sent, received and
//! reduced, in which order. That one value is checked, executed, timed and exported, and no
//! consumer knows which algorithm made it.
//!
//! - [`collective`]: what broadcast, all-reduce and the others must bring about
//! - [`schedule`]: the steps of every rank
//! - [`builder`]: how algorithms write them
//! - [`export`]: MSCCL XML, which is read, too, MSCCL++ JSON and Graphviz

pub mod builder;
pub mod collective;
pub mod export;
pub mod schedule;

pub use builder::ScheduleBuilder;
pub use collective::{Collective, Content};
pub use schedule::{
    Buffer, Channel, Operation, Protocol, RankProgram, Relay, Schedule, Slice, Step, StepId,
    ThreadBlock, Transport,
};
