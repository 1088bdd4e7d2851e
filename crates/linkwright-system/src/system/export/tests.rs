//! Reads again the text that is written. A list says of each preset what a format cannot say of it.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::host::Host;
use super::*;
use crate::diagnostic::Named as _;
use crate::system::adapters::port_speed;
use crate::system::import::{ImportOptions, detect, import, importers};
use crate::system::kinds::{DeviceKind, LinkKind};
use crate::system::presets::{NAMES, preset};
use crate::system::server::{Device, DeviceId, ServerBuilder};
use crate::system::test_support::{example, quirk};
use crate::system::views::proximity::between;
use crate::system::{AbstractNode, BandwidthProfile, GpuGraph, toml_format};
use crate::units::{Bandwidth, Picoseconds};

/// Names what a machine may lose in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Aspect {
    /// Holds its name, its source, warnings, assumptions and measurements.
    Origin,
    /// Says which GPUs it has.
    Gpus,
    /// Says which network interfaces it has.
    Nics,
    /// Names the product of each GPU.
    GpuModels,
    /// Names the products of all else.
    OtherModels,
    /// Says how fast each network interface is.
    NicSpeeds,
    /// Holds the names of CPUs and switches.
    OtherNames,
    /// Gives vendor, device and board of a device, and of a CPU.
    Ids,
    /// Holds PCI addresses.
    Addresses,
    /// Gives the NUMA nodes and cores near a device, and the memory of a CPU.
    Places,
    /// Names the CPU that a GPU or an interface hangs from.
    Cpus,
    /// Says how near two devices are over PCIe that no link of the GPUs joins.
    Proximity,
    /// Says the same of GPUs that such links join.
    HiddenProximity,
    /// Lists host bridges.
    HostBridges,
    /// Lists PCIe switches, each by what is below it.
    PcieSwitches,
    /// Gives generation and lanes of the PCIe above a GPU or an interface, and of all up to its
    /// CPU.
    PcieLinks,
    /// Says that a GPU reaches its CPU by PCIe, or by other links.
    WaysToCpus,
    /// Names the links that join sockets.
    Sockets,
    /// Says which pairs of GPUs have links of their own, and how many.
    Bundles,
    /// Lists NVSwitches, and how many links of each GPU lead to each.
    NvSwitches,
    /// Counts the links of each GPU that lead to switches in all.
    Injection,
    /// Lists links between NVSwitches.
    BetweenSwitches,
    /// Names the generation of links between GPUs and to switches.
    Generations,
}

use Aspect::{
    Addresses, BetweenSwitches, Bundles, Cpus, Generations, GpuModels, Gpus, HiddenProximity,
    HostBridges, Ids, Injection, NicSpeeds, Nics, NvSwitches, Origin, OtherModels, OtherNames,
    PcieLinks, PcieSwitches, Places, Proximity, Sockets, WaysToCpus,
};

/// Lists what every text of a format loses.
const ALWAYS: [(ExportFormat, &[Aspect]); 3] = [
    (ExportFormat::NvidiaSmi, &[Origin, Ids, Places]),
    (ExportFormat::RocmSmi, &[Origin, OtherNames, Ids, Places]),
    (ExportFormat::NcclXml, &[Origin, Addresses, Places]),
];

