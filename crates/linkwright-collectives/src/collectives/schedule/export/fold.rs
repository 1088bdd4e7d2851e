//! Makes fewer thread blocks: connections of several channels become one.
//!
//! A tree for each of 72 roots has two connections between every two ranks, each with a block at
//! either end. All blocks of a rank must run at once. Where channels use the same links, their
//! connections between two ranks become one. A rank's sends to a peer and its receives from it
//! share a block. The steps of a block keep the order of one run of the whole schedule. In it every
//! message is received in the order of its sending, so that no step waits for a later one.

use std::collections::{BTreeMap, VecDeque};

use crate::collectives::schedule::{RankSchedule, Schedule, ScheduleStep, StepId, ThreadBlock};

/// Names a rank, block and step.
type Place = (usize, usize, usize);

/// Returns the schedule with a block for each peer of a rank and kind of links. It is None where a
/// block receives from one rank and sends to another, or no such order was found. It holds for
/// executors on which any number of messages may be on their way.
pub(super) fn fold_blocks(schedule: &Schedule) -> Option<Schedule> {
    let first_alike = |channel: usize| {
        let links = &schedule.channels[channel];
        schedule.channels.iter().position(|other| other == links).unwrap_or(channel)
    };
    let order = run(schedule, &first_alike)?;
    let mut programs: Vec<RankSchedule> = Vec::with_capacity(schedule.ranks());
    let mut places: BTreeMap<Place, StepId> = BTreeMap::new();
    let mut known: Vec<BTreeMap<(usize, Option<usize>), usize>> = Vec::new();
    for program in &schedule.programs {
        let mut own: BTreeMap<(usize, Option<usize>), usize> = BTreeMap::new();
        let mut blocks: Vec<ThreadBlock> = Vec::new();
        for block in &program.blocks {
            let (channel, peer) = (first_alike(block.channel), peer(block)?);
            let at = *own.entry((channel, peer)).or_insert_with(|| {
                blocks.push(ThreadBlock { send: None, receive: None, channel, steps: Vec::new() });
                blocks.len() - 1
            });
            blocks[at].send = blocks[at].send.or(block.send);
            blocks[at].receive = blocks[at].receive.or(block.receive);
        }
        programs.push(RankSchedule { scratch_chunks: program.scratch_chunks, blocks });
        known.push(own);
    }
    for (rank, block, step) in order {
        let old = &schedule.programs[rank].blocks[block];
        let at = known[rank][&(first_alike(old.channel), peer(old)?)];
        let after = old.steps[step].after.iter();
        // Earlier steps are placed already, and the order within the step's own block needs no
        // saying.
        let after = after.map(|id| places[&(rank, id.block as usize, id.step as usize)]);
        let after: Vec<StepId> = after.filter(|id| id.block as usize != at).collect();
        let steps = &mut programs[rank].blocks[at].steps;
        places.insert((rank, block, step), StepId { block: at as u32, step: steps.len() as u32 });
        steps.push(ScheduleStep { after, ..old.steps[step].clone() });
    }
    Some(Schedule { programs, ..schedule.clone() })
}

/// The one rank that a block talks to, if any; None where there are two.
fn peer(block: &ThreadBlock) -> Option<Option<usize>> {
    match (block.send, block.receive) {
        (Some(to), Some(from)) if to != from => None,
        (to, from) => Some(to.or(from)),
    }
}

/// Returns all steps in the order of one run. In it the messages of connections that become one are
/// received as they were sent. It is None where the run gets stuck.
fn run(schedule: &Schedule, first_alike: &impl Fn(usize) -> usize) -> Option<Vec<Place>> {
    let blocks: Vec<(usize, usize)> = (0..schedule.ranks())
        .flat_map(|rank| (0..schedule.programs[rank].blocks.len()).map(move |block| (rank, block)))
        .collect();
    let mut next: BTreeMap<(usize, usize), usize> = blocks.iter().map(|at| (*at, 0)).collect();
    // For each joint connection the channels of the messages on their way.
    let mut sent: BTreeMap<(usize, usize, usize), VecDeque<usize>> = BTreeMap::new();
    let mut order = Vec::with_capacity(schedule.step_count());
    loop {
        let before = order.len();
        for (rank, index) in &blocks {
            let block = &schedule.programs[*rank].blocks[*index];
            // One step of each block in turn, so that what is ready first comes first.
            let at = next[&(*rank, *index)];
            let Some(step) = block.steps.get(at) else { continue };
            let ended = |id: &StepId| next[&(*rank, id.block as usize)] > id.step as usize;
            let joint = first_alike(block.channel);
            let arriving = block.receive.filter(|_| step.operation.receives());
            let arriving = arriving.map(|from| (joint, from, *rank));
            let is_there = arriving.is_none_or(|connection| {
                let first = sent.get(&connection).and_then(VecDeque::front);
                first == Some(&block.channel)
            });
            if !is_there || !step.after.iter().all(ended) {
                continue;
            }
            if let Some(queue) = arriving.and_then(|connection| sent.get_mut(&connection)) {
                queue.pop_front();
            }
            if let Some(to) = block.send.filter(|_| step.operation.sends()) {
                sent.entry((joint, *rank, to)).or_default().push_back(block.channel);
            }
            next.insert((*rank, *index), at + 1);
            order.push((*rank, *index, at));
        }
        if order.len() == before {
            return (order.len() == schedule.step_count()).then_some(order);
        }
    }
}
