//! Which links a transfer between two devices uses, and how much of it each carries.
//!
//! Routes are the ways of fewest hops over one class of links. Where several are equally short (the
//! planes of NVSwitches, the rails of network interfaces), all are used, each by its width. Relays
//! through other GPUs are left out: they are a schedule's matter. Longer ways that would add width
//! are left out, too, unless a plan names them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::ResourceId;
use crate::diagnostic::{Diagnose, Diagnosis};
use crate::system::views::wiring::WiredId;
use crate::system::{DeviceKind, System, Wire, Wiring};
use crate::units::{Bandwidth, Picoseconds};

/// Over which links a route may go.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub enum RouteClass {
    /// Takes NVLink or xGMI: the two devices' own bundle, else NVSwitches.
    Fabric,
    /// PCIe, CPUs and what joins them; through no other GPU and no network interface.
    Host,
    /// Leads to another server: over the host to a network interface, and over the network. It has
    /// no ways within one server.
    Network,
    /// As [`Self::Network`], by an interface that is named at either end: its place among those of
    /// its server.
    Interfaces {
        /// That by which data leaves its server.
        from: u8,
        /// That by which it arrives.
        to: u8,
    },
    /// Takes the widest of the others; of equally wide ones the one with fewest hops, then the
    /// first in the order above.
    #[default]
    Any,
}

linkwright_ground::named_by_all!(RouteClass, "class of links");

impl RouteClass {
    /// All that have no place in them.
    pub const ALL: [Self; 4] = [Self::Fabric, Self::Host, Self::Network, Self::Any];

    /// Returns its name for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fabric => "fabric",
            Self::Host => "host",
            Self::Network => "network",
            Self::Interfaces { .. } => "interfaces",
            Self::Any => "any",
        }
    }

    /// Returns its place in a set of classes.
    const fn bit(self) -> u8 {
        match self {
            Self::Fabric => 1,
            Self::Host => 2,
            Self::Network | Self::Interfaces { .. } => 4,
            Self::Any => 8,
        }
    }

    /// Whether it leads to another server only.
    #[must_use]
    pub const fn is_network(self) -> bool {
        matches!(self, Self::Network | Self::Interfaces { .. })
    }
}

/// How one device reaches another.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    /// Lists each resource that it uses and the part of the transfer that crosses it, from above 0
    /// to 1. They stand in the order of the hops, then of the links. The fabric's own links follow.
    pub uses: Vec<(ResourceId, f64)>,
    /// Sums the hops' latencies, on the slowest of parallel ways.
    pub latency: Picoseconds,
    /// Counts the links that follow one another.
    pub hops: u32,
    /// The rate at which the first of the resources is full; the largest bandwidth where the
    /// two devices are one.
    pub bandwidth: Bandwidth,
}

/// Says why links make no resources.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{}", self.diagnosis())]
pub enum RouteError {
    /// An efficiency that is none.
    Efficiency {
        /// Names the links' kind.
        kind: &'static str,
        /// Holds the value given.
        value: f64,
    },
}

impl Diagnose for RouteError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Efficiency { kind, value } => {
                Diagnosis::of(format!("the efficiency of {kind} cannot be {value}"))
            }
        }
    }
}

/// Holds the links of a system as resources, and the routes over them.
///
/// The wire with index `i` in [`Wiring::wires`] is the resource `2 * i` from its end `a` to its end
/// `b`, and `2 * i + 1` back. The wires of [`Wiring::inner_wires`] follow, then those of
/// [`Wiring::memories`]. A memory has two resources, and all transfers use the first. Devices are
/// named by their indices in [`Wiring::devices`], which in a whole system are their numbers there.
#[derive(Debug, Clone)]
pub struct Routes<'a> {
    wiring: Cow<'a, Wiring>,
    capacities: Vec<Bandwidth>,
    /// Holds for each of [`Wiring::wires`] the set of classes whose routes may take it.
    carried: Vec<u8>,
    /// Counts for each device the network interfaces of its server that stand before it.
    interfaces: Vec<usize>,
    /// Lists the network's wires to each server, in their order.
    ports: BTreeMap<Option<usize>, Vec<usize>>,
    /// Lists the CPUs of each server, in the order of their ids.
    cpus: BTreeMap<Option<usize>, Vec<WiredId>>,
    /// Gives the place of each CPU's memory among those that can hold something up.
    memories: BTreeMap<WiredId, usize>,
    is_at_peak: bool,
}

