//! NCCL's own numbers: what its search and its cost model hold to be true of the hardware.
//!
//! Source of all: NCCL 2.30, `src/graph/topo.h` (bandwidths), `src/graph/search.cc` (rates that
//! the search tries) and `src/tuning/` with the constants of `cost_model.cc` (latencies, limits
//! and corrections). Bandwidths are GB/s, latencies microseconds; tables by protocol are in the
//! order LL, LL128, Simple. None of them is fitted here.

use crate::system::views::wiring::{Wire, WiredId};
use crate::system::{DeviceKind, LinkKind, Proximity, Wiring};

/// A GPU generation as the cost model tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::collectives) enum Generation {
    /// Pascal and older, which NCCL times as Volta, without LL128.
    Pascal,
    Volta,
    Ampere,
    Hopper,
    Blackwell,
}

impl Generation {
    /// That of the job's GPUs: by the name of the product, else by its NVLinks, else by PCIe.
    pub(in crate::collectives) fn of(wiring: &Wiring, gpus: &[usize]) -> Self {
        gpus.iter().map(|gpu| Self::of_one(wiring, *gpu)).min().unwrap_or(Self::Volta)
    }

    fn of_one(wiring: &Wiring, gpu: usize) -> Self {
        let device = wiring.gpu(gpu);
        let described = wiring.described(device);
        let model = described.and_then(|it| it.model.as_deref()).unwrap_or_default();
        let products = [
            ("P100", Self::Pascal),
            ("V100", Self::Volta),
            ("A100", Self::Ampere),
            ("H100", Self::Hopper),
            ("H200", Self::Hopper),
            ("B200", Self::Blackwell),
        ];
        if let Some((_, known)) = products.iter().find(|(product, _)| model.contains(product)) {
            return *known;
        }
        let own = wiring.adjacency()[device].iter().filter_map(|at| wiring.wires()[*at].kind);
        let by_link = own.map(|kind| match kind {
            LinkKind::Nvlink2 => Self::Volta,
            LinkKind::Nvlink3 | LinkKind::Pcie4 => Self::Ampere,
            LinkKind::Nvlink4 | LinkKind::Pcie5 => Self::Hopper,
            LinkKind::Nvlink5 | LinkKind::Pcie6 => Self::Blackwell,
            _ => Self::Pascal,
        });
        by_link.max().unwrap_or(Self::Pascal)
    }

    /// The row of the tables below.
    const fn row(self) -> usize {
        match self {
            Self::Pascal | Self::Volta => 0,
            Self::Ampere => 1,
            Self::Hopper => 2,
            Self::Blackwell => 3,
        }
    }
}

/// What NCCL counts on from one NVLink.
pub(super) const fn nvlink_bandwidth(kind: LinkKind) -> f64 {
    match kind {
        LinkKind::Nvlink1 => 18.0,
        LinkKind::Nvlink4 => 20.6,
        LinkKind::Nvlink5 => 40.1,
        _ => 20.0,
    }
}

/// What NCCL counts on from PCIe 3 with 16 lanes; other generations and widths in proportion.
pub(super) const PCIE3_BANDWIDTH: f64 = 12.0;

/// How much more of PCIe's bandwidth a transfer takes that passes an Intel host bridge.
pub(super) const INTEL_PEER_OVERHEAD: f64 = 1.2;

/// What NCCL counts on between two sockets, by what joins them: QPI as of Broadwell, UPI as of
/// Skylake and (at 16 GT/s) of Sapphire Rapids, X-Bus of POWER9, Infinity Fabric of Zen 2.
pub(super) fn socket_bandwidth(wiring: &Wiring) -> Option<f64> {
    let is_cpu = |device: WiredId| wiring.devices()[device].kind == DeviceKind::Cpu;
    let between = wiring.wires().iter().find(|wire| is_cpu(wire.a) && is_cpu(wire.b))?;
    let of_one = between.bandwidth.0 / u64::from(between.count);
    Some(match between.kind? {
        LinkKind::Qpi => 6.0,
        LinkKind::Upi if of_one >= 32_000_000_000 => 22.0,
        LinkKind::Upi => 10.0,
        LinkKind::Xbus => 32.0,
        LinkKind::InfinityFabric => 16.0,
        _ => return None,
    })
}

