//! Describes a schedule: the sends, receives and reductions of every rank.
//!
//! A schedule has the form of a GPU kernel that runs a collective (MSCCL's, and so NCCL's). A rank
//! runs thread blocks side by side. A block runs its steps one after the other. It sends to at most
//! one peer and receives from at most one. Data is cut into equal chunks, and a step moves a run of
//! them. A schedule leaves out sizes. Data longer than one pass is cut into pieces. Every piece
//! runs the whole schedule, one after the other in each block, so that blocks form a pipeline.
//!
//! This is the room of the schedule and its one walk:
//!
//! - [`collective`]: broadcast, all-reduce and the others, and the data that each rank must end with
//! - [`builder`] and [`source`]: schedules as they are written, and as rules that yield them rank by rank
//! - `walk` is the one walk over a schedule, on which its check, its execution, its play and its
//!   exports stand
//! - [`placement`] says where a rank's buffers lie
//! - [`mod@check`]: whether a schedule brings about its collective, whatever the timing
//! - [`mod@execute`] runs a schedule on real buffers, a thread for each rank
//! - [`messages`] writes a schedule, or a rule, as the messages of a program
//! - [`mod@time`] says how long they take on a machine
//! - [`tables`] gives schedules and timings as columns
//! - [`export`]: MSCCL XML, which is read, too, MSCCL++ JSON and Graphviz

pub mod builder;
pub mod check;
pub mod collective;
mod crossing;
pub mod execute;
pub mod export;
pub mod messages;
pub mod placement;
pub mod source;
pub mod tables;
pub mod time;
mod walk;

use serde::{Deserialize, Serialize};

use crate::collectives::schedule::collective::Collective;
use crate::units::Bytes;

pub use crossing::Crossing;

/// Names one of a rank's buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Buffer {
    /// Holds the rank's contribution. It is never written, unless the operation runs in place.
    Input,
    /// Holds the rank's result.
    Output,
    /// Room for what is on its path.
    Scratch,
}

/// Where a run of chunks starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Slice {
    /// Names the buffer.
    pub buffer: Buffer,
    /// Gives the first chunk: shard times [`Schedule::chunks`] plus the chunk in the shard.
    pub offset: u32,
}

impl Slice {
    /// Makes a place in the input.
    #[must_use]
    pub const fn input(offset: u32) -> Self {
        Self { buffer: Buffer::Input, offset }
    }

    /// Makes a place in the output.
    #[must_use]
    pub const fn output(offset: u32) -> Self {
        Self { buffer: Buffer::Output, offset }
    }

    /// Makes a place in the scratch buffer.
    #[must_use]
    pub const fn scratch(offset: u32) -> Self {
        Self { buffer: Buffer::Scratch, offset }
    }
}

/// Names the work of a step. `source` and `destination` are the step's; "received" is the next run
/// of chunks from the block's receive peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepOperation {
    /// Send the source.
    Send,
    /// Write what is received to the destination.
    Receive,
    /// Write what is received to the destination and send it on.
    ReceiveCopySend,
    /// Send the reduction of what is received with the source; keep nothing.
    ReceiveReduceSend,
    /// Write the reduction of what is received with the source to the destination.
    ReceiveReduceCopy,
    /// Does the same as [`Self::ReceiveReduceCopy`], and sends the result on.
    ReceiveReduceCopySend,
    /// Write the source to the destination.
    Copy,
    /// Write the reduction of source and destination to the destination.
    Reduce,
    /// Reduce the source with the data that every other rank of the channel's group has sent to
    /// this one. The switch makes the reduction, and the step writes it to the destination
    /// (`multimem.ld_reduce`).
    SwitchReduce,
    /// Write the source to the destination and send it to every other rank of the channel's group
    /// at once, which the switch copies (`multimem.st`).
    Multicast,
    /// As [`Self::SwitchReduce`], and send the result as [`Self::Multicast`] does.
    SwitchReduceMulticast,
    /// Does nothing but wait for other steps.
    Nop,
}

