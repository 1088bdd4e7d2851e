//! Tests the reader on small archives, sound and not.

mod hostile;
mod writer;

use std::collections::BTreeMap;

use self::writer::Field::{Byte, Fixed, Number, Text};
use self::writer::{Order, Sample, bare, record};
use super::*;
use crate::diagnostic::Diagnosis;
use crate::units::Bytes;

const ORDER: Order = Order::LittleEndian;

fn read(sample: &Sample) -> Archive {
    Archive::read("traces.otf2", &sample.files()).expect("a sound archive")
}

/// Returns the reader's refusal of a sample that is changed.
fn refused(change: impl FnOnce(&mut Sample)) -> String {
    let mut sample = Sample::new(ORDER);
    change(&mut sample);
    Archive::read("traces.otf2", &sample.files()).expect_err("a changed archive").to_string()
}

#[test]
fn an_archive_reads_as_it_was_written() {
    let archive = read(&Sample::new(ORDER));
    assert_eq!((archive.creator.as_str(), archive.machine.as_str()), ("creator", "machine"));
    assert_eq!(archive.properties, [("name".to_owned(), "value".to_owned())]);
    let clock =
        ClockProperties { ticks_per_second: 1_000_000, global_offset: 70_000, trace_length: 400 };
    assert_eq!(archive.clock, clock);
    assert_eq!(&*archive.regions[&0].name, "MPI_Send");
    assert_eq!(archive.regions[&70_000].role, RegionRole::Loop);
    assert!(archive.regions[&70_000].dynamic && !archive.regions[&70_000].phase);
    assert_eq!(archive.ranks, [0, 1]);
    let ids: Vec<_> = archive.locations.iter().map(|one| (one.id, one.rank)).collect();
    assert_eq!(ids, [(9, Some(0)), (5, Some(1))]);
    assert_eq!(archive.communicators[&7].members, Members::Ranks([1, 0].into()));
    let message = MessageEnd { peer: 1, communicator: 7, tag: 3, length: Bytes(1 << 40) };
    let kinds: Vec<_> =
        archive.locations[0].events.iter().map(|one| (one.time, one.kind)).collect();
    assert_eq!(
        kinds,
        [
            (70_000, EventKind::Enter { region: 70_000 }),
            (70_000, EventKind::Enter { region: 0 }),
            (70_500, EventKind::MpiSend(message)),
            (70_500, EventKind::Other { record: 200 }),
            (71_100, EventKind::Leave { region: 0 }),
        ]
    );
    let imbalance = Imbalance::NeverLeft;
    let expected = [Unbalanced { event: 0, region: 70_000, imbalance }];
    assert_eq!(archive.locations[1].unbalanced, expected);
}

#[test]
fn byte_order_and_chunks_change_nothing() {
    let expected = read(&Sample::new(ORDER));
    for order in [Order::BigEndian, Order::LittleEndian] {
        for (event_chunk, definition_chunk) in [(40, 80), (47, 64), (4096, u64::MAX / 2)] {
            let sample = Sample { event_chunk, definition_chunk, ..Sample::new(order) };
            if event_chunk == 40 {
                assert!(sample.files()["traces/5.evt"].len() > 80, "more than two chunks");
            }
            assert_eq!(read(&sample), expected);
        }
    }
}

#[test]
fn records_of_older_versions_end_earlier() {
    let mut sample = Sample::new(ORDER);
    sample.definitions[4] = record(
        ORDER,
        15,
        &[Number(0), Number(1), Number(0), Byte(1), Number(0), Number(0), Number(0)],
    );
    let group = |id, kind, first, second| {
        let fields = [Number(id), Number(0), Byte(kind), Number(2), Number(first), Number(second)];
        record(ORDER, 18, &fields)
    };
    sample.definitions[8] = group(1, 6, 9, 5);
    sample.definitions[9] = group(2, 4, 1, 0);
    let (mut archive, expected) = (read(&sample), read(&Sample::new(ORDER)));
    let region = archive.regions.get_mut(&0).expect("the region is defined");
    assert_eq!((region.role, region.paradigm), (RegionRole::Unknown, Paradigm::Unknown));
    *region = expected.regions[&0].clone();
    assert_eq!(archive, expected);
}

#[test]
fn members_may_be_given_by_their_location() {
    let mut sample = Sample::new(ORDER);
    let head = [Number(2), Number(0), Byte(0), Number(1), Number(5)];
    let fields: Vec<_> = head.into_iter().chain([Byte(5), Byte(4), Number(1)]).collect();
    sample.definitions[9] = record(ORDER, 18, &fields);
    sample.events.remove(4);
    assert_eq!(read(&sample).communicators[&7].members, Members::Ranks([1].into()));
}

