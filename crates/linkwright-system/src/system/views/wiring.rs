//! Holds the part of a system that a job can reach. Routes and planners of collectives look at it.
//!
//! A wiring has the devices of some servers and the wires between them. They are numbered without
//! gaps, each with the number that it has in the system. The fabric is seen as its hosts see it:
//! one crossbar. A wire joins it to every network interface and is as wide as the interface's port.
//! Routing chooses the way of a message inside the crossbar, and a planner never does. Where the
//! fabric's own links may hold up traffic from ports, they are wires of the crossbar to itself. No
//! route searches them, and [`FabricPaths`] divides the traffic over them. Some GPUs meet their
//! interface without a channel. They have a wire to it that is as wide as the interface's port, and
//! belongs to no channel. The memory of a CPU that can hold something up is a wire of the CPU to
//! itself. No route searches it, and all that begins or ends there shares it.
//!
//! A wiring leaves out the fabric's own switches, and the servers on which the job has no GPU.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use crate::system::calibration::{Calibration, PeakShare};
use crate::system::composition::System;
use crate::system::fabric::{ChannelId, Fabric, FabricPaths, NodeId};
use crate::system::kinds::{DeviceKind, LinkKind};
use crate::system::server::{Device, DeviceId, MAX_BANDWIDTH, Server};
use crate::units::{Bandwidth, Picoseconds};

/// Gives the index of a device in [`Wiring::devices`].
pub type WiredId = usize;

/// A device that a job can reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WiredDevice {
    /// Gives its number in the system; the crossbar has the number of the fabric's first switch.
    pub id: DeviceId,
    /// Gives the device's kind.
    pub kind: DeviceKind,
    /// The server that it is in; None of what joins servers.
    pub server: Option<usize>,
}

/// Describes a bundle of links between two devices, full duplex.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wire {
    /// Names one end.
    pub a: WiredId,
    /// Names the other end.
    pub b: WiredId,
    /// Gives the links' kind; None where two devices meet without a channel.
    pub kind: Option<LinkKind>,
    /// How many links the bundle holds.
    pub count: u32,
    /// Gives the bandwidth of all of them in one direction; on a fabric [`MAX_BANDWIDTH`] at most.
    pub bandwidth: Bandwidth,
    /// Gives the one-way latency.
    pub latency: Picoseconds,
    /// The system's channel from `a` to `b`; that back is its [`Fabric::reverse`].
    pub channel: Option<ChannelId>,
    /// Gives the share of its peak that long transfers were measured to reach.
    pub reached: Option<PeakShare>,
    /// Gives the share of its peak that reductions in the switch at its end were measured to reach.
    pub in_switch: Option<PeakShare>,
}

impl Wire {
    /// The end that is not `device`.
    #[must_use]
    pub fn other_end(&self, device: WiredId) -> WiredId {
        if self.a == device { self.b } else { self.a }
    }

    /// Gives the share of its peak that long transfers reach: the measured share, else the share of
    /// its kind. Where devices meet without a channel, nothing is lost.
    #[must_use]
    pub fn reached_share(&self) -> f64 {
        let of_kind = || self.kind.map_or(1.0, LinkKind::reached_share);
        self.reached.map_or_else(of_kind, PeakShare::value)
    }

    /// Gives the share of its peak that copy engines reach. Over PCIe it is its kind's, since a server's own shares are measured
    /// of kernels. Over all else it is [what others reach](Self::reached_share).
    #[must_use]
    pub fn copied_share(&self) -> f64 {
        let of_pcie = self.kind.filter(|kind| kind.is_pcie());
        of_pcie.map_or_else(|| self.reached_share(), |kind| kind.reached_by_copies().share)
    }

    /// Gives the share of its peak that reductions in the switch at its end reach. It is the
    /// measured share. Without one, it is the part of the reached share that its kind says. It is
    /// None where such switches cannot reduce.
    #[must_use]
    pub fn in_switch_share(&self) -> Option<f64> {
        let (of_kind, of_link) =
            (self.kind?.reached_in_switch()?.share, self.kind?.reached_share());
        let measured = self.reached.map(|reached| reached.value() * of_kind / of_link);
        Some(self.in_switch.map(PeakShare::value).or(measured).unwrap_or(of_kind))
    }

