//! Holds what NCCL says of a job under `NCCL_DEBUG=INFO`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::connection::LoggedConnections;
use super::line::Line;
use crate::collectives::nccl::nccl_tests::Unmodelled;

/// Where a rank runs (`rank 3 nranks 16 cudaDev 3 nvmlDev 3 busId 1b000 ... Init COMPLETE`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankPlace {
    /// Its host has this name.
    pub host: String,
    /// Its GPU has this number on the host (`nvmlDev`, else `cudaDev`).
    pub device: u32,
    /// Its GPU has this address on the bus, as NCCL writes it.
    pub bus: String,
    /// The line says so.
    pub line: Line,
}

/// The interfaces that a host uses (`NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interfaces {
    /// The network has this name: `IB`, `Socket` or a plug-in's.
    pub network: String,
    /// These are the interfaces by NCCL's numbers, without port.
    pub names: Vec<String>,
    /// Each has this speed in Mb/s, where the log says it.
    pub speeds: Vec<Option<u32>>,
    /// The line says so.
    pub line: Line,
}

/// How many channels a communicator has (`16 coll channels, ... nvls channels, ...`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelCounts {
    /// Counts those for rings and trees.
    pub collective: u32,
    /// Counts those for reduction in NVSwitches.
    pub nvls: u32,
    /// Counts those for exchanges of pairs.
    pub pairs: u32,
    /// The line says so.
    pub line: Line,
}

/// Holds a graph that NCCL's search found (`Pattern 4, crossNic 0, nChannels 12, bw 20.0/20.0, type
/// NVL/PIX, ...`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchedGraph {
    /// Is NCCL's number of the pattern: 1 to 3 trees, 4 a ring, 5 NVLS.
    pub pattern: u32,
    /// How many channels were found.
    pub channels: u32,
    /// Is in GB/s of a channel within a server.
    pub inside: f64,
    /// Is in GB/s of a channel between servers.
    pub between: f64,
    /// The worst path between GPUs, as NCCL names it: `NVL`, `PIX`, `PHB`, `SYS`.
    pub path_inside: String,
    /// Names the worst path to an interface.
    pub path_between: String,
    /// Lists the places that each channel goes through, as NCCL names them: `NET/0`, `GPU/1`, or
    /// numbers of ranks.
    pub paths: Vec<Vec<String>>,
    /// The line says so.
    pub line: Line,
}

/// A device in NCCL's print of the topology (`+ PCI[24.0] - GPU/1B000 (0)`), below what it hangs on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TopologyLine {
    /// The kind of its link: `PCI`, `NVL`, `NET` or another of NCCL's; empty for a CPU, where a tree begins.
    pub link: String,
    /// GB/s that NCCL takes of the link.
    pub bandwidth: f64,
    /// The device, as NCCL writes it: `GPU/1B000`, `NIC/2F000`, `NET/0`, `NVS/0`.
    pub device: String,
    /// Blanks before it: a device hangs on the last one that has fewer.
    pub depth: u32,
    /// The line says so.
    pub line: Line,
}

/// Says what ran for a size (`AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggedChoice {
    /// NCCL's name of the algorithm; numbers of old releases are translated.
    pub algorithm: String,
    /// Is NCCL's name of the protocol.
    pub protocol: String,
    /// How many channels, where the line says it.
    pub channels: Option<u32>,
    /// The line says so.
    pub line: Line,
}

/// GPUs, or a GPU and an interface, that do not reach each other directly, and the line that says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectRefusal {
    /// Whether an interface is one end (`GPU Direct RDMA Disabled for ...`); else both are GPUs.
    pub of_interface: bool,
    /// Both ends as NCCL names them; the GPU may be unnamed.
    pub between: (String, String),
    /// The line says so.
    pub line: Line,
}

/// Holds a warning, how often it came, and where first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// How many lines say it, of all ranks.
    pub count: u64,
    /// Is the first of them.
    pub line: Line,
}

/// Holds what NCCL says of one job, of all its ranks together.
///
/// Each fact keeps the first line that states it. Collections are bounded; items beyond the bounds
/// are counted in `skipped`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DebugLog {
    /// Is NCCL's or RCCL's version, without the part on CUDA.
    pub version: Option<(String, Line)>,
    /// How many ranks the largest communicator has. Facts of places, channels, rings, graphs and connections are its own.
    pub ranks: Option<u32>,
    /// Its name (`commId 0x...`), where the log says it.
    pub communicator: Option<String>,
    /// How many other communicators there are, as far as they are told apart.
    pub other_communicators: u64,
    /// Lines of other communicators, which are left out.
    pub other_lines: u64,
    /// Where each rank of it runs.
    pub places: BTreeMap<u32, RankPlace>,
    /// NCCL's variables that were set, by name.
    pub variables: BTreeMap<String, (String, Line)>,
    /// The network that was chosen (`Using network IB`).
    pub network: Option<(String, Line)>,
    /// Says what each host uses of interfaces, by the host's name.
    pub interfaces: BTreeMap<String, Interfaces>,
    /// The first line that finds no InfiniBand or RoCE (`NET/IB : No device found.`).
    pub no_interface: Option<Line>,
    /// Whether GPUDirect RDMA works with an interface, by its name (`GPU Direct RDMA Enabled for HCA 0 'mlx5_0'`).
    pub gpudirect: BTreeMap<String, (bool, Line)>,
    /// Lists what does not reach what directly.
    pub refusals: Vec<DirectRefusal>,
    /// Holds the ways of all connections.
    pub connections: LoggedConnections,
    /// How many channels there are.
    pub channels: Option<ChannelCounts>,
    /// The ring of each channel, by ranks, as far as rank 0 prints them.
    pub rings: BTreeMap<u32, (Vec<u32>, Line)>,
    /// Is the first line that states a tree (`Trees [0] 1/-1/-1->0->-1`).
    pub trees: Option<Line>,
    /// Whether NVSwitches can reduce (`NVLS multicast support is available`).
    pub nvls: Option<(bool, Line)>,
    /// Lists what NCCL's search found.
    pub graphs: Vec<SearchedGraph>,
    /// Holds NCCL's print of the topology of one server.
    pub topology: Vec<TopologyLine>,
    /// Says what ran, by NCCL's name of the collective and the bytes as NCCL counts them.
    pub choices: BTreeMap<(String, u64), LoggedChoice>,
    /// Plug-ins that were loaded, by kind (`NET`, `TUNER`, `PROFILER`).
    pub plugins: BTreeMap<String, (String, Line)>,
    /// Lists what ran and is not modelled.
    pub unmodelled: BTreeMap<Unmodelled, Line>,
    /// Holds warnings by their text without numbers.
    pub warnings: BTreeMap<String, Warning>,
    /// Lines of NCCL that were understood.
    pub read: u64,
    /// Facts that were left out, as a collection was full.
    pub skipped: u64,
}
