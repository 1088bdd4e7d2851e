//! Reads NVLinks and xGMI links of a topology file.

use std::collections::{BTreeMap, BTreeSet};

use roxmltree::Node;

use super::attributes::{NcclAttributes, Source};
use super::tree::{Found, Tree};
use crate::diagnostic::InputError;
use crate::system::gpus::{self, GpuModel, LinkReach};
use crate::system::kinds::{DeviceKind, LinkKind};
use crate::units::Bandwidth;

/// Gives the PCI class of an NVSwitch.
const NVSWITCH: u32 = 0x06_8000;
/// The PCI class under which a POWER processor shows its NVLinks.
const NVLINK_BRIDGE: u32 = 0x06_8001;

/// Names the far end of a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FarEnd {
    /// Is a device of the file.
    Device(usize),
    /// Is an NVSwitch, by its number.
    Switch(usize),
}

/// Links between GPUs, and to NVSwitches and CPUs.
#[derive(Debug, Default)]
pub(super) struct Fabric {
    /// How many NVSwitches there are.
    pub(super) switches: usize,
    /// Lists each bundle once: a GPU, the far end, the kind and the count.
    pub(super) bundles: Vec<(usize, FarEnd, LinkKind, u32)>,
    /// Lists the NVLink-C2C of each GPU that has it.
    pub(super) chip_to_chip: Vec<ChipToChip>,
}

/// Holds the NVLink-C2C between a GPU and the CPU that it hangs from.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChipToChip {
    /// Names the GPU by its place.
    pub(super) gpu: usize,
    /// Names the CPU by its place.
    pub(super) cpu: usize,
    /// Counts the links.
    pub(super) count: u32,
    /// Gives the bandwidth of one of them, in one direction.
    pub(super) bandwidth: Bandwidth,
}

/// Holds one `nvlink` or `xgmi` element.
struct Wire<'a> {
    node: Node<'a, 'a>,
    gpu: usize,
    target: String,
    class: Option<u32>,
    kind: LinkKind,
    count: u32,
    /// The xGMI generation that the file tells.
    processor: Option<LinkKind>,
}

/// Whether a wire names its own GPU as its far end.
fn is_to_itself(devices: &[Found], wire: &Wire) -> bool {
    devices[wire.gpu].address.as_deref() == Some(wire.target.as_str())
}

/// The PCI device id of a GPU, where the file gives it.
pub(super) fn model(device: &Found) -> Option<&'static GpuModel> {
    let id = |attribute| {
        let digits = device.node.attribute(attribute)?.strip_prefix("0x")?;
        u16::from_str_radix(digits, 16).ok()
    };
    gpus::by_pci_id(id("vendor"), id("device")?)
}

/// Says whether a GPU may have links that the file leaves out. All may, but for those that are sold
/// without, by their PCI id or compute capability.
fn may_have_links(device: &Found) -> bool {
    if let Some(model) = model(device) {
        return model.links.is_some_and(|links| links.wiring == LinkReach::Board);
    }
    let sm = device.gpu.and_then(|gpu| gpu.attribute("sm"));
    sm.is_none_or(|sm| matches!(sm, "60" | "70" | "80" | "90" | "100" | "103"))
}

