//! Tests schedules: the findings of the checker, and the results of execution.

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
