//! Builds the hardware graph of MAPA: the link between each pair of GPUs, and its bandwidth.
//!
//! Every pair of GPUs has a label: its best way. The ways are its direct NVLink (or xGMI) bundle,
//! its way through NVSwitches, and its way through the host. The way through the host never hides a
//! direct bundle. The graph is complete wherever a host path exists (MAPA, SC'21, Section 3.2). The
//! graph leaves out that host paths share wires, except for two GPUs without peer access
//! ([`Staged`]).

use serde::{Deserialize, Serialize};

use crate::diagnostic::Named;
use crate::system::error::SystemError;
use crate::system::kinds::{DeviceKind, LinkKind};
use crate::system::server::{DeviceId, Link, Server};
use crate::system::views::places::places;
use crate::system::views::staged::Staged;
use crate::units::Bandwidth;

/// Which figures label the links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BandwidthProfile {
    /// Takes MAPA's Table 1. A pair that only the host joins has the bandwidth of the narrowest
    /// PCIe link on its way, whatever joins the sockets. That is the table's 12 GB/s where the link
    /// is PCIe Gen 3 of 16 lanes or wider. It is also 12 GB/s where the machine lists no PCIe on
    /// the way. Otherwise it is the machine's value. NVLinks keep the machine's values. By the data
    /// sheets they equal the table's: 20 GB/s for NVLink-v1, 25 for NVLink-v2, 50 for two NVLink-v2
    /// links.
    Mapa,
    /// Takes the data sheets' values, as the machine lists them.
    DataSheet,
}

impl Named for BandwidthProfile {
    const WHAT: &'static str = "bandwidth profile";
    const NAMED: &'static [(&'static str, Self)] =
        &[("mapa", Self::Mapa), ("data-sheet", Self::DataSheet)];
}

impl BandwidthProfile {
    /// Gives the profile of a machine for which none is chosen. It is MAPA's where MAPA's Table 1
    /// covers all NVLink and PCIe links of the machine. Those links are then NVLink-v1, NVLink-v2
    /// and PCIe Gen 3. Otherwise it is the data sheets'. The links of NICs do not count. Links
    /// between sockets do not count either, as the table does not have them.
    #[must_use]
    pub fn default_of(machine: &Server) -> Self {
        let is_nic = |id: DeviceId| machine.devices()[id].kind == DeviceKind::Nic;
        let covered = |link: &Link| match link.kind {
            LinkKind::Nvlink1 | LinkKind::Nvlink2 | LinkKind::Pcie3 => true,
            kind if kind.is_pcie() => is_nic(link.a) || is_nic(link.b),
            kind => !kind.is_gpu_fabric(),
        };
        if machine.links().iter().all(covered) { Self::Mapa } else { Self::DataSheet }
    }
}

/// Pairs of at most this number of GPUs are looked at one by one, which takes some 100 MB.
pub const MOST_PAIRED: usize = 1024;

/// Gives the peak bandwidth of 16 lanes of PCIe Gen 3, from MAPA, SC'21, Table 1.
const MAPA_PCIE3: Bandwidth = Bandwidth::gigabytes_per_second(12);

/// Says how two GPUs reach each other best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum PairLink {
    /// They have their own bundle of NVLinks or xGMI links.
    Direct {
        /// Gives the links' kind.
        kind: LinkKind,
        /// Counts the links.
        count: u32,
    },
    /// NVSwitches; `count` is what each GPU can inject, in links.
    Switched {
        /// Gives the links' kind.
        kind: LinkKind,
        /// How many links of each GPU lead to switches that the other reaches.
        count: u32,
    },
    /// Is the host: PCIe, the CPUs, and their links.
    Host {
        /// The narrowest PCIe link on the way; absent where the way has none.
        pcie: Option<LinkKind>,
    },
}

impl PairLink {
    /// A label as `nvidia-smi topo -m` would write it: `NV2`, or `PCIe`.
    #[must_use]
    pub fn label(self) -> String {
        match self {
            Self::Direct { kind, count } if kind.is_xgmi() => format!("XGMI{count}"),
            Self::Direct { count, .. } | Self::Switched { count, .. } => format!("NV{count}"),
            Self::Host { .. } => "PCIe".to_owned(),
        }
    }
}

