//! Reads all-reduces in switches as steps of the heads and of those that they reduce for.

use std::collections::{BTreeMap, BTreeSet};

use super::blocks::{Joined, Line, signals, waits};
use super::json::{Node, Source};
use super::raw::{Op, Plan, Side};
use crate::collectives::ScheduleBuilder;
use crate::collectives::schedule::{Buffer, Channel, Schedule, Slice, StepOperation};
use crate::diagnostic::InputError;

/// A part that a rank lets a switch reduce: where from, where to and how long.
type Part = (Slice, Slice, u32);

/// The parts of a rank, each with the ranks of its group, who does which share of it, and where.
type Parts<'n> = BTreeMap<Part, (Vec<usize>, BTreeSet<(u64, u64)>, &'n Node)>;

/// Whether switches do something in the plan.
pub(super) fn is_in_switch(joined: &Joined) -> bool {
    joined.lines.iter().any(|line| line.ops.iter().any(|op| op.name == "glres"))
}

/// The programs of a schedule that has everything else.
pub(super) fn read(
    source: &Source,
    plan: &Plan,
    joined: &Joined,
    schedule: Schedule,
) -> Result<Schedule, InputError> {
    let mut parts: Vec<Parts> = vec![Parts::new(); plan.gpus.len()];
    for line in &joined.lines {
        read_line(source, plan, line, &mut parts[line.rank])?;
    }
    let Schedule { name, collective, gpus, chunks, .. } = &schedule;
    let mut builder = ScheduleBuilder::new(name, *collective, gpus.clone(), *chunks);
    for (head, parts) in parts.iter().enumerate() {
        for ((from, to, count), (group, shares, node)) in parts {
            let blocks = shares.first().map_or(0, |(_, blocks)| *blocks);
            let whole = (0..blocks).map(|block| (block, blocks)).collect::<BTreeSet<_>>();
            if *shares != whole {
                let problem = "the thread blocks that divide this do not do all of it";
                let remedy = "give each `tb_id` below `tbg_size` once";
                return Err(source.refuse(node, problem, remedy));
            }
            let channel = builder.channel(Channel::through_switch(group.iter().copied()));
            let operation = StepOperation::SwitchReduceMulticast;
            builder.in_switch(head, channel, operation, *from, *to, *count, &[]);
            for other in group.iter().filter(|other| **other != head) {
                builder.send(*other, channel, head, *from, *count, &[]);
                builder.receive(*other, channel, head, None, *to, *count, &[]);
            }
        }
    }
    let built = builder.finish();
    Ok(Schedule { channels: built.channels, programs: built.programs, ..schedule })
}

/// Collects the parts of a line, around which it must meet all of their groups.
fn read_line<'n>(
    source: &Source,
    plan: &Plan,
    line: &Line<'_, 'n>,
    parts: &mut Parts<'n>,
) -> Result<(), InputError> {
    let gpu = &plan.gpus[line.rank];
    // Whom the line has signalled and waited for since it last moved data.
    let mut met = [BTreeSet::new(), BTreeSet::new()];
    let mut group: BTreeSet<usize> = BTreeSet::new();
    let mut has_moved = false;
    let meets = |met: &[BTreeSet<usize>; 2], group: &BTreeSet<usize>| {
        let others = group.iter().filter(|other| **other != line.rank);
        others.clone().all(|other| met.iter().all(|met| met.contains(other)))
    };
    let refuse =
        |op: &Op, problem: &str, remedy: &str| Err(source.refuse(op.node, problem, remedy));
    for op in &line.ops {
        if let Some(way) = op.way.filter(|_| signals(op) || waits(op)) {
            let peers = op.channels.iter().map(|index| gpu.peers[way as usize][*index]);
            if has_moved {
                met = [BTreeSet::new(), BTreeSet::new()];
                has_moved = false;
            }
            met[usize::from(waits(op))].extend(peers);
        } else if op.name == "glres" {
            let part = part(op, |channel| gpu.switches[channel].clone());
            let Some((part, ranks)) = part else {
                let remedy =
                    "give it one switch channel to read and one to write, of the same ranks";
                return refuse(op, "this is no sum from inputs to outputs", remedy);
            };
            group.extend(&ranks);
            if !ranks.contains(&line.rank) || !(has_moved || meets(&met, &group)) {
                let remedy = "signal to all others of the group and wait for them before it";
                return refuse(op, "its block has not met the blocks of all other ranks", remedy);
            }
            has_moved = true;
            let share = op.share.unwrap_or((0, 1));
            let entry = parts.entry(part).or_insert_with(|| (ranks, BTreeSet::new(), op.node));
            if !entry.1.insert(share) {
                return refuse(op, "another operation does the same part", "keep one of them");
            }
        } else if op.name != "nop" {
            let remedy = "give it a plan without switch channels";
            return refuse(op, "beside `glres` this is not read here", remedy);
        }
    }
    if !group.is_empty() && (has_moved || !meets(&met, &group)) {
        let problem = "at its end the block does not meet the blocks of all other ranks";
        let remedy = "signal to all others of the group and wait for them";
        return Err(source.refuse(line.node, problem, remedy));
    }
    Ok(())
}

/// Says what an operation reduces, and for which ranks.
fn part(op: &Op, channel: impl Fn(usize) -> (Buffer, Vec<usize>)) -> Option<(Part, Vec<usize>)> {
    let ([from], [to]) = (&op.sources[..], &op.destinations[..]) else { return None };
    let (Side::Switch(read), Side::Switch(written)) = (from.side, to.side) else { return None };
    let ((input, mut readers), (output, mut writers)) = (channel(read), channel(written));
    readers.sort_unstable();
    writers.sort_unstable();
    let is_sum = (input, output, &readers) == (Buffer::Input, Buffer::Output, &writers);
    let slice = |buffer, offset| Slice { buffer, offset };
    let part = (slice(input, from.index), slice(output, to.index), from.size);
    (is_sum && from.size == to.size).then_some((part, readers))
}
