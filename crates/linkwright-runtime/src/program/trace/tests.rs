//! Tests small archives as programs.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::network::RouteClass;
use crate::program::otf2::CollectiveOperation as Of;
use crate::program::otf2::{
    ClockCorrection, ClockProperties, CollectiveRecord, Communicator, Event, EventKind, Imbalance,
    Location, LocationKind, Members, MessageEnd, Region, RegionRole, Root, Unbalanced,
};
use crate::program::{
    CollectiveKind, Dependency, MOST_MESSAGE, Operation, Rank, RankProgram, WORLD,
};
use crate::units::{Bytes, Picoseconds};
use EventKind::{Enter, Leave, MpiIrecv, MpiIrecvRequest, MpiIsend, MpiIsendComplete};

/// Names two regions: an MPI call and one of the author's.
const CALL: u32 = 1;
const LOOP: u32 = 2;
/// Communicators: all ranks, one of two others, each rank alone, and two groups.
const ALL: u32 = 0;
const ODD: u32 = 1;
const SELF: u32 = 2;
const BETWEEN: u32 = 3;

/// An archive of ranks with these events, at a gigahertz: a tick is 1,000 ps.
fn archive(ranks: &[&[(u64, EventKind)]]) -> Archive {
    let region = |name: &str, paradigm| Region {
        name: name.into(),
        role: RegionRole::Function,
        paradigm,
        dynamic: false,
        phase: false,
    };
    let communicator =
        |members| Communicator { name: "".into(), paradigm: Paradigm::Mpi, members, parent: None };
    let all: Arc<[Rank]> = (0..ranks.len() as u32).collect();
    let odd: Arc<[Rank]> = (0..ranks.len() as u32).rev().filter(|rank| rank % 2 == 1).collect();
    let location = |(rank, events): (usize, &&[(u64, EventKind)])| Location {
        id: rank as u64,
        name: "Master thread".into(),
        kind: LocationKind::Thread,
        process: rank as u32,
        process_name: "".into(),
        rank: Some(rank as u32),
        clock: ClockCorrection::default(),
        events: events.iter().map(|(time, kind)| Event { time: *time, kind: *kind }).collect(),
        unbalanced: Vec::new(),
    };
    Archive {
        creator: String::new(),
        machine: String::new(),
        description: String::new(),
        version: [3, 1, 1],
        properties: Vec::new(),
        clock: ClockProperties {
            ticks_per_second: 1_000_000_000,
            global_offset: 0,
            trace_length: 0,
        },
        strings: BTreeMap::new(),
        regions: [
            (CALL, region("MPI_Call", Paradigm::Mpi)),
            (LOOP, region("loop", Paradigm::User)),
        ]
        .into(),
        communicators: [
            (ALL, communicator(Members::Ranks(Arc::clone(&all)))),
            (ODD, communicator(Members::Ranks(Arc::clone(&odd)))),
            (SELF, communicator(Members::Itself)),
            (BETWEEN, communicator(Members::Between(all, odd))),
        ]
        .into(),
        parameters: BTreeMap::new(),
        locations: ranks.iter().enumerate().map(location).collect(),
        ranks: (0..ranks.len()).collect(),
    }
}

fn message(peer: u32, communicator: u32) -> MessageEnd {
    MessageEnd { peer, communicator, tag: 7, length: Bytes(100) }
}

fn read(archive: &Archive) -> TraceProgram {
    program_of(archive, &TraceOptions::default()).expect("a program")
}

fn looped(archive: &Archive) -> Result<TraceProgram, TraceError> {
    let options = TraceOptions { main_loop: Some("loop".to_owned()), ..Default::default() };
    program_of(archive, &options)
}

fn compute(nanoseconds: u64) -> Operation {
    Operation::Compute { duration: Picoseconds(1_000 * nanoseconds) }
}

fn send(to: Rank, communicator: u32) -> Operation {
    Operation::Send { to, tag: 7, communicator, size: Bytes(100), route: RouteClass::Any }
}

fn receive(from: Rank, communicator: u32) -> Operation {
    Operation::Receive { from: Some(from), tag: Some(7), communicator, size: Bytes(100) }
}

fn dependencies(rank: &RankProgram, operation: usize) -> &[Dependency] {
    rank.dependencies(operation)
}

