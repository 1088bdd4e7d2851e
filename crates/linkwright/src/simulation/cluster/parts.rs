//! Makes columns of the loads of devices and links, in sum and over time.
//!
//! A device's load is all that enters it, and all that leaves it. Network interfaces and switches of the network pass on all
//! that they get. NVSwitches also reduce and multicast, so that less or more may leave them.

use std::collections::BTreeMap;

use super::links::Carried;
use super::tables::makespan;
use super::{Cluster, ClusterOutcome};
use crate::network::{InnerCounts, LinkLoads};
use crate::system::System;
use crate::system::fabric::ChannelId;
use crate::system::kinds::{DeviceKind, LinkKind};
use crate::system::server::DeviceId;
use crate::table::Table;
use crate::units::Picoseconds;

/// Counts the bytes that enter a device and leave it.
#[derive(Debug, Clone, Copy, Default)]
struct Through {
    received: u64,
    sent: u64,
    /// Is the bandwidth of its links either way, in bytes per second.
    into: f64,
    out: f64,
    is_unknown: bool,
}

impl Through {
    /// The share of a time in which it would pass this on at the full bandwidth of its links, by the fuller way.
    fn utilisation(&self, seconds: f64) -> f64 {
        let share = |bytes: u64, rate: f64| {
            let most = rate * seconds;
            if most > 0.0 { bytes as f64 / most } else { 0.0 }
        };
        share(self.received, self.into).max(share(self.sent, self.out))
    }
}

/// Lists the kinds of devices whose loads are told.
const TOLD: [DeviceKind; 3] = [DeviceKind::Nic, DeviceKind::NvSwitch, DeviceKind::NetworkSwitch];

fn through(carried: &Carried<'_>) -> BTreeMap<DeviceId, Through> {
    let system = carried.system;
    let mut found: BTreeMap<DeviceId, Through> = BTreeMap::new();
    let mut data: BTreeMap<ChannelId, u64> =
        carried.inside.iter().map(|(at, it)| (*at, it.data.0)).collect();
    data.extend((0..).zip(carried.across.iter()).map(|(at, it)| (at, it.data.0)));
    for channel in 0..system.channels() as ChannelId {
        let link = system.channel(channel);
        if link.kind == LinkKind::Direct {
            continue;
        }
        let bytes = data.get(&channel).copied().unwrap_or(0);
        let is_unknown = carried.inner == InnerCounts::Nothing && system.is_inner(channel);
        let rate = link.bandwidth.0 as f64;
        for (device, enters) in [(link.from, false), (link.to, true)] {
            if !TOLD.contains(&system.device_kind(device)) {
                continue;
            }
            let of = found.entry(device).or_default();
            of.is_unknown |= is_unknown;
            if enters {
                (of.received, of.into) = (of.received + bytes, of.into + rate);
            } else {
                (of.sent, of.out) = (of.sent + bytes, of.out + rate);
            }
        }
    }
    found
}

/// Gives one row per network interface, NVSwitch and switch of the network.
///
/// Columns: `device`, `kind`, `received` and `sent` (bytes), and `utilisation`. That is the share of the makespan in which its
/// links would carry this at their full bandwidth, by the fuller way. Loads that are not counted are null.
#[must_use]
pub fn devices(cluster: &Cluster, outcome: &ClusterOutcome) -> Table {
    devices_of(&Carried::of(cluster, outcome))
}

/// Gives the same of a day, whose last job ended at a time.
#[must_use]
pub fn devices_of_day(system: &System, loads: &LinkLoads, end: Picoseconds) -> Table {
    devices_of(&Carried::of_day(system, loads, end))
}

fn devices_of(carried: &Carried<'_>) -> Table {
    let found = through(carried);
    let known = |of: &dyn Fn(&Through) -> u64| -> Vec<Option<u64>> {
        found.values().map(|it| (!it.is_unknown).then(|| of(it))).collect()
    };
    let used = found.values().map(|it| (!it.is_unknown).then(|| it.utilisation(carried.seconds)));
    let kind = |device: &DeviceId| carried.system.device_kind(*device).name().to_owned();
    Table::new()
        .with(
            "device",
            "",
            found.keys().map(|at| carried.system.device_name(*at)).collect::<Vec<_>>(),
        )
        .with("kind", "", found.keys().map(kind).collect::<Vec<_>>())
        .with("received", "B", known(&|it| it.received))
        .with("sent", "B", known(&|it| it.sent))
        .with("utilisation", "", used.collect::<Vec<_>>())
}

/// Gives one row per channel and span of time in which it carried something.
///
/// Columns: `link` (its number), `from`, `to`, `begin` and `end` (of the span, seconds), `data` (bytes), and `utilisation`.
/// That is the share of the span in which it would carry this at its full bandwidth.
#[must_use]
pub fn link_times(system: &System, loads: &LinkLoads, end: Picoseconds) -> Table {
    let (mut links, mut from, mut to) = (Vec::new(), Vec::new(), Vec::new());
    let (mut begins, mut ends, mut data, mut used) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (channel, bytes) in &loads.channels {
        let link = system.channel(*channel);
        if link.kind == LinkKind::Direct {
            continue;
        }
        let names = (system.device_name(link.from), system.device_name(link.to));
        for (at, carried) in (0_u64..).zip(bytes).filter(|(_, carried)| **carried > 0) {
            let begin = at * loads.span.0;
            let until = (begin + loads.span.0).min(end.0.max(begin + 1));
            let seconds = Picoseconds(until - begin).as_seconds();
            links.push(u64::from(*channel));
            from.push(names.0.clone());
            to.push(names.1.clone());
            begins.push(Picoseconds(begin).as_seconds());
            ends.push(Picoseconds(until).as_seconds());
            data.push(*carried);
            used.push(*carried as f64 / (link.bandwidth.0 as f64 * seconds));
        }
    }
    Table::new()
        .with("link", "", links)
        .with("from", "", from)
        .with("to", "", to)
        .with("begin", "s", begins)
        .with("end", "s", ends)
        .with("data", "B", data)
        .with("utilisation", "", used)
}

/// Gives the same of programs.
#[must_use]
pub fn link_times_of(cluster: &Cluster, outcome: &ClusterOutcome) -> Table {
    link_times(&cluster.system, &outcome.loads, makespan(outcome))
}
