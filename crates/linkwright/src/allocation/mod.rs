//! Which GPUs a job gets (MAPA, SC'21).

pub mod bandwidth;
pub mod counters;
pub mod error;
pub mod gpu_set;
pub mod links;
pub mod pattern;

pub use error::AllocationError;
pub use gpu_set::{GpuSet, MAX_GPUS};
pub use pattern::{Pattern, Shape};