impl Routes<'static> {
    /// Makes the routes between all devices of a system.
    ///
    /// # Errors
    /// Fails as [`Routes::on`] does.
    pub fn new(system: &System, efficiency: impl Fn(&Wire) -> f64) -> Result<Self, RouteError> {
        Self::over(Cow::Owned(Wiring::of_system(system)), efficiency)
    }
}

impl<'a> Routes<'a> {
    /// Makes the resources: each direction of a bundle carries the bandwidth of all its
    /// links times what `efficiency` says of them.
    ///
    /// # Errors
    /// [`RouteError::Efficiency`] where that is not above 0 and at most 1.
    pub fn on(wiring: &'a Wiring, efficiency: impl Fn(&Wire) -> f64) -> Result<Self, RouteError> {
        Self::over(Cow::Borrowed(wiring), efficiency)
    }

    /// Makes the same routes at the peak of every link.
    #[must_use]
    pub fn at_peak(wiring: &'a Wiring) -> Self {
        let routes = Self::on(wiring, |_| 1.0).expect("one is an efficiency");
        Self { is_at_peak: true, ..routes }
    }

    /// Says whether links, and the switches between them, reach their peak.
    #[must_use]
    pub const fn is_at_peak(&self) -> bool {
        self.is_at_peak
    }

    fn over(
        wiring: Cow<'a, Wiring>,
        efficiency: impl Fn(&Wire) -> f64,
    ) -> Result<Self, RouteError> {
        let wires = || wiring.wires().iter().chain(wiring.inner_wires()).chain(wiring.memories());
        let mut capacities = Vec::with_capacity(2 * wires().count());
        for wire in wires() {
            // Where devices meet, nothing is lost.
            let value = wire.kind.map_or(1.0, |_| efficiency(wire));
            if let Some(kind) = wire.kind.filter(|_| !(value > 0.0 && value <= 1.0)) {
                return Err(RouteError::Efficiency { kind: kind.name(), value });
            }
            let total = wire.bandwidth.0;
            let reached = if value < 1.0 { (total as f64 * value).round() as u64 } else { total };
            capacities.extend([Bandwidth(reached.max(1)); 2]);
        }
        let carried = wiring.wires().iter().map(|wire| carried(&wiring, wire)).collect();
        let interfaces = interfaces_before(&wiring);
        let ports = ports_of_servers(&wiring);
        let mut cpus: BTreeMap<Option<usize>, Vec<WiredId>> = BTreeMap::new();
        for (id, device) in wiring.devices().iter().enumerate() {
            if device.kind == DeviceKind::Cpu {
                cpus.entry(device.server).or_default().push(id);
            }
        }
        let mut memories = BTreeMap::new();
        for (at, memory) in wiring.memories().iter().enumerate() {
            memories.entry(memory.a).or_insert(at);
        }
        let is_at_peak = false;
        Ok(Self { wiring, capacities, carried, interfaces, ports, cpus, memories, is_at_peak })
    }

    /// Returns the devices and wires that it routes over.
    #[must_use]
    pub fn wiring(&self) -> &Wiring {
        &self.wiring
    }

    /// Returns the bandwidth of each resource; the argument of [`super::FlowNetwork::new`].
    #[must_use]
    pub fn capacities(&self) -> &[Bandwidth] {
        &self.capacities
    }

