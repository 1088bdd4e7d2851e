//! Tests the work of a switch for ranks: every fault of its own kind is caught, and its data is
//! right.

use linkwright::collectives::execute::ExecuteOptions;
use linkwright::collectives::{
    Buffer, Placement, Reduction, Schedule, ScheduleFault, Slice, StepOperation, check, execute,
    reference,
};
use linkwright::engine::Random;
use proptest::prelude::*;

use super::interpreter::play;
use super::schedules;

fn fault(mut schedule: Schedule, change: impl FnOnce(&mut Schedule)) -> ScheduleFault {
    // This looks at the effect of the change itself, not at effects for buffers that are one.
    schedule.in_place = false;
    change(&mut schedule);
    check(&schedule).unwrap_err()
}

fn said(schedule: Schedule, change: impl FnOnce(&mut Schedule)) -> String {
    fault(schedule, change).to_string()
}

/// Finds the block of a rank with a step of that operation, and the step's place.
fn place(schedule: &Schedule, rank: usize, operation: StepOperation) -> (usize, usize) {
    let blocks = schedule.programs[rank].blocks.iter().enumerate();
    let mut found = blocks.filter_map(|(at, block)| {
        let step = block.steps.iter().position(|step| step.operation == operation)?;
        Some((at, step))
    });
    found.next().expect("the rank has such a step")
}

#[test]
fn a_missing_contribution_and_a_missing_receive_are_named() {
    let all = schedules::switch_all_reduce(4, 1);
    let (send, _) = place(&all, 2, StepOperation::Send);
    let found = fault(all.clone(), |all| all.programs[2].blocks[send].steps.clear());
    assert!(matches!(found, ScheduleFault::Unmatched { .. }), "{found}");
    assert!(found.to_string().contains("receives from rank 2, which sends nothing"), "{found}");
    let (receive, _) = place(&all, 1, StepOperation::Receive);
    let found = said(all, |all| all.programs[1].blocks[receive].steps.clear());
    assert!(found.contains("sends to rank 1, which receives nothing for it"), "{found}");
}

#[test]
fn a_missing_wait_is_a_race() {
    let chain = || schedules::switch_chain(&[0, 1, 2, 3], &[1, 2], 2);
    // Rank 1 contributes what it has read before, and sends back what has come back.
    let sends = |schedule: &mut Schedule| {
        let (block, step) = place(schedule, 1, StepOperation::Send);
        schedule.programs[1].blocks[block].steps[step].after.clear();
    };
    let found = fault(chain(), sends);
    assert!(matches!(found, ScheduleFault::Race { buffer: Buffer::Scratch, .. }), "{found}");
    let copies = |schedule: &mut Schedule| {
        let (block, step) = place(schedule, 1, StepOperation::Multicast);
        schedule.programs[1].blocks[block].steps[step].after.clear();
    };
    let found = fault(chain(), copies);
    assert!(matches!(found, ScheduleFault::Race { buffer: Buffer::Output, .. }), "{found}");
}

#[test]
fn writing_twice_and_counting_twice_are_caught() {
    let all = schedules::switch_all_reduce(3, 1);
    let (block, step) = place(&all, 0, StepOperation::SwitchReduceMulticast);
    // Two results of different channels at one place: nothing orders them.
    let found = fault(all.clone(), |all| {
        let own = &mut all.programs[0].blocks[block].steps[step];
        own.destination = Some(Slice::output(1));
    });
    assert!(matches!(found, ScheduleFault::Race { first_writes: true, .. }), "{found}");
    let (send, at) = place(&all, 1, StepOperation::Send);
    let found = fault(all, |all| {
        all.programs[1].blocks[send].steps[at].source = Some(Slice::input(2));
    });
    assert!(matches!(found, ScheduleFault::MixedChunks { .. }), "{found}");
    // Rank 0's part is in what rank 1 has read, and it contributes it again itself.
    let found = fault(schedules::switch_chain(&[0, 1, 2], &[1, 1], 1), |chain| {
        let blocks = &chain.programs[0].blocks;
        let [(send, _), (receive, _)] = [StepOperation::Send, StepOperation::Receive]
            .map(|operation| place(chain, 0, operation));
        let (mut sends, mut receives) = (blocks[send].clone(), blocks[receive].clone());
        (sends.send, sends.channel) = (Some(2), 2);
        (receives.receive, receives.channel) = (Some(2), 2);
        receives.steps[0].destination = Some(Slice::scratch(0));
        chain.programs[0].blocks.extend([sends, receives]);
        chain.channels[2].group.insert(0, 0);
    });
    assert!(matches!(found, ScheduleFault::CountedTwice { .. }), "{found}");
}

