//! Tests the checker on schedules written by hand, sound and broken.

use linkwright::collectives::check::{Cause, StepPlace, check_with_slots, limits};
use linkwright::collectives::{
    Collective, Placement, Schedule, ScheduleFault, Slice, StepId, StepOperation, check,
};

use super::schedules;

#[test]
fn sound_schedules_pass_in_every_placement() {
    for ranks in 2..=5 {
        for schedule in schedules::all(ranks) {
            let report = check(&schedule).unwrap_or_else(|fault| {
                panic!("{} {} of {ranks}: {fault}", schedule.name, schedule.collective)
            });
            assert_eq!(report.steps, schedule.step_count());
            assert_eq!(report.placements, Placement::declared(&schedule));
        }
    }
}

#[test]
fn a_ring_sends_what_the_textbook_says() {
    let report = check(&schedules::ring_all_reduce(4, 3)).unwrap();
    assert_eq!(report.sent_chunks, [18; 4]);
    // One turn takes six hops; a rank's only block starts the next where the last has ended.
    assert_eq!(report.longest_chain, 3 * 6);
    let report = check(&schedules::chain_broadcast(5, 2)).unwrap();
    assert_eq!((report.longest_chain, report.sent_chunks), (4, vec![2, 2, 2, 2, 0]));
}

#[test]
fn a_ring_needs_two_slots() {
    let fault = check_with_slots(&schedules::ring_all_reduce(3, 1), 1).unwrap_err();
    let ScheduleFault::Deadlock(waits) = fault else { panic!("{fault}") };
    assert_eq!(waits.len(), 3);
    assert!(waits.iter().all(|wait| wait.cause == Cause::Room && wait.step.step == 1));
    check_with_slots(&schedules::ring_all_reduce(3, 1), 2).unwrap();
    check_with_slots(&schedules::chain_broadcast(4, 5), 1).unwrap();
}

fn fault_of(schedule: Schedule, change: impl FnOnce(&mut Schedule)) -> ScheduleFault {
    let mut schedule = schedule;
    change(&mut schedule);
    check(&schedule).unwrap_err()
}

#[test]
fn faults_of_structure_are_named() {
    let star = || schedules::star_reduce(3, 2);
    let text = |change: fn(&mut Schedule)| fault_of(star(), change).to_string();
    assert!(text(|s| s.chunks = 0).contains("0 chunks"));
    assert!(text(|s| s.gpus.clear()).contains("no ranks"));
    assert!(text(|s| s.gpus.push(3)).contains("4 GPUs but programs for 3 ranks"));
    assert!(text(|s| (s.in_place, s.out_of_place) = (false, false)).contains("neither"));
    assert!(text(|s| s.collective = Collective::Reduce { root: 9 }).contains("rank 9"));
    assert!(text(|s| s.programs[1].blocks[0].channel = 7).contains("channel 7"));
    assert!(text(|s| s.programs[1].blocks[0].send = Some(7)).contains("send to rank 7"));
    assert!(text(|s| s.programs[1].blocks[0].send = Some(1)).contains("its own rank"));
    assert!(text(|s| s.programs[1].blocks[0].send = None).contains("no peer to send to"));
    assert!(text(|s| s.programs[0].blocks[2].receive = Some(1)).contains("both receive from"));
    assert!(text(|s| s.programs[1].blocks[0].steps[0].source = None).contains("no source"));
    assert!(text(|s| s.programs[1].blocks[0].steps[0].count = 0).contains("0 chunks"));
    assert!(text(|s| s.programs[1].blocks[0].steps[0].count = 3).contains("chunks 0 to 2"));
    assert!(
        text(|s| s.programs[0].blocks[1].steps[0].after[0].step = 9).contains("block 0 step 9")
    );
    assert!(text(|s| s.programs[0].blocks[2].steps.clear()).contains("receives nothing for it"));
    assert!(text(|s| s.programs[2].blocks.clear()).contains("sends nothing for it"));
    assert!(text(|s| s.programs[2].blocks[0].steps[0].count = 1).contains("receives 2"));
    let in_place = fault_of(schedules::one_hop_all_to_all(2, 1), |s| s.in_place = true);
    assert!(in_place.to_string().contains("all-to-all cannot"));
}

#[test]
fn circles_are_told_from_deadlocks() {
    let circle = fault_of(schedules::star_reduce(3, 2), |s| {
        s.programs[0].blocks[0].steps[0].after.push(StepId { block: 2, step: 0 });
    });
    let ScheduleFault::DependencyCycle(waits) = &circle else { panic!("{circle}") };
    assert_eq!(waits.len(), 3);
    // Each of two ranks receives before it sends.
    let deadlock = fault_of(schedules::ring_all_reduce(2, 1), |s| {
        for program in &mut s.programs {
            program.blocks[0].steps.reverse();
        }
    });
    let place = StepPlace { rank: 0, block: 0, step: 0 };
    let ScheduleFault::Deadlock(waits) = &deadlock else { panic!("{deadlock}") };
    assert!(waits.iter().any(|wait| wait.step == place && wait.cause == Cause::Message));
}

