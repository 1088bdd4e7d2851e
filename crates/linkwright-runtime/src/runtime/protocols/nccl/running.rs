//! Plays a kernel at work: it keeps where its blocks are, and the state of its connections.

use std::cmp::Reverse;

use crate::network::ConnectionIndex;
use crate::program::kernel::{KernelBlock, KernelCall};
use crate::runtime::error::RuntimeError;
use crate::runtime::slab::Slab;

use super::super::protocol::{Ports, ProtocolCall};
use super::{Happening, What, transfer};
use crate::units::Picoseconds;

/// Says which step a block is at, and in which piece.
#[derive(Debug, Clone, Copy)]
struct Turn {
    piece: u64,
    step: u32,
    /// Whether it sends, or copies what it needs next; or is not launched.
    busy: bool,
    /// When it has written all that it copies, and how many steps' copies are yet to end.
    copied_at: u64,
    copying: u32,
}

/// Holds the state of a connection, and when it may carry its first byte.
#[derive(Debug, Clone, Copy)]
struct Held {
    started: u64,
    arrived: u64,
    /// How many its receiver has begun to take, and of how many it has given the slots back.
    begun: u64,
    taken: u64,
    opens: u64,
}

/// Holds a rank's part of a kernel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    /// The rank's call; none before it has called.
    pub(super) call: Option<ProtocolCall>,
    /// How many of its blocks have not come to their ends.
    blocks: u32,
    /// Counts the transfers that it has sent.
    pub(super) transfers: u64,
    pub(super) bytes: u64,
}

const ABSENT: Member = Member { call: None, blocks: 0, transfers: 0, bytes: 0 };

/// A kernel at work, in flat arrays. Its room is used again by the next.
#[derive(Debug, Clone)]
pub(super) struct Running {
    pub(super) call: KernelCall,
    /// Gives the context that its ranks met in.
    pub(super) context: u32,
    pub(super) members: Vec<Member>,
    /// How many ranks have not ended, and of how many happenings is yet to be heard.
    pub(super) unfinished: u32,
    pub(super) owed: u64,
    turns: Vec<Turn>,
    held: Vec<Held>,
    /// Whether each lane carries something, where connections take turns.
    occupied: Vec<bool>,
    /// Pieces in which each step has ended.
    ended: Vec<u64>,
    /// Ranks whose last block has ended, in that order, until somebody asks.
    pub(super) finished: Vec<u32>,
}

impl Running {
    pub(super) fn new(call: KernelCall, context: u32) -> Self {
        let mut running = Self {
            call: call.clone(),
            context,
            members: Vec::new(),
            unfinished: 0,
            owed: 0,
            turns: Vec::new(),
            held: Vec::new(),
            occupied: Vec::new(),
            ended: Vec::new(),
            finished: Vec::new(),
        };
        running.begin(call, context);
        running
    }

    /// Begins a kernel in the room of one that has ended.
    pub(super) fn begin(&mut self, call: KernelCall, context: u32) {
        let kernel = &call.kernel;
        let turn = |block: &KernelBlock| Turn {
            piece: 0,
            step: block.steps.0,
            busy: true,
            copied_at: 0,
            copying: 0,
        };
        let nothing = Held { started: 0, arrived: 0, begun: 0, taken: 0, opens: 0 };
        refill(&mut self.members, (0..kernel.ranks()).map(|_| ABSENT));
        refill(&mut self.turns, kernel.blocks.iter().map(turn));
        refill(&mut self.held, kernel.connections.iter().map(|_| nothing));
        refill(&mut self.occupied, kernel.lanes.iter().map(|_| false));
        refill(&mut self.ended, kernel.steps.iter().map(|_| 0));
        self.unfinished = kernel.ranks();
        self.owed = 0;
        self.context = context;
        self.call = call;
    }

