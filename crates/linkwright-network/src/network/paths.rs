//! Finds the paths of messages within servers: between two GPUs or CPUs, and between one and its
//! network interface.
//!
//! GPUs that a fabric joins (NVLink, xGMI, directly or through NVSwitches) talk over it. Messages
//! go one after another as wholes, or in packets where the fabric's links are given to them. Other
//! GPUs, and CPUs, talk over the host's PCIe and sockets, packet by packet, by one way of fewest
//! hops. A message may ask for one of the two. The system says which interface a GPU sends through
//! ([`InterfaceRule`]), unless a message names another. A CPU uses the nearest one.
//!
//! The model leaves out relays through other GPUs, and packets spread over parallel host ways.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use thiserror::Error;

use super::pipes::PipeHop;
use super::route::{RouteClass, Routes};
use super::site::GpuSite;
use super::transport::{DeviceIndex, GpuIndex};
use crate::diagnostic::{Diagnose, Diagnosis};
use crate::system::composition::{InterfaceRule, ServerKind, ServerPlace, System, SystemDevice};
use crate::system::fabric::NodeId;
use crate::system::kinds::{DeviceKind, Discipline};
use crate::system::server::{DeviceId, Server};
use crate::system::views::wiring::Wiring;
use crate::system::{PacketFormat, Wire};
use crate::units::Bandwidth;

/// Numbers a channel in its server: link `i` has `2 * i` from its end `a`, and `2 * i + 1` back.
pub(in crate::network) type ServerChannel = u32;

/// Gives the index of a path among those of its server's kind.
pub(in crate::network) type PathIndex = u32;

/// How a message moves within a server.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::network) enum Path {
    /// Sends a message as a whole, over one hop of parallel pipes after the other.
    Pipes(Vec<PipeHop>),
    /// As packets, by these channels in a row; none where the ends meet.
    Packets(Vec<ServerChannel>),
}

/// Where a message cannot get where it has to.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum PathError {
    /// A GPU without a way to the network interface that it is to use.
    NoInterface {
        /// Names the server.
        server: String,
        /// Names the GPU.
        gpu: String,
        /// Describes the interface in words.
        interface: String,
    },
    /// Two devices of one server that nothing joins.
    Apart {
        /// Names the server.
        server: String,
        /// The links that a message may take, in words.
        links: &'static str,
        /// Names one device.
        a: String,
        /// Names the other device.
        b: String,
    },
    /// A route that does not lead from one server to another, or not from one to itself.
    Elsewhere {
        /// Where it starts.
        a: String,
        /// Where it ends.
        b: String,
        /// Describes in words the route asked for.
        route: &'static str,
    },
    /// Refuses a switch or an interface as an end of a message.
    NoEnd {
        /// Names the device.
        device: String,
    },
}

impl Diagnose for PathError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::NoInterface { server, gpu, interface } => Diagnosis::of(format!(
                "`{server}` has no path over the host from `{gpu}` to {interface}"
            ))
            .remedy("add the missing link"),
            Self::Apart { server, links, a, b } => {
                Diagnosis::of(format!("in `{server}`, {links} joins `{a}` and `{b}`"))
                    .remedy("add the missing link")
            }
            Self::Elsewhere { a, b, route } => Diagnosis::of(format!(
                "a message from `{a}` to `{b}` cannot take the route \
                    {route}"
            ))
            .remedy("ask for the widest route"),
            Self::NoEnd { device } => {
                Diagnosis::of(format!("`{device}` cannot send or receive messages"))
                    .remedy("name a GPU or a CPU")
            }
        }
    }
}

/// Holds a device's interface, the path to it and the path back.
type Outside = (u32, PathIndex, PathIndex);

