//! Reads the topology file that NCCL and RCCL write (`NCCL_TOPO_DUMP_FILE`) and read
//! (`NCCL_TOPO_FILE`).
//!
//! It represents CPUs, PCIe switches, GPUs and network interfaces. It represents the PCIe, NVLink
//! and xGMI links between them, and NVLink-C2C, with the bandwidths that the file gives. It tells how
//! fast a network interface's ports are together. It leaves out PCIe host bridges, which the file
//! does not name.

mod attributes;
mod fabric;
#[cfg(test)]
mod tests;
mod tree;
mod uplinks;

use self::attributes::Source;
pub(in crate::system) use self::attributes::is_bus_id;
use self::fabric::FarEnd;
pub(in crate::system) use self::fabric::{MOST_C2C, generation};
use self::tree::{Found, Tree};
use crate::diagnostic::{InputError, Position, Registered};
use crate::system::error::SystemError;
use crate::system::import::{ImportFormat, ImportOptions, models, sockets};
use crate::system::kinds::{DeviceKind, LinkKind};
use crate::system::server::{Device, DeviceId, Link, Server, ServerBuilder};
use crate::xml;

/// More nodes than the file of any server has.
const MOST_NODES: u32 = 20_000;
const MOST_BYTES: usize = 8 << 20;

/// Reads the XML file that NCCL and RCCL write and read.
#[derive(Debug)]
pub struct NcclXml;

impl Registered for NcclXml {
    fn name(&self) -> &'static str {
        "nccl-xml"
    }
}

impl ImportFormat for NcclXml {
    fn looks_like(&self, text: &str) -> bool {
        text.starts_with('<')
    }

    fn read(&self, file: &str, text: &str, options: &ImportOptions) -> Result<Server, SystemError> {
        let ImportOptions { name, pcie, nvlink, .. } = options.clone();
        read(file, text, &NcclXmlOptions { name, pcie, nvlink })
    }
}

/// Holds facts that the file may not say and its owner may know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NcclXmlOptions {
    /// Names the machine; `nccl-xml` where absent.
    pub name: Option<String>,
    /// The PCIe generation of links whose speed the file does not give; PCIe 3 where
    /// absent, as NCCL takes it. Also of a switch's uplink whose speed in the file is that of an
    /// idle or virtual bridge.
    pub pcie: Option<LinkKind>,
    /// The NVLink generation, where the file's compute capabilities do not tell it. Where the
    /// file lists no NVLink, each GPU gets all of that generation to one NVSwitch.
    pub nvlink: Option<LinkKind>,
}

/// Reads a machine from NCCL's topology XML; `file` names it in errors.
///
/// # Errors
/// Refuses a text that is not XML or has a document type. Refuses elements and attributes that NCCL
/// does not write, and links that their two ends do not agree on. Each error has its place.
pub fn read(file: &str, text: &str, options: &NcclXmlOptions) -> Result<Server, SystemError> {
    let start = Position { line: 1, column: 1 };
    if let Some(kind) = options.pcie.filter(|kind| !kind.is_pcie()) {
        let problem = "the option `pcie` is no generation of pcie";
        let remedy = "choose such as pcie4, or leave the option out";
        return Err(InputError::at(file, start, problem, kind.name(), remedy).into());
    }
    if let Some(kind) = options.nvlink.filter(|kind| !kind.is_nvlink()) {
        let problem = "the option `nvlink` is no generation of nvlink";
        let remedy = "choose such as nvlink3, or leave the option out";
        return Err(InputError::at(file, start, problem, kind.name(), remedy).into());
    }
    if text.len() > MOST_BYTES {
        let problem = format!("the file has {} bytes, more than any server's", text.len());
        let remedy = "give the topology of one server, of at most 8 MiB";
        return Err(InputError::at(file, start, problem, "", remedy).into());
    }
    let remedy = "give the whole file that NCCL_TOPO_DUMP_FILE names";
    let document = xml::parse(file, text, MOST_NODES, remedy)?;
    let remedy = "dump the topology again with NCCL_TOPO_DUMP_FILE";
    let source = Source { file, document: &document, remedy };
    let mut tree = tree::walk(&source)?;
    let fabric = fabric::find(&source, &mut tree, options.nvlink)?;
    if !tree.devices.iter().any(|device| device.kind == DeviceKind::Gpu) {
        let remedy = "dump the topology from a run that uses the GPUs";
        let problem = "the file lists no GPU";
        return Err(source.refuse(document.root_element(), problem, remedy).into());
    }

    let name = options.name.as_deref().unwrap_or("nccl-xml");
    let mut builder = ServerBuilder::new(name, "NCCL topology file");
    for warning in &tree.warnings {
        builder.warn(warning.as_str());
    }
    for assumption in &tree.assumptions {
        builder.assume(assumption.as_str());
    }
    let (ids, switches) = add_devices(&source, &mut builder, &tree, fabric.switches)?;
    let gpus = ordered(&tree, DeviceKind::Gpu).map(|(_, gpu)| {
        (gpu.name.as_str(), fabric::model(gpu).map(|model| model.product.as_str()))
    });
    let remedy = "no GPU is known by the file's PCI ids, or it has none";
    models::note_unknown(&mut builder, gpus, remedy);
    let to_host = |gpu: usize| {
        let cpu =
            |end| matches!(end, FarEnd::Device(far) if tree.devices[far].kind == DeviceKind::Cpu);
        fabric.chip_to_chip.iter().any(|c2c| c2c.gpu == gpu)
            || fabric.bundles.iter().any(|(from, end, ..)| *from == gpu && cpu(*end))
    };
    uplinks::add(&mut builder, &tree, &ids, options, to_host)?;
    let has_c2c = !fabric.chip_to_chip.is_empty();
    for c2c in &fabric.chip_to_chip {
        let kind = LinkKind::NvlinkC2c;
        let latency = kind.data_sheet().latency;
        let (a, b) = (ids[c2c.gpu], ids[c2c.cpu]);
        let (count, bandwidth) = (c2c.count, c2c.bandwidth);
        let (discipline, flits, measured) = (None, None, None);
        builder.link(Link {
            a,
            b,
            kind,
            count,
            bandwidth,
            latency,
            discipline,
            flits,
            measured,
        })?;
    }
    for (gpu, end, kind, count) in fabric.bundles {
        let end = match end {
            FarEnd::Device(device) => ids[device],
            FarEnd::Switch(switch) => switches[switch],
        };
        builder.data_sheet_link(ids[gpu], end, kind, count)?;
    }
    let cpus: Vec<&Found> = ordered(&tree, DeviceKind::Cpu).map(|(_, cpu)| cpu).collect();
    let mut sockets_of = vec![Vec::new(); tree.hosts];
    for (index, cpu) in ordered(&tree, DeviceKind::Cpu) {
        sockets_of[cpu.host].push(ids[index]);
    }
    sockets::join(&mut builder, &sockets_of, socket_link(&cpus, has_c2c))?;
    Ok(builder.build()?)
}

