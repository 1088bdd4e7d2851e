//! The GPUs of a communicator as a machine that plans are made for.
//!
//! What it represents: the servers that its GPUs are on. Of abstract nodes, GPUs of one are joined
//! directly, each pair by the link that it has; those of different ones by the links of their
//! nodes to the network, which all GPUs of a node share. Of other servers, all that is listed of
//! them, each interface with its port's link. What it leaves out: the fabric's own switches, which
//! are taken to carry what its ports do. The bandwidths of abstract nodes count in whole megabytes
//! per second, so that exact packings stay within their integers.

use crate::network::GpuIndex;
use crate::simulation::cluster::Cluster;
use crate::system::server::MAX_BANDWIDTH;
use crate::system::views::listed::listed;
use crate::system::{
    DeviceId, DeviceKind, Fabric, Link, LinkKind, Server, ServerBuilder, ServerError, System,
    SystemError,
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
    /// The links of its interfaces to the fabric.
    uplinks: Vec<Wire>,
}

impl Placement {
    /// That of ranks on these GPUs of a cluster, which has them.
    pub(super) fn new(cluster: &Cluster, gpus: &[GpuIndex]) -> Self {
        let system = &cluster.system;
        let known = servers_of(system, gpus);
        let rank = |gpu: &GpuIndex| {
            let at = system.gpu(*gpu);
            let server = known.iter().position(|other| *other == at.server);
            // GPUs of an abstract node are all alike, and those of other servers are not.
            let alike = system.kind_of(at.server).server().nics_meet_gpus();
            (server.expect("each is a rank's"), if alike { 0 } else { at.index as usize })
        };
        let uplinks = |server: u32| match system.fabric() {
            None => Vec::new(),
            Some(fabric) => (0..system.kind_of(server).nics().len() as u32)
                .map(|nic| Fabric::injection(system.port_of(system.nic_at(server, nic))))
                .map(|channel| &fabric.channels()[channel as usize])
                .map(|channel| (channel.bandwidth, channel.latency))
                .collect(),
        };
        let ranks = gpus.iter().map(rank).collect();
        let servers = known.iter().map(|server| OnServer {
            kind: system.kind_index_of(*server),
            uplinks: uplinks(*server),
        });
        Self { ranks, servers: servers.collect() }
    }

    /// How many servers it reaches.
    pub(super) fn nodes(&self) -> usize {
        self.servers.len()
    }

    /// The machine of the ranks on these GPUs, and the GPU of each rank there.
    ///
    /// # Errors
    /// Links that no machine can have.
    pub(super) fn machine(
        &self,
        cluster: &Cluster,
        gpus: &[GpuIndex],
    ) -> Result<(Server, Vec<usize>), SystemError> {
        let kinds = cluster.system.kinds();
        let of = |server: &OnServer| kinds[server.kind].server();
        if self.servers.iter().all(|server| of(server).nics_meet_gpus()) {
            return Ok((self.of_nodes(cluster)?, (0..self.ranks.len()).collect()));
        }
        let gpus_of = |server: &OnServer| of(server).gpus().len();
        let before: Vec<usize> = self
            .servers
            .iter()
            .scan(0, |sum, server| Some(std::mem::replace(sum, *sum + gpus_of(server))))
            .collect();
        let on_machine = self.ranks.iter().map(|(server, gpu)| before[*server] + gpu).collect();
        if let [alone] = &self.servers[..] {
            return Ok((of(alone).as_ref().clone(), on_machine));
        }
        Ok((listed(&cluster.system, &servers_of(&cluster.system, gpus))?, on_machine))
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
            Link { a, b, kind, count: 1, bandwidth, latency, discipline: None }
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
                builder.link(link(interface, switch, LinkKind::Infiniband, server.uplinks[0]))?;
                for gpu in gpus {
                    // Alone, a GPU may fill its interface.
                    let wire = (server.uplinks[0].0, Picoseconds(0));
                    builder.link(link(*gpu, interface, LinkKind::Pcie6, wire))?;
                }
            }
        }
        builder.build()
    }
}

/// The servers of GPUs, in the order in which they are first reached.
fn servers_of(system: &System, gpus: &[GpuIndex]) -> Vec<u32> {
    let mut known: Vec<u32> = Vec::new();
    for gpu in gpus {
        let server = system.gpu(*gpu).server;
        if !known.contains(&server) {
            known.push(server);
        }
    }
    known
}

fn whole_megabytes(bandwidth: Bandwidth) -> Bandwidth {
    const MEGABYTE: u64 = 1_000_000;
    let rounded = bandwidth.0.saturating_add(MEGABYTE / 2) / MEGABYTE * MEGABYTE;
    Bandwidth(rounded.clamp(MEGABYTE, MAX_BANDWIDTH.0))
}
