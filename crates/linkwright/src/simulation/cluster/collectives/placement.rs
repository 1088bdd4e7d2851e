//! Where the GPUs of a communicator are, as far as a plan depends on it.
//!
//! Plans are made on the system itself. GPUs of an abstract node are all alike, so it makes no
//! difference which of them a rank has. Those of other servers are told apart.

use crate::network::GpuIndex;
use crate::system::{Fabric, System};
use crate::units::{Bandwidth, Picoseconds};

/// Describes a kind of link: its bandwidth in each direction, and its one-way latency.
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
    /// Gives the index of its kind in the system.
    kind: usize,
    /// Lists the links of its interfaces to the fabric.
    uplinks: Vec<Wire>,
}

impl Placement {
    /// That of ranks on these GPUs of a system, which has them.
    pub(super) fn new(system: &System, gpus: &[GpuIndex]) -> Self {
        let known = servers_of(system, gpus);
        let rank = |gpu: &GpuIndex| {
            let at = system.gpu(*gpu);
            let server = known.iter().position(|other| *other == at.server);
            // GPUs of an abstract node are all alike, and those of other servers are not.
            let alike = system.kind_of(at.server).server().has_gpus_alike();
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
