//! Names, ranges and connections: all that can be seen without following any data.

use std::collections::BTreeMap;

use super::fault::{ScheduleFault, StepPlace};
use super::limits;
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::{
    Buffer, Channel, ChannelTransport, Schedule, ScheduleStep, Slice, ThreadBlock,
};

/// Checks everything but the order of steps and what they move.
pub(super) fn check(schedule: &Schedule) -> Result<(), ScheduleFault> {
    header(schedule)?;
    sizes(schedule)?;
    for (index, channel) in schedule.channels.iter().enumerate() {
        check_channel(schedule, index, channel)?;
    }
    for rank in 0..schedule.ranks() {
        let mut connections = BTreeMap::new();
        let mut in_switch = BTreeMap::new();
        for (index, block) in schedule.programs[rank].blocks.iter().enumerate() {
            check_block(schedule, rank, index, block, &mut connections)?;
            check_in_switch(schedule, rank, index, block, &mut in_switch)?;
            for (step, what) in block.steps.iter().enumerate() {
                let place = StepPlace { rank, block: index, step };
                check_step(schedule, block, place, what)?;
            }
        }
    }
    Ok(())
}

fn header(schedule: &Schedule) -> Result<(), ScheduleFault> {
    let fault = |problem: String| Err(ScheduleFault::Header { problem });
    let ranks = schedule.ranks();
    if ranks == 0 {
        return fault("has no ranks; it needs at least 1".into());
    }
    if schedule.programs.len() != ranks {
        let programs = schedule.programs.len();
        return fault(format!("has {ranks} GPUs but programs for {programs} ranks"));
    }
    if schedule.chunks == 0 {
        return fault("cuts a shard into 0 chunks; it needs at least 1".into());
    }
    if !schedule.in_place && !schedule.out_of_place {
        return fault("runs neither in place nor out of place; declare one of them".into());
    }
    if schedule.in_place && schedule.collective == Collective::AllToAll {
        return fault("says that it runs in place, which all-to-all cannot".into());
    }
    match schedule.collective.root() {
        Some(root) if root >= ranks => {
            fault(format!("has rank {root} as its root, but its last rank is {}", ranks - 1))
        }
        _ => Ok(()),
    }
}

fn sizes(schedule: &Schedule) -> Result<(), ScheduleFault> {
    let within = |what, found, limit| {
        if found > limit { Err(ScheduleFault::TooLarge { what, found, limit }) } else { Ok(()) }
    };
    within("ranks", schedule.ranks(), limits::RANKS)?;
    let steps = schedule.step_count();
    within("steps", steps, limits::STEPS)?;
    let blocks = || schedule.programs.iter().map(|program| program.blocks.len());
    let widest = blocks().max().unwrap_or(0);
    let all: usize = blocks().sum();
    within(
        "steps times blocks of the largest rank",
        steps.saturating_mul(widest),
        limits::CLOCK_ENTRIES,
    )?;
    within("steps times blocks", steps.saturating_mul(all), limits::CLOCK_UPDATES)?;
    let every_block = schedule.programs.iter().flat_map(|program| &program.blocks);
    let dependencies =
        every_block.flat_map(|block| &block.steps).map(|step| step.after.len()).sum();
    within("dependencies", dependencies, limits::DEPENDENCIES)
}

/// A group is of ranks that there are, each once and in order, and only switches have one.
fn check_channel(
    schedule: &Schedule,
    index: usize,
    channel: &Channel,
) -> Result<(), ScheduleFault> {
    let fault = |problem| Err(ScheduleFault::Channel { channel: index, problem });
    let group = &channel.group;
    let through_switch = channel.transport == ChannelTransport::Switch;
    if !through_switch && !group.is_empty() {
        return fault("has a group, but goes through no switch".to_owned());
    }
    if through_switch && group.len() < 2 {
        let ranks = group.len();
        return fault(format!(
            "goes through a switch with a group of {ranks}; it needs at least 2"
        ));
    }
    if through_switch && !channel.relays.is_empty() {
        return fault("goes through a switch and has relays; it can have one of them".to_owned());
    }
    let ranks = schedule.ranks();
    if let Some(unknown) = group.iter().find(|rank| **rank >= ranks) {
        return fault(format!("has rank {unknown} in its group, but there are {ranks} ranks"));
    }
    if !group.is_sorted_by(|a, b| a < b) {
        return fault("must name the ranks of its group once each, in their order".to_owned());
    }
    let crossings = &channel.crossings;
    let foreign = crossings.iter().flat_map(|it| [it.from, it.to]).find(|rank| *rank >= ranks);
    if let Some(unknown) = foreign {
        return fault(format!("crosses at rank {unknown}, but there are {ranks} ranks"));
    }
    if !crossings.is_sorted_by(|a, b| (a.from, a.to) < (b.from, b.to)) {
        return fault("must name each pair that crosses once, in the order of ranks".to_owned());
    }
    Ok(())
}

