//! Plays flows over given routes: the network of a job alone on its links.
//!
//! Connections have the resources that they use, each with the part of the data that crosses it.
//! Everything under way on one is a flow, and flows share the resources max-min fairly
//! ([`FlowNetwork`]). Data arrives a connection's latency after its last byte was sent. A message
//! that names no connection takes the ways of fewest hops of its class ([`Routes::route`]).
//!
//! It leaves out packets, buffers, and turns at network interfaces. It leaves out routing: data
//! that crosses a fabric is divided over its shortest paths
//! ([`FabricPaths`](crate::system::fabric::FabricPaths)).

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU32;

use super::channel_shares::ChannelShares;
use super::connection_bus::ConnectionBus;
use super::flow::FlowNetwork;
use super::pcie::PcieSettings;
use super::route::{RouteClass, Routes};
use super::site::GpuSite;
use super::transport::{
    ConnectionIndex, DeviceIndex, GpuIndex, Message, Occurrence, Transport, TransportError,
};
use super::{PathError, ResourceId};
use crate::engine::{Model, Scheduler};
use crate::system::System;
use crate::system::fabric::ChannelId;
use crate::system::views::wiring::WiredId;
use crate::units::{Bandwidth, Bytes, Picoseconds};

/// Tells that sent data has arrived.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    token: u64,
}

/// Holds a connection, and the bytes that it has carried.
#[derive(Debug, Clone, Copy)]
struct Connection {
    /// Its range of the uses of all.
    uses: (u32, u32),
    /// The most that a transfer takes of them.
    limit: Option<Bandwidth>,
    latency: Picoseconds,
    sender: Sender,
    carried: Bytes,
    /// Is the part of that which is data, and no flags of a protocol.
    data: f64,
}

/// Says who sends over a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sender {
    Kernel,
    CopyEngine,
    /// A library of messages does.
    Library,
}

/// Counts the transfers that used a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TransferCount {
    /// Counts them in all.
    pub all: u64,
    /// Counts them at one time, at most.
    pub most: u32,
    now: u32,
}

/// Describes the load of a flow.
#[derive(Debug, Clone, Copy)]
struct Carried {
    connection: ConnectionIndex,
    token: u64,
}

/// Plays flows over connections; see the module for what they represent.
///
/// ```
/// use std::sync::Arc;
/// use linkwright_network::network::{Connections, Occurrence, RouteClass, Routes, Traffic};
/// use linkwright_system::system::{System, presets};
/// use linkwright_ground::units::{Bytes, Picoseconds};
///
/// let system = System::of_server(Arc::new(presets::preset("dgx1-v100")?));
/// let routes = Routes::new(&system, |_| 1.0)?;
/// let [from, to] = [0, 3].map(|gpu| routes.wiring().gpu(gpu));
/// let route = routes.route(from, to, RouteClass::Fabric).unwrap(); // two NVLinks of 25 GB/s
/// let mut network = Connections::over(&routes, &[]);
/// let connection = network.open(&route.uses, Picoseconds(4_000_000));
/// let mut traffic = Traffic::new(&mut network);
/// traffic.transfer(connection, Bytes(50_000), 7)?;
/// assert_eq!(traffic.next_occurrence()?, Some(Occurrence::Sent { token: 7 }));
/// assert_eq!(traffic.now(), Picoseconds(1_000_000));
/// assert_eq!(traffic.next_occurrence()?, Some(Occurrence::Delivered { token: 7 }));
/// assert_eq!(traffic.now(), Picoseconds(5_000_000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Connections<'a> {
    routes: &'a Routes<'a>,
    gpus: &'a [usize],
    flows: FlowNetwork,
    connections: Vec<Connection>,
    uses: Vec<(ResourceId, f64)>,
    /// Holds the connections that messages without one of their own take.
    found: BTreeMap<(DeviceIndex, DeviceIndex, RouteClass, Sender), ConnectionIndex>,
    /// Where the GPUs sit, if that was told.
    sites: Vec<GpuSite>,
    /// How many transfers use each resource, if they are counted.
    counts: Option<Vec<TransferCount>>,
    /// Which channels resources are, if what these carry is counted.
    shares: Option<ChannelShares>,
    /// The host channels of servers, where a PCIe bus has settings.
    bus: Option<ConnectionBus>,
    /// Holds the load of each flow, by its slot.
    of_flow: Vec<Carried>,
    occurred: VecDeque<Occurrence>,
    under_way: usize,
    /// Whether something has started since the last completion was looked for that takes no time.
    is_instant: bool,
    last_arrival: Picoseconds,
    /// How many flows have ended.
    ended: u64,
    fault: Option<TransportError>,
}