/// Returns the links of a file that names none, or none with a far end. If the option says so, each
/// GPU's links go to one NVSwitch. Else there are none, and a warning.
fn without_far_ends(tree: &mut Tree, wires: &[Wire], nvlink: Option<LinkKind>) -> Fabric {
    let gpus: Vec<usize> =
        (0..tree.devices.len()).filter(|at| tree.devices[*at].kind == DeviceKind::Gpu).collect();
    let mut fabric = Fabric::default();
    if let Some(kind) = nvlink {
        fabric.switches = 1;
        for gpu in gpus {
            let own = wires.iter().find(|wire| wire.gpu == gpu).map(|wire| wire.count);
            let known = model(&tree.devices[gpu]).and_then(|model| model.links);
            let known = known.filter(|known| known.kind == kind).map(|known| known.count);
            let count = own.or(known).unwrap_or_else(|| gpus::most_links(kind));
            fabric.bundles.push((gpu, FarEnd::Switch(0), kind, count));
        }
        tree.assumptions.push(format!(
            "The file does not say what its NVLinks join; each GPU is taken to have all of its \
             {} links to one switch, NVSwitch0 (option `nvlink`).",
            kind.name()
        ));
    } else if let Some(wire) = wires.first() {
        tree.warnings.push(format!(
            "The file's NVLinks lead from each GPU to itself ({} of {}), so they are left out: \
             {} GPUs share PCIe alone. Give the option \
             `nvlink`, such as `{}`, if they meet at NVSwitches.",
            wire.count,
            tree.devices[wire.gpu].name,
            gpus.len(),
            wire.kind.name()
        ));
    } else if gpus.len() > 1 && gpus.iter().any(|gpu| may_have_links(&tree.devices[*gpu])) {
        let known = gpus.iter().find_map(|gpu| model(&tree.devices[*gpu])?.links);
        let example = known.map_or("nvlink4", |links| links.kind.name());
        tree.warnings.push(format!(
            "The file lists {} GPUs and no NVLink between them, as clouds' files do where GPUs \
             meet at NVSwitches: without them the GPUs share PCIe alone. Give the option `nvlink`, \
             such as `{example}`, to add NVSwitches. For a mesh of NVLinks, as 8 V100 have, use \
             the preset `dgx1-v100` or the output of `nvidia-smi topo -m`.",
            gpus.len()
        ));
    }
    fabric
}

/// Finds the links.
///
/// # Errors
/// Links that only one of their two GPUs lists, targets listed twice, and targets of a
/// class that no link leads to.
pub(super) fn find(
    source: &Source,
    tree: &mut Tree,
    nvlink: Option<LinkKind>,
) -> Result<Fabric, InputError> {
    let wires = wires(source, &tree.devices, nvlink)?;
    let chip_to_chip = chip_to_chip(source, &tree.devices)?;
    if wires.iter().all(|wire| is_to_itself(&tree.devices, wire)) {
        let fabric = Fabric { chip_to_chip, ..without_far_ends(tree, &wires, nvlink) };
        check_one_domain(source, tree, &fabric)?;
        return Ok(fabric);
    }
    if wires.iter().any(|wire| wire.kind == LinkKind::Xgmi && wire.processor.is_none()) {
        tree.warnings.push(
            "The file does not name the AMD GPUs (`gcn` or `device`). Their xGMI is assumed to \
             be the MI200 series', 50 GB/s a link."
                .to_owned(),
        );
    }
    let by_address: BTreeMap<(usize, &str), usize> = tree
        .devices
        .iter()
        .enumerate()
        .filter_map(|(index, device)| Some(((device.host, device.address.as_deref()?), index)))
        .collect();
    let far_device =
        |wire: &Wire| by_address.get(&(tree.devices[wire.gpu].host, wire.target.as_str())).copied();
    let is_switch = |wire: &&Wire| wire.class == Some(NVSWITCH) && far_device(wire).is_none();
    let found: BTreeSet<&str> = wires.iter().filter(is_switch).map(|w| &*w.target).collect();
    let switches: BTreeMap<&str, usize> = found.into_iter().zip(0..).collect();
    let ends: BTreeMap<(usize, &str), &Wire> =
        wires.iter().map(|wire| ((wire.gpu, wire.target.as_str()), wire)).collect();
    let mut fabric = Fabric { switches: switches.len(), bundles: Vec::new(), chip_to_chip };
    let mut to_cpus: BTreeMap<usize, usize> = BTreeMap::new();
    let mut left_out = Vec::new();
    for wire in &wires {
        let gpu = &tree.devices[wire.gpu];
        if let Some(other) = far_device(wire) {
            check_both_ends(source, &tree.devices, &ends, wire, other)?;
            if wire.gpu < other {
                let end = FarEnd::Device(other);
                fabric.bundles.push((wire.gpu, end, wire.kind, wire.count));
            }
        } else if let Some(switch) = switches.get(wire.target.as_str()) {
            fabric.bundles.push((wire.gpu, FarEnd::Switch(*switch), wire.kind, wire.count));
        } else if wire.class == Some(NVLINK_BRIDGE) {
            let place = *to_cpus.entry(wire.gpu).or_insert(fabric.bundles.len());
            match fabric.bundles.get_mut(place) {
                Some(bundle) => bundle.3 += wire.count,
                None => {
                    let end = FarEnd::Device(gpu.top);
                    fabric.bundles.push((wire.gpu, end, wire.kind, wire.count));
                }
            }
        } else if wire.class.is_some_and(|class| class >> 16 == 0x03) {
            left_out.push(format!(
                "{} has {} links to {}, which the file does not list; they are left out.",
                gpu.name, wire.count, wire.target
            ));
        } else {
            let problem = "the link leads to no device of the file and to no NVSwitch";
            let remedy = "mend its target, or give tclass 0x068000 if that is an NVSwitch";
            return Err(source.refuse(wire.node, problem, remedy));
        }
    }
    tree.assumptions.extend(left_out);
    warn_of_gpus_without(tree, &wires);
    check_one_domain(source, tree, &fabric)?;
    Ok(fabric)
}

