//! A schedule as a kernel that the runtime plays, and the connections that it needs.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::network::{ConnectionIndex, Connections, ResourceId, Routes};
use crate::program::kernel::{Kernel, KernelCall, KernelStep, NcclProtocol, Pieces};
use crate::units::{Bandwidth, Bytes, Picoseconds};

use super::super::schedule::{ChannelTransport, Schedule, Step};
use super::error::TimeError;
use super::ways::way;

/// What a connection uses of the links, and how long what is sent takes to arrive.
#[derive(Debug, Clone)]
pub(super) struct OpenWay {
    pub(super) uses: Vec<(ResourceId, f64)>,
    pub(super) latency: Picoseconds,
    /// The most that its block sends, where its links carry more.
    pub(super) limit: Option<Bandwidth>,
}

/// The most transfers that one run of a schedule takes.
const MOST_TRANSFERS: u64 = 50_000_000;

/// A schedule as a kernel on links, with the ways of its connections in their order.
#[derive(Debug, Clone)]
pub struct LoweredSchedule {
    pub(super) kernel: Arc<Kernel>,
    pub(super) ways: Vec<OpenWay>,
    protocol: NcclProtocol,
    /// Chunks of a shard, and shards of the longest buffer.
    chunks: u32,
    shards: u64,
}

impl LoweredSchedule {
    /// A schedule on the links of its GPUs, as [`resources`](super::resources) gives them.
    ///
    /// # Errors
    /// [`TimeError`] where a connection has no route or no other end.
    pub fn new(
        schedule: &Schedule,
        routes: &Routes<'_>,
        protocol: &NcclProtocol,
    ) -> Result<Self, TimeError> {
        let mut kernel = Kernel::default();
        let mut receivers = BTreeMap::new();
        for (rank, program) in schedule.programs.iter().enumerate() {
            kernel.begin_rank();
            for (index, block) in program.blocks.iter().enumerate() {
                kernel.begin_block();
                for step in &block.steps {
                    let after = step.after.iter().map(|earlier| (earlier.block, earlier.step));
                    kernel.step(lowered_step(step, schedule.chunks), after);
                }
                if let Some(from) = block.receive {
                    receivers.insert((from, rank, block.channel), index);
                }
            }
        }
        let mut lanes = BTreeMap::new();
        let mut ways = Vec::new();
        let mixed =
            schedule.channels.iter().any(|channel| channel.transport == ChannelTransport::Best);
        for (rank, program) in schedule.programs.iter().enumerate() {
            for (index, block) in program.blocks.iter().enumerate() {
                let Some(to) = block.send else { continue };
                let unpaired = TimeError::Unpaired { rank, block: index, channel: block.channel };
                let receiver = receivers.remove(&(rank, to, block.channel)).ok_or(unpaired)?;
                let channel = &schedule.channels[block.channel];
                let (uses, wire, reach) = way(schedule, routes, channel, (rank, to))?;
                let latency = protocol.hop(reach).max(wire);
                let limit =
                    protocol.send_bandwidth.filter(|limit| carries_more(routes, &uses, *limit));
                ways.push(OpenWay { uses, latency, limit });
                let next = lanes.len() as u32;
                let lane = *lanes.entry((rank, to, channel)).or_insert(next);
                let is_late = mixed && channel.transport == ChannelTransport::Host;
                let sender = (rank as u32, index as u32);
                kernel.connect(sender, (to as u32, receiver as u32), lane, is_late);
            }
        }
        if let Some(((_, rank, channel), block)) = receivers.into_iter().next() {
            return Err(TimeError::Unpaired { rank, block, channel });
        }
        let chunks = schedule.chunks.max(1);
        let shards = (schedule.longest_buffer() as u64 / u64::from(chunks)).max(1);
        let kernel = Arc::new(kernel.finished());
        Ok(Self { kernel, ways, protocol: *protocol, chunks, shards })
    }

    /// Opens its connections on a network over the same links; returns the first.
    pub fn open(&self, network: &mut Connections<'_>) -> ConnectionIndex {
        let open = |way: &OpenWay| network.open_limited(&way.uses, way.latency, way.limit);
        let opened = self.ways.iter().map(open);
        opened.reduce(|first, _| first).unwrap_or(0)
    }

    /// What its ranks call: `size` bytes, as nccl-tests counts them, in chunks of at most `chunk`,
    /// over connections that were opened from `first_connection` on.
    ///
    /// # Errors
    /// [`TimeError`] where the chunks are too many or have no bytes.
    pub fn call(
        &self,
        size: Bytes,
        chunk: Bytes,
        first_connection: ConnectionIndex,
    ) -> Result<KernelCall, TimeError> {
        let pieces = self.pieces(size, chunk)?;
        let (kernel, protocol) = (Arc::clone(&self.kernel), self.protocol);
        Ok(KernelCall { kernel, pieces, protocol, first_connection })
    }

    /// The data of so many bytes on its links.
    pub(super) fn data_of(&self, on_wire: Bytes) -> f64 {
        on_wire.0 as f64 * self.protocol.data_share
    }

    fn pieces(&self, size: Bytes, chunk: Bytes) -> Result<Pieces, TimeError> {
        if chunk.0 == 0 {
            return Err(TimeError::EmptyChunk);
        }
        let shard = size.0 / self.shards;
        let longest = self.kernel.steps.iter().map(|linked| u64::from(linked.step.count)).max();
        let run = u128::from(shard) * u128::from(longest.unwrap_or(1));
        let count = run.div_ceil(u128::from(chunk.0) * u128::from(self.chunks)).max(1);
        let transfers = count * u128::from(self.kernel.sends().max(1));
        let transfers = u64::try_from(transfers).unwrap_or(u64::MAX);
        if transfers > MOST_TRANSFERS {
            let limit = MOST_TRANSFERS;
            return Err(TimeError::TooManyTransfers { size, chunk, transfers, limit });
        }
        Ok(Pieces::new(Bytes(shard), self.chunks, count as u64))
    }
}

/// Whether each of a connection's links carries more than its sender sends.
fn carries_more(routes: &Routes<'_>, uses: &[(ResourceId, f64)], limit: Bandwidth) -> bool {
    let capacities = routes.capacities();
    uses.iter().all(|(resource, share)| capacities[*resource].0 as f64 > share * limit.0 as f64)
}

fn lowered_step(step: &Step, chunks: u32) -> KernelStep {
    let place = step.source.or(step.destination);
    KernelStep {
        sends: step.operation.sends(),
        receives: step.operation.receives(),
        start: place.map_or(0, |slice| slice.offset % chunks.max(1)),
        count: step.count,
        copies: step.operation.writes_destination() && !step.operation.sends(),
    }
}
