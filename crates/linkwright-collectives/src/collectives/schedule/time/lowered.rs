//! A schedule as a kernel that the runtime plays, and the connections that it needs.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::network::{ConnectionIndex, Connections, ResourceId, Routes};
use crate::program::kernel::{Kernel, KernelCall, KernelStep, NcclProtocol, Pieces};
use crate::units::{Bandwidth, Bytes, Picoseconds};

use super::error::TimeError;
use super::paths::KnownPaths;
use super::switch::Head;
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::walk::{self, WalkedBlock};
use crate::collectives::schedule::{
    Channel, ChannelTransport, Pacing, Schedule, ScheduleStep, StepOperation, ThreadBlock,
};

/// Describes a connection's use of the links, and how long its data takes to arrive.
#[derive(Debug, Clone)]
pub(super) struct OpenPath {
    pub(super) uses: Vec<(ResourceId, f64)>,
    pub(super) latency: Picoseconds,
    /// The most that its block sends, where its links carry more.
    pub(super) limit: Option<Bandwidth>,
    /// The data that crosses a link for what it takes of it: below 1 where a switch reaches less of its
    /// links than they do.
    pub(super) efficiency: f64,
}

/// The most transfers that one run of a schedule takes.
const MOST_TRANSFERS: u64 = 50_000_000;