/// What NCCL counts on from one GPU to another over the host: PCIe at the GPU's width, less at
/// an Intel host bridge, and no more than the sockets' link where that is crossed.
pub(super) fn host_bandwidth(wiring: &Wiring, gpus: &[usize], farthest: Proximity) -> f64 {
    let devices: Vec<WiredId> = gpus.iter().map(|gpu| wiring.gpu(*gpu)).collect();
    let is_pcie =
        |wire: &&Wire| wire.is_pcie() && (devices.contains(&wire.a) || devices.contains(&wire.b));
    let peak = wiring.wires().iter().filter(is_pcie).map(|wire| wire.bandwidth.0).min();
    let full = LinkKind::Pcie3.data_sheet().bandwidth.0 as f64;
    let slot = peak.map_or(PCIE3_BANDWIDTH, |peak| PCIE3_BANDWIDTH * peak as f64 / full);
    let mut described = (0..wiring.devices().len()).filter_map(|device| wiring.described(device));
    let intel = described.any(|device| {
        let model = device.model.as_deref().unwrap_or_default();
        device.kind == DeviceKind::Cpu && (model.contains("Xeon") || model.contains("Intel"))
    });
    let bridge = if intel { slot / INTEL_PEER_OVERHEAD } else { slot };
    match farthest {
        Proximity::Pix | Proximity::Pxb => slot,
        Proximity::Phb | Proximity::Node => bridge,
        Proximity::Sys => socket_bandwidth(wiring).map_or(bridge, |socket| socket.min(bridge)),
    }
}

/// The rates for one ring that the search tries within a server, highest first.
const fn search_rates(generation: Generation) -> &'static [f64] {
    match generation {
        Generation::Pascal | Generation::Volta | Generation::Ampere => {
            &[40.0, 30.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0]
        }
        Generation::Hopper => &[60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 11.0, 6.0, 3.0],
        Generation::Blackwell => {
            &[90.0, 80.0, 70.0, 60.0, 50.0, 45.0, 40.0, 30.0, 24.0, 20.0, 19.0, 18.0]
        }
    }
}

const fn link_of(generation: Generation) -> LinkKind {
    match generation {
        Generation::Pascal => LinkKind::Nvlink1,
        Generation::Volta => LinkKind::Nvlink2,
        Generation::Ampere => LinkKind::Nvlink3,
        Generation::Hopper => LinkKind::Nvlink4,
        Generation::Blackwell => LinkKind::Nvlink5,
    }
}

/// How many rings the search makes over `NVSwitches` from so many links a GPU, and at which
/// rate each: the most in all, of equal ones the fastest; it tries no rate of less than half
/// of the best one's.
pub(super) fn switched_channels(generation: Generation, links: u32) -> (u32, f64) {
    let total = f64::from(links) * nvlink_bandwidth(link_of(generation));
    let mut best = (0, 0.0);
    for rate in search_rates(generation).iter().copied().filter(|rate| *rate <= total) {
        if best.0 > 0 && rate / best.1 <= 0.49 {
            break;
        }
        let channels = (total / rate).floor();
        if channels * rate > f64::from(best.0) * best.1 {
            best = (channels as u32, rate);
        }
    }
    best
}

/// The rate of each of NVLS's channels, one for every GPU, where the links carry them.
pub(super) fn nvls_rate(generation: Generation, links: u32, gpus: usize) -> Option<f64> {
    let total = f64::from(links) * nvlink_bandwidth(link_of(generation));
    let fits = |rate: &f64| *rate * gpus as f64 <= total;
    search_rates(generation).iter().copied().find(fits)
}

/// What NVLS reaches of its links; zero before Hopper, which cannot reduce in the switch.
pub(super) const fn nvls_efficiency(generation: Generation) -> f64 {
    match generation {
        Generation::Pascal | Generation::Volta | Generation::Ampere => 0.0,
        Generation::Hopper => 0.85,
        Generation::Blackwell => 0.74,
    }
}

