//! What the file says, with everything refused that the executor refuses or reads past its arrays on.
//!
//! The limits are those of `src/core/include/execution_common.hpp`, the keys those of
//! `src/core/executor/execution_plan.cc` (microsoft/mscclpp v0.9.0).

use super::json::{Node, Object, Source};
use crate::collectives::schedule::Buffer;
use crate::diagnostic::InputError;

/// `MAX_CHANNEL`: channels, and remote buffers, of each kind that a thread block names.
const MOST_CHANNELS: usize = 16;
/// `MAX_CHANNEL_PER_OPERATION`.
const MOST_AT_ONCE: usize = 8;
/// `MAX_LOCAL_BUFFER_PER_OPERATION` and the channels of an operation.
const MOST_BUFFERS: usize = 2 + MOST_AT_ONCE;
/// `MAX_OPERATION`.
const MOST_OPERATIONS: usize = 64;
/// `MAX_DEVICE_SYNCERS`.
const MOST_BARRIERS: usize = 16;
/// `MAX_DEVICE_SEMAPHORES`.
const MOST_SEMAPHORES: usize = 16;
/// Threads of a block, by the kernel's launch bounds; fewer than a warp cannot serve all channels.
const THREADS: (u64, u64) = (32, 1024);
/// More chunks than any plan has, many times over.
const MOST_CHUNKS: u64 = 1 << 24;
/// More ranks than the executor's servers have, many times over.
const MOST_RANKS: usize = 4096;

/// Every operation that the executor knows (`getOpType`).
pub(super) const OPERATIONS: [&str; 28] = [
    "nop", "barrier", "put", "pws", "pwsf", "get", "copy", "signal", "wait", "flush", "re", "res",
    "rre", "rres", "ppkt", "rppkt", "respkt", "cpkt", "upkt", "repkt", "recpkt", "recspkt", "glres",
    "rlxsignal", "rlxwait", "pipeline", "sem_acquire", "sem_release",
];

/// By what a channel goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Way {
    Memory,
    Port,
}

/// The file.
pub(super) struct Plan<'n> {
    pub(super) name: &'n str,
    pub(super) collective: &'n Node,
    pub(super) in_place: bool,
    pub(super) alignment: u64,
    pub(super) least: u64,
    pub(super) most: u64,
    pub(super) gpus: Vec<Gpu<'n>>,
}

/// A rank.
pub(super) struct Gpu<'n> {
    pub(super) node: &'n Node,
    pub(super) input_chunks: u32,
    pub(super) output_chunks: u32,
    pub(super) scratch_chunks: u32,
    /// Peers of the memory channels, then of the port channels.
    pub(super) peers: [Vec<usize>; 2],
    /// Buffer, chunks and ranks of each switch channel.
    pub(super) switches: Vec<(Buffer, Vec<usize>)>,
    /// The initial value of each semaphore.
    pub(super) semaphores: Vec<u64>,
    pub(super) blocks: Vec<Block<'n>>,
    remotes: Vec<Remote>,
}

/// A buffer of another rank.
#[derive(Clone)]
struct Remote {
    rank: usize,
    buffer: Buffer,
    ways: Vec<Way>,
}

/// A thread block.
pub(super) struct Block<'n> {
    pub(super) node: &'n Node,
    /// Indices among the rank's memory channels, then among its port channels.
    pub(super) channels: [Vec<usize>; 2],
    /// Indices among the rank's switch channels.
    switches: Vec<usize>,
    remotes: [Vec<Remote>; 2],
    pub(super) ops: Vec<Op<'n>>,
}

/// Where a run of chunks lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Own(Buffer),
    /// In this buffer of another rank.
    Far(usize, Buffer),
    /// In all ranks' memory, by a switch channel of the rank.
    Switch(usize),
}

/// A run of chunks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) side: Side,
    pub(super) index: u32,
    pub(super) size: u32,
}

/// An operation, with its indices resolved to those of the rank.
pub(super) struct Op<'n> {
    pub(super) node: &'n Node,
    pub(super) name: &'n str,
    pub(super) way: Option<Way>,
    /// Among the rank's channels of the way.
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