/// Holds the label of one pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct GpuPair {
    /// Says how they reach each other.
    pub link: PairLink,
    /// Gives the peak bandwidth in one direction, by the graph's profile.
    pub bandwidth: Bandwidth,
    /// Gives the peak bandwidth in one direction, by the data sheets.
    pub data_sheet: Bandwidth,
    /// Data-sheet bandwidth of the way through the host, which exists beside any NVLink.
    pub host: Bandwidth,
    /// Is what `data_sheet` would be if nothing had been measured of the links.
    #[serde(skip)]
    pub nominal: Bandwidth,
}

/// Describes one way by which two GPUs reach each other without the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FabricPath {
    /// Says whether the way is their own bundle, or NVSwitches.
    pub link: PairLink,
    /// Gives the peak bandwidth of all its links in one direction.
    pub bandwidth: Bandwidth,
    /// Gives the peak bandwidth of the widest of its links.
    pub widest_link: Bandwidth,
    /// Is what `bandwidth` would be if nothing had been measured of the links.
    #[serde(skip)]
    pub nominal: Bandwidth,
}

/// Checks that GPUs are few enough to look at each pair.
///
/// # Errors
/// Returns [`SystemError::TooManyPairs`] for more than [`MOST_PAIRED`].
pub fn few_enough(gpus: usize) -> Result<(), SystemError> {
    if gpus > MOST_PAIRED { Err(SystemError::TooManyPairs { gpus }) } else { Ok(()) }
}

/// Says what joins each pair of a machine's GPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuGraph {
    names: Vec<String>,
    places: Vec<String>,
    pairs: Vec<Option<GpuPair>>,
    fabric_paths: Vec<Vec<FabricPath>>,
}

impl GpuGraph {
    /// Labels every pair of GPUs. Where parts of a server have failed, a pair may be apart, and has next to nothing between it.
    ///
    /// # Errors
    /// [`SystemError::NotConnected`] where no path joins two GPUs,
    /// [`SystemError::SeveralServers`] where a network may, and [`SystemError::TooManyPairs`].
    pub fn new(machine: &Server, profile: BandwidthProfile) -> Result<Self, SystemError> {
        let gpus = machine.gpus();
        let count = gpus.len();
        few_enough(count)?;
        let names: Vec<String> =
            gpus.iter().map(|gpu| machine.devices()[*gpu].name.clone()).collect();
        let injections = switch_injections(machine);
        let adjacency = machine.adjacency();
        let staged = Staged::new(machine, &adjacency);
        let mut pairs = vec![None; count * count];
        let mut fabric_paths = vec![Vec::new(); count * count];
        for a in 0..count {
            let host_paths = widest_host_paths(machine, &adjacency, gpus[a]);
            for b in (0..count).filter(|b| *b != a) {
                let most = staged.as_ref().and_then(|staged| staged.most(a, b));
                let host = host_paths[gpus[b]].as_ref().map(|path| path.limited(most));
                let host = host.as_ref();
                let mut paths = direct(machine, &adjacency[gpus[a]], gpus[b]);
                paths.extend(switched(&injections[a], &injections[b]));
                paths.shrink_to_fit();
                let host_label = host.map(|path| label_host(path, profile));
                // Of equally wide ones the first: a bundle of their own before NVSwitches.
                let fabric = paths.iter().rev().max_by_key(|path| path.bandwidth);
                let of_fabric = |it: &FabricPath| (it.link, it.bandwidth, it.bandwidth, it.nominal);
                let fabric_label = fabric.map(of_fabric);
                // GPUs use links of their own, also where the host's way is nominally wider.
                let is_direct = |path: &FabricPath| matches!(path.link, PairLink::Direct { .. });
                let own = paths.iter().any(is_direct);
                let best = match (fabric_label, host_label) {
                    (Some(fabric), Some(host)) if own || fabric.1 >= host.1 => Some(fabric),
                    (fabric, None) => fabric,
                    (_, host) => host,
                };
                // A failure keeps nobody from the GPUs that are left.
                let least = Bandwidth(1);
                let apart = (PairLink::Host { pcie: None }, least, least, least);
                let best = best.or(machine.lacks_parts().then_some(apart));
                let Some((link, bandwidth, data_sheet, nominal)) = best else {
                    let (a, b) = (names[a].clone(), names[b].clone());
                    let networked = machine.links().iter().any(|link| link.kind.is_network());
                    return Err(if networked {
                        SystemError::SeveralServers { a, b }
                    } else {
                        SystemError::NotConnected { a, b }
                    });
                };
                let host = host.map_or(Bandwidth(0), |path| path.bandwidth);
                let pair = GpuPair { link, bandwidth, data_sheet, host, nominal };
                pairs[a * count + b] = Some(pair);
                fabric_paths[a * count + b] = paths;
            }
        }
        let places = places(machine);
        Ok(Self { names, places, pairs, fabric_paths })
    }

