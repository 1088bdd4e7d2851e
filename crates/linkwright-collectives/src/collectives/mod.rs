//! Collectives: how the data of a job moves between its GPUs.
//!
//! A collective is planned once, as a [`Schedule`]: per rank, what is sent, received and
//! reduced, in which order. That one value is checked, executed, timed and exported, and no
//! consumer knows which algorithm made it.
//!
//! It has three rooms:
//!
//! - [`planners`]: which trees, rings or paths the data takes
//! - [`schedule`]: the steps of every rank, and the one walk that checks, executes, plays and exports them
//! - [`nccl`] gives NCCL's choices, their cost, and the meaning of its logs

pub mod nccl;
pub mod planners;
pub mod schedule;

pub use nccl::{accuracy, baselines, calibration, graph_file, nccl_tests};
pub use planners::{certificate, link_graph, lowering, mpi, plan};
pub use schedule::{
    builder, check, collective, execute, export, messages, placement, source, tables, time,
};

pub use builder::ScheduleBuilder;
pub use check::{CheckReport, ScheduleFault, check};
pub use collective::{Collective, Content};
pub use execute::{Element, ExecuteError, ExecuteOptions, Reduction, execute, reference};
pub use placement::{MemoryMap, Placement};
pub use schedule::{
    Buffer, Channel, ChannelTransport, ChosenPath, ChosenRoute, Crossing, Protocol, RankSchedule,
    Relay, Schedule, ScheduleStep, Slice, StepId, StepOperation, ThreadBlock,
};
