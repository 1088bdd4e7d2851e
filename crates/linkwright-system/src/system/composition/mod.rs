//! Holds a system: servers of a few kinds, each used any number of times, and the fabric between
//! them.
//!
//! Every device and every channel of the whole has a number. A server is a template ([`Server`]),
//! described once. A [`Fabric`] joins the network interfaces of all of them, each at a port of its
//! own. Numbers are arithmetic over both, so that a system's memory grows with its kinds of servers
//! and its fabric, and not with its servers. A lone server is a system without a fabric.
//!
//! The model leaves out which way anything takes; that is the business of routes.
//!
//! | numbers | in order |
//! | --- | --- |
//! | GPUs, network interfaces | those of the first server, of the second, ... |
//! | devices | those of the first server, of the second, ..., then the fabric's switches |
//! | channels | the fabric's, then two for each link of the first server, of the second, ... |

mod attachment;
mod interfaces;
mod losses;
mod named_parts;
mod node;
mod numbers;
mod speeds;
mod split;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use attachment::{InterfaceRule, PortOrder};
pub use losses::Losses;
pub use named_parts::{PartError, SystemPart};
pub use node::{AbstractNode, MOST_NODE_GPUS, NodeError};
pub use numbers::ServerPlace;
pub use speeds::{InterfaceSpeeds, SpeedSource};
pub use split::{ServersAndFabric, lists_network, split};

use super::calibration::Calibration;
use super::error::SystemError;
use super::fabric::{ChannelId, End, Fabric, FabricPaths, NodeId};
use super::gpus::{GpuChanges, GpuError};
use super::kinds::{DeviceKind, Discipline, LinkKind};
use super::packet_format::LinkFlits;
use super::server::{DeviceId, Server};
use crate::units::{Bandwidth, Picoseconds};
use numbers::{Counts, Numbers};

/// The most described servers that a system is asked for: several times those of the largest that
/// are run.
pub const MOST_SERVERS: u32 = 1 << 14;

/// A server that a system uses, with what is counted of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerKind {
    server: Arc<Server>,
    nics: Vec<DeviceId>,
}

impl ServerKind {
    /// Returns the template.
    #[must_use]
    pub fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// Its network interfaces in order: interface `i` is the device `nics()[i]`.
    #[must_use]
    pub fn nics(&self) -> &[DeviceId] {
        &self.nics
    }

    fn counts(&self) -> Counts {
        Counts {
            gpus: self.server.gpus().len() as u32,
            nics: self.nics.len() as u32,
            devices: self.server.devices().len() as u32,
            channels: 2 * self.server.links().len() as u32,
        }
    }
}

/// Names a device of a system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemDevice {
    /// One of a server: `index` is its id in the template.
    OfServer(ServerPlace),
    /// Names a switch of the fabric by its number there.
    Switch(u32),
}

/// Describes one direction of a bundle of links, anywhere in a system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SystemChannel {
    /// The device where it starts.
    pub from: DeviceId,
    /// The device where it ends.
    pub to: DeviceId,
    /// Says of what kind it is.
    pub kind: LinkKind,
    /// How many links the bundle holds.
    pub count: u32,
    /// Sums the bytes per second of all of them.
    pub bandwidth: Bandwidth,
    /// Gives the one-way latency.
    pub latency: Picoseconds,
    /// How it carries whole flits, where it does so by a clock.
    pub flits: Option<LinkFlits>,
    /// How it carries messages.
    pub discipline: Discipline,
}

/// Servers and what joins them; see the module for how its parts are numbered.
#[derive(Debug, Clone)]
pub struct System {
    name: String,
    kinds: Vec<ServerKind>,
    numbers: Numbers,
    fabric: Option<Arc<Fabric>>,
    order: PortOrder,
    interface_rule: InterfaceRule,
    /// Says where the speed of the fabric's links comes from, if nobody named it; the last assumption
    /// says so in a sentence.
    unnamed_speed: Option<SpeedSource>,
    assumptions: Vec<String>,
}

