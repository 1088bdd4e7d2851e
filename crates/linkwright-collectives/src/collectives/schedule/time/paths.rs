//! Finds the paths of a schedule's connections over a system's links.

use std::collections::BTreeMap;

use crate::network::{ResourceId, RouteClass, Routes};
use crate::program::kernel::Reach;
use crate::system::views::wiring::WiredId;
use crate::system::{Wire, Wiring};
use crate::units::Picoseconds;

use super::error::TimeError;
use super::peers::Peers;
use crate::collectives::schedule::{
    Channel, ChannelTransport, ChosenPath, ChosenRoute, Crossing, Schedule,
};

/// Returns the links' resources at the share of the peak that long transfers reach.
///
/// # Panics
/// Never panics: the reached share of a link lies between 0 and 1.
#[must_use]
pub fn resources(wiring: &Wiring) -> Routes<'_> {
    Routes::on(wiring, Wire::reached_share).expect("shares lie between 0 and 1")
}

/// The resources that a connection uses, each with its part of the data, the latency of its links,
/// and over what they lead.
pub(super) type Path = (Vec<(ResourceId, f64)>, Picoseconds, Reach);

/// Holds the paths of a schedule's connections, each found once: most channels join the same pairs
/// of ranks.
pub(super) struct KnownPaths<'a> {
    schedule: &'a Schedule,
    routes: &'a Routes<'a>,
    peers: Peers<'a>,
    of_pair: BTreeMap<(usize, usize, ChannelTransport, Option<Crossing>), Path>,
}

impl<'a> KnownPaths<'a> {
    /// None is known yet.
    pub(super) fn new(schedule: &'a Schedule, routes: &'a Routes<'a>) -> Self {
        let peers = Peers::new(routes.wiring(), &schedule.gpus);
        Self { schedule, routes, peers, of_pair: BTreeMap::new() }
    }

    /// Returns the path of a connection of a channel.
    pub(super) fn path(
        &mut self,
        channel: &Channel,
        (from, to): (usize, usize),
    ) -> Result<Path, TimeError> {
        if !channel.relays.is_empty() {
            return self.find(channel, (from, to));
        }
        let pair = (from, to, channel.transport, channel.crossing(from, to).copied());
        if let Some(known) = self.of_pair.get(&pair) {
            return Ok(known.clone());
        }
        let found = self.find(channel, (from, to))?;
        self.of_pair.insert(pair, found.clone());
        Ok(found)
    }

    fn find(&mut self, channel: &Channel, (from, to): (usize, usize)) -> Result<Path, TimeError> {
        let (schedule, routes) = (self.schedule, self.routes);
        let gpu = |rank: usize| schedule.gpus[rank];
        let crossing = channel.crossing(from, to);
        if let Some(path) = crossing.and_then(|it| crossed(routes, it, (gpu(from), gpu(to)))) {
            return Ok(path);
        }
        let relay = channel.relays.iter().find(|relay| (relay.from, relay.to) == (from, to));
        let Some(relay) = relay else {
            let may_choose = channel.transport == ChannelTransport::Best;
            let chosen = schedule.routes.iter().find(|route| (route.from, route.to) == (from, to));
            let ends = [from, to].map(|rank| routes.wiring().gpu(gpu(rank)));
            let chosen = chosen.filter(|_| may_choose).and_then(|at| along(routes, at, ends));
            // A plan that names PCIe links beside NVLink goes straight wherever GPUs can.
            let may_be = |path: &Path| {
                path.2 != Reach::Host || routes.wiring().has_peer_access(ends[0], ends[1])
            };
            return match chosen.filter(may_be) {
                Some(path) => Ok(path),
                None => self.hop(channel.transport, (gpu(from), gpu(to))),
            };
        };
        let through = relay.through;
        let (mut uses, first, _) = self.hop(ChannelTransport::Best, (gpu(from), through))?;
        let (onward, second, reach) = self.hop(ChannelTransport::Best, (through, gpu(to)))?;
        uses.extend(onward);
        Ok((uses, Picoseconds(first.0 + second.0), reach))
    }

