//! Lists the titles of matrices, with what each says of its numbers.

use super::{MeasuredEnd, Tool};

/// Says what numbers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// GB/s in one direction while nothing goes in the other.
    OneWay,
    /// Is in GB/s of both directions at once, added up.
    BothWays,
    /// Is in microseconds of a small copy.
    Latency,
}

/// Says what moved the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Copier {
    /// Is a copy engine.
    Engine,
    /// Is a kernel's blocks.
    Kernel,
}

/// Says what the numbers of a matrix are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct What {
    /// Is bandwidth or latency.
    pub quantity: Quantity,
    /// Says what moved the data. `p2pBandwidthLatencyTest` does not say, and uses copy engines
    /// unless `--sm_copy` is given.
    pub by: Copier,
    /// Whether GPUs reached each other's memory; without, copies went through the host's.
    pub peer_access: bool,
}

/// How the rows and columns of a matrix are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// Data goes from the GPU of the row to that of the column.
    GpuToGpu,
    /// Goes the other way round.
    GpuFromGpu,
    /// Goes from the host of the row to the GPU of the column.
    HostToGpu,
    /// Goes the other way round.
    HostFromGpu,
    /// Goes from the agent of the row to that of the column, hosts and GPUs alike.
    Agents,
    /// Within the GPU of the column; the row is the only one.
    Within,
}

impl Layout {
    /// The ends of a cell.
    pub(super) const fn ends(self, row: usize, column: usize) -> (MeasuredEnd, MeasuredEnd) {
        let (gpu, host) = (MeasuredEnd::Gpu(column), MeasuredEnd::Host(row));
        match self {
            Self::GpuToGpu | Self::Agents => (MeasuredEnd::Gpu(row), gpu),
            Self::GpuFromGpu => (gpu, MeasuredEnd::Gpu(row)),
            Self::HostToGpu => (host, gpu),
            Self::HostFromGpu => (gpu, host),
            Self::Within => (gpu, gpu),
        }
    }

    /// Whether there are as many rows as columns.
    pub(super) const fn is_square(self) -> bool {
        matches!(self, Self::GpuToGpu | Self::GpuFromGpu | Self::Agents)
    }
}

/// Holds what a title says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Title {
    pub(super) tool: Tool,
    pub(super) what: What,
    pub(super) layout: Layout,
}