impl StepOperation {
    /// Lists all of them.
    pub const ALL: [Self; 12] = [
        Self::Send,
        Self::Receive,
        Self::ReceiveCopySend,
        Self::ReceiveReduceSend,
        Self::ReceiveReduceCopy,
        Self::ReceiveReduceCopySend,
        Self::Copy,
        Self::Reduce,
        Self::SwitchReduce,
        Self::Multicast,
        Self::SwitchReduceMulticast,
        Self::Nop,
    ];

    /// Returns its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Receive => "receive",
            Self::ReceiveCopySend => "receive-copy-send",
            Self::ReceiveReduceSend => "receive-reduce-send",
            Self::ReceiveReduceCopy => "receive-reduce-copy",
            Self::ReceiveReduceCopySend => "receive-reduce-copy-send",
            Self::Copy => "copy",
            Self::Reduce => "reduce",
            Self::SwitchReduce => "switch-reduce",
            Self::Multicast => "multicast",
            Self::SwitchReduceMulticast => "switch-reduce-multicast",
            Self::Nop => "nop",
        }
    }

    /// Whether the block's receive peer is read.
    #[must_use]
    pub const fn receives(self) -> bool {
        matches!(
            self,
            Self::Receive
                | Self::ReceiveCopySend
                | Self::ReceiveReduceSend
                | Self::ReceiveReduceCopy
                | Self::ReceiveReduceCopySend
        )
    }

    /// Whether the switch reduces what the others of the channel's group have sent to this rank.
    #[must_use]
    pub const fn switch_reduces(self) -> bool {
        matches!(self, Self::SwitchReduce | Self::SwitchReduceMulticast)
    }

    /// Whether the switch copies to the others of the channel's group.
    #[must_use]
    pub const fn multicasts(self) -> bool {
        matches!(self, Self::Multicast | Self::SwitchReduceMulticast)
    }

    /// Whether the switch reduces or copies.
    #[must_use]
    pub const fn is_in_switch(self) -> bool {
        self.switch_reduces() || self.multicasts()
    }

    /// Whether the block's send peer is written.
    #[must_use]
    pub const fn sends(self) -> bool {
        matches!(
            self,
            Self::Send
                | Self::ReceiveCopySend
                | Self::ReceiveReduceSend
                | Self::ReceiveReduceCopySend
        )
    }

    /// Whether the source is read.
    #[must_use]
    pub const fn reads_source(self) -> bool {
        !matches!(self, Self::Receive | Self::ReceiveCopySend | Self::Nop)
    }

    /// Whether the destination is written.
    #[must_use]
    pub const fn writes_destination(self) -> bool {
        !matches!(self, Self::Send | Self::ReceiveReduceSend | Self::Nop)
    }

    /// Says whether two values become one.
    #[must_use]
    pub const fn reduces(self) -> bool {
        matches!(
            self,
            Self::ReceiveReduceSend
                | Self::ReceiveReduceCopy
                | Self::ReceiveReduceCopySend
                | Self::Reduce
                | Self::SwitchReduce
                | Self::SwitchReduceMulticast
        )
    }
}

/// Names a step of the same rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StepId {
    /// Gives the index in [`RankSchedule::blocks`].
    pub block: u32,
    /// Gives the index in [`ThreadBlock::steps`].
    pub step: u32,
}

/// Describes one step of a thread block.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ScheduleStep {
    /// Names its operation.
    pub operation: StepOperation,
    /// Names the run that it reads, where [`StepOperation::reads_source`].
    pub source: Option<Slice>,
    /// Names the run that it writes, where [`StepOperation::writes_destination`].
    pub destination: Option<Slice>,
    /// Counts the chunks. It is zero for [`StepOperation::Nop`] only.
    pub count: u32,
    /// Steps of other blocks of the rank that must have ended before this one starts.
    pub after: Vec<StepId>,
}

/// Steps that run one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ThreadBlock {
    /// The rank that it sends to.
    pub send: Option<usize>,
    /// The rank that it receives from.
    pub receive: Option<usize>,
    /// Gives the index in [`Schedule::channels`]. On one channel a rank has at most one block that
    /// sends to a peer and at most one that receives from it. It has at most one that reduces in
    /// the switch and at most one that multicasts. The in-switch steps of a block are all alike,
    /// and it has no peer.
    pub channel: usize,
    /// Lists the steps.
    pub steps: Vec<ScheduleStep>,
}

