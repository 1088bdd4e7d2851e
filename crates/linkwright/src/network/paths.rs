//! The paths of messages within servers: between two GPUs, and between a GPU and its network
//! interface.
//!
//! What it represents: GPUs that a fabric joins (NVLink, xGMI, directly or through NVSwitches) talk
//! over it, whole message after whole message; others over the host's PCIe and sockets, packet by
//! packet, by one way of fewest hops. A GPU's interface is the one nearest to it on the host; of
//! equally near ones the one that is wider, then the one that fewer GPUs before it have, so that
//! GPUs below one switch share its interfaces evenly.
//!
//! What it leaves out: relays through other GPUs, and packets spread over parallel host ways.

use std::cmp::Reverse;
use std::sync::Arc;

use thiserror::Error;

use super::pipes::PipeHop;
use super::route::{RouteClass, Routes};
use super::transport::GpuIndex;
use crate::system::composition::{Place, ServerKind, System};
use crate::system::fabric::NodeId;
use crate::system::kinds::LinkKind;
use crate::system::server::{DeviceId, Server};
use crate::units::Bandwidth;

/// The number of a channel in its server: `2 * i` of link `i` from its end `a`, `2 * i + 1` back.
pub(in crate::network) type ServerChannel = u32;

/// The index of a path among those of its server's kind.
pub(in crate::network) type PathIndex = u32;

/// How a message moves within a server.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::network) enum Path {
    /// As a whole, over one hop of parallel pipes after the other.
    Pipes(Vec<PipeHop>),
    /// As packets, by these channels in a row; none where the ends meet.
    Packets(Vec<ServerChannel>),
}

/// Servers in which a message cannot get where it has to.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PathError {
    /// A GPU without a way to any network interface.
    #[error(
        "in `{server}` no host path leads from `{gpu}` to a network interface; add the link that \
         is missing"
    )]
    NoInterface {
        /// The server.
        server: String,
        /// The GPU.
        gpu: String,
    },
    /// Two GPUs that nothing within their server joins.
    #[error(
        "in `{server}` neither NVLink nor the host joins `{a}` and `{b}`; add the link that is \
         missing"
    )]
    Apart {
        /// The server.
        server: String,
        /// One GPU.
        a: String,
        /// The other GPU.
        b: String,
    },
}

/// The paths of one kind of server, found when they are first asked for.
#[derive(Debug, Clone)]
struct KindPaths<'a> {
    server: &'a Server,
    routes: Routes<'static>,
    /// The path of each pair of GPUs, one more than its index; zero where not asked for.
    between: Vec<PathIndex>,
    /// For each GPU its interface, the path to it and the path back.
    outside: Vec<(u32, PathIndex, PathIndex)>,
    paths: Vec<Path>,
}

/// The paths within all servers of a system.
#[derive(Debug, Clone)]
pub(in crate::network) struct Paths<'a> {
    system: &'a System,
    kinds: Vec<KindPaths<'a>>,
}

/// How a message gets from one GPU to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::network) enum Way {
    /// Within one server.
    Inside(PathIndex),
    /// From a port of the fabric to another, behind a path to the first and before one from the
    /// second.
    Across { from: NodeId, to: NodeId, out: PathIndex, back: PathIndex },
}

impl<'a> Paths<'a> {
    /// # Errors
    /// A GPU of a server on a fabric that reaches no interface.
    pub(in crate::network) fn new(system: &'a System) -> Result<Self, PathError> {
        let joined = system.fabric().is_some();
        let kinds = system.kinds().iter().map(|kind| KindPaths::new(kind, joined));
        Ok(Self { system, kinds: kinds.collect::<Result<_, _>>()? })
    }

    /// How a message gets from a GPU to another.
    ///
    /// # Errors
    /// Two GPUs of one server that nothing joins.
    pub(in crate::network) fn way(
        &mut self,
        from: GpuIndex,
        to: GpuIndex,
    ) -> Result<Way, PathError> {
        let (source, destination) = (self.system.gpu(from), self.system.gpu(to));
        if source.server == destination.server {
            let kind = self.system.kind_index_of(source.server);
            return Ok(Way::Inside(self.kinds[kind].between(source.index, destination.index)?));
        }
        let (from, out, _) = self.outside(source);
        let (to, _, back) = self.outside(destination);
        Ok(Way::Across { from, to, out, back })
    }

    fn outside(&self, at: Place) -> (NodeId, PathIndex, PathIndex) {
        let kind = &self.kinds[self.system.kind_index_of(at.server)];
        let (nic, out, back) = kind.outside[at.index as usize];
        (self.system.port_of(self.system.nic_at(at.server, nic)), out, back)
    }

    /// What messages reach of a server's channel.
    pub(in crate::network) fn reached(&self, server: u32, channel: ServerChannel) -> Bandwidth {
        let kind = &self.kinds[self.system.kind_index_of(server)];
        kind.routes.capacities()[channel as usize]
    }

