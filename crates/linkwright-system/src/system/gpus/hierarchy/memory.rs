//! Describes memory: its channels, the banks of DRAM, and controllers of shared memory.

use serde::{Deserialize, Serialize};

use super::reader;
use crate::units::Bytes;

/// Describes the memory of a GPU, by channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Channels {
    /// Counts the bytes of each of the channels. Every bank of the second level has one channel.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 17_179_869_184>")]
    pub channel: Bytes,
    /// Cycles of an access; a channel takes a request each cycle.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub latency: u32,
}

/// Describes the banks of a channel of DRAM, in cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DramBanks {
    /// Counts the banks.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 1024>")]
    pub banks: u32,
    /// Counts the bytes of a row.
    #[serde(deserialize_with = "reader::power_of_two::<_, _, 64, 1_048_576>")]
    pub row: Bytes,
    /// Counts the cycles from opening a row to reading or writing it (tRCD).
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub activate: u32,
    /// Counts the cycles from a read to its first data (CL).
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub read: u32,
    /// Counts the cycles from a write to its first data (CWL).
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub write: u32,
    /// Counts the cycles to close a row (tRP).
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub precharge: u32,
    /// For how long a row is open at least (tRAS).
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub row_active: u32,
    /// Counts the cycles of a line on the bus.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 1_000_000>")]
    pub burst: u32,
    /// In which at most four rows are opened (tFAW).
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub window: u32,
    /// Counts the cycles from the last data of a write to a read (tWTR).
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub turnaround: u32,
    /// From there to when the row may be closed (tWR).
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub recovery: u32,
    /// Counts the cycles from one refresh to the next (tREFI).
    #[serde(deserialize_with = "reader::between::<_, _, 1, 1_000_000_000>")]
    pub refresh_interval: u32,
    /// Counts the cycles of a refresh (tRFC).
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub refresh: u32,
}

/// Bounds the request tracker of a controller of shared memory, which has lines in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestTracker {
    /// Says how many lines it has in flight at most.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 65_536>")]
    pub depth: u32,
    /// Says how many cycles a request takes in it.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub latency: u32,
    /// Says which requests one access to DRAM serves together.
    pub merging: Merging,
}

/// Tells where an access serves the reads of its line that come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Merging {
    /// It serves none.
    Never,
    /// It does where accesses are sequentially consistent.
    Sequential,
    /// It always does.
    Always,
}

/// Sizes and times the timestamp storage units of all controllers together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimestampStorage {
    /// Says how many cycles an access takes, beside that to DRAM.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub latency: u32,
    /// Says how many entries a set has.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 1024>")]
    pub ways: u32,
    /// Says how many entries a GPU has; one for each line of its second level where absent.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "reader::above_zero_if_any"
    )]
    pub entries: Option<u32>,
}

impl Default for TimestampStorage {
    fn default() -> Self {
        Self { latency: 0, ways: 8, entries: None }
    }
}