/// Holds a schedule as a kernel on links, with the paths of its connections in their order.
#[derive(Debug, Clone)]
pub struct LoweredSchedule {
    pub(super) kernel: Arc<Kernel>,
    pub(super) paths: Vec<OpenPath>,
    pub(super) protocol: NcclProtocol,
    /// Chunks of a shard, and shards of the longest buffer.
    pub(super) chunks: u32,
    pub(super) shards: u64,
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
        Self::written(schedule, routes, protocol, false)
    }

    /// As [`Self::new`], of an outline: the steps of rank 0 are those of all ranks.
    ///
    /// # Errors
    /// Fails as [`Self::new`] does.
    pub(super) fn of_outline(
        outline: &Schedule,
        routes: &Routes<'_>,
        protocol: &NcclProtocol,
    ) -> Result<Self, TimeError> {
        Self::written(outline, routes, protocol, true)
    }

    fn written(
        schedule: &Schedule,
        routes: &Routes<'_>,
        protocol: &NcclProtocol,
        is_outline: bool,
    ) -> Result<Self, TimeError> {
        let is_ring = is_ring_of_the_library(schedule);
        let mut kernel = Kernel::new(is_ring);
        let protocol = &copied_by_all_blocks(schedule, protocol);
        let mut receivers = BTreeMap::new();
        let heads: Vec<Vec<Head>> =
            (0..schedule.ranks()).map(|rank| Head::of(schedule, rank)).collect();
        let is_in_switch = heads.iter().any(|own| !own.is_empty());
        for (rank, heads) in heads.iter().enumerate() {
            kernel.begin_rank();
            for walked in walk::blocks_of(schedule, rank) {
                let index = walked.index as u32;
                if is_outline && rank > 0 {
                    kernel.begin_block_like((0, index));
                } else {
                    kernel.begin_block();
                }
                let head = heads.iter().find(|head| head.block == index);
                for at in walked.steps() {
                    let after = at.waits_for().map(|earlier| (earlier.block, earlier.step));
                    let heard = head.into_iter().flat_map(|head| head.waits(at.index as u32));
                    if is_ring {
                        steps_around(at.step).into_iter().for_each(|step| kernel.step(step, []));
                    } else {
                        // A head takes what comes from other servers while its switch reduces or multicasts.
                        let is_taken = is_in_switch && !is_switched(schedule, walked.block.channel);
                        let step = lowered_step(at.step);
                        let step = KernelStep { copies: step.copies && !is_taken, ..step };
                        kernel.step(step, after.chain(heard));
                    }
                }
                if let Some(from) = walked.block.receive {
                    receivers.insert((from, rank, walked.block.channel), index);
                }
            }
            heads.iter().for_each(|head| head.write(&mut kernel));
        }
        let opened = |uses: Vec<(ResourceId, f64)>, latency| {
            let limit = protocol.send_bandwidth.filter(|limit| carries_more(routes, &uses, *limit));
            OpenPath { uses, latency, limit, efficiency: 1.0 }
        };
        let mut known = KnownPaths::new(schedule, routes);
        let mut lanes = BTreeMap::new();
        let alike = first_alike(&schedule.channels);
        let mut paths = Vec::new();
        let mixed =
            schedule.channels.iter().any(|channel| channel.transport == ChannelTransport::Best);
        for rank in 0..schedule.programs.len() {
            for WalkedBlock { index: place, block, .. } in walk::blocks_of(schedule, rank) {
                let index = place as u32;
                let Some(to) = block.send else { continue };
                let switched = is_switched(schedule, block.channel);
                let receiver = if switched {
                    let of_channel = |head: &&Head| head.channel == block.channel;
                    let hears = heads[to].iter().filter(of_channel).flat_map(|head| &head.hears);
                    hears.clone().find(|(from, _)| *from == rank).map(|(_, block)| *block)
                } else {
                    receivers.remove(&(rank, to, block.channel))
                };
                let unpaired = TimeError::Unpaired { rank, block: place, channel: block.channel };
                let receiver = receiver.ok_or(unpaired)?;
                let channel = &schedule.channels[block.channel];
                let (uses, wire, reach) = known.path(channel, (rank, to))?;
                let latency = protocol.hop(reach).max(wire);
                let alone = switched.then_some(paths.len());
                // A contribution is copied to where the switch reads it, and crosses links then.
                let own = protocol.copy_bandwidth;
                let written = || OpenPath { limit: Some(own), ..opened(Vec::new(), latency) };
                paths.push(if switched { written() } else { opened(uses, latency) });
                let next = lanes.len() as u32;
                let pair = (rank, to, alike[block.channel], alone);
                let lane = *lanes.entry(pair).or_insert(next);
                let is_late = mixed && channel.transport == ChannelTransport::Host;
                kernel.connect((rank as u32, index), (to as u32, receiver), lane, is_late);
            }
            for head in &heads[rank] {
                let own = (rank as u32, head.block);
                let channel = &schedule.channels[head.channel];
                let (uses, efficiency) = head.uses(schedule, routes)?;
                let mut connect = |path: OpenPath, from, to: (u32, u32)| {
                    let next = lanes.len() as u32;
                    let alone = Some(paths.len());
                    let pair = (rank, to.0 as usize, alike[head.channel], alone);
                    let lane = *lanes.entry(pair).or_insert(next);
                    paths.push(path);
                    kernel.connect(from, to, lane, false);
                };
                let through = OpenPath { efficiency, ..opened(uses, Picoseconds(0)) };
                connect(through, own, (own.0, head.sink));
                for (to, teller) in &head.tells {
                    let place = head.block as usize;
                    let unpaired =
                        TimeError::Unpaired { rank, block: place, channel: head.channel };
                    let receiver = receivers.remove(&(rank, *to, head.channel)).ok_or(unpaired)?;
                    let (_, wire, reach) = known.path(channel, (rank, *to))?;
                    let latency = protocol.hop(reach).max(wire);
                    let flag = opened(Vec::new(), latency);
                    connect(flag, (own.0, *teller), (*to as u32, receiver));
                }
            }
        }
        if let Some(((_, rank, channel), block)) = receivers.into_iter().next() {
            return Err(TimeError::Unpaired { rank, block: block as usize, channel });
        }
        let chunks = schedule.chunks.max(1);
        let shards = (schedule.longest_buffer() as u64 / u64::from(chunks)).max(1);
        let kernel = Arc::new(kernel.finished());
        Ok(Self { kernel, paths, protocol: *protocol, chunks, shards })
    }

    /// The same with all steps of all blocks, where it has them but once.
    pub(super) fn in_full(&self) -> Cow<'_, Self> {
        match self.kernel.in_full() {
            None => Cow::Borrowed(self),
            Some(kernel) => Cow::Owned(self.with(Arc::new(kernel), self.paths.clone())),
        }
    }

    /// Opens its connections on a network over the same links; returns the first.
    pub fn open(&self, network: &mut Connections<'_>) -> ConnectionIndex {
        let open = |path: &OpenPath| {
            let opened = network.open_limited(&path.uses, path.latency, path.limit);
            network.carries_data(opened, self.protocol.data_share * path.efficiency);
            opened
        };
        let opened = self.paths.iter().map(open);
        opened.reduce(|first, _| first).unwrap_or(0)
    }

    /// The links that it uses, some of them several times.
    pub fn links(&self) -> impl Iterator<Item = ResourceId> + '_ {
        self.paths.iter().flat_map(|path| path.uses.iter().map(|(link, _)| *link))
    }

    /// Returns the call of its ranks: `size` bytes, as nccl-tests counts them, in chunks of at most
    /// `chunk`. It takes connections that were opened from `first_connection` on.
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
        Ok(self.call_of(pieces, first_connection))
    }

    /// Works as [`Self::call`], in a given number of pieces.
    #[must_use]
    pub fn call_in_pieces(
        &self,
        size: Bytes,
        pieces: u64,
        first_connection: ConnectionIndex,
    ) -> KernelCall {
        let pieces = Pieces::new(Bytes(size.0 / self.shards), self.chunks, pieces);
        self.call_of(pieces, first_connection)
    }

    fn call_of(&self, pieces: Pieces, first_connection: ConnectionIndex) -> KernelCall {
        let (kernel, protocol) = (Arc::clone(&self.kernel), self.protocol);
        KernelCall { kernel, pieces, protocol, first_connection }
    }

    /// Chunks of the longest buffer.
    pub(super) fn chunks_of_longest(&self) -> u64 {
        self.shards * u64::from(self.chunks)
    }

    /// Returns the bytes on its links for `data` bytes of data.
    pub(super) fn on_wire(&self, data: Bytes) -> f64 {
        data.0 as f64 / self.protocol.data_share
    }

    /// How many connections it has.
    #[must_use]
    pub fn connections(&self) -> ConnectionIndex {
        self.paths.len() as ConnectionIndex
    }

    /// Adds to each resource the data of what its connections carried.
    pub(super) fn add_loads(&self, carried: &[Bytes], loads: &mut [f64]) {
        for (carried, path) in carried.iter().zip(&self.paths) {
            let data = carried.0 as f64 * self.protocol.data_share * path.efficiency;
            for (resource, share) in &path.uses {
                loads[*resource] += share * data;
            }
        }
    }

    /// Returns the same with another kernel and its paths.
    pub(super) fn with(&self, kernel: Arc<Kernel>, paths: Vec<OpenPath>) -> Self {
        Self { kernel, paths, ..self.clone() }
    }

    /// Counts the pieces that `size` is cut into in chunks of at most `chunk`.
    pub(super) fn count(&self, size: Bytes, chunk: Bytes) -> u128 {
        let longest = self.kernel.steps.iter().map(|linked| u64::from(linked.step.count)).max();
        let run = u128::from(size.0 / self.shards) * u128::from(longest.unwrap_or(1));
        run.div_ceil(u128::from(chunk.0.max(1)) * u128::from(self.chunks)).max(1)
    }

    fn pieces(&self, size: Bytes, chunk: Bytes) -> Result<Pieces, TimeError> {
        if chunk.0 == 0 {
            return Err(TimeError::EmptyChunk);
        }
        let (shard, count) = (size.0 / self.shards, self.count(size, chunk));
        let transfers = count * u128::from(self.kernel.sends().max(1));
        let transfers = u64::try_from(transfers).unwrap_or(u64::MAX);
        if transfers > MOST_TRANSFERS {
            let limit = MOST_TRANSFERS;
            return Err(TimeError::TooManyTransfers { size, chunk, transfers, limit });
        }
        Ok(Pieces::new(Bytes(shard), self.chunks, count as u64))
    }
}

