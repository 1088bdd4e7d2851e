//! Thread blocks and their operations, within what the executor holds of each.

use super::json::{Node, Object, Source};
use super::raw::{Block, Gpu, MOST_CHUNKS, Op, Run, Side, Way};
use crate::collectives::schedule::Buffer;
use crate::diagnostic::InputError;

/// `MAX_CHANNEL`: channels, and remote buffers, of each kind that a thread block names.
const MOST_CHANNELS: usize = 16;
/// Is `MAX_CHANNEL_PER_OPERATION`.
const MOST_AT_ONCE: usize = 8;
/// Is `MAX_LOCAL_BUFFER_PER_OPERATION` and the channels of an operation.
const MOST_BUFFERS: usize = 2 + MOST_AT_ONCE;
/// Is `MAX_OPERATION`.
const MOST_OPERATIONS: usize = 64;
/// Is `MAX_DEVICE_SYNCERS`.
const MOST_BARRIERS: usize = 16;
/// Is `MAX_DEVICE_SEMAPHORES`.
const MOST_SEMAPHORES: usize = 16;
/// Every operation that the executor knows (`getOpType`).
const OPERATIONS: [&str; 28] = [
    "nop",
    "barrier",
    "put",
    "pws",
    "pwsf",
    "get",
    "copy",
    "signal",
    "wait",
    "flush",
    "re",
    "res",
    "rre",
    "rres",
    "ppkt",
    "rppkt",
    "respkt",
    "cpkt",
    "upkt",
    "repkt",
    "recpkt",
    "recspkt",
    "glres",
    "rlxsignal",
    "rlxwait",
    "pipeline",
    "sem_acquire",
    "sem_release",
];

/// Reads a thread block, whose place in the list is `at`.
pub(super) fn read_block<'n>(
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
    if let Some(room) = own.map(|buffer| gpu.chunks(buffer))
        && index + size > u64::from(room)
    {
        let problem = format!("the run ends outside of its buffer of {room} chunks");
        return Err(source.refuse(size_node, problem, "mend `index` or `size`"));
    }
    Ok(Run { side, index: index as u32, size: size as u32 })
}

/// Reads a buffer by its letter.
pub(super) fn buffer(source: &Source, node: &Node) -> Result<Buffer, InputError> {
    match source.words(node)? {
        "i" => Ok(Buffer::Input),
        "o" => Ok(Buffer::Output),
        "s" => Ok(Buffer::Scratch),
        _ => Err(source.refuse(node, "no buffer has this letter", "write i, o or s")),
    }
}

/// Reads a channel by its word.
pub(super) fn way(source: &Source, node: &Node) -> Result<Way, InputError> {
    match source.words(node)? {
        "memory" => Ok(Way::Memory),
        "port" => Ok(Way::Port),
        _ => Err(source.refuse(node, "no such channel can be here", "write memory or port")),
    }
}

/// Reads at most `most` items.
fn few<'n>(source: &Source, node: &'n Node, most: usize) -> Result<&'n [Node], InputError> {
    let items = source.list(node)?;
    if items.len() > most {
        let problem = format!("there are {} of these, and the executor holds {most}", items.len());
        return Err(source.refuse(node, problem, "divide them among several"));
    }
    Ok(items)
}
