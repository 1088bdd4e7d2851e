//! Broken schedules: whatever the checker accepts must be right in every interleaving.

use linkwright::collectives::{
    Buffer, Placement, Schedule, ScheduleFault, StepId, StepOperation, check,
};
use linkwright::engine::Random;
use proptest::prelude::*;

use super::interpreter::play;
use super::schedules;

/// Makes one change of one step or block.
#[derive(Debug, Clone, Copy)]
enum Mutation {
    Source(i64),
    Destination(i64),
    SourceBuffer(Buffer),
    DestinationBuffer(Buffer),
    Count(i64),
    DropDependency,
    AddDependency,
    Operation(usize),
    SendPeer(usize),
    ReceivePeer(usize),
    Channel(usize),
    LeaveGroup,
    JoinGroup(usize),
    Remove,
    Duplicate,
    SwapWithNext,
}

fn mutations() -> impl Strategy<Value = Mutation> {
    let by_one = prop_oneof![Just(-1_i64), Just(1)];
    let buffer = prop_oneof![Just(Buffer::Input), Just(Buffer::Output), Just(Buffer::Scratch)];
    prop_oneof![
        by_one.clone().prop_map(Mutation::Source),
        by_one.clone().prop_map(Mutation::Destination),
        buffer.clone().prop_map(Mutation::SourceBuffer),
        buffer.prop_map(Mutation::DestinationBuffer),
        by_one.prop_map(Mutation::Count),
        Just(Mutation::DropDependency),
        Just(Mutation::AddDependency),
        (0..StepOperation::ALL.len()).prop_map(Mutation::Operation),
        (0..5_usize).prop_map(Mutation::SendPeer),
        (0..5_usize).prop_map(Mutation::ReceivePeer),
        (0..5_usize).prop_map(Mutation::Channel),
        Just(Mutation::LeaveGroup),
        (0..5_usize).prop_map(Mutation::JoinGroup),
        Just(Mutation::Remove),
        Just(Mutation::Duplicate),
        Just(Mutation::SwapWithNext),
    ]
}

/// All steps, by rank, block and position.
fn places(schedule: &Schedule) -> Vec<(usize, usize, usize)> {
    let mut places = Vec::new();
    for (rank, program) in schedule.programs.iter().enumerate() {
        for (block, what) in program.blocks.iter().enumerate() {
            places.extend((0..what.steps.len()).map(|step| (rank, block, step)));
        }
    }
    places
}

/// Applies a mutation at a step; nothing where it changes nothing there.
fn mutate(
    schedule: &Schedule,
    (rank, block, index): (usize, usize, usize),
    mutation: Mutation,
    pick: usize,
) -> Option<Schedule> {
    let mut mutant = schedule.clone();
    let blocks = mutant.programs[rank].blocks.len();
    let what = &mut mutant.programs[rank].blocks[block];
    let length = what.steps.len();
    let step = &mut what.steps[index];
    match mutation {
        Mutation::Source(by) => {
            let slice = step.source.as_mut()?;
            slice.offset = slice.offset.checked_add_signed(by as i32)?;
        }
        Mutation::Destination(by) => {
            let slice = step.destination.as_mut()?;
            slice.offset = slice.offset.checked_add_signed(by as i32)?;
        }
        Mutation::SourceBuffer(buffer) => step.source.as_mut()?.buffer = buffer,
        Mutation::DestinationBuffer(buffer) => step.destination.as_mut()?.buffer = buffer,
        Mutation::Count(by) => step.count = step.count.checked_add_signed(by as i32)?,
        Mutation::DropDependency => {
            let found = pick.checked_rem(step.after.len())?;
            step.after.remove(found);
        }
        Mutation::AddDependency => {
            let (other, later) = (pick % blocks, pick / blocks % 4);
            step.after.push(StepId { block: other as u32, step: later as u32 });
        }
        Mutation::Operation(operation) => {
            step.operation = StepOperation::ALL[operation];
            step.source = step.source.or(step.destination);
            step.destination = step.destination.or(step.source);
        }
        Mutation::SendPeer(peer) => what.send = Some(peer),
        Mutation::ReceivePeer(peer) => what.receive = Some(peer),
        Mutation::Channel(channel) => what.channel = channel,
        Mutation::LeaveGroup => {
            let group = &mut mutant.channels[what.channel].group;
            group.remove(pick.checked_rem(group.len())?);
        }
        Mutation::JoinGroup(rank) => {
            let group = &mut mutant.channels[what.channel].group;
            let at = group.partition_point(|known| *known < rank);
            group.insert(at, rank);
        }
        Mutation::Remove => {
            what.steps.remove(index);
        }
        Mutation::Duplicate => {
            let copy = step.clone();
            what.steps.insert(index, copy);
        }
        Mutation::SwapWithNext if index + 1 < length => what.steps.swap(index, index + 1),
        Mutation::SwapWithNext => return None,
    }
    (mutant != *schedule).then_some(mutant)
}