/// Equal parts make equal systems, whoever said how fast the fabric's links are.
impl PartialEq for System {
    fn eq(&self, other: &Self) -> bool {
        let of = |it: &Self| (it.order, it.interface_rule);
        self.name == other.name
            && self.kinds == other.kinds
            && self.numbers == other.numbers
            && self.fabric == other.fabric
            && of(self) == of(other)
            && self.assumed_of_servers() == other.assumed_of_servers()
    }
}

impl Eq for System {}

impl System {
    /// A lone server, which needs no interface.
    #[must_use]
    pub fn of_server(server: Arc<Server>) -> Self {
        let name = server.name().to_owned();
        let kind = ServerKind { nics: nics_of(&server), server };
        let numbers = Numbers::new(&[(0, 1, kind.counts())], 0).expect("one server is countable");
        let (kinds, order) = (vec![kind], PortOrder::Plain);
        let (interface_rule, assumptions) = (InterfaceRule::default(), Vec::new());
        Self {
            name,
            kinds,
            numbers,
            fabric: None,
            order,
            interface_rule,
            unnamed_speed: None,
            assumptions,
        }
    }

    /// Puts servers on a fabric, each a given number of times in a row. A server without network
    /// interfaces is given one for each CPU, which the system's assumptions say.
    ///
    /// # Errors
    /// Refuses no server. Refuses one that has a network of its own, or neither interfaces nor
    /// CPUs. Refuses more interfaces than the fabric has ports, and more devices or channels than
    /// can be numbered.
    pub fn new(
        servers: &[(Arc<Server>, u32)],
        fabric: Fabric,
        order: PortOrder,
    ) -> Result<Self, SystemError> {
        let mut kinds: Vec<ServerKind> = Vec::new();
        let mut given: Vec<&Arc<Server>> = Vec::new();
        let mut assumptions: Vec<String> = Vec::new();
        let mut runs = Vec::new();
        for (server, count) in servers.iter().filter(|(_, count)| *count > 0) {
            let known =
                given.iter().position(|other| Arc::ptr_eq(other, server) || *other == server);
            let kind = match known {
                Some(kind) => kind,
                None => {
                    let (server, assumed) = interfaces::with_interfaces(server)?;
                    assumptions.extend(assumed);
                    kinds.push(ServerKind { nics: nics_of(&server), server });
                    kinds.len() - 1
                }
            };
            if known.is_none() {
                given.push(server);
            }
            runs.push((kind as u32, *count, kinds[kind].counts()));
        }
        let numbers = Numbers::new(&runs, fabric.channels().len())?;
        let ports = fabric.nodes();
        if numbers.total().nics > ports {
            let nics = numbers.total().nics;
            return Err(SystemError::TooFewPorts { ports, nics, missing: nics - ports });
        }
        let name = attachment::name(&kinds, &runs, &fabric);
        let (fabric, interface_rule) = (Some(Arc::new(fabric)), InterfaceRule::default());
        Ok(Self {
            name,
            kinds,
            numbers,
            fabric,
            order,
            interface_rule,
            unnamed_speed: None,
            assumptions,
        })
    }

    /// A fabric with abstract nodes ([`Server::abstract_node`]) at all ports, as many at each node as it has interfaces.
    ///
    /// # Errors
    /// Numbers out of range, ports that nodes of several interfaces do not share evenly, or more GPUs or channels than
    /// can be numbered.
    pub fn of_nodes(fabric: Fabric, node: AbstractNode) -> Result<Self, SystemError> {
        node.check()?;
        let (ports, nics) = (fabric.nodes(), node.nics);
        if !ports.is_multiple_of(nics) {
            return Err(SystemError::UnevenPorts { ports, nics });
        }
        let node = Arc::new(Server::abstract_node(node));
        Self::new(&[(node, ports / nics)], fabric, PortOrder::Plain)
    }