/// Lists the devices of one kind, in the order of a machine.
fn ordered<'t, 'a>(
    tree: &'t Tree<'a>,
    kind: DeviceKind,
) -> impl Iterator<Item = (usize, &'t Found<'a>)> {
    let mut devices: Vec<(usize, &Found)> =
        tree.devices.iter().enumerate().filter(|(_, device)| device.kind == kind).collect();
    let host = |device: &Found| if kind == DeviceKind::Cpu { device.host } else { 0 };
    devices.sort_by_key(|(_, device)| (host(device), device.order));
    devices.into_iter()
}

/// Adds every device, and the NVSwitches, which the file names only as far ends of links.
fn add_devices(
    source: &Source,
    builder: &mut ServerBuilder,
    tree: &Tree,
    switch_count: usize,
) -> Result<(Vec<DeviceId>, Vec<DeviceId>), SystemError> {
    let mut ids = vec![0; tree.devices.len()];
    let mut switches = Vec::new();
    for kind in DeviceKind::ALL {
        for (number, (index, device)) in ordered(tree, kind).enumerate() {
            let cpu = format!("CPU{number}");
            let name = if kind == DeviceKind::Cpu { &cpu } else { &device.name };
            let model = fabric::model(device).filter(|_| kind == DeviceKind::Gpu);
            let model = model.map(|model| model.product.as_str());
            let (identity, locality) = (tree.identity(index), tree.locality(index));
            let speed = device.speed;
            let device_of_file =
                Device { identity, locality, speed, ..Device::new(name, kind, model) };
            ids[index] = builder.add(device_of_file).map_err(|_| {
                let problem = format!("another device is named {name}, too");
                source.refuse(device.node, problem, "give each interface a name of its own")
            })?;
        }
        if kind == DeviceKind::NvSwitch {
            for number in 0..switch_count {
                switches.push(builder.device(&format!("NVSwitch{number}"), kind, None)?);
            }
        }
    }
    Ok((ids, switches))
}

/// The link between sockets of the processors that the file names: Intel's since Skylake
/// (family 6, model 85) is UPI. Grace processors, whose GPUs have NVLink-C2C, have it, too.
fn socket_link(cpus: &[&Found], has_c2c: bool) -> LinkKind {
    let attribute = |name| cpus.iter().find_map(|cpu| cpu.node.attribute(name)).unwrap_or_default();
    let number = |name| attribute(name).parse().unwrap_or(0);
    let intel = (number("familyid"), number("modelid")) >= (6, 85);
    match (attribute("arch"), attribute("vendor")) {
        ("ppc64" | "ppc64le", _) => LinkKind::Xbus,
        ("arm64", _) if has_c2c => LinkKind::NvlinkC2c,
        (_, "AuthenticAMD" | "AMD") => LinkKind::InfinityFabric,
        (_, "GenuineIntel") if intel => LinkKind::Upi,
        (_, "GenuineIntel") => LinkKind::Qpi,
        _ => sockets::default_link(cpus.len()),
    }
}
