//! A schedule at work: blocks, connections, and the flows between them.

use std::collections::VecDeque;

use crate::engine::{Engine, Model, Scheduler};
use crate::network::{FlowNetwork, Routes};
use crate::system::fabric::{ChannelId, Fabric};
use crate::system::{System, Wiring};
use crate::units::{Bytes, Picoseconds};
use serde::{Deserialize, Serialize};

use super::super::schedule::Schedule;
use super::costs::Costs;
use super::program::{Program, TimeError, resources};

/// The most transfers that one run plays.
const MOST_TRANSFERS: u64 = 50_000_000;

/// What one direction of a bundle of links carried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LinkLoad {
    /// The system's channel.
    pub channel: ChannelId,
    /// The data.
    pub bytes: f64,
    /// The data over what the link could have carried in the run's time.
    pub utilisation: f64,
}

/// How long a schedule takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// The data, as nccl-tests counts it.
    pub size: Bytes,
    /// The longest run of bytes that one step moves.
    pub chunk: Bytes,
    /// How many pieces follow one another.
    pub pieces: u64,
    /// From the launch to the last byte's arrival.
    pub time: Picoseconds,
    /// Size over time, GB/s.
    pub algorithm_bandwidth: f64,
    /// nccl-tests' bus bandwidth, GB/s.
    pub bus_bandwidth: f64,
    /// What each used link carried: those of servers in their order, then those of their
    /// interfaces.
    pub links: Vec<LinkLoad>,
}

/// Times a schedule that moves `size` bytes in chunks of at most `chunk`.
///
/// `size` is counted as nccl-tests does: the whole buffer, so that a shard of an all-gather,
/// reduce-scatter, gather, scatter or all-to-all is its part of one rank.
///
/// # Errors
/// [`TimeError`] where the system has no way for a connection, the schedule waits for ever,
/// or the chunks are too many.
pub fn time(
    schedule: &Schedule,
    system: &System,
    size: Bytes,
    chunk: Bytes,
    costs: &Costs,
) -> Result<Timing, TimeError> {
    Player::new(schedule, &wiring_of(schedule, system)?, costs)?.time(size, chunk)
}

/// What a schedule's GPUs can reach.
pub(super) fn wiring_of(schedule: &Schedule, system: &System) -> Result<Wiring, TimeError> {
    let count = system.gpus() as usize;
    if let Some((rank, gpu)) = schedule.gpus.iter().enumerate().find(|(_, gpu)| **gpu >= count) {
        let machine = system.name().to_owned();
        return Err(TimeError::UnknownGpu { rank, gpu: *gpu, machine, count });
    }
    Ok(Wiring::of_gpus(system, &schedule.gpus))
}

/// A schedule that is ready to be played with any size and chunk.
pub(super) struct Player<'a> {
    schedule: &'a Schedule,
    costs: &'a Costs,
    routes: Routes<'a>,
    program: Program,
}

impl<'a> Player<'a> {
    pub(super) fn new(
        schedule: &'a Schedule,
        wiring: &'a Wiring,
        costs: &'a Costs,
    ) -> Result<Self, TimeError> {
        let routes = resources(wiring, costs);
        let program = Program::new(schedule, &routes, costs)?;
        Ok(Self { schedule, costs, routes, program })
    }

    pub(super) fn time(&self, size: Bytes, chunk: Bytes) -> Result<Timing, TimeError> {
        let Self { schedule, costs, routes, program } = self;
        // The signals of a barrier are empty.
        let size = if schedule.collective.may_repeat() { Bytes(0) } else { size };
        let pieces = Pieces::new(schedule, program, size, chunk)?;
        let mut run = Run::new(program, &pieces, costs, FlowNetwork::new(routes.capacities()));
        let end = run.play()?;
        let time = Picoseconds(end.0 + costs.base.0);
        let algorithm_bandwidth = size.0 as f64 / time.as_seconds() / 1e9;
        let ranks = schedule.ranks();
        Ok(Timing {
            size,
            chunk: pieces.longest_run(program),
            pieces: pieces.count,
            time,
            algorithm_bandwidth,
            bus_bandwidth: algorithm_bandwidth * schedule.collective.bus_factor(ranks),
            links: run.loads(routes, time),
        })
    }
}

/// How the data is cut.
#[derive(Debug, Clone, Copy)]
struct Pieces {
    /// Bytes of a shard in all pieces together.
    shard: u64,
    count: u64,
    /// Chunks in a shard.
    chunks: u64,
}