/// Lists what each preset loses besides: exactly that, in each format that can say it.
const LOST: [(ExportFormat, &str, &[Aspect]); 54] = [
    (
        ExportFormat::NvidiaSmi,
        "dgx1-p100",
        &[GpuModels, OtherModels, NicSpeeds, OtherNames, Sockets, Generations],
    ),
    (
        ExportFormat::NvidiaSmi,
        "dgx1-v100",
        &[GpuModels, OtherModels, NicSpeeds, OtherNames, Sockets],
    ),
    (
        ExportFormat::NvidiaSmi,
        "dgx2",
        &[GpuModels, OtherModels, NicSpeeds, OtherNames, Sockets, NvSwitches, BetweenSwitches],
    ),
    (
        ExportFormat::NvidiaSmi,
        "dgx-a100",
        &[GpuModels, OtherModels, NicSpeeds, OtherNames, Sockets, NvSwitches],
    ),
    (
        ExportFormat::NvidiaSmi,
        "hgx-h100",
        &[GpuModels, OtherModels, NicSpeeds, OtherNames, Sockets, NvSwitches],
    ),
    (
        ExportFormat::NvidiaSmi,
        "hgx-h200",
        &[GpuModels, OtherModels, NicSpeeds, OtherNames, Sockets, NvSwitches],
    ),
    (
        ExportFormat::NvidiaSmi,
        "hgx-b200",
        &[GpuModels, OtherModels, NicSpeeds, OtherNames, Sockets, NvSwitches, Generations],
    ),
    (
        ExportFormat::NvidiaSmi,
        "hgx-b300",
        &[
            GpuModels,
            OtherModels,
            NicSpeeds,
            OtherNames,
            PcieLinks,
            Sockets,
            NvSwitches,
            Generations,
        ],
    ),
    (
        ExportFormat::NvidiaSmi,
        "gb200-nvl72",
        &[
            GpuModels,
            OtherModels,
            NicSpeeds,
            OtherNames,
            PcieLinks,
            WaysToCpus,
            Sockets,
            NvSwitches,
            Generations,
        ],
    ),
    (
        ExportFormat::NvidiaSmi,
        "gb300-nvl72",
        &[
            GpuModels,
            OtherModels,
            NicSpeeds,
            OtherNames,
            PcieLinks,
            WaysToCpus,
            Sockets,
            NvSwitches,
            Generations,
        ],
    ),
    (
        ExportFormat::NvidiaSmi,
        "4x-l40s-pcie",
        &[GpuModels, OtherModels, NicSpeeds, PcieLinks, Sockets],
    ),
    (ExportFormat::NvidiaSmi, "8x-l40s", &[GpuModels, OtherModels, NicSpeeds, HostBridges]),
    (
        ExportFormat::NvidiaSmi,
        "8x-rtx-4090",
        &[GpuModels, OtherModels, NicSpeeds, PcieLinks, Sockets],
    ),
    (
        ExportFormat::NvidiaSmi,
        "8x-rtx-pro-6000",
        &[GpuModels, OtherModels, NicSpeeds, OtherNames, PcieLinks, Sockets],
    ),
    (
        ExportFormat::NvidiaSmi,
        "summit-node",
        &[GpuModels, OtherModels, NicSpeeds, PcieLinks, WaysToCpus, Sockets],
    ),
    (
        ExportFormat::NvidiaSmi,
        "torus2d-16",
        &[GpuModels, OtherNames, HiddenProximity, PcieSwitches, Sockets],
    ),
    (
        ExportFormat::NvidiaSmi,
        "cubemesh-16",
        &[GpuModels, OtherNames, HiddenProximity, PcieSwitches, PcieLinks, Sockets, Generations],
    ),
    (ExportFormat::NvidiaSmi, "titan-z", &[GpuModels, OtherNames, PcieLinks]),
    (ExportFormat::NvidiaSmi, "kepler-pair", &[GpuModels, HostBridges, PcieLinks]),
    (ExportFormat::NvidiaSmi, "k80", &[GpuModels, OtherNames, PcieLinks, Sockets]),
    (ExportFormat::NvidiaSmi, "pcie-tree-4", &[OtherNames, HostBridges, PcieLinks]),
    (ExportFormat::NvidiaSmi, "pcie4-tree-4", &[OtherNames, HostBridges]),
    (
        ExportFormat::RocmSmi,
        "mi300x-8",
        &[
            Nics,
            GpuModels,
            OtherModels,
            NicSpeeds,
            Cpus,
            Proximity,
            PcieSwitches,
            PcieLinks,
            Sockets,
        ],
    ),
    (
        ExportFormat::RocmSmi,
        "mi325x-8",
        &[
            Nics,
            GpuModels,
            OtherModels,
            NicSpeeds,
            Cpus,
            Proximity,
            PcieSwitches,
            PcieLinks,
            Sockets,
        ],
    ),
    (
        ExportFormat::RocmSmi,
        "mi355x-8",
        &[
            Nics,
            GpuModels,
            OtherModels,
            NicSpeeds,
            Cpus,
            Proximity,
            PcieSwitches,
            PcieLinks,
            Sockets,
            Generations,
        ],
    ),
    (ExportFormat::RocmSmi, "pcie-tree-4", &[Proximity, HostBridges, PcieSwitches, PcieLinks]),
    (ExportFormat::RocmSmi, "pcie4-tree-4", &[Proximity, HostBridges, PcieSwitches]),
    (
        ExportFormat::RocmSmi,
        "mgpu-rdma",
        &[GpuModels, Proximity, HostBridges, PcieSwitches, PcieLinks],
    ),
    (ExportFormat::NcclXml, "dgx1-p100", &[OtherModels, OtherNames, Ids, Sockets]),
    (ExportFormat::NcclXml, "dgx1-v100", &[OtherModels, OtherNames, Ids, Sockets]),
    (
        ExportFormat::NcclXml,
        "dgx2",
        &[OtherModels, OtherNames, Ids, Proximity, HiddenProximity, Sockets, BetweenSwitches],
    ),
    (ExportFormat::NcclXml, "dgx-a100", &[OtherModels, OtherNames, Ids, Sockets]),
    (ExportFormat::NcclXml, "hgx-h100", &[OtherModels, OtherNames, Ids, Sockets]),
    (ExportFormat::NcclXml, "hgx-h200", &[OtherModels, OtherNames, Ids, Sockets]),
    (ExportFormat::NcclXml, "hgx-b200", &[OtherModels, OtherNames, Ids, Sockets]),
    (ExportFormat::NcclXml, "hgx-b300", &[OtherModels, OtherNames, Ids, Sockets]),
    (ExportFormat::NcclXml, "gb200-nvl72", &[OtherModels, OtherNames, Ids]),
    (ExportFormat::NcclXml, "gb300-nvl72", &[OtherModels, OtherNames, Ids]),
    (ExportFormat::NcclXml, "mi300x-8", &[OtherModels, OtherNames, Ids, Sockets]),
    (ExportFormat::NcclXml, "mi325x-8", &[OtherModels, OtherNames, Ids, Sockets]),
    (ExportFormat::NcclXml, "mi355x-8", &[OtherModels, OtherNames, Ids, Sockets]),
    (ExportFormat::NcclXml, "4x-l40s-pcie", &[OtherModels, Ids, Sockets]),
    (ExportFormat::NcclXml, "8x-l40s", &[OtherModels, Ids, Proximity, HostBridges]),
    (ExportFormat::NcclXml, "8x-rtx-4090", &[OtherModels, Ids, Sockets]),
    (ExportFormat::NcclXml, "8x-rtx-pro-6000", &[OtherModels, OtherNames, Ids, Sockets]),
    (ExportFormat::NcclXml, "summit-node", &[OtherModels, Ids]),
    (ExportFormat::NcclXml, "torus2d-16", &[OtherNames, Ids, Sockets]),
    (ExportFormat::NcclXml, "cubemesh-16", &[OtherNames, Ids, Sockets]),
    (ExportFormat::NcclXml, "titan-z", &[OtherNames, Ids]),
    (ExportFormat::NcclXml, "kepler-pair", &[Ids, Proximity, HostBridges]),
    (ExportFormat::NcclXml, "k80", &[OtherNames, Ids, Sockets]),
    (ExportFormat::NcclXml, "pcie-tree-4", &[OtherNames, Proximity, HostBridges]),
    (ExportFormat::NcclXml, "pcie4-tree-4", &[OtherNames, Proximity, HostBridges]),
    (ExportFormat::NcclXml, "mgpu-rdma", &[OtherNames, Ids, Proximity, HostBridges, PcieLinks]),
];