    /// Whether it is NVLink, xGMI or a link of an abstract server.
    #[must_use]
    pub fn is_gpu_fabric(&self) -> bool {
        self.kind.is_some_and(LinkKind::is_gpu_fabric)
    }

    /// Whether it joins servers.
    #[must_use]
    pub fn is_network(&self) -> bool {
        self.kind.is_some_and(LinkKind::is_network)
    }

    /// Whether it is PCIe.
    #[must_use]
    pub fn is_pcie(&self) -> bool {
        self.kind.is_some_and(LinkKind::is_pcie)
    }
}

/// A server that the job can reach.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WiredServer {
    template: Arc<Server>,
    /// Lists the GPUs of the template that have no peer access over PCIe, in rising order.
    without_peer_access: Arc<[DeviceId]>,
    /// Gives the number of its first GPU in the system, and the index of its first device here.
    first_gpu: usize,
    first_device: WiredId,
}

/// Holds devices of some servers of a system, and the wires that join them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wiring {
    name: String,
    servers: Vec<WiredServer>,
    devices: Vec<WiredDevice>,
    wires: Vec<Wire>,
    /// The links between the fabric's switches, where they count, and how they are divided.
    inner: Vec<Wire>,
    paths: Option<FabricPaths>,
    /// The memories of CPUs that can hold something up, each from its CPU to itself.
    memories: Vec<Wire>,
    adjacency: Vec<Vec<usize>>,
}

impl Wiring {
    /// Builds the wiring of a lone server: its devices and links, by their indices there.
    #[must_use]
    pub fn of_server(server: &Arc<Server>) -> Self {
        let mut wiring = Self::empty(server.name());
        wiring.add(server, (0, 0, 0), None);
        // A machine may be several servers, with the network's switches between them.
        for (device, server) in wiring.devices.iter_mut().zip(server.servers()) {
            device.server = server;
        }
        wiring.finished()
    }

    /// Builds the wiring of the servers of these GPUs, in the order of the system.
    ///
    /// # Panics
    /// For a GPU that is not there.
    #[must_use]
    pub fn of_gpus(system: &System, gpus: &[usize]) -> Self {
        let mut servers: Vec<u32> = gpus.iter().map(|gpu| system.gpu(*gpu as u32).server).collect();
        servers.sort_unstable();
        servers.dedup();
        Self::of_servers(system, &servers)
    }

    /// That of the whole system: its servers' devices have the numbers that they have there.
    #[must_use]
    pub fn of_system(system: &System) -> Self {
        Self::of_servers(system, &(0..system.servers()).collect::<Vec<_>>())
    }

    /// That of the whole system, with the links between the fabric's switches even where these hold nothing up, as far as
    /// [`System::shortest_fabric_paths`] has them.
    #[must_use]
    pub fn of_system_and_switches(system: &System) -> Self {
        let all: Vec<u32> = (0..system.servers()).collect();
        Self::with_paths(system, &all, system.shortest_fabric_paths())
    }

    /// The same without some channels of its system: no route finds their wires, which keep their places. `left` is the
    /// system without them.
    #[must_use]
    pub fn without(mut self, gone: &BTreeSet<ChannelId>, left: &System) -> Self {
        let is_gone = |at: &usize| self.wires[*at].channel.is_some_and(|it| gone.contains(&it));
        for wires in &mut self.adjacency {
            wires.retain(|at| !is_gone(at));
        }
        if self.paths.is_some() {
            self.paths = left.shortest_fabric_paths();
        }
        self
    }

    /// Builds the wiring of servers by their numbers, which ascend.
    fn of_servers(system: &System, servers: &[u32]) -> Self {
        Self::with_paths(system, servers, system.shared_fabric().and_then(FabricPaths::of))
    }