impl Pieces {
    fn new(
        schedule: &Schedule,
        program: &Program,
        size: Bytes,
        chunk: Bytes,
    ) -> Result<Self, TimeError> {
        if chunk.0 == 0 {
            return Err(TimeError::EmptyChunk);
        }
        let shards = schedule.longest_buffer() as u64 / u64::from(schedule.chunks.max(1));
        let shard = size.0 / shards.max(1);
        let chunks = u64::from(schedule.chunks.max(1));
        let longest = program.steps.iter().map(|step| u64::from(step.count)).max().unwrap_or(1);
        let run = u128::from(shard) * u128::from(longest);
        let count = run.div_ceil(u128::from(chunk.0) * u128::from(chunks)).max(1);
        let sends = program.steps.iter().filter(|step| step.sends).count() as u128;
        let transfers = u64::try_from(count * sends.max(1)).unwrap_or(u64::MAX);
        if transfers > MOST_TRANSFERS {
            return Err(TimeError::TooManyTransfers {
                size,
                chunk,
                transfers,
                limit: MOST_TRANSFERS,
            });
        }
        Ok(Self { shard, count: count as u64, chunks })
    }

    /// Bytes of a run of chunks in one piece.
    fn bytes(&self, piece: u64, start: u32, count: u32) -> u64 {
        let cut = |part: u64, of: u64, whole: u64| {
            (u128::from(whole) * u128::from(part) / u128::from(of)) as u64
        };
        let length = cut(piece + 1, self.count, self.shard) - cut(piece, self.count, self.shard);
        // A run that goes on into the next shard has that shard's chunks, which are alike.
        let (start, end) = (u64::from(start), u64::from(start) + u64::from(count));
        cut(end, self.chunks, length) - cut(start, self.chunks, length)
    }

    fn longest_run(&self, program: &Program) -> Bytes {
        let runs = program.steps.iter().map(|step| self.bytes(0, step.start, step.count));
        Bytes(runs.max().unwrap_or(0))
    }
}

/// What a block is doing.
#[derive(Debug, Clone, Copy)]
struct Turn {
    piece: u64,
    step: u32,
    busy: bool,
}

/// What a connection holds.
#[derive(Debug, Clone, Copy, Default)]
struct Held {
    started: u64,
    arrived: u64,
    taken: u64,
}

#[derive(Debug, Clone, Copy)]
enum Event {
    Arrival(u32),
    Opening(u32),
}

struct Run<'a> {
    program: &'a Program,
    pieces: &'a Pieces,
    slots: u64,
    network: FlowNetwork,
    /// What has come at the current time and waits for the ends of flows.
    come: VecDeque<Event>,
    turns: Vec<Turn>,
    held: Vec<Held>,
    /// Whether each lane carries something, where connections take turns.
    occupied: Vec<bool>,
    take_turns: bool,
    /// Pieces in which each step has ended.
    ended: Vec<u64>,
    /// The connection of each flow, by its slot.
    carried: Vec<u32>,
    moved: Vec<u64>,
    /// Blocks that may be able to go on.
    woken: Vec<u32>,
    now: Picoseconds,
}

impl Model for Run<'_> {
    type Event = Event;
    type Error = TimeError;
    const SETTLES: bool = true;

    fn handle(&mut self, event: Event, _: &mut impl Scheduler<Event>) -> Result<(), TimeError> {
        self.come.push_back(event);
        Ok(())
    }

    /// Flows that end now end before anything else happens now.
    fn settle(
        &mut self,
        scheduler: &mut impl Scheduler<Event>,
    ) -> Result<Option<Picoseconds>, TimeError> {
        self.now = scheduler.now();
        loop {
            self.go_on();
            match self.network.next_completion() {
                Some((time, flow)) if time == self.now => {
                    self.network.complete_next();
                    self.sent(self.carried[flow.slot()], scheduler);
                }
                next => match self.come.pop_front() {
                    Some(event) => self.happen(event),
                    None => return Ok(next.map(|(time, _)| time)),
                },
            }
        }
    }

    fn at_rest(&self, _: Picoseconds) -> Result<(), TimeError> {
        let waiting = |turn: &Turn| turn.piece < self.pieces.count;
        let mut blocks = self.turns.iter().zip(&self.program.blocks);
        let stuck = blocks.find(|(turn, block)| waiting(turn) && block.steps.0 < block.steps.1);
        let Some((turn, block)) = stuck else { return Ok(()) };
        let step = (turn.step - block.steps.0) as usize;
        Err(TimeError::Stuck { rank: block.rank as usize, block: block.index as usize, step })
    }
}

impl<'a> Run<'a> {
    fn new(program: &'a Program, pieces: &'a Pieces, costs: &Costs, network: FlowNetwork) -> Self {
        let turn =
            |block: &super::program::FlatBlock| Turn { piece: 0, step: block.steps.0, busy: false };
        Self {
            program,
            pieces,
            slots: u64::from(costs.slots.max(1)),
            network,
            come: VecDeque::new(),
            turns: program.blocks.iter().map(turn).collect(),
            held: vec![Held::default(); program.connections.len()],
            occupied: vec![false; program.lanes.len()],
            take_turns: costs.stream_reuse,
            ended: vec![0; program.steps.len()],
            carried: Vec::new(),
            moved: vec![0; program.connections.len()],
            woken: (0..program.blocks.len() as u32).rev().collect(),
            now: Picoseconds(0),
        }
    }

