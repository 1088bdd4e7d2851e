//! Builds wires of a system's own channels, between GPUs of one server and to the host's memory.
//!
//! Represented: a message takes the way that it takes in any other model of the network, with each
//! link's latency and packets. Full packets carry what long copies reach of a link
//! ([`Wire::copied_share`](crate::system::Wire::copied_share)). So a copy takes as long as in the other models. The links of a bundle are one channel of their joint
//! bandwidth, and so are bundles to parallel switches ([`gangs`](super::gangs)). The host's memory is
//! that of the CPU nearest to the first GPU, or of a GPU's own where that is out of its reach. Where its
//! bandwidth is known and can hold something up, it is a channel that both directions share.
//!
//! Left out is the network between servers: over it no GPU reads another's memory by lines.

use std::collections::BTreeMap;
use std::sync::Arc;

use thiserror::Error;

use super::gangs::{ChannelEnds, Gangs, Hops, gangs};
use super::{WireRate, Wires};
use crate::diagnostic::{Diagnose, Diagnosis};
use crate::network::paths::{Path, PathError, Paths, Way};
use crate::network::route::RouteClass;
use crate::network::transport::DeviceIndex;
use crate::system::composition::{System, SystemChannel};
use crate::system::server::DeviceId;
use crate::system::{LinkFlits, PacketFormat};
use crate::units::Bandwidth;

/// Holds wires with their ends: GPUs, and the host behind the last of them.
#[derive(Debug, Clone, PartialEq)]
pub struct WiredEnds {
    /// Holds the channels, and a path for each ordered pair of ends ([`pair_path`](super::pair_path)).
    pub wires: Wires,
    /// Names the GPUs, in order.
    pub gpus: Vec<String>,
    /// Names the CPU whose memory is the host's, for each GPU.
    pub hosts: Vec<String>,
    /// Numbers the GPUs among the system's devices.
    pub gpu_devices: Vec<DeviceIndex>,
    /// Numbers those CPUs.
    pub host_devices: Vec<DeviceIndex>,
}

/// Says why GPUs of a system cannot be wired.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum WiresError {
    /// No way leads from one device to another.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The GPUs are in several servers.
    Servers {
        /// Names a GPU.
        a: String,
        /// Names a GPU of another server.
        b: String,
    },
    /// A GPU reaches no CPU, from whose memory its data come.
    NoHost {
        /// Names the GPU.
        gpu: String,
    },
}

impl Diagnose for WiresError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Path(error) => error.diagnosis(),
            Self::Servers { a, b } => Diagnosis::of(format!(
                "`{a}` cannot read single lines of the memory of `{b}`: they are in two servers"
            ))
            .remedy("use GPUs of one server"),
            Self::NoHost { gpu } => Diagnosis::of(format!(
                "no link leads from `{gpu}` to a CPU whose memory could \
                    hold its data"
            ))
            .remedy("add a device of kind \"cpu\" and its link"),
        }
    }
}

/// Builds the wires between GPUs of a system, by their numbers, and to the host.
///
/// # Errors
/// GPUs of several servers, two that nothing joins, and one that no CPU is joined to.
///
/// # Panics
/// If a GPU does not exist, or there is none.
pub fn between(system: &System, gpus: &[u32]) -> Result<WiredEnds, WiresError> {
    let server = system.gpu(gpus[0]).server;
    let name = |gpu: u32| system.device_name(system.gpu_device(gpu));
    if let Some(far) = gpus.iter().find(|gpu| system.gpu(**gpu).server != server) {
        return Err(WiresError::Servers { a: name(gpus[0]), b: name(*far) });
    }
    // Whether its GPUs reach the network is of no account.
    let template = system.kind_of(server).server();
    let alone = System::of_server(Arc::clone(template));
    let (paths, lines) = (Paths::new(&alone)?, BTreeMap::new());
    let mut within = Within { system, server, paths, lines };
    let places: Vec<u32> = gpus.iter().map(|gpu| system.gpu(*gpu).index).collect();
    let device = |at: usize| template.gpus()[places[at] as usize];
    let hosts = within.hosts(&places, &device)?;

    let ends = gpus.len() + 1;
    let mut routes: Vec<Hops> = Vec::with_capacity(ends * ends);
    for (from, to) in (0..ends * ends).map(|pair| (pair / ends, pair % ends)) {
        let of_pair = match (from == gpus.len(), to == gpus.len()) {
            (true, true) => None,
            (true, false) => Some((hosts[to], device(to))),
            (false, true) => Some((device(from), hosts[from])),
            (false, false) => Some((device(from), device(to))),
        };
        routes.push(of_pair.map_or(Ok(Hops::new()), |pair| within.hops(pair))?);
    }
    let mut channels = BTreeMap::new();
    for channel in routes.iter().flatten().flatten() {
        let (found, bandwidth) = (system.channel(*channel), within.lines[channel].0);
        channels.insert(*channel, ChannelEnds { from: found.from, to: found.to, bandwidth });
    }
    let Gangs { gangs, paths } = gangs(&routes, &channels);

    let mut wires = Wires::new();
    for gang in &gangs {
        add(system, &mut wires, gang, &within.lines);
    }
    let mut memories: BTreeMap<DeviceId, u32> = BTreeMap::new();
    for memory in template.host_memories().filter(|memory| hosts.contains(&memory.cpu)) {
        let (bandwidth, format) = (memory.bandwidth.0, PacketFormat::BARE);
        let name =
            format!("memory of {}", system.device_name(system.device_at(server, memory.cpu)));
        let rate = WireRate::Packets { bandwidth, format };
        memories.insert(memory.cpu, wires.channel(name, rate, 0));
    }
    for (pair, mut path) in paths.into_iter().enumerate() {
        let (from, to) = (pair / ends, pair % ends);
        if let Some(memory) = hosts.get(to).filter(|_| from == gpus.len()) {
            path.splice(0..0, memories.get(memory).copied());
        } else if let Some(memory) = hosts.get(from).filter(|_| to == gpus.len()) {
            path.extend(memories.get(memory));
        }
        wires.path(&path);
    }
    let hosts: Vec<DeviceId> = hosts.iter().map(|cpu| system.device_at(server, *cpu)).collect();
    Ok(WiredEnds {
        wires,
        gpus: gpus.iter().map(|gpu| name(*gpu)).collect(),
        hosts: hosts.iter().map(|cpu| system.device_name(*cpu)).collect(),
        gpu_devices: gpus.iter().map(|gpu| system.gpu_device(*gpu) as DeviceIndex).collect(),
        host_devices: hosts.iter().map(|cpu| *cpu as DeviceIndex).collect(),
    })
}

