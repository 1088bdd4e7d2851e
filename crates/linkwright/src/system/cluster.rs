//! Several servers joined by a network, as one machine.
//!
//! What it represents: every network interface of every server has one link to one switch
//! that passes everything at full rate. What it leaves out: the switches of a real network
//! and the places where they are too narrow.

use std::collections::BTreeSet;

use crate::system::error::SystemError;
use crate::system::kinds::{DeviceKind, LinkKind, NetworkKind};
use crate::system::server::{DeviceId, Link, Server, ServerBuilder};
use crate::units::{Bandwidth, Picoseconds};

/// The network of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterNetwork {
    /// What one network interface sends or receives.
    pub bandwidth_per_nic: Bandwidth,
    /// One-way latency between a network interface and the switch.
    pub latency: Picoseconds,
    /// What its links are.
    pub kind: NetworkKind,
}

/// `count` copies of a server, joined by a network.
///
/// The devices of the first are named `node0/GPU0` and so on, those of the second
/// `node1/GPU0`; GPU ids count through the first server, then the second. A server without
/// network interfaces is given one for each CPU, which the machine's assumptions say.
///
/// # Errors
/// As [`cluster_of`].
pub fn cluster(
    server: &Server,
    count: usize,
    network: &ClusterNetwork,
) -> Result<Server, SystemError> {
    let whole = cluster_of(&vec![server; count], network)?;
    Ok(whole.renamed(&format!("{count}x{}", server.name())))
}

/// Servers that need not be alike, joined by a network; names and ids as for [`fn@cluster`].
///
/// # Errors
/// No server at all, a machine that is already several servers, one without both network
/// interfaces and CPUs, or a network without bandwidth.
pub fn cluster_of(servers: &[&Server], network: &ClusterNetwork) -> Result<Server, SystemError> {
    let names: Vec<&str> = servers.iter().map(|server| server.name()).collect();
    let sources: BTreeSet<&str> = servers.iter().map(|server| server.source()).collect();
    let source = sources.into_iter().collect::<Vec<_>>().join("; ");
    let mut builder = ServerBuilder::new(&names.join("+"), &source);
    let mut warnings: BTreeSet<&str> = BTreeSet::new();
    let mut assumptions: Vec<String> = Vec::new();
    let mut interfaces: Vec<DeviceId> = Vec::new();
    for (index, server) in servers.iter().enumerate() {
        let own = add_server(&mut builder, server, &format!("node{index}"))?;
        interfaces.extend(own.interfaces);
        for warning in server.warnings().iter().filter(|warning| warnings.insert(warning)) {
            builder.warn(warning);
        }
        let all = server.assumptions().iter().cloned().chain(own.assumption);
        for assumption in all {
            if !assumptions.contains(&assumption) {
                assumptions.push(assumption);
            }
        }
    }
    let switch = builder.device("network0", DeviceKind::NetworkSwitch, None)?;
    for interface in interfaces {
        builder.link(Link {
            a: interface,
            b: switch,
            kind: network.kind.link_kind(),
            count: 1,
            bandwidth: network.bandwidth_per_nic,
            latency: network.latency,
        })?;
    }
    for assumption in assumptions {
        builder.assume(assumption);
    }
    builder.assume(
        "every network interface has one link to one switch, which passes everything at full rate",
    );
    Ok(builder.build()?)
}

/// A server's network interfaces in the whole machine, and what had to be assumed.
struct Added {
    interfaces: Vec<DeviceId>,
    assumption: Option<String>,
}

fn add_server(
    builder: &mut ServerBuilder,
    server: &Server,
    prefix: &str,
) -> Result<Added, SystemError> {
    let refuse = |problem, remedy| SystemError::NotAServer {
        machine: server.name().to_owned(),
        problem,
        remedy,
    };
    let devices = server.devices();
    let is_switch = |device: &super::Device| device.kind == DeviceKind::NetworkSwitch;
    let joined = server.links().iter().any(|link| link.kind.is_network());
    if joined || devices.iter().any(is_switch) {
        return Err(refuse("has a network of its own", "give a machine without one"));
    }
    let mut ids: Vec<DeviceId> = Vec::with_capacity(devices.len());
    for device in devices {
        let name = format!("{prefix}/{}", device.name);
        let id = builder.device(&name, device.kind, device.model.as_deref())?;
        builder.locate(id, device.locality.clone());
        ids.push(id);
    }
    for link in server.links() {
        builder.link(Link { a: ids[link.a], b: ids[link.b], ..link.clone() })?;
    }
    let of_kind = |kind: DeviceKind| {
        let all = devices.iter().zip(&ids);
        all.filter(move |(device, _)| device.kind == kind).map(|(_, id)| *id).collect::<Vec<_>>()
    };
    let interfaces = of_kind(DeviceKind::Nic);
    if !interfaces.is_empty() {
        return Ok(Added { interfaces, assumption: None });
    }
    let sockets = of_kind(DeviceKind::Cpu);
    if sockets.is_empty() {
        let remedy = "add a device of kind \"nic\" and its link";
        return Err(refuse("has neither a network interface nor a CPU to put one on", remedy));
    }
    let pcie = server.links().iter().map(|link| link.kind).filter(|kind| kind.is_pcie());
    let pcie = pcie.max_by_key(|kind| kind.data_sheet().bandwidth).unwrap_or(LinkKind::Pcie3);
    let mut interfaces = Vec::with_capacity(sockets.len());
    for (index, socket) in sockets.into_iter().enumerate() {
        let name = format!("{prefix}/NIC{index}");
        let interface = builder.device(&name, DeviceKind::Nic, None)?;
        builder.data_sheet_link(interface, socket, pcie, 1)?;
        interfaces.push(interface);
    }
    let assumption = format!(
        "{} lists no network interface; each of its CPUs has one, on 16 lanes of {}",
        server.name(),
        pcie.name()
    );
    Ok(Added { interfaces, assumption: Some(assumption) })
}