/// The paths of one kind of server, found when they are first asked for.
#[derive(Debug, Clone)]
struct KindPaths<'a> {
    server: &'a Server,
    routes: Routes<'static>,
    /// Holds the path of each pair of devices by the widest way, as its index plus one. Zero means
    /// that nobody has asked for it.
    between: Vec<PathIndex>,
    /// The paths that were asked for by a class of links.
    of_class: BTreeMap<(u32, u32, RouteClass), PathIndex>,
    /// For each device; None of those that do not send over the network.
    outside: Vec<Option<Outside>>,
    /// The same by interfaces that were asked for.
    by_interface: BTreeMap<(u32, usize), Outside>,
    paths: Vec<Path>,
}

/// Holds the paths within all servers of a system.
#[derive(Debug, Clone)]
pub(in crate::network) struct Paths<'a> {
    system: &'a System,
    kinds: Vec<KindPaths<'a>>,
}

/// Where each GPU of a system sits, by the indices that its devices have in its wiring.
///
/// # Errors
/// A server in which a GPU reaches no network interface.
pub fn gpu_sites(system: &System, wiring: &Wiring) -> Result<Vec<GpuSite>, PathError> {
    let paths = Paths::new(system)?;
    let wired = |device: DeviceIndex| Some(wiring.find(device as DeviceId)? as DeviceIndex);
    let site = |gpu| {
        let site = paths.gpu_site(gpu);
        let device = wiring.gpu(gpu as usize) as DeviceIndex;
        GpuSite { device, host: site.host.and_then(wired), ..site }
    };
    Ok((0..system.gpus()).map(site).collect())
}

/// How a message gets from one device to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::network) enum Way {
    /// Stays within one server.
    Inside(PathIndex),
    /// Goes from a port of the fabric to another, behind a path to the first and before one from
    /// the second.
    Across { from: NodeId, to: NodeId, out: PathIndex, back: PathIndex },
}

impl<'a> Paths<'a> {
    /// # Errors
    /// A GPU of a server on a fabric that reaches no interface.
    pub(in crate::network) fn new(system: &'a System) -> Result<Self, PathError> {
        let rule = system.fabric().map(|_| system.interface_rule());
        let kinds = system.kinds().iter().map(|kind| KindPaths::new(kind, rule));
        Ok(Self { system, kinds: kinds.collect::<Result<_, _>>()? })
    }

    /// How a message gets from a device to another.
    ///
    /// # Errors
    /// Two devices that links of the class do not join; devices that are no ends.
    pub(in crate::network) fn way(
        &mut self,
        from: DeviceIndex,
        to: DeviceIndex,
        class: RouteClass,
    ) -> Result<Way, PathError> {
        let (source, destination) = (self.place(from)?, self.place(to)?);
        let inside = source.server == destination.server;
        let route = match (inside, class) {
            (true, RouteClass::Network | RouteClass::Interfaces { .. }) => "over the network",
            (false, RouteClass::Fabric) => "over NVLink",
            (false, RouteClass::Host) => "over the host",
            (true, _) => {
                let kind = self.system.kind_index_of(source.server);
                let path = self.kinds[kind].between(source.index, destination.index, class)?;
                return Ok(Way::Inside(path));
            }
            (false, _) => {
                let [leaves, arrives] = match class {
                    RouteClass::Interfaces { from, to } => [Some(from), Some(to)],
                    _ => [None; 2],
                };
                let (from, out, _) = self.outside(source, leaves)?;
                let (to, _, back) = self.outside(destination, arrives)?;
                return Ok(Way::Across { from, to, out, back });
            }
        };
        let name = |device: DeviceIndex| self.system.device_name(device as DeviceId);
        Err(PathError::Elsewhere { a: name(from), b: name(to), route })
    }

