//! Writes a schedule for an algorithm, which names the transfers.
//!
//! An algorithm says which rank hands which chunks to which peer, and the builder finds the thread
//! block for it. On every channel one block at most sends to a peer and one at most receives from
//! it. The builder fuses a receive with the send that follows it where one block may do both.

use std::collections::BTreeMap;

use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::{
    Channel, Pacing, Protocol, RankSchedule, Schedule, ScheduleStep, Slice, StepId, StepOperation,
    ThreadBlock,
};

/// Holds the blocks of one rank that have a connection, by channel and peer.
#[derive(Debug, Clone, Default)]
struct Connections {
    sends: BTreeMap<(usize, usize), u32>,
    receives: BTreeMap<(usize, usize), u32>,
    /// The block of local copies, by channel.
    local: BTreeMap<usize, u32>,
    /// Names the block of each in-switch operation, by channel.
    in_switch: BTreeMap<(usize, &'static str), u32>,
}

/// Builds thread blocks from steps.
#[derive(Debug, Clone)]
pub struct ScheduleBuilder {
    schedule: Schedule,
    connections: Vec<Connections>,
}

impl ScheduleBuilder {
    /// An empty schedule that may run in place and out of place.
    #[must_use]
    pub fn new(name: &str, collective: Collective, gpus: Vec<usize>, chunks: u32) -> Self {
        let ranks = gpus.len();
        let schedule = Schedule {
            name: name.to_owned(),
            collective,
            protocol: Protocol::Simple,
            pacing: Pacing::InTurns,
            gpus,
            chunks,
            in_place: collective != Collective::AllToAll,
            out_of_place: true,
            channels: Vec::new(),
            routes: Vec::new(),
            programs: vec![RankSchedule::default(); ranks],
        };
        Self { schedule, connections: vec![Connections::default(); ranks] }
    }

    /// Adds a channel and returns its index.
    pub fn channel(&mut self, channel: Channel) -> usize {
        self.schedule.channels.push(channel);
        self.schedule.channels.len() - 1
    }

    /// Room for that many chunks in a rank's scratch buffer; returns where it starts.
    pub fn scratch(&mut self, rank: usize, count: u32) -> Slice {
        let program = &mut self.schedule.programs[rank];
        let start = program.scratch_chunks;
        program.scratch_chunks += count;
        Slice::scratch(start)
    }

    /// Opens a rank's block on a ring. It takes from one peer, sends to another, and does the rank's copies on the channel.
    /// All its steps happen in their order, as in NCCL's one block of a channel (`src/device/all_gather.h`, `runRing`).
    pub fn on_ring(&mut self, rank: usize, channel: usize, (from, to): (usize, usize)) {
        let block = self.open(rank, channel, Some(to), Some(from));
        let known = &mut self.connections[rank];
        known.sends.insert((channel, to), block);
        known.receives.insert((channel, from), block);
        known.local.insert(channel, block);
    }

    /// Adds a rank's copy within itself.
    pub fn copy(
        &mut self,
        rank: usize,
        channel: usize,
        source: Slice,
        destination: Slice,
        count: u32,
        after: &[StepId],
    ) -> StepId {
        let block = self.local_block(rank, channel);
        let step = ScheduleStep {
            operation: StepOperation::Copy,
            source: Some(source),
            destination: Some(destination),
            count,
            after: Vec::new(),
        };
        self.push(rank, block, step, after)
    }

    /// Adds a rank's wait for several of its steps.
    pub fn wait(&mut self, rank: usize, channel: usize, after: &[StepId]) -> StepId {
        let block = self.local_block(rank, channel);
        let (operation, count) = (StepOperation::Nop, 0);
        let step =
            ScheduleStep { operation, source: None, destination: None, count, after: Vec::new() };
        self.push(rank, block, step, after)
    }

    /// The block of a rank's copies.
    fn local_block(&mut self, rank: usize, channel: usize) -> u32 {
        let known = self.connections[rank].local.get(&channel).copied();
        let block = known.unwrap_or_else(|| self.open(rank, channel, None, None));
        self.connections[rank].local.insert(channel, block);
        block
    }

    /// Adds a rank's send to a peer.
    pub fn send(
        &mut self,
        rank: usize,
        channel: usize,
        to: usize,
        source: Slice,
        count: u32,
        after: &[StepId],
    ) -> StepId {
        let block = self.block_that_sends(rank, channel, to);
        let step = ScheduleStep {
            operation: StepOperation::Send,
            source: Some(source),
            destination: None,
            count,
            after: Vec::new(),
        };
        self.push(rank, block, step, after)
    }

    /// A rank's receive from a peer: reduced with `source` where there is one, kept at
    /// `destination`.
    #[allow(clippy::too_many_arguments, reason = "a step has this many parts")]
    pub fn receive(
        &mut self,
        rank: usize,
        channel: usize,
        from: usize,
        source: Option<Slice>,
        destination: Slice,
        count: u32,
        after: &[StepId],
    ) -> StepId {
        let block = self.block_that_receives(rank, channel, from);
        let operation = if source.is_some() {
            StepOperation::ReceiveReduceCopy
        } else {
            StepOperation::Receive
        };
        let step = ScheduleStep {
            operation,
            source,
            destination: Some(destination),
            count,
            after: Vec::new(),
        };
        self.push(rank, block, step, after)
    }