    /// Makes that of servers with these links between the fabric's switches.
    fn with_paths(system: &System, servers: &[u32], paths: Option<FabricPaths>) -> Self {
        let Some(fabric) = system.fabric() else {
            return Self::of_server(system.kinds()[0].server());
        };
        let mut wiring = Self::empty(system.name());
        let mut ports: Vec<(WiredId, u32, Option<PeakShare>)> = Vec::new();
        for server in servers {
            let kind = system.kind_of(*server);
            let numbers = (
                system.gpu_at(*server, 0) as usize,
                system.device_at(*server, 0),
                system.channel_at(*server, 0),
            );
            let first = wiring.devices.len();
            wiring.add(kind.server(), numbers, Some(*server as usize));
            let nics = (0..).zip(kind.nics());
            let port = |nic: u32| system.port_of(system.nic_at(*server, nic));
            let reached = reached(kind.server().calibration(), fabric.link_kind());
            ports.extend(nics.map(|(index, nic)| (first + nic, port(index), reached)));
            if kind.server().nics_meet_gpus() {
                let width = fabric.channels()[Fabric::injection(port(0)) as usize].bandwidth;
                wiring.meet(first, kind.nics(), kind.server().gpus(), width);
            }
        }
        let crossbar = wiring.devices.len();
        let id = system.switch_device(0);
        wiring.devices.push(WiredDevice { id, kind: DeviceKind::NetworkSwitch, server: None });
        let of_fabric = |a: WiredId, channel: ChannelId, reached: Option<PeakShare>| {
            let link = &fabric.channels()[channel as usize];
            Wire {
                a,
                b: crossbar,
                kind: Some(fabric.link_kind()),
                count: 1,
                bandwidth: link.bandwidth,
                latency: link.latency,
                channel: Some(channel),
                reached,
                in_switch: None,
            }
        };
        let of_port = |(nic, port, reached)| of_fabric(nic, Fabric::injection(port), reached);
        wiring.wires.extend(ports.into_iter().map(of_port));
        wiring.paths = paths;
        if let Some(paths) = &wiring.paths {
            let forwards = (paths.first_channel()..fabric.channels().len() as ChannelId).step_by(2);
            wiring.inner.extend(forwards.map(|channel| of_fabric(crossbar, channel, None)));
        }
        // Sums of what planners pack are exact up to here; a server's links are no wider.
        for wire in wiring.wires.iter_mut().chain(&mut wiring.inner) {
            wire.bandwidth = wire.bandwidth.min(MAX_BANDWIDTH);
        }
        wiring.finished()
    }

