//! Reads what the file says. It refuses everything that the executor refuses or reads past its
//! arrays on.
//!
//! The limits are those of `src/core/include/execution_common.hpp`, the keys those of
//! `src/core/executor/execution_plan.cc` (microsoft/mscclpp v0.9.0).

use super::json::{Node, Source};
use super::operations::{buffer, read_block, way};
use crate::collectives::schedule::Buffer;
use crate::diagnostic::InputError;

/// Threads of a block, by the kernel's launch bounds; fewer than a warp cannot serve all channels.
const THREADS: (u64, u64) = (32, 1024);
/// More chunks than any plan has, many times over.
pub(super) const MOST_CHUNKS: u64 = 1 << 24;
/// More ranks than the executor's servers have, many times over.
const MOST_RANKS: usize = 4096;

/// By what a channel goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Way {
    Memory,
    Port,
}

/// Holds the file.
pub(super) struct Plan<'n> {
    pub(super) name: &'n str,
    pub(super) collective: &'n Node,
    pub(super) in_place: bool,
    pub(super) alignment: u64,
    pub(super) least: u64,
    pub(super) most: u64,
    pub(super) gpus: Vec<Gpu<'n>>,
}

/// Holds a rank.
pub(super) struct Gpu<'n> {
    pub(super) node: &'n Node,
    pub(super) input_chunks: u32,
    pub(super) output_chunks: u32,
    pub(super) scratch_chunks: u32,
    /// Lists peers of the memory channels, then of the port channels.
    pub(super) peers: [Vec<usize>; 2],
    /// Holds buffer, chunks and ranks of each switch channel.
    pub(super) switches: Vec<(Buffer, Vec<usize>)>,
    /// Holds the initial value of each semaphore.
    pub(super) semaphores: Vec<u64>,
    pub(super) blocks: Vec<Block<'n>>,
    pub(super) remotes: Vec<Remote>,
}

/// Names a buffer of another rank.
#[derive(Clone)]
pub(super) struct Remote {
    pub(super) rank: usize,
    pub(super) buffer: Buffer,
    pub(super) ways: Vec<Way>,
}

/// Holds a thread block.
pub(super) struct Block<'n> {
    pub(super) node: &'n Node,
    /// Holds indices among the rank's memory channels, then among its port channels.
    pub(super) channels: [Vec<usize>; 2],
    /// Holds indices among the rank's switch channels.
    pub(super) switches: Vec<usize>,
    pub(super) remotes: [Vec<Remote>; 2],
    pub(super) ops: Vec<Op<'n>>,
}

/// Where a run of chunks lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Own(Buffer),
    /// Lies in this buffer of another rank.
    Far(usize, Buffer),
    /// In all ranks' memory, by a switch channel of the rank.
    Switch(usize),
}

/// Holds a run of chunks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) side: Side,
    pub(super) index: u32,
    pub(super) size: u32,
}

/// Holds an operation, with its indices resolved to those of the rank.
pub(super) struct Op<'n> {
    pub(super) node: &'n Node,
    pub(super) name: &'n str,
    pub(super) way: Option<Way>,
    /// Holds indices among the rank's channels of the way.
    pub(super) channels: Vec<usize>,
    pub(super) sources: Vec<Run>,
    pub(super) destinations: Vec<Run>,
    pub(super) semaphores: Vec<usize>,
    /// Which of how many blocks' part of the data is this one's.
    pub(super) share: Option<(u64, u64)>,
}

/// Reads the whole plan.
pub(super) fn read<'n>(source: &Source, root: &'n Node) -> Result<Plan<'n>, InputError> {
    let object = source.object(root)?;
    let needed = |key| object.needed(source, key);
    let protocol = needed("protocol")?;
    if source.words(protocol)? == "LL" {
        let remedy = "give a plan whose protocol is Simple";
        return Err(source.refuse(protocol, "plans in packets with flags are not read", remedy));
    }
    let or = |key, least, most, absent| {
        object.get(key).map_or(Ok(absent), |node| source.number(node, least, most))
    };
    let alignment = or("buffer_alignment", 16, 1 << 20, 16)?;
    if let Some(node) = object.get("buffer_alignment").filter(|_| alignment % 16 != 0) {
        let problem = "the kernel moves 16 bytes at a time";
        return Err(source.refuse(node, problem, "write a multiple of 16"));
    }
    for key in ["reuse_resources", "use_double_scratch_buffer"] {
        if let Some(node) = object.get(key).filter(|node| source.flag(node).unwrap_or(true)) {
            source.flag(node)?;
            let problem = format!("`{key}`, which places scratch by the message, is not read");
            return Err(source.refuse(node, problem, "write false"));
        }
    }
    or("num_threads_per_block", THREADS.0, THREADS.1, THREADS.1)?;
    // It is read as an `int`.
    let least = or("min_message_size", 0, i32::MAX as u64, 0)?;
    let most = or("max_message_size", least, u64::MAX, u64::MAX)?;
    let gpus = needed("gpus")?;
    let nodes = source.list(gpus)?;
    if nodes.is_empty() || nodes.len() > MOST_RANKS {
        let problem = format!("the plan is for {} ranks", nodes.len());
        return Err(source.refuse(gpus, problem, format!("give 1 to {MOST_RANKS}")));
    }
    let read = |(rank, node)| read_gpu(source, node, rank, nodes.len());
    Ok(Plan {
        name: source.words(needed("name")?)?,
        collective: needed("collective")?,
        in_place: source.flag(needed("inplace")?)?,
        alignment,
        least,
        most,
        gpus: nodes.iter().enumerate().map(read).collect::<Result<_, _>>()?,
    })
}