/// NVLS within one server.
pub(super) const NVLS_LATENCY: f64 = 25.0;

/// Before anything moves.
pub(super) const TREE_BASE: [f64; 3] = [6.8, 14.0, 8.4];
/// The same for rings.
pub(super) const RING_BASE: [f64; 3] = [6.6, 14.0, 8.4];

/// What a hop crosses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hop {
    Nvlink,
    Host,
    Network,
}

/// One hop up or down a tree.
pub(super) const fn tree_hop(hop: Hop) -> [f64; 3] {
    match hop {
        Hop::Nvlink => [0.6, 1.25, 4.0],
        Hop::Host => [1.0, 1.9, 4.0],
        Hop::Network => [5.0, 8.5, 14.0],
    }
}

/// One hop around a ring.
pub(super) const fn ring_hop(hop: Hop) -> [f64; 3] {
    match hop {
        Hop::Nvlink => [0.6, 1.9, 3.4],
        Hop::Host => [1.0, 2.5, 5.7],
        Hop::Network => [2.7, 4.0, 14.0],
    }
}

/// Columns for one server, two, and more.
const fn column(servers: usize) -> usize {
    if servers <= 1 {
        0
    } else if servers == 2 {
        1
    } else {
        2
    }
}

/// The most that LL moves: by GPU within a server, by an Intel host between servers.
pub(super) const fn ll_limit(generation: Generation, servers: usize) -> f64 {
    const LIMITS: [[f64; 3]; 4] =
        [[39.0, 39.0, 20.4], [87.7, 22.5, 19.0], [141.0, 45.0, 35.0], [282.0, 90.0, 70.0]];
    let row = if servers <= 1 { generation.row() } else { 0 };
    LIMITS[row][column(servers)]
}

/// The most that LL128 moves on one channel of a ring.
pub(super) const fn ring_ll128_limit(generation: Generation) -> f64 {
    [20.0, 20.0, 36.7, 40.0][generation.row()]
}

/// The most that a tree moves on one channel.
pub(super) const fn tree_limit(generation: Generation, servers: usize) -> f64 {
    const LIMITS: [[f64; 3]; 4] =
        [[26.5, 18.5, 10.0], [24.0, 23.6, 17.8], [38.7, 41.4, 36.0], [70.0, 42.8, 24.0]];
    LIMITS[generation.row()][column(servers)]
}

/// The most that LL128 moves on one channel of a tree.
pub(super) const fn tree_ll128_limit(generation: Generation, servers: usize) -> f64 {
    const LIMITS: [[f64; 3]; 4] =
        [[20.0, 20.0, 20.0], [20.0, 20.0, 20.0], [36.7, 36.7, 29.0], [55.6, 31.67, 20.0]];
    LIMITS[generation.row()][column(servers)]
}

/// What a tree reaches of its bandwidth, by protocol and by powers of two of the size from 64 B.
const TREE_CORRECTION: [[f64; 23]; 3] = [
    [
        1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8,
        0.9, 1.0, 1.0, 1.0, 1.0,
    ],
    [
        1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.8, 0.9,
        0.9, 0.9, 0.9, 1.0, 1.0,
    ],
    [
        0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5, 0.5, 0.5, 0.5, 0.6, 0.7, 0.8,
        0.7, 0.7, 0.8, 0.9, 0.9,
    ],
];

/// That correction for a size. NCCL takes the entry of the next lower power of two; between
/// powers of two this takes the line between the entries, so that more data never takes less
/// time.
pub(super) fn tree_correction(protocol: usize, size: u64) -> f64 {
    let place = (size.max(1) as f64).log2() - 6.0;
    let entry = |at: i64| match usize::try_from(at) {
        Ok(at) => TREE_CORRECTION[protocol].get(at).copied().unwrap_or(1.0),
        Err(_) => 1.0,
    };
    let (low, part) = (place.floor() as i64, place - place.floor());
    entry(low) * (1.0 - part) + entry(low + 1) * part
}
