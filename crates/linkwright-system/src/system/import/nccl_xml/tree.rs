//! The devices of a topology file, each with what it hangs from.

use std::collections::{BTreeMap, BTreeSet};

use roxmltree::Node;

use super::attributes::{NcclAttributes, PcieLink, Source};
use crate::diagnostic::InputError;
use crate::system::identity::{self, Identity};
use crate::system::import::paste;
use crate::system::kinds::DeviceKind;
use crate::system::locality::{Affinity, Locality};
use crate::units::Bandwidth;

const DUMP_AGAIN: &str = "dump the topology again with NCCL_TOPO_DUMP_FILE, or mend the element";

/// Which elements an element may stand in.
const INSIDE: [(&str, &[&str]); 10] = [
    ("cpu", &["system"]),
    ("pci", &["cpu", "pci"]),
    // A way between two switches of Broadcom, beside those that the tree shows.
    ("pcilink", &["pci"]),
    ("gpu", &["pci"]),
    ("nic", &["cpu", "pci"]),
    ("nvlink", &["gpu"]),
    ("xgmi", &["gpu"]),
    ("c2c", &["gpu"]),
    ("net", &["nic"]),
    ("coll", &["nic"]),
];

/// Describes a device of the file.
pub(super) struct Found<'a> {
    /// Holds its element: `cpu`, `pci`, or the `nic` of a network interface without a PCI address.
    pub(super) node: Node<'a, 'a>,
    /// Gives its kind.
    pub(super) kind: DeviceKind,
    /// Names it in the machine.
    pub(super) name: String,
    /// Says where devices of its kind stand among each other.
    pub(super) order: i64,
    /// Gives the device above it; none for a CPU.
    pub(super) parent: Option<usize>,
    /// Names the device above all others that it hangs from: a CPU, or itself.
    pub(super) top: usize,
    /// Numbers its host. A file has but one, unless NVLink joins several.
    pub(super) host: usize,
    /// Its PCIe link to the device above; none where it has no PCI address.
    pub(super) link: Option<PcieLink>,
    /// Gives its PCI address, in lower case.
    pub(super) address: Option<String>,
    /// The `gpu` element of a GPU, where it has one.
    pub(super) gpu: Option<Node<'a, 'a>>,
    /// How fast the ports of a network interface are together, where all of them say it.
    pub(super) speed: Option<Bandwidth>,
}

/// Holds every device, in document order.
pub(super) struct Tree<'a> {
    /// Lists the devices.
    pub(super) devices: Vec<Found<'a>>,
    /// Counts their hosts.
    pub(super) hosts: usize,
    /// Holds one sentence for each.
    pub(super) assumptions: Vec<String>,
    /// Lists the probable faults of the machine, likewise.
    pub(super) warnings: Vec<String>,
}

impl Tree<'_> {
    /// Says where a device sits: its own address, the NUMA node and the cores of the CPU above it.
    pub(super) fn locality(&self, device: usize) -> Locality {
        let top = &self.devices[self.devices[device].top];
        let cpu = Some(top).filter(|found| found.kind == DeviceKind::Cpu);
        // NCCL writes -1 where it does not know the node, and a mask without bits likewise.
        let node = cpu.and_then(|cpu| u32::try_from(cpu.order).ok());
        Locality {
            cpu_affinity: cpu.and_then(|cpu| Affinity::parse_mask(cpu.node.attribute("affinity")?)),
            numa_affinity: node.map(Affinity::one),
            pci_address: self.devices[device].address.clone(),
        }
    }
}

impl Tree<'_> {
    /// Says who made a device. Virtual machines fill ids that they do not tell with zeros or ones.
    /// Dumps of bare machines write no id of a CPU of another architecture.
    pub(super) fn identity(&self, device: usize) -> Identity {
        let Found { node, kind, .. } = &self.devices[device];
        let attribute = |name| node.attribute(name);
        if *kind == DeviceKind::Cpu {
            let make = attribute("familyid").zip(attribute("modelid"));
            return Identity {
                vendor_id: attribute("vendor").and_then(|id| identity::vendor_id(*kind, id)),
                device_id: make.and_then(|(family, model)| {
                    identity::device_id(*kind, &format!("{family}:{model}"))
                }),
                subsystem_id: None,
            };
        }
        let id = |name| {
            let digits = attribute(name)?.strip_prefix("0x")?;
            identity::vendor_id(*kind, digits).filter(|id| id != "0000" && id != "ffff")
        };
        let board = id("subsystem_vendor").zip(id("subsystem_device"));
        let board = board.and_then(|(vendor, device)| format!("{vendor}:{device}").parse().ok());
        Identity { vendor_id: id("vendor"), device_id: id("device"), subsystem_id: board }
    }
}