/// For each channel of a rank and each kind of in-switch operation, the block that does it.
type InSwitch = BTreeMap<(usize, &'static str), usize>;

/// In-switch steps need a switch channel that their rank belongs to, and are alike in a block.
fn check_in_switch(
    schedule: &Schedule,
    rank: usize,
    index: usize,
    block: &ThreadBlock,
    in_switch: &mut InSwitch,
) -> Result<(), ScheduleFault> {
    let fault = |problem| Err(ScheduleFault::Block { rank, block: index, problem });
    let (number, channel) = (block.channel, &schedule.channels[block.channel]);
    let through_switch = channel.transport == ChannelTransport::Switch;
    let outside = |other: usize| through_switch && !channel.group.contains(&other);
    if outside(rank) {
        return fault(format!("uses channel {number}, whose group this rank is not in"));
    }
    if let Some(peer) = [block.send, block.receive].into_iter().flatten().find(|at| outside(*at)) {
        return fault(format!(
            "has rank {peer} as its peer, which is not in channel {number}'s group"
        ));
    }
    let mut operations = block.steps.iter().map(|step| step.operation);
    let Some(first) = operations.find(|operation| operation.is_in_switch()) else { return Ok(()) };
    if !through_switch {
        let name = first.name();
        return fault(format!("has a {name}, but channel {number} goes through no switch"));
    }
    if block.send.is_some() || block.receive.is_some() {
        let name = first.name();
        return fault(format!("has a {name} and a peer; the peer needs a block of its own"));
    }
    if let Some(other) = operations.find(|other| other.is_in_switch() && *other != first) {
        let (first, other) = (first.name(), other.name());
        return fault(format!("has a {first} and a {other}; give each a block of its own"));
    }
    let ends =
        [("reduces in the switch", first.switch_reduces()), ("multicasts", first.multicasts())];
    for (what, _) in ends.into_iter().filter(|(_, does)| *does) {
        if let Some(earlier) = in_switch.insert((number, what), index) {
            return fault(format!(
                "{what} on channel {number}, as block {earlier} does; use one block for each \
                 connection"
            ));
        }
    }
    Ok(())
}

/// For each direction, peer and channel of a rank the block that has the connection.
type Connections = BTreeMap<(&'static str, usize, usize), usize>;

fn check_block(
    schedule: &Schedule,
    rank: usize,
    index: usize,
    block: &ThreadBlock,
    connections: &mut Connections,
) -> Result<(), ScheduleFault> {
    let fault = |problem| Err(ScheduleFault::Block { rank, block: index, problem });
    let channels = schedule.channels.len();
    if block.channel >= channels {
        return fault(format!("uses channel {}, but there are {channels}", block.channel));
    }
    for (direction, peer) in [("send to", block.send), ("receive from", block.receive)] {
        let Some(peer) = peer else { continue };
        if peer >= schedule.ranks() {
            let ranks = schedule.ranks();
            return fault(format!("would {direction} rank {peer}, but there are {ranks} ranks"));
        }
        if peer == rank {
            return fault(format!("would {direction} its own rank; use a copy instead"));
        }
        let key = (direction, peer, block.channel);
        if let Some(first) = connections.insert(key, index) {
            let channel = block.channel;
            return Err(ScheduleFault::ConnectionTwice {
                rank,
                first,
                second: index,
                direction,
                peer,
                channel,
            });
        }
    }
    Ok(())
}

fn check_step(
    schedule: &Schedule,
    block: &ThreadBlock,
    place: StepPlace,
    step: &ScheduleStep,
) -> Result<(), ScheduleFault> {
    let operation = step.operation;
    if operation.sends() && block.send.is_none() {
        return Err(ScheduleFault::NoPeer { place, operation, direction: "send to" });
    }
    if operation.receives() && block.receive.is_none() {
        return Err(ScheduleFault::NoPeer { place, operation, direction: "receive from" });
    }
    let ends = [
        ("source", step.source, operation.reads_source()),
        ("destination", step.destination, operation.writes_destination()),
    ];
    let moves = operation.receives() || ends.iter().any(|(_, _, needed)| *needed);
    if moves && step.count == 0 {
        return Err(ScheduleFault::NoChunks { place, operation });
    }
    for (what, slice, needed) in ends {
        match slice {
            Some(slice) if needed => within_buffer(schedule, place, slice, step.count)?,
            None if needed => return Err(ScheduleFault::NoSlice { place, operation, what }),
            _ => {}
        }
    }
    let blocks = &schedule.programs[place.rank].blocks;
    for earlier in &step.after {
        let (block, step) = (earlier.block as usize, earlier.step as usize);
        if blocks.get(block).is_none_or(|block| step >= block.steps.len()) {
            return Err(ScheduleFault::UnknownDependency { place, block, step });
        }
    }
    Ok(())
}

fn within_buffer(
    schedule: &Schedule,
    place: StepPlace,
    slice: Slice,
    count: u32,
) -> Result<(), ScheduleFault> {
    let Slice { buffer, offset } = slice;
    let length = schedule.buffer_chunks(place.rank, buffer);
    let offset = offset as usize;
    let end = offset + count as usize;
    if end > length {
        let last = end - 1;
        return Err(ScheduleFault::OutOfBuffer { place, buffer, offset, last, length });
    }
    Ok(())
}

/// The chunk at which a rank's buffer holds an address, for messages.
pub(super) const fn chunk_of(slice: Slice, first: usize, address: usize) -> (Buffer, usize) {
    (slice.buffer, slice.offset as usize + (address - first))
}
