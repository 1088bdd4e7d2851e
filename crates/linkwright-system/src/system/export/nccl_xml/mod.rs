//! Writes the topology file that NCCL reads (`NCCL_TOPO_FILE`). For AMD GPUs it writes RCCL's.
//!
//! The file lists CPUs, PCIe switches, GPUs and network interfaces with their PCIe links, their
//! makes and their PCI addresses. It lists NVLink and xGMI from each GPU, and the speed of ports.
//! NCCL's source, `src/graph/topo.cc` and `src/graph/xml.cc`, tells what NCCL takes each attribute
//! for.

mod addresses;
mod elements;
mod fabric;
mod makes;

use std::collections::BTreeMap;

use self::addresses::Addresses;
use self::elements::Elements;
use self::fabric::Wire;
use super::host::Host;
use super::{ExportFormat, Exported};
use crate::system::error::SystemError;
use crate::system::gpus::Vendor;
use crate::system::import::nvidia_smi::is_nic_name;
use crate::system::import::paste;
use crate::system::kinds::DeviceKind;
use crate::system::locality::Affinity;
use crate::system::server::{DeviceId, Server};

/// Counts the most elements that NCCL reads (`NCCL_TOPO_XML_MAX_NODES`).
const MOST_ELEMENTS: usize = 256;
/// Gives the PCI class of a bridge.
const BRIDGE: &str = "0x060400";
/// Gives the PCI class of NVIDIA's GPUs without a display.
const CONTROLLER_3D: &str = "0x030200";
/// Gives the PCI class of AMD's accelerators.
const ACCELERATOR: &str = "0x120000";
/// Gives the PCI class of interfaces of Ethernet.
const ETHERNET: &str = "0x020000";
/// Gives the PCI class of interfaces of InfiniBand.
const INFINIBAND: &str = "0x020700";

/// Holds what a file is made of.
struct Plan<'h, 'm> {
    host: &'h Host<'m>,
    /// Lists for each device those below it, in the machine's order. Host bridges are left out.
    below: Vec<Vec<DeviceId>>,
    addresses: Vec<String>,
    /// Tells the hosts of CPUs apart, where there are several.
    host_hashes: BTreeMap<DeviceId, usize>,
    /// Numbers the GPUs.
    numbers: Vec<u32>,
    /// Names the network interfaces.
    nic_names: Vec<String>,
    wires: Vec<Vec<Wire>>,
    vendor: Option<Vendor>,
    notes: Vec<String>,
}

/// Writes the file.
///
/// # Errors
/// Refuses GPUs of several vendors, and links between GPUs that no such file can have.
pub(super) fn write(machine: &Server) -> Result<Exported, SystemError> {
    let mut host = Host::new(machine, ExportFormat::NcclXml)?;
    let vendor = one_vendor(&host)?;
    let (numbers, nic_names) = (host.numbers(), host.nic_names(is_nic_name));
    let mut notes = std::mem::take(&mut host.notes);
    let host = &host;
    let (below, tops) = arranged(host, &mut notes);
    let host_hashes = host_hashes(host);
    let mut addresses = Addresses::new(host, &host_hashes);
    let mut of_device = vec![String::new(); machine.devices().len()];
    for device in in_order(&below, &tops) {
        if elements::has_address(host, device) {
            of_device[device] = addresses.of(host, device);
        }
    }
    let wires = fabric::wires(host, &of_device, &mut addresses, &mut notes)?;
    notes.extend(addresses.note(host));
    let addresses = of_device;
    let mut plan =
        Plan { host, below, addresses, host_hashes, numbers, nic_names, wires, vendor, notes };
    let mut elements = Elements::default();
    let version = if vendor == Some(Vendor::Amd) { "2" } else { "1" };
    elements.open("system", &[("version", version.to_owned())]);
    for (cpu, numa) in tops.iter().zip(numa_ids(host, &tops)) {
        plan.cpu(&mut elements, cpu, numa);
    }
    elements.close("system");
    let count = elements.count;
    let mut notes = plan.notes;
    if count > MOST_ELEMENTS {
        notes.push(format!(
            "The file has {count} elements, and NCCL reads {MOST_ELEMENTS} at most: write one host."
        ));
    }
    Ok(Exported { text: elements.text, notes })
}

/// Gives the CPUs of each host a number above zero, where NVSwitches join several hosts.
fn host_hashes(host: &Host) -> BTreeMap<DeviceId, usize> {
    host.joined_hosts().into_iter().map(|(cpu, host)| (cpu, host + 1)).collect()
}

