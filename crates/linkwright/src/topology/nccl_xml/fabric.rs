//! NVLinks and xGMI links of a topology file.

use std::collections::{BTreeMap, BTreeSet};

use roxmltree::Node;

use super::attributes::Source;
use super::tree::{Found, Tree};
use crate::diagnostic::InputError;
use crate::topology::kinds::{DeviceKind, LinkKind};

/// The PCI class of an NVSwitch.
const NVSWITCH: u32 = 0x06_8000;
/// The PCI class under which a POWER processor shows its NVLinks.
const NVLINK_BRIDGE: u32 = 0x06_8001;

/// The far end of a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FarEnd {
    /// A device of the file.
    Device(usize),
    /// An NVSwitch, by its number.
    Switch(usize),
}

/// Links between GPUs, and to NVSwitches and CPUs.
#[derive(Debug, Default)]
pub(super) struct Fabric {
    /// How many NVSwitches there are.
    pub(super) switches: usize,
    /// Each bundle once: a GPU, the far end, the kind and the count.
    pub(super) bundles: Vec<(usize, FarEnd, LinkKind, u32)>,
}

/// One `nvlink` or `xgmi` element.
struct Wire<'a> {
    node: Node<'a, 'a>,
    gpu: usize,
    target: String,
    class: Option<u32>,
    kind: LinkKind,
    count: u32,
}

/// Finds the links.
///
/// # Errors
/// Links that only one of their two GPUs lists, targets listed twice, and targets of a
/// class that no link leads to.
pub(super) fn find(source: &Source, tree: &mut Tree) -> Result<Fabric, InputError> {
    let wires = wires(source, &tree.devices)?;
    let by_address: BTreeMap<&str, usize> = tree
        .devices
        .iter()
        .enumerate()
        .filter_map(|(index, device)| Some((device.address.as_deref()?, index)))
        .collect();
    let is_switch = |wire: &&Wire| {
        wire.class == Some(NVSWITCH) && !by_address.contains_key(wire.target.as_str())
    };
    let switches: BTreeSet<&str> = wires.iter().filter(is_switch).map(|w| &*w.target).collect();
    let mut fabric = Fabric { switches: switches.len(), bundles: Vec::new() };
    let mut left_out = Vec::new();
    for wire in &wires {
        let gpu = &tree.devices[wire.gpu];
        if let Some(other) = by_address.get(wire.target.as_str()).copied() {
            check_both_ends(source, &tree.devices, &wires, wire, other)?;
            if wire.gpu < other {
                let end = FarEnd::Device(other);
                fabric.bundles.push((wire.gpu, end, wire.kind, wire.count));
            }
        } else if let Some(switch) = switches.iter().position(|s| *s == wire.target) {
            fabric.bundles.push((wire.gpu, FarEnd::Switch(switch), wire.kind, wire.count));
        } else if wire.class == Some(NVLINK_BRIDGE) {
            let end = FarEnd::Device(socket_of(&tree.devices, wire.gpu));
            let same = |b: &&mut (usize, FarEnd, LinkKind, u32)| b.0 == wire.gpu && b.1 == end;
            match fabric.bundles.iter_mut().find(same) {
                Some(bundle) => bundle.3 += wire.count,
                None => fabric.bundles.push((wire.gpu, end, wire.kind, wire.count)),
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
    Ok(fabric)
}

fn wires<'a>(source: &Source, devices: &[Found<'a>]) -> Result<Vec<Wire<'a>>, InputError> {
    let mut wires = Vec::new();
    for (index, device) in devices.iter().enumerate() {
        let Some(gpu) = device.gpu else { continue };
        let mut targets = BTreeSet::new();
        let links = |n: &Node| n.has_tag_name("nvlink") || n.has_tag_name("xgmi");
        for node in gpu.children().filter(links) {
            let target = source.address(node, "target")?;
            if !targets.insert(target.clone()) {
                let remedy = "write one element and raise its count";
                return Err(source.refuse(node, "this GPU lists the target twice", remedy));
            }
            let kind = if node.has_tag_name("xgmi") {
                LinkKind::Xgmi
            } else {
                generation(source.number(gpu, "sm")?)
            };
            let count = source.number(node, "count")?;
            if !(1..=36).contains(&count) {
                let problem = "no GPU has so many links to one device, or none";
                return Err(source.refuse(node, problem, "write a count from 1 to 36"));
            }
            let class = source.class(node, "tclass")?;
            wires.push(Wire { node, gpu: index, target, class, kind, count });
        }
    }
    Ok(wires)
}

/// The NVLink generation of a compute capability, written without its dot.
fn generation(sm: u32) -> LinkKind {
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
    wires: &[Wire],
    wire: &Wire,
    other: usize,
) -> Result<(), InputError> {
    if devices[other].kind != DeviceKind::Gpu || other == wire.gpu {
        let problem = "the link leads to a device that has none, or to its own GPU";
        return Err(source.refuse(wire.node, problem, "mend the target"));
    }
    let address = devices[wire.gpu].address.as_deref().unwrap_or_default();
    let back = wires.iter().find(|back| back.gpu == other && back.target == address);
    if back.is_none_or(|back| back.count != wire.count || back.kind != wire.kind) {
        let (a, b) = (&devices[wire.gpu].name, &devices[other].name);
        let problem = format!("{b} does not list the same links back to {a}");
        return Err(source.refuse(wire.node, problem, "mend the wrong one of the two"));
    }
    Ok(())
}

fn socket_of(devices: &[Found], device: usize) -> usize {
    let mut at = device;
    while let Some(parent) = devices[at].parent {
        at = parent;
    }
    at
}
