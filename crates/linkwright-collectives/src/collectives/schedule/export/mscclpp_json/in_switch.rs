//! Writes all-reduces in switches, in the executor's one operation for them.
//!
//! It represents `glres`. This loads the sum of a part from the inputs of all ranks through a
//! switch channel. It stores the sum to the outputs of all through another. A step of
//! [`StepOperation::SwitchReduceMulticast`] does the same. Each thread block of a rank has a part
//! of the part. It has a memory channel of its own with the same block of every other rank. It
//! signals to all and waits for all at its start. Then all inputs are there and the old data in the
//! outputs is no longer needed. It does so again at its end, since then all parts of its rank's
//! output are there.
//!
//! It leaves out reductions and multicasts by themselves, for which the executor has no operation.
//! It also leaves out steps that depend on others.

use super::plan::{
    Block, Buff, ChannelList, ChannelRefs, Gpu, MOST_OPERATIONS, Op, Sequence, Share,
};
use super::{ExportError, FORMAT};
use crate::collectives::schedule::export::{normal, refuse_in_switch};
use crate::collectives::schedule::{
    Buffer, ChannelTransport, RankSchedule, Schedule, ScheduleStep, Slice, StepOperation,
    ThreadBlock,
};

/// Gives `MAX_CHANNEL`, the most memory channels of a thread block.
const MOST_PEERS: usize = 16;
/// Gives `MAX_CHANNEL_PER_OPERATION`.
const MOST_AT_ONCE: usize = 8;
/// Thread blocks of a rank, as many as NCCL's kernels have for this.
const BLOCKS: u32 = 16;

/// The ranks' plans of a schedule in which switches do some steps.
///
/// # Errors
/// [`ExportError::NoOperation`] for a step that is none of an all-reduce in the switch,
/// [`ExportError::Limit`] for more ranks than a thread block has channels for.
pub(super) fn written(schedule: &Schedule, block_limit: u32) -> Result<Vec<Gpu>, ExportError> {
    check(schedule)?;
    let ranks = schedule.ranks();
    if ranks - 1 > MOST_PEERS {
        return Err(ExportError::Limit {
            format: FORMAT,
            what: "ranks that one block signals to",
            place: "each rank".to_owned(),
            count: ranks as u64 - 1,
            most: MOST_PEERS as u64,
            remedy: "plan for fewer GPUs",
        });
    }
    let blocks = BLOCKS.min(block_limit).max(1);
    (0..ranks).map(|rank| of_rank(schedule, rank, blocks)).collect()
}

/// Refuses what is more than all-reduces in a switch that joins all ranks, from input to output.
fn check(schedule: &Schedule) -> Result<(), ExportError> {
    let remedy = "draw it (dot), or plan it with packing";
    for (rank, program) in schedule.programs.iter().enumerate() {
        for (index, block) in program.blocks.iter().enumerate() {
            let can_be_said = is_of_all_reduce(schedule, block);
            for (number, step) in block.steps.iter().enumerate() {
                if !(can_be_said && step.after.is_empty()) {
                    refuse_in_switch(schedule, FORMAT, remedy)?;
                    let place = normal::place(rank, index, Some(number));
                    let operation = step.operation.name();
                    return Err(ExportError::NoOperation {
                        format: FORMAT,
                        operation,
                        place,
                        remedy,
                    });
                }
            }
        }
    }
    Ok(())
}

/// From where to where a head's step leads, and how many chunks.
type Part = (Option<Slice>, Option<Slice>, u32);

/// Says whether a block takes part in an all-reduce. A head's block reduces for all ranks. Another
/// hands it the same part of its input, or takes the same part of the output from it.
fn is_of_all_reduce(schedule: &Schedule, block: &ThreadBlock) -> bool {
    let channel = &schedule.channels[block.channel];
    let joins_all =
        channel.transport == ChannelTransport::Switch && channel.group.len() == schedule.ranks();
    let heads = schedule.programs.iter().flat_map(|program| reductions(program, block.channel));
    let parts: Vec<Part> = heads.map(|step| (step.source, step.destination, step.count)).collect();
    let is_whole = parts.iter().all(|(from, to, _)| {
        let buffers = [from, to].map(|slice| slice.map(|slice| slice.buffer));
        buffers == [Some(Buffer::Input), Some(Buffer::Output)]
    });
    // Each kind of its steps is done for every part, or not at all.
    let agrees = |operation, same: &dyn Fn(&ScheduleStep, &Part) -> bool| {
        let steps: Vec<&ScheduleStep> =
            block.steps.iter().filter(|step| step.operation == operation).collect();
        let counts =
            |(step, part): (&&ScheduleStep, &Part)| step.count == part.2 && same(step, part);
        steps.is_empty() || (steps.len() == parts.len() && steps.iter().zip(&parts).all(counts))
    };
    let is_known = |step: &ScheduleStep| {
        let known =
            [StepOperation::SwitchReduceMulticast, StepOperation::Send, StepOperation::Receive];
        known.contains(&step.operation)
    };
    joins_all
        && is_whole
        && block.steps.iter().all(is_known)
        && agrees(StepOperation::SwitchReduceMulticast, &|_, _| true)
        && agrees(StepOperation::Send, &|step, part| step.source == part.0)
        && agrees(StepOperation::Receive, &|step, part| step.destination == part.1)
}

