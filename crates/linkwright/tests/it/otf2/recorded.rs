//! Tests the content of the recorded archive, as facts that a replay builds on.

use std::collections::BTreeMap;

use linkwright::program::otf2::{Archive, EventKind, Imbalance, Location, Root};
use linkwright::units::Bytes;

use super::{FOUR_RANKS, STENCIL, files};

fn stencil() -> Archive {
    Archive::read("traces.otf2", &files(STENCIL)).expect("a sound archive")
}

/// Returns the name of each region with the events recorded inside it, in order. An event outside
/// any region or inside a user's alone stands by itself.
fn calls(archive: &Archive, location: &Location) -> Vec<(String, Vec<EventKind>)> {
    let mut calls: Vec<(String, Vec<EventKind>)> = Vec::new();
    let mut open = None;
    for event in &location.events {
        match event.kind {
            EventKind::Enter { region } | EventKind::Leave { region }
                if !archive.regions[&region].name.starts_with("MPI_") => {}
            EventKind::Enter { region } => {
                calls.push((archive.regions[&region].name.to_string(), Vec::new()));
                open = Some(region);
            }
            EventKind::Leave { region } => assert_eq!(open.take(), Some(region)),
            EventKind::MeasurementOnOff { .. } => assert_eq!(open, None),
            kind => {
                assert!(open.is_some(), "{kind:?} lies outside an MPI call");
                calls.last_mut().expect("a call is open").1.push(kind);
            }
        }
    }
    calls
}

#[test]
fn every_rank_makes_the_calls_of_two_iterations() {
    let archive = stencil();
    assert_eq!((archive.creator.as_str(), archive.version), ("Linkwright's examples", [3, 2, 0]));
    assert_eq!(archive.ranks, (0..32).collect::<Vec<_>>());
    for location in &archive.locations {
        let calls = calls(&archive, location);
        let names: Vec<&str> = calls.iter().map(|(name, _)| name.as_str()).collect();
        let iteration = [&["MPI_Irecv"; 8][..], &["MPI_Send"; 8], &["MPI_Waitall", "MPI_Barrier"]];
        let iteration = iteration.concat();
        let expected = [&["MPI_Init"][..], &iteration, &iteration, &["MPI_Barrier"]].concat();
        assert_eq!(names, expected, "rank {:?}", location.rank);
        for (name, inside) in &calls {
            match (name.as_str(), &inside[..]) {
                ("MPI_Init", []) => {}
                ("MPI_Irecv", [EventKind::MpiIrecvRequest { .. }]) => {}
                ("MPI_Send", [EventKind::MpiSend(sent)]) => {
                    assert_eq!((sent.communicator, sent.length), (0, Bytes(128 << 10)));
                }
                ("MPI_Waitall", received) => {
                    let complete = |kind: &&EventKind| matches!(kind, EventKind::MpiIrecv { .. });
                    assert_eq!(received.iter().filter(complete).count(), 8);
                    assert_eq!(received.len(), 8);
                }
                (
                    "MPI_Barrier",
                    [EventKind::MpiCollectiveBegin, EventKind::MpiCollectiveEnd(end)],
                ) => {
                    assert_eq!((end.communicator, end.root), (0, Root::None));
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn every_message_that_is_sent_is_received() {
    for archive in [STENCIL, FOUR_RANKS] {
        let archive = Archive::read("traces.otf2", &files(archive)).expect("a sound archive");
        let world_rank = |own: u32, communicator: u32, peer: u32| {
            archive.communicators[&communicator].members.world_rank(own, peer).expect("a peer")
        };
        let mut under_way: BTreeMap<(u32, u32, u32, u32, Bytes), i32> = BTreeMap::new();
        for location in &archive.locations {
            for event in &location.events {
                let Some(own) = location.rank else { continue };
                let (message, sign) = match event.kind {
                    EventKind::MpiSend(message) => (message, 1),
                    EventKind::MpiIsend { message, .. } => (message, 1),
                    EventKind::MpiRecv(message) => (message, -1),
                    EventKind::MpiIrecv { message, .. } => (message, -1),
                    _ => continue,
                };
                let peer = world_rank(own, message.communicator, message.peer);
                let (from, to) = if sign > 0 { (own, peer) } else { (peer, own) };
                let key = (from, to, message.communicator, message.tag, message.length);
                *under_way.entry(key).or_default() += sign;
            }
        }
        under_way.retain(|_, count| *count != 0);
        let lost: Vec<_> = under_way.keys().map(|(from, to, ..)| (*from, *to)).collect();
        let sent_between_the_halves = [(0, 1), (1, 0), (2, 3), (3, 2)];
        let expected: &[_] = if archive.ranks.len() == 4 { &sent_between_the_halves } else { &[] };
        assert_eq!(lost, expected);
    }
}

#[test]
fn only_what_the_recording_cut_does_not_pair() {
    assert!(stencil().locations.iter().all(|location| location.unbalanced.is_empty()));
    let archive = Archive::read("traces.otf2", &files(FOUR_RANKS)).expect("a sound archive");
    for location in archive.locations.iter().filter(|location| location.rank.is_some()) {
        let names: Vec<_> = location
            .unbalanced
            .iter()
            .map(|one| (&*archive.regions[&one.region].name, one.imbalance))
            .collect();
        let cut = [
            ("step", Imbalance::NeverEntered),
            ("step", Imbalance::NeverLeft),
            ("iteration", Imbalance::NeverLeft),
        ];
        assert_eq!(names, cut);
    }
}