/// Holds the work of one rank.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Default, Deserialize)]
pub struct RankSchedule {
    /// Gives the length of the scratch buffer, in chunks.
    pub scratch_chunks: u32,
    /// Lists the blocks, which run side by side.
    pub blocks: Vec<ThreadBlock>,
}

/// Which links carry a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChannelTransport {
    /// NVLink or xGMI where the pair has it, else the host, and the network between servers.
    Best,
    /// PCIe and what joins the sockets, also where the pair has NVLink.
    Host,
    /// The memory of the host, also where the pair reaches each other's: the sender writes there, and the
    /// receiver reads from there.
    Memory,
    /// Stands for switches that reduce and multicast. A rank's sent data waits in its own memory
    /// until its receiver reads all of the group's at once ([`StepOperation::SwitchReduce`]). A
    /// rank receives the data that its peer has sent to the whole group
    /// ([`StepOperation::Multicast`]).
    Switch,
}

/// A pair of ranks whose data passes through a third GPU of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Relay {
    /// Names the sending rank.
    pub from: usize,
    /// Names the receiving rank.
    pub to: usize,
    /// The GPU between them, by its id in the machine; it need not be a rank.
    pub through: usize,
}

/// Holds a set of connections, at most one each way between two ranks. Through switches, there is
/// at most one each way between a rank and all others of its group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Channel {
    /// The links that it uses.
    pub transport: ChannelTransport,
    /// Lists the connections that a third GPU relays.
    pub relays: Vec<Relay>,
    /// The ranks whose memory is bound together, in their order; for
    /// [`ChannelTransport::Switch`] only.
    pub group: Vec<usize>,
    /// Connections between servers whose interfaces are chosen, by sender and then by receiver. All others take
    /// the interfaces nearest to both.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub crossings: Vec<Crossing>,
}

impl Channel {
    /// Makes a channel over some links, without relays.
    #[must_use]
    pub const fn over(transport: ChannelTransport) -> Self {
        Self { transport, relays: Vec::new(), group: Vec::new(), crossings: Vec::new() }
    }

    /// Makes a channel through the switches that join these ranks, two at least.
    #[must_use]
    pub fn through_switch(group: impl IntoIterator<Item = usize>) -> Self {
        let mut group: Vec<usize> = group.into_iter().collect();
        group.sort_unstable();
        group.dedup();
        Self { group, ..Self::over(ChannelTransport::Switch) }
    }

    /// Gives how a connection crosses to another server, where that was chosen.
    #[must_use]
    pub fn crossing(&self, from: usize, to: usize) -> Option<&Crossing> {
        let ends = |crossing: &Crossing| (crossing.from, crossing.to);
        let at = self.crossings.binary_search_by_key(&(from, to), ends).ok()?;
        Some(&self.crossings[at])
    }

    /// Lists the ranks that a rank shares a switch's memory with: the group's others.
    pub fn others(&self, rank: usize) -> impl Iterator<Item = usize> + '_ {
        self.group.iter().copied().filter(move |other| *other != rank)
    }
}

impl Default for Channel {
    fn default() -> Self {
        Self::over(ChannelTransport::Best)
    }
}

/// One of the paths that data takes from a GPU to another.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ChosenPath {
    /// Lists the devices in order, by their index in the machine, both GPUs included.
    pub devices: Vec<usize>,
    /// How much of the data goes this way, in proportion to the others.
    pub units: u64,
}

/// The paths that a plan chose between two ranks, where it does not leave them to the network.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ChosenRoute {
    /// Names the sending rank.
    pub from: usize,
    /// Names the receiving rank.
    pub to: usize,
    /// Lists the paths, at least one.
    pub paths: Vec<ChosenPath>,
}

/// Says how data and the notice of its arrival travel (NCCL's protocols).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Protocol {
    /// Puts flags in every 8 bytes: lowest latency, at most half of the bandwidth.
    LL,
    /// Puts flags in every 128 bytes: low latency, at most 15/16 of the bandwidth.
    LL128,
    /// Sends data, then a flag behind a fence, which gives full bandwidth.
    Simple,
}

