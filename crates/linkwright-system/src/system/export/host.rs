//! Finds the parts of a machine that a server's tools see: its GPUs and network interfaces, and
//! the tree of PCIe above them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::ExportFormat;
use crate::system::error::SystemError;
use crate::system::gpus::Vendor;
use crate::system::import::paste;
use crate::system::kinds::{DeviceKind, LinkKind};
use crate::system::locality::Affinity;
use crate::system::server::{Device, DeviceId, Link, Server};
use crate::system::views::proximity::is_host_link;

/// Holds a machine with the way of each device up to its CPU.
pub(super) struct Host<'m> {
    pub(super) machine: &'m Server,
    format: ExportFormat,
    /// Lists its network interfaces in the machine's order.
    pub(super) nics: Vec<DeviceId>,
    /// Lists its CPUs in the machine's order.
    pub(super) cpus: Vec<DeviceId>,
    /// Holds for each device the index of its link to the device above. A CPU has none, and so has
    /// a device that no host link joins to one.
    above: Vec<Option<usize>>,
    /// Says what the text leaves out or makes up.
    pub(super) notes: Vec<String>,
}

impl<'m> Host<'m> {
    /// Finds the tree.
    ///
    /// # Errors
    /// Refuses a machine of a few numbers, and one with a network. No tool of one server shows
    /// either.
    pub(super) fn new(machine: &'m Server, format: ExportFormat) -> Result<Self, SystemError> {
        let of_kind = |kind: DeviceKind| -> Vec<DeviceId> {
            let devices = machine.devices().iter().enumerate();
            devices.filter(|(_, device)| device.kind == kind).map(|(id, _)| id).collect()
        };
        let mut host = Self {
            machine,
            format,
            nics: of_kind(DeviceKind::Nic),
            cpus: of_kind(DeviceKind::Cpu),
            above: vec![None; machine.devices().len()],
            notes: Vec::new(),
        };
        if machine.links().iter().any(|link| link.kind == LinkKind::Direct) {
            let problem = "its GPUs are joined by links of no kind";
            return Err(host.refuse(problem, "write it as json, or give its links kinds"));
        }
        let networks = of_kind(DeviceKind::NetworkSwitch);
        if !networks.is_empty() || machine.links().iter().any(|link| link.kind.is_network()) {
            let problem = "it has a network, which no tool of one server shows";
            return Err(host.refuse(problem, "write one of its servers"));
        }
        host.climb(&of_kind(DeviceKind::HostBridge), &of_kind(DeviceKind::PcieSwitch));
        host.check_tree()?;
        host.note_several();
        Ok(host)
    }

    /// Refuses links of the host beside the tree, since no tool shows two ways up.
    fn check_tree(&self) -> Result<(), SystemError> {
        let kind = |id: DeviceId| self.device(id).kind;
        for (index, link) in self.machine.links().iter().enumerate() {
            let ends = [link.a, link.b];
            let of_bus = link.kind.is_pcie() || link.kind == LinkKind::OnDie;
            let own_cpu = |below: DeviceId, cpu| self.cpu(below) == Some(cpu);
            let sound = match ends.map(kind) {
                _ if of_bus => self.is_of_tree(index),
                [DeviceKind::Cpu, DeviceKind::Cpu] => true,
                [DeviceKind::Cpu, _] => own_cpu(link.b, link.a),
                [_, DeviceKind::Cpu] => own_cpu(link.a, link.b),
                _ => true,
            };
            let on_cpu =
                |bridge| self.above(bridge).is_none_or(|(_, up)| kind(up) == DeviceKind::Cpu);
            let mut bridges = ends.into_iter().filter(|end| kind(*end) == DeviceKind::HostBridge);
            if !sound || !bridges.all(on_cpu) {
                let problem = format!(
                    "its PCIe is a tree below CPUs, and the {} link between `{}` and `{}` makes it \
                     none",
                    link.kind.name(),
                    self.device(link.a).name,
                    self.device(link.b).name
                );
                return Err(
                    self.refuse(problem, "leave that link out, or write it as toml or json")
                );
            }
        }
        Ok(())
    }

    /// Gives the error that the format cannot say this machine.
    pub(super) fn refuse(&self, problem: impl Into<String>, remedy: &str) -> SystemError {
        SystemError::Inexpressible {
            machine: self.machine.name().to_owned(),
            format: self.format.name(),
            problem: problem.into(),
            remedy: remedy.to_owned(),
        }
    }

