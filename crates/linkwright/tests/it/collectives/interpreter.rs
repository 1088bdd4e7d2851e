//! A second opinion on a schedule: it plays random interleavings on poisoned memory.
//!
//! It shares no code with the checker: every chunk is its own value, a bag of contributions,
//! and blocks take steps in random order.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU64;

use linkwright::collectives::{
    Buffer, ChannelTransport, Collective, Content, Placement, Schedule, Slice, StepId,
    StepOperation, ThreadBlock,
};
use linkwright::engine::Random;

/// How often each chunk of each rank's input was counted; nothing where poison was read.
type Value = Option<BTreeMap<(usize, usize), usize>>;

/// Plays one interleaving and says what went wrong.
pub fn play(
    schedule: &Schedule,
    placement: Placement,
    slots: usize,
    random: &mut Random,
) -> Result<(), String> {
    let ranks = schedule.ranks();
    let chunks = schedule.chunks as usize;
    let mut memory: Vec<BTreeMap<(Buffer, usize), Value>> = vec![BTreeMap::new(); ranks];
    for (rank, memory) in memory.iter_mut().enumerate() {
        for chunk in 0..schedule.buffer_chunks(rank, Buffer::Input) {
            let value = Some(BTreeMap::from([((rank, chunk), 1)]));
            memory.insert(cell(schedule, placement, rank, Slice::input(chunk as u32), 0), value);
        }
    }
    let mut wires: BTreeMap<Wire, VecDeque<Vec<Value>>> = BTreeMap::new();
    let mut blocks = Vec::new();
    for (rank, program) in schedule.programs.iter().enumerate() {
        blocks.extend((0..program.blocks.len()).map(|block| (rank, block)));
    }
    // A rank that is out of favour for a while falls far behind: that is when races show.
    let favour: Vec<u64> = blocks.iter().map(|_| 1 << (2 * below(random, 6))).collect();
    let mut done: BTreeMap<(usize, usize), usize> = blocks.iter().map(|key| (*key, 0)).collect();
    loop {
        let mut enabled = Vec::new();
        for (index, &(rank, block)) in blocks.iter().enumerate() {
            let what = &schedule.programs[rank].blocks[block];
            let Some(step) = what.steps.get(done[&(rank, block)]) else { continue };
            let ended = |id: &StepId| done[&(rank, id.block as usize)] > id.step as usize;
            let length = |wire| wires.get(&wire).map_or(0, VecDeque::len);
            let (reads, writes) = wires_of(schedule, rank, what, step.operation);
            if step.after.iter().all(ended)
                && reads.into_iter().all(|wire| length(wire) > 0)
                && writes.into_iter().all(|wire| length(wire) < slots)
            {
                enabled.push((rank, block, favour[index]));
            }
        }
        let total: u64 = enabled.iter().map(|(_, _, favour)| favour).sum();
        if total == 0 {
            break;
        }
        let mut draw = below(random, total);
        let mut chosen = enabled.iter();
        let (rank, block) = loop {
            let (rank, block, favour) = chosen.next().expect("the draw is below the total");
            if draw < *favour {
                break (*rank, *block);
            }
            draw -= favour;
        };
        let what = &schedule.programs[rank].blocks[block];
        let step = &what.steps[done[&(rank, block)]];
        let at = |slice: Option<Slice>, chunk| {
            cell(schedule, placement, rank, slice.expect("the step names it"), chunk)
        };
        let (reads, writes) = wires_of(schedule, rank, what, step.operation);
        let received: Vec<Vec<Value>> =
            reads.iter().map(|wire| wires.get_mut(wire).unwrap().pop_front().unwrap()).collect();
        let mut values = Vec::new();
        for chunk in 0..step.count as usize {
            let read = |slice| memory[rank].get(&at(slice, chunk)).cloned().flatten();
            let taken = || {
                let runs = received.iter().map(|run| run.get(chunk).cloned().flatten());
                runs.reduce(sum).flatten()
            };
            values.push(match step.operation {
                StepOperation::Send | StepOperation::Copy | StepOperation::Multicast => {
                    read(step.source)
                }
                StepOperation::Receive | StepOperation::ReceiveCopySend => taken(),
                StepOperation::Reduce => sum(read(step.source), read(step.destination)),
                StepOperation::Nop => None,
                _ => sum(taken(), read(step.source)),
            });
        }
        if step.operation.writes_destination() {
            for (chunk, value) in values.iter().enumerate() {
                memory[rank].insert(at(step.destination, chunk), value.clone());
            }
        }
        for wire in writes {
            wires.entry(wire).or_default().push_back(values.clone());
        }
        *done.get_mut(&(rank, block)).unwrap() += 1;
    }
    for ((rank, block), steps) in &done {
        if *steps < schedule.programs[*rank].blocks[*block].steps.len() {
            return Err(format!("rank {rank} block {block} is stuck at step {steps}"));
        }
    }
    if let Some(((from, to, ..), _)) = wires.iter().find(|(_, wire)| !wire.is_empty()) {
        return Err(format!("rank {to} never receives all that rank {from} sends"));
    }
    for (rank, memory) in memory.iter().enumerate() {
        for shard in 0..schedule.collective.output_shards(ranks, rank) {
            for chunk in 0..chunks {
                let place = Slice::output((shard * chunks + chunk) as u32);
                let found = memory.get(&cell(schedule, placement, rank, place, 0)).cloned();
                let expected = match schedule.collective.expected(rank, shard) {
                    Content::From { rank, shard } => {
                        BTreeMap::from([((rank, shard * chunks + chunk), 1)])
                    }
                    Content::Reduced { shard } => {
                        (0..ranks).map(|rank| ((rank, shard * chunks + chunk), 1)).collect()
                    }
                    Content::ReducedTo { rank, shard } => {
                        (0..=rank).map(|rank| ((rank, shard * chunks + chunk), 1)).collect()
                    }
                };
                let mut found = found.flatten();
                if schedule.collective.may_repeat() {
                    found.iter_mut().flat_map(BTreeMap::values_mut).for_each(|count| *count = 1);
                }
                if found != Some(expected) {
                    return Err(format!("rank {rank} ends with a wrong {place:?}"));
                }
            }
        }
    }
    Ok(())
}