/// Warns of GPUs without a link beside others that have some.
fn warn_of_gpus_without(tree: &mut Tree, wires: &[Wire]) {
    let linked: BTreeSet<usize> = wires.iter().map(|wire| wire.gpu).collect();
    let without: Vec<&str> = tree
        .devices
        .iter()
        .enumerate()
        .filter(|(at, found)| found.kind == DeviceKind::Gpu && !linked.contains(at))
        .filter(|(_, found)| may_have_links(found))
        .map(|(_, found)| found.name.as_str())
        .collect();
    if !without.is_empty() {
        let link = if wires.iter().all(|wire| wire.kind.is_xgmi()) { "xGMI" } else { "NVLink" };
        let warning = format!(
            "The file lists no {link} of {}, while other GPUs have some; it is taken to have none. \
             Dump the topology again once all links are up.",
            without.join(", ")
        );
        tree.warnings.push(warning);
    }
}

/// Refuses several hosts unless NVLink joins them: a network between them has no place here.
fn check_one_domain(source: &Source, tree: &Tree, fabric: &Fabric) -> Result<(), InputError> {
    let to_switch = |end: &FarEnd| matches!(end, FarEnd::Switch(_));
    let joined: BTreeSet<usize> = fabric
        .bundles
        .iter()
        .filter(|(_, end, ..)| to_switch(end))
        .map(|(gpu, ..)| tree.devices[*gpu].host)
        .collect();
    let is_apart = |found: &&Found| found.kind == DeviceKind::Cpu && !joined.contains(&found.host);
    match tree.devices.iter().find(is_apart) {
        Some(cpu) if tree.hosts > 1 => {
            let problem =
                "the file describes several hosts, and no NVSwitch joins this one to them";
            let remedy = "keep the <cpu> elements of one host, and name the network between hosts \
                apart, or give the option `nvlink` where NVSwitches join their GPUs";
            Err(source.refuse(cpu.node, problem, remedy))
        }
        _ => Ok(()),
    }
}