fn buffer(source: &Source, node: &Node) -> Result<Buffer, InputError> {
    match source.words(node)? {
        "i" => Ok(Buffer::Input),
        "o" => Ok(Buffer::Output),
        "s" => Ok(Buffer::Scratch),
        _ => Err(source.refuse(node, "no buffer has this letter", "write i, o or s")),
    }
}

fn way(source: &Source, node: &Node) -> Result<Way, InputError> {
    match source.words(node)? {
        "memory" => Ok(Way::Memory),
        "port" => Ok(Way::Port),
        _ => Err(source.refuse(node, "no such channel can be here", "write memory or port")),
    }
}

/// At most so many items.
fn few<'n>(source: &Source, node: &'n Node, most: usize) -> Result<&'n [Node], InputError> {
    let items = source.list(node)?;
    if items.len() > most {
        let problem = format!("there are {} of these, and the executor holds {most}", items.len());
        return Err(source.refuse(node, problem, "divide them among several"));
    }
    Ok(items)
}

fn read_block<'n>(
    source: &Source,
    node: &'n Node,
    at: usize,
    gpu: &Gpu,
) -> Result<Block<'n>, InputError> {
    let object = source.object(node)?;
    // Channels are kept by id and operations by place.
    source.number(object.needed(source, "id")?, at as u64, at as u64)?;
    let mut block = Block {
        node,
        channels: [Vec::new(), Vec::new()],
        switches: Vec::new(),
        remotes: [Vec::new(), Vec::new()],
        ops: Vec::new(),
    };
    for node in source.list(object.needed(source, "channels")?)? {
        let refs = source.object(node)?;
        let kind = refs.needed(source, "channel_type")?;
        let ids = refs.needed(source, "channel_ids")?;
        let (known, room) = if source.words(kind)? == "switch" {
            (gpu.switches.len(), &mut block.switches)
        } else {
            let way = way(source, kind)? as usize;
            (gpu.peers[way].len(), &mut block.channels[way])
        };
        for id in source.list(ids)? {
            room.push(source.index(id, known)?);
        }
        if room.len() > MOST_CHANNELS {
            few(source, ids, MOST_CHANNELS.saturating_sub(room.len()))?;
        }
    }
    for node in object.get("remote_buffer_refs").map_or(Ok(&[][..]), |node| source.list(node))? {
        let refs = source.object(node)?;
        let way = way(source, refs.needed(source, "access_channel_type")?)?;
        let ids = refs.needed(source, "remote_buffer_ids")?;
        for id in few(source, ids, MOST_CHANNELS)? {
            let remote = &gpu.remotes[source.index(id, gpu.remotes.len())?];
            if !remote.ways.contains(&way) {
                let problem = "the buffer is not reached by such channels";
                return Err(source.refuse(id, problem, "add it to `access_channel_types`"));
            }
            block.remotes[way as usize].push(remote.clone());
        }
        if block.remotes[way as usize].len() > MOST_CHANNELS {
            let problem = format!("the executor holds {MOST_CHANNELS} remote buffers of a block");
            return Err(source.refuse(ids, problem, "divide them among several blocks"));
        }
    }
    let ops = object.needed(source, "ops")?;
    for node in few(source, ops, MOST_OPERATIONS)? {
        read_op(source, node, gpu, &mut block, true)?;
    }
    if block.ops.len() > MOST_OPERATIONS {
        let problem = format!("the block has {} operations with those inside", block.ops.len());
        let remedy = format!("give at most {MOST_OPERATIONS}, a pipeline's own among them");
        return Err(source.refuse(ops, problem, remedy));
    }
    Ok(block)
}