#[test]
fn both_halves_of_an_exchange_go_on_at_once() {
    let (enter, leave) = (Enter { region: CALL }, Leave { region: CALL });
    let events = [
        (10, enter),
        (11, EventKind::MpiSend(message(1, ALL))),
        (90, EventKind::MpiRecv(message(1, ALL))),
        (91, leave),
        (95, enter),
        (96, EventKind::MpiSend(message(1, ALL))),
        (99, leave),
    ];
    let program = read(&archive(&[&events, &[]])).program;
    let rank = &program.ranks[0];
    assert_eq!(
        rank.operations(),
        [receive(1, WORLD), send(1, WORLD), Operation::Join, compute(4), send(1, WORLD)]
    );
    let both = [Dependency::Started(1), Dependency::Completed(0), Dependency::Completed(1)];
    assert_eq!(dependencies(rank, 2), both);
    assert_eq!(program.ranks[1].operations(), []);
}

#[test]
fn requests_are_posted_where_made_and_waited_for_where_complete() {
    let events = [
        (0, Enter { region: CALL }),
        (1, MpiIrecvRequest { request: 1 }),
        (2, Leave { region: CALL }),
        (5, Enter { region: CALL }),
        (6, MpiIsend { message: message(0, ODD), request: 2 }),
        (7, Leave { region: CALL }),
        // A test that finds nothing, and one that finds the send.
        (17, Enter { region: CALL }),
        (18, EventKind::MpiRequestTest { request: 1 }),
        (19, Leave { region: CALL }),
        (20, Enter { region: CALL }),
        (21, MpiIsendComplete { request: 2 }),
        (22, Leave { region: CALL }),
        (30, MpiIrecv { message: message(0, ODD), request: 1 }),
    ];
    let TraceProgram { program, notes } = read(&archive(&[&[], &events, &[], &[]]));
    assert_eq!(program.communicators[1], [3, 1]);
    let rank = &program.ranks[1];
    assert_eq!(
        rank.operations(),
        [
            receive(3, 1),
            compute(3),
            send(3, 1),
            compute(11),
            Operation::Join,
            compute(8),
            Operation::Join,
        ]
    );
    assert_eq!(dependencies(rank, 4), [Dependency::Completed(3), Dependency::Completed(2)]);
    assert_eq!(dependencies(rank, 6), [Dependency::Completed(5), Dependency::Completed(0)]);
    assert_eq!(notes, []);
}

#[test]
fn requests_without_an_end_or_a_start_are_noted() {
    let call = CollectiveRecord {
        operation: Of::AllReduce,
        communicator: ALL,
        root: Root::None,
        sent: Bytes(8),
        received: Bytes(8),
    };
    let events = [
        (0, MpiIrecvRequest { request: 1 }),
        (0, MpiIsend { message: message(0, SELF), request: 2 }),
        (0, MpiIrecvRequest { request: 3 }),
        (0, EventKind::MpiRequestCancelled { request: 3 }),
        (0, MpiIrecv { message: message(0, SELF), request: 4 }),
        (0, EventKind::NonBlockingCollectiveComplete { call, request: 5 }),
        (0, MpiIsendComplete { request: 6 }),
        (0, EventKind::NonBlockingCollectiveRequest { request: 7 }),
    ];
    let TraceProgram { program, notes } = read(&archive(&[&events]));
    assert_eq!(program.ranks[0].operations(), [send(0, 1), receive(0, 1)]);
    assert_eq!(
        notes,
        [
            TraceNote::OpenRequests { count: 2 },
            TraceNote::UnwaitedSends { count: 1 },
            TraceNote::LateStarts { count: 2 },
            TraceNote::Cancelled { count: 1 },
        ]
    );
    assert!(notes.iter().all(|note| !note.to_string().is_empty()));
}

#[test]
fn a_probed_message_keeps_its_sender() {
    let probe = |message| EventKind::MpiProbe { sender: 1, communicator: ALL, tag: 7, message };
    let length = Bytes(100);
    let events = [
        (0, probe(8)),
        (0, probe(9)),
        (0, EventKind::MpiImrecvRequest { message: 9, request: 1 }),
        (0, EventKind::MpiMrecv { message: 8, length }),
        (0, EventKind::MpiImrecv { request: 1, length }),
    ];
    let program = read(&archive(&[&events, &[]])).program;
    let (one, other) = (receive(1, WORLD), receive(1, WORLD));
    assert_eq!(program.ranks[0].operations(), [one, other, Operation::Join]);
}

