//! A schedule as a kernel that the runtime plays, and the connections that it needs.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::network::{ResourceId, Routes};
use crate::program::kernel::{Kernel, KernelStep, NcclProtocol};
use crate::units::Picoseconds;

use super::super::schedule::{Schedule, Step, Transport};
use super::error::TimeError;
use super::ways::way;

/// What a connection uses of the links, and how long what is sent takes to arrive.
#[derive(Debug, Clone)]
pub(super) struct OpenWay {
    pub(super) uses: Vec<(ResourceId, f64)>,
    pub(super) latency: Picoseconds,
}

/// A kernel with the ways of its connections, in their order.
#[derive(Debug, Clone)]
pub(super) struct Lowered {
    pub(super) kernel: Arc<Kernel>,
    pub(super) ways: Vec<OpenWay>,
}

impl Lowered {
    pub(super) fn new(
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
        let mixed = schedule.channels.iter().any(|channel| channel.transport == Transport::Best);
        for (rank, program) in schedule.programs.iter().enumerate() {
            for (index, block) in program.blocks.iter().enumerate() {
                let Some(to) = block.send else { continue };
                let unpaired = TimeError::Unpaired { rank, block: index, channel: block.channel };
                let receiver = receivers.remove(&(rank, to, block.channel)).ok_or(unpaired)?;
                let channel = &schedule.channels[block.channel];
                let (uses, wire, reach) = way(schedule, routes, channel, (rank, to))?;
                let latency = protocol.hop(reach).max(wire);
                ways.push(OpenWay { uses, latency });
                let next = lanes.len() as u32;
                let lane = *lanes.entry((rank, to, channel)).or_insert(next);
                let is_late = mixed && channel.transport == Transport::Host;
                let sender = (rank as u32, index as u32);
                kernel.connect(sender, (to as u32, receiver as u32), lane, is_late);
            }
        }
        if let Some(((_, rank, channel), block)) = receivers.into_iter().next() {
            return Err(TimeError::Unpaired { rank, block, channel });
        }
        Ok(Self { kernel: Arc::new(kernel.finished()), ways })
    }
}

fn lowered_step(step: &Step, chunks: u32) -> KernelStep {
    let place = step.source.or(step.destination);
    KernelStep {
        sends: step.operation.sends(),
        receives: step.operation.receives(),
        start: place.map_or(0, |slice| slice.offset % chunks.max(1)),
        count: step.count,
    }
}