fn read_op<'n>(
    source: &Source,
    node: &'n Node,
    gpu: &Gpu,
    block: &mut Block<'n>,
    may_nest: bool,
) -> Result<(), InputError> {
    let object = source.object(node)?;
    let name_node = object.needed(source, "name")?;
    let name = source.words(name_node)?;
    if !OPERATIONS.contains(&name) {
        let remedy = format!("write one of {}", OPERATIONS.join(", "));
        return Err(source.refuse(name_node, "the executor has no such operation", remedy));
    }
    let kind = object.get("channel_type");
    let words = kind.map(|node| source.words(node)).transpose()?;
    let way = match (kind, words) {
        (Some(node), Some(words)) if !matches!(words, "switch" | "none") => {
            Some(way(source, node)?)
        }
        _ => None,
    };
    let mut op = Op {
        node,
        name,
        way,
        channels: Vec::new(),
        sources: Vec::new(),
        destinations: Vec::new(),
        semaphores: Vec::new(),
        share: None,
    };
    if let Some(ids) = object.get("channel_ids") {
        for id in few(source, ids, MOST_AT_ONCE)? {
            match way {
                Some(way) => {
                    let own = &block.channels[way as usize];
                    op.channels.push(own[source.index(id, own.len())?]);
                }
                None => {
                    source.index(id, block.switches.len())?;
                }
            }
        }
    }
    for (key, runs) in [("src_buff", &mut op.sources), ("dst_buff", &mut op.destinations)] {
        let Some(list) = object.get(key) else { continue };
        for node in few(source, list, MOST_BUFFERS)? {
            runs.push(read_run(source, node, gpu, block, way)?);
        }
    }
    if let Some(ids) = object.get("semaphore_ids") {
        for id in few(source, ids, MOST_SEMAPHORES)? {
            op.semaphores.push(source.index(id, gpu.semaphores.len())?);
        }
    }
    if let Some(id) = object.get("barrier_id") {
        let blocks = object.needed(source, "num_threadblocks")?;
        source.index(id, MOST_BARRIERS)?;
        source.number(blocks, 1, u32::MAX.into())?;
    }
    op.share = share(source, object)?;
    if let Some(node) = object.get("reduce_op").filter(|node| source.words(node) != Ok("sum")) {
        return Err(source.refuse(node, "the executor reduces by sum only", "write sum"));
    }
    block.ops.push(op);
    if name != "pipeline" {
        return Ok(());
    }
    if !may_nest {
        return Err(source.refuse(name_node, "a pipeline stands in a pipeline", "take it out"));
    }
    let context = object.needed(source, "iter_context")?;
    let context = source.object(context)?;
    source.number(context.needed(source, "unit_size")?, 16, u32::MAX.into())?;
    source.number(context.needed(source, "num_chunks")?, 1, MOST_CHUNKS)?;
    for node in few(source, object.needed(source, "ops")?, MOST_OPERATIONS)? {
        read_op(source, node, gpu, block, false)?;
    }
    Ok(())
}

/// Which of how many blocks' part of the data is this one's.
fn share(source: &Source, object: Object) -> Result<Option<(u64, u64)>, InputError> {
    let Some(info) = object.get("tbg_info") else { return Ok(None) };
    let info = source.object(info)?;
    let blocks = source.number(info.needed(source, "tbg_size")?, 1, 1 << 16)?;
    let block = source.number(info.needed(source, "tb_id")?, 0, blocks - 1)?;
    Ok(Some((block, blocks)))
}

fn read_run(
    source: &Source,
    node: &Node,
    gpu: &Gpu,
    block: &Block,
    way: Option<Way>,
) -> Result<Run, InputError> {
    let object = source.object(node)?;
    let side = if let Some(id) = object.get("switch_channel_id") {
        Side::Switch(block.switches[source.index(id, block.switches.len())?])
    } else if let Some(id) = object.get("buffer_id") {
        let Some(way) = way else {
            let problem = "a remote buffer is reached by a channel, and the operation names none";
            return Err(source.refuse(id, problem, "give its `channel_type`, memory or port"));
        };
        let remotes = &block.remotes[way as usize];
        let remote = &remotes[source.index(id, remotes.len())?];
        Side::Far(remote.rank, remote.buffer)
    } else {
        Side::Own(buffer(source, object.needed(source, "type")?)?)
    };
    let index = source.number(object.needed(source, "index")?, 0, MOST_CHUNKS)?;
    let size_node = object.needed(source, "size")?;
    let size = source.number(size_node, 1, MOST_CHUNKS)?;
    let own = match side {
        Side::Own(buffer) => Some(buffer),
        Side::Switch(channel) => Some(gpu.switches[channel].0),
        Side::Far(..) => None,
    };
    if let Some(room) = own.map(|buffer| gpu.chunks(buffer)) {
        if index + size > u64::from(room) {
            let problem = format!("the run ends outside of its buffer of {room} chunks");
            return Err(source.refuse(size_node, problem, "mend `index` or `size`"));
        }
    }
    Ok(Run { side, index: index as u32, size: size as u32 })
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
