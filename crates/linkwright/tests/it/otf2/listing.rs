//! Lists every definition and event, line by line as another reader lists them
//! (`validation/otf2/dump.py`).

use std::fmt::Write;
use std::fs;

use linkwright::program::otf2::{
    Archive, CollectiveOperation, CollectiveRecord, EventKind, Location, LocationKind, Members,
    MessageEnd, Paradigm, RegionRole, Root,
};

use super::{FOUR_RANKS, FOUR_RANKS_BIG_ENDIAN, STENCIL, files, repository};

const NONE: u32 = u32::MAX;

fn role(role: RegionRole) -> u8 {
    match role {
        RegionRole::Unknown => 0,
        RegionRole::Function => 1,
        RegionRole::Wrapper => 2,
        RegionRole::Loop => 3,
        RegionRole::Code => 4,
        RegionRole::Barrier => 15,
        RegionRole::OneToAll => 23,
        RegionRole::AllToOne => 24,
        RegionRole::AllToAll => 25,
        RegionRole::OtherCollective => 26,
        RegionRole::FileIo => 27,
        RegionRole::PointToPoint => 28,
        RegionRole::RemoteMemoryAccess => 29,
        RegionRole::DataTransfer => 30,
        RegionRole::Artificial => 31,
        RegionRole::Kernel => 40,
        RegionRole::Other(number) => number,
    }
}

fn paradigm(paradigm: Paradigm) -> u8 {
    match paradigm {
        Paradigm::User => 1,
        Paradigm::Compiler => 2,
        Paradigm::Mpi => 4,
        other => panic!("no archive here has {other:?}"),
    }
}

fn ranks(ranks: &[u32]) -> String {
    ranks.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
}

fn message(MessageEnd { peer, communicator, tag, length }: MessageEnd) -> String {
    format!("{peer} {communicator} {tag} {}", length.0)
}

fn collective(call: CollectiveRecord) -> String {
    let operation = match call.operation {
        CollectiveOperation::Barrier => 0,
        CollectiveOperation::Broadcast => 1,
        CollectiveOperation::Gatherv => 3,
        CollectiveOperation::AllReduce => 11,
        other => panic!("no archive here has {other:?}"),
    };
    let root = match call.root {
        Root::None => NONE,
        Root::ThisRank => NONE - 1,
        Root::ThisGroup => NONE - 2,
        Root::Rank(rank) => rank,
    };
    let CollectiveRecord { communicator, sent, received, .. } = call;
    format!("{operation} {communicator} {root} {} {}", sent.0, received.0)
}

/// Writes an event's kind and fields.
fn event(kind: EventKind, location: &Location) -> String {
    match kind {
        EventKind::Enter { region } => format!("Enter {region}"),
        EventKind::Leave { region } => format!("Leave {region}"),
        EventKind::MpiSend(sent) => format!("MpiSend {}", message(sent)),
        EventKind::MpiIsend { message: sent, request } => {
            format!("MpiIsend {} {request}", message(sent))
        }
        EventKind::MpiIsendComplete { request } => format!("MpiIsendComplete {request}"),
        EventKind::MpiIrecvRequest { request } => format!("MpiIrecvRequest {request}"),
        EventKind::MpiRecv(received) => format!("MpiRecv {}", message(received)),
        EventKind::MpiIrecv { message: received, request } => {
            format!("MpiIrecv {} {request}", message(received))
        }
        EventKind::MpiRequestTest { request } => format!("MpiRequestTest {request}"),
        EventKind::MpiRequestCancelled { request } => format!("MpiRequestCancelled {request}"),
        EventKind::MpiCollectiveBegin => "MpiCollectiveBegin".to_owned(),
        EventKind::MpiCollectiveEnd(call) => format!("MpiCollectiveEnd {}", collective(call)),
        EventKind::NonBlockingCollectiveRequest { request } => {
            format!("NonBlockingCollectiveRequest {request}")
        }
        EventKind::NonBlockingCollectiveComplete { call, request } => {
            format!("NonBlockingCollectiveComplete {} {request}", collective(call))
        }
        EventKind::MpiProbe { sender, communicator, tag, message } => {
            format!("MpiProbe {sender} {communicator} {tag} {message}")
        }
        EventKind::MpiMrecv { message, length } => format!("MpiMrecv {message} {}", length.0),
        EventKind::MpiImrecvRequest { message, request } => {
            format!("MpiImrecvRequest {message} {request}")
        }
        EventKind::MpiImrecv { request, length } => format!("MpiImrecv {request} {}", length.0),
        EventKind::MeasurementOnOff { on } => {
            format!("MeasurementOnOff {}", if on { 1 } else { 2 })
        }
        EventKind::BufferFlush { stop } => {
            format!("BufferFlush {}", location.clock.correct(stop))
        }
        EventKind::ParameterString { parameter, string } => {
            format!("ParameterString {parameter} {string}")
        }
        EventKind::ParameterInt { parameter, value } => format!("ParameterInt {parameter} {value}"),
        EventKind::ParameterUnsignedInt { parameter, value } => {
            format!("ParameterUnsignedInt {parameter} {value}")
        }
        EventKind::Other { .. } => "Other".to_owned(),
    }
}