    /// Gives what copy engines reach of a resource; the peak where all links reach theirs.
    ///
    /// # Panics
    /// If there is no such resource.
    #[must_use]
    pub fn copied(&self, resource: ResourceId) -> Bandwidth {
        let (wire, _) = self.wire(resource);
        if self.is_at_peak || !wire.is_pcie() {
            return self.capacities[resource];
        }
        Bandwidth(((wire.bandwidth.0 as f64 * wire.copied_share()).round() as u64).max(1))
    }

    /// Gives the share of a resource that a copy engine takes, from the share of a copy that crosses it. It takes less than
    /// a kernel does, where copies are the faster.
    ///
    /// # Panics
    /// If there is no such resource.
    #[must_use]
    pub fn of_copy(&self, (resource, share): (ResourceId, f64)) -> (ResourceId, f64) {
        (resource, share * self.capacities[resource].0 as f64 / self.copied(resource).0 as f64)
    }

    /// The wire of a resource, and the device at the end that sends.
    ///
    /// # Panics
    /// If there is no such resource.
    #[must_use]
    pub fn wire(&self, resource: ResourceId) -> (&Wire, WiredId) {
        let (wires, inner) = (self.wiring.wires(), self.wiring.inner_wires());
        let (at, of_wires) = (resource / 2, wires.len());
        let memory = || &self.wiring.memories()[at - of_wires - inner.len()];
        let behind = || inner.get(at - of_wires).unwrap_or_else(memory);
        let wire = wires.get(at).unwrap_or_else(behind);
        (wire, if resource.is_multiple_of(2) { wire.a } else { wire.b })
    }

    /// The route over links of a class, or None where there is none. A device reaches itself
    /// by a route without hops, except over the network. GPUs without peer access over PCIe reach
    /// each other [through the host's memory](Self::through_memory).
    ///
    /// # Panics
    /// If a device does not exist.
    #[must_use]
    pub fn route(&self, from: WiredId, to: WiredId, class: RouteClass) -> Option<Route> {
        if class == RouteClass::Host && !self.wiring.has_peer_access(from, to) && from != to {
            return self.through_memory(from, to);
        }
        if class != RouteClass::Any {
            let reached = self.hops_to(from, to, class);
            return reached.hops(from).map(|_| self.split(from, to, class, &reached));
        }
        let classes = [RouteClass::Network, RouteClass::Host, RouteClass::Fabric];
        let routes = classes.into_iter().filter_map(|class| self.route(from, to, class));
        // Of equal ones the last.
        routes.max_by(|a, b| a.bandwidth.cmp(&b.bandwidth).then(b.hops.cmp(&a.hops)))
    }

    /// The route of a copy that one device writes to the memory of the host and another reads from there. It crosses all
    /// links up to the memory, the memory twice, and all links down again. So two GPUs of one PCIe switch share the
    /// switch's way to the host. None where no host joins them.
    ///
    /// # Panics
    /// If a device does not exist.
    #[must_use]
    pub fn through_memory(&self, from: WiredId, to: WiredId) -> Option<Route> {
        let host = self.host_of(to)?;
        let into = self.route(from, host, RouteClass::Host)?;
        let out = self.route(host, to, RouteClass::Host)?;
        let mut uses: Vec<(ResourceId, f64)> = Vec::with_capacity(into.uses.len() + out.uses.len());
        for (resource, part) in into.uses.into_iter().chain(out.uses) {
            match uses.iter_mut().find(|(known, _)| *known == resource) {
                Some((_, known)) => *known += part,
                None => uses.push((resource, part)),
            }
        }
        let rates = uses.iter().map(|(at, part)| self.capacities[*at].0 as f64 / part);
        let bandwidth = Bandwidth(rates.min_by(f64::total_cmp)?.round() as u64);
        let latency = Picoseconds(into.latency.0.saturating_add(out.latency.0));
        Some(Route { uses, latency, hops: into.hops + out.hops, bandwidth })
    }

