//! Over which links the messages of a plan go, where it says so.
//!
//! A plan may lead data to another server by interfaces of its choice. It may lead it over the host
//! beside NVLink. It counts on these links, so that its messages take them. A message that has several
//! ways is cut in proportion to their loads. Relays through other GPUs are left out, and so is
//! the choice between equal ways within a server. So a message that another GPU would hand to an interface takes its
//! sender's own.

use std::collections::BTreeMap;

use crate::collectives::schedule::{ChannelTransport, ChosenPath, Schedule};
use crate::network::RouteClass;
use crate::system::System;
use crate::system::composition::SystemDevice;
use crate::units::Bytes;

/// The least that goes one of several ways: a shorter message costs more than it saves.
const LEAST_PART: u64 = 64 << 10;

/// A way, with the weight that it has beside others.
type Weighed = (RouteClass, u64);

/// Where nothing is said.
const ANY: [Weighed; 1] = [(RouteClass::Any, 1)];
/// Where it is PCIe and sockets, beside NVLink.
const HOST: [Weighed; 1] = [(RouteClass::Host, 1)];

/// Holds the ways that a schedule's connections take.
#[derive(Debug, Clone, Default)]
pub(super) struct Ways {
    /// Between ranks of different servers, where paths were chosen.
    chosen: BTreeMap<(usize, usize), Vec<Weighed>>,
    /// Gives the same of single channels.
    crossing: BTreeMap<(usize, usize, usize), [Weighed; 1]>,
    /// The links that each channel uses.
    transports: Vec<ChannelTransport>,
    /// The server that holds each rank.
    servers: Vec<u32>,
}

impl Ways {
    /// Those on the GPUs of a system that a schedule was planned for.
    pub(super) fn of(schedule: &Schedule, system: &System) -> Self {
        let chosen = schedule
            .routes
            .iter()
            .filter_map(|route| Some(((route.from, route.to), interfaces(system, &route.paths)?)));
        let channels = schedule.channels.iter().enumerate();
        let crossing = channels.flat_map(|(at, channel)| {
            let own = channel.crossings.iter().filter(|it| it.through.is_none());
            own.map(move |it| {
                let class = RouteClass::Interfaces { from: it.leaves, to: it.arrives };
                ((at, it.from, it.to), [(class, 1)])
            })
        });
        Self {
            chosen: chosen.collect(),
            crossing: crossing.collect(),
            transports: schedule.channels.iter().map(|channel| channel.transport).collect(),
            servers: schedule.gpus.iter().map(|gpu| system.gpu(*gpu as u32).server).collect(),
        }
    }

    /// Cuts a message of that size, on a channel, from one rank to another.
    pub(super) fn parts(
        &self,
        channel: usize,
        (from, to): (usize, usize),
        size: u64,
    ) -> Vec<(RouteClass, Bytes)> {
        let ways = match self.transports.get(channel) {
            Some(ChannelTransport::Host | ChannelTransport::Memory)
                if self.servers[from] == self.servers[to] =>
            {
                &HOST[..]
            }
            Some(ChannelTransport::Best) => {
                self.chosen.get(&(from, to)).map_or(&ANY[..], Vec::as_slice)
            }
            _ => &ANY[..],
        };
        let ways = self.crossing.get(&(channel, from, to)).map_or(ways, |way| &way[..]);
        if size < LEAST_PART * ways.len() as u64 {
            let widest = ways.iter().rev().max_by_key(|(_, units)| *units);
            return widest.map(|(way, _)| (*way, Bytes(size))).into_iter().collect();
        }
        let all: u128 = ways.iter().map(|(_, units)| u128::from(*units)).sum();
        let mut before = 0;
        let part = |(way, units): &Weighed| {
            let start = (u128::from(size) * before / all) as u64;
            before += u128::from(*units);
            let end = (u128::from(size) * before / all) as u64;
            (*way, Bytes(end - start))
        };
        ways.iter().map(part).filter(|(_, part)| part.0 > 0).collect()
    }
}

/// Finds the interfaces on paths between servers, each pair with its weight. There are none on paths
/// within a server, nor where neither end has a choice.
fn interfaces(system: &System, paths: &[ChosenPath]) -> Option<Vec<Weighed>> {
    let mut found: BTreeMap<RouteClass, u64> = BTreeMap::new();
    let mut has_choice = false;
    for path in paths {
        let nics = path.devices.iter().filter_map(|device| {
            let SystemDevice::OfServer(at) = system.device(*device) else { return None };
            let nics = system.kind_of(at.server).nics();
            has_choice |= nics.len() > 1;
            nics.iter().position(|nic| *nic == at.index as usize)
        });
        let nics: Vec<usize> = nics.collect();
        let [from, to] = nics[..] else { return None };
        let [from, to] = [u8::try_from(from).ok()?, u8::try_from(to).ok()?];
        *found.entry(RouteClass::Interfaces { from, to }).or_default() += path.units;
    }
    has_choice.then(|| found.into_iter().collect())
}