    /// How many GPUs there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none; a machine has at least one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The GPUs' names, by id.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Where each GPU sits, by id: its PCI address, cores and NUMA node, and how close each NIC
    /// is, as far as the machine says. GPUs of one text that sit alike have the same.
    #[must_use]
    pub fn places(&self) -> &[String] {
        &self.places
    }

    /// Returns the label of a pair; `None` for a GPU with itself.
    ///
    /// # Panics
    /// If an id is not below [`Self::len`].
    #[must_use]
    pub fn pair(&self, a: usize, b: usize) -> Option<&GpuPair> {
        self.pairs[a * self.len() + b].as_ref()
    }

    /// Every way of a pair that avoids the host, also where the host's is wider: its direct
    /// bundles in the machine's order, then NVSwitches. Empty for a GPU with itself.
    ///
    /// # Panics
    /// If an id is not below [`Self::len`].
    #[must_use]
    pub fn fabric_paths(&self, a: usize, b: usize) -> &[FabricPath] {
        &self.fabric_paths[a * self.len() + b]
    }
}

/// Describes the widest way from one GPU through the host.
#[derive(Debug, Clone, Copy)]
struct HostPath {
    bandwidth: Bandwidth,
    /// The same if nothing had been measured.
    nominal: Bandwidth,
    pcie: Option<(Bandwidth, LinkKind)>,
}

impl HostPath {
    /// The same where both directions at once have less than its narrowest link.
    fn limited(self, most: Option<Bandwidth>) -> Self {
        let Some(most) = most else { return self };
        let pcie = self.pcie.map(|(width, kind)| (width.min(most), kind));
        Self { bandwidth: self.bandwidth.min(most), nominal: self.nominal.min(most), pcie }
    }
}

fn label_host(
    path: &HostPath,
    profile: BandwidthProfile,
) -> (PairLink, Bandwidth, Bandwidth, Bandwidth) {
    let link = PairLink::Host { pcie: path.pcie.map(|(_, kind)| kind) };
    let bandwidth = match (profile, path.pcie) {
        (BandwidthProfile::DataSheet, _) => path.bandwidth,
        (BandwidthProfile::Mapa, None) => MAPA_PCIE3,
        // The table's figure is of 16 lanes; fewer keep what the machine says.
        (BandwidthProfile::Mapa, Some((width, kind))) => {
            if kind == LinkKind::Pcie3 {
                width.min(MAPA_PCIE3)
            } else {
                width
            }
        }
    };
    (link, bandwidth, path.bandwidth, path.nominal)
}

/// Lists the bundles to `other` among the links of a GPU.
fn direct(machine: &Server, links: &[usize], other: DeviceId) -> Vec<FabricPath> {
    let bundles = links.iter().map(|index| &machine.links()[*index]);
    let own =
        bundles.filter(|link| link.kind.is_gpu_fabric() && (link.a == other || link.b == other));
    own.map(|link| FabricPath {
        link: PairLink::Direct { kind: link.kind, count: link.count },
        bandwidth: link.total_bandwidth(),
        widest_link: one_of(link),
        nominal: link.nominal_bandwidth(),
    })
    .collect()
}

/// Gives what one link of a bundle has of what all carry.
fn one_of(link: &Link) -> Bandwidth {
    Bandwidth(link.total_bandwidth().0 / u64::from(link.count.max(1)))
}

/// Holds the bandwidth that one GPU can inject into one plane of NVSwitches. All of a GPU's bundles
/// together have at most [`MAX_BANDWIDTH`](crate::system::server::MAX_BANDWIDTH).
#[derive(Debug, Clone, Copy)]
struct Injection {
    plane: usize,
    kind: LinkKind,
    count: u32,
    bandwidth: Bandwidth,
    widest_link: Bandwidth,
    nominal: Bandwidth,
}