linkwright_ground::named_by_all!(Protocol, "protocol");

impl Protocol {
    /// Lists all of them, lowest latency first.
    pub const ALL: [Self; 3] = [Self::LL, Self::LL128, Self::Simple];

    /// Its name, as NCCL writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LL => "LL",
            Self::LL128 => "LL128",
            Self::Simple => "Simple",
        }
    }
}

/// How a schedule's thread blocks share links, and how its data is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pacing {
    /// Connections between two GPUs take turns, chunk by chunk, as Blink's streams do. So each gets
    /// a link in proportion to its data. The fastest chunk size is taken.
    #[default]
    InTurns,
    /// Connections between two GPUs share links equally, whatever their data, as streams of their own
    /// do; in chunks of whatever size is the fastest.
    InParallel,
    /// Blocks run side by side and share their links equally, as NCCL's do.
    SideBySide {
        /// The longest run that a step moves.
        chunk: Bytes,
        /// Counts the library's blocks behind a channel, or behind all channels where switches reduce. Where there is no
        /// number, as many stand there as it takes.
        blocks: Option<u32>,
    },
}

/// Holds the plan of a collective.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Schedule {
    /// Gives the name that people use: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// Names the collective that it must bring about.
    pub collective: Collective,
    /// Names the protocol that its connections use.
    pub protocol: Protocol,
    /// Says how its blocks share links.
    #[serde(default)]
    pub pacing: Pacing,
    /// Gives, for each rank, its GPU by id in the machine.
    pub gpus: Vec<usize>,
    /// Chunks in a shard.
    pub chunks: u32,
    /// Whether it may run with input and output in the same memory.
    pub in_place: bool,
    /// Whether it may run with input and output apart.
    pub out_of_place: bool,
    /// Lists the channels.
    pub channels: Vec<Channel>,
    /// Paths that connections of [`ChannelTransport::Best`] take; any other takes those of fewest hops.
    pub routes: Vec<ChosenRoute>,
    /// Holds the work of each rank.
    pub programs: Vec<RankSchedule>,
}

impl Schedule {
    /// Counts the ranks that take part.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.gpus.len()
    }

    /// Returns the length of one of a rank's buffers, in chunks.
    #[must_use]
    pub fn buffer_chunks(&self, rank: usize, buffer: Buffer) -> usize {
        let chunks = self.chunks as usize;
        match buffer {
            Buffer::Input => self.collective.input_shards(self.ranks(), rank) * chunks,
            Buffer::Output => self.collective.output_shards(self.ranks(), rank) * chunks,
            Buffer::Scratch => self.programs[rank].scratch_chunks as usize,
        }
    }

    /// Returns the length of the longest input or output buffer, in chunks. nccl-tests calls this
    /// the size.
    #[must_use]
    pub fn longest_buffer(&self) -> usize {
        let of_rank = |rank: usize| {
            let input = self.buffer_chunks(rank, Buffer::Input);
            input.max(self.buffer_chunks(rank, Buffer::Output))
        };
        (0..self.ranks()).map(of_rank).max().unwrap_or(0)
    }

    /// The first step that is done in a switch: its rank, block and place there.
    #[must_use]
    pub fn first_in_switch(&self) -> Option<(usize, usize, usize)> {
        let blocks = self.programs.iter().enumerate().flat_map(|(rank, program)| {
            program.blocks.iter().enumerate().map(move |(at, block)| (rank, at, block))
        });
        let mut steps = blocks.filter_map(|(rank, at, block)| {
            let in_switch = |step: &ScheduleStep| step.operation.is_in_switch();
            block.steps.iter().position(in_switch).map(|step| (rank, at, step))
        });
        steps.next()
    }

    /// How many steps all ranks have together.
    #[must_use]
    pub fn step_count(&self) -> usize {
        let blocks = self.programs.iter().flat_map(|program| &program.blocks);
        blocks.map(|block| block.steps.len()).sum()
    }
}
