//! Archives whose files are cut or changed: an error, or a reading that holds together.

use std::num::NonZeroU64;

use allocation_counter::measure;
use linkwright::diagnostic::InputError;
use linkwright::engine::Random;
use linkwright::program::otf2::{Archive, EventKind, Location, MessageEnd, Root};

use super::{FOUR_RANKS, Files, STENCIL, files};

/// Limits the memory that reading may take at any time, for each byte of the archive. An event
/// takes some fifty bytes in memory. In a recorded file it takes ten and more, with its time before
/// each.
const MOST_MEMORY_FOR_BYTE: u64 = 60;

fn below(random: &mut Random, bound: usize) -> usize {
    random.below(NonZeroU64::new(bound as u64).expect("something to choose from")) as usize
}

/// Every reference leads somewhere, and time does not go back.
fn check_sound(archive: &Archive) {
    for (rank, index) in (0..).zip(&archive.ranks) {
        assert_eq!(archive.locations[*index].rank, Some(rank));
    }
    for location in &archive.locations {
        assert!(location.events.is_sorted_by_key(|event| event.time));
        for event in &location.events {
            match event.kind {
                EventKind::Enter { region } | EventKind::Leave { region } => {
                    assert!(archive.regions.contains_key(&region));
                }
                EventKind::MpiSend(message)
                | EventKind::MpiRecv(message)
                | EventKind::MpiIsend { message, .. }
                | EventKind::MpiIrecv { message, .. } => check_peer(archive, location, message),
                EventKind::MpiCollectiveEnd(call) => {
                    assert!(archive.communicators.contains_key(&call.communicator));
                    assert!(call.root != Root::Rank(u32::MAX));
                }
                EventKind::ParameterString { parameter, string } => {
                    assert!(archive.parameters.contains_key(&parameter));
                    assert!(archive.strings.contains_key(&string));
                }
                _ => {}
            }
            let _ = location.clock.correct(event.time);
        }
        for one in &location.unbalanced {
            assert!(one.event < location.events.len());
        }
    }
}

fn check_peer(archive: &Archive, location: &Location, message: MessageEnd) {
    let members = &archive.communicators[&message.communicator].members;
    // A damaged archive may send within a communicator that the rank does not belong to.
    if let Some(peer) = location.rank.and_then(|own| members.world_rank(own, message.peer)) {
        assert!(location.rank == Some(peer) || (peer as usize) < archive.ranks.len());
    }
}

/// Reads what may be damaged; whether it was refused.
fn read(files: &Files) -> Result<(), InputError> {
    let size = files.values().map(Vec::len).sum::<usize>() as u64;
    let mut read = None;
    let memory = measure(|| read = Some(Archive::read("traces.otf2", files)));
    assert!(memory.bytes_max <= MOST_MEMORY_FOR_BYTE * size, "{memory:?} for {size} bytes");
    match read.expect("it was read") {
        Ok(archive) => {
            check_sound(&archive);
            Ok(())
        }
        Err(error) => {
            // Damage may ask for another location's files.
            let missing = error.problem == "the archive lacks this file";
            assert_ne!(files.contains_key(&error.file), missing, "{error}");
            let length = files.get(&error.file).map_or(0, Vec::len);
            assert!((1..=length + 1).contains(&error.position.column), "{error}");
            Err(error)
        }
    }
}

/// Reads an archive with one of its files replaced, which is put back afterwards.
fn with(files: &mut Files, name: &str, damaged: Vec<u8>) -> Result<(), InputError> {
    let sound = files.insert(name.to_owned(), damaged).expect("the file is there");
    let result = read(files);
    files.insert(name.to_owned(), sound);
    result
}

#[test]
fn every_cut_is_refused() {
    let mut files = files(FOUR_RANKS);
    for (name, bytes) in files.clone() {
        // The bytes behind the end mark, which is 2, say nothing more.
        let end = bytes.iter().rposition(|byte| *byte == 2).expect("an end mark");
        for length in 0..=end {
            let result = with(&mut files, &name, bytes[..length].to_vec());
            assert!(result.is_err(), "{name} cut at {length}");
        }
    }
}

#[test]
fn every_changed_byte_gives_an_error_or_a_sound_reading() {
    let (mut files, mut random) = (files(FOUR_RANKS), Random::new(4));
    let mut refused = 0_usize;
    for (name, bytes) in files.clone() {
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1 + below(&mut random, 255) as u8;
            refused += usize::from(with(&mut files, &name, damaged).is_err());
        }
    }
    assert!(refused > 2_000, "damage is seen: {refused}");
}

#[test]
fn random_damage_gives_an_error_or_a_sound_reading() {
    let (mut files, mut random) = (files(STENCIL), Random::new(5));
    for (name, bytes) in files.clone() {
        for _ in 0..6 {
            let cut = bytes[..below(&mut random, bytes.len() - 3)].to_vec();
            assert!(with(&mut files, &name, cut).is_err(), "{name}");
            let mut damaged = bytes.clone();
            for _ in 0..=below(&mut random, 8) {
                let place = below(&mut random, bytes.len());
                damaged[place] = below(&mut random, 256) as u8;
            }
            drop(with(&mut files, &name, damaged));
            let mut moved = bytes.clone();
            moved.rotate_left(below(&mut random, bytes.len()));
            drop(with(&mut files, &name, moved));
        }
    }
}

#[test]
fn exchanged_files_give_an_error_or_a_sound_reading() {
    let (mut files, mut random) = (files(STENCIL), Random::new(6));
    let names: Vec<String> = files.keys().cloned().collect();
    for name in &names {
        let other = files[&names[below(&mut random, names.len())]].clone();
        drop(with(&mut files, name, other));
    }
}