    /// Says where a GPU sits: it gives the CPU nearest to it, and facts of its model.
    pub(in crate::network) fn gpu_site(&self, gpu: GpuIndex) -> GpuSite {
        let place = self.system.gpu(gpu);
        let kind = &self.kinds[self.system.kind_index_of(place.server)];
        let host = kind.nearest_cpu(place.index as DeviceId);
        let host = host.map(|cpu| self.system.device_at(place.server, cpu) as DeviceIndex);
        let bare = GpuSite::bare(self.system.gpu_device(gpu) as DeviceIndex);
        let site = GpuSite { server: place.server, host, ..bare };
        let Some(model) = kind.server.devices()[place.index as usize].gpu_model() else {
            return site;
        };
        let engines = model.copy_engines().ok();
        GpuSite {
            copy_engines: engines.map_or(site.copy_engines, |engines| engines.count),
            copy_directions: engines.map_or(site.copy_directions, |engines| engines.directions),
            memory_bandwidth: model.memory().ok().map(|memory| memory.bandwidth),
            ..site
        }
    }

    /// Returns the CPU nearest to a GPU, in a kind of server.
    pub(in crate::network) fn host_of(&self, kind: usize, gpu: DeviceId) -> Option<DeviceId> {
        self.kinds[kind].nearest_cpu(gpu)
    }

    /// Returns the server of a device, and its number there.
    fn place(&self, device: DeviceIndex) -> Result<ServerPlace, PathError> {
        match self.system.device(device as DeviceId) {
            SystemDevice::OfServer(place) => Ok(place),
            SystemDevice::Switch(_) => Err(self.no_end(device as DeviceId)),
        }
    }

    fn no_end(&self, device: DeviceId) -> PathError {
        PathError::NoEnd { device: self.system.device_name(device) }
    }

    /// Finds a device's port of the fabric, the path to it and the path back. It goes by the interface at
    /// a place, else by its own.
    fn outside(
        &mut self,
        at: ServerPlace,
        interface: Option<u8>,
    ) -> Result<(NodeId, PathIndex, PathIndex), PathError> {
        let index = self.system.kind_index_of(at.server);
        let kind = &mut self.kinds[index];
        let own = kind.outside[at.index as usize];
        let (Some(_), Some(nic)) = (own, interface.filter(|_| !kind.server.nics_meet_gpus()))
        else {
            return self.through(at, own);
        };
        let named = kind.by(at.index, self.system.kinds()[index].nics(), usize::from(nic))?;
        self.through(at, Some(named))
    }

    fn through(
        &self,
        at: ServerPlace,
        outside: Option<Outside>,
    ) -> Result<(NodeId, PathIndex, PathIndex), PathError> {
        let Some((nic, out, back)) = outside else {
            return Err(self.no_end(self.system.device_at(at.server, at.index as DeviceId)));
        };
        Ok((self.system.port_of(self.system.nic_at(at.server, nic)), out, back))
    }

    /// Returns the bandwidth that messages reach on a server's channel.
    pub(in crate::network) fn reached(&self, server: u32, channel: ServerChannel) -> Bandwidth {
        let kind = &self.kinds[self.system.kind_index_of(server)];
        kind.routes.capacities()[channel as usize]
    }

    /// Gives what copy engines reach of a server's channel.
    pub(in crate::network) fn copied(&self, server: u32, channel: ServerChannel) -> Bandwidth {
        self.kinds[self.system.kind_index_of(server)].routes.copied(channel as usize)
    }

    /// Returns a path within a server.
    pub(in crate::network) fn path(&self, server: u32, path: PathIndex) -> &Path {
        &self.kinds[self.system.kind_index_of(server)].paths[path as usize]
    }
}

impl<'a> KindPaths<'a> {
    /// Interfaces are found where a rule says how, for a server on a fabric.
    fn new(kind: &'a ServerKind, rule: Option<InterfaceRule>) -> Result<Self, PathError> {
        let server: &Server = kind.server();
        let alone = System::of_server(Arc::clone(kind.server()));
        let routes = Routes::new(&alone, Wire::reached_share).expect("shares are above zero");
        let devices = server.devices().len();
        let mut paths = Self {
            server,
            routes,
            between: vec![0; devices * devices],
            of_class: BTreeMap::new(),
            outside: vec![None; devices],
            by_interface: BTreeMap::new(),
            paths: Vec::new(),
        };
        if server.nics_meet_gpus() {
            let meet = paths.add(Path::Packets(Vec::new()));
            for (gpu, nic) in server.gpus().iter().zip((0..kind.nics().len() as u32).cycle()) {
                paths.outside[*gpu] = Some((nic, meet, meet));
            }
        } else if let Some(rule) = rule {
            paths.find_interfaces(kind.nics(), rule)?;
        }
        Ok(paths)
    }

