//! A machine's file that lists several servers and the network between them, as a system.
//!
//! A server is a set of devices that links other than the network's hold together, as
//! [`Server::servers`] tells them apart. Equal ones are one template. The network's switches and
//! links are a fabric, in which the interfaces are at ports in the order of the servers.
//!
//! The model leaves out interfaces without a cable, and those with two, which a system cannot have.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{PortOrder, System};
use crate::system::error::SystemError;
use crate::system::fabric::{Fabric, NodeLink, SwitchLink, of_listed};
use crate::system::kinds::{DeviceKind, LinkKind};
use crate::system::server::{Device, DeviceId, Link, Server, ServerBuilder};

/// Equal servers in rows, and the fabric that joins their interfaces.
pub type ServersAndFabric = (Vec<(Arc<Server>, u32)>, Fabric);

impl System {
    /// A machine as a system: split into its servers where it lists a network between them, else a
    /// lone server.
    ///
    /// Servers come in the order of their first GPUs. In each, devices come in the machine's order.
    /// So GPUs keep their ids where a machine lists one server after another. The names of a
    /// server's devices lose the beginning that all of them share, up to a `/` or the like.
    ///
    /// # Errors
    /// Fails as [`split`] does.
    pub fn of_machine(machine: Server) -> Result<Self, SystemError> {
        if !lists_network(&machine) {
            return Ok(Self::of_server(Arc::new(machine)));
        }
        let (servers, fabric) = split(&machine)?;
        Ok(Self::new(&servers, fabric, PortOrder::Plain)?.renamed(machine.name()))
    }
}

/// Says whether a machine lists switches of a network.
#[must_use]
pub fn lists_network(machine: &Server) -> bool {
    machine.devices().iter().any(|device| device.kind == DeviceKind::NetworkSwitch)
}

/// Splits a machine that lists a network into its servers and the fabric between them.
///
/// # Errors
/// Refuses a server without a GPU, or without an interface. Refuses an interface with no link to a
/// switch, or with several. Refuses a link of the network that ends elsewhere, and a link of
/// another kind that ends at a switch. Refuses interfaces that the network does not join, and links
/// of two kinds, or too many.
pub fn split(machine: &Server) -> Result<ServersAndFabric, SystemError> {
    let network = Network::of(machine)?;
    let parts = parts(machine)?;
    let mut rows: Vec<(Arc<Server>, u32)> = Vec::new();
    let mut templates: Vec<Arc<Server>> = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        let template = template(machine, part, number)?;
        let alike = |known: &&Arc<Server>| {
            known.devices() == template.devices() && known.links() == template.links()
        };
        let template = match templates.iter().find(alike) {
            Some(known) => Arc::clone(known),
            None => {
                templates.push(Arc::new(template));
                Arc::clone(&templates[templates.len() - 1])
            }
        };
        match rows.last_mut() {
            Some((last, count)) if Arc::ptr_eq(last, &template) => *count += 1,
            _ => rows.push((template, 1)),
        }
    }
    let devices = parts.iter().flat_map(|part| part.devices.iter().copied());
    let nics: Vec<DeviceId> = devices.filter(|id| is_nic(machine, *id)).collect();
    Ok((rows, network.fabric(machine, &nics)?))
}

fn is_nic(machine: &Server, id: DeviceId) -> bool {
    machine.devices()[id].kind == DeviceKind::Nic
}

fn refuse<T>(
    machine: &Server,
    device: DeviceId,
    problem: &'static str,
    remedy: &'static str,
) -> Result<T, SystemError> {
    let device = machine.devices()[device].name.clone();
    Err(SystemError::NoNetwork { machine: machine.name().to_owned(), device, problem, remedy })
}

/// Holds one server of a machine: its devices and links, in the machine's order.
#[derive(Debug, Default)]
struct Part {
    devices: Vec<DeviceId>,
    links: Vec<usize>,
}

/// Returns the servers, in the order of their first GPUs.
fn parts(machine: &Server) -> Result<Vec<Part>, SystemError> {
    let of_device = machine.servers();
    let mut of_server: BTreeMap<usize, Part> = BTreeMap::new();
    for (device, server) in of_device.iter().enumerate() {
        if let Some(server) = server {
            of_server.entry(*server).or_default().devices.push(device);
        }
    }
    let inside = machine.links().iter().enumerate().filter(|(_, link)| !link.kind.is_network());
    for (index, link) in inside {
        if let Some(part) = of_device[link.a].and_then(|server| of_server.get_mut(&server)) {
            part.links.push(index);
        }
    }
    let mut parts: BTreeMap<DeviceId, Part> = BTreeMap::new();
    for part in of_server.into_values() {
        let first =
            |kind| part.devices.iter().copied().find(|id| machine.devices()[*id].kind == kind);
        let Some(gpu) = first(DeviceKind::Gpu) else {
            let problem = "is joined to no GPU by links within a server";
            let remedy = "add the missing link, or remove the device";
            return refuse(machine, part.devices[0], problem, remedy);
        };
        parts.insert(gpu, part);
    }
    for (gpu, part) in &parts {
        if !part.devices.iter().any(|id| is_nic(machine, *id)) {
            let problem = "is in a server without a network interface";
            let remedy = "add a device of kind \"nic\", its PCIe link and its link to a switch";
            return refuse(machine, *gpu, problem, remedy);
        }
    }
    Ok(parts.into_values().collect())
}

/// Finds the beginning that all names share, up to the last sign that parts words.
fn common_prefix<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let common = |a: &'a str, b: &'a str| {
        let ends = a.char_indices().zip(b.chars()).find(|((_, x), y)| x != y);
        ends.map_or(if a.len() < b.len() { a } else { b }, |((at, _), _)| &a[..at])
    };
    let common = names.reduce(common).unwrap_or_default();
    let end = common.rfind(['/', ':', '.', '-', '_', ' ']).map_or(0, |at| at + 1);
    common[..end].to_owned()
}