    fn empty(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            servers: Vec::new(),
            devices: Vec::new(),
            wires: Vec::new(),
            inner: Vec::new(),
            paths: None,
            memories: Vec::new(),
            adjacency: Vec::new(),
        }
    }

    /// Adds a server, by the system's numbers of its first GPU, device and channel.
    fn add(
        &mut self,
        server: &Arc<Server>,
        (first_gpu, id, channel): (usize, DeviceId, ChannelId),
        number: Option<usize>,
    ) {
        let first = self.devices.len();
        // Most servers are as the one before, and a model is looked up by its name.
        let before = self.servers.last().filter(|last| Arc::ptr_eq(&last.template, server));
        let without_peer_access = before.map_or_else(
            || without_peer_access(server),
            |before| Arc::clone(&before.without_peer_access),
        );
        self.servers.push(WiredServer {
            template: Arc::clone(server),
            without_peer_access,
            first_gpu,
            first_device: first,
        });
        self.devices.extend(server.devices().iter().enumerate().map(|(at, device)| WiredDevice {
            id: id + at,
            kind: device.kind,
            server: number,
        }));
        self.wires.extend((0..).zip(server.links()).map(|(at, link)| Wire {
            a: first + link.a,
            b: first + link.b,
            kind: Some(link.kind),
            count: link.count,
            bandwidth: link.total_bandwidth(),
            latency: link.latency,
            channel: Some(channel + 2 * at),
            reached: reached(server.calibration(), link.kind),
            in_switch: in_switch(server.calibration(), link.kind),
        }));
        self.memories.extend(server.host_memories().map(|memory| Wire {
            a: first + memory.cpu,
            b: first + memory.cpu,
            ..meeting(memory.bandwidth)
        }));
    }

    /// Lets the GPUs of an abstract server meet its interface. Alone, a GPU may fill that.
    fn meet(&mut self, first: WiredId, nics: &[DeviceId], gpus: &[DeviceId], bandwidth: Bandwidth) {
        self.wires.extend(gpus.iter().zip(nics.iter().cycle()).map(|(gpu, nic)| Wire {
            a: first + gpu,
            b: first + nic,
            ..meeting(bandwidth)
        }));
    }

    fn finished(mut self) -> Self {
        self.adjacency = vec![Vec::new(); self.devices.len()];
        for (index, wire) in self.wires.iter().enumerate() {
            self.adjacency[wire.a].push(index);
            self.adjacency[wire.b].push(index);
        }
        self
    }

    /// Returns the wiring with other shares of its wires' peaks.
    #[must_use]
    pub fn measured(mut self, measure: impl Fn(&mut Wire)) -> Self {
        self.wires.iter_mut().for_each(measure);
        self
    }

    /// Names the system.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Lists every device: those of the servers, and then the crossbar.
    #[must_use]
    pub fn devices(&self) -> &[WiredDevice] {
        &self.devices
    }

    /// Lists every bundle of links: those of the servers, and then those of their interfaces.
    #[must_use]
    pub fn wires(&self) -> &[Wire] {
        &self.wires
    }

    /// The device that stands for the fabric; None of a server alone.
    #[must_use]
    pub fn crossbar(&self) -> Option<WiredId> {
        let last = self.devices.len() - 1;
        let device = &self.devices[last];
        let is_fabric = device.kind == DeviceKind::NetworkSwitch && device.server.is_none();
        is_fabric.then_some(last)
    }

    /// The fabric's port of a network interface; None of what has none.
    #[must_use]
    pub fn port_of(&self, nic: WiredId) -> Option<NodeId> {
        let crossbar = self.crossbar()?;
        let mut wires = self.adjacency[nic].iter().map(|at| &self.wires[*at]);
        Some(wires.find(|wire| wire.b == crossbar)?.channel? / 2)
    }

    /// Lists the links between the fabric's switches, from the crossbar to itself, in the order of
    /// their channels. There are none where they hold nothing up.
    #[must_use]
    pub fn inner_wires(&self) -> &[Wire] {
        &self.inner
    }

    /// Lists the memories of CPUs that can hold something up, each from its CPU to itself. Reads and
    /// writes share it.
    #[must_use]
    pub fn memories(&self) -> &[Wire] {
        &self.memories
    }

    /// How what passes the crossbar is divided over [`Self::inner_wires`]; None where there are none.
    #[must_use]
    pub const fn fabric_paths(&self) -> Option<&FabricPaths> {
        self.paths.as_ref()
    }

    /// Lists, for each device, the indices of its wires, in the order of [`Self::wires`].
    #[must_use]
    pub fn adjacency(&self) -> &[Vec<usize>] {
        &self.adjacency
    }

    /// The device that a GPU of the system is.
    ///
    /// # Panics
    /// For a GPU of a server that is not part of it.
    #[must_use]
    pub fn gpu(&self, gpu: usize) -> WiredId {
        let (server, index) = self.place(gpu);
        server.first_device + server.template.gpus()[index]
    }

    /// Returns the server of a GPU.
    ///
    /// # Panics
    /// Panics as [`Self::gpu`] does.
    #[must_use]
    pub fn server_of(&self, gpu: usize) -> Option<usize> {
        self.devices[self.gpu(gpu)].server
    }

    /// Returns the template of a GPU's server, and the GPU's index there.
    ///
    /// # Panics
    /// Panics as [`Self::gpu`] does.
    #[must_use]
    pub fn in_template(&self, gpu: usize) -> (&Server, usize) {
        let (server, index) = self.place(gpu);
        (&server.template, index)
    }

    /// Whether a GPU is as all others of its server, which is abstract and has one interface.
    ///
    /// # Panics
    /// Panics as [`Self::gpu`] does.
    #[must_use]
    pub fn is_alike(&self, gpu: usize) -> bool {
        self.place(gpu).0.template.has_gpus_alike()
    }

    fn place(&self, gpu: usize) -> (&WiredServer, usize) {
        let after = self.servers.partition_point(|server| server.first_gpu <= gpu);
        let server = &self.servers[after - 1];
        (server, gpu - server.first_gpu)
    }

    /// Returns the description of a device; None of the crossbar.
    #[must_use]
    pub fn described(&self, device: WiredId) -> Option<&Device> {
        let server = self.server_with(device);
        server.template.devices().get(device - server.first_device)
    }

    /// Whether two devices reach each other's memory over PCIe. GPUs do unless the file of their model says that they do
    /// not: then copies go through the host's memory.
    #[must_use]
    pub fn has_peer_access(&self, a: WiredId, b: WiredId) -> bool {
        let is_gpu = |device: WiredId| self.devices[device].kind == DeviceKind::Gpu;
        let lacks = |device: WiredId| {
            let server = self.server_with(device);
            server.without_peer_access.binary_search(&(device - server.first_device)).is_ok()
        };
        !(is_gpu(a) && is_gpu(b) && (lacks(a) || lacks(b)))
    }

    /// The devices of the server that a device is of, with the crossbar behind the last.
    #[must_use]
    pub fn beside(&self, device: WiredId) -> Range<WiredId> {
        let after = self.servers.partition_point(|server| server.first_device <= device);
        let end = self.servers.get(after).map_or(self.devices.len(), |next| next.first_device);
        self.servers[after - 1].first_device..end
    }

    fn server_with(&self, device: WiredId) -> &WiredServer {
        let after = self.servers.partition_point(|server| server.first_device <= device);
        &self.servers[after - 1]
    }

    /// The device of that number in the system; None where it is not part of it.
    #[must_use]
    pub fn find(&self, id: DeviceId) -> Option<WiredId> {
        self.devices.binary_search_by_key(&id, |device| device.id).ok()
    }
}

