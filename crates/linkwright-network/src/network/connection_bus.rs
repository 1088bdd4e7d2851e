//! Holds the PCIe bus of servers as [connections](super::Connections) share it, by
//! [classes](super::flow_classes).
//!
//! A message is a command where it keeps to the host channels of a server. It is a copy between a
//! GPU and its host, or a transfer from one GPU to another there. Stores of a kernel are no
//! command, as nobody knows how much is left of them, and go behind all commands. Messages to other
//! servers go behind them, too.
//!
use std::num::NonZeroU32;

use super::flow::{FlowId, FlowNetwork};
use super::flow_classes::FlowClasses;
use super::host_channels::HostChannels;
use super::paths::{PathError, Paths};
use super::pcie::{Command, Deadline, OfServer, PacketType, PcieArbitration, PcieSettings, Roots};
use super::transport::ConnectionIndex;
use super::{ResourceId, Routes};
use crate::network::packet::serialisation;
use crate::system::System;
use crate::system::composition::SystemDevice;
use crate::system::kinds::LinkKind;
use crate::system::views::wiring::WiredId;
use crate::units::{Bandwidth, Bytes, Picoseconds};

/// Names a root and a virtual channel.
type Class = (u32, u8);

/// A direction of a host channel, with the classes of what its ends are sent and send, if they are GPUs.
#[derive(Debug, Clone, Copy)]
struct OnBus {
    to_receiver: Option<Class>,
    from_sender: Option<Class>,
}

/// Describes the messages over a connection on the bus.
#[derive(Debug, Clone, Copy)]
struct Commands {
    class: Class,
    /// Gives the bandwidth that one reaches alone.
    bandwidth: Bandwidth,
    /// How long its last byte is on its way.
    latency: Picoseconds,
}

/// Holds the bus of all servers.
#[derive(Debug, Clone)]
pub(super) struct ConnectionBus {
    channels: HostChannels,
    /// By resource; None of what is no host channel, and of all where classes are one.
    on_bus: Vec<Option<OnBus>>,
    /// By connection; None where nothing is a command.
    connections: Vec<Option<Commands>>,
    /// Holds the commands by the slots of their flows.
    pub(super) classes: FlowClasses,
}

impl ConnectionBus {
    /// Makes the bus of the routes of a whole system.
    pub(super) fn new(
        system: &System,
        routes: &Routes<'_>,
        settings: &PcieSettings,
    ) -> Result<Self, PathError> {
        let paths = Paths::new(system)?;
        let roots = Roots::new(system, |kind, gpu| paths.host_of(kind, gpu));
        let class = |device: WiredId, packets| {
            let device = routes.wiring().devices()[device];
            device.server?;
            let SystemDevice::OfServer(at) = system.device(device.id) else { return None };
            roots.class(system, at, packets)
        };
        let is_ranked = settings.arbitration != PcieArbitration::RoundRobin;
        let on_bus = |resource| {
            let (wire, sender) = routes.wire(resource);
            let is_host =
                wire.kind.is_some_and(LinkKind::is_host_bus) || routes.is_memory(resource);
            let is_on_bus = is_ranked && is_host;
            is_on_bus.then(|| OnBus {
                to_receiver: class(wire.other_end(sender), PacketType::Request),
                from_sender: class(sender, PacketType::Response),
            })
        };
        Ok(Self {
            channels: HostChannels::new(routes, Some(settings)),
            on_bus: (0..routes.capacities().len()).map(on_bus).collect(),
            connections: Vec::new(),
            classes: FlowClasses::new(settings),
        })
    }

    /// Returns the capacity of each resource, and the share that kernels take of it.
    pub(super) const fn channels(&self) -> &HostChannels {
        &self.channels
    }

    /// The next connection is opened, over which kernels send.
    pub(super) fn open_for_kernels(&mut self) {
        self.connections.push(None);
    }

    /// Opens the next connection. `uses` says how much of each resource its messages take.
    pub(super) fn open_for_messages(&mut self, uses: &[(ResourceId, f64)], latency: Picoseconds) {
        let capacities = self.channels.capacities();
        let rates = uses.iter().map(|(resource, share)| capacities[*resource].0 as f64 / share);
        let alone = rates.min_by(f64::total_cmp).unwrap_or(f64::INFINITY);
        let bandwidth = Bandwidth((alone as u64).max(1));
        let class = self.class(uses);
        self.connections.push(class.map(|class| Commands { class, bandwidth, latency }));
    }

    /// The class of what crosses these; None of what leaves the host channels.
    fn class(&self, uses: &[(ResourceId, f64)]) -> Option<Class> {
        let hops = || uses.iter().map(|(resource, _)| self.on_bus[*resource]);
        if !hops().all(|hop| hop.is_some()) {
            return None;
        }
        let written = hops().flatten().find_map(|hop| hop.to_receiver);
        written.or_else(|| hops().flatten().find_map(|hop| hop.from_sender))
    }

    /// Something is sent over a connection.
    pub(super) fn begin(
        &mut self,
        (connection, flow): (ConnectionIndex, FlowId),
        (size, deadline): (Bytes, Option<NonZeroU32>),
        flows: &mut FlowNetwork,
        now: Picoseconds,
    ) {
        let Some(of) = self.connections[connection as usize].filter(|_| size.0 > 0) else { return };
        let Commands { class: (root, virtual_channel), bandwidth, latency } = of;
        let deadline = deadline.map(|most| {
            let alone = serialisation(size.0, bandwidth).saturating_add(latency.0);
            let span = u128::from(alone) * u128::from(most.get()) / 1000;
            let due = now.0.saturating_add(u64::try_from(span).unwrap_or(u64::MAX));
            Deadline { due, bandwidth, behind: latency.0 }
        });
        let end = OfServer { root, virtual_channel, ..OfServer::default() };
        let command = Command { ends: [end; 2], is_copy: true, is_read: false, deadline };
        self.classes.begin((flow.slot() as u32, flow), (command, size), flows, now);
    }
}