#[test]
fn time_passes_only_while_recording_and_outside_calls() {
    let on_off = |on| EventKind::MeasurementOnOff { on };
    let silent = Unbalanced { event: 5, region: CALL, imbalance: Imbalance::NeverLeft };
    let events = [
        (100, on_off(true)),
        (110, on_off(false)),
        (500, on_off(true)),
        (503, EventKind::BufferFlush { stop: 600 }),
        (604, Leave { region: CALL }),
        (608, Enter { region: CALL }),
        (700, Enter { region: CALL }),
        (701, Leave { region: CALL }),
        (709, Leave { region: LOOP }),
    ];
    let mut archive = archive(&[&events]);
    archive.locations[0].unbalanced.push(silent);
    let TraceProgram { program, notes } = read(&archive);
    let leave = Operation::Leave { region: 0 };
    assert_eq!(program.ranks[0].operations(), [compute(10 + 3 + 4 + 4 + 8), leave]);
    assert_eq!(notes, [TraceNote::SilentCalls { calls: [("MPI_Call".to_owned(), 2)].into() }]);
}

/// Holds a collective of MPI and of a program, and the bytes that each of four ranks sent and
/// received.
type Recorded = (Of, CollectiveKind, [(u64, u64); 4]);

/// These are the numbers that Score-P would record for an operation of 60 bytes on four ranks.
#[test]
fn sizes_follow_from_what_all_ranks_record() {
    let n = 60;
    let cases: [Recorded; 16] = [
        (Of::Barrier, CollectiveKind::Barrier, [(0, 0); 4]),
        (Of::Broadcast, CollectiveKind::Broadcast, [(0, n), (0, n), (4 * n, n), (0, n)]),
        (Of::Reduce, CollectiveKind::Reduce, [(n, 0), (n, 0), (n, 4 * n), (n, 0)]),
        (Of::Gather, CollectiveKind::Gather, [(n, 0), (n, 0), (n, 4 * n), (n, 0)]),
        (Of::Gatherv, CollectiveKind::Gather, [(0, 0), (90, 0), (30, 238), (118, 0)]),
        (Of::Scatter, CollectiveKind::Scatter, [(0, n), (0, n), (4 * n, n), (0, n)]),
        (Of::Scatterv, CollectiveKind::Scatter, [(0, 0), (0, 90), (238, 30), (0, 118)]),
        (Of::AllGather, CollectiveKind::AllGather, [(4 * n, 4 * n); 4]),
        (Of::AllGatherv, CollectiveKind::AllGather, [(0, 238), (8, 238), (400, 238), (8, 238)]),
        (Of::AllToAll, CollectiveKind::AllToAll, [(4 * n, 4 * n); 4]),
        (Of::AllToAllv, CollectiveKind::AllToAll, [(0, 0), (900, 0), (0, 0), (53, 953)]),
        (Of::AllReduce, CollectiveKind::AllReduce, [(4 * n, 4 * n); 4]),
        (Of::ReduceScatter, CollectiveKind::ReduceScatter, [(n, n), (n, 2 * n), (n, n), (n, 0)]),
        (Of::ReduceScatterBlock, CollectiveKind::ReduceScatter, [(n, n); 4]),
        (Of::Scan, CollectiveKind::Scan, [(3 * n, n), (2 * n, 2 * n), (n, 3 * n), (0, 4 * n)]),
        (Of::ExclusiveScan, CollectiveKind::Scan, [(3 * n, 0), (2 * n, n), (n, 2 * n), (0, 3 * n)]),
    ];
    let events = |rank: usize| -> Vec<(u64, EventKind)> {
        let call = |(operation, _, sizes): &Recorded| CollectiveRecord {
            operation: *operation,
            communicator: ALL,
            root: Root::Rank(2),
            sent: Bytes(sizes[rank].0),
            received: Bytes(sizes[rank].1),
        };
        cases.iter().map(|case| (0, EventKind::MpiCollectiveEnd(call(case)))).collect()
    };
    let events: Vec<_> = (0..4).map(events).collect();
    let events: Vec<&[_]> = events.iter().map(Vec::as_slice).collect();
    let program = read(&archive(&events)).program;
    for rank in &program.ranks {
        for (operation, (of, kind, _)) in rank.operations().iter().zip(&cases) {
            let size = if *kind == CollectiveKind::Barrier { 0 } else { n };
            let root = if kind.has_root() { 2 } else { 0 };
            let size = Bytes(size);
            let expected = Operation::Collective { kind: *kind, root, communicator: WORLD, size };
            assert_eq!(*operation, expected, "{of:?}");
        }
    }
}

