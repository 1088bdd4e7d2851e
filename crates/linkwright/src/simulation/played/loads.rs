//! What channels carry of one iteration of a job.
//!
//! An iteration moves the same data however fast it is: samples that each GPU copies from its host, the all-reduce of every
//! bucket by its plan, or what GPUs exchange along the edges of a pattern.

use std::collections::BTreeMap;

use super::exchange::Exchange;
use crate::collectives::time::LoweredSchedule;
use crate::network::{ChannelShares, Route, RouteClass, Routes};
use crate::system::fabric::ChannelId;
use crate::system::views::wiring::WiredId;
use crate::units::Bytes;

/// Channels of the system, ascending, each with its bytes.
pub(super) type ChannelLoads = Box<[(ChannelId, f64)]>;

/// Adds loads to others.
pub(super) fn add(more: &[(ChannelId, f64)], loads: &mut BTreeMap<ChannelId, f64>) {
    for (channel, bytes) in more {
        *loads.entry(*channel).or_default() += bytes;
    }
}

/// What one run of a schedule over so many bytes moves.
pub(super) fn of_schedule(
    lowered: &LoweredSchedule,
    size: Bytes,
    shares: &ChannelShares,
) -> ChannelLoads {
    let mut loads: BTreeMap<ChannelId, f64> = BTreeMap::new();
    lowered.each_data(size, |uses, bytes| {
        let tell = |channel, part: f64| *loads.entry(channel).or_default() += part * bytes;
        shares.each(uses.iter().copied(), tell);
    });
    loads.retain(|_, bytes| *bytes > 0.0);
    loads.into_iter().collect()
}

/// Adds what so many bytes over each of these routes move.
pub(super) fn add_ways(
    ways: &[Route],
    size: Bytes,
    shares: &ChannelShares,
    loads: &mut BTreeMap<ChannelId, f64>,
) {
    for way in ways {
        let tell = |channel, part: f64| *loads.entry(channel).or_default() += part * size.0 as f64;
        shares.each(way.uses.iter().copied(), tell);
    }
}

/// Adds what an exchange of a buffer of this size moves between devices of its ranks.
pub(super) fn add_exchange(
    (exchange, size): (&Exchange, Bytes),
    routes: &Routes<'_>,
    device: impl Fn(u32) -> WiredId,
    shares: &ChannelShares,
    loads: &mut BTreeMap<ChannelId, f64>,
) {
    for ([from, to], bytes) in exchange.parts(size) {
        if let Some(way) = routes.route(device(from), device(to), RouteClass::Any) {
            add_ways(&[way], bytes, shares, loads);
        }
    }
}
