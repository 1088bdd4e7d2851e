//! Holds the facts that a cycle-level model of a GPU's inside needs.

mod caches;
mod links;
mod memory;

use serde::{Deserialize, Serialize};

pub use caches::{FirstLevel, LeasedLines, SecondLevel, Translation};
pub use links::{Driver, Flits, MessageSizes};
pub use memory::{Channels, DramBanks, Merging, RequestTracker, TimestampStorage};

use super::reader;
use super::wiring::{self, PackageWiring};
use crate::system::movement::usual_page;
use crate::units::{Bytes, Picoseconds};

/// Describes a GPU's compute units, caches, translation buffers and memory, with their times.
///
/// Latencies and rates are in cycles of the GPU's clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hierarchy {
    /// Holds the time of one cycle.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 1_000_000_000>")]
    pub cycle: Picoseconds,
    /// Counts the bytes of a page of memory; as in
    /// [`page_moves`](crate::system::movement::page_moves) where absent.
    #[serde(
        default = "usual_page",
        deserialize_with = "reader::power_of_two::<_, _, 64, 1_073_741_824>"
    )]
    pub page: Bytes,
    /// After how many bytes the next bank of the second level, and its channel, comes.
    #[serde(deserialize_with = "reader::power_of_two::<_, _, 64, 1_073_741_824>")]
    pub interleaving: Bytes,
    /// Names the source of these.
    #[serde(deserialize_with = "reader::words")]
    pub source: String,
    /// Describes the compute units.
    pub compute: Compute,
    /// Describes the first-level caches of vectors, one for each compute unit.
    pub vector: FirstLevel,
    /// Describes the first-level caches of scalars, shared by neighbouring compute units.
    pub scalar: FirstLevel,
    /// Describes the first-level caches of instructions, shared by neighbouring compute units.
    pub instruction: FirstLevel,
    /// Describes the second level.
    pub second: SecondLevel,
    /// Describes the translation of addresses.
    pub translation: Translation,
    /// Describes the memory.
    pub memory: Channels,
    /// The banks of a channel of memory, where they are timed.
    pub banks: DramBanks,
    /// Says what controllers of shared memory track; each serves requests as they come where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracker: Option<RequestTracker>,
    /// Sizes the timestamp storage units; they are as large as second levels where absent.
    #[serde(default)]
    pub tsu: TimestampStorage,
    /// Says how caches treat lines that they have for a time.
    #[serde(default)]
    pub leases: LeasedLines,
    /// Says what joins second levels and shared memory; one switch, as slow as PCIe's, where absent.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "wiring::heeded")]
    pub wiring: Option<PackageWiring>,
    /// Holds the times of the driver.
    pub driver: Driver,
    /// Describes PCIe between GPUs and to the host.
    pub pcie: Flits,
    /// Sets the bytes of each message between caches and memory.
    pub messages: MessageSizes,
}

/// Describes the compute units of a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compute {
    /// Counts the compute units.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 1024>")]
    pub units: u32,
    /// Counts the vector units of each.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 16>")]
    pub simds: u32,
    /// Wavefronts that each vector unit keeps.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 64>")]
    pub wavefronts: u32,
    /// Counts the bytes of each compute unit's memory that a work-group shares.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_073_741_824>")]
    pub lds: Bytes,
    /// Code that a wavefront holds from the instruction on that it is at.
    #[serde(deserialize_with = "reader::power_of_two::<_, _, 64, 65_536>")]
    pub instruction_buffer: Bytes,
    /// Cycles that an instruction of 64 work-items keeps its vector unit.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 1_000_000>")]
    pub instruction: u32,
    /// Counts the cycles from an instruction's issue to the issue of the next of its wavefront.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 1_000_000>")]
    pub latency: u32,
}
