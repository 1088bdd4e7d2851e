//! Sets the measurements of nccl-tests beside the expected times.
//!
//! [`read`] takes the text that `all_reduce_perf` and the other tests print, whatever their launcher
//! puts before its lines. [`NcclTestsLog::findings`] sets what it states against what is asked.
//! [`verdict`] says what the shape of the difference between measured and expected times means.

mod asked;
mod check;
mod difference;
mod ending;
mod lines;
mod log;
mod read;
mod stated;
mod table;
mod verdict;

pub use asked::{Finding, Means, preset_with};
pub use difference::{Compared, Difference, difference};
pub use lines::{LogReader, printer_of};
pub use log::{LogNote, Measured, NcclTestsLog, Row};
pub use read::{LONGEST, plain, read};
pub use stated::{Stated, StatedTransport, Unmodelled};
pub use verdict::verdict;