/// The steps of a rank that the switch of a channel does.
fn reductions(program: &RankSchedule, channel: usize) -> impl Iterator<Item = &ScheduleStep> {
    let blocks = program.blocks.iter().filter(move |block| block.channel == channel);
    let steps = blocks.flat_map(|block| &block.steps);
    steps.filter(|step| step.operation == StepOperation::SwitchReduceMulticast)
}

fn of_rank(schedule: &Schedule, rank: usize, blocks: u32) -> Result<Gpu, ExportError> {
    let peers: Vec<usize> = (0..schedule.ranks()).filter(|other| *other != rank).collect();
    let group: Vec<usize> = (0..schedule.ranks()).collect();
    let chunks = |buffer| schedule.buffer_chunks(rank, buffer);
    let switch = |buffer| ChannelList::switch(buffer, chunks(buffer), group.clone());
    let program = &schedule.programs[rank];
    let steps: Vec<&ScheduleStep> =
        (0..schedule.channels.len()).flat_map(|channel| reductions(program, channel)).collect();
    let threadblocks = (0..blocks).map(|block| {
        let first = block as usize * peers.len();
        Block {
            id: block as usize,
            ops: operations(&steps, peers.len(), Share { block, blocks }),
            channels: vec![
                ChannelRefs {
                    channel_type: "memory",
                    channel_ids: (first..first + peers.len()).collect(),
                },
                ChannelRefs { channel_type: "switch", channel_ids: vec![0, 1] },
            ],
            remote_buffer_refs: Vec::new(),
        }
    });
    let threadblocks: Vec<Block> = threadblocks.collect();
    let longest = threadblocks.iter().map(|block| block.ops.len()).max().unwrap_or(0);
    if longest > MOST_OPERATIONS {
        return Err(ExportError::Limit {
            format: FORMAT,
            what: "operations in a thread block",
            place: format!("rank {rank}"),
            count: longest as u64,
            most: MOST_OPERATIONS as u64,
            remedy: "plan with fewer chunks",
        });
    }
    // Block by block, the channels to all peers; both ends count those of a pair alike.
    let connected_to = (0..blocks).flat_map(|_| peers.iter().copied()).collect();
    Ok(Gpu {
        id: rank,
        input_chunks: chunks(Buffer::Input),
        output_chunks: chunks(Buffer::Output),
        scratch_chunks: 0,
        threadblocks,
        channels: vec![
            ChannelList::memory(connected_to),
            switch(Buffer::Input),
            switch(Buffer::Output),
        ],
        remote_buffers: Vec::new(),
        semaphores: Vec::new(),
    })
}

/// Returns the operations of a block: all ranks' blocks meet, do their shares of their parts, and
/// meet again.
fn operations(steps: &[&ScheduleStep], peers: usize, share: Share) -> Vec<Op> {
    let channels: Vec<usize> = (0..peers).collect();
    let mut sequence = Sequence::default();
    let meet = |sequence: &mut Sequence| {
        let at_once = || channels.chunks(MOST_AT_ONCE);
        at_once().for_each(|some| sequence.tell(Op::on_channels("signal", some)));
        at_once().for_each(|some| sequence.wait(Op::on_channels("wait", some)));
    };
    meet(&mut sequence);
    for step in steps {
        let through = |id, slice: Option<Slice>| {
            Buff::switch(id, slice.map_or(0, |slice| slice.offset), step.count)
        };
        let (from, to) = (through(0, step.source), through(1, step.destination));
        sequence.data_beside(Op::in_switch(from, to, share));
    }
    meet(&mut sequence);
    // It is one group, which is not torn apart.
    sequence.cut(&mut 0).into_iter().flatten().collect()
}
