//! Collectives: how the data of a job moves between its GPUs.
//!
//! A collective is planned once, as a [`Schedule`]: per rank, what is sent, received and
//! reduced, in which order. That one value is checked, executed, timed and exported, and no
//! consumer knows which algorithm made it.
//!
//! - [`collective`]: what broadcast, all-reduce and the others must bring about
//! - [`link_graph`]: the links that a job was given
//! - [`plan`](mod@plan): which trees, rings or ways the data takes
//! - [`lowering`] and [`builder`]: how those become steps
//! - [`schedule`]: the steps of every rank
//! - [`time`](mod@time): how long they take on a machine
//! - [`export`]: MSCCL XML, which is read, too, MSCCL++ JSON and Graphviz

pub mod builder;
pub mod collective;
pub mod export;
pub mod link_graph;
pub mod lowering;
pub mod plan;
pub mod schedule;
pub mod time;

pub use builder::ScheduleBuilder;
pub use collective::{Collective, Content};
pub use schedule::{
    Buffer, Channel, Operation, Protocol, RankProgram, Relay, Schedule, Slice, Step, StepId,
    ThreadBlock, Transport,
};