/// Gives a protocol whose blocks share what they copy at. Blocks that copy for all heads of a reduction in switches share
/// it among these. Those of a library's rings and trees share what a GPU writes of its own.
fn copied_by_all_blocks(schedule: &Schedule, protocol: &NcclProtocol) -> NcclProtocol {
    if is_around(schedule) {
        let channels = schedule.channels.len().max(1) as u64;
        return NcclProtocol {
            copy_bandwidth: Bandwidth((protocol.copy_bandwidth.0 / channels).max(1)),
            ..*protocol
        };
    }
    // Each rank takes part in as many.
    let is_own =
        |at: &usize| is_switched(schedule, *at) && schedule.channels[*at].group.contains(&0);
    let heads = (0..schedule.channels.len()).filter(is_own).count() as u64;
    if heads == 0 {
        return *protocol;
    }
    NcclProtocol { copy_bandwidth: Bandwidth(protocol.copy_bandwidth.0 / heads), ..*protocol }
}

/// Whether each of a connection's links carries more than its sender sends.
fn carries_more(routes: &Routes<'_>, uses: &[(ResourceId, f64)], limit: Bandwidth) -> bool {
    let capacities = routes.capacities();
    uses.iter().all(|(resource, share)| capacities[*resource].0 as f64 > share * limit.0 as f64)
}