impl<'a> Connections<'a> {
    /// A network at rest at time zero, on which nothing is open. Its GPUs are these of the system,
    /// in this order; a device is named by its index in
    /// [`Wiring::devices`](crate::system::Wiring::devices).
    #[must_use]
    pub fn over(routes: &'a Routes<'a>, gpus: &'a [usize]) -> Self {
        Self {
            routes,
            gpus,
            flows: FlowNetwork::new(routes.capacities()),
            connections: Vec::new(),
            uses: Vec::new(),
            found: BTreeMap::new(),
            sites: Vec::new(),
            counts: None,
            shares: None,
            bus: None,
            of_flow: Vec::new(),
            occurred: VecDeque::new(),
            under_way: 0,
            is_instant: false,
            last_arrival: Picoseconds(0),
            ended: 0,
            fault: None,
        }
    }

    /// Sets where each of its GPUs sits, by the indices of its devices.
    #[must_use]
    pub fn with_sites(self, sites: Vec<GpuSite>) -> Self {
        Self { sites, ..self }
    }

    /// With a PCIe bus, of a network over the routes of this whole system; before any connection is opened.
    ///
    /// # Errors
    /// A server in which a GPU reaches no network interface.
    pub fn with_bus(self, system: &System, settings: &PcieSettings) -> Result<Self, PathError> {
        let bus = ConnectionBus::new(system, self.routes, settings)?;
        let flows = FlowNetwork::new(bus.channels().capacities());
        Ok(Self { flows, bus: Some(bus), ..self })
    }

    /// Sets the routes of later messages that have no connection of their own, over the same
    /// resources. Messages under way go on as they began.
    ///
    /// # Panics
    /// If the resources are others.
    pub fn reroute(&mut self, routes: &'a Routes<'a>) {
        assert_eq!(routes.capacities(), self.routes.capacities(), "routes over other resources");
        self.routes = routes;
        self.found.clear();
    }

    /// Counts the transfers on each resource from now on.
    #[must_use]
    pub fn counting(self) -> Self {
        let counts = vec![TransferCount::default(); self.routes.capacities().len()];
        Self { counts: Some(counts), ..self }
    }

    /// How many transfers used each resource, where they are counted.
    #[must_use]
    pub fn counts(&self) -> &[TransferCount] {
        self.counts.as_deref().unwrap_or(&[])
    }

    /// Counts what the channels of its system carry from now on.
    #[must_use]
    pub fn counting_channels(self, system: &System) -> Self {
        Self { shares: Some(ChannelShares::new(system, self.routes)), ..self }
    }

    /// Which channels resources are, where what they carry is counted.
    #[must_use]
    pub const fn shares(&self) -> Option<&ChannelShares> {
        self.shares.as_ref()
    }

    /// Tells the data that channels have been given to carry since the last call; `told` keeps what each connection had
    /// carried by then.
    pub(super) fn count_new(&self, told: &mut Vec<u64>, tell: &mut dyn FnMut(ChannelId, f64)) {
        let Some(shares) = &self.shares else { return };
        told.resize(self.connections.len(), 0);
        for (connection, told) in self.connections.iter().zip(told) {
            let new = connection.carried.0 - std::mem::replace(told, connection.carried.0);
            if new > 0 {
                let data = new as f64 * connection.data;
                shares.each(self.crossing(connection), |channel, part| tell(channel, part * data));
            }
        }
    }

    /// The resources of a connection, each with the part of what it carries that crosses it.
    fn crossing(&self, connection: &Connection) -> impl Iterator<Item = (ResourceId, f64)> {
        let sender = connection.sender;
        self.uses_of(connection).iter().map(move |taken| match (&self.bus, sender) {
            (Some(bus), Sender::Kernel) => bus.channels().crossing(*taken),
            (None, Sender::CopyEngine) => {
                let (resource, whole) = self.routes.of_copy((taken.0, 1.0));
                (resource, taken.1 / whole)
            }
            _ => *taken,
        })
    }

    fn uses_of(&self, connection: &Connection) -> &[(ResourceId, f64)] {
        &self.uses[connection.uses.0 as usize..connection.uses.1 as usize]
    }