/// Lists every fact of a machine, by what it is of. All of a machine is in one of them.
fn facts(machine: &Server) -> BTreeMap<Aspect, BTreeSet<String>> {
    let host = Host::new(machine, ExportFormat::NcclXml).unwrap();
    let mut facts = Facts { machine, host, names: names(machine), all: BTreeMap::new() };
    facts.devices();
    facts.tree();
    facts.links();
    facts.all
}

/// Names each GPU and interface by its name, and all else by the place among its like.
fn names(machine: &Server) -> Vec<String> {
    let mut counts: BTreeMap<DeviceKind, usize> = BTreeMap::new();
    let name = |device: &Device| {
        if is_end(device.kind) {
            return device.name.clone();
        }
        let place = counts.entry(device.kind).or_default();
        *place += 1;
        format!("{} {}", device.kind.name(), *place - 1)
    };
    machine.devices().iter().map(name).collect()
}

fn is_end(kind: DeviceKind) -> bool {
    matches!(kind, DeviceKind::Gpu | DeviceKind::Nic)
}

struct Facts<'m> {
    machine: &'m Server,
    host: Host<'m>,
    names: Vec<String>,
    all: BTreeMap<Aspect, BTreeSet<String>>,
}

impl Facts<'_> {
    fn add(&mut self, aspect: Aspect, fact: String) {
        self.all.entry(aspect).or_default().insert(fact);
    }

    fn add_model(&mut self, name: &str, device: &Device) {
        if let Some(model) = &device.model {
            self.add(OtherModels, format!("{name} {model}"));
        }
    }

    fn kind(&self, id: DeviceId) -> DeviceKind {
        self.machine.devices()[id].kind
    }

    fn devices(&mut self) {
        let machine = self.machine;
        self.add(Origin, format!("{} {}", machine.name(), machine.source()));
        self.add(Origin, format!("{:?} {:?}", machine.warnings(), machine.assumptions()));
        self.add(Origin, format!("{:?}", machine.calibration()));
        for (id, device) in machine.devices().iter().enumerate() {
            let name = self.names[id].clone();
            match device.kind {
                DeviceKind::Gpu => {
                    self.add(Gpus, name.clone());
                    let known = device.gpu_model().map(|model| model.name.as_str());
                    self.add(GpuModels, format!("{name} {known:?}"));
                }
                DeviceKind::Nic => {
                    self.add(Nics, name.clone());
                    if let Some(speed) = port_speed(device) {
                        self.add(NicSpeeds, format!("{name} {speed}"));
                    }
                    self.add_model(&name, device);
                }
                kind => {
                    let aspect =
                        if kind == DeviceKind::HostBridge { HostBridges } else { OtherNames };
                    self.add(aspect, format!("{} {}", kind.name(), device.name));
                    self.add_model(&name, device);
                }
            }
            let place = &device.locality;
            let near = (&place.cpu_affinity, &place.numa_affinity, device.host_memory);
            // Where nothing is known, no fact is missing either.
            if device.vendor_id().is_some() {
                self.add(Ids, format!("{name} {:?} {:?}", device.vendor_id(), device.identity));
            }
            if place.pci_address.is_some() {
                self.add(Addresses, format!("{name} {:?}", place.pci_address));
            }
            if near != (&None, &None, None) {
                self.add(Places, format!("{name} {near:?}"));
            }
        }
    }

    fn tree(&mut self) {
        let machine = self.machine;
        let ends: Vec<DeviceId> =
            (0..machine.devices().len()).filter(|id| is_end(self.kind(*id))).collect();
        let mut below: BTreeMap<DeviceId, BTreeSet<String>> = BTreeMap::new();
        for end in &ends {
            let name = self.names[*end].clone();
            let cpu = self.host.cpu(*end).map(|cpu| self.names[cpu].clone());
            self.add(Cpus, format!("{name} {cpu:?}"));
            let (mut at, mut way) = (*end, BTreeSet::new());
            while let Some((link, up)) = self.host.above(at) {
                let bus = link.kind.is_pcie() || link.kind == LinkKind::OnDie;
                if bus && self.kind(at) != DeviceKind::HostBridge {
                    let total = link.total_bandwidth();
                    way.insert(format!("{} {total} {:?}", link.kind.name(), link.latency));
                }
                if self.kind(up) == DeviceKind::PcieSwitch {
                    below.entry(up).or_default().insert(name.clone());
                }
                at = up;
            }
            self.add(PcieLinks, format!("{name} {way:?}"));
        }
        let switches: Vec<String> = below.into_values().map(|ends| format!("{ends:?}")).collect();
        for (place, ends) in switches.iter().enumerate() {
            let again = switches[..place].iter().filter(|other| *other == ends).count();
            self.add(PcieSwitches, format!("{ends} {again}"));
        }
        let near = between(machine, &ends, &ends);
        let graph = GpuGraph::new(machine, BandwidthProfile::DataSheet).unwrap();
        let place = |end: DeviceId| machine.gpus().binary_search(&end).ok();
        for (a, row) in ends.iter().zip(near) {
            for (b, cell) in ends.iter().zip(row).filter(|(b, _)| *b > a) {
                let linked = place(*a).zip(place(*b));
                let linked = linked.is_some_and(|(a, b)| !graph.fabric_paths(a, b).is_empty());
                let aspect = if linked { HiddenProximity } else { Proximity };
                // A file may have devices in another order.
                let pair = BTreeSet::from([&self.names[*a], &self.names[*b]]);
                let fact = format!("{pair:?} {}", cell.name());
                self.add(aspect, fact);
            }
        }
    }

    fn links(&mut self) {
        let machine = self.machine;
        let mut injected: BTreeMap<DeviceId, u32> = BTreeMap::new();
        for link in machine.links() {
            let (a, b) = (self.names[link.a].clone(), self.names[link.b].clone());
            let (a, b) = if a < b { (a, b) } else { (b, a) };
            let all = (
                link.kind.name(),
                link.count,
                link.bandwidth,
                link.latency,
                machine.discipline(link),
            );
            let own = format!("{} {:?} {:?} {:?}", all.0, all.2, all.3, all.4);
            match [self.kind(link.a), self.kind(link.b)] {
                [DeviceKind::Cpu, DeviceKind::Cpu] => self.add(Sockets, format!("{a} {b} {all:?}")),
                [DeviceKind::NvSwitch, DeviceKind::NvSwitch] => {
                    self.add(BetweenSwitches, format!("{a} {b} {all:?}"));
                }
                [x, y] if x == DeviceKind::NvSwitch || y == DeviceKind::NvSwitch => {
                    let gpu = if x == DeviceKind::NvSwitch { link.b } else { link.a };
                    *injected.entry(gpu).or_default() += link.count;
                    self.add(NvSwitches, format!("{a} {b} {}", link.count));
                    self.add(Generations, own);
                }
                [DeviceKind::Gpu, DeviceKind::Gpu] => {
                    self.add(Bundles, format!("{a} {b} {}", link.count));
                    self.add(Generations, own);
                }
                _ if link.kind.is_gpu_fabric() || link.kind == LinkKind::NvlinkC2c => {
                    self.add(WaysToCpus, format!("{a} {b} {all:?}"));
                }
                // The links of the tree are there already.
                _ => {
                    assert!(link.kind.is_pcie() || link.kind == LinkKind::OnDie, "{a} {b} {all:?}");
                    if self.kind(link.a) == DeviceKind::Gpu || self.kind(link.b) == DeviceKind::Gpu
                    {
                        let gpu =
                            if self.kind(link.a) == DeviceKind::Gpu { link.a } else { link.b };
                        self.add(WaysToCpus, format!("{} over a host bus", self.names[gpu]));
                    }
                    assert_eq!(machine.discipline(link), link.kind.disciplines()[0]);
                }
            }
        }
        for (gpu, count) in injected {
            self.add(Injection, format!("{} {count}", self.names[gpu]));
        }
    }
}

