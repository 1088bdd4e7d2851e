//! One order in which a schedule's steps can run, and which data each of them moves.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use crate::collectives::schedule::time::TimeError;
use crate::collectives::schedule::walk::{self, WalkedBlock, WalkedStep};
use crate::collectives::schedule::{Buffer, RankSchedule, Schedule, Slice, StepId, ThreadBlock};

/// Holds the results of following the data through a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Walk {
    /// For each rank its steps, every one behind those that it waits for.
    pub(super) order: Vec<Vec<StepId>>,
    /// For each step of each block of each rank which chunks it moves between ranks: runs of
    /// offsets in the input that they come from.
    pub(super) moved: Vec<Vec<Vec<Vec<Range<u32>>>>>,
    /// The most chunks that one step moves.
    pub(super) longest_run: u32,
}

/// Names a connection: channel, sender and receiver.
type Connection = (usize, usize, usize);

/// Holds the content of a rank's buffers: for each chunk the offset in the input that it comes
/// from.
struct Memory {
    output: Vec<u32>,
    scratch: Vec<u32>,
}

impl Memory {
    fn read(&self, slice: Slice, count: u32) -> Vec<u32> {
        let run = slice.offset as usize..(slice.offset + count) as usize;
        match slice.buffer {
            Buffer::Input => (slice.offset..slice.offset + count).collect(),
            Buffer::Output => self.output[run].to_vec(),
            Buffer::Scratch => self.scratch[run].to_vec(),
        }
    }

    fn write(&mut self, slice: Slice, chunks: &[u32]) {
        let run = slice.offset as usize..slice.offset as usize + chunks.len();
        match slice.buffer {
            // In place, the input holds at each offset what it did.
            Buffer::Input => {}
            Buffer::Output => self.output[run].copy_from_slice(chunks),
            Buffer::Scratch => self.scratch[run].copy_from_slice(chunks),
        }
    }
}

/// Runs the steps with buffers without end between ranks, in one order of the many.
pub(super) fn follow(schedule: &Schedule) -> Result<Walk, TimeError> {
    let programs = &schedule.programs;
    let mut memory: Vec<Memory> = (0..programs.len())
        .map(|rank| Memory {
            output: vec![0; schedule.buffer_chunks(rank, Buffer::Output)],
            scratch: vec![0; schedule.buffer_chunks(rank, Buffer::Scratch)],
        })
        .collect();
    let mut next: Vec<Vec<usize>> =
        programs.iter().map(|program| vec![0; program.blocks.len()]).collect();
    let mut under_way: BTreeMap<Connection, VecDeque<Vec<u32>>> = BTreeMap::new();
    let empty = |rank: &RankSchedule| {
        rank.blocks.iter().map(|block| vec![Vec::new(); block.steps.len()]).collect()
    };
    let mut found = Walk {
        order: vec![Vec::new(); programs.len()],
        moved: programs.iter().map(empty).collect(),
        longest_run: 1,
    };
    let blocks: Vec<WalkedBlock<'_>> = walk::blocks(schedule).collect();
    let mut moved = true;
    while std::mem::take(&mut moved) {
        for walked in &blocks {
            let WalkedBlock { rank, index: at, block, .. } = *walked;
            while let Some(reached) = walked.step(next[rank][at]) {
                let ended = |id: StepId| next[rank][id.block as usize] > id.step as usize;
                if !reached.waits_for().all(ended) {
                    break;
                }
                let WalkedStep { index, step, .. } = reached;
                let received = if step.operation.receives() {
                    let from = block.receive.map(|from| (block.channel, from, rank));
                    let queue = from.and_then(|from| under_way.get_mut(&from));
                    let Some(chunks) = queue.and_then(VecDeque::pop_front) else { break };
                    Some(chunks)
                } else {
                    None
                };
                let chunks = match (received, step.source) {
                    (Some(chunks), _) => chunks,
                    (None, Some(source)) if step.operation.reads_source() => {
                        memory[rank].read(source, step.count)
                    }
                    _ => Vec::new(),
                };
                if let Some(place) =
                    step.destination.filter(|_| step.operation.writes_destination())
                {
                    memory[rank].write(place, &chunks);
                }
                if step.operation.receives() || step.operation.sends() {
                    found.moved[rank][at][index] = runs(&chunks);
                    found.longest_run = found.longest_run.max(step.count);
                }
                if let (true, Some(to)) = (step.operation.sends(), block.send) {
                    let connection = (block.channel, rank, to);
                    under_way.entry(connection).or_default().push_back(chunks);
                }
                found.order[rank].push(reached.id());
                (next[rank][at], moved) = (index + 1, true);
            }
        }
    }
    for walked in &blocks {
        let WalkedBlock { rank, index: block, .. } = *walked;
        let step = next[rank][block];
        if walked.step(step).is_some() {
            return Err(TimeError::Stuck { rank, block, step });
        }
    }
    match under_way.iter().find(|(_, left)| !left.is_empty()) {
        None => Ok(found),
        Some(((channel, rank, to), _)) => {
            let sends = |block: &&ThreadBlock| block.channel == *channel && block.send == Some(*to);
            let block = programs[*rank].blocks.iter().position(|block| sends(&block));
            let (rank, channel) = (*rank, *channel);
            Err(TimeError::Unpaired { rank, block: block.unwrap_or(0), channel })
        }
    }
}

/// Chunks as runs of those that follow one another.
fn runs(chunks: &[u32]) -> Vec<Range<u32>> {
    chunks.chunk_by(|a, b| *b == a + 1).map(|run| run[0]..run[run.len() - 1] + 1).collect()
}