    /// Finds each device's way up: over PCIe where there is one, else over NVLink. Below switches
    /// that no CPU holds, the way leads to the first of these.
    fn climb(&mut self, bridges: &[DeviceId], switches: &[DeviceId]) {
        let adjacency = self.machine.adjacency();
        let mut reached = vec![false; self.machine.devices().len()];
        let tree = |link: &Link| link.kind.is_pcie() || link.kind == LinkKind::OnDie;
        let (cpus, tops) = (self.cpus.clone(), bridges.iter().chain(switches));
        self.descend(&cpus, &adjacency, &mut reached, &tree);
        for top in tops {
            if !reached[*top] {
                self.descend(&[*top], &adjacency, &mut reached, &tree);
            }
        }
        let any = |link: &Link| is_host_link(self.machine, link);
        let machine = self.machine;
        for cpu in cpus {
            for index in &adjacency[cpu] {
                let link = &machine.links()[*index];
                let below = link.other_end(cpu);
                if any(link) && !reached[below] {
                    reached[below] = true;
                    self.above[below] = Some(*index);
                }
            }
        }
    }

    fn descend(
        &mut self,
        from: &[DeviceId],
        adjacency: &[Vec<usize>],
        reached: &mut [bool],
        leads: &dyn Fn(&Link) -> bool,
    ) {
        let machine = self.machine;
        let is_end =
            |id: DeviceId| matches!(machine.devices()[id].kind, DeviceKind::Gpu | DeviceKind::Nic);
        from.iter().for_each(|top| reached[*top] = true);
        let mut pending: VecDeque<DeviceId> = from.iter().copied().collect();
        while let Some(at) = pending.pop_front() {
            for index in &adjacency[at] {
                let link = &machine.links()[*index];
                let below = link.other_end(at);
                if leads(link) && !reached[below] {
                    reached[below] = true;
                    self.above[below] = Some(*index);
                    if !is_end(below) {
                        pending.push_back(below);
                    }
                }
            }
        }
    }

    /// Gives the link from a device to the one above it, and that device.
    pub(super) fn above(&self, device: DeviceId) -> Option<(&'m Link, DeviceId)> {
        let link = &self.machine.links()[self.above[device]?];
        Some((link, link.other_end(device)))
    }

    /// Tells whether a link is part of the tree.
    fn is_of_tree(&self, index: usize) -> bool {
        let link = &self.machine.links()[index];
        [link.a, link.b].into_iter().any(|end| self.above[end] == Some(index))
    }

    /// Finds the CPU that a device hangs from.
    pub(super) fn cpu(&self, device: DeviceId) -> Option<DeviceId> {
        let mut at = device;
        while let Some((_, up)) = self.above(at) {
            at = up;
        }
        (self.device(at).kind == DeviceKind::Cpu).then_some(at)
    }