#[test]
fn wrong_content_is_named() {
    let twice = fault_of(schedules::star_reduce(3, 2), |s| {
        let step = &mut s.programs[2].blocks[0].steps[0];
        step.source = Some(Slice::input(0));
        s.programs[0].blocks[0].steps.push(linkwright::collectives::ScheduleStep {
            operation: StepOperation::Reduce,
            source: Some(Slice::input(0)),
            destination: Some(Slice::output(0)),
            count: 2,
            after: vec![StepId { block: 2, step: 0 }],
        });
    });
    assert!(matches!(twice, ScheduleFault::CountedTwice { rank: 0, chunk: 0, .. }), "{twice}");
    let wrong = fault_of(schedules::star_gather(3, 3), |s| {
        s.programs[1].blocks[0].steps[0].source = Some(Slice::input(0));
        s.programs[1].blocks[0].steps[0].count = 2;
        s.programs[0].blocks[1].steps[0].count = 2;
    });
    let text = "rank 0 must end with rank 1's chunk 2 in chunk 5 of its output, but has nothing, \
                when run out of place";
    assert_eq!(wrong.to_string(), text);
    let mixed = fault_of(schedules::ring_all_reduce(3, 1), |s| {
        s.programs[1].blocks[0].steps[1].source = Some(Slice::input(2));
    });
    assert!(matches!(mixed, ScheduleFault::MixedChunks { .. }), "{mixed}");
    let unwritten = fault_of(schedules::star_reduce(2, 2), |s| {
        s.programs[0].blocks[0].steps.clear();
        s.programs[0].blocks[1].steps[0].after.clear();
    });
    assert!(matches!(unwritten, ScheduleFault::Unwritten { chunk: 0, .. }), "{unwritten}");
    let written = fault_of(schedules::star_reduce(2, 2), |s| {
        let step = &mut s.programs[0].blocks[1].steps[0];
        (step.source, step.destination) = (Some(Slice::input(0)), Some(Slice::input(0)));
    });
    assert!(matches!(written, ScheduleFault::WritesInput { .. }), "{written}");
}

/// In place, a rank's input is also a part of its output: a schedule that reads it late is
/// sound only out of place.
#[test]
fn only_the_declared_placements_count() {
    let mut late = schedules::ring_all_reduce(2, 1);
    let steps = &mut late.programs[0].blocks[0].steps;
    let read = linkwright::collectives::ScheduleStep {
        operation: StepOperation::Copy,
        source: Some(Slice::input(1)),
        destination: Some(Slice::scratch(0)),
        count: 1,
        after: Vec::new(),
    };
    steps.push(read.clone());
    steps.push(linkwright::collectives::ScheduleStep {
        operation: StepOperation::Reduce,
        source: Some(Slice::scratch(0)),
        destination: Some(Slice::scratch(1)),
        ..read.clone()
    });
    steps.insert(
        0,
        linkwright::collectives::ScheduleStep {
            source: Some(Slice::input(1)),
            destination: Some(Slice::scratch(1)),
            ..read
        },
    );
    late.programs[0].scratch_chunks = 2;
    late.out_of_place = true;
    late.in_place = false;
    assert!(matches!(check(&late), Err(ScheduleFault::CountedTwice { .. })));
    let mut ring = schedules::ring_all_gather(3, 1);
    ring.programs[1].blocks[1].steps[0].source = Some(Slice::output(1));
    let fault = check(&ring).unwrap_err();
    assert!(matches!(fault, ScheduleFault::Race { placement: Placement::OutOfPlace, .. }));
    ring.out_of_place = false;
    assert_eq!(check(&ring).unwrap().placements, [Placement::InPlace]);
}

#[test]
fn hostile_sizes_are_refused_by_name() {
    let mut many = schedules::star_reduce(2, 1);
    many.gpus = vec![0; limits::RANKS + 1];
    many.programs.resize_with(limits::RANKS + 1, Default::default);
    let text = check(&many).unwrap_err().to_string();
    assert!(text.contains("4097 ranks") && text.contains("at most 4096"), "{text}");
    let mut deep = schedules::star_reduce(2, 1);
    let step = deep.programs[1].blocks[0].steps[0].clone();
    deep.programs[1].blocks[0].steps = vec![step; limits::STEPS + 1];
    assert!(check(&deep).unwrap_err().to_string().contains("steps; make it at most"));
}

/// Chunks cost nothing unless steps tell them apart.
#[test]
fn billions_of_chunks_are_a_few_runs() {
    let mut wide = schedules::star_reduce(4, 1);
    wide.chunks = u32::MAX;
    for block in wide.programs.iter_mut().flat_map(|program| &mut program.blocks) {
        block.steps[0].count = u32::MAX;
    }
    check(&wide).unwrap();
}