    /// Begins a rank's blocks, without those that have no step and so have come to their ends. It
    /// tells `late` of each of its connections that opens later, and when.
    pub(super) fn launch(
        &mut self,
        member: u32,
        now: u64,
        woken: &mut Vec<u32>,
        mut late: impl FnMut(u32, u64),
    ) {
        let kernel = &self.call.kernel;
        let blocks = kernel.blocks_of(member);
        for index in blocks.clone().rev() {
            let block = &kernel.blocks[index as usize];
            self.turns[index as usize].busy = false;
            if block.steps.0 < block.steps.1 {
                self.members[member as usize].blocks += 1;
                woken.push(index);
            }
        }
        let switch = self.call.protocol.peer_access_switch.0;
        for index in blocks {
            let Some(outgoing) = kernel.blocks[index as usize].outgoing else { continue };
            if switch > 0 && kernel.connections[outgoing as usize].is_late {
                let opens = now.saturating_add(switch);
                self.held[outgoing as usize].opens = opens;
                late(outgoing, opens);
            }
        }
        if self.members[member as usize].blocks == 0 {
            self.finish(member);
        }
    }

    /// Notes that data sent over a connection has arrived.
    pub(super) fn arrived(&mut self, connection: u32, woken: &mut Vec<u32>) {
        self.held[connection as usize].arrived += 1;
        woken.push(self.call.kernel.connections[connection as usize].receiver);
    }

    /// A connection has opened.
    pub(super) fn opened(&self, connection: u32, woken: &mut Vec<u32>) {
        woken.push(self.call.kernel.connections[connection as usize].sender);
    }

    /// Notes that a connection's data has left: its sender goes on.
    pub(super) fn sent(&mut self, connection: u32, woken: &mut Vec<u32>) {
        let link = self.call.kernel.connections[connection as usize];
        self.turns[link.sender as usize].busy = false;
        self.end_step(link.sender, true, woken);
        woken.push(link.sender);
        if self.call.protocol.stream_reuse {
            self.occupied[link.lane as usize] = false;
            // The one that is furthest behind goes first; the list is taken from its end. Those that are
            // busy or done would do nothing.
            let from = woken.len();
            let (turns, pieces) = (&self.turns, self.call.pieces.count());
            let lane = self.call.kernel.lanes[link.lane as usize].iter().copied();
            woken.extend(lane.filter(|block| {
                let turn = &turns[*block as usize];
                !turn.busy && turn.piece < pieces
            }));
            woken[from..].sort_by_key(|block| Reverse((turns[*block as usize].piece, *block)));
        }
    }

    /// A block has written what it took in a step to its GPU's memory.
    pub(super) fn copied(&mut self, index: u32, step: u32, woken: &mut Vec<u32>) {
        let turn = &mut self.turns[index as usize];
        turn.copying -= 1;
        if self.call.kernel.steps[step as usize].is_behind {
            self.release(index, step, woken);
            self.finish_block(index);
        } else {
            turn.busy = false;
            self.end_step(index, true, woken);
            woken.push(index);
        }
    }

    /// Lets a block go on as far as it can. Its transfers are called by the place of the kernel and their
    /// connection.
    pub(super) fn advance(
        &mut self,
        index: u32,
        place: u32,
        woken: &mut Vec<u32>,
        timed: &mut Slab<Happening>,
        ports: &mut dyn Ports,
    ) -> Result<(), RuntimeError> {
        let block = self.call.kernel.blocks[index as usize];
        loop {
            let turn = self.turns[index as usize];
            let is_done = turn.piece >= self.call.pieces.count();
            if turn.busy || is_done || block.steps.0 == block.steps.1 {
                return Ok(());
            }
            let kernel = &self.call.kernel;
            let linked = kernel.steps[turn.step as usize];
            let waits = &kernel.waits[linked.waits.0 as usize..linked.waits.1 as usize];
            if waits.iter().any(|earlier| self.ended[*earlier as usize] <= turn.piece) {
                return Ok(());
            }
            let incoming = block.incoming.filter(|_| linked.step.receives);
            let nothing_there = |connection: u32| {
                let held = &self.held[connection as usize];
                held.arrived == held.begun
            };
            if incoming.is_some_and(nothing_there) {
                return Ok(());
            }
            // To cut data is to divide, for which a block that has to wait has no use.
            let bytes = || self.call.pieces.bytes(turn.piece, linked.step.count);
            let Some(outgoing) = block.outgoing.filter(|_| linked.step.sends) else {
                let protocol = &self.call.protocol;
                let time = if linked.step.copies { protocol.copy_time(bytes()).0 } else { 0 };
                if let Some(incoming) = incoming {
                    self.held[incoming as usize].begun += 1;
                }
                if time == 0 {
                    self.end_step(index, true, woken);
                    continue;
                }
                let turn = &mut self.turns[index as usize];
                let starts = turn.copied_at.max(ports.now().0);
                turn.copied_at = starts.saturating_add(time);
                turn.copying += 1;
                let what = What::Copied { block: index, step: turn.step };
                let ends = Picoseconds(turn.copied_at);
                ports.wake(ends, timed.insert(Happening { kernel: place, what }));
                self.owed += 1;
                if linked.is_behind {
                    self.end_step(index, false, woken);
                    continue;
                }
                turn.busy = true;
                return Ok(());
            };
            let lane = kernel.connections[outgoing as usize].lane;
            let held = &mut self.held[outgoing as usize];
            let lane = &mut self.occupied[lane as usize];
            let is_full = held.started - held.taken >= u64::from(self.call.protocol.slots.max(1));
            if is_full || ports.now().0 < held.opens || *lane {
                return Ok(());
            }
            let bytes = bytes();
            *lane = self.call.protocol.stream_reuse;
            held.started += 1;
            if let Some(incoming) = incoming {
                self.held[incoming as usize].begun += 1;
            }
            self.owed += 1;
            self.turns[index as usize].busy = true;
            let member = &mut self.members[block.rank as usize];
            member.transfers += 1;
            member.bytes = member.bytes.saturating_add(bytes.0);
            let bytes = self.call.protocol.on_wire(bytes);
            let connection: ConnectionIndex = self.call.first_connection + outgoing;
            return ports.transfer(connection, bytes, transfer(place, outgoing));
        }
    }