struct Walk<'s, 'a> {
    source: &'s Source<'a>,
    tree: Tree<'a>,
    by_node: BTreeMap<u32, usize>,
    /// Numbers the hosts by their hashes, in the order of the file.
    hosts: BTreeMap<&'a str, usize>,
    /// Lists the NUMA nodes that are there already, and the PCI addresses, with their hosts.
    nodes: BTreeSet<(usize, i64)>,
    addresses: BTreeSet<(usize, String)>,
    counts: BTreeMap<DeviceKind, i64>,
}

/// Finds the devices.
///
/// # Errors
/// Elements that NCCL does not write, where NCCL does not write them, or without the
/// attributes that it writes.
pub(super) fn walk<'a>(source: &Source<'a>) -> Result<Tree<'a>, InputError> {
    let root = source.document.root_element();
    if root.tag_name().name() == "topology" {
        let problem = "this is hwloc's file, which names no links between GPUs, and not <system>";
        return Err(source.refuse(root, problem, "give the file that NCCL_TOPO_DUMP_FILE names"));
    }
    if root.tag_name().name() == "platform" {
        let problem = "this is a platform of SimGrid, and not <system>";
        let remedy = "write a server as TOML, and its network as DOT";
        return Err(source.refuse(root, problem, remedy));
    }
    if root.tag_name().name() != "system" {
        return Err(source.refuse(root, "the outermost element is not <system>", DUMP_AGAIN));
    }
    if let Some(version) =
        root.attribute_node("version").filter(|v| !matches!(v.value(), "1" | "2"))
    {
        let remedy = "versions 1 (NCCL) and 2 (RCCL) are known";
        return Err(source.refuse_value(&version, "the file's version is not known", remedy));
    }
    let mut walk = Walk {
        source,
        tree: Tree { devices: Vec::new(), hosts: 0, assumptions: Vec::new(), warnings: Vec::new() },
        by_node: BTreeMap::new(),
        hosts: BTreeMap::new(),
        nodes: BTreeSet::new(),
        addresses: BTreeSet::new(),
        counts: BTreeMap::new(),
    };
    for node in root.descendants().skip(1) {
        walk.check_place(node)?;
        match node.tag_name().name() {
            "cpu" => walk.cpu(node)?,
            "pci" => walk.pci(node)?,
            "nic" => walk.loose_nic(node)?,
            _ => {}
        }
    }
    walk.tree.hosts = walk.hosts.len().max(1);
    if walk.tree.hosts > 1 {
        walk.number_over_hosts();
    }
    walk.number_gpus()?;
    Ok(walk.tree)
}

/// Whether all attributes of a device are known ones, so that none is a class mistyped.
fn is_plain(node: Node) -> bool {
    let known = [
        "busid",
        "vendor",
        "device",
        "subsystem_vendor",
        "subsystem_device",
        "link_speed",
        "link_width",
    ];
    node.attributes().all(|attribute| known.contains(&attribute.name()))
}

fn children<'a>(node: Node<'a, 'a>, name: &str) -> Vec<Node<'a, 'a>> {
    node.children().filter(|child| child.has_tag_name(name)).collect()
}

