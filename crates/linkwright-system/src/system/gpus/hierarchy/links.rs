//! Describes the driver, PCIe, and messages between caches and memory.

use serde::{Deserialize, Deserializer, Serialize};

use super::reader;
use crate::units::Bytes;

/// Holds the times of the driver, in cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Driver {
    /// Counts the cycles from a kernel's last work-group to when the host hears of it.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000_000>")]
    pub launch: u32,
    /// Counts the cycles from then to the first work-group of the next kernel.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000_000>")]
    pub relaunch: u32,
    /// Counts the cycles of a copy to the device, before its first byte.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000_000>")]
    pub copy_in: u32,
    /// Counts the cycles of a copy back.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000_000>")]
    pub copy_out: u32,
    /// A batch of page faults, before its first page moves; as of [`page_moves`](crate::system::movement::page_moves) where absent.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some_cycles")]
    pub fault: Option<u32>,
}

/// Reads cycles that may be left out.
fn some_cycles<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    reader::between::<D, u32, 0, 1_000_000_000>(deserializer).map(Some)
}

/// A bus that carries whole flits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flits {
    /// Bytes of a flit, which takes a cycle.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 65_536>")]
    pub flit: Bytes,
    /// Says how much encoding adds, in hundredths.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1000>")]
    pub encoding: u32,
    /// Counts the cycles of a switch.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub switch: u32,
}

/// Counts the bytes of each kind of message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageSizes {
    /// Counts the bytes of a request to read.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 65_536>")]
    pub request: u32,
    /// A line to be written.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 65_536>")]
    pub write: u32,
    /// A line that was read.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 65_536>")]
    pub response: u32,
    /// Counts the bytes of the message that a line is written.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 65_536>")]
    pub acknowledgement: u32,
}