/// Finds paths within a server of a system.
struct Within<'a> {
    system: &'a System,
    server: u32,
    /// Those of the server alone, whose devices have the ids of the template.
    paths: Paths<'a>,
    /// Says how fast each channel of the system is that a route crosses, headers of packets with their data.
    lines: BTreeMap<u32, Bandwidth>,
}

impl Within<'_> {
    /// Finds the CPU whose memory is the host's for each GPU. It is the one nearest to the first GPU, or
    /// its own where that is out of reach, as in a rack.
    fn hosts(
        &mut self,
        places: &[u32],
        device: &dyn Fn(usize) -> DeviceId,
    ) -> Result<Vec<DeviceId>, WiresError> {
        let mut hosts: Vec<DeviceId> = Vec::new();
        for (at, place) in places.iter().enumerate() {
            let first = hosts.first().copied();
            let reached = first.filter(|host| self.hops((device(at), *host)).is_ok());
            let own = || self.paths.gpu_site(*place).host.map(|host| host as DeviceId);
            let gpu = || self.system.device_name(self.system.device_at(self.server, device(at)));
            let host = reached.or_else(own).ok_or_else(|| WiresError::NoHost { gpu: gpu() })?;
            hosts.push(host);
        }
        Ok(hosts)
    }

    /// Gives the hops from one device to another, each by the channels of the system that are parallel
    /// there.
    fn hops(&mut self, (from, to): (DeviceId, DeviceId)) -> Result<Hops, PathError> {
        let [from, to] = [from, to].map(|device| device as DeviceIndex);
        let Way::Inside(path) = self.paths.way(from, to, RouteClass::Any)? else {
            return Ok(Hops::new());
        };
        let mut at = |channel: &u32| {
            let place = self.system.channel_at(self.server, *channel);
            let found = self.system.channel(place);
            let line = match found.flits {
                Some(_) => found.bandwidth,
                None => found.kind.packet_format().line(self.paths.copied(0, *channel)),
            };
            self.lines.insert(place, line.min(found.bandwidth));
            place
        };
        Ok(match self.paths.path(0, path) {
            Path::Packets(way) => way.iter().map(|channel| vec![at(channel)]).collect(),
            Path::Pipes(hops) => hops
                .iter()
                .map(|hop| hop.channels.iter().map(|(channel, _)| at(channel)).collect())
                .collect(),
        })
    }
}

/// Adds a gang of channels. It is as late as the latest of them.
fn add(system: &System, wires: &mut Wires, gang: &[u32], lines: &BTreeMap<u32, Bandwidth>) {
    let channels: Vec<_> = gang.iter().map(|channel| system.channel(*channel)).collect();
    let named = channels.iter().map(|it| {
        let [from, to] = [it.from, it.to].map(|device| system.device_name(device));
        (format!("{from} to {to}"), it.bandwidth.0)
    });
    let bandwidth = gang.iter().map(|channel| lines[channel].0).sum();
    let latency = channels.iter().map(|it| it.latency.0).max().unwrap_or(0);
    let format = channels.first().map_or(PacketFormat::BARE, |it| it.kind.packet_format());
    // Links of flits stand alone. A switch's time is behind the link that leads to it.
    let (rate, latency) = match channels.as_slice() {
        [SystemChannel { flits: Some(flits), to, .. }] => {
            let LinkFlits { bytes, encoding, cycle, switch } = *flits;
            let (encoding, cycle) = (u64::from(encoding), cycle.0);
            let hands_on = system.device_kind(*to).hands_on();
            let rate = WireRate::Flits { bytes: bytes.0, encoding, cycle };
            (rate, if hands_on { switch.0 } else { 0 })
        }
        _ => (WireRate::Packets { bandwidth, format }, latency),
    };
    wires.gang(named.collect(), rate, latency);
}