impl Server {
    /// For each device the index of its server, by the lowest device; None for a switch of
    /// the network, which no server owns.
    ///
    /// A server is what links other than the network's hold together, so that a machine that
    /// is one server has the index 0 throughout.
    #[must_use]
    pub fn servers(&self) -> Vec<Option<usize>> {
        let devices = self.devices();
        let adjacency = self.adjacency();
        let mut servers: Vec<Option<usize>> = vec![None; devices.len()];
        let mut count = 0;
        for first in 0..devices.len() {
            let is_network = |id: DeviceId| devices[id].kind == DeviceKind::NetworkSwitch;
            if servers[first].is_some() || is_network(first) {
                continue;
            }
            let mut pending = vec![first];
            while let Some(device) = pending.pop() {
                if servers[device].is_some() || is_network(device) {
                    continue;
                }
                servers[device] = Some(count);
                let links = adjacency[device].iter().map(|index| &self.links()[*index]);
                let inside = links.filter(|link| !link.kind.is_network());
                pending.extend(inside.map(|link| link.other_end(device)));
            }
            count += 1;
        }
        servers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::presets::{NAMES, preset};
    use crate::system::toml_format;

    fn network(gigabits: u64) -> ClusterNetwork {
        ClusterNetwork {
            bandwidth_per_nic: Bandwidth(gigabits * 125_000_000),
            latency: Picoseconds(600_000),
            kind: NetworkKind::Infiniband,
        }
    }

    #[test]
    fn copies_are_named_and_numbered_in_order() {
        let server = preset("dgx-a100").unwrap();
        for count in [2, 4] {
            let whole = cluster(&server, count, &network(200)).unwrap();
            assert_eq!(whole.name(), format!("{count}xdgx-a100"));
            assert_eq!(whole.gpus().len(), 8 * count);
            assert_eq!(whole.devices()[whole.gpus()[13]].name, "node1/GPU5");
            assert_eq!(whole.devices().len(), count * server.devices().len() + 1);
            assert_eq!(whole.links().len(), count * (server.links().len() + 8));
        }
    }

    #[test]
    fn every_preset_joins_and_survives_writing() {
        for name in NAMES {
            let server = preset(name).unwrap();
            assert!(server.servers().iter().all(|index| *index == Some(0)), "{name}");
            let whole = cluster(&server, 3, &network(100)).unwrap();
            let again = toml_format::read("again", &toml_format::write(&whole)).unwrap();
            assert_eq!(again, whole);
            let servers = again.servers();
            for (device, server) in again.devices().iter().zip(servers) {
                let index = device.name.strip_prefix("node").map(|rest| &rest[..1]);
                let expected = index.map(|digit| digit.parse::<usize>().unwrap());
                assert_eq!(server, expected, "{}", device.name);
            }
        }
    }

    #[test]
    fn servers_may_differ() {
        let (a, b) = (preset("dgx1-v100").unwrap(), preset("pcie-tree-4").unwrap());
        let whole = cluster_of(&[&a, &b], &network(100)).unwrap();
        assert_eq!(whole.name(), "dgx1-v100+pcie-tree-4");
        assert_eq!(whole.gpus().len(), 12);
        assert!(whole.device("node1/NIC0").is_some());
        assert!(whole.assumptions().iter().any(|text| text.contains("lists no network interface")));
    }

    #[test]
    fn warnings_of_servers_are_said_once() {
        let text = toml_format::write(&preset("pcie-tree-4").unwrap());
        let doubtful =
            toml_format::read("a", &format!("warnings = [\"no links\"]\n{text}")).unwrap();
        let whole = cluster(&doubtful, 3, &network(100)).unwrap();
        assert_eq!(whole.warnings(), ["no links"]);
    }

    #[test]
    fn what_is_no_server_is_refused() {
        let server = preset("dgx1-v100").unwrap();
        let pair = cluster(&server, 2, &network(100)).unwrap();
        let error = cluster(&pair, 2, &network(100)).unwrap_err().to_string();
        assert!(error.contains("`2xdgx1-v100`") && error.contains("network of its own"), "{error}");
        assert!(cluster(&server, 2, &network(0)).is_err());
        assert!(cluster(&server, 0, &network(100)).is_err());
        let mut builder = ServerBuilder::new("bare", "test");
        builder.device("GPU0", DeviceKind::Gpu, None).unwrap();
        let bare = builder.build().unwrap();
        let error = cluster(&bare, 2, &network(100)).unwrap_err().to_string();
        assert!(error.contains("`bare`") && error.contains("kind \"nic\""), "{error}");
    }
}