    /// The CPU whose memory a device reads fastest: that of fewest hops, of equally near ones the first.
    pub(super) fn host_of(&self, device: WiredId) -> Option<WiredId> {
        let hops = |cpu: WiredId| self.hops_to(device, cpu, RouteClass::Host).hops(device);
        let cpus = self.cpus_beside(device).iter();
        cpus.filter_map(|cpu| Some((hops(*cpu)?, *cpu))).min().map(|(_, cpu)| cpu)
    }

    /// Returns the route that splits a transfer over given ways, each a list of devices with its
    /// weight. Parallel links between two devices share by their bandwidth. None where two devices
    /// that follow each other are not joined, or no way has a weight.
    #[must_use]
    pub fn along(&self, ways: &[(&[WiredId], f64)]) -> Option<Route> {
        let total: f64 = ways.iter().map(|(_, weight)| weight).sum();
        let mut parts: BTreeMap<ResourceId, f64> = BTreeMap::new();
        let (mut latency, mut hops) = (Picoseconds(0), 0);
        for (devices, weight) in ways {
            let mut on_way = Picoseconds(0);
            for pair in devices.windows(2) {
                let links = self.wiring.adjacency().get(pair[0])?.iter();
                let joining =
                    links.filter(|at| self.wiring.wires()[**at].other_end(pair[0]) == pair[1]);
                let joining: Vec<ResourceId> = joining
                    .map(|at| 2 * at + usize::from(self.wiring.wires()[*at].b == pair[0]))
                    .collect();
                let width: f64 = joining.iter().map(|at| self.capacities[*at].0 as f64).sum();
                for at in &joining {
                    let share = self.capacities[*at].0 as f64 / width;
                    *parts.entry(*at).or_default() += weight / total * share;
                }
                let slowest = joining.iter().map(|at| self.wiring.wires()[at / 2].latency).max()?;
                on_way = Picoseconds(on_way.0.saturating_add(slowest.0));
            }
            latency = latency.max(on_way);
            hops = hops.max(devices.len().saturating_sub(1) as u32);
            let between = devices.array_windows().filter_map(|[before, between, after]| {
                let is_crossbar = self.wiring.crossbar() == Some(*between);
                is_crossbar.then_some((*before, *after, weight / total))
            });
            self.cross(between, &mut parts);
        }
        let rates = parts.iter().map(|(at, part)| self.capacities[*at].0 as f64 / part);
        let bandwidth = Bandwidth(rates.min_by(f64::total_cmp)?.round() as u64);
        Some(Route { uses: parts.into_iter().collect(), latency, hops, bandwidth })
    }

    /// Finds the CPU nearest to a device of a server over the host, of equally near ones the first. None where there
    /// is no CPU.
    ///
    /// # Panics
    /// If the device does not exist.
    #[must_use]
    pub fn nearest_cpu(&self, device: WiredId) -> Option<WiredId> {
        self.cpus_beside(device).iter().copied().min_by_key(|cpu| {
            let route = self.route(device, *cpu, RouteClass::Host);
            (route.is_none(), route.map(|route| route.hops))
        })
    }

    /// Lists the CPUs of a device's server.
    fn cpus_beside(&self, device: WiredId) -> &[WiredId] {
        self.cpus.get(&self.server(device)).map_or(&[], Vec::as_slice)
    }

