//! Collectives: how the data of a job moves between its GPUs.
//!
//! A collective is planned once, as a [`Schedule`]: per rank, what is sent, received and
//! reduced, in which order. That one value is checked, executed, timed and exported, and no
//! consumer knows which algorithm made it.
//!
//! - [`collective`]: what broadcast, all-reduce and the others must bring about
//! - [`schedule`]: the steps of every rank
//! - [`builder`]: how algorithms write them
//! - [`time`]: how long one takes on a machine
//! - [`link_graph`]: the links that a job was given
//! - [`baselines`]: what NCCL does, of Blink's time and today, and how long it takes
//! - [`lowering`]: trees, rings and pairs of ranks as steps

pub mod baselines;
pub mod builder;
pub mod collective;
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