/// Finds what differs between a machine and what is read of its text.
fn lost(machine: &Server, format: ExportFormat) -> BTreeSet<Aspect> {
    let written = export(machine, format).unwrap();
    let read = import("written", &written.text, Some(format.reader()), &ImportOptions::default());
    let read = read.unwrap_or_else(|error| panic!("{error}\n{}", written.text));
    let (before, after) = (facts(machine), facts(&read));
    let aspects: BTreeSet<Aspect> = before.keys().chain(after.keys()).copied().collect();
    aspects.into_iter().filter(|aspect| before.get(aspect) != after.get(aspect)).collect()
}

#[test]
fn what_each_format_cannot_say_of_each_preset_is_listed() {
    let mut listed = LOST.iter();
    for (format, always) in ALWAYS {
        for name in NAMES {
            let machine = preset(name).unwrap();
            if export(&machine, format).is_err() {
                continue;
            }
            let (of_format, of_preset, besides) =
                listed.next().expect("every preset that a format can say is listed");
            assert_eq!((*of_format, *of_preset), (format, name));
            let expected: BTreeSet<Aspect> = always.iter().chain(*besides).copied().collect();
            assert_eq!(lost(&machine, format), expected, "{name} as {format:?}");
        }
    }
    assert_eq!(listed.next(), None);
}

