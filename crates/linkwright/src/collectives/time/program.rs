//! A schedule and a system as flat arrays for the event loop.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::engine::EngineError;
use crate::network::{ResourceId, RouteClass, Routes};
use crate::system::views::wiring::WiredId;
use crate::system::{LinkKind, Wire, Wiring};
use crate::units::Picoseconds;

use super::super::schedule::{Channel, ChosenRoute, ChosenWay, Schedule, Slice, Transport};
use super::costs::{Costs, Reach};

/// Why a schedule cannot be timed on a machine.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TimeError {
    /// A GPU that the machine does not have.
    #[error("rank {rank} runs on GPU {gpu}, and `{machine}` has {count} of them")]
    UnknownGpu {
        /// The rank.
        rank: usize,
        /// Its GPU.
        gpu: usize,
        /// The machine's name.
        machine: String,
        /// How many GPUs that has.
        count: usize,
    },
    /// Two ranks without a way between them.
    #[error("no {links} joins GPU {from} and GPU {to} of `{machine}`, which the schedule needs")]
    NoRoute {
        /// The links, in words.
        links: &'static str,
        /// The sending GPU.
        from: usize,
        /// The receiving GPU.
        to: usize,
        /// The machine's name.
        machine: String,
    },
    /// A block that sends to, or receives from, a rank that does not do its part.
    #[error(
        "block {block} of rank {rank} has a connection on channel {channel} that no block of \
         the other rank shares; check the schedule first"
    )]
    Unpaired {
        /// The rank.
        rank: usize,
        /// The block.
        block: usize,
        /// The channel.
        channel: usize,
    },
    /// Blocks that wait for one another for ever.
    #[error(
        "rank {rank} never gets past step {step} of block {block}; check the schedule for what \
         it waits for"
    )]
    Stuck {
        /// The first rank that waits.
        rank: usize,
        /// Its block.
        block: usize,
        /// The step.
        step: usize,
    },
    /// More events than a run may have.
    #[error(
        "{size} in chunks of {chunk} would take {transfers} transfers, more than {limit}; use \
         larger chunks"
    )]
    TooManyTransfers {
        /// The data.
        size: crate::units::Bytes,
        /// The chunk.
        chunk: crate::units::Bytes,
        /// The transfers.
        transfers: u64,
        /// The most that are allowed.
        limit: u64,
    },
    /// A schedule that would take longer than time is counted.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A chunk size of zero.
    #[error("a chunk needs at least one byte; give a size such as 1 MiB")]
    EmptyChunk,
}

/// One directed connection between two blocks.
#[derive(Debug, Clone)]
pub(super) struct Connection {
    pub(super) sender: u32,
    pub(super) receiver: u32,
    pub(super) uses: Vec<(ResourceId, f64)>,
    pub(super) latency: Picoseconds,
    /// The lane that it shares with the other connections of its ranks over the same links.
    pub(super) lane: u32,
    /// When it may carry its first byte.
    pub(super) opens: Picoseconds,
}

/// One step with what the event loop asks of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct FlatStep {
    pub(super) sends: bool,
    pub(super) receives: bool,
    /// Chunk in the shard, and how many, of what is sent.
    pub(super) start: u32,
    pub(super) count: u32,
    /// Range in [`Program::waits`].
    pub(super) waits: (u32, u32),
    /// Range in [`Program::wakes`].
    pub(super) wakes: (u32, u32),
}

/// One block.
#[derive(Debug, Clone, Copy)]
pub(super) struct FlatBlock {
    pub(super) rank: u32,
    pub(super) index: u32,
    /// Range in [`Program::steps`].
    pub(super) steps: (u32, u32),
    /// Indices in [`Program::connections`].
    pub(super) outgoing: Option<u32>,
    pub(super) incoming: Option<u32>,
}

/// Everything that the event loop reads.
#[derive(Debug, Clone)]
pub(super) struct Program {
    pub(super) blocks: Vec<FlatBlock>,
    pub(super) steps: Vec<FlatStep>,
    /// Steps that a step waits for.
    pub(super) waits: Vec<u32>,
    /// Blocks that a step's end may set going.
    pub(super) wakes: Vec<u32>,
    pub(super) connections: Vec<Connection>,
    /// The connections of each lane.
    pub(super) lanes: Vec<Vec<u32>>,
}

