//! The channels of servers that packets or flows cross: PCIe, what joins sockets, and the memories of CPUs.
//!
//! They are made server by server, on the first message that may need them, so that a large
//! system at rest costs its fabric alone.

use super::packet::ChannelStatistics;
use super::paths::{Path, PathError, PathIndex, Paths, ServerChannel, Way};
use super::pcie::Roots;
use super::pipes::Pipes;
use super::route::RouteClass;
use super::site::GpuSite;
use super::transport::{DeviceIndex, GpuIndex, Message};
use crate::system::composition::{PortOrder, ServerKind, ServerPlace, System, SystemDevice};
use crate::system::fabric::{ChannelId, NodeId};
use crate::system::kinds::Discipline;
use crate::system::server::{DeviceId, Link};
use crate::units::{Bandwidth, Picoseconds};

/// A server whose channels have not been made, or a channel that carries no packets.
const NONE: u32 = u32::MAX;

/// Lists the channels of one kind of server that carry packets.
#[derive(Debug, Clone)]
pub(in crate::network) struct PacketChannels {
    channels: Vec<ServerChannel>,
    /// Gives the place of a channel among them.
    place: Vec<u32>,
    /// Lists, for each device, the channels that enter it.
    pub(in crate::network) entering: Vec<Vec<ServerChannel>>,
    /// Lists the CPUs whose memory can hold something up, in order, each with that memory's channel.
    memories: Vec<(DeviceId, ServerChannel)>,
}

impl PacketChannels {
    fn new(kind: &ServerKind) -> Self {
        let server = kind.server();
        // Behind those of links, as in `Routes`: a memory uses the first of two.
        let behind = (0..).map(|at| 2 * (server.links().len() as ServerChannel + at));
        let memories: Vec<_> = server.host_memories().map(|it| it.cpu).zip(behind).collect();
        let mut place = vec![NONE; 2 * (server.links().len() + memories.len())];
        let mut entering = vec![Vec::new(); server.devices().len()];
        let mut channels = Vec::new();
        for (index, link) in (0..).zip(server.links()) {
            if server.discipline(link) == Discipline::Packets {
                for (channel, to) in [(2 * index, link.b), (2 * index + 1, link.a)] {
                    place[channel as usize] = channels.len() as u32;
                    channels.push(channel);
                    entering[to].push(channel);
                }
            }
        }
        for (_, channel) in &memories {
            place[*channel as usize] = channels.len() as u32;
            channels.push(*channel);
        }
        Self { channels, place, entering, memories }
    }
}

/// A channel of a server that has been made.
#[derive(Debug, Clone, Copy)]
pub(in crate::network) struct Opened {
    /// Where it is.
    pub(in crate::network) at: ServerPlace,
    /// Holds the part of its peak bandwidth that messages reach.
    pub(in crate::network) bandwidth: Bandwidth,
    /// Holds what copy engines reach of it.
    pub(in crate::network) copied: Bandwidth,
    pub(in crate::network) latency: Picoseconds,
}

impl Opened {
    /// Gives how fast packets of a kernel's messages cross its link, their headers with their data. Full ones carry what
    /// copy engines reach, as over [wires](super::wires).
    pub(in crate::network) fn line(&self, link: &Link) -> Bandwidth {
        link.kind.packet_format().line(self.copied).min(link.total_bandwidth())
    }
}

/// Keeps the insides of servers for a model of the network. Its channels are numbered behind those
/// of the fabric, in the order in which they are made.
#[derive(Debug, Clone)]
pub(in crate::network) struct Insides<'a> {
    pub(in crate::network) system: &'a System,
    paths: Paths<'a>,
    pipes: Pipes<'a>,
    kinds: Vec<PacketChannels>,
    fabric_channels: u32,
    /// Says how many devices and interfaces each server has, where all are abstract nodes of one
    /// kind. Then there is nothing to make, and a way is a division.
    nodes: Option<NodeSize>,
    /// Holds the number of each server's first channel.
    first: Vec<u32>,
    opened: Vec<Opened>,
    has_memories: bool,
}

/// How large an abstract node is.
#[derive(Debug, Clone, Copy)]
struct NodeSize {
    devices: u32,
    nics: u32,
}

impl NodeSize {
    /// Finds it where every port of the fabric has one of one kind.
    fn of(system: &System) -> Option<Self> {
        let [kind] = system.kinds() else { return None };
        let is_node = kind.server().nics_meet_gpus() && system.port_order() == PortOrder::Plain;
        let (devices, nics) = (kind.server().devices().len() as u32, kind.nics().len() as u32);
        is_node.then_some(Self { devices, nics })
    }

    /// Finds the port by which a GPU sends; devices of a node begin with its GPUs.
    fn port(self, gpu: DeviceIndex) -> NodeId {
        match self.nics {
            1 => gpu / self.devices,
            nics => gpu / self.devices * nics + gpu % self.devices % nics,
        }
    }
}

impl<'a> Insides<'a> {
    /// # Errors
    /// A server in which a GPU reaches no network interface.
    pub(in crate::network) fn new(system: &'a System) -> Result<Self, PathError> {
        let kinds: Vec<_> = system.kinds().iter().map(PacketChannels::new).collect();
        Ok(Self {
            system,
            paths: Paths::new(system)?,
            pipes: Pipes::new(system),
            has_memories: kinds.iter().any(|kind| !kind.memories.is_empty()),
            kinds,
            fabric_channels: system.fabric_channels() as u32,
            nodes: NodeSize::of(system),
            first: vec![NONE; system.servers() as usize],
            opened: Vec::new(),
        })
    }