/// Describes one device of a random host: whether it is a GPU, and its socket, host bridge,
/// upstream switch and switch.
type Leaf = (bool, [usize; 4]);

/// Builds a host of such devices. `nvlinks` counts the links of each GPU to the next.
fn random_host(leaves: &[Leaf], nvlinks: &[u32], bridges: bool, pcie: LinkKind) -> Server {
    let mut builder = ServerBuilder::new("random", "test");
    let sockets: BTreeSet<usize> = leaves.iter().map(|leaf| leaf.1[0]).collect();
    let ends: Vec<DeviceId> = leaves
        .iter()
        .enumerate()
        .map(|(place, (is_gpu, _))| match is_gpu {
            true => builder.device(&format!("GPU{place}"), DeviceKind::Gpu, None).unwrap(),
            false => builder.device(&format!("mlx5_{place}"), DeviceKind::Nic, None).unwrap(),
        })
        .collect();
    for socket in &sockets {
        builder.device(&format!("CPU{socket}"), DeviceKind::Cpu, None).unwrap();
    }
    let parent = |builder: &mut ServerBuilder, way: &[usize]| {
        let mut up = builder.find(&format!("CPU{}", way[0])).unwrap();
        for depth in 2..=way.len() {
            let is_bridge = depth == 2;
            if is_bridge && !bridges {
                continue;
            }
            let name = format!("at-{:?}", &way[..depth]);
            let kind = if is_bridge { DeviceKind::HostBridge } else { DeviceKind::PcieSwitch };
            up = builder.find(&name).unwrap_or_else(|_| {
                let id = builder.device(&name, kind, None).unwrap();
                let link = if is_bridge { LinkKind::OnDie } else { pcie };
                builder.data_sheet_link(id, up, link, 1).unwrap();
                id
            });
        }
        up
    };
    for (end, (_, way)) in ends.iter().zip(leaves) {
        let up = parent(&mut builder, way);
        builder.data_sheet_link(*end, up, pcie, 1).unwrap();
    }
    let gpus: Vec<DeviceId> =
        ends.iter().zip(leaves).filter(|(_, leaf)| leaf.0).map(|(end, _)| *end).collect();
    for (pair, count) in gpus.windows(2).zip(nvlinks).filter(|(_, count)| **count > 0) {
        builder.data_sheet_link(pair[0], pair[1], LinkKind::Nvlink2, *count).unwrap();
    }
    let cpus: Vec<usize> = sockets.into_iter().collect();
    for pair in cpus.windows(2) {
        let ends = [pair[0], pair[1]].map(|cpu| builder.find(&format!("CPU{cpu}")).unwrap());
        builder.data_sheet_link(ends[0], ends[1], LinkKind::Upi, 1).unwrap();
    }
    builder.build().unwrap()
}

