//! How long a schedule takes at least, whatever its chunks, without playing it.
//!
//! A block takes its steps one after the other. While it sends it does nothing else, and no transfer is
//! faster than its connection alone on its links; nor does it while it writes to its GPU's memory what
//! its next steps need. So the busiest block bounds the whole. Where connections take turns, a lane carries one
//! transfer at a time, so that the busiest lane does, too.

use crate::collectives::schedule::Pacing;
use crate::program::kernel::Pieces;
use crate::units::{Bandwidth, Bytes, Picoseconds};

use super::lowered::{LoweredSchedule, OpenPath};

/// The most pieces that data is cut into where their length is looked for, and more.
const MOST_PIECES: u64 = 4_096;

/// What rounding takes of a transfer, bytes, and of a copy, seconds.
const ROUNDED: (f64, f64) = (1.0, 1e-12);

impl LoweredSchedule {
    /// What a run over `size` bytes takes at least on links of these capacities.
    pub(super) fn least(
        &self,
        size: Bytes,
        pacing: Pacing,
        capacities: &[Bandwidth],
    ) -> Picoseconds {
        let pieces = match pacing {
            Pacing::SideBySide { chunk, .. } => size.0 / chunk.0.max(1) + MOST_PIECES,
            _ => MOST_PIECES,
        };
        let pieces = pieces as f64;
        let chunk = Pieces::new(Bytes(size.0 / self.shards), self.chunks, 1).bytes(0, 1);
        let (kernel, protocol) = (&self.kernel, &self.protocol);
        let mut of_lanes = vec![0.0; kernel.lanes.len()];
        let busy = kernel.blocks.iter().map(|block| {
            let path = block.outgoing.map(|connection| &self.paths[connection as usize]);
            let rate = path.map_or(f64::INFINITY, |path| rate_of(path, capacities));
            let (mut sending, mut copying) = (0.0, 0.0);
            for linked in &kernel.steps[block.steps.0 as usize..block.steps.1 as usize] {
                let step = linked.step;
                let data = chunk.0 as f64 * f64::from(step.count);
                if step.sends && rate.is_finite() {
                    let wire = data / protocol.data_share - pieces * ROUNDED.0;
                    sending += wire.max(0.0) / rate;
                } else if step.copies && !linked.is_behind {
                    let copied = data / protocol.copy_bandwidth.0 as f64;
                    copying += (copied - pieces * ROUNDED.1).max(0.0);
                }
            }
            if let Some(connection) = block.outgoing.filter(|_| protocol.stream_reuse) {
                of_lanes[kernel.connections[connection as usize].lane as usize] += sending;
            }
            sending + copying
        });
        let busiest = busy.fold(0.0, f64::max);
        let busy = of_lanes.into_iter().fold(busiest, f64::max) * (1.0 - 1e-9);
        Picoseconds(protocol.launch.0.saturating_add((busy * 1e12) as u64))
    }
}

/// The most that a connection reaches alone on its links.
fn rate_of(path: &OpenPath, capacities: &[Bandwidth]) -> f64 {
    let rates = path.uses.iter().map(|(link, share)| capacities[*link].0 as f64 / share);
    rates.fold(path.limit.map_or(f64::INFINITY, |limit| limit.0 as f64), f64::min)
}