fn switch_injections(machine: &Server) -> Vec<Vec<Injection>> {
    let devices = machine.devices();
    let is_switch = |id: DeviceId| devices[id].kind == DeviceKind::NvSwitch;
    let mut plane: Vec<usize> = (0..devices.len()).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for link in machine.links().iter().filter(|link| is_switch(link.a) && is_switch(link.b)) {
            let lowest = plane[link.a].min(plane[link.b]);
            changed |= plane[link.a] != lowest || plane[link.b] != lowest;
            (plane[link.a], plane[link.b]) = (lowest, lowest);
        }
    }
    let of_gpu = |gpu: &DeviceId| {
        let mut injections: Vec<Injection> = Vec::new();
        for link in machine.links().iter().filter(|link| link.a == *gpu || link.b == *gpu) {
            let other = link.other_end(*gpu);
            if !is_switch(other) {
                continue;
            }
            let total = link.total_bandwidth();
            match injections.iter_mut().find(|known| known.plane == plane[other]) {
                Some(known) => {
                    known.count = known.count.saturating_add(link.count);
                    known.bandwidth.0 += total.0;
                    known.widest_link = known.widest_link.max(one_of(link));
                    known.nominal.0 += link.nominal_bandwidth().0;
                }
                None => injections.push(Injection {
                    plane: plane[other],
                    kind: link.kind,
                    count: link.count,
                    bandwidth: total,
                    widest_link: one_of(link),
                    nominal: link.nominal_bandwidth(),
                }),
            }
        }
        injections
    };
    machine.gpus().iter().map(of_gpu).collect()
}

fn switched(a: &[Injection], b: &[Injection]) -> Option<FabricPath> {
    let shared = a.iter().filter_map(|from| {
        let to = b.iter().find(|to| to.plane == from.plane)?;
        Some(Injection {
            count: from.count.min(to.count),
            bandwidth: from.bandwidth.min(to.bandwidth),
            widest_link: from.widest_link.min(to.widest_link),
            nominal: from.nominal.min(to.nominal),
            ..*from
        })
    });
    let all = shared.reduce(|sum, plane| Injection {
        count: sum.count.saturating_add(plane.count),
        bandwidth: Bandwidth(sum.bandwidth.0 + plane.bandwidth.0),
        widest_link: sum.widest_link.max(plane.widest_link),
        nominal: Bandwidth(sum.nominal.0 + plane.nominal.0),
        ..sum
    })?;
    Some(FabricPath {
        link: PairLink::Switched { kind: all.kind, count: all.count },
        bandwidth: all.bandwidth,
        widest_link: all.widest_link,
        nominal: all.nominal,
    })
}

/// For each device, the path from `start` whose narrowest link is widest, over host links
/// only and through no other GPU or NIC.
fn widest_host_paths(
    machine: &Server,
    adjacency: &[Vec<usize>],
    start: DeviceId,
) -> Vec<Option<HostPath>> {
    let devices = machine.devices();
    let is_end = |id: DeviceId| matches!(devices[id].kind, DeviceKind::Gpu | DeviceKind::Nic);
    let mut best: Vec<Option<HostPath>> = vec![None; devices.len()];
    let mut settled = vec![false; devices.len()];
    let unlimited = Bandwidth(u64::MAX);
    best[start] = Some(HostPath { bandwidth: unlimited, nominal: unlimited, pcie: None });
    loop {
        let open = (0..devices.len()).filter(|id| !settled[*id]);
        let widest = open.filter_map(|id| best[id].map(|path| (path.bandwidth, id)));
        let Some((_, at)) = widest.max_by_key(|(width, id)| (*width, usize::MAX - id)) else {
            break;
        };
        settled[at] = true;
        let Some(path) = best[at].filter(|_| at == start || !is_end(at)) else { continue };
        for link in adjacency[at].iter().map(|index| &machine.links()[*index]) {
            let next = link.other_end(at);
            let gpu_to_gpu = link.kind.is_gpu_fabric()
                && devices[at].kind != DeviceKind::Cpu
                && devices[next].kind != DeviceKind::Cpu;
            if gpu_to_gpu || settled[next] {
                continue;
            }
            let bandwidth = path.bandwidth.min(link.total_bandwidth());
            let here = link.kind.is_pcie().then(|| (link.total_bandwidth(), link.kind));
            let pcie = path.pcie.into_iter().chain(here).min_by_key(|(width, _)| *width);
            if best[next].is_none_or(|known| known.bandwidth < bandwidth) {
                let nominal = path.nominal.min(link.nominal_bandwidth());
                best[next] = Some(HostPath { bandwidth, nominal, pcie });
            }
        }
    }
    best
}
