//! This room holds NCCL: its choices, their costs, and its logs.
//!
//! - [`baselines`] has its algorithms, of Blink's time and today, and how long they take
//! - [`calibration`] measures the difference to one's own machine, from its measurements
//! - [`accuracy`]: how far off times are
//! - [`graph_file`]: the rings and trees that it takes from a file, and writes into one
//! - [`nccl_tests`] reads the output of nccl-tests, and NCCL's logs

pub mod accuracy;
pub mod baselines;
pub mod calibration;
pub mod graph_file;
pub mod nccl_tests;
