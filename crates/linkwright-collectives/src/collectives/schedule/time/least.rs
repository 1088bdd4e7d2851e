//! How long a schedule takes at least, whatever its chunks, without playing it.
//!
//! A block takes its steps one after the other. While it sends it does nothing else, and no
//! transfer is faster than its connection alone on its links. It also does nothing else while it
//! writes data for its next steps to its GPU's memory. It does not begin before the data of its
//! first step has come the whole way. The hops of this way each have a latency. So the busiest
//! block bounds the whole, with the way to it: a chain's last has all hops before it. Where
//! connections take turns, a lane carries one transfer at a time, so that the busiest lane bounds
//! the whole, too.

use crate::collectives::schedule::Pacing;
use crate::program::kernel::{KernelBlock, Pieces};
use crate::units::{Bandwidth, Bytes, Picoseconds};

use super::lowered::{LoweredSchedule, OpenPath};

/// The most pieces that data is cut into where their length is looked for, and more.
const MOST_PIECES: u64 = 4_096;

/// Gives the loss by rounding of a transfer, bytes, and of a copy, seconds.
const ROUNDED: (f64, f64) = (1.0, 1e-12);

impl LoweredSchedule {
    /// Returns the least time of a run over `size` bytes on links of these capacities.
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
        let ends = kernel.blocks.iter().zip(self.starts()).map(|(block, start)| {
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
            start as f64 / 1e12 + sending + copying
        });
        let last = ends.fold(0.0, f64::max);
        let last = of_lanes.into_iter().fold(last, f64::max) * (1.0 - 1e-9);
        Picoseconds(protocol.launch.0.saturating_add((last * 1e12) as u64))
    }

    /// When each block may begin its first step at the soonest, in picoseconds from the launch: no transfer takes any
    /// time but its latency.
    fn starts(&self) -> Vec<u64> {
        let kernel = &self.kernel;
        // The block of each step that another may wait for.
        let mut block_of = vec![0; if kernel.waits.is_empty() { 0 } else { kernel.steps.len() }];
        if !block_of.is_empty() {
            for (index, block) in kernel.written_blocks() {
                block_of[block.steps.0 as usize..block.steps.1 as usize].fill(index);
            }
        }
        // The blocks that one waits for before its first step, each with the latency between.
        let before = |block: u32| {
            let KernelBlock { steps, incoming, .. } = kernel.blocks[block as usize];
            let first = (steps.0 < steps.1).then(|| kernel.steps[steps.0 as usize]);
            let sender = incoming.filter(|_| first.is_some_and(|first| first.step.receives));
            let sender = sender.map(|connection| {
                let latency = self.paths[connection as usize].latency.0;
                (kernel.connections[connection as usize].sender, latency)
            });
            let waits = first.map_or((0, 0), |first| first.waits);
            let waited = kernel.waits[waits.0 as usize..waits.1 as usize].iter();
            sender.into_iter().chain(waited.map(|step| (block_of[*step as usize], 0)))
        };
        let mut starts = vec![None; kernel.blocks.len()];
        let mut open: Vec<(u32, bool)> = Vec::new();
        for block in 0..kernel.blocks.len() as u32 {
            open.push((block, false));
            while let Some((at, has_all)) = open.pop() {
                let known = |earlier: u32| starts[earlier as usize].unwrap_or(0);
                if has_all {
                    let latest = before(at).map(|(earlier, latency)| known(earlier) + latency);
                    starts[at as usize] = latest.max().or(Some(0));
                } else if starts[at as usize].is_none() {
                    // Blocks that wait for one another in a circle never begin: any bound holds of them.
                    starts[at as usize] = Some(0);
                    open.push((at, true));
                    open.extend(before(at).map(|(earlier, _)| (earlier, false)));
                }
            }
        }
        starts.into_iter().map(|start| start.unwrap_or(0)).collect()
    }
}

/// The most that a connection reaches alone on its links.
fn rate_of(path: &OpenPath, capacities: &[Bandwidth]) -> f64 {
    let rates = path.uses.iter().map(|(link, share)| capacities[*link].0 as f64 / share);
    rates.fold(path.limit.map_or(f64::INFINITY, |limit| limit.0 as f64), f64::min)
}
