//! Names, ranges and connections: all that can be seen without following any data.

use std::collections::BTreeMap;

use super::fault::{Place, ScheduleFault};
use super::limits;
use crate::collectives::collective::Collective;
use crate::collectives::schedule::{Buffer, Schedule, Slice, Step, ThreadBlock};

/// Checks everything but the order of steps and what they move.
pub(super) fn check(schedule: &Schedule) -> Result<(), ScheduleFault> {
    header(schedule)?;
    sizes(schedule)?;
    for rank in 0..schedule.ranks() {
        let mut connections = BTreeMap::new();
        for (index, block) in schedule.programs[rank].blocks.iter().enumerate() {
            check_block(schedule, rank, index, block, &mut connections)?;
            for (step, what) in block.steps.iter().enumerate() {
                let place = Place { rank, block: index, step };
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
    place: Place,
    step: &Step,
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
    place: Place,
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
