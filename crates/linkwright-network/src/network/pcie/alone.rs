//! Times a command on a bus that it has to itself. It gives the time, the sure bandwidth and the
//! delay.

use super::settings::PcieSettings;
use crate::network::packet::serialisation;
use crate::network::paths::ServerChannel;
use crate::system::composition::System;
use crate::units::{Bandwidth, Bytes};

/// Describes a command alone on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::network) struct Alone {
    /// Holds the picoseconds from its start to its end.
    pub(in crate::network) time: u64,
    /// Holds the bandwidth that the slowest link of its way is sure to give its data once it goes
    /// before all others. Each other virtual channel gets a packet for each bound on its waiting.
    pub(in crate::network) bandwidth: Bandwidth,
    /// Holds the further picoseconds that its last packet takes. Among others, one packet of each
    /// other virtual channel may go before it.
    pub(in crate::network) behind: u64,
}

/// Describes a command alone on a path of a server. For a read, the time includes its request.
pub(in crate::network) fn alone_within(
    settings: &PcieSettings,
    system: &System,
    (server, path): (u32, &[ServerChannel]),
    (size, is_read): (Bytes, bool),
) -> Alone {
    let server = system.kind_of(server).server();
    let links = || path.iter().map(|channel| &server.links()[*channel as usize / 2]);
    let packet = settings.wire(size.0.min(settings.payload.0));
    let rates = || links().map(|link| settings.line_rate(link));
    let slowest = rates().min().unwrap_or(Bandwidth(u64::MAX));
    let bandwidth = links().map(|link| settings.data_rate(link)).min().unwrap_or(slowest);
    let latency: u64 = links().map(|link| link.latency.0).sum();
    let each = |bytes: u64| -> u64 { rates().map(|rate| serialisation(bytes, rate)).sum() };
    // The slowest link takes all packets, the others one more each.
    let stages = each(packet) - serialisation(packet, slowest);
    let asking = if is_read { latency + each(settings.wire(0)) } else { 0 };
    let transfer = serialisation(settings.wire(size.0), slowest);
    let others = u64::from(super::VIRTUAL_CHANNELS) - 1;
    let full = serialisation(settings.wire(settings.payload.0), slowest);
    let bound = u128::from(settings.bound.0);
    let sure = u128::from(bandwidth.0) * bound / (bound + u128::from(others * full));
    Alone {
        time: transfer.saturating_add(latency + stages + asking),
        bandwidth: Bandwidth(u64::try_from(sure).unwrap_or(u64::MAX).max(1)),
        behind: latency + stages + others * full,
    }
}