    /// Gives each GPU its interface, and each CPU the one nearest to it, if it reaches any.
    fn find_interfaces(&mut self, nics: &[DeviceId], rule: InterfaceRule) -> Result<(), PathError> {
        let mut users = vec![0_u32; nics.len()];
        for (index, gpu) in self.server.gpus().iter().copied().enumerate() {
            let nic = match rule {
                InterfaceRule::Nearest => self.nearest(gpu, nics, &users),
                InterfaceRule::InTurn => Some(index % nics.len()),
                InterfaceRule::First => Some(0),
            };
            let nic = match self.reached_interface(gpu, nics, nic) {
                // A lost interface is in nobody's way.
                Err(_) if self.server.lacks_parts() => match self.nearest(gpu, nics, &users) {
                    Some(nic) => nic,
                    None => continue,
                },
                nic => nic?,
            };
            users[nic] += 1;
            self.outside[gpu] = Some(self.through(gpu, nics, nic));
        }
        for (device, data) in self.server.devices().iter().enumerate() {
            if data.kind == DeviceKind::Cpu {
                let nearest = self.nearest(device, nics, &vec![0; nics.len()]);
                self.outside[device] = nearest.map(|nic| self.through(device, nics, nic));
            }
        }
        Ok(())
    }

    /// That interface, if a device reaches it over the host.
    fn reached_interface(
        &self,
        from: DeviceId,
        nics: &[DeviceId],
        nic: Option<usize>,
    ) -> Result<usize, PathError> {
        let device = nic.and_then(|nic| nics.get(nic).copied());
        let reached =
            device.filter(|nic| self.routes.route(from, *nic, RouteClass::Host).is_some());
        nic.filter(|_| reached.is_some()).ok_or_else(|| PathError::NoInterface {
            server: self.server.name().to_owned(),
            gpu: self.name(from),
            interface: device.map_or_else(
                || "a network interface".to_owned(),
                |nic| format!("`{}`", self.name(nic)),
            ),
        })
    }

    /// Finds a device's paths by the interface at a place, and back.
    fn by(&mut self, device: u32, nics: &[DeviceId], nic: usize) -> Result<Outside, PathError> {
        if let Some(known) = self.by_interface.get(&(device, nic)) {
            return Ok(*known);
        }
        let reached = self.reached_interface(device as DeviceId, nics, Some(nic))?;
        let paths = self.through(device as DeviceId, nics, reached);
        self.by_interface.insert((device, nic), paths);
        Ok(paths)
    }

    /// Finds the interface nearest to a device on the host. Of equally near ones it takes the wider
    /// one, then the one that fewer use. So GPUs below one switch share its interfaces evenly.
    fn nearest(&self, from: DeviceId, nics: &[DeviceId], users: &[u32]) -> Option<usize> {
        let near = nics.iter().enumerate().filter_map(|(at, nic)| {
            let route = self.routes.route(from, *nic, RouteClass::Host)?;
            Some((route.hops, Reverse(route.bandwidth), users[at], at))
        });
        near.min().map(|(.., nic)| nic)
    }