fn leaves() -> impl Strategy<Value = Vec<Leaf>> {
    let leaf = (any::<bool>(), [0..3_usize, 0..2_usize, 0..2_usize, 0..2_usize]);
    prop::collection::vec(leaf, 1..9).prop_map(|mut leaves| {
        leaves[0].0 = true;
        leaves.sort_by_key(|leaf| !leaf.0);
        leaves
    })
}

proptest! {
    #[test]
    fn any_host_s_matrix_says_its_devices_links_and_distances(
        leaves in leaves(),
        nvlinks in prop::collection::vec(0..4_u32, 9),
    ) {
        let machine = random_host(&leaves, &nvlinks, true, LinkKind::Pcie4);
        let lost = lost(&machine, ExportFormat::NvidiaSmi);
        for kept in [Gpus, Nics, Bundles, Proximity] {
            prop_assert!(!lost.contains(&kept), "{kept:?}");
        }
    }

    #[test]
    fn any_host_s_file_says_its_tree(
        leaves in leaves(),
        nvlinks in prop::collection::vec(0..4_u32, 9),
        pcie in prop::sample::select(vec![LinkKind::Pcie1, LinkKind::Pcie4, LinkKind::Pcie6]),
    ) {
        let machine = random_host(&leaves, &nvlinks, false, pcie);
        let made_up = BTreeSet::from([Origin, Addresses, Places, Ids, OtherNames, Sockets]);
        let lost = lost(&machine, ExportFormat::NcclXml);
        prop_assert!(lost.is_subset(&made_up), "{lost:?}");
    }
}