/// Gives for each channel the first that uses the same links.
fn first_alike(channels: &[Channel]) -> Vec<usize> {
    let mut first = BTreeMap::new();
    channels.iter().enumerate().map(|(at, channel)| *first.entry(channel).or_insert(at)).collect()
}

fn is_switched(schedule: &Schedule, channel: usize) -> bool {
    schedule.channels[channel].transport == ChannelTransport::Switch
}

fn lowered_step(step: &ScheduleStep) -> KernelStep {
    let operation = step.operation;
    let sends = operation.sends() || operation.is_in_switch();
    KernelStep {
        sends,
        receives: operation.receives(),
        count: step.count,
        copies: operation.writes_destination() && !sends,
    }
}

/// Tells whether the library reduces or gathers so, and not through switches: each channel is one block of a rank.
fn is_around(schedule: &Schedule) -> bool {
    use Collective::{AllGather, AllReduce, ReduceScatter};
    let is_library = matches!(schedule.pacing, Pacing::SideBySide { blocks: Some(1), .. });
    is_library && matches!(schedule.collective, AllReduce | AllGather | ReduceScatter)
}

/// Tells whether it does so around rings: each block of a rank takes from one and sends to one.
fn is_ring_of_the_library(schedule: &Schedule) -> bool {
    let has_both = |block: &ThreadBlock| block.send.is_some() && block.receive.is_some();
    let blocks = &schedule.programs[0].blocks;
    is_around(schedule) && blocks.len() == schedule.channels.len() && blocks.iter().all(has_both)
}

/// Gives the steps of a block of the library for a step around a ring, one after the other. Data arrives where it
/// belongs, since GPUs of one process write each other's results (`directRecv`, `directRecvCopyDirectSend`). A block
/// writes itself only sums and its own part.
fn steps_around(step: &ScheduleStep) -> Vec<KernelStep> {
    let lowered = lowered_step(step);
    let writes = match step.operation {
        StepOperation::Receive => false,
        StepOperation::ReceiveReduceCopySend => true,
        _ => lowered.copies,
    };
    let own = KernelStep { sends: false, receives: false, count: step.count, copies: true };
    if writes && lowered.sends {
        vec![lowered, own]
    } else {
        vec![KernelStep { copies: writes, ..lowered }]
    }
}