impl<'a> Walk<'_, 'a> {
    fn check_place(&self, node: Node) -> Result<(), InputError> {
        if node.is_text() && !node.text().unwrap_or_default().trim().is_empty() {
            return Err(self.source.refuse(node, "text stands between the elements", DUMP_AGAIN));
        }
        if !node.is_element() {
            return Ok(());
        }
        let (name, parent) = (node.tag_name().name(), node.parent());
        let parent = parent.map_or("", |parent| parent.tag_name().name());
        let known = INSIDE.iter().find(|(element, _)| *element == name);
        if known.is_none_or(|(_, parents)| !parents.contains(&parent)) {
            let problem = format!("no <{name}> is known inside <{parent}>");
            return Err(self.source.refuse(node, problem, DUMP_AGAIN));
        }
        Ok(())
    }

    /// Adds a device below the one of the element around its own.
    fn add(&mut self, node: Node<'a, 'a>, kind: DeviceKind, name: String, order: i64) -> usize {
        let index = self.tree.devices.len();
        let parent = self.parent(node);
        let (top, host) = match parent.map(|parent| &self.tree.devices[parent]) {
            Some(parent) => (parent.top, parent.host),
            None => (index, self.host_of(node)),
        };
        let (link, address, gpu, speed) = (None, None, None, None);
        let found = Found { node, kind, name, order, parent, top, host, link, address, gpu, speed };
        self.by_node.insert(node.id().get(), index);
        self.tree.devices.push(found);
        *self.counts.entry(kind).or_default() += 1;
        index
    }

    fn count(&self, kind: DeviceKind) -> i64 {
        self.counts.get(&kind).copied().unwrap_or_default()
    }

    /// Finds the host of a CPU by its hash. It is the first where the CPU has none.
    fn host_of(&mut self, cpu: Node<'a, 'a>) -> usize {
        let next = self.hosts.len();
        cpu.attribute("host_hash").map_or(0, |hash| *self.hosts.entry(hash).or_insert(next))
    }

    fn parent(&self, node: Node) -> Option<usize> {
        node.parent().and_then(|parent| self.by_node.get(&parent.id().get()).copied())
    }

    fn cpu(&mut self, node: Node<'a, 'a>) -> Result<(), InputError> {
        let attribute = self.source.required(node, "numaid")?;
        let numa: i64 = attribute.value().parse().map_err(|_| {
            let remedy = "write such as 0, or -1 where it is not known";
            self.source.refuse_value(&attribute, "`numaid` is no number", remedy)
        })?;
        let host = self.host_of(node);
        if !self.nodes.insert((host, numa)) {
            let problem = "two CPUs have this NUMA node";
            let remedy =
                "give each its own, or the `host_hash` of its host where there are several";
            return Err(self.source.refuse_value(&attribute, problem, remedy));
        }
        self.add(node, DeviceKind::Cpu, String::new(), numa);
        Ok(())
    }

    fn pci(&mut self, node: Node<'a, 'a>) -> Result<(), InputError> {
        let source = self.source;
        let address = source.address(node, "busid")?;
        let host = self.parent(node).map_or(0, |parent| self.tree.devices[parent].host);
        if !self.addresses.insert((host, address.clone())) {
            return Err(source.refuse(node, "two devices have this PCI address", DUMP_AGAIN));
        }
        let (gpus, nics) = (children(node, "gpu"), children(node, "nic"));
        let below = children(node, "pci").len();
        if gpus.len() + nics.len() > 1 || (below > 0 && gpus.len() + nics.len() > 0) {
            return Err(source.refuse(node, "one PCI device is several things", DUMP_AGAIN));
        }
        let class = source.class(node, "class")?;
        let kind = match class.map(|class| class >> 16) {
            _ if !gpus.is_empty() => DeviceKind::Gpu,
            _ if !nics.is_empty() => DeviceKind::Nic,
            _ if below > 0 => DeviceKind::PcieSwitch,
            Some(0x03) => DeviceKind::Gpu,
            Some(0x02) => DeviceKind::Nic,
            Some(0x06) => DeviceKind::PcieSwitch,
            None if is_plain(node) => self.by_vendor(node, &address),
            _ => {
                let problem = "this device is neither a GPU nor a network interface nor a switch";
                return Err(source.refuse(node, problem, "give its class, or remove the element"));
            }
        };
        let mut order = self.count(kind);
        let name = match (gpus.first(), nics.first()) {
            (Some(gpu), _) => {
                let number = source.number(*gpu, "dev")?;
                order = i64::from(number);
                format!("GPU{number}")
            }
            (_, Some(nic)) => self.nic_name(*nic),
            _ if kind == DeviceKind::Nic => format!("NIC{order}"),
            _ if kind == DeviceKind::PcieSwitch => format!("PCIeSwitch{order}"),
            _ => String::new(),
        };
        let link = source.pcie_link(node)?;
        let speed = nics.first().map_or(Ok(None), |nic| source.speed(&children(*nic, "net")))?;
        let index = self.add(node, kind, name, order);
        let found = &mut self.tree.devices[index];
        (found.link, found.address, found.gpu) = (Some(link), Some(address), gpus.first().copied());
        found.speed = speed;
        Ok(())
    }

    /// Finds the kind of a device without class, by its vendor.
    fn by_vendor(&mut self, node: Node<'a, 'a>, address: &str) -> DeviceKind {
        let kind = match node.attribute("vendor") {
            Some("0x10de" | "0x1002") => DeviceKind::Gpu,
            _ => DeviceKind::Nic,
        };
        let what = if kind == DeviceKind::Gpu { "a GPU" } else { "a network interface" };
        let sentence =
            format!("The file does not give the class of {address}; it is taken to be {what}.");
        if node.attribute("vendor").is_some_and(|vendor| vendor.len() == 6) {
            self.tree.assumptions.push(sentence);
        } else {
            self.tree.warnings.push(sentence);
        }
        kind
    }

    /// A network interface that stands in a CPU has no PCI address, as virtual ones have none.
    fn loose_nic(&mut self, node: Node<'a, 'a>) -> Result<(), InputError> {
        if !node.parent().is_some_and(|parent| parent.has_tag_name("cpu")) {
            return Ok(());
        }
        for net in children(node, "net") {
            let name = self.source.required(net, "name")?.value().to_owned();
            self.tree.assumptions.push(format!(
                "{name} has no PCI address; it is taken to hang from its CPU as fast as any device."
            ));
            let order = self.count(DeviceKind::Nic);
            let index = self.add(node, DeviceKind::Nic, name, order);
            self.tree.devices[index].speed = self.source.speed(&[net])?;
        }
        Ok(())
    }

    /// The name of an interface's first port, which stands for all of them.
    fn nic_name(&mut self, nic: Node<'a, 'a>) -> String {
        let ports = children(nic, "net");
        let names: Vec<&str> = ports.iter().filter_map(|net| net.attribute("name")).collect();
        let Some((first, others)) = names.split_first() else {
            return format!("NIC{}", self.count(DeviceKind::Nic));
        };
        if !others.is_empty() {
            self.tree.assumptions.push(format!(
                "{first} stands for all ports of its PCI device: {}.",
                names.join(", ")
            ));
        }
        (*first).to_owned()
    }

    /// Numbers the GPUs of hand-written files, which give a PCI class and no `gpu` element.
    fn number_gpus(&mut self) -> Result<(), InputError> {
        let mut taken = BTreeSet::new();
        for device in self.tree.devices.iter() {
            if let Some(gpu) = device.gpu.filter(|_| !taken.insert(device.order)) {
                return Err(self.source.refuse(gpu, "two GPUs have this number", DUMP_AGAIN));
            }
        }
        let mut free = (0..).filter(|number| !taken.contains(number));
        let mut numbered = Vec::new();
        for device in self.tree.devices.iter_mut().filter(|d| d.kind == DeviceKind::Gpu) {
            if let Some(number) = device.gpu.is_none().then(|| free.next()).flatten() {
                device.order = number;
                device.name = format!("GPU{number}");
                numbered.push(device.name.clone());
            }
        }
        if !numbered.is_empty() {
            self.tree.assumptions.push(format!(
                "The file does not number {}; they are numbered as they are listed.",
                numbered.join(", ")
            ));
        }
        Ok(())
    }

    /// Numbers the GPUs of several hosts: by their ranks where each has its own, else on from one
    /// host to the next. Names the network interfaces of each host apart.
    fn number_over_hosts(&mut self) {
        let devices = &mut self.tree.devices;
        let rank = |found: &Found| found.gpu?.attribute("rank").and_then(paste::number);
        let gpus = devices.iter().filter(|found| found.gpu.is_some());
        let ranks: Option<Vec<u32>> = gpus.clone().map(rank).collect();
        let all = gpus.count();
        let ranks = ranks.filter(|ranks| ranks.iter().collect::<BTreeSet<_>>().len() == all);
        let mut gpus: Vec<usize> =
            (0..devices.len()).filter(|at| devices[*at].gpu.is_some()).collect();
        gpus.sort_by_key(|at| (devices[*at].host, devices[*at].order));
        for (place, at) in gpus.into_iter().enumerate() {
            let number = match &ranks {
                Some(_) => rank(&devices[at]).map_or(0, i64::from),
                None => place as i64,
            };
            (devices[at].order, devices[at].name) = (number, format!("GPU{number}"));
        }
        let mut hosts_of: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        let nics = devices.iter().filter(|found| found.kind == DeviceKind::Nic);
        for nic in nics {
            hosts_of.entry(&nic.name).or_default().insert(nic.host);
        }
        let shared: BTreeSet<String> = hosts_of
            .into_iter()
            .filter(|(_, hosts)| hosts.len() > 1)
            .map(|(name, _)| name.to_owned())
            .collect();
        for nic in devices.iter_mut().filter(|found| shared.contains(&found.name)) {
            nic.name = format!("host{}-{}", nic.host, nic.name);
        }
        let hosts = self.tree.hosts;
        let numbered = if ranks.is_some() { "by their ranks" } else { "from host to host" };
        self.tree.assumptions.push(format!(
            "The file describes {hosts} hosts, whose NVLinks are taken to meet at the same \
             NVSwitches; GPUs are numbered {numbered}."
        ));
    }
}
