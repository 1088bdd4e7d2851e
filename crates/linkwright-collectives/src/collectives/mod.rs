//! Collectives: how the data of a job moves between its GPUs.
//!
//! A collective is planned once, as a [`Schedule`]: per rank, what is sent, received and
//! reduced, in which order. That one value is checked, executed, timed and exported, and no
//! consumer knows which algorithm made it.
//!
//! - [`collective`]: what broadcast, all-reduce and the others must bring about
//! - [`link_graph`]: the links that a job was given
//! - [`baselines`]: what NCCL does, of Blink's time and today, and how long it takes
//! - [`calibration`]: what differs on one's own machine, by what it measured
//! - [`accuracy`]: how far off times are
//! - [`mod@plan`]: which trees, rings or paths the data takes
//! - [`lowering`] and [`builder`]: how those become steps
//! - [`mpi`]: MPI's algorithms
//! - [`schedule`]: the steps of every rank
//! - [`source`]: schedules as rules, which yield them rank by rank
//! - [`messages`]: a schedule, or a rule, as the messages of a program
//! - [`walk`]: the one walk over a schedule, on which what follows stands
//! - [`placement`]: where a rank's buffers lie
//! - [`mod@check`]: whether a schedule brings about its collective, whatever the timing
//! - [`mod@execute`]: a schedule run on real buffers, a thread for each rank
//! - [`mod@time`]: how long they take on a machine
//! - [`tables`]: schedules and timings as columns
//! - [`export`]: MSCCL XML, which is read, too, MSCCL++ JSON and Graphviz

pub mod accuracy;
pub mod baselines;
pub mod builder;
pub mod calibration;
pub mod check;
pub mod collective;
pub mod execute;
pub mod export;
pub mod link_graph;
pub mod lowering;
pub mod messages;
pub mod mpi;
pub mod nccl_tests;
pub mod placement;
pub mod plan;
pub mod schedule;
pub mod source;
pub mod tables;
pub mod time;
mod walk;

pub use builder::ScheduleBuilder;
pub use check::{CheckReport, ScheduleFault, check};
pub use collective::{Collective, Content};
pub use execute::{Element, ExecuteError, ExecuteOptions, Reduction, execute, reference};
pub use placement::{MemoryMap, Placement};
pub use schedule::{
    Buffer, Channel, ChannelTransport, ChosenPath, ChosenRoute, Protocol, RankSchedule, Relay,
    Schedule, ScheduleStep, Slice, StepId, StepOperation, ThreadBlock,
};
