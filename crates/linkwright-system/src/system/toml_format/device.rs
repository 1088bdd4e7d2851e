//! Reads a group of devices of a machine's file: the facts that all share, and those of each.

use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use crate::diagnostic::{InputError, Position};
use crate::system::gpus::PciId;
use crate::system::identity::{self, Identity};
use crate::system::kinds::DeviceKind;
use crate::system::locality::{Affinity, Locality, is_pci_address};
use crate::system::server::{Device, MAX_BANDWIDTH};
use crate::units::{Bandwidth, Bytes};

/// The most memory of a CPU, many times what any has.
const MOST_MEMORY: Bytes = Bytes(1_000_000_000_000_000);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DeviceGroup {
    kind: DeviceKind,
    model: Option<String>,
    names: Vec<Spanned<String>>,
    vendor_id: Option<Spanned<String>>,
    device_id: Option<Spanned<String>>,
    subsystem_id: Option<PciId>,
    cpu_affinity: Option<Affinity>,
    numa_affinity: Option<Affinity>,
    pci_addresses: Option<Spanned<Vec<Spanned<String>>>>,
    memory: Option<Spanned<Bytes>>,
    memory_bandwidth: Option<Spanned<Bandwidth>>,
    speed: Option<Spanned<Bandwidth>>,
}

/// Where the group's text stands, to refuse a part of it.
struct Source<'a> {
    file: &'a str,
    text: &'a str,
}

impl Source<'_> {
    fn refuse(&self, span: Range<usize>, problem: &str, remedy: &str) -> InputError {
        let value = self.text.get(span.clone()).unwrap_or_default();
        let position = Position::of_offset(self.text, span.start);
        InputError::at(self.file, position, problem, value, remedy)
    }
}

impl DeviceGroup {
    /// Returns its devices, each with the place of its name.
    pub(super) fn devices(
        &self,
        file: &str,
        text: &str,
    ) -> Result<Vec<(Device, Range<usize>)>, InputError> {
        let source = Source { file, text };
        let addresses = self.addresses(&source)?;
        let identity = self.identity(&source)?;
        let host_memory = self.host_memory(&source)?;
        let host_memory_bandwidth = self.host_memory_bandwidth(&source)?;
        let speed = self.speed(&source)?;
        let device = |(index, name): (usize, &Spanned<String>)| {
            let locality = Locality {
                cpu_affinity: self.cpu_affinity.clone(),
                numa_affinity: self.numa_affinity.clone(),
                pci_address: addresses.get(index).cloned(),
            };
            let named = Device::new(name.get_ref(), self.kind, self.model.as_deref());
            let identity = identity.clone();
            let memory = Device { host_memory, host_memory_bandwidth, ..named };
            (Device { identity, locality, speed, ..memory }, name.span())
        };
        Ok(self.names.iter().enumerate().map(device).collect())
    }

    fn identity(&self, source: &Source) -> Result<Identity, InputError> {
        type Read = fn(DeviceKind, &str) -> Option<String>;
        let read = |id: &Option<Spanned<String>>, read: Read, problem: &str, remedy: [&str; 2]| {
            let Some(id) = id else { return Ok(None) };
            let remedy = remedy[usize::from(self.kind == DeviceKind::Cpu)];
            let sound = read(self.kind, id.get_ref());
            sound.map(Some).ok_or_else(|| source.refuse(id.span(), problem, remedy))
        };
        let digits = "write four hexadecimal digits, such as 10de";
        let vendor = "write what its CPUID says, at most 12 characters, such as GenuineIntel";
        let family = "write its CPUID family and model, such as 6:143";
        let (bad_vendor, bad_device) = ("this is no vendor's id", "this is no device's id");
        if let (DeviceKind::Cpu, Some(_), Some(name)) =
            (self.kind, &self.subsystem_id, self.names.first())
        {
            let problem = "a CPU has no `subsystem_id`, which is one of PCI";
            return Err(source.refuse(name.span(), problem, "leave the key out"));
        }
        Ok(Identity {
            vendor_id: read(&self.vendor_id, identity::vendor_id, bad_vendor, [digits, vendor])?,
            device_id: read(&self.device_id, identity::device_id, bad_device, [digits, family])?,
            subsystem_id: self.subsystem_id,
        })
    }

    /// The memory of a group of CPUs. A GPU's stands with its model, and other devices have none.
    fn host_memory(&self, source: &Source) -> Result<Option<Bytes>, InputError> {
        let Some(memory) = &self.memory else { return Ok(None) };
        let refuse = |problem, remedy| Err(source.refuse(memory.span(), problem, remedy));
        match (self.kind, *memory.get_ref()) {
            (DeviceKind::Cpu, size) if size.0 > 0 && size <= MOST_MEMORY => Ok(Some(size)),
            (DeviceKind::Cpu, _) => refuse(
                "the CPU's memory is out of range",
                "write more than 0 B and at most 1000 TB",
            ),
            (DeviceKind::Gpu, _) => {
                refuse("a GPU's memory follows from its model", "give `model` in its place")
            }
            _ => refuse("only a CPU has memory of its own", "leave the key out"),
        }
    }

    /// Reads the bandwidth of the memory of each CPU of a group.
    fn host_memory_bandwidth(&self, source: &Source) -> Result<Option<Bandwidth>, InputError> {
        let Some(memory) = &self.memory_bandwidth else { return Ok(None) };
        let refuse = |problem, remedy| Err(source.refuse(memory.span(), problem, remedy));
        match (self.kind, *memory.get_ref()) {
            (DeviceKind::Cpu, rate) if rate.0 > 0 && rate <= MAX_BANDWIDTH => Ok(Some(rate)),
            (DeviceKind::Cpu, _) => {
                refuse("no CPU's memory is so fast", "write such as \"204.8 GB/s\"")
            }
            (DeviceKind::Gpu, _) => {
                refuse("how fast a GPU's memory is follows from its model", "give `model`")
            }
            _ => refuse("only a CPU has memory of its own", "leave the key out"),
        }
    }

    /// How fast the ports of a group of network interfaces are.
    fn speed(&self, source: &Source) -> Result<Option<Bandwidth>, InputError> {
        let Some(speed) = &self.speed else { return Ok(None) };
        let refuse = |problem, remedy| Err(source.refuse(speed.span(), problem, remedy));
        match (self.kind, *speed.get_ref()) {
            (DeviceKind::Nic, rate) if rate.0 > 0 && rate <= MAX_BANDWIDTH => Ok(Some(rate)),
            (DeviceKind::Nic, _) => {
                refuse("no network interface is so fast", "write such as \"400 Gb/s\"")
            }
            _ => refuse("only a network interface has a speed of its own", "leave the key out"),
        }
    }

    /// Returns the PCI addresses: one for each device, or none.
    fn addresses(&self, source: &Source) -> Result<Vec<String>, InputError> {
        let Some(listed) = &self.pci_addresses else { return Ok(Vec::new()) };
        let bad = listed.get_ref().iter().find(|address| !is_pci_address(address.get_ref()));
        if let Some(bad) = bad {
            let problem = "this is no PCI address";
            return Err(source.refuse(bad.span(), problem, "write such as 0000:07:00.0"));
        }
        if listed.get_ref().len() != self.names.len() {
            let problem = "the group has another number of names";
            let remedy = "give one address for each name, or none";
            return Err(source.refuse(listed.span(), problem, remedy));
        }
        Ok(listed.get_ref().iter().map(|address| address.get_ref().clone()).collect())
    }
}
