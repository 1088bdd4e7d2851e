//! Counts the loads of channels in one iteration of a job.
//!
//! An iteration moves the same data however fast it is. GPUs copy samples from their hosts, and reduce every bucket by its plan
//! or exchange it along the edges of a pattern.

use std::collections::BTreeMap;

use super::exchange::Exchange;
use crate::collectives::time::LoweredSchedule;
use crate::network::{ChannelShares, Route, RouteClass, Routes};
use crate::system::fabric::ChannelId;
use crate::system::views::wiring::WiredId;
use crate::units::Bytes;

/// Lists channels of the system, ascending, each with its bytes.
pub(super) type ChannelLoads = Box<[(ChannelId, f64)]>;

/// Adds loads to others.
pub(super) fn add(more: &[(ChannelId, f64)], loads: &mut BTreeMap<ChannelId, f64>) {
    for (channel, bytes) in more {
        *loads.entry(*channel).or_default() += bytes;
    }
}

/// Gives the loads of one run of a schedule over a buffer of a size.
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

/// Adds the loads of copies of a size over each of these routes.
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

/// Adds the loads of an exchange of a buffer of this size between devices of its ranks.
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