/// Sender, receiver, channel, and whether a switch copies what the sender writes.
type Wire = (usize, usize, usize, bool);

/// Returns the wires that a step reads and those that it writes.
fn wires_of(
    schedule: &Schedule,
    rank: usize,
    block: &ThreadBlock,
    operation: StepOperation,
) -> (Vec<Wire>, Vec<Wire>) {
    use StepOperation::{Multicast, SwitchReduce, SwitchReduceMulticast};
    let number = block.channel;
    let channel = &schedule.channels[number];
    let copied = channel.transport == ChannelTransport::Switch;
    let others = || channel.group.iter().copied().filter(|other| *other != rank);
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    if operation.receives() {
        reads.push((block.receive.unwrap(), rank, number, copied));
    }
    if matches!(operation, SwitchReduce | SwitchReduceMulticast) {
        reads.extend(others().map(|from| (from, rank, number, false)));
    }
    if operation.sends() {
        writes.push((rank, block.send.unwrap(), number, false));
    }
    if matches!(operation, Multicast | SwitchReduceMulticast) {
        writes.extend(others().map(|to| (rank, to, number, true)));
    }
    (reads, writes)
}

/// A number below a bound that is not zero.
fn below(random: &mut Random, bound: u64) -> u64 {
    random.below(NonZeroU64::new(bound).expect("the bound is not zero"))
}

fn sum(first: Value, second: Value) -> Value {
    let mut sum = first?;
    for (contribution, count) in second? {
        *sum.entry(contribution).or_default() += count;
    }
    Some(sum)
}

/// One name for each chunk of memory: in place, an output chunk goes by its input's name.
fn cell(
    schedule: &Schedule,
    placement: Placement,
    rank: usize,
    slice: Slice,
    chunk: usize,
) -> (Buffer, usize) {
    let chunks = schedule.chunks as usize;
    let offset = slice.offset as usize + chunk;
    if placement == Placement::OutOfPlace || slice.buffer != Buffer::Output {
        return (slice.buffer, offset);
    }
    let in_shard = offset % chunks;
    match schedule.collective {
        Collective::AllReduce | Collective::Barrier | Collective::Scan => (Buffer::Input, offset),
        Collective::Broadcast { root } | Collective::Reduce { root } if rank == root => {
            (Buffer::Input, offset)
        }
        Collective::AllGather if offset / chunks == rank => (Buffer::Input, in_shard),
        Collective::Gather { root } if rank == root && offset / chunks == rank => {
            (Buffer::Input, in_shard)
        }
        Collective::ReduceScatter => (Buffer::Input, rank * chunks + offset),
        Collective::Scatter { root } if rank == root => (Buffer::Input, rank * chunks + offset),
        _ => (Buffer::Output, offset),
    }
}