/// Makes one server on its own.
fn template(machine: &Server, part: &Part, number: usize) -> Result<Server, SystemError> {
    let device = |id: &DeviceId| &machine.devices()[*id];
    let names = || part.devices.iter().map(|id| device(id).name.as_str());
    let prefix = common_prefix(names());
    // A name that is all prefix stays whole.
    let prefix = if names().any(|name| name == prefix) { "" } else { prefix.as_str() };
    let name = prefix.trim_end_matches(|sign: char| !sign.is_alphanumeric());
    let name = if name.is_empty() { format!("server{number}") } else { name.to_owned() };
    let mut builder = ServerBuilder::new(&name, machine.source());
    if number == 0 {
        machine.warnings().iter().for_each(|warning| builder.warn(warning));
        machine.assumptions().iter().for_each(|assumption| builder.assume(assumption));
    }
    if let Some(calibration) = machine.calibration() {
        builder.calibrate(calibration.clone());
    }
    let mut ids: BTreeMap<DeviceId, DeviceId> = BTreeMap::new();
    for id in &part.devices {
        let name = device(id).name[prefix.len()..].to_owned();
        ids.insert(*id, builder.add(Device { name, ..device(id).clone() })?);
    }
    for link in part.links.iter().map(|index| &machine.links()[*index]) {
        builder.link(Link { a: ids[&link.a], b: ids[&link.b], ..link.clone() })?;
    }
    Ok(builder.build()?)
}

/// Holds the links of a machine's network.
struct Network<'a> {
    switches: Vec<DeviceId>,
    /// Holds the link of each network interface that has one.
    cables: BTreeMap<DeviceId, &'a Link>,
    /// Lists the links between switches.
    trunks: Vec<&'a Link>,
    kind: LinkKind,
}

impl<'a> Network<'a> {
    fn of(machine: &'a Server) -> Result<Self, SystemError> {
        let kind_of = |id: DeviceId| machine.devices()[id].kind;
        let is_switch = |id: DeviceId| kind_of(id) == DeviceKind::NetworkSwitch;
        let switches = (0..machine.devices().len()).filter(|id| is_switch(*id)).collect();
        let (mut cables, mut trunks) = (BTreeMap::new(), Vec::new());
        let mut kind = None;
        for link in machine.links() {
            if !link.kind.is_network() {
                if let Some(end) = [link.a, link.b].into_iter().find(|end| is_switch(*end)) {
                    let problem = "is a switch of a network, and has a link of another kind";
                    return refuse(machine, end, problem, "write infiniband or ethernet");
                }
                continue;
            }
            if *kind.get_or_insert(link.kind) != link.kind {
                let problem = "has a link of another kind than the network's first";
                return refuse(machine, link.a, problem, "write one kind for the whole network");
            }
            match [link.a, link.b].map(kind_of) {
                [DeviceKind::NetworkSwitch, DeviceKind::NetworkSwitch] => trunks.push(link),
                [DeviceKind::Nic, DeviceKind::NetworkSwitch]
                | [DeviceKind::NetworkSwitch, DeviceKind::Nic] => {
                    let nic = if is_switch(link.a) { link.b } else { link.a };
                    if cables.insert(nic, link).is_some() {
                        let problem = "has two links of the network";
                        let remedy = "keep one, or list an interface for each";
                        return refuse(machine, nic, problem, remedy);
                    }
                }
                [DeviceKind::Nic, DeviceKind::Nic] => {
                    let problem = "has a link of the network that leads to no switch";
                    let remedy = "put a device of kind \"network-switch\" between";
                    return refuse(machine, link.a, problem, remedy);
                }
                ends => {
                    let wrong = |kind| !matches!(kind, DeviceKind::Nic | DeviceKind::NetworkSwitch);
                    let end = if wrong(ends[0]) { link.a } else { link.b };
                    let problem = "has a link of the network and is no interface";
                    let remedy = "put a device of kind \"nic\" between";
                    return refuse(machine, end, problem, remedy);
                }
            }
        }
        Ok(Self { switches, cables, trunks, kind: kind.unwrap_or(LinkKind::Infiniband) })
    }

    /// The fabric whose nodes are these interfaces, in their order.
    fn fabric(&self, machine: &Server, nics: &[DeviceId]) -> Result<Fabric, SystemError> {
        let number = |id: DeviceId| {
            self.switches.binary_search(&id).expect("every switch is among them") as u32
        };
        let mut nodes = Vec::with_capacity(nics.len());
        for nic in nics {
            let Some(cable) = self.cables.get(nic) else {
                let problem = "has no link to a switch of the network";
                return refuse(machine, *nic, problem, "add its link, or leave the interface out");
            };
            let switch = number(cable.other_end(*nic));
            let (bandwidth, latency) = (cable.total_bandwidth(), cable.latency);
            nodes.push(NodeLink { switch, bandwidth, latency });
        }
        let trunk = |link: &&Link| {
            let (a, b) = (number(link.a), number(link.b));
            let (bandwidth, latency) = (link.bandwidth, link.latency);
            (SwitchLink { a, b, bandwidth, latency }, link.count)
        };
        let trunks: Vec<(SwitchLink, u32)> = self.trunks.iter().map(trunk).collect();
        let names = self.switches.iter().map(|id| machine.devices()[*id].name.clone()).collect();
        let name = format!("network of {}", machine.name());
        Ok(of_listed(&name, self.kind, &nodes, names, &trunks)?)
    }
}

#[cfg(test)]
mod tests;
