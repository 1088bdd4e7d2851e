//! The ways of a schedule's connections over a system's links.

use std::collections::BTreeMap;

use crate::network::{ResourceId, RouteClass, Routes};
use crate::program::kernel::Reach;
use crate::system::views::wiring::WiredId;
use crate::system::{DeviceKind, Wire, Wiring};
use crate::units::Picoseconds;

use super::super::schedule::{Channel, ChannelTransport, ChosenRoute, ChosenWay, Schedule};
use super::error::TimeError;

/// The links' resources at what long transfers reach of them.
///
/// # Panics
/// Never: what is reached of a link lies between 0 and 1.
#[must_use]
pub fn resources(wiring: &Wiring) -> Routes<'_> {
    Routes::on(wiring, Wire::reached_share).expect("shares lie between 0 and 1")
}

/// The resources that a connection uses, each with its part of the data, the latency of its links,
/// and over what they lead.
pub(super) type Way = (Vec<(ResourceId, f64)>, Picoseconds, Reach);

/// The ways of a schedule's connections, each found once: most channels join the same pairs of ranks.
pub(super) struct KnownWays<'a> {
    schedule: &'a Schedule,
    routes: &'a Routes<'a>,
    of_pair: BTreeMap<(usize, usize, ChannelTransport), Way>,
}

impl<'a> KnownWays<'a> {
    /// None is known yet.
    pub(super) const fn new(schedule: &'a Schedule, routes: &'a Routes<'a>) -> Self {
        Self { schedule, routes, of_pair: BTreeMap::new() }
    }

    /// The way of a connection of a channel.
    pub(super) fn way(
        &mut self,
        channel: &Channel,
        (from, to): (usize, usize),
    ) -> Result<Way, TimeError> {
        let find = || way(self.schedule, self.routes, channel, (from, to));
        if !channel.relays.is_empty() {
            return find();
        }
        let pair = (from, to, channel.transport);
        if let Some(known) = self.of_pair.get(&pair) {
            return Ok(known.clone());
        }
        let found = find()?;
        self.of_pair.insert(pair, found.clone());
        Ok(found)
    }
}

/// The way of a connection of a channel.
fn way(
    schedule: &Schedule,
    routes: &Routes<'_>,
    channel: &Channel,
    (from, to): (usize, usize),
) -> Result<Way, TimeError> {
    let gpu = |rank: usize| schedule.gpus[rank];
    let relay = channel.relays.iter().find(|relay| (relay.from, relay.to) == (from, to));
    let Some(relay) = relay else {
        let may_choose = channel.transport == ChannelTransport::Best;
        let chosen = schedule.routes.iter().find(|route| (route.from, route.to) == (from, to));
        let ends = [from, to].map(|rank| routes.wiring().gpu(gpu(rank)));
        if let Some(way) = chosen.filter(|_| may_choose).and_then(|at| along(routes, at, ends)) {
            return Ok(way);
        }
        return hop(routes, channel.transport, (gpu(from), gpu(to)));
    };
    let through = relay.through;
    let (mut uses, first, _) = hop(routes, ChannelTransport::Best, (gpu(from), through))?;
    let (onward, second, reach) = hop(routes, ChannelTransport::Best, (through, gpu(to)))?;
    uses.extend(onward);
    Ok((uses, Picoseconds(first.0 + second.0), reach))
}

/// The ways that a plan chose; None where the system, another than was planned for, has not
/// got them.
fn along(routes: &Routes<'_>, chosen: &ChosenRoute, ends: [WiredId; 2]) -> Option<Way> {
    let wired = |way: &ChosenWay| -> Option<Vec<WiredId>> {
        let devices: Option<Vec<WiredId>> =
            way.devices.iter().map(|id| routes.wiring().find(*id)).collect();
        devices.filter(|way| [way.first(), way.last()] == ends.each_ref().map(Some))
    };
    let devices: Option<Vec<_>> = chosen.ways.iter().map(wired).collect();
    let devices = devices?;
    let units = chosen.ways.iter().map(|way| way.units as f64);
    let ways: Vec<_> = devices.iter().map(|way| &way[..]).zip(units).collect();
    let route = routes.along(&ways)?;
    let over = |what: &dyn Fn(&Wire) -> bool| {
        route.uses.iter().any(|(resource, _)| what(routes.wire(*resource).0))
    };
    let reach = if over(&Wire::is_network) {
        Reach::Network
    } else if over(&|wire| !wire.is_gpu_fabric()) {
        Reach::Host
    } else if over(&|wire| is_switched(routes.wiring(), wire)) {
        Reach::Switch
    } else {
        Reach::Fabric
    };
    Some((route.uses, route.latency, reach))
}

/// Whether a wire ends at a switch between GPUs.
fn is_switched(wiring: &Wiring, wire: &Wire) -> bool {
    [wire.a, wire.b].iter().any(|end| wiring.devices()[*end].kind == DeviceKind::NvSwitch)
}

fn hop(
    routes: &Routes<'_>,
    transport: ChannelTransport,
    (from, to): (usize, usize),
) -> Result<Way, TimeError> {
    let wiring = routes.wiring();
    let ends = [from, to].map(|gpu| wiring.gpu(gpu));
    let classes: &[(RouteClass, Reach)] = match transport {
        ChannelTransport::Best | ChannelTransport::Switch => &[
            (RouteClass::Fabric, Reach::Fabric),
            (RouteClass::Host, Reach::Host),
            (RouteClass::Network, Reach::Network),
        ],
        ChannelTransport::Host => {
            &[(RouteClass::Host, Reach::Host), (RouteClass::Network, Reach::Network)]
        }
    };
    let mut found = classes.iter().filter_map(|(class, reach)| {
        let route = routes.route(ends[0], ends[1], *class)?;
        let is_switched = |uses: &(ResourceId, f64)| is_switched(wiring, routes.wire(uses.0).0);
        let is_fabric = *reach == Reach::Fabric;
        let reach =
            if is_fabric && route.uses.iter().any(is_switched) { Reach::Switch } else { *reach };
        Some((route.uses, route.latency, reach))
    });
    found.next().ok_or_else(|| TimeError::NoRoute {
        links: if transport == ChannelTransport::Host { "PCIe path" } else { "link" },
        from,
        to,
        machine: wiring.name().to_owned(),
    })
}