    /// A receive that is sent on, in one step where one block may hold both connections and
    /// in two where other blocks have them. Without a `destination` nothing is kept, unless
    /// two steps need `room` between them. Returns the step after which the data lies there.
    #[allow(clippy::too_many_arguments, reason = "a step has this many parts")]
    pub fn receive_and_send(
        &mut self,
        rank: usize,
        channel: usize,
        (from, to): (usize, usize),
        source: Option<Slice>,
        destination: Option<Slice>,
        room: Slice,
        count: u32,
        after: &[StepId],
    ) -> StepId {
        let Some(block) = self.block_for_both(rank, channel, from, to) else {
            let place = destination.unwrap_or(room);
            let received = self.receive(rank, channel, from, source, place, count, after);
            self.send(rank, channel, to, place, count, &[received]);
            return received;
        };
        let (operation, destination) = match (source, destination) {
            (None, kept) => (StepOperation::ReceiveCopySend, Some(kept.unwrap_or(room))),
            (Some(_), None) => (StepOperation::ReceiveReduceSend, None),
            (Some(_), kept) => (StepOperation::ReceiveReduceCopySend, kept),
        };
        self.push(
            rank,
            block,
            ScheduleStep { operation, source, destination, count, after: Vec::new() },
            after,
        )
    }

    /// Adds the work of a switch for a rank ([`StepOperation::is_in_switch`]), with the source and
    /// the data that the channel's others have sent to it. The result lies at `destination`. The
    /// others' sends and receives are steps of theirs, which name this rank as their peer.
    #[allow(clippy::too_many_arguments, reason = "a step has this many parts")]
    pub fn in_switch(
        &mut self,
        rank: usize,
        channel: usize,
        operation: StepOperation,
        source: Slice,
        destination: Slice,
        count: u32,
        after: &[StepId],
    ) -> StepId {
        let key = (channel, operation.name());
        let known = self.connections[rank].in_switch.get(&key).copied();
        let block = known.unwrap_or_else(|| self.open(rank, channel, None, None));
        self.connections[rank].in_switch.insert(key, block);
        let (source, destination) = (Some(source), Some(destination));
        self.push(
            rank,
            block,
            ScheduleStep { operation, source, destination, count, after: Vec::new() },
            after,
        )
    }

    /// Returns the schedule.
    #[must_use]
    pub fn finish(self) -> Schedule {
        self.schedule
    }

    fn open(
        &mut self,
        rank: usize,
        channel: usize,
        send: Option<usize>,
        receive: Option<usize>,
    ) -> u32 {
        let blocks = &mut self.schedule.programs[rank].blocks;
        blocks.push(ThreadBlock { send, receive, channel, steps: Vec::new() });
        (blocks.len() - 1) as u32
    }

    fn block_that_sends(&mut self, rank: usize, channel: usize, to: usize) -> u32 {
        if let Some(block) = self.connections[rank].sends.get(&(channel, to)) {
            return *block;
        }
        let block = self.open(rank, channel, Some(to), None);
        self.connections[rank].sends.insert((channel, to), block);
        block
    }

    fn block_that_receives(&mut self, rank: usize, channel: usize, from: usize) -> u32 {
        if let Some(block) = self.connections[rank].receives.get(&(channel, from)) {
            return *block;
        }
        let block = self.open(rank, channel, None, Some(from));
        self.connections[rank].receives.insert((channel, from), block);
        block
    }

    /// The block that may both receive from one peer and send to another, opened or widened
    /// where that is still possible.
    fn block_for_both(
        &mut self,
        rank: usize,
        channel: usize,
        from: usize,
        to: usize,
    ) -> Option<u32> {
        let receives = self.connections[rank].receives.get(&(channel, from)).copied();
        let sends = self.connections[rank].sends.get(&(channel, to)).copied();
        let blocks = &mut self.schedule.programs[rank].blocks;
        let block = match (receives, sends) {
            (Some(a), Some(b)) => return (a == b).then_some(a),
            (None, None) => self.open(rank, channel, Some(to), Some(from)),
            (Some(block), None) if blocks[block as usize].send.is_none() => {
                blocks[block as usize].send = Some(to);
                block
            }
            (None, Some(block)) if blocks[block as usize].receive.is_none() => {
                blocks[block as usize].receive = Some(from);
                block
            }
            _ => return None,
        };
        self.connections[rank].receives.insert((channel, from), block);
        self.connections[rank].sends.insert((channel, to), block);
        Some(block)
    }

    /// Appends a step. An order that the block itself already has is no dependency.
    fn push(
        &mut self,
        rank: usize,
        block: u32,
        mut step: ScheduleStep,
        after: &[StepId],
    ) -> StepId {
        step.after = after.iter().copied().filter(|earlier| earlier.block != block).collect();
        let steps = &mut self.schedule.programs[rank].blocks[block as usize].steps;
        steps.push(step);
        StepId { block, step: (steps.len() - 1) as u32 }
    }
}
