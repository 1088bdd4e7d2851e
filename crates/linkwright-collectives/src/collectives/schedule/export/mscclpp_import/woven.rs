//! Turns the steps of lines into thread blocks of a schedule and its channels.
//!
//! A block of a schedule sends to one rank and receives from one. It does both on one channel,
//! where a rank has one connection to a peer. So a line is one block where it has one peer each
//! way. Else it is one block for each connection, and their steps wait for each other in their
//! order. Connections that blocks join get a channel together, the first where none of them is
//! already there.

use std::collections::{BTreeMap, BTreeSet};

use super::blocks::{self, Joined};
use super::json::Source;
use super::raw::Plan;
use super::steps::{Step, steps};
use crate::collectives::schedule::{
    Buffer, Channel, RankSchedule, Schedule, ScheduleStep, Slice, StepId, ThreadBlock,
};
use crate::diagnostic::InputError;

/// A block of the schedule, by the line that it is of and its number among those of the line.
type Key = (usize, usize);

/// Gives the schedule with its channels and programs.
pub(super) fn read(
    source: &Source,
    plan: &Plan,
    joined: &Joined,
    schedule: Schedule,
) -> Result<Schedule, InputError> {
    let together = steps(source, plan, joined, false)?;
    if let Some(woven) = weave(joined, &together, false, &schedule) {
        return Ok(woven);
    }
    let apart = steps(source, plan, joined, true)?;
    weave(joined, &apart, true, &schedule).ok_or_else(|| {
        let remedy = "give each connection channels of its own";
        source.refuse(plan.collective, "the plan's channels cannot be told apart", remedy)
    })
}

/// Gives the block of each step; with `apart` one for each connection.
fn keys(lines: &[Vec<Step>], apart: bool) -> Vec<Vec<Key>> {
    let of_line = |(line, steps): (usize, &Vec<Step>)| {
        let sends: BTreeSet<_> = steps.iter().filter_map(|step| step.sends).collect();
        let receives: BTreeSet<_> = steps.iter().filter_map(|step| step.receives).collect();
        if !apart && sends.len() <= 1 && receives.len() <= 1 {
            return vec![(line, 0); steps.len()];
        }
        let all: BTreeSet<_> = sends.union(&receives).copied().collect();
        let all: Vec<blocks::Channel> = all.into_iter().collect();
        let mut last = 0;
        let number = |step: &Step| {
            let used = step.sends.or(step.receives);
            last = used.and_then(|used| all.binary_search(&used).ok()).unwrap_or(last);
            (line, last)
        };
        steps.iter().map(number).collect()
    };
    lines.iter().enumerate().map(of_line).collect()
}

/// The schedule; None where two connections between the same ranks would share a channel.
fn weave(
    joined: &Joined,
    lines: &[Vec<Step>],
    apart: bool,
    schedule: &Schedule,
) -> Option<Schedule> {
    let keys = keys(lines, apart);
    let mut blocks: BTreeMap<Key, ThreadBlock> = BTreeMap::new();
    let mut users: BTreeMap<blocks::Channel, Vec<Key>> = BTreeMap::new();
    for (line, steps) in lines.iter().enumerate() {
        for (step, key) in steps.iter().zip(&keys[line]) {
            let block = blocks.entry(*key).or_insert_with(|| ThreadBlock {
                send: None,
                receive: None,
                channel: 0,
                steps: Vec::new(),
            });
            for channel in [step.sends, step.receives].into_iter().flatten() {
                users.entry(channel).or_default().push(*key);
            }
            let far = |channel: blocks::Channel| joined.ends.get(&channel).map(|end| end.0);
            block.send = block.send.or(step.sends.and_then(far));
            block.receive = block.receive.or(step.receives.map(|channel| channel.0));
        }
    }
    for (key, channel) in channels(joined, &users)? {
        blocks.get_mut(&key)?.channel = channel;
    }
    let channels = blocks.values().map(|block| block.channel + 1).max().unwrap_or(1);
    // Where each block and each step comes to stand in its rank.
    let mut programs = vec![RankSchedule::default(); schedule.ranks()];
    let mut numbers: BTreeMap<Key, u32> = BTreeMap::new();
    for (key, block) in blocks {
        let program = &mut programs[joined.lines[key.0].rank];
        numbers.insert(key, program.blocks.len() as u32);
        program.blocks.push(block);
    }
    let mut ids: Vec<Vec<StepId>> = Vec::with_capacity(lines.len());
    let mut lengths: BTreeMap<Key, u32> = BTreeMap::new();
    for of_line in &keys {
        let mut id = |key: &Key| {
            let length = lengths.entry(*key).or_default();
            *length += 1;
            StepId { block: numbers[key], step: *length - 1 }
        };
        ids.push(of_line.iter().map(&mut id).collect());
    }
    for (line, steps) in lines.iter().enumerate() {
        let program = &mut programs[joined.lines[line].rank];
        for (number, step) in steps.iter().enumerate() {
            let own = ids[line][number];
            let before = number.checked_sub(1).map(|before| ids[line][before]);
            let waited = step.after.iter().map(|(line, step)| ids[*line][*step]);
            let after = waited.chain(before).filter(|id| id.block != own.block);
            let Step { operation, source, destination, count, .. } = *step;
            let ends = [source, destination].into_iter().flatten();
            let scratch = ends.filter(|slice| slice.buffer == Buffer::Scratch);
            let end = scratch.map(|slice: Slice| slice.offset + count).max().unwrap_or(0);
            program.scratch_chunks = program.scratch_chunks.max(end);
            let step =
                ScheduleStep { operation, source, destination, count, after: after.collect() };
            program.blocks[own.block as usize].steps.push(step);
        }
    }
    Some(Schedule { channels: vec![Channel::default(); channels], programs, ..schedule.clone() })
}

/// The channel of each block that has a connection.
fn channels(
    joined: &Joined,
    users: &BTreeMap<blocks::Channel, Vec<Key>>,
) -> Option<BTreeMap<Key, usize>> {
    let mut above: BTreeMap<Key, Key> = BTreeMap::new();
    for keys in users.values() {
        for key in keys {
            let (a, b) = (top(&mut above, keys[0]), top(&mut above, *key));
            above.insert(a.max(b), a.min(b));
        }
    }
    let mut groups: BTreeMap<Key, Vec<(usize, usize)>> = BTreeMap::new();
    for (channel, keys) in users {
        let to = joined.ends.get(channel)?.0;
        groups.entry(top(&mut above, keys[0])).or_default().push((channel.0, to));
    }
    let mut taken: BTreeMap<(usize, usize), BTreeSet<usize>> = BTreeMap::new();
    let mut chosen: BTreeMap<Key, usize> = BTreeMap::new();
    for (group, pairs) in groups {
        if pairs.iter().collect::<BTreeSet<_>>().len() < pairs.len() {
            return None;
        }
        let is_free = |channel: &usize| {
            !pairs.iter().any(|pair| taken.get(pair).is_some_and(|all| all.contains(channel)))
        };
        let channel = (0..).find(is_free)?;
        for pair in pairs {
            taken.entry(pair).or_default().insert(channel);
        }
        chosen.insert(group, channel);
    }
    let all: BTreeSet<Key> = users.values().flatten().copied().collect();
    all.into_iter().map(|key| Some((key, *chosen.get(&top(&mut above, key))?))).collect()
}

/// The first of the blocks that a block is joined to.
fn top(above: &mut BTreeMap<Key, Key>, key: Key) -> Key {
    let mut at = key;
    while let Some(next) = above.get(&at).copied().filter(|next| *next != at) {
        at = next;
    }
    above.insert(key, at);
    at
}