#[test]
fn peers_are_found_in_the_world() {
    let (one, other) = (Members::Ranks([4, 2].into()), Members::Itself);
    assert_eq!([0, 1, 2].map(|peer| one.world_rank(2, peer)), [Some(4), Some(2), None]);
    assert_eq!([0, 1].map(|peer| other.world_rank(9, peer)), [Some(9), None]);
    let between = Members::Between([4, 2].into(), [1].into());
    assert_eq!(
        [(4, 0), (1, 1), (2, 1), (3, 0)].map(|(own, peer)| between.world_rank(own, peer)),
        [Some(1), Some(2), None, None]
    );
}

#[test]
fn clocks_are_corrected_by_straight_lines() {
    let clock = |offsets: &[(u64, i64)]| {
        let offsets = offsets.iter().map(|&(time, offset)| ClockOffset { time, offset });
        ClockCorrection::new(offsets.collect())
    };
    assert_eq!(clock(&[(5, 1), (5, 2)]), None);
    let none = clock(&[]).expect("no offsets");
    let single = clock(&[(100, 50)]).expect("one offset");
    assert_eq!((none.correct(7), single.correct(7)), (7, 7));
    let drift = clock(&[(100, 10), (200, 30), (300, 20)]).expect("rising offsets");
    let corrected = [0, 100, 150, 200, 250, 300, 400].map(|time| drift.correct(time));
    assert_eq!(corrected, [0, 110, 170, 230, 275, 320, 410]);
    let wild = clock(&[(0, i64::MIN), (1, i64::MAX)]).expect("rising offsets");
    assert_eq!((wild.correct(0), wild.correct(u64::MAX)), (0, u64::MAX));
}

#[test]
fn exits_belong_to_the_latest_entry_of_their_region() {
    let enter = |region| EventKind::Enter { region };
    let leave = |region| EventKind::Leave { region };
    let unbalanced = |kinds: &[EventKind]| {
        let event = |kind: &EventKind| Event { time: 0, kind: *kind };
        let events: Vec<_> = kinds.iter().map(event).collect();
        let found = super::balance::unbalanced(&events);
        found.iter().map(|one| (one.event, one.imbalance)).collect::<Vec<_>>()
    };
    assert_eq!(unbalanced(&[enter(1), enter(2), leave(1), leave(2)]), []);
    assert_eq!(unbalanced(&[enter(1), enter(1), leave(1)]), [(0, Imbalance::NeverLeft)]);
    assert_eq!(
        unbalanced(&[leave(1), enter(1), enter(2), leave(2)]),
        [(0, Imbalance::NeverEntered), (1, Imbalance::NeverLeft)]
    );
}

#[test]
fn files_that_are_missing_are_named() {
    let sample = Sample::new(ORDER);
    let without = |gone: &[&str]| {
        let mut files = sample.files();
        files.retain(|name, _| !gone.contains(&name.as_str()));
        Archive::read("traces.otf2", &files).map_err(|error| error.to_string())
    };
    for gone in ["traces.otf2", "traces.def", "traces/5.def", "traces/9.def", "traces/9.evt"] {
        let error = without(&[gone]).expect_err("a file is missing");
        assert!(error.starts_with(&format!("{gone}:1:1: the archive lacks this file")), "{error}");
    }
    // Without any mapping table, ids are global: here they are not defined.
    let error = without(&["traces/5.def", "traces/9.def"]).expect_err("ids are not global");
    assert!(error.contains("refers to a region that is not defined"), "{error}");
    let error = Archive::read("traces", &sample.files()).expect_err("no anchor").to_string();
    assert!(error.contains("name the file that ends in .otf2"), "{error}");
}

#[test]
fn a_location_without_events_needs_no_file() {
    let mut sample = Sample::new(ORDER);
    let fields = [Number(5), Number(0), Byte(1), Number(0), Number(0)];
    sample.definitions[7] = record(ORDER, 14, &fields);
    let mut files = sample.files();
    files.remove("traces/5.evt");
    let archive = Archive::read("traces.otf2", &files).expect("a sound archive");
    assert_eq!(archive.locations[1].events, []);
}

#[test]
fn a_file_that_cannot_be_read_says_why() {
    struct Locked;
    impl ArchiveFiles for Locked {
        fn read(&self, _name: &str) -> Result<Option<std::borrow::Cow<'_, [u8]>>, Diagnosis> {
            Err(Diagnosis::of("this is no plain file").remedy("copy the archive's own file there"))
        }
    }
    let error = Archive::read("traces.otf2", &Locked).expect_err("nothing can be read");
    let told =
        "traces.otf2:1:1: this is no plain file: `traces.otf2`; copy the archive's own file there";
    assert_eq!(error.to_string(), told);
}