#[test]
fn what_was_read_is_written_and_read_again() {
    let texts = [
        example!("dgx1-v100.nvidia-smi-topo-m.txt"),
        example!("dgx-a100-12-nics.nvidia-smi-topo-m.txt"),
        example!("4x-mi210.rocm-smi-showtopo.txt"),
        example!("mi300x-8.nccl-topo.xml"),
        quirk!("two-trays.nccl-topo.xml"),
    ];
    for text in texts {
        let machine = import("text", text, None, &ImportOptions::default()).unwrap();
        let own = detect(text, &importers()).unwrap().name();
        let format = ExportFormat::from_name(own).unwrap();
        assert_eq!(format.reader().name(), own);
        let made_up = BTreeSet::from([Origin, Places]);
        let found = lost(&machine, format);
        assert!(found.is_subset(&made_up), "{found:?} of {}", machine.name());
        for other in ExportFormat::ALL {
            if export(&machine, other).is_ok() {
                lost(&machine, other);
            }
        }
    }
}

#[test]
fn a_format_that_cannot_say_a_machine_names_one_that_can() {
    let node = Server::abstract_node(AbstractNode {
        gpus: 2,
        nics: 1,
        bandwidth: Bandwidth::gigabytes_per_second(25),
        latency: Picoseconds(1),
    });
    let two_parents = "name = \"two\"\n[[device]]\nkind = \"gpu\"\nnames = [\"GPU0\"]\n[[device]]\n\
        kind = \"cpu\"\nnames = [\"CPU0\", \"CPU1\"]\n[[link]]\nkind = \"pcie4\"\n\
        between = [[\"GPU0\", \"CPU0\"], [\"GPU0\", \"CPU1\"]]\n";
    let two_parents = toml_format::read("two.toml", two_parents).unwrap();
    let cases = [
        (preset("mi300x-8").unwrap(), ExportFormat::NvidiaSmi, "rocm-smi or nccl-xml"),
        (preset("hgx-h100").unwrap(), ExportFormat::RocmSmi, "nvidia-smi or nccl-xml"),
        (two_parents.clone(), ExportFormat::NcclXml, "toml"),
        (two_parents, ExportFormat::NvidiaSmi, "toml"),
        (node.clone(), ExportFormat::NcclXml, "json"),
        (node, ExportFormat::NvidiaSmi, "json"),
    ];
    for (machine, format, remedy) in cases {
        let error = export(&machine, format).unwrap_err();
        assert!(matches!(error, SystemError::Inexpressible { .. }), "{error}");
        assert!(error.to_string().contains(remedy), "{error}");
    }
    let error = ExportFormat::from_name("lstopo").unwrap_err().to_string();
    assert!(error.contains("nvidia-smi, rocm-smi, nccl-xml"), "{error}");
}

#[test]
fn notes_say_what_was_made_up() {
    let notes =
        |name: &str, format| export(&preset(name).unwrap(), format).unwrap().notes.join("\n");
    let xml = notes("dgx2", ExportFormat::NcclXml);
    assert!(xml.contains("PCI addresses") && xml.contains("between NVSwitches"), "{xml}");
    let rack = notes("gb200-nvl72", ExportFormat::NcclXml);
    assert!(rack.contains("18 hosts") && rack.contains("reads 256 at most"), "{rack}");
    assert_eq!(notes("dgx1-v100", ExportFormat::NvidiaSmi), "");
    let unnamed = "name = \"odd\"\n[[device]]\nkind = \"gpu\"\nnames = [\"a\", \"b\"]\n[[device]]\n\
        kind = \"nic\"\nnames = [\"a card\"]\n[[device]]\nkind = \"cpu\"\nnames = [\"c\"]\n\
        [[link]]\nkind = \"nvlink4\"\nbetween = [[\"a\", \"b\"]]\n\
        [[link]]\nkind = \"pcie3\"\nbandwidth = \"5 GB/s\"\nbetween = [[\"a card\", \"c\"]]\n";
    let unnamed = toml_format::read("odd.toml", unnamed).unwrap();
    let file = export(&unnamed, ExportFormat::NcclXml).unwrap().notes.join("\n");
    for said in ["which CPU holds a and 1 others", "no number of lanes", "how fast a card is"] {
        assert!(file.contains(said), "{said} in {file}");
    }
    let matrix = export(&unnamed, ExportFormat::NvidiaSmi).unwrap();
    assert!(matrix.notes[0].contains("a is GPU0") && matrix.notes[1].contains("\"a card\""));
}
