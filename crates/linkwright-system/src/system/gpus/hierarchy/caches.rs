//! Describes caches, and buffers that translate addresses.

use serde::{Deserialize, Serialize};

use super::reader;
use crate::units::Bytes;

/// Describes the first-level caches of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirstLevel {
    /// How many a GPU has.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 1024>")]
    pub count: u32,
    /// Counts the bytes of each.
    #[serde(deserialize_with = "reader::power_of_two::<_, _, 64, 67_108_864>")]
    pub size: Bytes,
    /// Lines that a set holds.
    #[serde(deserialize_with = "reader::power_of_two::<_, _, 1, 1024>")]
    pub ways: u32,
    /// Counts the cycles to look a line up.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub directory: u32,
    /// Counts the cycles to read or write one.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub bank: u32,
    /// Lines that may be under way.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 4096>")]
    pub mshrs: u32,
}

/// Describes the second-level cache, by banks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecondLevel {
    /// Counts the banks.
    #[serde(deserialize_with = "reader::power_of_two::<_, _, 1, 256>")]
    pub banks: u32,
    /// Counts the bytes of each.
    #[serde(deserialize_with = "reader::power_of_two::<_, _, 64, 67_108_864>")]
    pub size: Bytes,
    /// Lines that a set holds.
    #[serde(deserialize_with = "reader::power_of_two::<_, _, 1, 1024>")]
    pub ways: u32,
    /// Counts the cycles to look a line up.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub directory: u32,
    /// Counts the cycles to read or write one.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub bank: u32,
    /// Lines of a bank that may be under way.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 4096>")]
    pub mshrs: u32,
    /// Requests that a bank takes in a cycle.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 1024>")]
    pub requests: u32,
    /// Counts the cycles of the crossbar from the first level.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub crossbar: u32,
    /// Whether a miss waits until memory has what it evicts (MGPU-TSM, section 4.4.1).
    #[serde(default)]
    pub evicts_first: bool,
}

/// Describes the translation of addresses: buffers and the page walker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Translation {
    /// First-level buffers; those of scalars and instructions have one for each cache, the others
    /// are shared by neighbouring compute units.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 4096>")]
    pub buffers: u32,
    /// Counts the pages of each.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 4096>")]
    pub pages: u32,
    /// Sets of the second-level buffer.
    #[serde(deserialize_with = "reader::power_of_two::<_, _, 1, 65_536>")]
    pub sets: u32,
    /// Pages of each of its sets.
    #[serde(deserialize_with = "reader::power_of_two::<_, _, 1, 1024>")]
    pub ways: u32,
    /// Counts the cycles of the second level.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub latency: u32,
    /// Counts the cycles of a walk through the page table.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub walk: u32,
    /// Walks at once.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 1024>")]
    pub walks: u32,
}

/// Says how caches treat lines that they have for a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeasedLines {
    /// Whether those whose time has ended are replaced before others.
    pub spared: bool,
    /// Whether nobody reads one in the second level from a write until its answer.
    pub locked: bool,
}

impl Default for LeasedLines {
    fn default() -> Self {
        Self { spared: false, locked: true }
    }
}
