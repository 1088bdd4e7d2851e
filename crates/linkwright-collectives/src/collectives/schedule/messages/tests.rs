use std::collections::BTreeMap;

use super::contract::assert_contract;
use super::*;
use crate::collectives::planners::plan::{Links, PLANNERS, Packing, Planner, Question, plan};
use crate::collectives::schedule::Buffer;
use crate::system::System;
use crate::system::test_support::{alone, on_one_switch};

/// Plans a collective on some GPUs of a DGX-1V and returns its messages.
fn planned(gpus: &[usize], collective: Collective, algorithm: &dyn Planner) -> MessageSchedule {
    let machine = alone("dgx1-v100");
    let found = plan(algorithm, &Question::new(&machine, gpus, collective)).unwrap();
    MessageSchedule::new(found.schedule).unwrap()
}

#[test]
fn every_plan_keeps_the_contract_of_lowerings() {
    let gpus = [0, 1, 2, 3, 6];
    for name in Collective::NAMES {
        for algorithm in PLANNERS {
            let root = 3;
            let collective = Collective::named(name, root).unwrap();
            let machine = alone("dgx1-v100");
            let Ok(found) = plan(algorithm, &Question::new(&machine, &gpus, collective)) else {
                continue;
            };
            let messages = MessageSchedule::new(found.schedule).unwrap();
            for size in [0, 1, 7, 1001, 100_003] {
                assert_contract(&messages, Bytes(size), Bytes(4_099), size);
            }
        }
    }
}

#[test]
fn a_broadcast_brings_every_rank_each_byte_once() {
    let messages = planned(&[0, 1, 2, 3], Collective::Broadcast { root: 2 }, &Packing);
    for (size, longest) in [(1, 1), (1_000_003, 4_096), (1_000_003, 1 << 30)] {
        for rank in 0..4 {
            let program = messages.program(rank, Bytes(size), Bytes(longest));
            let received = program.operations().iter().map(|operation| match operation {
                Operation::Receive { size, .. } => {
                    assert!(size.0 <= longest);
                    size.0
                }
                _ => 0,
            });
            assert_eq!(received.sum::<u64>(), if rank == 2 { 0 } else { size });
        }
    }
}

#[test]
fn pieces_are_not_so_many_that_operations_have_no_end() {
    let messages = planned(&[0, 1, 2, 3], Collective::AllReduce, &Packing);
    let cut = messages.cut(Bytes(u64::MAX), Bytes(1));
    let steps = messages.schedule().step_count() as u64;
    assert!(cut.pieces * steps <= MOST_OPERATIONS && (cut.pieces + 1) * steps > MOST_OPERATIONS);
    assert_eq!(messages.cut(Bytes(1 << 20), Bytes(1 << 30)).pieces, 1);
}

#[test]
fn schedules_that_the_check_refuses_are_refused() {
    let sound = planned(&[0, 1, 2], Collective::AllReduce, &Packing).schedule;
    let mut stuck = sound.clone();
    let first = &mut stuck.programs[0].blocks[0].steps[0];
    first.after.push(StepId { block: 0, step: 0 });
    let error = MessageSchedule::new(stuck).unwrap_err();
    assert!(matches!(error, TimeError::Stuck { .. }), "{error}");
    let mut unpaired = sound;
    let sends = |block: &&mut crate::collectives::ThreadBlock| block.send.is_some();
    let blocks = &mut unpaired.programs[1].blocks;
    let block = blocks.iter_mut().find(sends).unwrap();
    let (source, destination) = (Some(crate::collectives::Slice::input(0)), None);
    let operation = crate::collectives::StepOperation::Send;
    block.steps.push(crate::collectives::ScheduleStep {
        operation,
        source,
        destination,
        count: 1,
        after: Vec::new(),
    });
    let error = MessageSchedule::new(unpaired).unwrap_err();
    assert!(matches!(error, TimeError::Unpaired { rank: 1, .. }), "{error}");
}

#[test]
fn scratch_and_output_have_rooms_of_their_own() {
    // A reduction keeps partial sums in scratch, whose labels are those of what was sent.
    let messages = planned(&[0, 1, 2, 3, 4], Collective::ReduceScatter, &Packing);
    let schedule = messages.schedule();
    assert!((0..5).any(|rank| schedule.buffer_chunks(rank, Buffer::Scratch) > 0));
    assert_contract(&messages, Bytes(1_000_003), Bytes(10_007), 5);
}

/// Sums up what every rank sends over each class of links, and the bytes that come.
fn carried(messages: &MessageSchedule, size: Bytes) -> (BTreeMap<RouteClass, u64>, u64) {
    let (mut sent, mut received) = (BTreeMap::new(), 0);
    for rank in 0..messages.schedule().ranks() {
        for operation in messages.program(rank, size, Bytes(1 << 20)).operations() {
            match *operation {
                Operation::Send { size, route, .. } => *sent.entry(route).or_default() += size.0,
                Operation::Receive { size, .. } => received += size.0,
                _ => {}
            }
        }
    }
    (sent, received)
}

/// Plans for GPUs of both sockets of a server and one of another, which use both of its interfaces.
fn across() -> (System, MessageSchedule) {
    let system = on_one_switch("summit-node", 2, 100);
    let (collective, packing) = (Collective::AllReduce, &Packing);
    let found = plan(packing, &Question::new(&system, &[2, 3, 9], collective)).unwrap();
    (system, MessageSchedule::new(found.schedule).unwrap())
}

#[test]
fn messages_to_other_servers_take_the_interfaces_of_the_plan() {
    let (system, messages) = across();
    let size = Bytes(10_000_003);
    let (sent, received) = carried(&messages, size);
    assert_eq!(sent, BTreeMap::from([(RouteClass::Any, received)]));
    let (sent, of_ways) = carried(&messages.on_its_ways(&system), size);
    assert_eq!((of_ways, sent.values().sum::<u64>()), (received, received));
    for nic in [0, 1] {
        let leaves = |route: &RouteClass| matches!(route, RouteClass::Interfaces { from, .. } if *from == nic);
        assert!(sent.keys().any(leaves), "{nic}: {sent:?}");
    }
}

#[test]
fn a_message_is_cut_without_a_rest() {
    let (system, messages) = across();
    let messages = messages.on_its_ways(&system);
    let connections = [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)];
    let mut most = 0;
    for size in [0, 1, 4_099, 1 << 20, 1_000_003, u64::MAX] {
        for connection in connections {
            let parts = messages.ways.parts(0, connection, size);
            assert_eq!(parts.iter().map(|(_, part)| part.0).sum::<u64>(), size);
            assert!(size > 4_099 || parts.len() == 1, "{parts:?}");
            most = most.max(parts.len());
        }
    }
    assert!(most > 1, "some are cut");
}

#[test]
fn trees_over_the_host_beside_nvlink_are_messages_over_the_host() {
    let system = alone("dgx1-v100");
    let (collective, gpus) = (Collective::AllReduce, [0, 1, 2, 3]);
    let found =
        plan(&Packing, &Question::new(&system, &gpus, collective).over(Links::Host)).unwrap();
    let messages = MessageSchedule::new(found.schedule).unwrap().on_its_ways(&system);
    let (sent, received) = carried(&messages, Bytes(10_000_003));
    assert_eq!(sent, BTreeMap::from([(RouteClass::Host, received)]));
}