    /// Lists the wires of a device that may lead on between two ends, in their order. The network joins thousands of servers, and a
    /// way passes through none but those of its ends.
    fn wires_at(&self, device: WiredId, ends: [WiredId; 2], class: RouteClass) -> Cow<'_, [usize]> {
        if !class.is_network() || self.wiring.crossbar() != Some(device) {
            return Cow::Borrowed(&self.wiring.adjacency()[device]);
        }
        let mut servers = vec![None, self.server(ends[0]), self.server(ends[1])];
        servers.sort_unstable();
        servers.dedup();
        let ports = servers.iter().filter_map(|server| self.ports.get(server));
        let mut wires: Vec<usize> = ports.flatten().copied().collect();
        wires.sort_unstable();
        Cow::Owned(wires)
    }

    fn server(&self, device: WiredId) -> Option<usize> {
        self.wiring.devices()[device].server
    }

    /// Whether a wire, by its index, carries routes of a class.
    fn carries(&self, wire: usize, class: RouteClass) -> bool {
        self.carried[wire] & class.bit() != 0
    }

    /// Whether a route between two devices may pass through a third.
    fn passes(&self, device: WiredId, ends: [WiredId; 2], class: RouteClass) -> bool {
        let kind = self.wiring.devices()[device].kind;
        let foreign = || {
            let server = self.server(device);
            server.is_some() && ends.iter().all(|end| self.server(*end) != server)
        };
        match class {
            RouteClass::Fabric => kind == DeviceKind::NvSwitch,
            RouteClass::Host => {
                !matches!(kind, DeviceKind::Gpu | DeviceKind::NvSwitch | DeviceKind::Nic)
            }
            RouteClass::Network => {
                !matches!(kind, DeviceKind::Gpu | DeviceKind::NvSwitch) && !foreign()
            }
            RouteClass::Interfaces { from, to } => {
                let named = || {
                    let [source, destination] = ends.map(|end| self.server(end));
                    let at = self.server(device);
                    let of = |server, place| at == server && self.interfaces[device] == place;
                    of(source, usize::from(from)) || of(destination, usize::from(to))
                };
                self.passes(device, ends, RouteClass::Network)
                    && (kind != DeviceKind::Nic || named())
            }
            RouteClass::Any => true,
        }
    }

    /// The devices on ways of fewest hops to `to`, as far as `from` needs to know.
    fn hops_to(&self, from: WiredId, to: WiredId, class: RouteClass) -> Reached {
        let mut reached = Reached::between(&self.wiring, [from, to]);
        if class.is_network() && self.server(from) == self.server(to) {
            return reached;
        }
        reached.note(to, 0);
        let wires = self.wiring.wires();
        let mut layer = vec![to];
        for distance in 1.. {
            if layer.is_empty() || reached.hops(from).is_some() {
                break;
            }
            let mut next_layer = Vec::new();
            for device in &layer {
                for index in self.wires_at(*device, [from, to], class).iter() {
                    let next = wires[*index].other_end(*device);
                    if reached.hops(next).is_some() || !self.carries(*index, class) {
                        continue;
                    }
                    if next == from || self.passes(next, [from, to], class) {
                        reached.note(next, distance);
                        next_layer.push(next);
                    }
                }
            }
            next_layer.sort_unstable();
            reached.layers.push(std::mem::replace(&mut layer, next_layer));
        }
        reached.layers.push(layer);
        reached
    }

    /// Splits a transfer over all ways of fewest hops: at each device in proportion to how
    /// much the ways on from there carry.
    fn split(&self, from: WiredId, to: WiredId, class: RouteClass, reached: &Reached) -> Route {
        let distance = reached.hops(from).unwrap_or(0);
        let layers = &reached.layers[..=distance as usize];
        let wires = self.wiring.wires();
        // The links that lead one hop on, each with its resource and the place that it leads to.
        let onward = |device: WiredId| -> Vec<(ResourceId, usize, Picoseconds)> {
            let own = reached.hops(device);
            let links = self.wires_at(device, [from, to], class);
            let closer = links.iter().filter_map(|index| {
                let link = &wires[*index];
                let next = link.other_end(device);
                let hops = reached.hops(next).map(|hops| hops + 1);
                let closer = hops.is_some() && hops == own && self.carries(*index, class);
                let resource = 2 * index + usize::from(link.b == device);
                closer.then(|| (resource, reached.place(next), link.latency))
            });
            closer.collect()
        };
        let count = reached.count as usize;
        let mut width = vec![0.0_f64; count];
        let mut latency = vec![Picoseconds(0); count];
        width[reached.place(to)] = f64::INFINITY;
        let capacity = |resource: ResourceId| self.capacities[resource].0 as f64;
        let mut on: Vec<Vec<(ResourceId, usize, Picoseconds)>> = vec![Vec::new(); count];
        for device in layers.iter().skip(1).flatten() {
            let own = reached.place(*device);
            on[own] = onward(*device);
            for (resource, next, hop) in &on[own] {
                width[own] += capacity(*resource).min(width[*next]);
                let way = Picoseconds(latency[*next].0.saturating_add(hop.0));
                latency[own] = latency[own].max(way);
            }
        }
        let mut share = vec![0.0_f64; count];
        share[reached.place(from)] = 1.0;
        let mut uses = Vec::new();
        for device in layers.iter().skip(1).rev().flatten() {
            let own = reached.place(*device);
            if share[own] == 0.0 {
                continue;
            }
            for (resource, next, _) in &on[own] {
                let part = share[own] * capacity(*resource).min(width[*next]) / width[own];
                share[*next] += part;
                uses.push((*resource, part));
            }
        }
        self.cross_evenly(&mut uses);
        self.end_in_memory([from, to], &mut uses);
        let rates = uses.iter().map(|(resource, part)| capacity(*resource) / part);
        let narrowest = rates.min_by(f64::total_cmp).unwrap_or(f64::INFINITY);
        let bandwidth = Bandwidth(narrowest.round() as u64);
        Route { uses, latency: latency[reached.place(from)], hops: distance, bandwidth }
    }

    /// Finds the resource of a CPU's memory, where that can hold something up.
    pub(super) fn memory_of(&self, device: WiredId) -> Option<ResourceId> {
        let at = self.memories.get(&device)?;
        Some(2 * (self.wiring.wires().len() + self.wiring.inner_wires().len() + at))
    }

    /// Whether a resource is the memory of a CPU.
    pub(super) fn is_memory(&self, resource: ResourceId) -> bool {
        resource / 2 >= self.wiring.wires().len() + self.wiring.inner_wires().len()
    }

    /// Adds the memories at the ends of a route, behind all else.
    fn end_in_memory(&self, ends: [WiredId; 2], uses: &mut Vec<(ResourceId, f64)>) {
        if ends[0] != ends[1] {
            uses.extend(ends.iter().filter_map(|end| Some((self.memory_of(*end)?, 1.0))));
        }
    }

    /// Adds the fabric's own links to a route. Data that enters at any port leaves by all of the
    /// others, each with its part of the whole.
    fn cross_evenly(&self, uses: &mut Vec<(ResourceId, f64)>) {
        let Some(crossbar) =
            self.wiring.crossbar().filter(|_| self.wiring.fabric_paths().is_some())
        else {
            return;
        };
        let ports = |leaves: bool| -> Vec<(WiredId, f64)> {
            let at_port = uses.iter().filter_map(|(resource, part)| {
                let (wire, sender) = self.wire(*resource);
                (wire.b == crossbar && (sender == crossbar) == leaves).then_some((wire.a, *part))
            });
            at_port.collect()
        };
        let (entered, left) = (ports(false), ports(true));
        let total: f64 = entered.iter().map(|(_, part)| part).sum();
        let pairs = entered.iter().flat_map(|(from, part)| {
            left.iter().map(move |(to, other)| (*from, *to, part * other / total))
        });
        let mut inner = BTreeMap::new();
        self.cross(pairs, &mut inner);
        uses.extend(inner);
    }

    /// Adds what the fabric's own links carry of what goes from one interface to another, each with
    /// its part of the transfer.
    fn cross(
        &self,
        between: impl Iterator<Item = (WiredId, WiredId, f64)>,
        parts: &mut BTreeMap<ResourceId, f64>,
    ) {
        let Some(paths) = self.wiring.fabric_paths() else { return };
        let inner = 2 * self.wiring.wires().len();
        for (from, to, part) in between {
            let [from, to] = [from, to].map(|nic| self.wiring.port_of(nic));
            let (Some(from), Some(to)) = (from, to) else { continue };
            for (channel, share) in paths.shares(from, to).iter() {
                let resource = inner + (channel - paths.first_channel()) as usize;
                *parts.entry(resource).or_default() += part * share;
            }
        }
    }
}

