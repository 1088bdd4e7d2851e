//! Describes a machine as NCCL sees it: generations, hosts, and the rates that its search tries.
//!
//! The bandwidths that each release counts on stand in a table of [`super::choice`]. Infinity
//! Fabric and X-Bus have the values of NCCL 2.30's `src/graph/topo.h`.

use super::choice::rules::Search;
use super::generation::Generation;
use crate::system::views::wiring::{Wire, WiredId};
use crate::system::{DeviceKind, LinkKind, Proximity, Wiring};

/// Gives the bandwidth that NCCL counts on from PCIe 3 with 16 lanes. Other generations and widths
/// are in proportion.
pub(super) const PCIE3_BANDWIDTH: f64 = 12.0;

/// Returns the bandwidth that NCCL counts on between two sockets, by the link that joins them. The
/// links are QPI as of Broadwell, UPI as of Skylake, Sapphire Rapids (at 16 GT/s) and Emerald
/// Rapids (at 20). The others are X-Bus of POWER9 and Infinity Fabric of Zen 2.
pub(super) fn socket_bandwidth(search: &Search, wiring: &Wiring) -> Option<f64> {
    let is_cpu = |device: WiredId| wiring.devices()[device].kind == DeviceKind::Cpu;
    let between = wiring.wires().iter().find(|wire| is_cpu(wire.a) && is_cpu(wire.b))?;
    let of_one = between.bandwidth.0 / u64::from(between.count);
    Some(match between.kind? {
        LinkKind::Qpi => 6.0,
        LinkKind::Upi if of_one >= 40_000_000_000 => search.upi[2],
        LinkKind::Upi if of_one >= 32_000_000_000 => search.upi[1],
        LinkKind::Upi => search.upi[0],
        LinkKind::Xbus => 32.0,
        LinkKind::InfinityFabric => 16.0,
        _ => return None,
    })
}

/// Returns the bandwidth that NCCL counts on from one GPU to another over the host. It is PCIe at
/// the GPU's width, and less at an Intel host bridge. It is no more than the sockets' link where
/// that is crossed.
pub(super) fn host_bandwidth(
    search: &Search,
    wiring: &Wiring,
    gpus: &[usize],
    farthest: Proximity,
) -> f64 {
    let slot = slot_bandwidth(wiring, gpus);
    let intel = has_cpu_of(wiring, &["Xeon", "Intel"]);
    let bridge = if intel { slot / search.intel_overhead } else { slot };
    match farthest {
        Proximity::Pix | Proximity::Pxb => slot,
        Proximity::Phb | Proximity::Node => bridge,
        Proximity::Sys => socket_bandwidth(search, wiring).map_or(bridge, |it| it.min(bridge)),
    }
}

/// Gives the GB/s that NCCL counts on from the slots of some GPUs; from PCIe 3 where they have none.
pub(super) fn slot_bandwidth(wiring: &Wiring, gpus: &[usize]) -> f64 {
    let devices: Vec<WiredId> = gpus.iter().map(|gpu| wiring.gpu(*gpu)).collect();
    let is_pcie =
        |wire: &&Wire| wire.is_pcie() && (devices.contains(&wire.a) || devices.contains(&wire.b));
    let peak = wiring.wires().iter().filter(is_pcie).map(|wire| wire.bandwidth.0).min();
    peak.map_or(PCIE3_BANDWIDTH, Search::of_pcie)
}

impl Search {
    /// Gives the GB/s that it counts on from PCIe of N bytes a second: in sixteenths, as lanes and generations come.
    pub(super) fn of_pcie(peak: u64) -> f64 {
        let full = LinkKind::Pcie3.data_sheet().bandwidth.0 as f64;
        (16.0 * PCIE3_BANDWIDTH * peak as f64 / full).round() / 16.0
    }

    /// The rates for one channel that it tries within a server, highest first.
    const fn rates_of(&self, generation: Generation) -> &'static [f64] {
        match generation {
            Generation::Pascal | Generation::Volta | Generation::Ampere => self.rates[0],
            Generation::Hopper => self.rates[1],
            Generation::Blackwell => self.rates[2],
        }
    }

    /// Gives the GB/s that it counts on from N links of a generation.
    pub(super) fn total(&self, generation: Generation, links: u32) -> f64 {
        f64::from(links) * self.link(link_of(generation))
    }

    /// Returns how many rings it makes over `NVSwitches` from `links` links a GPU, and the rate of
    /// each. It takes the most in all, and among equal ones the fastest. It tries no rate of less
    /// than half of the best one's.
    pub(super) fn switched_channels(&self, generation: Generation, links: u32) -> (u32, f64) {
        let total = self.total(generation, links);
        let mut best = (0, 0.0);
        for rate in self.rates_of(generation).iter().copied().filter(|rate| *rate <= total) {
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

/// Names the way that a hop crosses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hop {
    Nvlink,
    Host,
    Network,
}

/// Names AMD's CPUs.
pub(in crate::collectives) const AMD: [&str; 2] = ["EPYC", "AMD"];

/// Whether some CPU's model has one of these names.
pub(in crate::collectives) fn has_cpu_of(wiring: &Wiring, names: &[&str]) -> bool {
    let mut described = (0..wiring.devices().len()).filter_map(|device| wiring.described(device));
    described.any(|device| {
        let model = device.model.as_deref().unwrap_or_default();
        device.kind == DeviceKind::Cpu && names.iter().any(|name| model.contains(name))
    })
}