fn wires<'a>(
    source: &Source,
    devices: &[Found<'a>],
    nvlink: Option<LinkKind>,
) -> Result<Vec<Wire<'a>>, InputError> {
    let mut wires = Vec::new();
    for (index, device) in devices.iter().enumerate() {
        let Some(gpu) = device.gpu else { continue };
        let mut targets = BTreeSet::new();
        let processor = gpu
            .attribute("gcn")
            .and_then(gpus::xgmi_of)
            .or_else(|| model(device)?.links.map(|own| own.kind).filter(|kind| kind.is_xgmi()));
        let links = |n: &Node| n.has_tag_name("nvlink") || n.has_tag_name("xgmi");
        for node in gpu.children().filter(links) {
            let target = source.far_end(node, "target")?;
            if !targets.insert(target.clone()) {
                let remedy = "write one element and raise its count";
                return Err(source.refuse(node, "this GPU lists the target twice", remedy));
            }
            let kind = match (node.has_tag_name("xgmi"), nvlink) {
                (true, _) => processor.unwrap_or(LinkKind::Xgmi),
                (false, Some(kind)) => kind,
                (false, None) => generation(source.number(gpu, "sm")?),
            };
            let count = source.number(node, "count")?;
            if !(1..=36).contains(&count) {
                let problem = "the number of links from a GPU to one device is out of range";
                return Err(source.refuse(node, problem, "write a count from 1 to 36"));
            }
            let class = source.class(node, "tclass")?;
            wires.push(Wire { node, gpu: index, target, class, kind, count, processor });
        }
    }
    Ok(wires)
}

/// Finds the NVLink-C2C of every GPU. `bw` of one link is in MB/s.
fn chip_to_chip(source: &Source, devices: &[Found]) -> Result<Vec<ChipToChip>, InputError> {
    let mut found: Vec<ChipToChip> = Vec::new();
    for (index, device) in devices.iter().enumerate() {
        let nodes = device.gpu.into_iter().flat_map(|gpu| gpu.children());
        for node in nodes.filter(|node| node.has_tag_name("c2c")) {
            if found.last().is_some_and(|last| last.gpu == index) {
                let remedy = "write one element and raise its count";
                return Err(source.refuse(node, "this GPU lists its NVLink-C2C twice", remedy));
            }
            let (count, megabytes) = (source.number(node, "count")?, source.number(node, "bw")?);
            let bandwidth = Bandwidth(u64::from(megabytes) * 1_000_000);
            if count == 0 || bandwidth.0 == 0 || bandwidth.0.saturating_mul(count.into()) > MOST_C2C
            {
                let problem = "no GPU has NVLink-C2C of this bandwidth";
                let remedy = "write the count of its links, and MB/s of one as `bw`";
                return Err(source.refuse(node, problem, remedy));
            }
            let cpu = device.top;
            found.push(ChipToChip { gpu: index, cpu, count, bandwidth });
        }
    }
    Ok(found)
}

/// Gives ten times what a Grace Hopper superchip has, in bytes per second.
pub(in crate::system) const MOST_C2C: u64 = 10 * LinkKind::NvlinkC2c.data_sheet().bandwidth.0;

/// Returns the NVLink generation of a compute capability, written without its dot.
pub(in crate::system) fn generation(sm: u32) -> LinkKind {
    match sm {
        ..=69 => LinkKind::Nvlink1,
        70..=79 => LinkKind::Nvlink2,
        80..=89 => LinkKind::Nvlink3,
        90..=99 => LinkKind::Nvlink4,
        100.. => LinkKind::Nvlink5,
    }
}

fn check_both_ends(
    source: &Source,
    devices: &[Found],
    wires: &BTreeMap<(usize, &str), &Wire>,
    wire: &Wire,
    other: usize,
) -> Result<(), InputError> {
    if devices[other].kind != DeviceKind::Gpu || other == wire.gpu {
        let problem = "the link leads to a device that has none, or to its own GPU";
        return Err(source.refuse(wire.node, problem, "mend the target"));
    }
    let address = devices[wire.gpu].address.as_deref().unwrap_or_default();
    let back = wires.get(&(other, address));
    if back.is_none_or(|back| back.count != wire.count || back.kind != wire.kind) {
        let (a, b) = (&devices[wire.gpu].name, &devices[other].name);
        let problem = format!("{b} does not list the same links back to {a}");
        return Err(source.refuse(wire.node, problem, "mend the wrong one of the two"));
    }
    Ok(())
}
