//! Several servers on one switch, listed as one machine.

use std::sync::Arc;

use crate::system::composition::{PortOrder, System};
use crate::system::error::SystemError;
use crate::system::fabric::{LinkRate, single_switch};
use crate::system::kinds::{DeviceKind, NetworkKind};
use crate::system::server::{DeviceId, Server};
use crate::system::views::listed::listed;
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
    let alike = servers.chunk_by(|a, b| a == b);
    let rows = alike.map(|row| (Arc::new(row[0].clone()), row.len() as u32));
    let rows: Vec<(Arc<Server>, u32)> = rows.collect();
    let rate = LinkRate { bandwidth: network.bandwidth_per_nic, latency: network.latency };
    let fabric =
        single_switch(System::ports_for(&rows)?, rate)?.with_links(network.kind.link_kind());
    let system = System::new(&rows, fabric, PortOrder::Plain)?;
    listed(&system, &(0..system.servers()).collect::<Vec<_>>())
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
    use crate::system::ServerBuilder;
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