/// Gives the size of a collective of eight ranks whose records all have the same bytes, and the notes.
fn of_eight(
    operation: Of,
    recorded: u64,
    collective_bytes: CollectiveBytes,
) -> (Bytes, Vec<TraceNote>) {
    let bytes = Bytes(recorded);
    let (communicator, root) = (ALL, Root::None);
    let call = CollectiveRecord { operation, communicator, root, sent: bytes, received: bytes };
    let events = [(0, EventKind::MpiCollectiveEnd(call))];
    let options = TraceOptions { collective_bytes, ..TraceOptions::default() };
    let read = program_of(&archive(&[&events[..]; 8]), &options).unwrap();
    (read.program.ranks[0].operations()[0].size(), read.notes)
}

#[test]
fn a_size_is_divided_with_a_note_and_never_where_that_leaves_a_rest() {
    use CollectiveBytes::{AsRecorded, Divided};
    let mebibyte = 1 << 20;
    let (size, notes) = of_eight(Of::AllReduce, mebibyte, Divided);
    let first =
        DividedSize { kind: CollectiveKind::AllReduce, ranks: 8, recorded: Bytes(mebibyte) };
    assert_eq!(size, Bytes(131_072));
    assert_eq!(notes, [TraceNote::DividedSizes { count: 1, first, size }]);
    let told = notes[0].to_string();
    assert!(
        told.contains("the first, 1048576 B of the all-reduce of 8 ranks, to 131072 B"),
        "{told}"
    );
    assert!(told.contains("Score-P") && told.contains("`trace.collective_bytes"), "{told}");
    // A scan is shared by seven others.
    for (operation, recorded) in [(Of::Scan, mebibyte), (Of::AllReduce, 12_345), (Of::AllToAll, 7)]
    {
        let (size, notes) = of_eight(operation, recorded, Divided);
        assert_eq!(size, Bytes(recorded), "{operation:?}");
        let [TraceNote::UndividedSizes { count: 1, first }] = &notes[..] else {
            panic!("{notes:?}")
        };
        assert_eq!(first.recorded, Bytes(recorded));
        assert!(notes[0].to_string().contains("leave a rest"), "{notes:?}");
    }
    for operation in [Of::AllReduce, Of::Scan, Of::AllGather, Of::AllToAll] {
        let (size, notes) = of_eight(operation, mebibyte, AsRecorded);
        assert_eq!((size, notes), (Bytes(mebibyte), Vec::new()), "{operation:?}");
    }
}