/// Writes the listing of an archive.
pub(super) fn listing(archive: &Archive) -> String {
    let mut text = String::new();
    let clock = archive.clock;
    let (ticks, offset, length) = (clock.ticks_per_second, clock.global_offset, clock.trace_length);
    writeln!(text, "clock {ticks} {offset} {length}").unwrap();
    for (id, region) in &archive.regions {
        let flags = u8::from(region.dynamic) + 2 * u8::from(region.phase);
        let (role, paradigm) = (role(region.role), paradigm(region.paradigm));
        writeln!(text, "region {id} {role} {paradigm} {flags} {}", region.name).unwrap();
    }
    for (id, communicator) in &archive.communicators {
        let who = match &communicator.members {
            Members::Itself => "itself".to_owned(),
            Members::Ranks(one) => ranks(one),
            Members::Between(one, other) => format!("{} | {}", ranks(one), ranks(other)),
        };
        let (parent, name) = (communicator.parent.unwrap_or(NONE), &communicator.name);
        writeln!(text, "communicator {id} {parent} '{name}' {who}").unwrap();
    }
    for (id, parameter) in &archive.parameters {
        writeln!(text, "parameter {id} {}", parameter.name).unwrap();
    }
    for location in &archive.locations {
        assert_eq!(location.kind, LocationKind::Thread);
        let (id, count) = (location.id, location.events.len());
        let (name, process) = (&location.name, &location.process_name);
        writeln!(text, "location {id} 1 {count} {name} | {process}").unwrap();
        for one in &location.events {
            let (time, corrected) = (one.time, location.clock.correct(one.time));
            writeln!(text, "{time} {corrected} {}", event(one.kind, location)).unwrap();
        }
    }
    text
}

fn compare(archive: &str, reference: &str) {
    let read = Archive::read("traces.otf2", &files(archive)).expect("a sound archive");
    let reference = repository().join("validation/otf2").join(reference);
    let expected = fs::read_to_string(reference).expect("the listing is in the repository");
    let found = listing(&read);
    for (line, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "line {}", line + 1);
    }
    assert_eq!(found.lines().count(), expected.lines().count());
}

#[test]
fn the_recorded_archive_reads_as_another_reader_reads_it() {
    compare(STENCIL, "stencil4d-32.listing");
}

#[test]
fn the_written_archive_reads_as_another_reader_reads_it() {
    compare(FOUR_RANKS, "four-ranks.listing");
}

#[test]
fn the_other_byte_order_reads_the_same() {
    let [one, other] = [FOUR_RANKS, FOUR_RANKS_BIG_ENDIAN]
        .map(|archive| Archive::read("traces.otf2", &files(archive)).expect("a sound archive"));
    assert_eq!(one, other);
}