/// Holds a program, the words of a title, and their meaning.
type Known = (Tool, &'static str, Quantity, Copier, bool, Layout);

use Copier::{Engine, Kernel};
use Layout::{Agents, GpuFromGpu, GpuToGpu, HostFromGpu, HostToGpu, Within};
use Quantity::{BothWays, Latency, OneWay};
use Tool::{Nvbandwidth as Nv, P2pBandwidthLatencyTest as P2p, RocmBandwidthTest as Rocm};

/// Lists every title that is read. Those of nvbandwidth whose arrow leads from the row are of
/// copies that the row's GPU reads. `testcases_ce.cpp` of v0.8 copies from the column's to the
/// row's there (line 109). Under the other arrow it copies the other way round (line 134).
const TITLES: &[Known] = &[
    (P2p, "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)", OneWay, Engine, false, GpuToGpu),
    (P2p, "Unidirectional P2P=Enabled Bandwidth Matrix (GB/s)", OneWay, Engine, true, GpuToGpu),
    (
        P2p,
        "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)",
        OneWay,
        Engine,
        true,
        GpuToGpu,
    ),
    (
        P2p,
        "Unidirectional P2P=Enabled Bandwidth (P2P Reads) Matrix (GB/s)",
        OneWay,
        Engine,
        true,
        GpuFromGpu,
    ),
    (P2p, "Bidirectional P2P=Disabled Bandwidth Matrix (GB/s)", BothWays, Engine, false, GpuToGpu),
    (P2p, "Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)", BothWays, Engine, true, GpuToGpu),
    (P2p, "P2P=Disabled Latency Matrix (us)", Latency, Engine, false, GpuToGpu),
    (P2p, "P2P=Enabled Latency Matrix (us)", Latency, Engine, true, GpuToGpu),
    (P2p, "P2P=Enabled Latency (P2P Writes) Matrix (us)", Latency, Engine, true, GpuToGpu),
    (P2p, "P2P=Enabled Latency (P2P Reads) Matrix (us)", Latency, Engine, true, GpuFromGpu),
    (Nv, "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)", OneWay, Engine, true, HostToGpu),
    (Nv, "memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)", OneWay, Engine, true, HostFromGpu),
    (Nv, "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)", OneWay, Engine, true, GpuFromGpu),
    (Nv, "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)", OneWay, Engine, true, GpuToGpu),
    (
        Nv,
        "memcpy CE GPU(row) <-> GPU(column) Total bandwidth (GB/s)",
        BothWays,
        Engine,
        true,
        GpuToGpu,
    ),
    (Nv, "memcpy SM CPU(row) -> GPU(column) bandwidth (GB/s)", OneWay, Kernel, true, HostToGpu),
    (Nv, "memcpy SM CPU(row) <- GPU(column) bandwidth (GB/s)", OneWay, Kernel, true, HostFromGpu),
    (Nv, "memcpy SM GPU(row) -> GPU(column) bandwidth (GB/s)", OneWay, Kernel, true, GpuFromGpu),
    (Nv, "memcpy SM GPU(row) <- GPU(column) bandwidth (GB/s)", OneWay, Kernel, true, GpuToGpu),
    (
        Nv,
        "memcpy SM GPU(row) <-> GPU(column) Total bandwidth (GB/s)",
        BothWays,
        Kernel,
        true,
        GpuToGpu,
    ),
    (Nv, "memcpy local GPU(column) bandwidth (GB/s)", OneWay, Engine, true, Within),
    (Rocm, "Unidirectional copy peak bandwidth GB/s", OneWay, Engine, true, Agents),
    (Rocm, "Unidirectional copy average bandwidth GB/s", OneWay, Engine, true, Agents),
    (Rocm, "Bidirectional copy peak bandwidth GB/s", BothWays, Engine, true, Agents),
    (Rocm, "Bidirectional copy average bandwidth GB/s", BothWays, Engine, true, Agents),
    (Rocm, "Bdirectional copy peak bandwidth GB/s", BothWays, Engine, true, Agents),
    (Rocm, "Unidirectional peak bandwidth GB/s", OneWay, Engine, true, Agents),
    (Rocm, "Unidirectional average bandwidth GB/s", OneWay, Engine, true, Agents),
    (Rocm, "Bdirectional peak bandwidth GB/s", BothWays, Engine, true, Agents),
    (Rocm, "Bidirectional average bandwidth GB/s", BothWays, Engine, true, Agents),
];

/// Lists titles of matrices that say nothing of a pair by itself. They tell what passes under load,
/// or what all GPUs reach together.
const OTHERS: &[&str] = &[
    "memcpy CE",
    "memcpy SM",
    "multicast SM",
    "memory latency SM",
    "Device to Device Latency SM",
    "P2P Connectivity Matrix",
    "Inter-Device",
    "Data Path Validation",
];

/// Tests of nvbandwidth whose matrices have the titles above, and are of many copies at once or of several servers.
const CROWDED: [&str; 4] = ["all_to_", "host_to_all_", "one_to_all_", "multinode_"];

/// Holds what a line says as a title.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// A matrix that is read.
    Known(Title),
    /// A matrix that is not.
    Other,
}

/// The title in a line whose words have one blank between them, and where it begins.
pub(super) fn find(line: &str) -> Option<(usize, Found)> {
    let known = TITLES.iter().find_map(|(tool, words, quantity, by, peer_access, layout)| {
        let at = line.find(words).filter(|at| at + words.len() == line.len())?;
        // The shorter titles of old releases end longer ones, too.
        let is_whole = at == 0 || !line[..at].ends_with(|it: char| it.is_alphabetic());
        let what = What { quantity: *quantity, by: *by, peer_access: *peer_access };
        let title = Title { tool: *tool, what, layout: *layout };
        is_whole.then_some((at, Found::Known(title)))
    });
    known.or_else(|| {
        let at = OTHERS.iter().find_map(|words| line.find(words))?;
        Some((at, Found::Other))
    })
}

/// Whether a line holds a title that is read.
pub(super) fn is_in(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    matches!(find(&words.join(" ")), Some((_, Found::Known(_))))
}

/// Whether a test of nvbandwidth copies for each pair by itself.
pub(super) fn is_of_pairs(test: &str) -> bool {
    !CROWDED.iter().any(|crowded| test.starts_with(crowded))
}