/// Plays interleavings in every placement that the schedule declares.
fn interleavings(schedule: &Schedule, count: usize, seed: u64) -> Result<(), String> {
    let mut random = Random::new(seed);
    for placement in Placement::declared(schedule) {
        for turn in 0..count {
            let slots = if turn % 2 == 0 { 2 } else { usize::MAX };
            play(schedule, placement, slots, &mut random)
                .map_err(|problem| format!("{placement}: {problem}"))?;
        }
    }
    Ok(())
}

#[test]
fn the_interpreter_agrees_with_sound_schedules() {
    for ranks in 2..=5 {
        for schedule in schedules::all(ranks) {
            interleavings(&schedule, 20, 1).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_accepted_is_right_in_every_interleaving(
        ranks in 2..5_usize,
        base in 0..14_usize,
        mutation in mutations(),
        at in any::<prop::sample::Index>(),
        pick in 0..1000_usize,
        mode in 0..3,
    ) {
        let mut schedule = schedules::all(ranks).swap_remove(base);
        if schedule.in_place && mode > 0 {
            schedule.in_place = mode == 1;
            schedule.out_of_place = mode == 2;
        }
        let place = *at.get(&places(&schedule));
        if let Some(mutant) = mutate(&schedule, place, mutation, pick)
            && check(&mutant).is_ok()
        {
            let verdict = interleavings(&mutant, 60, pick as u64);
            prop_assert!(verdict.is_ok(), "{}, {mutation:?} at {place:?}", verdict.unwrap_err());
        }
    }
}

#[test]
fn a_dropped_dependency_is_a_race() {
    for ranks in 2..=5 {
        let bases = [schedules::star_reduce(ranks, 2), schedules::one_hop_reduce_scatter(ranks, 2)];
        for schedule in bases {
            for place in places(&schedule) {
                let Some(mutant) = mutate(&schedule, place, Mutation::DropDependency, 0) else {
                    continue;
                };
                let fault = check(&mutant).unwrap_err();
                assert!(matches!(fault, ScheduleFault::Race { .. }), "{fault}");
            }
        }
    }
}

/// A single change of these tight schedules breaks them nearly always: a checker that
/// accepted more than a few would be blind somewhere.
#[test]
fn changed_offsets_types_and_orders_are_caught() {
    for schedule in schedules::all(3) {
        for place in places(&schedule) {
            for mutation in [
                Mutation::Source(1),
                Mutation::Source(-1),
                Mutation::Destination(1),
                Mutation::Destination(-1),
                Mutation::Count(1),
                Mutation::Count(-1),
                Mutation::Remove,
            ] {
                let (rank, block, step) = place;
                let what = &schedule.programs[rank].blocks[block].steps[step];
                let unused = match mutation {
                    Mutation::Source(_) => !what.operation.reads_source(),
                    Mutation::Destination(_) => !what.operation.writes_destination(),
                    _ => false,
                };
                let Some(mutant) = mutate(&schedule, place, mutation, 0) else { continue };
                let caught = check(&mutant).is_err();
                assert!(caught || unused, "{}: {mutation:?} at {place:?}", schedule.name);
            }
        }
    }
}