    /// A path within a server.
    pub(in crate::network) fn path(&self, server: u32, path: PathIndex) -> &Path {
        &self.kinds[self.system.kind_index_of(server)].paths[path as usize]
    }
}

impl<'a> KindPaths<'a> {
    fn new(kind: &'a ServerKind, joined: bool) -> Result<Self, PathError> {
        let server: &Server = kind.server();
        let alone = System::of_server(Arc::clone(kind.server()));
        let routes = Routes::new(&alone, LinkKind::reached_share).expect("shares are above zero");
        let gpus = server.gpus().len();
        let between = vec![0; gpus * gpus];
        let mut paths = Self { server, routes, between, outside: Vec::new(), paths: Vec::new() };
        if server.nics_meet_gpus() {
            let meet = paths.add(Path::Packets(Vec::new()));
            paths.outside = vec![(0, meet, meet); gpus];
        } else if joined {
            paths.find_interfaces(kind.nics())?;
        }
        Ok(paths)
    }

    /// Gives each GPU its interface.
    fn find_interfaces(&mut self, nics: &[DeviceId]) -> Result<(), PathError> {
        let mut users = vec![0_u32; nics.len()];
        for gpu in self.server.gpus() {
            let near = nics.iter().enumerate().filter_map(|(at, nic)| {
                let route = self.routes.route(*gpu, *nic, RouteClass::Host)?;
                Some((route.hops, Reverse(route.bandwidth), users[at], at))
            });
            let Some((.., nic)) = near.min() else {
                let (server, gpu) = (self.server.name().to_owned(), self.name(*gpu));
                return Err(PathError::NoInterface { server, gpu });
            };
            users[nic] += 1;
            let mut path = |from: DeviceId, to: DeviceId| {
                let route = self.routes.route(from, to, RouteClass::Host);
                let uses = route.expect("a route was found above, and links lead both ways").uses;
                let way = self.one_way(from, to, &uses);
                self.add(Path::Packets(way))
            };
            let (out, back) = (path(*gpu, nics[nic]), path(nics[nic], *gpu));
            self.outside.push((nic as u32, out, back));
        }
        Ok(())
    }

    fn add(&mut self, path: Path) -> PathIndex {
        self.paths.push(path);
        self.paths.len() as PathIndex - 1
    }

    fn name(&self, device: DeviceId) -> String {
        self.server.devices()[device].name.clone()
    }

    /// The path between two GPUs.
    fn between(&mut self, from: u32, to: u32) -> Result<PathIndex, PathError> {
        let pair = from as usize * self.server.gpus().len() + to as usize;
        if let Some(known) = self.between[pair].checked_sub(1) {
            return Ok(known);
        }
        let path = self.find(self.server.gpus()[from as usize], self.server.gpus()[to as usize])?;
        let index = self.add(path);
        self.between[pair] = index + 1;
        Ok(index)
    }

    fn find(&self, from: DeviceId, to: DeviceId) -> Result<Path, PathError> {
        if from == to {
            return Ok(Path::Pipes(Vec::new()));
        }
        if self.server.nics_meet_gpus() {
            return Ok(Path::Pipes(vec![self.direct(from, to)]));
        }
        let route = |class| self.routes.route(from, to, class);
        let (fabric, host) = (route(RouteClass::Fabric), route(RouteClass::Host));
        match (fabric, host) {
            (Some(fabric), Some(host)) if fabric.bandwidth < host.bandwidth => {
                Ok(Path::Packets(self.one_way(from, to, &host.uses)))
            }
            (Some(fabric), _) => Ok(Path::Pipes(self.hops(from, &fabric.uses))),
            (None, Some(host)) => Ok(Path::Packets(self.one_way(from, to, &host.uses))),
            (None, None) => Err(PathError::Apart {
                server: self.server.name().to_owned(),
                a: self.name(from),
                b: self.name(to),
            }),
        }
    }

    /// The link of an abstract node's GPU to another.
    fn direct(&self, from: DeviceId, to: DeviceId) -> PipeHop {
        let (a, b) = (from.min(to), from.max(to));
        // Links are listed by their higher end, then by their lower.
        let index = b * (b - 1) / 2 + a;
        let link = &self.server.links()[index];
        let channel = 2 * index as ServerChannel + ServerChannel::from(from == link.b);
        PipeHop {
            channels: vec![(channel, 1.0)],
            rate: link.total_bandwidth(),
            latency: link.latency,
        }
    }

    /// The hops of a route, each over all its parallel channels: a message is split among them as
    /// the route says, so that all of one hop end together.
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
            hops.push(PipeHop {
                channels: hop.iter().map(|(at, part)| (*at as ServerChannel, *part)).collect(),
                rate: Bandwidth(rates.min().unwrap_or(1).max(1)),
                latency: links().map(|(link, _)| link.latency).max().unwrap_or_default(),
            });
            starts = links().map(|(link, start)| link.other_end(start)).collect();
            left = behind;
        }
        hops
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
