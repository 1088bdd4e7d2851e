//! Inside the GPUs: caches, memory, and what keeps copies of a line in agreement.

pub mod litmus;
pub mod protocol;