    /// The CPU nearest to a GPU, by whatever links; of equally near ones the one that is wider.
    fn nearest_cpu(&self, gpu: DeviceId) -> Option<DeviceId> {
        let cpus = (0..).zip(self.server.devices());
        let cpus = cpus.filter(|(_, device)| device.kind == DeviceKind::Cpu);
        let near = cpus.filter_map(|(cpu, _)| {
            let route = self.routes.route(gpu, cpu, RouteClass::Any)?;
            Some((route.hops, Reverse(route.bandwidth), cpu))
        });
        near.min().map(|(.., cpu)| cpu)
    }

    /// A device's paths to an interface that it reaches, and back.
    fn through(&mut self, device: DeviceId, nics: &[DeviceId], nic: usize) -> Outside {
        let mut path = |from: DeviceId, to: DeviceId| {
            let route = self.routes.route(from, to, RouteClass::Host);
            let uses = route.expect("it is reached, and links lead both ways").uses;
            let way = self.one_way(from, to, &uses);
            self.add(Path::Packets(way))
        };
        let (out, back) = (path(device, nics[nic]), path(nics[nic], device));
        (nic as u32, out, back)
    }

    fn add(&mut self, path: Path) -> PathIndex {
        self.paths.push(path);
        self.paths.len() as PathIndex - 1
    }

    fn name(&self, device: DeviceId) -> String {
        self.server.devices()[device].name.clone()
    }

    /// Finds the path between two devices.
    fn between(&mut self, from: u32, to: u32, class: RouteClass) -> Result<PathIndex, PathError> {
        let pair = from as usize * self.server.devices().len() + to as usize;
        let key = (from, to, class);
        let known = match class {
            RouteClass::Any => self.between[pair].checked_sub(1),
            _ => self.of_class.get(&key).copied(),
        };
        if let Some(known) = known {
            return Ok(known);
        }
        let path = self.find(from as DeviceId, to as DeviceId, class)?;
        let index = self.add(path);
        match class {
            RouteClass::Any => self.between[pair] = index + 1,
            _ => _ = self.of_class.insert(key, index),
        }
        Ok(index)
    }

    fn find(&self, from: DeviceId, to: DeviceId, class: RouteClass) -> Result<Path, PathError> {
        let is_end = |device: DeviceId| {
            let kind = self.server.devices()[device].kind;
            matches!(kind, DeviceKind::Gpu | DeviceKind::Cpu)
        };
        if let Some(device) = [from, to].into_iter().find(|device| !is_end(*device)) {
            return Err(PathError::NoEnd { device: self.name(device) });
        }
        if from == to {
            return Ok(Path::Pipes(Vec::new()));
        }
        let is_node = self.server.nics_meet_gpus();
        if is_node && class != RouteClass::Host {
            return Ok(Path::Pipes(vec![self.direct(from, to)]));
        }
        let route = |wanted| {
            let asked = class == RouteClass::Any || class == wanted;
            asked.then(|| self.routes.route(from, to, wanted)).flatten()
        };
        match (route(RouteClass::Fabric), route(RouteClass::Host)) {
            (Some(fabric), Some(host)) if fabric.bandwidth < host.bandwidth => {
                Ok(Path::Packets(self.host_way(from, to, &host.uses)))
            }
            (Some(fabric), _) if self.carries_packets(&fabric.uses) => {
                Ok(Path::Packets(self.one_way(from, to, &fabric.uses)))
            }
            (Some(fabric), _) => Ok(Path::Pipes(self.hops(from, &fabric.uses))),
            (None, Some(host)) if !is_node => {
                Ok(Path::Packets(self.host_way(from, to, &host.uses)))
            }
            (None, _) => Err(PathError::Apart {
                server: self.server.name().to_owned(),
                links: match class {
                    RouteClass::Fabric => "no NVLink",
                    RouteClass::Host => "no path over the host",
                    RouteClass::Network | RouteClass::Interfaces { .. } | RouteClass::Any => {
                        "neither NVLink nor the host"
                    }
                },
                a: self.name(from),
                b: self.name(to),
            }),
        }
    }

