//! Finds the NVLinks and xGMI links of a topology file.

use super::addresses::Addresses;
use super::makes::{self, Chip};
use super::{ACCELERATOR, CONTROLLER_3D};
use crate::system::error::SystemError;
use crate::system::export::host::Host;
use crate::system::gpus;
use crate::system::import::nccl_xml::{MOST_C2C, generation};
use crate::system::import::nvidia_smi::MOST_NVLINKS;
use crate::system::kinds::{DeviceKind, LinkKind};
use crate::system::server::{DeviceId, Link};

/// Gives the PCI class of an NVSwitch.
const NVSWITCH: &str = "0x068000";
/// Gives the PCI class under which a processor shows its NVLinks.
const NVLINK_BRIDGE: &str = "0x068001";

/// Holds one element below a `gpu`.
pub(super) enum Wire {
    /// Holds NVLinks, or xGMI links.
    Links {
        /// Names their element.
        element: &'static str,
        /// Gives the PCI address of the far end.
        target: String,
        /// Counts them.
        count: u32,
        /// Gives the PCI class of the far end.
        class: &'static str,
    },
    /// Holds NVLink-C2C to the GPU's own CPU.
    ChipToChip {
        /// Counts its links.
        count: u32,
        /// Gives the bandwidth of one link, in MB/s.
        megabytes: u64,
    },
}

/// Lists the links of each device, in the machine's order. Only GPUs have any.
///
/// # Errors
/// Refuses links to a CPU that is not the GPU's own, and links of two kinds between two GPUs.
/// Refuses more of them than a GPU has.
pub(super) fn wires(
    host: &Host,
    addresses: &[String],
    free: &mut Addresses,
    notes: &mut Vec<String>,
) -> Result<Vec<Vec<Wire>>, SystemError> {
    let machine = host.machine;
    let mut others: Vec<String> = addresses.to_vec();
    for kind in [DeviceKind::NvSwitch, DeviceKind::Cpu] {
        for (id, device) in machine.devices().iter().enumerate() {
            if device.kind == kind {
                others[id] = free.free();
            }
        }
    }
    let mut wires: Vec<Vec<Wire>> = machine.devices().iter().map(|_| Vec::new()).collect();
    let mut between_switches = 0;
    let mut odd = None;
    for link in machine.links() {
        if link.kind != LinkKind::NvlinkC2c && !link.kind.is_gpu_fabric() {
            continue;
        }
        let kinds = [link.a, link.b].map(|end| host.device(end).kind);
        if kinds == [DeviceKind::NvSwitch; 2] {
            between_switches += 1;
            continue;
        }
        // Links between sockets have no place in the file, of whatever kind.
        if kinds == [DeviceKind::Cpu; 2] {
            continue;
        }
        let said = told(host, link);
        if said.iter().any(|kind| Some(kind) != said.first()) {
            return Err(refused(
                host,
                link,
                "the GPUs at its ends have links of other generations",
            ));
        }
        if said.first().is_some_and(|kind| *kind != link.kind) {
            odd = odd.or(Some((link, said[0])));
        }
        for end in
            [link.a, link.b].into_iter().filter(|end| host.device(*end).kind == DeviceKind::Gpu)
        {
            let wire = wire(host, link, end, &others)?;
            let again = |known: &&Wire| match (known, &wire) {
                (Wire::Links { target: a, .. }, Wire::Links { target: b, .. }) => a == b,
                (Wire::ChipToChip { .. }, Wire::ChipToChip { .. }) => true,
                _ => false,
            };
            if wires[end].iter().any(|known| again(&known)) {
                let problem = "two bundles of different kinds join the same two devices";
                return Err(refused(host, link, problem));
            }
            wires[end].push(wire);
        }
        if !kinds.contains(&DeviceKind::Gpu) {
            return Err(refused(host, link, "only GPUs have such links"));
        }
    }
    if between_switches > 0 {
        notes.push(format!(
            "The {between_switches} bundles between NVSwitches have no place in the file; NCCL takes \
             all NVSwitches to be one."
        ));
    }
    if let Some((link, said)) = odd {
        notes.push(format!(
            "The file tells the generation of links by the GPUs: those of {} are taken to be {}, and \
             not {}.",
            host.device(link.a).name,
            said.name(),
            link.kind.name()
        ));
    }
    Ok(wires)
}

/// Gives the generation that the file tells of a link at each of its ends that is a GPU.
fn told(host: &Host, link: &Link) -> Vec<LinkKind> {
    let gpus = [link.a, link.b].into_iter().filter(|end| host.device(*end).kind == DeviceKind::Gpu);
    if link.kind == LinkKind::NvlinkC2c {
        return Vec::new();
    }
    let of_gpu = |gpu| match makes::chip(host, gpu) {
        Chip::Nvidia(sm) => sm.map(generation),
        Chip::Amd(Some((processor, _))) => gpus::xgmi_of(processor),
        Chip::Amd(None) => Some(LinkKind::Xgmi),
    };
    gpus.filter_map(of_gpu).collect()
}

/// Gives the element of a link at one of its ends, a GPU.
fn wire(
    host: &Host,
    link: &Link,
    gpu: DeviceId,
    addresses: &[String],
) -> Result<Wire, SystemError> {
    let far = link.other_end(gpu);
    let kind = host.device(far).kind;
    if kind == DeviceKind::Cpu && host.cpu(gpu) != Some(far) {
        return Err(refused(host, link, "a GPU has such links to its own CPU alone"));
    }
    if link.kind == LinkKind::NvlinkC2c {
        if kind != DeviceKind::Cpu {
            return Err(refused(host, link, "such links lead to CPUs"));
        }
        let megabytes = link.bandwidth.0 / 1_000_000;
        if megabytes * 1_000_000 != link.bandwidth.0 || link.nominal_bandwidth().0 > MOST_C2C {
            return Err(refused(host, link, "the bandwidth is none in whole MB/s of such a link"));
        }
        return Ok(Wire::ChipToChip { count: link.count, megabytes });
    }
    if link.count > MOST_NVLINKS {
        return Err(refused(host, link, "these are more links to one device than a GPU has"));
    }
    let class = match kind {
        DeviceKind::Gpu if link.kind.is_xgmi() => ACCELERATOR,
        DeviceKind::Gpu => CONTROLLER_3D,
        DeviceKind::NvSwitch => NVSWITCH,
        DeviceKind::Cpu => NVLINK_BRIDGE,
        _ => return Err(refused(host, link, "such links lead to GPUs, NVSwitches and CPUs")),
    };
    let element = if link.kind.is_xgmi() { "xgmi" } else { "nvlink" };
    Ok(Wire::Links { element, target: addresses[far].clone(), count: link.count, class })
}

fn refused(host: &Host, link: &Link, why: &str) -> SystemError {
    let name = |id: DeviceId| host.device(id).name.as_str();
    let problem = format!(
        "of the {} link between `{}` and `{}`, {why}",
        link.kind.name(),
        name(link.a),
        name(link.b)
    );
    host.refuse(problem, "write it as toml or json")
}
