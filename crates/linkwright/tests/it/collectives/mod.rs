//! Schedules: what the checker finds, and what execution gives.

mod check;
mod execute;
mod interpreter;
mod mutation;
pub mod schedules;