    /// Whether packets cross a fabric's route: its links have one discipline, as servers are checked.
    fn carries_packets(&self, uses: &[(usize, f64)]) -> bool {
        self.server.discipline(&self.server.links()[uses[0].0 / 2]) == Discipline::Packets
    }

    /// Returns the link of an abstract node's GPU to another.
    fn direct(&self, from: DeviceId, to: DeviceId) -> PipeHop {
        let (a, b) = (from.min(to), from.max(to));
        // Links are listed by their higher end, then by their lower.
        let index = b * (b - 1) / 2 + a;
        let link = &self.server.links()[index];
        let channel = 2 * index as ServerChannel + ServerChannel::from(from == link.b);
        PipeHop {
            channels: vec![(channel, 1.0)],
            rate: link.total_bandwidth(),
            line: (link.total_bandwidth(), link.kind.packet_format()),
            latency: link.latency,
        }
    }

    /// Returns the hops of a route, each over all its parallel channels. A message is split among
    /// them as the route says, so that all parts of one hop end together.
    fn hops(&self, from: DeviceId, uses: &[(usize, f64)]) -> Vec<PipeHop> {
        let mut hops: Vec<PipeHop> = Vec::new();
        let mut starts = vec![from];
        let mut left = uses;
        while !left.is_empty() {
            let start = |(at, _): &&(usize, f64)| starts.contains(&self.routes.wire(*at).1);
            let count = left.iter().take_while(start).count().max(1);
            let (hop, behind) = left.split_at(count);
            let rates = hop.iter().map(|(at, part)| {
                let rate = self.routes.capacities()[*at].0 as f64 / part;
                if *part < 1.0 { rate.round() as u64 } else { self.routes.capacities()[*at].0 }
            });
            let links = || hop.iter().map(|(at, _)| self.routes.wire(*at));
            let kind = links().next().and_then(|(link, _)| link.kind);
            let format = kind.map_or(PacketFormat::BARE, |kind| kind.packet_format());
            let lines = hop.iter().map(|(at, part)| {
                let line = format.line(self.routes.copied(*at));
                let line = line.min(self.routes.wire(*at).0.bandwidth);
                (line.0 as f64 / part).round() as u64
            });
            let line = Bandwidth(lines.min().unwrap_or(1).max(1));
            hops.push(PipeHop {
                line: (line, format),
                channels: hop.iter().map(|(at, part)| (*at as ServerChannel, *part)).collect(),
                rate: Bandwidth(rates.min().unwrap_or(1).max(1)),
                latency: links().map(|(link, _)| link.latency).max().unwrap_or_default(),
            });
            starts = links().map(|(link, start)| link.other_end(start)).collect();
            left = behind;
        }
        hops
    }

    /// Finds one way over the host: GPUs without peer access go by its memory.
    fn host_way(&self, from: DeviceId, to: DeviceId, uses: &[(usize, f64)]) -> Vec<ServerChannel> {
        let is_direct = self.routes.wiring().has_peer_access(from, to);
        let Some(host) = self.routes.host_of(to).filter(|_| !is_direct) else {
            return self.one_way(from, to, uses);
        };
        let leg = |(from, to): (DeviceId, DeviceId)| {
            let route = self.routes.route(from, to, RouteClass::Host);
            self.one_way(from, to, &route.expect("both reach the host").uses)
        };
        [(from, host), (host, to)].into_iter().flat_map(leg).collect()
    }

    /// One way of a route: at each device the first channel that it uses from there.
    fn one_way(&self, from: DeviceId, to: DeviceId, uses: &[(usize, f64)]) -> Vec<ServerChannel> {
        let mut at = from;
        let mut way = Vec::new();
        while at != to {
            let leaves = |(resource, _): &&(usize, f64)| self.routes.wire(*resource).1 == at;
            let (channel, _) = uses.iter().find(leaves).expect("a route leads to its end");
            way.push(*channel as ServerChannel);
            at = self.routes.wire(*channel).0.other_end(at);
        }
        way
    }
}