    /// How a message gets from a device to another.
    ///
    /// # Errors
    /// Fails as [`Paths::way`] does.
    pub(in crate::network) fn way(&mut self, message: &Message) -> Result<Way, PathError> {
        let Message { source: from, destination: to, route, .. } = *message;
        if let Some(node) = self.nodes
            && from / node.devices != to / node.devices
            && matches!(route, RouteClass::Any | RouteClass::Network)
        {
            // Of an abstract node, the first path is that between a GPU and the interface.
            return Ok(Way::Across { from: node.port(from), to: node.port(to), out: 0, back: 0 });
        }
        self.paths.way(from, to, route)
    }

    /// Says where a GPU sits.
    pub(in crate::network) fn gpu_site(&self, gpu: GpuIndex) -> GpuSite {
        self.paths.gpu_site(gpu)
    }

    /// Returns the roots of the PCIe buses of all servers.
    pub(in crate::network) fn roots(&self) -> Roots {
        Roots::new(self.system, |kind, gpu| self.paths.host_of(kind, gpu))
    }

    /// Returns the place of a message's end.
    pub(in crate::network) fn place(&self, device: DeviceIndex) -> ServerPlace {
        match self.system.device(device as DeviceId) {
            SystemDevice::OfServer(place) => place,
            SystemDevice::Switch(_) => {
                unreachable!("no message that is under way ends at a switch")
            }
        }
    }

    /// Whether there are only abstract nodes, in which no channel carries packets.
    pub(in crate::network) fn is_of_nodes(&self) -> bool {
        self.nodes.is_some()
    }

    /// Sends a message within a server over its pipes; returns when its last byte leaves and when
    /// it arrives. None where the path is one of packets.
    pub(in crate::network) fn send_whole(
        &mut self,
        server: u32,
        path: PathIndex,
        (size, is_memory): (u64, bool),
        now: u64,
    ) -> Option<(u64, u64)> {
        match self.paths.path(server, path) {
            Path::Pipes(hops) => Some(self.pipes.send(server, hops, (size, is_memory), now)),
            Path::Packets(_) => None,
        }
    }

    /// Makes a server's channels, behind all that were made before; None where it has none or they
    /// are made.
    pub(in crate::network) fn open(&mut self, server: u32) -> Option<&PacketChannels> {
        let kind = self.system.kind_of(server);
        if self.first[server as usize] != NONE || kind.server().nics_meet_gpus() {
            return None;
        }
        let before = self.fabric_channels as usize + self.opened.len();
        self.first[server as usize] = before as u32;
        let own = &self.kinds[self.system.kind_index_of(server)];
        for channel in own.channels.iter().copied() {
            let bandwidth = self.paths.reached(server, channel);
            let copied = self.paths.copied(server, channel);
            let link = kind.server().links().get(channel as usize / 2);
            let latency = link.map_or(Picoseconds(0), |link| link.latency);
            self.opened.push(Opened {
                at: ServerPlace { server, index: channel },
                bandwidth,
                copied,
                latency,
            });
        }
        Some(own)
    }

    /// Gives the link of a server's channel; None of a memory.
    pub(in crate::network) fn link(&self, at: ServerPlace) -> Option<&'a Link> {
        self.system.kind_of(at.server).server().links().get(at.index as usize / 2)
    }

    /// Finds the channel of a CPU's memory, where that can hold something up. Its server's channels have
    /// been made.
    pub(in crate::network) fn memory_of(&self, device: DeviceIndex) -> Option<ChannelId> {
        if !self.has_memories {
            return None;
        }
        let at = self.place(device);
        let memories = &self.kinds[self.system.kind_index_of(at.server)].memories;
        let found = memories.binary_search_by_key(&(at.index as DeviceId), |(cpu, _)| *cpu).ok()?;
        Some(self.number(at.server, memories[found].1))
    }

    /// The number of a server's channel that has been made.
    pub(in crate::network) fn number(&self, server: u32, channel: ServerChannel) -> ChannelId {
        let own = &self.kinds[self.system.kind_index_of(server)];
        self.first[server as usize] + own.place[channel as usize]
    }

    /// Returns the channels of a path of packets.
    pub(in crate::network) fn channels(&self, server: u32, path: PathIndex) -> &[ServerChannel] {
        match self.paths.path(server, path) {
            Path::Packets(channels) => channels,
            Path::Pipes(_) => &[],
        }
    }

    /// Returns a channel by its number; None for a channel of the fabric.
    pub(in crate::network) fn opened(&self, channel: ChannelId) -> Option<Opened> {
        let behind = channel.checked_sub(self.fabric_channels)?;
        Some(self.opened[behind as usize])
    }

    /// Every channel that has been made, in the order of their numbers.
    pub(in crate::network) fn all_opened(&self) -> &[Opened] {
        &self.opened
    }

    /// Returns the traffic of each channel of a server's links that has carried something, by its
    /// number in the system. `carried` gives the traffic of the channels for packets, in the order
    /// of their numbers here.
    pub(in crate::network) fn statistics(
        &self,
        carried: impl Iterator<Item = ChannelStatistics>,
    ) -> Vec<(ChannelId, ChannelStatistics)> {
        let number = |at: ServerPlace| self.system.channel_at(at.server, at.index);
        let packets = self.opened.iter().zip(carried);
        let of_link =
            packets.filter(|(it, carried)| carried.packets > 0 && self.link(it.at).is_some());
        let used = of_link.map(|(it, carried)| (number(it.at), carried));
        let mut all: Vec<_> = used.chain(self.pipes.statistics()).collect();
        all.sort_unstable_by_key(|(channel, _)| *channel);
        all
    }
}

#[cfg(test)]
mod tests;