    /// Plays everything and returns when the last step ended.
    fn play(&mut self) -> Result<Picoseconds, TimeError> {
        let mut engine = Engine::unwatched();
        for (index, connection) in (0..).zip(&self.program.connections) {
            if connection.opens > Picoseconds(0) {
                engine.schedule(connection.opens, Event::Opening(index));
            }
        }
        engine.run(self)?;
        Ok(engine.now())
    }

    /// Lets every block go on that may.
    fn go_on(&mut self) {
        while let Some(block) = self.woken.pop() {
            self.advance(block);
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Arrival(connection) => {
                self.held[connection as usize].arrived += 1;
                self.woken.push(self.program.connections[connection as usize].receiver);
            }
            Event::Opening(connection) => {
                self.woken.push(self.program.connections[connection as usize].sender);
            }
        }
    }

    /// Lets a block go on as far as it can.
    fn advance(&mut self, index: u32) {
        let block = self.program.blocks[index as usize];
        loop {
            let turn = self.turns[index as usize];
            if turn.busy || turn.piece >= self.pieces.count || block.steps.0 == block.steps.1 {
                return;
            }
            let step = self.program.steps[turn.step as usize];
            let waits = &self.program.waits[step.waits.0 as usize..step.waits.1 as usize];
            if waits.iter().any(|earlier| self.ended[*earlier as usize] <= turn.piece) {
                return;
            }
            let incoming = block.incoming.filter(|_| step.receives);
            let nothing_there = |connection: u32| {
                let held = self.held[connection as usize];
                held.arrived == held.taken
            };
            if incoming.is_some_and(nothing_there) {
                return;
            }
            let Some(outgoing) = block.outgoing.filter(|_| step.sends) else {
                self.end_step(index);
                continue;
            };
            let connection = &self.program.connections[outgoing as usize];
            let held = &mut self.held[outgoing as usize];
            let lane = &mut self.occupied[connection.lane as usize];
            if held.started - held.taken >= self.slots || self.now < connection.opens || *lane {
                return;
            }
            *lane = self.take_turns;
            held.started += 1;
            self.turns[index as usize].busy = true;
            let bytes = self.pieces.bytes(turn.piece, step.start, step.count);
            self.moved[outgoing as usize] += bytes;
            let flow = self.network.start(&connection.uses, Bytes(bytes), None, self.now);
            if self.carried.len() <= flow.slot() {
                self.carried.resize(flow.slot() + 1, 0);
            }
            self.carried[flow.slot()] = outgoing;
            return;
        }
    }

    /// A connection's flow has ended: its sender goes on, its receiver gets it a hop later.
    fn sent(&mut self, connection: u32, scheduler: &mut impl Scheduler<Event>) {
        let program = self.program;
        let link = &program.connections[connection as usize];
        scheduler.schedule_in(link.latency, Event::Arrival(connection));
        let sender = link.sender;
        self.turns[sender as usize].busy = false;
        self.end_step(sender);
        self.woken.push(sender);
        if self.take_turns {
            self.occupied[link.lane as usize] = false;
            // The one that is furthest behind goes first; the list is taken from its end.
            let from = self.woken.len();
            let senders = program.lanes[link.lane as usize].iter();
            self.woken.extend(senders.map(|other| program.connections[*other as usize].sender));
            let turns = &self.turns;
            self.woken[from..]
                .sort_by_key(|block| std::cmp::Reverse((turns[*block as usize].piece, *block)));
        }
    }

    fn end_step(&mut self, index: u32) {
        let block = self.program.blocks[index as usize];
        let turn = &mut self.turns[index as usize];
        let at = turn.step as usize;
        self.ended[at] += 1;
        turn.step += 1;
        if turn.step == block.steps.1 {
            (turn.step, turn.piece) = (block.steps.0, turn.piece + 1);
        }
        let step = self.program.steps[at];
        if let Some(incoming) = block.incoming.filter(|_| step.receives) {
            self.held[incoming as usize].taken += 1;
            self.woken.push(self.program.connections[incoming as usize].sender);
        }
        let wakes = &self.program.wakes[step.wakes.0 as usize..step.wakes.1 as usize];
        self.woken.extend(wakes.iter().rev());
    }

    fn loads(&self, routes: &Routes<'_>, time: Picoseconds) -> Vec<LinkLoad> {
        let capacities = routes.capacities();
        let mut bytes = vec![0.0; capacities.len()];
        for (connection, moved) in self.program.connections.iter().zip(&self.moved) {
            for (resource, share) in &connection.uses {
                bytes[*resource] += share * *moved as f64;
            }
        }
        let used = bytes.iter().enumerate().filter(|(_, bytes)| **bytes > 0.0);
        used.filter_map(|(resource, bytes)| {
            let forwards = routes.wire(resource).0.channel?;
            let channel = if resource % 2 == 0 { forwards } else { Fabric::reverse(forwards) };
            let utilisation = bytes / (capacities[resource].0 as f64 * time.as_seconds());
            Some(LinkLoad { channel, bytes: *bytes, utilisation })
        })
        .collect()
    }
}
