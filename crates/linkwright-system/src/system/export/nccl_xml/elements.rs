//! Writes the elements of a topology file, one after another.

use std::fmt::Write as _;

use super::fabric::Wire;
use super::makes::{self, Chip};
use super::{ACCELERATOR, BRIDGE, CONTROLLER_3D, ETHERNET, INFINIBAND, Plan, Top};
use crate::system::adapters::is_infiniband;
use crate::system::export::host::Host;
use crate::system::gpus::Vendor;
use crate::system::kinds::{DeviceKind, LinkKind};
use crate::system::server::{DeviceId, Link};

/// Lists the widths that a PCIe link can have, in lanes.
const WIDTHS: [u64; 7] = [1, 2, 4, 8, 12, 16, 32];
/// Gives the features that RCCL expects of a GPU. All of AMD's accelerators have them.
const AMD_FEATURES: &str = "38911";

/// Holds a text of elements, as NCCL writes it: one to a line, two spaces for each level.
#[derive(Default)]
pub(super) struct Elements {
    /// Holds the elements written until now.
    pub(super) text: String,
    /// Counts the elements that it has.
    pub(super) count: usize,
    depth: usize,
}

type Attributes = [(&'static str, String)];

impl Elements {
    fn start(&mut self, name: &str, attributes: &Attributes) {
        let _ = write!(self.text, "{:1$}<{name}", "", 2 * self.depth);
        for (name, value) in attributes {
            let _ = write!(self.text, " {name}=\"{value}\"");
        }
        self.count += 1;
    }

    /// Opens an element with others inside.
    pub(super) fn open(&mut self, name: &str, attributes: &Attributes) {
        self.start(name, attributes);
        self.text.push_str(">\n");
        self.depth += 1;
    }

    /// Ends it.
    pub(super) fn close(&mut self, name: &str) {
        self.depth -= 1;
        let _ = writeln!(self.text, "{:1$}</{name}>", "", 2 * self.depth);
    }

    /// Writes an element with nothing inside.
    fn single(&mut self, name: &str, attributes: &Attributes) {
        self.start(name, attributes);
        self.text.push_str("/>\n");
    }
}

/// Tells whether a device has a PCI address in the file. All have but a network interface on its
/// CPU.
pub(super) fn has_address(host: &Host, device: DeviceId) -> bool {
    host.device(device).kind != DeviceKind::Nic || !is_on_cpu(host, device)
}

/// Tells whether a network interface hangs from a CPU without PCIe, as virtual ones do.
fn is_on_cpu(host: &Host, nic: DeviceId) -> bool {
    host.above(nic).is_some_and(|(link, up)| {
        link.kind == LinkKind::OnDie && host.device(up).kind == DeviceKind::Cpu
    })
}

impl Plan<'_, '_> {
    /// Writes a CPU and all below it.
    pub(super) fn cpu(&mut self, elements: &mut Elements, top: &Top, numa: u32) {
        let host = top.device.and_then(|cpu| self.host_hashes.get(&cpu));
        let mut attributes: Vec<(&str, String)> =
            host.map(|hash| ("host_hash", format!("{hash:#x}"))).into_iter().collect();
        attributes.push(("numaid", numa.to_string()));
        let near = |id: DeviceId| self.host.device(id).locality.cpu_affinity.clone();
        let cores = top.device.and_then(|cpu| {
            let gpus = top.below.iter().chain(self.host.machine.gpus());
            let mut own = gpus.filter(|gpu| self.host.cpu(**gpu) == Some(cpu));
            near(cpu).or_else(|| own.find_map(|gpu| near(*gpu)))
        });
        attributes.extend(cores.and_then(|it| it.to_mask()).map(|mask| ("affinity", mask)));
        attributes.extend(self.processor(top.device));
        elements.open("cpu", &attributes);
        // Devices and, where one has others below, its end: a deep tree needs no deep stack.
        let mut pending: Vec<(DeviceId, bool)> =
            top.below.iter().rev().map(|device| (*device, false)).collect();
        while let Some((device, is_end)) = pending.pop() {
            if is_end {
                elements.close("pci");
                continue;
            }
            match self.host.device(device).kind {
                DeviceKind::Nic if is_on_cpu(self.host, device) => self.nic(elements, device),
                DeviceKind::PcieSwitch if self.below[device].is_empty() => {
                    let attributes = self.pci(device, BRIDGE);
                    elements.single("pci", &attributes);
                }
                kind => {
                    let class = match kind {
                        DeviceKind::PcieSwitch => BRIDGE,
                        DeviceKind::Gpu if self.vendor == Some(Vendor::Amd) => ACCELERATOR,
                        DeviceKind::Gpu => CONTROLLER_3D,
                        _ if is_infiniband(self.host.device(device)) => INFINIBAND,
                        _ => ETHERNET,
                    };
                    let attributes = self.pci(device, class);
                    elements.open("pci", &attributes);
                    pending.push((device, true));
                    match kind {
                        DeviceKind::Gpu => self.gpu(elements, device),
                        DeviceKind::Nic => self.nic(elements, device),
                        _ => pending.extend(self.below[device].iter().rev().map(|it| (*it, false))),
                    }
                }
            }
        }
        elements.close("cpu");
    }

    /// Says what a CPU is: by its own ids, else by those of its product or of its link to others.
    fn processor(&self, cpu: Option<DeviceId>) -> Vec<(&'static str, String)> {
        let known = cpu.and_then(|cpu| makes::processor(self.host, cpu));
        let arch = known.map_or("x86_64", |known| known.arch);
        let mut attributes = vec![("arch", arch.to_owned())];
        let identity = cpu.map(|cpu| &self.host.device(cpu).identity);
        let own = identity.and_then(|it| it.vendor_id.clone());
        let cpuid = known.and_then(|known| known.cpuid);
        let by_product =
            cpuid.filter(|(vendor, ..)| own.as_deref().is_none_or(|own| own == *vendor));
        let vendor = own.or_else(|| by_product.map(|(vendor, ..)| vendor.to_owned()));
        // NCCL asks for a vendor of x86, and takes one that it does not know for no other.
        attributes.extend(
            vendor
                .or_else(|| (arch == "x86_64").then(String::new))
                .map(|it| ("vendor", escaped(&it))),
        );
        let make =
            identity.and_then(|it| it.device_id.as_deref()).and_then(|id| id.split_once(':'));
        let make = make.map(|(family, model)| (family.to_owned(), model.to_owned()));
        let make = make.or_else(|| by_product.map(|(_, f, m)| (f.to_string(), m.to_string())));
        if let Some((family, model)) = make {
            attributes.extend([("familyid", family), ("modelid", model)]);
        }
        attributes
    }

    /// Gives the attributes of a PCI device.
    fn pci(&mut self, device: DeviceId, class: &str) -> Vec<(&'static str, String)> {
        let found = self.host.device(device);
        let mut attributes =
            vec![("busid", self.addresses[device].clone()), ("class", class.to_owned())];
        match makes::pci_id(found) {
            Some((vendor, id)) => {
                attributes.extend([("vendor", hex(&vendor)), ("device", hex(&id))]);
            }
            None => attributes.extend(found.vendor_id().map(|vendor| ("vendor", hex(vendor)))),
        }
        if let Some(board) = found.identity.subsystem_id {
            attributes.push(("subsystem_vendor", format!("{:#06x}", board.vendor)));
            attributes.push(("subsystem_device", format!("{:#06x}", board.device)));
        }
        let link = self.host.above(device).map(|(link, _)| link);
        let (speed, width) = match link.and_then(|link| Some((link, rate(link.kind)?))) {
            Some((link, rate)) => (format!("{rate} GT/s PCIe"), self.lanes(device, link)),
            None => ("Unknown".to_owned(), 0),
        };
        attributes.extend([("link_speed", speed), ("link_width", width.to_string())]);
        attributes
    }

    /// Counts the lanes of a PCIe link by its bandwidth. Where no width has it, takes the nearest.
    fn lanes(&mut self, device: DeviceId, link: &Link) -> u64 {
        let lane = link.kind.data_sheet().bandwidth.0 / 16;
        let total = link.nominal_bandwidth();
        let apart = |lanes: &u64| total.0.abs_diff(lanes * lane);
        let nearest = WIDTHS.into_iter().min_by_key(apart).unwrap_or(16);
        if nearest * lane != total.0 {
            self.notes.push(format!(
                "The PCIe link above {} has {total}, which no number of lanes gives; the file has \
                 {nearest}.",
                self.host.device(device).name
            ));
        }
        nearest
    }

    /// Writes a GPU, with what its chip is and its links to others.
    fn gpu(&mut self, elements: &mut Elements, gpu: DeviceId) {
        let place = self.host.machine.gpus().binary_search(&gpu).unwrap_or(0);
        let number = self.numbers[place].to_string();
        let mut attributes = vec![("dev", number.clone())];
        match makes::chip(self.host, gpu) {
            Chip::Nvidia(sm) => attributes.extend(sm.map(|sm| ("sm", sm.to_string()))),
            Chip::Amd(None) => {}
            Chip::Amd(Some((processor, units))) => attributes.extend([
                ("sm", units.to_string()),
                ("gcn", processor.to_owned()),
                ("arch", AMD_FEATURES.to_owned()),
            ]),
        }
        attributes.extend([("rank", number), ("gdr", "1".to_owned())]);
        let wires = &self.wires[gpu];
        if wires.is_empty() {
            return elements.single("gpu", &attributes);
        }
        elements.open("gpu", &attributes);
        for wire in wires {
            match wire {
                Wire::Links { element, target, count, class } => elements.single(
                    element,
                    &[
                        ("target", target.clone()),
                        ("count", count.to_string()),
                        ("tclass", (*class).to_owned()),
                    ],
                ),
                Wire::ChipToChip { count, megabytes } => elements
                    .single("c2c", &[("bw", megabytes.to_string()), ("count", count.to_string())]),
            }
        }
        elements.close("gpu");
    }

    /// Writes a network interface and its port.
    fn nic(&mut self, elements: &mut Elements, nic: DeviceId) {
        let place = self.host.nics.binary_search(&nic).unwrap_or(0);
        let device = self.host.device(nic);
        let name = self.nic_names[place].clone();
        let mut attributes = vec![("name", name), ("dev", place.to_string())];
        match makes::port_speed(device) {
            Some(speed) => attributes.push(("speed", speed.to_string())),
            None => self.notes.push(format!(
                "The machine does not say how fast {} is; NCCL takes it for 10 Gb/s. Give it a \
                 `speed` in Mb/s.",
                device.name
            )),
        }
        let rest = [("port", "1"), ("maxconn", "131072"), ("gdr", "1")];
        attributes.extend(rest.map(|(name, value)| (name, value.to_owned())));
        elements.open("nic", &[]);
        elements.single("net", &attributes);
        elements.close("nic");
    }
}

fn hex(id: &str) -> String {
    format!("0x{id}")
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

/// Gives the transfer rate of a generation of PCIe, in GT/s, as Linux writes it.
fn rate(kind: LinkKind) -> Option<&'static str> {
    match kind {
        LinkKind::Pcie1 => Some("2.5"),
        LinkKind::Pcie2 => Some("5.0"),
        LinkKind::Pcie3 => Some("8.0"),
        LinkKind::Pcie4 => Some("16.0"),
        LinkKind::Pcie5 => Some("32.0"),
        LinkKind::Pcie6 => Some("64.0"),
        _ => None,
    }
}