impl Program {
    pub(super) fn new(
        schedule: &Schedule,
        routes: &Routes<'_>,
        costs: &Costs,
    ) -> Result<Self, TimeError> {
        let mut blocks = Vec::new();
        let mut first_of_rank = Vec::new();
        let mut steps: Vec<FlatStep> = Vec::new();
        for (rank, program) in schedule.programs.iter().enumerate() {
            first_of_rank.push(blocks.len());
            for (index, block) in program.blocks.iter().enumerate() {
                let first = steps.len() as u32;
                steps.extend(block.steps.iter().map(|step| {
                    let place: Option<Slice> = step.source.or(step.destination);
                    FlatStep {
                        sends: step.operation.sends(),
                        receives: step.operation.receives(),
                        start: place.map_or(0, |slice| slice.offset % schedule.chunks.max(1)),
                        count: step.count,
                        waits: (0, 0),
                        wakes: (0, 0),
                    }
                }));
                let steps = (first, steps.len() as u32);
                let (rank, index) = (rank as u32, index as u32);
                blocks.push(FlatBlock { rank, index, steps, outgoing: None, incoming: None });
            }
        }
        let mut program = Self {
            blocks,
            steps,
            waits: Vec::new(),
            wakes: Vec::new(),
            connections: Vec::new(),
            lanes: Vec::new(),
        };
        program.link_dependencies(schedule, &first_of_rank);
        program.connect(schedule, routes, costs, &first_of_rank)?;
        Ok(program)
    }

    fn link_dependencies(&mut self, schedule: &Schedule, first_of_rank: &[usize]) {
        let mut woken: Vec<Vec<u32>> = vec![Vec::new(); self.steps.len()];
        for (rank, program) in schedule.programs.iter().enumerate() {
            for (index, block) in program.blocks.iter().enumerate() {
                let flat = first_of_rank[rank] + index;
                for (at, step) in block.steps.iter().enumerate() {
                    let from = self.waits.len() as u32;
                    for earlier in &step.after {
                        let other = self.blocks[first_of_rank[rank] + earlier.block as usize];
                        let id = other.steps.0 + earlier.step;
                        self.waits.push(id);
                        woken[id as usize].push(flat as u32);
                    }
                    let id = self.blocks[flat].steps.0 as usize + at;
                    self.steps[id].waits = (from, self.waits.len() as u32);
                }
            }
        }
        for (step, mut blocks) in woken.into_iter().enumerate() {
            blocks.dedup();
            let from = self.wakes.len() as u32;
            self.wakes.extend(blocks);
            self.steps[step].wakes = (from, self.wakes.len() as u32);
        }
    }

    fn connect(
        &mut self,
        schedule: &Schedule,
        routes: &Routes<'_>,
        costs: &Costs,
        first_of_rank: &[usize],
    ) -> Result<(), TimeError> {
        let mut receivers = BTreeMap::new();
        for (rank, program) in schedule.programs.iter().enumerate() {
            for (index, block) in program.blocks.iter().enumerate() {
                if let Some(from) = block.receive {
                    receivers.insert((from, rank, block.channel), first_of_rank[rank] + index);
                }
            }
        }
        let mut lanes = BTreeMap::new();
        let mixed = schedule.channels.iter().any(|channel| channel.transport == Transport::Best);
        for (rank, program) in schedule.programs.iter().enumerate() {
            for (index, block) in program.blocks.iter().enumerate() {
                let Some(to) = block.send else { continue };
                let unpaired = TimeError::Unpaired { rank, block: index, channel: block.channel };
                let receiver = receivers.remove(&(rank, to, block.channel)).ok_or(unpaired)?;
                let channel = &schedule.channels[block.channel];
                let (uses, wire, reach) = route(schedule, routes, channel, (rank, to))?;
                let late = mixed && channel.transport == Transport::Host;
                let latency = Picoseconds(costs.hop(reach).0.max(wire.0));
                let sender = (first_of_rank[rank] + index) as u32;
                let lane = *lanes.entry((rank, to, channel.clone())).or_insert_with(|| {
                    self.lanes.push(Vec::new());
                    self.lanes.len() - 1
                });
                self.lanes[lane].push(self.connections.len() as u32);
                self.blocks[sender as usize].outgoing = Some(self.connections.len() as u32);
                self.blocks[receiver].incoming = Some(self.connections.len() as u32);
                let opens = if late { costs.peer_access_switch } else { Picoseconds(0) };
                let receiver = receiver as u32;
                let lane = lane as u32;
                self.connections.push(Connection { sender, receiver, uses, latency, lane, opens });
            }
        }
        if let Some(((_, rank, channel), block)) = receivers.into_iter().next() {
            let block = self.blocks[block].index as usize;
            return Err(TimeError::Unpaired { rank, block, channel });
        }
        Ok(())
    }
}

