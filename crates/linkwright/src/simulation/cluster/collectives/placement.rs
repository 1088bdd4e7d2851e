//! The GPUs of a communicator as a machine that plans are made for.
//!
//! What it represents: the servers that its GPUs are on. Of abstract nodes, GPUs of one are joined
//! directly, each pair by the link that it has; those of different ones by the links of their
//! nodes to the network, which all GPUs of a node share. Of other servers, all that is listed of
//! them, each interface with its port's link. What it leaves out: the fabric's own switches, which
//! are taken to carry what its ports do. Bandwidths count in whole megabytes per second, so that
//! exact packings stay within their integers.

use std::sync::Arc;

use crate::network::GpuIndex;
use crate::simulation::cluster::Cluster;
use crate::system::server::MAX_BANDWIDTH;
use crate::system::{
    ClusterNetwork, DeviceId, DeviceKind, Fabric, Link, LinkKind, NetworkKind, Server,
    ServerBuilder, ServerError, SystemError, cluster_of,
};
use crate::units::{Bandwidth, Picoseconds};

/// A kind of link: its bandwidth in each direction, and its one-way latency.
type Wire = (Bandwidth, Picoseconds);

/// All that a plan depends on: communicators with equal placements share their plans.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Placement {
    /// Of each rank its server, numbered as ranks first reach them, and its GPU there; zero where
    /// all GPUs of the server are alike.
    ranks: Vec<(usize, usize)>,
    servers: Vec<OnServer>,
}

/// A server that a communicator reaches.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct OnServer {
    /// The index of its kind in the system.
    kind: usize,
    /// The link of its first interface to the fabric.
    uplink: Wire,
}

impl Placement {
    /// That of ranks on these GPUs of a cluster, which has them.
    pub(super) fn new(cluster: &Cluster, gpus: &[GpuIndex]) -> Self {
        let system = &cluster.system;
        let mut known: Vec<u32> = Vec::new();
        let ranks = gpus.iter().map(|gpu| {
            let at = system.gpu(*gpu);
            let found = known.iter().position(|other| *other == at.server);
            let server = found.unwrap_or_else(|| {
                known.push(at.server);
                known.len() - 1
            });
            // GPUs of an abstract node are all alike, and those of other servers are not.
            let abstract_node = system.kind_of(at.server).server().nics_meet_gpus();
            (server, if abstract_node { 0 } else { at.index as usize })
        });
        let ranks = ranks.collect();
        let uplink = |server: u32| match system.fabric() {
            None => (Bandwidth(0), Picoseconds(0)),
            Some(fabric) => {
                let port = system.port_of(system.nic_at(server, 0));
                let channel = &fabric.channels()[Fabric::injection(port) as usize];
                (channel.bandwidth, channel.latency)
            }
        };
        let servers = known.iter().map(|server| OnServer {
            kind: system.kind_index_of(*server),
            uplink: uplink(*server),
        });
        Self { ranks, servers: servers.collect() }
    }

    /// How many servers it reaches.
    pub(super) fn nodes(&self) -> usize {
        self.servers.len()
    }

    /// The machine, and the GPU of each rank there.
    ///
    /// # Errors
    /// Links that no machine can have; abstract nodes beside other servers.
    pub(super) fn machine(&self, cluster: &Cluster) -> Result<(Server, Vec<usize>), SystemError> {
        let kinds = cluster.system.kinds();
        let of = |server: &OnServer| kinds[server.kind].server();
        if self.servers.iter().all(|server| of(server).nics_meet_gpus()) {
            return Ok((self.of_nodes(cluster)?, (0..self.ranks.len()).collect()));
        }
        let servers: Vec<&Server> = self.servers.iter().map(|it| Arc::as_ref(of(it))).collect();
        let before: Vec<usize> = servers
            .iter()
            .scan(0, |sum, server| {
                let first = *sum;
                *sum += server.gpus().len();
                Some(first)
            })
            .collect();
        let gpus = self.ranks.iter().map(|(server, gpu)| before[*server] + gpu).collect();
        if let [alone] = servers[..] {
            return Ok((alone.clone(), gpus));
        }
        let (bandwidth, latency) = self.servers[0].uplink;
        let network = ClusterNetwork {
            bandwidth_per_nic: whole_megabytes(bandwidth),
            latency,
            kind: NetworkKind::Infiniband,
        };
        Ok((cluster_of(&servers, &network)?, gpus))
    }

    /// The machine of abstract nodes; its GPU `i` is rank `i`'s.
    fn of_nodes(&self, cluster: &Cluster) -> Result<Server, ServerError> {
        let mut builder = ServerBuilder::new("cluster", "a cluster's settings");
        let mut members: Vec<Vec<DeviceId>> = vec![Vec::new(); self.nodes()];
        for (rank, (node, _)) in self.ranks.iter().enumerate() {
            members[*node].push(builder.device(&format!("GPU{rank}"), DeviceKind::Gpu, None)?);
        }
        let link = |a, b, kind, (bandwidth, latency): Wire| {
            let bandwidth = whole_megabytes(bandwidth);
            Link { a, b, kind, count: 1, bandwidth, latency }
        };
        for (gpus, server) in members.iter().zip(&self.servers) {
            let inside = cluster.system.kinds()[server.kind].server().links().first();
            let Some(inside) = inside.map(|link| (link.bandwidth, link.latency)) else { continue };
            for (at, b) in gpus.iter().enumerate() {
                for a in &gpus[..at] {
                    builder.link(link(*a, *b, LinkKind::Direct, inside))?;
                }
            }
        }
        if self.nodes() > 1 {
            let switch = builder.device("network", DeviceKind::NetworkSwitch, None)?;
            for (node, (gpus, server)) in members.iter().zip(&self.servers).enumerate() {
                let interface = builder.device(&format!("NIC{node}"), DeviceKind::Nic, None)?;
                builder.link(link(interface, switch, LinkKind::Infiniband, server.uplink))?;
                for gpu in gpus {
                    // Alone, a GPU may fill its interface.
                    let wire = (server.uplink.0, Picoseconds(0));
                    builder.link(link(*gpu, interface, LinkKind::Pcie6, wire))?;
                }
            }
        }
        builder.build()
    }
}

fn whole_megabytes(bandwidth: Bandwidth) -> Bandwidth {
    const MEGABYTE: u64 = 1_000_000;
    let rounded = bandwidth.0.saturating_add(MEGABYTE / 2) / MEGABYTE * MEGABYTE;
    Bandwidth(rounded.clamp(MEGABYTE, MAX_BANDWIDTH.0))
}