/// Holds a CPU of the file with what hangs from it. Where `device` is none, the machine has no CPU.
struct Top {
    device: Option<DeviceId>,
    below: Vec<DeviceId>,
}

/// Finds the vendor of all GPUs, where any is known.
fn one_vendor(host: &Host) -> Result<Option<Vendor>, SystemError> {
    let mut vendors: Vec<Vendor> = Vec::new();
    for gpu in host.machine.gpus() {
        let found = host.vendor(*gpu);
        let strange = found.is_none() && host.device(*gpu).vendor_id().is_some();
        if strange || found.is_some_and(|it| vendors.first().is_some_and(|first| *first != it)) {
            let problem = format!(
                "NCCL reads GPUs of NVIDIA and RCCL those of AMD, and `{}` is not as the others",
                host.device(*gpu).name
            );
            return Err(host.refuse(problem, "write it as toml or json"));
        }
        vendors.extend(found);
    }
    Ok(vendors.first().copied())
}

/// Lists what stands below each device and each CPU. Host bridges are left out.
fn arranged(host: &Host, notes: &mut Vec<String>) -> (Vec<Vec<DeviceId>>, Vec<Top>) {
    let machine = host.machine;
    let mut below = vec![Vec::new(); machine.devices().len()];
    let mut loose = Vec::new();
    let shown = |id: DeviceId| {
        matches!(host.device(id).kind, DeviceKind::Gpu | DeviceKind::PcieSwitch | DeviceKind::Nic)
    };
    for device in (0..machine.devices().len()).filter(|id| shown(*id)) {
        let mut up = host.above(device).map(|(_, up)| up);
        while let Some(bridge) = up.filter(|up| host.device(*up).kind == DeviceKind::HostBridge) {
            up = host.above(bridge).map(|(_, up)| up);
        }
        match up {
            Some(up) => below[up].push(device),
            None => loose.push(device),
        }
    }
    let mut tops: Vec<Top> = Vec::new();
    for cpu in &host.cpus {
        tops.push(Top { device: Some(*cpu), below: std::mem::take(&mut below[*cpu]) });
    }
    if let Some(first) = loose.first() {
        let none = tops.is_empty();
        let whose = if none { "a CPU that is made up" } else { "the first CPU" };
        notes.push(format!(
            "The machine does not say which CPU holds {}{}; the file has {whose} above.",
            host.device(*first).name,
            if loose.len() > 1 {
                format!(" and {} others", loose.len() - 1)
            } else {
                String::new()
            }
        ));
        if none {
            tops.push(Top { device: None, below: Vec::new() });
        }
        tops[0].below.extend(loose);
        tops[0].below.sort_unstable();
    }
    (below, tops)
}

/// Lists every device of the file, in its order.
fn in_order(below: &[Vec<DeviceId>], tops: &[Top]) -> Vec<DeviceId> {
    let mut order = Vec::new();
    let mut pending: Vec<DeviceId> =
        tops.iter().rev().flat_map(|top| top.below.iter().rev()).copied().collect();
    while let Some(device) = pending.pop() {
        order.push(device);
        pending.extend(below[device].iter().rev());
    }
    order
}

/// Gives each CPU a NUMA node: its own, or the one near its GPUs, else the next that is free. Where
/// two would have the same, all get their places.
fn numa_ids(host: &Host, tops: &[Top]) -> Vec<u32> {
    let one = |nodes: &Affinity| paste::number(&nodes.to_string());
    let near = |cpu: DeviceId| {
        let gpus = host.machine.gpus().iter().filter(|gpu| host.cpu(**gpu) == Some(cpu));
        let mut of_gpus = gpus.map(|gpu| host.device(*gpu).locality.numa_affinity.as_ref());
        let own = host.device(cpu).locality.numa_affinity.as_ref();
        own.or_else(|| of_gpus.next().flatten()).and_then(one)
    };
    let own: Vec<Option<u32>> = tops.iter().map(|top| near(top.device?)).collect();
    let mut next = own.iter().flatten().max().map_or(0, |most| most.saturating_add(1));
    let mut ids = Vec::new();
    for id in own {
        ids.push(id.unwrap_or(next));
        next += u32::from(id.is_none());
    }
    let mut sorted = ids.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if sorted.len() < ids.len() { (0..).take(ids.len()).collect() } else { ids }
}