/// Breaks a schedule in one way.
type Change<'a> = &'a dyn Fn(&mut Schedule);

#[test]
fn groups_and_blocks_that_do_not_fit_are_named() {
    let all = || schedules::switch_all_reduce(3, 1);
    let (block, _) = place(&all(), 0, StepOperation::SwitchReduceMulticast);
    let (peer, _) = place(&all(), 0, StepOperation::Send);
    let cases: [(&str, Change<'_>); 10] = [
        ("a group of 1", &|it| it.channels[1].group.truncate(1)),
        ("rank 7 in its group", &|it| it.channels[1].group.push(7)),
        ("once each, in their order", &|it| it.channels[1].group.swap(0, 1)),
        ("goes through no switch", &|it| it.channels[0].group = vec![0, 1]),
        ("whose group this rank is not in", &|it| it.channels[1].group = vec![1, 2]),
        ("rank 2 as its peer, which is not in", &|it| it.channels[1].group = vec![0, 1]),
        ("but channel 0 goes through no switch", &|it| it.programs[0].blocks[block].channel = 0),
        ("and a peer", &|it| it.programs[0].blocks[block].send = Some(1)),
        ("give each a block of its own", &|it| {
            let steps = &mut it.programs[0].blocks[block].steps;
            steps.push(steps[0].clone());
            steps[1].operation = StepOperation::SwitchReduce;
        }),
        ("use one block for each connection", &|it| {
            let again = it.programs[0].blocks[block].clone();
            it.programs[0].blocks.push(again);
        }),
    ];
    for (expected, change) in cases {
        let found = said(all(), change);
        assert!(found.contains(expected), "{found}: {expected}");
    }
    let both: &dyn Fn(&mut Schedule) = &|it| {
        it.channels[1].relays.push(linkwright::collectives::Relay { from: 0, to: 1, through: 2 });
    };
    assert!(said(all(), both).contains("and has relays"));
    assert!(peer != block);
}

/// Ranks in some order, and how many each group adds.
fn groups() -> impl Strategy<Value = (Vec<usize>, Vec<usize>)> {
    (2..7_usize, any::<u32>()).prop_flat_map(|(ranks, cuts)| {
        let mut lengths = vec![1];
        for at in 1..ranks - 1 {
            if cuts >> at & 1 == 1 {
                lengths.push(0);
            }
            *lengths.last_mut().expect("there is one") += 1;
        }
        (Just((0..ranks).collect::<Vec<_>>()).prop_shuffle(), Just(lengths))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn any_groups_and_slices_reduce_as_the_reference(
        (order, lengths) in groups(),
        chunks in 1..5_u32,
        length in 0..60_usize,
        piece in 1..64_usize,
        seed in any::<u64>(),
    ) {
        let schedule = schedules::switch_chain(&order, &lengths, chunks);
        let report = check(&schedule).unwrap();
        // Every rank but the last sends each chunk on, and every head sends it back.
        prop_assert_eq!(report.sent_chunks.iter().sum::<u64>(),
            u64::from(chunks) * (order.len() + lengths.len() - 1) as u64);
        let mut random = Random::new(seed);
        let inputs: Vec<Vec<i64>> = (0..order.len())
            .map(|_| (0..length).map(|_| (random.uniform() * 1e15) as i64).collect())
            .collect();
        let expected = reference(schedule.collective, &inputs, Reduction::Sum).unwrap();
        for placement in Placement::declared(&schedule) {
            let options = ExecuteOptions { placement: Some(placement), piece, ..Default::default() };
            let found = execute(&schedule, inputs.clone(), Reduction::Sum, &options).unwrap();
            prop_assert_eq!(&found, &expected);
            for _ in 0..4 {
                prop_assert_eq!(play(&schedule, placement, 2, &mut random), Ok(()));
            }
        }
    }
}