#[test]
fn what_is_not_read_is_refused_with_a_remedy() {
    let newer = refused(|sample| sample.trace_format = 3);
    assert!(newer.contains("traces.otf2:1:9: the trace format is newer"), "{newer}");
    let packed = refused(|sample| sample.substrate = 2);
    assert!(packed.contains("SCOREP_TRACING_USE_SION=false"), "{packed}");
    let compressed = refused(|sample| sample.compression = 2);
    assert!(compressed.contains("SCOREP_TRACING_COMPRESS=false"), "{compressed}");
    let text: BTreeMap<String, Vec<u8>> =
        [("traces.otf2".to_owned(), b"hello".to_vec())].into_iter().collect();
    let error = Archive::read("traces.otf2", &text).expect_err("a text").to_string();
    assert!(error.contains("this is no anchor file of OTF2 (byte 0): `hello`"), "{error}");
}

#[test]
fn definitions_that_disagree_are_refused() {
    for (problem, place, definition) in [
        ("the clock is defined twice", 1, record(ORDER, 5, &[Number(1), Number(0), Number(0)])),
        ("no ticks in a second", 0, record(ORDER, 5, &[Number(0), Number(0), Number(0)])),
        ("lack the clock's properties", 0, record(ORDER, 99, &[])),
        ("two definitions have the same id", 2, record(ORDER, 10, &[Number(0), Text("again")])),
        ("a string has no end", 2, record(ORDER, 10, &[Number(1), Byte(65)])),
        ("refers to a string that is not defined", 2, record(ORDER, 10, &[Number(2), Text("")])),
        (
            "two locations have the same id",
            7,
            record(ORDER, 14, &[Number(9), Number(0), Byte(1), Number(5), Number(0)]),
        ),
        ("announces 2 locations, not this many", 7, record(ORDER, 99, &[])),
        ("refers to a group of ranks that is not defined", 9, record(ORDER, 99, &[])),
        ("a group has a member that is none of the 0 ranks", 8, record(ORDER, 99, &[])),
    ] {
        let error = refused(|sample| sample.definitions[place] = definition);
        assert!(error.contains(problem), "{problem}: {error}");
        assert!(error.starts_with("traces.def:1:"), "{error}");
    }
    let error = refused(|sample| sample.missing_definitions = 1);
    assert!(error.contains("announces 12 global definitions, not this many"), "{error}");
}

#[test]
fn events_that_cannot_be_are_refused_at_their_byte() {
    let send = |peer, communicator| {
        record(ORDER, 14, &[Number(peer), Number(communicator), Number(0), Number(0)])
    };
    for (problem, place, event) in [
        ("an event comes before the first time", 0, bare(ORDER, 12, &Number(0))),
        ("the time is before that of the event before", 3, bare(ORDER, 5, &Fixed(69_999))),
        ("refers to a region that is not defined", 1, bare(ORDER, 12, &Number(2))),
        ("refers to a region that is not defined", 1, bare(ORDER, 12, &Number(u64::MAX))),
        ("the size of a region is more than 4 bytes", 1, bare(ORDER, 12, &Number(1 << 32))),
        ("refers to a communicator that is not defined", 4, send(0, 8)),
        ("the communicator 7 has 2 ranks, not this one", 4, send(2, 1000)),
        ("neither on nor off", 4, record(ORDER, 11, &[Byte(3)])),
        ("no record has this kind", 4, vec![4]),
        (
            "a message's tag needs more bytes than the 0",
            4,
            record(ORDER, 14, &[Number(0), Number(7)]),
        ),
    ] {
        let error = refused(|sample| sample.events[place] = event);
        assert!(error.contains(problem), "{problem}: {error}");
        assert!(error.starts_with("traces/9.evt:1:"), "{error}");
    }
    let error = refused(|sample| sample.events[1] = bare(ORDER, 12, &Number(2)));
    let expected = "traces/9.evt:1:28: an event refers to a region that is not defined (byte 27): \
                    `2`; copy the archive again";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn local_definitions_that_disagree_are_refused() {
    for (problem, place, definition) in [
        ("two mapping tables of one kind", 1, record(ORDER, 5, &[Byte(3), Number(0), Byte(0)])),
        ("a mapping table has no such form", 1, record(ORDER, 5, &[Byte(9), Number(0), Byte(2)])),
        (
            "the time of a clock offset is not after the one before",
            3,
            record(ORDER, 6, &[Fixed(70_000), Number(0), Fixed(0)]),
        ),
    ] {
        let error = refused(|sample| sample.local[place] = definition);
        assert!(error.contains(problem), "{problem}: {error}");
        assert!(error.starts_with("traces/9.def:1:"), "{error}");
    }
}
