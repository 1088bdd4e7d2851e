//! Wires of a system's own channels: between GPUs of one server, and to the host's memory.
//!
//! What it represents: the way that a message takes in any other model of the network, with each
//! link's latency, bandwidth and packets. The links of a bundle are one channel of their joint
//! bandwidth, and so are bundles to parallel switches ([`gangs`](super::gangs)). The host's memory is
//! that of the CPU nearest to the first GPU. Where its bandwidth is known and can hold something up,
//! it is a channel that both directions share.
//!
//! What it leaves out: the network between servers, over which no GPU reads another's memory by
//! lines.

use std::collections::BTreeMap;

use thiserror::Error;

use super::gangs::{ChannelEnds, Gangs, Hops, gangs};
use super::{WireRate, Wires};
use crate::diagnostic::{Diagnose, Diagnosis};
use crate::network::paths::{Path, PathError, Paths, Way};
use crate::network::route::RouteClass;
use crate::network::transport::DeviceIndex;
use crate::system::PacketFormat;
use crate::system::composition::System;
use crate::system::server::DeviceId;

/// The ends of wires: GPUs, and the host behind the last of them.
#[derive(Debug, Clone, PartialEq)]
pub struct WiredEnds {
    /// The channels, and a path for each ordered pair of ends ([`pair_path`](super::pair_path)).
    pub wires: Wires,
    /// Names the GPUs, in order.
    pub gpus: Vec<String>,
    /// Names the CPU whose memory is the host's.
    pub host: String,
}

/// Why GPUs of a system cannot be wired.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum WiresError {
    /// No way between two devices.
    #[error(transparent)]
    Path(#[from] PathError),
    /// GPUs of several servers.
    Servers {
        /// A GPU.
        a: String,
        /// A GPU of another server.
        b: String,
    },
    /// A GPU that reaches no CPU, from whose memory its data come.
    NoHost {
        /// The GPU.
        gpu: String,
    },
}

impl Diagnose for WiresError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Path(error) => error.diagnosis(),
            Self::Servers { a, b } => Diagnosis::of(format!(
                "`{a}` reads no memory of `{b}` by lines: they are in two servers"
            ))
            .remedy("take GPUs of one server"),
            Self::NoHost { gpu } => {
                Diagnosis::of(format!("`{gpu}` reaches no CPU, from whose memory its data come"))
                    .remedy("add a device of kind \"cpu\" and its link")
            }
        }
    }
}

/// Builds the wires between GPUs of a system, by their numbers, and to the host.
///
/// # Errors
/// GPUs of several servers, two that nothing joins, and a first that no CPU is joined to.
///
/// # Panics
/// If a GPU does not exist, or there is none.
pub fn between(system: &System, gpus: &[u32]) -> Result<WiredEnds, WiresError> {
    let server = system.gpu(gpus[0]).server;
    let device = |gpu: u32| system.gpu_device(gpu);
    let name = |gpu: u32| system.device_name(device(gpu));
    if let Some(far) = gpus.iter().find(|gpu| system.gpu(**gpu).server != server) {
        return Err(WiresError::Servers { a: name(gpus[0]), b: name(*far) });
    }
    let mut paths = Paths::new(system)?;
    let host = paths.gpu_site(gpus[0]).host.map(|host| host as DeviceId);
    let host = host.ok_or_else(|| WiresError::NoHost { gpu: name(gpus[0]) })?;
    let ends: Vec<DeviceId> = gpus.iter().map(|gpu| device(*gpu)).chain([host]).collect();

    let mut routes: Vec<Hops> = Vec::new();
    for from in &ends {
        for to in &ends {
            routes.push(hops(system, &mut paths, server, (*from, *to))?);
        }
    }
    let mut channels = BTreeMap::new();
    for channel in routes.iter().flatten().flatten() {
        let found = system.channel(*channel);
        let (from, to, bandwidth) = (found.from, found.to, found.bandwidth.0);
        channels.insert(*channel, ChannelEnds { from, to, bandwidth });
    }
    let Gangs { gangs, paths } = gangs(&routes, &channels);

    let mut wires = Wires::new();
    for gang in &gangs {
        add(system, &mut wires, gang);
    }
    let memory = add_memory(system, &mut wires, (server, host));
    for (at, path) in paths.iter().enumerate() {
        let (from, to) = (at / ends.len(), at % ends.len());
        let mut path = path.clone();
        if let Some(memory) = memory.filter(|_| from != to) {
            if from == gpus.len() {
                path.insert(0, memory);
            } else if to == gpus.len() {
                path.push(memory);
            }
        }
        wires.path(&path);
    }
    Ok(WiredEnds {
        wires,
        gpus: gpus.iter().map(|gpu| name(*gpu)).collect(),
        host: system.device_name(host),
    })
}

/// Gives the hops from one end to another, each by the channels of the system that are parallel there.
fn hops(
    system: &System,
    paths: &mut Paths<'_>,
    server: u32,
    (from, to): (DeviceId, DeviceId),
) -> Result<Hops, PathError> {
    let class = RouteClass::Any;
    let Way::Inside(path) = paths.way(from as DeviceIndex, to as DeviceIndex, class)? else {
        return Ok(Vec::new());
    };
    let at = |channel: &u32| system.channel_at(server, *channel);
    Ok(match paths.path(server, path) {
        Path::Packets(way) => way.iter().map(|channel| vec![at(channel)]).collect(),
        Path::Pipes(hops) => hops
            .iter()
            .map(|hop| hop.channels.iter().map(|(channel, _)| at(channel)).collect())
            .collect(),
    })
}

/// Adds a gang of channels. It is as late as the latest of them.
fn add(system: &System, wires: &mut Wires, gang: &[u32]) {
    let channels: Vec<_> = gang.iter().map(|channel| system.channel(*channel)).collect();
    let named = channels.iter().map(|it| {
        let [from, to] = [it.from, it.to].map(|device| system.device_name(device));
        (format!("{from} to {to}"), it.bandwidth.0)
    });
    let bandwidth = channels.iter().map(|it| it.bandwidth.0).sum();
    let latency = channels.iter().map(|it| it.latency.0).max().unwrap_or(0);
    let format = channels.first().map_or(PacketFormat::BARE, |it| it.kind.packet_format());
    wires.gang(named.collect(), WireRate::Packets { bandwidth, format }, latency);
}

/// Adds the memory of a CPU, where it can hold something up.
fn add_memory(system: &System, wires: &mut Wires, (server, host): (u32, DeviceId)) -> Option<u32> {
    let template = system.kind_of(server).server();
    let is_it = |cpu: DeviceId| system.device_at(server, cpu) == host;
    let memory = template.host_memories().find(|memory| is_it(memory.cpu))?;
    let (bandwidth, format) = (memory.bandwidth.0, PacketFormat::BARE);
    let name = format!("memory of {}", system.device_name(host));
    Some(wires.channel(name, WireRate::Packets { bandwidth, format }, 0))
}
