//! Sums the load of a schedule on links, whenever it asks for it.

use std::collections::{BTreeMap, BTreeSet};

use super::lowered::LoweredSchedule;
use crate::network::ResourceId;
use crate::program::kernel::Pieces;
use crate::units::Bytes;

/// Holds the load of one run of a schedule on one resource.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkDemand {
    /// Names the resource.
    pub resource: ResourceId,
    /// Counts the bytes on the wire, the protocol's flags among them.
    pub bytes: f64,
    /// How many flows share them at most at one time: the connections that use the resource, or their lanes where those of
    /// one take turns.
    pub flows: u32,
}

impl LoweredSchedule {
    /// How many chunks each connection sends.
    pub(super) fn sent(&self) -> impl Iterator<Item = (u32, f64)> {
        let kernel = &self.kernel;
        kernel.blocks.iter().filter_map(move |block| {
            let steps = kernel.steps[block.steps.0 as usize..block.steps.1 as usize].iter();
            let sending = steps.filter(|linked| linked.step.sends);
            let sent: f64 = sending.map(|linked| f64::from(linked.step.count)).sum();
            Some((block.outgoing?, sent))
        })
    }

    /// Bytes that each connection carries in a run whose data is cut like that. They count the protocol's flags.
    pub(super) fn carried(&self, pieces: Pieces) -> Vec<Bytes> {
        let mut of_step: BTreeMap<u32, u64> = BTreeMap::new();
        let mut carried = vec![Bytes(0); self.paths.len()];
        for block in &self.kernel.blocks {
            let Some(outgoing) = block.outgoing else { continue };
            let steps = &self.kernel.steps[block.steps.0 as usize..block.steps.1 as usize];
            let sends = steps.iter().map(|linked| linked.step).filter(|step| step.sends);
            let bytes = sends.map(|step| {
                *of_step.entry(step.count).or_insert_with(|| {
                    let all = (0..pieces.count()).map(|piece| pieces.bytes(piece, step.count));
                    all.map(|data| self.protocol.on_wire(data).0).sum()
                })
            });
            carried[outgoing as usize] = Bytes(bytes.sum());
        }
        carried
    }

    /// Tells how much data a run over `size` bytes, as nccl-tests counts them, moves over resources. Each has its part of the
    /// data, without the protocol's flags, and without the part of a switch's capacity that goes unused.
    pub fn each_data(&self, size: Bytes, mut tell: impl FnMut(&[(ResourceId, f64)], f64)) {
        let chunk = size.0 as f64 / self.chunks_of_longest() as f64;
        for (connection, sent) in self.sent() {
            let path = &self.paths[connection as usize];
            tell(&path.uses, sent * chunk * path.efficiency);
        }
    }

    /// Returns the load of a run over `size` bytes, as nccl-tests counts them, on each resource
    /// that it uses, by resource.
    #[must_use]
    pub fn demand(&self, size: Bytes) -> Vec<LinkDemand> {
        let mut of_resource: BTreeMap<ResourceId, (f64, BTreeSet<u32>)> = BTreeMap::new();
        let chunk = self.on_wire(size) / self.chunks_of_longest() as f64;
        for (connection, sent) in self.sent().filter(|(_, sent)| *sent > 0.0) {
            let lane = self.kernel.connections[connection as usize].lane;
            let flow = if self.protocol.stream_reuse { lane } else { connection };
            for (resource, share) in &self.paths[connection as usize].uses {
                let (bytes, flows) = of_resource.entry(*resource).or_default();
                *bytes += share * sent * chunk;
                flows.insert(flow);
            }
        }
        let demand = |(resource, (bytes, flows)): (ResourceId, (f64, BTreeSet<u32>))| LinkDemand {
            resource,
            bytes,
            flows: flows.len() as u32,
        };
        of_resource.into_iter().map(demand).collect()
    }
}
