//! Caches: many equal ones in flat arrays, and the lines that each waits for.

mod lines;
mod mshrs;

pub use lines::{Lines, copy_masked};
pub use mshrs::{Mshrs, NONE};