fn read_gpu<'n>(
    source: &Source,
    node: &'n Node,
    rank: usize,
    ranks: usize,
) -> Result<Gpu<'n>, InputError> {
    let object = source.object(node)?;
    let needed = |key| object.needed(source, key);
    // The executor takes the entry that stands at its rank's place, and compares its id.
    source.number(needed("id")?, rank as u64, rank as u64)?;
    let chunks = |key, least| Ok(source.number(needed(key)?, least, MOST_CHUNKS)? as u32);
    let mut gpu = Gpu {
        node,
        // A message is divided by these, so that none may be nought.
        input_chunks: chunks("input_chunks", 1)?,
        output_chunks: chunks("output_chunks", 1)?,
        scratch_chunks: chunks("scratch_chunks", 0)?,
        peers: [Vec::new(), Vec::new()],
        switches: Vec::new(),
        semaphores: Vec::new(),
        blocks: Vec::new(),
        remotes: Vec::new(),
    };
    for channel in source.list(needed("channels")?)? {
        read_channel(source, channel, (rank, ranks), &mut gpu)?;
    }
    for node in source.list(needed("remote_buffers")?)? {
        let remote = source.object(node)?;
        let peer = remote.needed(source, "rank")?;
        let ways = source.list(remote.needed(source, "access_channel_types")?)?;
        gpu.remotes.push(Remote {
            rank: other_rank(source, peer, rank, ranks)?,
            buffer: buffer(source, remote.needed(source, "type")?)?,
            ways: ways.iter().map(|node| way(source, node)).collect::<Result<_, _>>()?,
        });
    }
    for node in object.get("semaphores").map_or(Ok(&[][..]), |node| source.list(node))? {
        let initial = source.object(node)?.needed(source, "init_value")?;
        gpu.semaphores.push(source.number(initial, 0, i32::MAX as u64)?);
    }
    for (at, node) in source.list(needed("threadblocks")?)?.iter().enumerate() {
        let block = read_block(source, node, at, &gpu)?;
        gpu.blocks.push(block);
    }
    Ok(gpu)
}

fn read_channel(
    source: &Source,
    node: &Node,
    (rank, ranks): (usize, usize),
    gpu: &mut Gpu,
) -> Result<(), InputError> {
    let object = source.object(node)?;
    let kind = object.needed(source, "channel_type")?;
    if source.words(kind)? != "switch" {
        let way = way(source, kind)?;
        for peer in source.list(object.needed(source, "connected_to")?)? {
            gpu.peers[way as usize].push(other_rank(source, peer, rank, ranks)?);
        }
        return Ok(());
    }
    let buffer = buffer(source, object.needed(source, "buffer_type")?)?;
    for group in source.list(object.needed(source, "rank_groups")?)? {
        let group = source.object(group)?;
        source.number(group.needed(source, "size")?, 0, MOST_CHUNKS)?;
        let members = source.list(group.needed(source, "ranks")?)?;
        let members = members.iter().map(|node| source.index(node, ranks));
        gpu.switches.push((buffer, members.collect::<Result<_, _>>()?));
    }
    Ok(())
}

fn other_rank(
    source: &Source,
    node: &Node,
    rank: usize,
    ranks: usize,
) -> Result<usize, InputError> {
    let peer = source.index(node, ranks)?;
    if peer == rank {
        return Err(source.refuse(node, "a rank is its own peer", "name another rank"));
    }
    Ok(peer)
}

impl Gpu<'_> {
    /// Chunks of a buffer.
    pub(super) fn chunks(&self, buffer: Buffer) -> u32 {
        match buffer {
            Buffer::Input => self.input_chunks,
            Buffer::Output => self.output_chunks,
            Buffer::Scratch => self.scratch_chunks,
        }
    }
}