    /// Counts a transfer that starts or ends on a connection.
    fn count(&mut self, connection: ConnectionIndex, starts: bool) {
        let Some(counts) = &mut self.counts else { return };
        let uses = self.connections[connection as usize].uses;
        for (resource, _) in &self.uses[uses.0 as usize..uses.1 as usize] {
            let count = &mut counts[*resource];
            if starts {
                count.all += 1;
                count.now += 1;
                count.most = count.most.max(count.now);
            } else {
                count.now -= 1;
            }
        }
    }

    /// Opens a connection over resources of the routes, each with the part of the data that crosses
    /// it, above 0 and at most 4. Data arrives `latency` after its last byte has left.
    pub fn open(&mut self, uses: &[(ResourceId, f64)], latency: Picoseconds) -> ConnectionIndex {
        self.open_limited(uses, latency, None)
    }

    /// As [`Self::open`], for a sender that is no faster than `limit`.
    pub fn open_limited(
        &mut self,
        uses: &[(ResourceId, f64)],
        latency: Picoseconds,
        limit: Option<Bandwidth>,
    ) -> ConnectionIndex {
        self.open_for(Sender::Kernel, uses, latency, limit)
    }

    /// Opens a connection for who sends over it.
    fn open_for(
        &mut self,
        sender: Sender,
        uses: &[(ResourceId, f64)],
        latency: Picoseconds,
        limit: Option<Bandwidth>,
    ) -> ConnectionIndex {
        let first = self.uses.len();
        match &mut self.bus {
            Some(bus) if sender == Sender::Kernel => {
                self.uses.extend(uses.iter().map(|part| bus.channels().of_kernel(*part)));
                bus.open_for_kernels();
            }
            Some(bus) => {
                self.uses.extend_from_slice(uses);
                bus.open_for_messages(uses, latency);
            }
            None if sender == Sender::CopyEngine => {
                self.uses.extend(uses.iter().map(|part| self.routes.of_copy(*part)));
            }
            None => self.uses.extend_from_slice(uses),
        }
        let uses = (first as u32, self.uses.len() as u32);
        let carried = Bytes(0);
        self.connections.push(Connection { uses, limit, latency, sender, carried, data: 1.0 });
        (self.connections.len() - 1) as ConnectionIndex
    }

    /// Returns the bytes that a connection has been given to carry.
    ///
    /// # Panics
    /// If it was not opened.
    #[must_use]
    pub fn carried(&self, connection: ConnectionIndex) -> Bytes {
        self.connections[connection as usize].carried
    }

    /// Says what part of all that a connection carries is data.
    ///
    /// # Panics
    /// If it was not opened.
    pub fn carries_data(&mut self, connection: ConnectionIndex, part: f64) {
        self.connections[connection as usize].data = part;
    }

    /// When the last byte of all that has arrived did.
    #[must_use]
    pub fn last_arrival(&self) -> Picoseconds {
        self.last_arrival
    }

    fn connection_of(&mut self, message: &Message) -> Result<ConnectionIndex, PathError> {
        let Message { source, destination, route: class, by_copy_engine, .. } = *message;
        let sender = if by_copy_engine { Sender::CopyEngine } else { Sender::Library };
        let key = (source, destination, class, sender);
        if let Some(found) = self.found.get(&key) {
            return Ok(*found);
        }
        let route = self.routes.route(source as WiredId, destination as WiredId, class);
        let Some(route) = route else { return Err(self.apart(message)) };
        let opened = self.open_for(sender, &route.uses, route.latency, None);
        self.found.insert(key, opened);
        Ok(opened)
    }

    /// Starts a transfer on a connection, with how long it may take, in thousandths of its time
    /// alone.
    #[inline]
    fn start(
        &mut self,
        connection: ConnectionIndex,
        (size, deadline): (Bytes, Option<NonZeroU32>),
        token: u64,
        now: Picoseconds,
    ) -> Result<(), TransportError> {
        let Some(over) = self.connections.get_mut(connection as usize) else {
            return Err(TransportError::NoConnection { connection });
        };
        over.carried.0 += size.0;
        let uses = &self.uses[over.uses.0 as usize..over.uses.1 as usize];
        self.is_instant |= size.0 == 0 || (uses.is_empty() && over.limit.is_none());
        let flow = self.flows.start(uses, size, over.limit, now);
        let carried = Carried { connection, token };
        match self.of_flow.get_mut(flow.slot()) {
            Some(place) => *place = carried,
            None => self.of_flow.push(carried),
        }
        if let Some(bus) = &mut self.bus {
            bus.begin((connection, flow), (size, deadline), &mut self.flows, now);
        }
        self.under_way += 1;
        self.count(connection, true);
        Ok(())
    }