/// The set of classes whose routes may take a wire: none where GPUs share a memory.
fn carried(wiring: &Wiring, wire: &Wire) -> u8 {
    let kinds = [wire.a, wire.b].map(|end| wiring.devices()[end].kind);
    if kinds.iter().any(|kind| kind.is_shared_memory()) {
        return 0;
    }
    let fabric = wire.is_gpu_fabric();
    let host = !wire.is_network() && (!fabric || kinds.contains(&DeviceKind::Cpu));
    let takes = [
        (RouteClass::Fabric, fabric),
        (RouteClass::Host, host),
        (RouteClass::Network, host || wire.is_network()),
        (RouteClass::Any, true),
    ];
    takes.iter().filter(|(_, takes)| *takes).fold(0, |set, (class, _)| set | class.bit())
}

/// Counts for each device the network interfaces of its server that stand before it.
fn interfaces_before(wiring: &Wiring) -> Vec<usize> {
    let mut of_servers: BTreeMap<Option<usize>, usize> = BTreeMap::new();
    let before = wiring.devices().iter().map(|device| {
        let count = of_servers.entry(device.server).or_default();
        let before = *count;
        *count += usize::from(device.kind == DeviceKind::Nic);
        before
    });
    before.collect()
}

/// Lists the wires between the network and each server; none where no network joins servers.
fn ports_of_servers(wiring: &Wiring) -> BTreeMap<Option<usize>, Vec<usize>> {
    let mut ports: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    let has_devices = !wiring.devices().is_empty();
    let Some(crossbar) = has_devices.then(|| wiring.crossbar()).flatten() else { return ports };
    for index in &wiring.adjacency()[crossbar] {
        let beside = wiring.wires()[*index].other_end(crossbar);
        ports.entry(wiring.devices()[beside].server).or_default().push(*index);
    }
    ports
}