    /// Counts the ports of a fabric that servers take: those of their network interfaces.
    ///
    /// # Errors
    /// Servers that no fabric can join, or more interfaces than can be numbered.
    pub fn ports_for(servers: &[(Arc<Server>, u32)]) -> Result<u32, SystemError> {
        let mut ports = 0_u32;
        for (server, count) in servers {
            let (server, _) = interfaces::with_interfaces(server)?;
            let more = (nics_of(&server).len() as u32).checked_mul(*count);
            let sum = more.and_then(|more| ports.checked_add(more));
            ports = sum.ok_or(SystemError::TooManyParts)?;
        }
        if ports == 0 { Err(SystemError::NoServer) } else { Ok(ports) }
    }

    /// Returns the same system under another name.
    #[must_use]
    pub fn renamed(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// Gives the same with other facts of its GPUs.
    ///
    /// # Errors
    /// A GPU of no known model, and all that [`GpuChanges::on`] refuses.
    pub fn with_gpus(&self, changes: &GpuChanges) -> Result<Self, GpuError> {
        let mut kinds = self.kinds.clone();
        for kind in &mut kinds {
            let server = Server::clone(&kind.server).with_gpus(changes)?;
            kind.server = Arc::new(server);
        }
        Ok(Self { kinds, ..self.clone() })
    }

    /// The same system, with what was measured of a kind of server.
    ///
    /// # Panics
    /// For a kind that is not there.
    #[must_use]
    pub fn calibrated(&self, kind: usize, calibration: Calibration) -> Self {
        self.with_kind(kind, |server| server.clone().calibrated(calibration))
    }

    /// The same system, where each server of a kind is changed: it keeps its devices and its links.
    ///
    /// # Panics
    /// For a kind that is not there, or a server that has other devices or links.
    #[must_use]
    pub fn with_kind(&self, kind: usize, change: impl FnOnce(&Server) -> Server) -> Self {
        let mut kinds = self.kinds.clone();
        let before = kinds[kind].counts();
        kinds[kind].server = Arc::new(change(&kinds[kind].server));
        assert_eq!(kinds[kind].counts(), before, "a changed server has the parts that it had");
        Self { kinds, ..self.clone() }
    }

    /// Returns its name for people.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Lists the servers that it is made from, each once.
    #[must_use]
    pub fn kinds(&self) -> &[ServerKind] {
        &self.kinds
    }

    /// Returns the fabric that joins the servers; None for a lone one.
    #[must_use]
    pub fn fabric(&self) -> Option<&Fabric> {
        self.fabric.as_deref()
    }

    /// Whether links between the fabric's switches may hold up what its ports send, so that it matters
    /// which ports a job has.
    #[must_use]
    pub fn fabric_holds_up(&self) -> bool {
        self.fabric.as_ref().is_some_and(|fabric| FabricPaths::of(fabric).is_some())
    }

    /// Gives the shortest paths through the fabric, even where its switches hold nothing up. There are none of a single
    /// switch, of a dragonfly, and of a lone server.
    #[must_use]
    pub fn shortest_fabric_paths(&self) -> Option<FabricPaths> {
        self.fabric.as_ref().and_then(FabricPaths::of_shortest)
    }

    /// The same, to be kept beside the system.
    pub(crate) fn shared_fabric(&self) -> Option<&Arc<Fabric>> {
        self.fabric.as_ref()
    }

    /// Lists the assumptions about the whole: which servers list no interface. The assumptions
    /// about a server alone stand in its template.
    #[must_use]
    pub fn assumptions(&self) -> &[String] {
        &self.assumptions
    }

    /// How many servers there are.
    #[must_use]
    pub fn servers(&self) -> u32 {
        self.numbers.servers()
    }

    /// How many GPUs there are.
    #[must_use]
    pub fn gpus(&self) -> u32 {
        self.numbers.total().gpus
    }

    /// How many network interfaces there are.
    #[must_use]
    pub fn nics(&self) -> u32 {
        self.numbers.total().nics
    }

    /// How many devices there are, switches of the fabric included.
    #[must_use]
    pub fn devices(&self) -> usize {
        let switches = self.fabric.as_ref().map_or(0, |fabric| fabric.switches() as usize);
        self.numbers.total().devices as usize + switches
    }

    /// How many channels there are.
    #[must_use]
    pub fn channels(&self) -> usize {
        self.fabric_channels() + self.numbers.total().channels as usize
    }

    /// How many of the channels are the fabric's: the first.
    #[must_use]
    pub fn fabric_channels(&self) -> usize {
        self.fabric.as_ref().map_or(0, |fabric| fabric.channels().len())
    }

    /// Returns the kind of a server.
    ///
    /// # Panics
    /// For a server that is not there, as all that take a number here.
    #[must_use]
    pub fn kind_of(&self, server: u32) -> &ServerKind {
        &self.kinds[self.kind_index_of(server)]
    }

    /// Returns the index, in [`Self::kinds`], of a server's kind.
    #[must_use]
    pub fn kind_index_of(&self, server: u32) -> usize {
        self.numbers.kind_of(server) as usize
    }

    /// Returns the server of a GPU, and its index there.
    #[must_use]
    pub fn gpu(&self, gpu: u32) -> ServerPlace {
        self.numbers.place(gpu, |counts| counts.gpus)
    }

    /// Returns the number of a server's GPU.
    #[must_use]
    pub fn gpu_at(&self, server: u32, index: u32) -> u32 {
        self.numbers.first(server, |it| it.gpus) + index
    }

    /// Returns the number of each server's first GPU.
    #[must_use]
    pub fn first_gpus(&self) -> Vec<u32> {
        (0..self.servers()).map(|server| self.gpu_at(server, 0)).collect()
    }

    /// Returns the server of a network interface, and its index there.
    #[must_use]
    pub fn nic(&self, nic: u32) -> ServerPlace {
        self.numbers.place(nic, |counts| counts.nics)
    }

    /// Returns the number of a server's network interface.
    #[must_use]
    pub fn nic_at(&self, server: u32, index: u32) -> u32 {
        self.numbers.first(server, |it| it.nics) + index
    }

    /// Returns the order in which the interfaces take the fabric's ports.
    #[must_use]
    pub fn port_order(&self) -> PortOrder {
        self.order
    }

    /// Says through which interfaces GPUs send to other servers.
    #[must_use]
    pub fn interface_rule(&self) -> InterfaceRule {
        self.interface_rule
    }

    /// Returns the same system, whose GPUs send to other servers by another rule.
    #[must_use]
    pub fn with_interface_rule(self, interface_rule: InterfaceRule) -> Self {
        Self { interface_rule, ..self }
    }

    /// The port of the fabric at which a network interface is.
    #[must_use]
    pub fn port_of(&self, nic: u32) -> NodeId {
        attachment::port_of(self.order, &self.numbers, nic)
    }

    /// Returns the network interface at a port of the fabric; None at a spare one.
    #[must_use]
    pub fn nic_of_port(&self, port: NodeId) -> Option<u32> {
        attachment::nic_of(self.order, &self.numbers, port)
    }

    /// Says which part of the system a device is.
    #[must_use]
    pub fn device(&self, device: DeviceId) -> SystemDevice {
        match (device as u64).checked_sub(u64::from(self.numbers.total().devices)) {
            Some(switch) => SystemDevice::Switch(switch as u32),
            None => SystemDevice::OfServer(self.numbers.place(device as u32, |it| it.devices)),
        }
    }

    /// Returns the number of a server's device, by its id in the template.
    #[must_use]
    pub fn device_at(&self, server: u32, device: DeviceId) -> DeviceId {
        self.numbers.first(server, |it| it.devices) as usize + device
    }

    /// Returns the number of a switch of the fabric among the devices.
    #[must_use]
    pub fn switch_device(&self, switch: u32) -> DeviceId {
        self.numbers.total().devices as usize + switch as usize
    }

    /// Returns the kind of a device.
    #[must_use]
    pub fn device_kind(&self, device: DeviceId) -> DeviceKind {
        match self.device(device) {
            SystemDevice::Switch(_) => DeviceKind::NetworkSwitch,
            SystemDevice::OfServer(at) => {
                self.kind_of(at.server).server.devices()[at.index as usize].kind
            }
        }
    }

    /// Names a device for people: as its server does, below `node3/` where there are several; a
    /// switch as the fabric does.
    #[must_use]
    pub fn device_name(&self, device: DeviceId) -> String {
        match (self.device(device), &self.fabric) {
            (SystemDevice::Switch(switch), Some(fabric)) => fabric.switch_name(switch),
            (SystemDevice::Switch(switch), None) => format!("switch{switch}"),
            (SystemDevice::OfServer(at), fabric) => {
                let name = &self.kind_of(at.server).server.devices()[at.index as usize].name;
                match fabric {
                    None => name.clone(),
                    Some(_) => format!("node{}/{name}", at.server),
                }
            }
        }
    }

    /// The device that a GPU is.
    #[must_use]
    pub fn gpu_device(&self, gpu: u32) -> DeviceId {
        let at = self.gpu(gpu);
        self.device_at(at.server, self.kind_of(at.server).server.gpus()[at.index as usize])
    }

    /// The device that a network interface is.
    #[must_use]
    pub fn nic_device(&self, nic: u32) -> DeviceId {
        let at = self.nic(nic);
        self.device_at(at.server, self.kind_of(at.server).nics[at.index as usize])
    }

    /// The number of a server's channel: that of link `i` from its end `a` is `2 * i` in the
    /// server, and back `2 * i + 1`.
    #[must_use]
    pub fn channel_at(&self, server: u32, channel: u32) -> ChannelId {
        self.fabric_channels() as u32 + self.numbers.first(server, |it| it.channels) + channel
    }

    /// Whether a channel joins switches of the fabric.
    #[must_use]
    pub fn is_inner(&self, channel: ChannelId) -> bool {
        let fabric = self.fabric.as_ref().and_then(|it| it.channels().get(channel as usize));
        fabric.is_some_and(|it| matches!((it.from, it.to), (End::Switch(_), End::Switch(_))))
    }

    /// Returns the server of a channel and its number there; None for a channel of the fabric.
    #[must_use]
    pub fn server_channel(&self, channel: ChannelId) -> Option<ServerPlace> {
        let inside = channel.checked_sub(self.fabric_channels() as u32)?;
        Some(self.numbers.place(inside, |counts| counts.channels))
    }

    /// A channel's ends and what it carries.
    #[must_use]
    pub fn channel(&self, channel: ChannelId) -> SystemChannel {
        let Some(at) = self.server_channel(channel) else {
            return self.fabric_channel(channel);
        };
        let server = &self.kind_of(at.server).server;
        let link = &server.links()[at.index as usize / 2];
        let ends = if at.index.is_multiple_of(2) { [link.a, link.b] } else { [link.b, link.a] };
        let [from, to] = ends.map(|end| self.device_at(at.server, end));
        SystemChannel {
            from,
            to,
            kind: link.kind,
            count: link.count,
            bandwidth: link.total_bandwidth(),
            latency: link.latency,
            discipline: server.discipline(link),
            flits: link.flits,
        }
    }

    fn fabric_channel(&self, channel: ChannelId) -> SystemChannel {
        let fabric = self.fabric.as_ref().expect("only a fabric has channels before a server's");
        let data = fabric.channels()[channel as usize];
        let device = |end: End| match end {
            End::Switch(switch) => self.switch_device(switch),
            // A spare port has no device; its channels are never asked for by a route.
            End::Node(port) => {
                self.nic_of_port(port).map_or(usize::MAX, |nic| self.nic_device(nic))
            }
        };
        SystemChannel {
            from: device(data.from),
            to: device(data.to),
            kind: fabric.link_kind(),
            count: 1,
            bandwidth: data.bandwidth,
            latency: data.latency,
            discipline: Discipline::Packets,
            flits: None,
        }
    }
}

fn nics_of(server: &Server) -> Vec<DeviceId> {
    let devices = server.devices().iter().enumerate();
    devices.filter(|(_, device)| device.kind == DeviceKind::Nic).map(|(id, _)| id).collect()
}