    /// A block's step has ended; whether it gives the slot back that it took from.
    fn end_step(&mut self, index: u32, gives_back: bool, woken: &mut Vec<u32>) {
        let kernel = &self.call.kernel;
        let block = kernel.blocks[index as usize];
        let turn = &mut self.turns[index as usize];
        let at = turn.step as usize;
        self.ended[at] += 1;
        turn.step += 1;
        let mut is_done = false;
        if turn.step == block.steps.1 {
            (turn.step, turn.piece) = (block.steps.0, turn.piece + 1);
            is_done = turn.piece == self.call.pieces.count();
        }
        if gives_back {
            self.release(index, at as u32, woken);
        }
        let kernel = &self.call.kernel;
        let linked = kernel.steps[at];
        let wakes = &kernel.wakes[linked.wakes.0 as usize..linked.wakes.1 as usize];
        woken.extend(wakes.iter().rev());
        if is_done {
            self.finish_block(index);
        }
    }

    /// Gives the slot back from which a block's step took, where it did.
    fn release(&mut self, index: u32, step: u32, woken: &mut Vec<u32>) {
        let kernel = &self.call.kernel;
        let receives = kernel.steps[step as usize].step.receives;
        if let Some(incoming) = kernel.blocks[index as usize].incoming.filter(|_| receives) {
            self.held[incoming as usize].taken += 1;
            woken.push(kernel.connections[incoming as usize].sender);
        }
    }

    /// Counts a block that has come to its end, and whose copies have.
    fn finish_block(&mut self, index: u32) {
        let turn = self.turns[index as usize];
        if turn.piece < self.call.pieces.count() || turn.copying > 0 {
            return;
        }
        let rank = self.call.kernel.blocks[index as usize].rank;
        let left = &mut self.members[rank as usize].blocks;
        *left -= 1;
        if *left == 0 {
            self.finish(rank);
        }
    }

    fn finish(&mut self, member: u32) {
        self.unfinished -= 1;
        self.finished.push(member);
    }

    /// Whether all of its ranks have called it.
    pub(super) fn is_complete(&self) -> bool {
        self.members.iter().all(|member| member.call.is_some())
    }

    /// The first block that has not come to its end: its rank, its place there, and its step.
    pub(super) fn first_waiting(&self) -> Option<(u32, u32, u32)> {
        let waiting = |turn: &Turn| turn.piece < self.call.pieces.count();
        let blocks = (0..).zip(self.turns.iter().zip(&self.call.kernel.blocks));
        let mut stuck =
            blocks.filter(|(_, (turn, block))| waiting(turn) && block.steps.0 < block.steps.1);
        let (index, (turn, block)) = stuck.next()?;
        let first = self.call.kernel.blocks_of(block.rank).start;
        Some((block.rank, index - first, turn.step - block.steps.0))
    }
}

fn refill<V>(array: &mut Vec<V>, values: impl Iterator<Item = V>) {
    array.clear();
    array.extend(values);
}
