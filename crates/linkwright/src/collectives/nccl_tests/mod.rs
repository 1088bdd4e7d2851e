//! What nccl-tests measured, beside what is expected.
//!
//! [`read`] takes the text that `all_reduce_perf` and the other tests print; [`difference`] says what
//! the shape of the difference between measured and expected times means.

mod check;
mod difference;
mod read;

pub use difference::{Compared, Difference, difference};
pub use read::{LONGEST, LogNote, Measured, NcclTestsLog, Row, read};
