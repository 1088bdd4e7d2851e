//! Schedules: what the checker finds, and what execution gives.

mod check;
mod execute;
mod in_switch;
mod interpreter;
mod mpi;
mod mutation;
mod plans;
pub mod schedules;
mod servers;
mod timing;