#[test]
fn what_cannot_be_played_is_refused_by_rank_event_and_call() {
    let call = |operation, communicator, root| {
        let (sent, received) = (Bytes(0), Bytes(0));
        EventKind::MpiCollectiveEnd(CollectiveRecord {
            operation,
            communicator,
            root,
            sent,
            received,
        })
    };
    let cases = [
        (
            call(Of::Other(99), ALL, Root::None),
            "the trace names the collective 99, which \
            Linkwright does not know",
        ),
        (call(Of::Broadcast, ALL, Root::None), "the collective has no root"),
        (call(Of::Broadcast, ALL, Root::Rank(4)), "the collective has no root"),
        (EventKind::MpiSend(message(0, BETWEEN)), "`communicator 3` joins two groups"),
        (EventKind::MpiSend(message(0, ODD)), "`communicator 1` does not hold this rank"),
    ];
    for (event, expected) in cases {
        let events = [(0, Enter { region: CALL }), (1, event), (2, Leave { region: CALL })];
        let error = program_of(&archive(&[&[], &[], &events]), &TraceOptions::default());
        let error = error.expect_err("no program").to_string();
        assert!(error.starts_with("rank 2, event 1, in MPI_Call: the "), "{error}");
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(program_of(&archive(&[]), &TraceOptions::default()), Err(TraceError::NoRanks));
    let mut slow = archive(&[&[(0, Enter { region: LOOP }), (u64::MAX, Leave { region: LOOP })]]);
    slow.clock.ticks_per_second = 1;
    let error = program_of(&slow, &TraceOptions::default()).expect_err("no program");
    assert_eq!(error, TraceError::TooLong { rank: 0, ticks_per_second: 1 });
}

#[test]
fn what_no_rank_has_the_memory_to_send_is_refused() {
    let sized = |length| {
        let message = MessageEnd { length, ..message(1, ALL) };
        let call = CollectiveRecord {
            operation: Of::Broadcast,
            communicator: ALL,
            root: Root::Rank(0),
            sent: Bytes(2 * length.0),
            received: length,
        };
        [
            EventKind::MpiSend(message),
            EventKind::MpiRecv(message),
            MpiIsend { message, request: 1 },
            MpiIrecv { message, request: 1 },
            EventKind::MpiCollectiveEnd(call),
        ]
    };
    let played = |event| {
        let events = [(0, Enter { region: CALL }), (1, event), (2, Leave { region: CALL })];
        let other: &[_] =
            if matches!(event, EventKind::MpiCollectiveEnd(_)) { &events } else { &[] };
        program_of(&archive(&[&events, other]), &TraceOptions::default())
    };
    for event in sized(MOST_MESSAGE) {
        assert!(played(event).is_ok(), "{event:?}");
    }
    for size in [Bytes(MOST_MESSAGE.0 + 1), Bytes(1 << 62)] {
        for event in sized(size) {
            let error = played(event).expect_err("no program").to_string();
            let expected = format!("rank 0, event 1, in MPI_Call: it carries {} bytes", size.0);
            assert!(error.starts_with(&expected), "{error}");
        }
    }
}

#[test]
fn collectives_of_one_rank_move_nothing() {
    let call = CollectiveRecord {
        operation: Of::AllReduce,
        communicator: SELF,
        root: Root::None,
        sent: Bytes(8),
        received: Bytes(8),
    };
    let events = [
        (0, EventKind::MpiCollectiveEnd(call)),
        (0, EventKind::NonBlockingCollectiveRequest { request: 1 }),
        (0, EventKind::NonBlockingCollectiveComplete { call, request: 1 }),
    ];
    assert_eq!(read(&archive(&[&events, &[]])).program.ranks[0].operations(), []);
}

#[test]
fn a_loop_reaches_from_its_first_entry_to_its_last_exit() {
    let (enter, leave) = (Enter { region: LOOP }, Leave { region: LOOP });
    let [first, last] = [Operation::Enter { region: 0 }, Operation::Leave { region: 0 }];
    let events = [(0, enter), (0, leave), (5, enter), (9, leave), (12, enter), (13, leave)];
    let program = looped(&archive(&[&events])).expect("a program").program;
    let rank = &program.ranks[0];
    let operations =
        [first, last, compute(5), first, compute(4), last, compute(3), first, compute(1), last];
    assert_eq!(rank.operations(), operations);
    assert_eq!(rank.body(), Some((0, 10)));
    let never_left = looped(&archive(&[&events[..5]])).expect("a program").program;
    assert_eq!(never_left.ranks[0].body(), Some((0, 8)));
    let error = looped(&archive(&[&events, &[]])).expect_err("a rank without the loop");
    assert!(error.to_string().contains("mark the loop with SCOREP_USER_REGION"), "{error}");
}

#[test]
fn requests_that_cross_the_loop_are_refused_or_unmark_it() {
    let events = [
        (0, MpiIsend { message: message(0, ALL), request: 1 }),
        (1, Enter { region: LOOP }),
        (2, MpiIsendComplete { request: 1 }),
        (3, Leave { region: LOOP }),
    ];
    let mut archive = archive(&[&events]);
    let error = looped(&archive).expect_err("a request crosses");
    let expected = "rank 0 waits in event 2, in no MPI call, for a request of event 0, but the main \
                    loop `loop` holds only one of them";
    assert!(error.to_string().starts_with(expected), "{error}");
    for name in MAIN_LOOPS {
        archive.regions.get_mut(&LOOP).expect("it is there").name = name.into();
        let TraceProgram { program, notes } = read(&archive);
        assert_eq!(program.ranks[0].body(), None);
        let region = name.to_owned();
        assert_eq!(notes, [TraceNote::LoopNotMarked { region, rank: 0 }]);
    }
}

#[test]
fn events_of_further_threads_are_counted() {
    let mut archive = archive(&[&[], &[(0, EventKind::MpiSend(message(0, ALL)))]]);
    archive.ranks.pop();
    archive.communicators.clear();
    let notes = read(&archive).notes;
    assert_eq!(notes, [TraceNote::OtherLocations { locations: 1, events: 1 }]);
}

#[test]
fn an_archive_is_called_as_its_folder() {
    for (anchor, name) in [
        ("runs/stencil/traces.otf2", "stencil"),
        ("runs\\stencil\\traces.otf2", "stencil"),
        ("stencil/./traces.otf2", "stencil"),
        ("/stencil//traces.otf2", "stencil"),
        ("stencil.otf2", "stencil"),
        ("./stencil.otf2", "stencil"),
        ("../stencil.otf2", "stencil"),
        ("", ""),
    ] {
        assert_eq!(archive_name(anchor), name, "{anchor}");
    }
}
