//! Where the ranks of a communicator run, and the machine that their collectives are planned on.
//!
//! What the machine represents: in a node a link between any two of the communicator's GPUs;
//! between nodes one network interface for each, which the node's GPUs share and which is as fast
//! as the node's link to the network; a switch that joins the interfaces. What it leaves out: the
//! switches of the fabric and their narrow places, and whatever else is under way, so that a
//! plan is the same at any time and for any routing. Bandwidths count in whole megabytes per
//! second, so that exact packings stay within their integers.

use crate::network::GpuIndex;
use crate::simulation::cluster::Cluster;
use crate::system::server::MAX_BANDWIDTH;
use crate::system::{
    DeviceId, DeviceKind, Fabric, Link, LinkKind, Server, ServerBuilder, ServerError,
};
use crate::units::{Bandwidth, Picoseconds};

/// A kind of link: its bandwidth in each direction, and its one-way latency.
type Wire = (Bandwidth, Picoseconds);

/// All that a plan depends on: communicators with equal placements share their plans.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Placement {
    /// The node of each rank, numbered as ranks first reach them.
    nodes: Vec<usize>,
    /// The link of each of these nodes to the network.
    uplinks: Vec<Wire>,
    /// The links between a node's GPUs.
    inside: Wire,
}

impl Placement {
    /// That of ranks on these GPUs of a cluster, which has them.
    pub(super) fn new(cluster: &Cluster, gpus: &[GpuIndex]) -> Self {
        let inside = cluster.settings.node;
        let mut known: Vec<u32> = Vec::new();
        let mut number = |gpu: &GpuIndex| {
            let node = gpu / inside.gpus;
            let found = known.iter().position(|other| *other == node);
            found.unwrap_or_else(|| {
                known.push(node);
                known.len() - 1
            })
        };
        let nodes = gpus.iter().map(&mut number).collect();
        let uplink = |node: &u32| {
            let channel = Fabric::injection(*node) as usize;
            let channel = &cluster.fabric.channels()[channel];
            (channel.bandwidth, channel.latency)
        };
        let uplinks = known.iter().map(uplink).collect();
        Self { nodes, uplinks, inside: (inside.bandwidth, inside.latency) }
    }

    /// How many nodes it reaches.
    pub(super) fn nodes(&self) -> usize {
        self.uplinks.len()
    }

    /// The machine; its GPU `i` is rank `i`'s.
    ///
    /// # Errors
    /// Links that no machine can have.
    pub(super) fn machine(&self) -> Result<Server, ServerError> {
        let mut builder = ServerBuilder::new("cluster", "a cluster's settings");
        let mut members: Vec<Vec<DeviceId>> = vec![Vec::new(); self.nodes()];
        for (rank, node) in self.nodes.iter().enumerate() {
            members[*node].push(builder.device(&format!("GPU{rank}"), DeviceKind::Gpu, None)?);
        }
        let link = |a, b, kind, (bandwidth, latency): Wire| {
            let bandwidth = whole_megabytes(bandwidth);
            Link { a, b, kind, count: 1, bandwidth, latency }
        };
        for gpus in &members {
            for (at, b) in gpus.iter().enumerate() {
                for a in &gpus[..at] {
                    // The kind says only that GPUs speak directly; the rest is given.
                    builder.link(link(*a, *b, LinkKind::Nvlink4, self.inside))?;
                }
            }
        }
        if self.nodes() > 1 {
            let switch = builder.device("network", DeviceKind::NetworkSwitch, None)?;
            for (node, (gpus, uplink)) in members.iter().zip(&self.uplinks).enumerate() {
                let interface = builder.device(&format!("NIC{node}"), DeviceKind::Nic, None)?;
                builder.link(link(interface, switch, LinkKind::Infiniband, *uplink))?;
                for gpu in gpus {
                    // Alone, a GPU may fill its interface.
                    let wire = (uplink.0, Picoseconds(0));
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