/// A device that a search has not come to.
const FAR: u32 = u32::MAX;

/// The devices that a search for a way has come to. None is of another server than its two ends are, but for the crossbar.
struct Reached {
    /// Lists the devices of each number of hops, in the order of their ids.
    layers: Vec<Vec<WiredId>>,
    /// The devices of both ends' servers.
    spans: [Range<WiredId>; 2],
    crossbar: Option<WiredId>,
    /// For each device of these, and then for the crossbar, its place among those that were reached and its hops.
    places: Vec<(u32, u32)>,
    count: u32,
}

impl Reached {
    fn between(wiring: &Wiring, ends: [WiredId; 2]) -> Self {
        let spans = ends.map(|end| wiring.beside(end));
        let count = spans[0].len() + spans[1].len() + 1;
        let crossbar = wiring.crossbar();
        Self { layers: Vec::new(), spans, crossbar, places: vec![(FAR, FAR); count], count: 0 }
    }

    /// The place of a device in the table; None of one that no search comes to.
    fn index(&self, device: WiredId) -> Option<usize> {
        if self.crossbar == Some(device) {
            return Some(self.places.len() - 1);
        }
        let [first, second] = &self.spans;
        if first.contains(&device) {
            return Some(device - first.start);
        }
        second.contains(&device).then(|| first.len() + device - second.start)
    }

    fn note(&mut self, device: WiredId, hops: u32) {
        let index = self.index(device).expect("a way stays in the servers of its ends");
        self.places[index] = (self.count, hops);
        self.count += 1;
    }

    fn hops(&self, device: WiredId) -> Option<u32> {
        let (_, hops) = self.places[self.index(device)?];
        (hops != FAR).then_some(hops)
    }

    /// Its place among those that were reached.
    fn place(&self, device: WiredId) -> usize {
        let index = self.index(device).expect("a way stays in the servers of its ends");
        self.places[index].0 as usize
    }
}

#[cfg(test)]
mod tests;