/// The links' resources at what long transfers reach of them with this protocol.
pub(super) fn resources<'a>(wiring: &'a Wiring, costs: &Costs) -> Routes<'a> {
    let efficiency = |kind: LinkKind| kind.reached_share() * costs.data_share;
    Routes::on(wiring, efficiency).expect("efficiencies lie between 0 and 1")
}

type Way = (Vec<(ResourceId, f64)>, Picoseconds, Reach);

fn route(
    schedule: &Schedule,
    routes: &Routes<'_>,
    channel: &Channel,
    (from, to): (usize, usize),
) -> Result<Way, TimeError> {
    let gpu = |rank: usize| schedule.gpus[rank];
    let relay = channel.relays.iter().find(|relay| (relay.from, relay.to) == (from, to));
    let Some(relay) = relay else {
        let may_choose = channel.transport == Transport::Best;
        let chosen = schedule.routes.iter().find(|route| (route.from, route.to) == (from, to));
        let ends = [from, to].map(|rank| routes.wiring().gpu(gpu(rank)));
        if let Some(way) = chosen.filter(|_| may_choose).and_then(|at| along(routes, at, ends)) {
            return Ok(way);
        }
        return hop(routes, channel.transport, (gpu(from), gpu(to)));
    };
    let through = relay.through;
    let (mut uses, first, _) = hop(routes, Transport::Best, (gpu(from), through))?;
    let (onward, second, reach) = hop(routes, Transport::Best, (through, gpu(to)))?;
    uses.extend(onward);
    Ok((uses, Picoseconds(first.0 + second.0), reach))
}

/// The ways that a plan chose; None where the system, another than was planned for, has not
/// got them.
fn along(routes: &Routes<'_>, chosen: &ChosenRoute, ends: [WiredId; 2]) -> Option<Way> {
    let wired = |way: &ChosenWay| -> Option<Vec<WiredId>> {
        let devices: Option<Vec<WiredId>> =
            way.devices.iter().map(|id| routes.wiring().find(*id)).collect();
        devices.filter(|way| [way.first(), way.last()] == ends.each_ref().map(Some))
    };
    let devices: Option<Vec<_>> = chosen.ways.iter().map(wired).collect();
    let devices = devices?;
    let units = chosen.ways.iter().map(|way| way.units as f64);
    let ways: Vec<_> = devices.iter().map(|way| &way[..]).zip(units).collect();
    let route = routes.along(&ways)?;
    let over = |what: fn(&Wire) -> bool| {
        route.uses.iter().any(|(resource, _)| what(routes.wire(*resource).0))
    };
    let reach = if over(Wire::is_network) {
        Reach::Network
    } else if over(|wire| !wire.is_gpu_fabric()) {
        Reach::Host
    } else {
        Reach::Fabric
    };
    Some((route.uses, route.latency, reach))
}

fn hop(
    routes: &Routes<'_>,
    transport: Transport,
    (from, to): (usize, usize),
) -> Result<Way, TimeError> {
    let wiring = routes.wiring();
    let ends = [from, to].map(|gpu| wiring.gpu(gpu));
    let classes: &[(RouteClass, Reach)] = match transport {
        Transport::Best => &[
            (RouteClass::Fabric, Reach::Fabric),
            (RouteClass::Host, Reach::Host),
            (RouteClass::Network, Reach::Network),
        ],
        Transport::Host => {
            &[(RouteClass::Host, Reach::Host), (RouteClass::Network, Reach::Network)]
        }
    };
    let mut found = classes.iter().filter_map(|(class, reach)| {
        let route = routes.route(ends[0], ends[1], *class)?;
        Some((route.uses, route.latency, *reach))
    });
    found.next().ok_or_else(|| TimeError::NoRoute {
        links: if transport == Transport::Best { "link" } else { "PCIe path" },
        from,
        to,
        machine: wiring.name().to_owned(),
    })
}