    fn hop(
        &mut self,
        transport: ChannelTransport,
        (from, to): (usize, usize),
    ) -> Result<Path, TimeError> {
        let routes = self.routes;
        let wiring = routes.wiring();
        let ends = [from, to].map(|gpu| wiring.gpu(gpu));
        let classes: &[(RouteClass, Reach)] = match transport {
            ChannelTransport::Best | ChannelTransport::Switch => &[
                (RouteClass::Fabric, Reach::Fabric),
                (RouteClass::Host, Reach::Host),
                (RouteClass::Network, Reach::Network),
            ],
            ChannelTransport::Host | ChannelTransport::Memory => {
                &[(RouteClass::Host, Reach::Host), (RouteClass::Network, Reach::Network)]
            }
        };
        let mut found = classes.iter().filter_map(|(class, reach)| {
            let is_staged = *class == RouteClass::Host
                && (transport == ChannelTransport::Memory
                    && wiring.server_of(from) == wiring.server_of(to)
                    || self.peers.copy_through_memory(from, to));
            let staged = if is_staged { routes.through_memory(ends[0], ends[1]) } else { None };
            let route = staged.or_else(|| routes.route(ends[0], ends[1], *class))?;
            Some((route.uses, route.latency, *reach))
        });
        found.next().ok_or_else(|| TimeError::NoRoute {
            links: match transport {
                ChannelTransport::Host | ChannelTransport::Memory => "PCIe path",
                ChannelTransport::Best | ChannelTransport::Switch => "link",
            },
            from,
            to,
            machine: wiring.name().to_owned(),
        })
    }
}

/// Finds the path of a connection by the interfaces that are chosen for it. None where the system, another than was
/// planned for, has not got them.
fn crossed(routes: &Routes<'_>, crossing: &Crossing, (from, to): (usize, usize)) -> Option<Path> {
    let wiring = routes.wiring();
    let Crossing { leaves, arrives, .. } = *crossing;
    let [sender, receiver] = [crossing.through.unwrap_or(from), to].map(|gpu| wiring.gpu(gpu));
    let memory = |gpu: WiredId, is_used: bool| is_used.then(|| routes.nearest_cpu(gpu)).flatten();
    let leaving = memory(sender, crossing.leaves_by_memory).unwrap_or(sender);
    let arriving = memory(receiver, crossing.arrives_by_memory).unwrap_or(receiver);
    let between = RouteClass::Interfaces { from: leaves, to: arrives };
    let parts = [
        (wiring.gpu(from), sender, RouteClass::Fabric),
        (sender, leaving, RouteClass::Host),
        (leaving, arriving, between),
        (arriving, receiver, RouteClass::Host),
    ];
    let (mut uses, mut latency) = (Vec::new(), Picoseconds(0));
    for (start, end, class) in parts.into_iter().filter(|(start, end, _)| start != end) {
        let route = routes.route(start, end, class)?;
        uses.extend(route.uses);
        latency = Picoseconds(latency.0 + route.latency.0);
    }
    Some((uses, latency, Reach::Network))
}

/// The paths that a plan chose; None where the system, another than was planned for, has not
/// got them.
fn along(routes: &Routes<'_>, chosen: &ChosenRoute, ends: [WiredId; 2]) -> Option<Path> {
    let wired = |path: &ChosenPath| -> Option<Vec<WiredId>> {
        let devices: Option<Vec<WiredId>> =
            path.devices.iter().map(|id| routes.wiring().find(*id)).collect();
        devices.filter(|path| [path.first(), path.last()] == ends.each_ref().map(Some))
    };
    let devices: Option<Vec<_>> = chosen.paths.iter().map(wired).collect();
    let devices = devices?;
    let units = chosen.paths.iter().map(|path| path.units as f64);
    let paths: Vec<_> = devices.iter().map(|path| &path[..]).zip(units).collect();
    let route = routes.along(&paths)?;
    let over = |what: &dyn Fn(&Wire) -> bool| {
        route.uses.iter().any(|(resource, _)| what(routes.wire(*resource).0))
    };
    let reach = if over(&Wire::is_network) {
        Reach::Network
    } else if over(&|wire| !wire.is_gpu_fabric()) {
        Reach::Host
    } else {
        Reach::Fabric
    };
    Some((route.uses, route.latency, reach))
}