    fn apart(&self, message: &Message) -> PathError {
        let name = |device: DeviceIndex| {
            let known = self.routes.wiring().described(device as WiredId);
            known.map_or_else(|| "the fabric".to_owned(), |device| device.name.clone())
        };
        PathError::Apart {
            server: self.routes.wiring().name().to_owned(),
            links: match message.route {
                RouteClass::Fabric => "no NVLink",
                RouteClass::Host => "no PCIe path",
                RouteClass::Network | RouteClass::Interfaces { .. } => "no network",
                RouteClass::Any => "nothing",
            },
            a: name(message.source),
            b: name(message.destination),
        }
    }
}

impl Model for Connections<'_> {
    type Event = Arrival;
    type Error = TransportError;
    const SETTLES: bool = true;

    fn handle(
        &mut self,
        arrival: Arrival,
        scheduler: &mut impl Scheduler<Arrival>,
    ) -> Result<(), TransportError> {
        self.under_way -= 1;
        self.last_arrival = scheduler.now();
        self.occurred.push_back(Occurrence::Delivered { token: arrival.token });
        Ok(())
    }

    /// Ends the next flow, if it ends now. Rates are worked out once all that starts at a moment has
    /// started.
    fn settle(
        &mut self,
        scheduler: &mut impl Scheduler<Arrival>,
    ) -> Result<Option<Picoseconds>, TransportError> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let look = match &mut self.bus {
            Some(bus) => {
                self.flows.advance(scheduler.now());
                bus.classes.raise(&mut self.flows, scheduler.now())
            }
            None => None,
        };
        let next = self.flows.next_completion();
        self.is_instant &= next.is_some_and(|(time, _)| time == scheduler.now());
        let Some((time, _)) = next else { return Ok(None) };
        if time == scheduler.now()
            && let Some((_, flow)) = self.flows.complete_next()
        {
            self.ended += 1;
            if let Some(bus) = &mut self.bus {
                bus.classes.end(flow.slot() as u32);
            }
            let Carried { connection, token } = self.of_flow[flow.slot()];
            self.count(connection, false);
            let latency = self.connections[connection as usize].latency;
            scheduler.schedule_in(latency, Arrival { token });
            self.occurred.push_back(Occurrence::Sent { token });
        }
        Ok(Some(look.map_or(time, |look| look.min(time))))
    }

    fn at_rest(&self, now: Picoseconds) -> Result<(), TransportError> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        // Transfers that are still under way would end beyond the last time that is counted.
        if self.under_way > 0 { Err(TransportError::TooLong { now }) } else { Ok(()) }
    }
}

impl Transport for Connections<'_> {
    fn gpu_device(&self, gpu: GpuIndex) -> DeviceIndex {
        self.routes.wiring().gpu(self.gpus[gpu as usize]) as DeviceIndex
    }

    fn gpu_site(&self, gpu: GpuIndex) -> GpuSite {
        let known = self.sites.get(gpu as usize).copied();
        known.unwrap_or_else(|| GpuSite::bare(self.gpu_device(gpu)))
    }

    fn send(&mut self, message: Message, scheduler: &mut impl Scheduler<Arrival>) {
        let sent = self.connection_of(&message).map_err(TransportError::from);
        let Message { size, token, class, .. } = message;
        let sent =
            sent.and_then(|over| self.start(over, (size, class.deadline), token, scheduler.now()));
        if let Err(fault) = sent {
            self.fault.get_or_insert(fault);
        }
    }

    #[inline]
    fn transfer(
        &mut self,
        connection: ConnectionIndex,
        size: Bytes,
        token: u64,
        scheduler: &mut impl Scheduler<Arrival>,
    ) -> Result<(), TransportError> {
        self.start(connection, (size, None), token, scheduler.now())
    }

    fn tell(&mut self) -> Option<Occurrence> {
        self.occurred.pop_front()
    }

    fn may_end_at(&self, now: Picoseconds) -> bool {
        self.is_instant || self.flows.completes_at(now)
    }

    fn own_events(&self) -> u64 {
        self.ended
    }
}

#[cfg(test)]
mod tests;
