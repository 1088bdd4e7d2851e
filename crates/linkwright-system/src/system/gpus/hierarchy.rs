//! What a cycle-level model of a GPU's inside needs to know of it.

use serde::{Deserialize, Serialize};

use super::reader;
use super::wiring::{self, PackageWiring};
use crate::units::{Bytes, Picoseconds};

/// A GPU's compute units, caches, translation buffers and memory, as they are timed.
///
/// Latencies and rates are in cycles of the GPU's clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hierarchy {
    /// One cycle.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 1_000_000_000>")]
    pub cycle: Picoseconds,
    /// Bytes of a page of memory.
    #[serde(deserialize_with = "reader::power_of_two::<_, _, 64, 1_073_741_824>")]
    pub page: Bytes,
    /// After how many bytes the next bank of the second level, and its channel, comes.
    #[serde(deserialize_with = "reader::power_of_two::<_, _, 64, 1_073_741_824>")]
    pub interleaving: Bytes,
    /// Where these come from.
    #[serde(deserialize_with = "reader::words")]
    pub source: String,
    /// Compute units.
    pub compute: Compute,
    /// First-level caches of vectors, one for each compute unit.
    pub vector: FirstLevel,
    /// First-level caches of scalars, shared by neighbouring compute units.
    pub scalar: FirstLevel,
    /// First-level caches of instructions, shared by neighbouring compute units.
    pub instruction: FirstLevel,
    /// The second level.
    pub second: SecondLevel,
    /// Translation of addresses.
    pub translation: Translation,
    /// Memory.
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
    /// What the driver takes.
    pub driver: Driver,
    /// PCIe between GPUs and to the host.
    pub pcie: Flits,
    /// Bytes of messages between caches and memory.
    pub messages: MessageSizes,
}

/// The compute units of a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compute {
    /// How many.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 1024>")]
    pub units: u32,
    /// Vector units of each.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 16>")]
    pub simds: u32,
    /// Wavefronts that each vector unit keeps.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 64>")]
    pub wavefronts: u32,
    /// Memory that a work-group shares, of each compute unit.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_073_741_824>")]
    pub lds: Bytes,
    /// Code that a wavefront holds from the instruction on that it is at.
    #[serde(deserialize_with = "reader::power_of_two::<_, _, 64, 65_536>")]
    pub instruction_buffer: Bytes,
    /// Cycles that an instruction of 64 work-items keeps its vector unit.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 1_000_000>")]
    pub instruction: u32,
    /// Cycles from an instruction's issue to that of the next of its wavefront.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 1_000_000>")]
    pub latency: u32,
}

/// The first-level caches of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirstLevel {
    /// How many a GPU has.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 1024>")]
    pub count: u32,
    /// Bytes of each.
    #[serde(deserialize_with = "reader::power_of_two::<_, _, 64, 67_108_864>")]
    pub size: Bytes,
    /// Lines that a set holds.
    #[serde(deserialize_with = "reader::power_of_two::<_, _, 1, 1024>")]
    pub ways: u32,
    /// Cycles to look a line up.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub directory: u32,
    /// Cycles to read or write one.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub bank: u32,
    /// Lines that may be under way.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 4096>")]
    pub mshrs: u32,
}

/// The second-level cache, by banks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecondLevel {
    /// Banks.
    #[serde(deserialize_with = "reader::power_of_two::<_, _, 1, 256>")]
    pub banks: u32,
    /// Bytes of each.
    #[serde(deserialize_with = "reader::power_of_two::<_, _, 64, 67_108_864>")]
    pub size: Bytes,
    /// Lines that a set holds.
    #[serde(deserialize_with = "reader::power_of_two::<_, _, 1, 1024>")]
    pub ways: u32,
    /// Cycles to look a line up.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub directory: u32,
    /// Cycles to read or write one.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub bank: u32,
    /// Lines of a bank that may be under way.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 4096>")]
    pub mshrs: u32,
    /// Requests that a bank takes in a cycle.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 1024>")]
    pub requests: u32,
    /// Cycles of the crossbar from the first level.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub crossbar: u32,
    /// Whether a miss waits until memory has what it evicts (MGPU-TSM, section 4.4.1).
    #[serde(default)]
    pub evicts_first: bool,
}

/// Translation of addresses: buffers and the page walker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Translation {
    /// First-level buffers; those of scalars and instructions have one for each cache, the others
    /// are shared by neighbouring compute units.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 4096>")]
    pub buffers: u32,
    /// Pages of each.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 4096>")]
    pub pages: u32,
    /// Sets of the second-level buffer.
    #[serde(deserialize_with = "reader::power_of_two::<_, _, 1, 65_536>")]
    pub sets: u32,
    /// Pages of each of its sets.
    #[serde(deserialize_with = "reader::power_of_two::<_, _, 1, 1024>")]
    pub ways: u32,
    /// Cycles of the second level.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub latency: u32,
    /// Cycles of a walk through the page table.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub walk: u32,
    /// Walks at once.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 1024>")]
    pub walks: u32,
}

/// The memory of a GPU, by channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Channels {
    /// Bytes of each of the channels, of which every bank of the second level has one.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 17_179_869_184>")]
    pub channel: Bytes,
    /// Cycles of an access; a channel takes a request each cycle.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub latency: u32,
}

/// The banks of a channel of DRAM, in cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DramBanks {
    /// How many.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 1024>")]
    pub banks: u32,
    /// Bytes of a row.
    #[serde(deserialize_with = "reader::power_of_two::<_, _, 64, 1_048_576>")]
    pub row: Bytes,
    /// From opening a row to reading or writing it (tRCD).
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub activate: u32,
    /// From a read to its first data (CL).
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub read: u32,
    /// From a write to its first data (CWL).
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub write: u32,
    /// Closing a row (tRP).
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub precharge: u32,
    /// For how long a row is open at least (tRAS).
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub row_active: u32,
    /// A line on the bus.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 1_000_000>")]
    pub burst: u32,
    /// In which at most four rows are opened (tFAW).
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub window: u32,
    /// From the last data of a write to a read (tWTR).
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub turnaround: u32,
    /// From there to when the row may be closed (tWR).
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub recovery: u32,
    /// From one refresh to the next (tREFI).
    #[serde(deserialize_with = "reader::between::<_, _, 1, 1_000_000_000>")]
    pub refresh_interval: u32,
    /// A refresh (tRFC).
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

/// What the driver takes, in cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Driver {
    /// From a kernel's last work-group to when the host hears of it.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000_000>")]
    pub launch: u32,
    /// From then to the first work-group of the next kernel.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000_000>")]
    pub relaunch: u32,
    /// A copy to the device, before its first byte.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000_000>")]
    pub copy_in: u32,
    /// A copy back.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000_000>")]
    pub copy_out: u32,
    /// A batch of page faults, before its first page moves.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000_000>")]
    pub fault: u32,
}

/// A bus that carries whole flits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flits {
    /// Bytes of a flit, which takes a cycle.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 65_536>")]
    pub flit: Bytes,
    /// What encoding adds, in hundredths.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1000>")]
    pub encoding: u32,
    /// Cycles of a switch.
    #[serde(deserialize_with = "reader::between::<_, _, 0, 1_000_000>")]
    pub switch: u32,
}

/// Bytes of each kind of message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageSizes {
    /// A request to read.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 65_536>")]
    pub request: u32,
    /// A line to be written.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 65_536>")]
    pub write: u32,
    /// A line that was read.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 65_536>")]
    pub response: u32,
    /// What says that a line is written.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 65_536>")]
    pub acknowledgement: u32,
}