    /// Gives the device with this id.
    pub(super) fn device(&self, id: DeviceId) -> &'m Device {
        &self.machine.devices()[id]
    }

    /// Gives the NUMA nodes near a GPU, as the machine says them. Where it says none of any GPU, it
    /// takes those of the GPU's CPU, or else the place of that CPU among all.
    pub(super) fn numa(&self, gpu: DeviceId) -> Option<Affinity> {
        let own = |id: DeviceId| self.device(id).locality.numa_affinity.clone();
        if self.machine.gpus().iter().any(|gpu| own(*gpu).is_some()) {
            return own(gpu);
        }
        let cpu = self.cpu(gpu)?;
        let place = self.cpus.iter().position(|other| *other == cpu)?;
        own(cpu).or(Some(Affinity::one(u32::try_from(place).ok()?)))
    }

    /// Gives the cores near a GPU: its own, else those of its CPU.
    pub(super) fn cores(&self, gpu: DeviceId) -> Option<Affinity> {
        let own = |id: DeviceId| self.device(id).locality.cpu_affinity.clone();
        own(gpu).or_else(|| own(self.cpu(gpu)?))
    }

    /// Tells who made a GPU: by its ids or its model, else by its links.
    pub(super) fn vendor(&self, gpu: DeviceId) -> Option<Vendor> {
        if let Some(id) = self.device(gpu).vendor_id() {
            return [Vendor::Nvidia, Vendor::Amd].into_iter().find(|it| it.pci_id() == id);
        }
        let links = self.machine.links().iter().filter(|link| link.a == gpu || link.b == gpu);
        links.map(|link| link.kind).find_map(|kind| match kind {
            _ if kind.is_nvlink() || kind == LinkKind::NvlinkC2c => Some(Vendor::Nvidia),
            _ if kind.is_xgmi() => Some(Vendor::Amd),
            _ => None,
        })
    }

    /// Refuses GPUs of another vendor than the one whose GPUs the tool shows.
    ///
    /// # Errors
    /// Names the first such GPU.
    pub(super) fn only(&self, vendor: Vendor, other_tool: ExportFormat) -> Result<(), SystemError> {
        for gpu in self.machine.gpus() {
            let device = self.device(*gpu);
            let strange = device.vendor_id().is_some_and(|id| id != vendor.pci_id());
            if strange || self.vendor(*gpu).is_some_and(|found| found != vendor) {
                let product = device.gpu_model().map(|model| model.product.as_str());
                let of = product.map_or_else(String::new, |product| format!(" ({product})"));
                let problem = format!(
                    "the tool shows GPUs of {} alone, and `{}`{of} is none",
                    vendor.name().to_uppercase(),
                    device.name
                );
                let remedy = format!("write it as {} or nccl-xml", other_tool.name());
                return Err(self.refuse(problem, &remedy));
            }
        }
        Ok(())
    }

    /// Numbers each GPU: as its name does where all are named `GPU` and a number, else by its
    /// place.
    pub(super) fn numbers(&mut self) -> Vec<u32> {
        let machine = self.machine;
        let gpus = machine.gpus();
        let of_name = |gpu: &DeviceId| {
            let name = &machine.devices()[*gpu].name;
            name.strip_prefix("GPU").and_then(paste::number)
        };
        let own: Option<Vec<u32>> = gpus.iter().map(of_name).collect();
        own.unwrap_or_else(|| {
            let first = &machine.devices()[gpus[0]].name;
            self.notes.push(format!(
                "The GPUs are numbered in the machine's order, since not all are named GPU and a \
                 number: {first} is GPU0."
            ));
            (0..).zip(gpus).map(|(number, _)| number).collect()
        })
    }

    /// Names the network interfaces. Where `can_have` says that no such text can have one of their
    /// names, it numbers them all and notes it.
    pub(super) fn nic_names(&mut self, can_have: impl Fn(&str) -> bool) -> Vec<String> {
        let machine = self.machine;
        let own = self.nics.iter().map(|nic| machine.devices()[*nic].name.as_str());
        if let Some(odd) = own.clone().find(|name| !can_have(name)) {
            self.notes.push(format!(
                "The network interfaces are numbered in the machine's order, since the text can have \
                 none of the name {odd:?}."
            ));
            return (0..self.nics.len()).map(|number| format!("NIC{number}")).collect();
        }
        own.map(str::to_owned).collect()
    }

    /// Numbers the host of each CPU: those that links of the host join are of one.
    pub(super) fn host_of_cpus(&self) -> BTreeMap<DeviceId, usize> {
        let machine = self.machine;
        let adjacency = machine.adjacency();
        let mut seen = vec![false; machine.devices().len()];
        let mut hosts = BTreeMap::new();
        let mut next = 0;
        for cpu in &self.cpus {
            let mut pending = vec![*cpu];
            let is_new = !seen[*cpu];
            while let Some(at) = pending.pop() {
                if !std::mem::replace(&mut seen[at], true) {
                    if self.device(at).kind == DeviceKind::Cpu {
                        hosts.insert(at, next);
                    }
                    let links = adjacency[at].iter().map(|index| &machine.links()[*index]);
                    let inside = links.filter(|link| is_host_link(machine, link));
                    pending.extend(inside.map(|link| link.other_end(at)));
                }
            }
            next += usize::from(is_new);
        }
        hosts
    }

    /// Numbers the host of each CPU, where NVSwitches join several hosts; else none.
    pub(super) fn joined_hosts(&self) -> BTreeMap<DeviceId, usize> {
        let hosts = self.host_of_cpus();
        let is_switch = |id: DeviceId| self.device(id).kind == DeviceKind::NvSwitch;
        let links = self.machine.links().iter();
        let links = links.filter(|link| is_switch(link.a) || is_switch(link.b));
        let ends = links.flat_map(|link| [link.a, link.b]).filter_map(|end| self.cpu(end));
        let joined: BTreeSet<usize> = ends.filter_map(|cpu| hosts.get(&cpu).copied()).collect();
        let several = joined.len() > 1 && hosts.values().all(|host| joined.contains(host));
        if several { hosts } else { BTreeMap::new() }
    }

    /// Notes how many hosts the machine is, where NVLink joins several.
    fn note_several(&mut self) {
        let hosts = self.host_of_cpus().into_values().max().map_or(0, |last| last + 1);
        if hosts > 1 {
            let shown = match self.format {
                ExportFormat::NcclXml if !self.joined_hosts().is_empty() => {
                    "a `host_hash`, which is made up, tells them apart"
                }
                _ => "the text shows them as one server",
            };
            self.notes.push(format!("No link of the host joins its {hosts} hosts; {shown}."));
        }
    }
}