/// Lists the GPUs of a server whose model's file says that they do not reach others' memory over PCIe.
fn without_peer_access(server: &Server) -> Arc<[DeviceId]> {
    let lacks = |device: &Device| {
        let access = device.gpu_model().and_then(|model| model.peer_access().ok());
        access.is_some_and(|access| !access.pcie)
    };
    let lacking = server.devices().iter().enumerate().filter(|(_, device)| lacks(device));
    lacking.map(|(id, _)| id).collect()
}

/// Joins a device to itself, or to another that it meets without a channel of the system.
fn meeting(bandwidth: Bandwidth) -> Wire {
    Wire {
        a: 0,
        b: 0,
        kind: None,
        count: 1,
        bandwidth,
        latency: Picoseconds(0),
        channel: None,
        reached: None,
        in_switch: None,
    }
}

/// Returns the share of peak that a server's links of a kind were measured to reach.
fn reached(calibration: Option<&Calibration>, kind: LinkKind) -> Option<PeakShare> {
    calibration?.reached.get(&kind).copied()
}

/// Returns the same of reductions in switches.
fn in_switch(calibration: Option<&Calibration>, kind: LinkKind) -> Option<PeakShare> {
    calibration?.in_switch.get(&kind).copied()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::system::composition::{AbstractNode, PortOrder};
    use crate::system::fabric::FabricSpecification;
    use crate::system::presets::{NAMES, preset};
    use crate::system::views::listed::listed;

    /// Returns servers of the presets, by their places among them.
    fn rows(chosen: &[usize]) -> Vec<(Arc<Server>, u32)> {
        chosen.iter().map(|at| (Arc::new(preset(NAMES[*at]).unwrap()), 1)).collect()
    }

    /// Puts servers on the smallest fabric of a kind.
    fn on(kind: &str, servers: &[(Arc<Server>, u32)], order: PortOrder) -> System {
        let ports = System::ports_for(servers).unwrap();
        let fabric = FabricSpecification::preset(kind).unwrap().for_ports(ports).unwrap();
        System::new(servers, fabric, order).unwrap()
    }

    /// Returns the parts of a wiring, without numbers of the system.
    fn parts(wiring: &Wiring) -> (Vec<(DeviceKind, Option<usize>)>, Vec<Wire>) {
        let devices = wiring.devices().iter().map(|device| (device.kind, device.server));
        let wires = wiring.wires().iter().map(|wire| Wire { channel: None, ..*wire });
        (devices.collect(), wires.collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// The wiring of any servers equals the wiring of a machine that lists every part of them.
        #[test]
        fn servers_are_seen_as_they_are_listed(
            chosen in prop::collection::vec(0..NAMES.len(), 1..5),
            kind in prop::sample::select(vec!["single-switch", "fat-tree", "dragonfly"]),
            rails in any::<bool>(),
            some in any::<u8>(),
        ) {
            let order = if rails { PortOrder::Rails } else { PortOrder::Plain };
            let system = on(kind, &rows(&chosen), order);
            let servers: Vec<u32> =
                (0..system.servers()).filter(|server| some >> server & 1 == 1).collect();
            prop_assume!(servers.len() > 1);
            let wiring = Wiring::of_servers(&system, &servers);
            let listed = listed(&system, &servers).unwrap();
            let numbered = |place: Option<usize>| place.map(|at| servers[at] as usize);
            let (mut devices, wires) = parts(&Wiring::of_server(&Arc::new(listed.clone())));
            devices.iter_mut().for_each(|(_, server)| *server = numbered(*server));
            prop_assert_eq!(parts(&wiring), (devices, wires));
            let gpus = servers.iter().flat_map(|server| {
                let own = system.kind_of(*server).server().gpus().len() as u32;
                (0..own).map(|index| system.gpu_at(*server, index) as usize)
            });
            for (gpu, device) in gpus.zip(listed.gpus()) {
                prop_assert_eq!(wiring.gpu(gpu), *device);
                prop_assert_eq!(wiring.devices()[*device].id, system.gpu_device(gpu as u32));
            }
        }

        /// Every device and channel leads back to the system, which says the same of it.
        #[test]
        fn parts_lead_back_to_the_system(
            chosen in prop::collection::vec(0..NAMES.len(), 1..5),
            some in 1..16_u8,
        ) {
            let system = on("fat-tree", &rows(&chosen), PortOrder::Rails);
            let gpus: Vec<usize> = (0..system.gpus())
                .filter(|gpu| some >> system.gpu(*gpu).server & 1 == 1)
                .map(|gpu| gpu as usize)
                .collect();
            prop_assume!(!gpus.is_empty());
            let wiring = Wiring::of_gpus(&system, &gpus);
            for (at, device) in wiring.devices().iter().enumerate() {
                prop_assert_eq!(wiring.find(device.id), Some(at));
                prop_assert_eq!(device.kind, system.device_kind(device.id));
            }
            for wire in wiring.wires() {
                let forwards = wire.channel.unwrap();
                let there = system.channel(forwards);
                let back = system.channel(Fabric::reverse(forwards));
                prop_assert_eq!(there.from, wiring.devices()[wire.a].id);
                prop_assert_eq!(back.to, wiring.devices()[wire.a].id);
                prop_assert_eq!((there.to, back.from), (back.from, there.to));
                if system.server_channel(forwards).is_some() {
                    prop_assert_eq!(there.to, wiring.devices()[wire.b].id);
                }
                prop_assert_eq!(Some(there.kind), wire.kind);
                let carried = (there.count, there.bandwidth, there.latency);
                prop_assert_eq!(carried, (wire.count, wire.bandwidth, wire.latency));
            }
        }
    }

    #[test]
    fn a_whole_system_has_its_own_numbers() {
        let system = on("single-switch", &rows(&[0, 3, 0]), PortOrder::Plain);
        let wiring = Wiring::of_system(&system);
        assert_eq!(wiring.devices().len(), system.devices());
        assert!(wiring.devices().iter().enumerate().all(|(at, device)| device.id == at));
    }

    #[test]
    fn gpus_of_abstract_nodes_meet_an_interface_as_wide_as_its_port() {
        let fabric = FabricSpecification::preset("fat-tree").unwrap().for_ports(8).unwrap();
        let width = fabric.channels()[0].bandwidth;
        let node =
            AbstractNode { gpus: 2, nics: 1, bandwidth: Bandwidth(7), latency: Picoseconds(5_000) };
        let system = System::of_nodes(fabric, node).unwrap();
        let wiring = Wiring::of_gpus(&system, &[14, 3]);
        let meeting = wiring.wires().iter().filter(|wire| wire.kind.is_none());
        assert!(meeting.clone().all(|wire| wire.bandwidth == width && wire.channel.is_none()));
        let met: Vec<(WiredId, WiredId)> = meeting.map(|wire| (wire.a, wire.b)).collect();
        assert_eq!(met, [(0, 2), (1, 2), (3, 5), (4, 5)]);
        assert_eq!((wiring.gpu(3), wiring.gpu(14)), (1, 3));
        assert_eq!((wiring.server_of(3), wiring.server_of(14)), (Some(1), Some(7)));
        assert_eq!(wiring.described(wiring.devices().len() - 1), None);
    }
}
