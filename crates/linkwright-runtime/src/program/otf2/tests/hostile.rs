//! Sizes that no file can hold: an error, and no memory.

use allocation_counter::measure;

use super::super::Archive;
use super::writer::Field::{Byte, Number};
use super::writer::{Sample, fixed, record};
use super::{ORDER, refused};

/// Limits the memory that an archive of some hundred bytes may take at any time, in bytes.
const MOST_MEMORY: u64 = 64 << 10;

fn refused_without_memory(problem: &str, change: impl FnOnce(&mut Sample)) {
    let mut error = String::new();
    let memory = measure(|| error = refused(change));
    assert!(error.contains(problem), "{problem}: {error}");
    assert!(memory.bytes_max < MOST_MEMORY, "{problem}: {memory:?}");
}

#[test]
fn a_size_beyond_the_file_takes_no_memory() {
    let huge = 1_000_000_000_000_000_000;
    let long = |kind| [vec![kind, 255], fixed(ORDER, 8, huge), vec![0; 20]].concat();
    refused_without_memory("the record's body needs more bytes", |sample| {
        sample.events[4] = long(14);
    });
    refused_without_memory("the record's body needs more bytes", |sample| {
        sample.definitions[2] = long(10);
    });
    refused_without_memory("a global id needs more bytes", |sample| {
        sample.local[0] = record(ORDER, 5, &[Byte(3), Number(huge), Byte(0), Number(1)]);
    });
    refused_without_memory("a local id needs more bytes", |sample| {
        sample.local[0] = record(ORDER, 5, &[Byte(3), Number(huge), Byte(1)]);
    });
    refused_without_memory("a group's member needs more bytes", |sample| {
        let most = u64::from(u32::MAX) - 1;
        sample.definitions[8] =
            record(ORDER, 18, &[Number(1), Number(0), Byte(0), Number(most), Number(9)]);
    });
}

/// Asserts the reader's refusal of a sample whose anchor file has some bytes set to `value`.
fn refused_anchor(problem: &str, place: std::ops::Range<usize>, value: u8) {
    let mut files = Sample::new(ORDER).files();
    files.get_mut("traces.otf2").expect("there is an anchor file")[place].fill(value);
    let mut error = String::new();
    let memory = measure(|| {
        let read = Archive::read("traces.otf2", &files);
        error = read.expect_err("a changed anchor file").to_string();
    });
    assert!(error.contains(problem), "{problem}: {error}");
    assert!(memory.bytes_max < MOST_MEMORY, "{memory:?}");
}

#[test]
fn counts_in_the_anchor_file_are_not_believed() {
    let length = Sample::new(ORDER).files()["traces.otf2"].len();
    let properties = length - 2 - 16 - b"name\0value\0".len() - 4;
    refused_anchor("a property's name has no end", properties..properties + 4, u8::MAX);
    refused_anchor("the size of event chunks is less than 19 bytes", 12..20, 0);
    refused_anchor("announces 18446744073709551615 locations", 30..38, u8::MAX);
    refused_anchor("announces 18446744073709551615 global", 38..46, u8::MAX);
}

#[test]
fn many_communicators_share_their_group() {
    let mut sample = Sample::new(ORDER);
    let ranks = 60;
    for id in 0..ranks {
        let location = [Number(100 + id), Number(0), Byte(1), Number(0), Number(0)];
        sample.definitions.push(record(ORDER, 14, &location));
    }
    let mut members = vec![Number(1), Number(0), Byte(0), Number(ranks)];
    members.extend((0..ranks).map(|id| Number(100 + id)));
    members.extend([Byte(4), Byte(4), Number(0)]);
    sample.definitions[8] = record(ORDER, 18, &members);
    for id in 100..10_100 {
        let fields = [Number(id), Number(0), Number(2), Number(7), Number(0)];
        sample.definitions.push(record(ORDER, 22, &fields));
    }
    sample.locations = 2 + ranks;
    sample.event_chunk = 1 << 20;
    sample.definition_chunk = 1 << 20;
    let files = sample.files();
    let size = files.values().map(Vec::len).sum::<usize>() as u64;
    let memory = measure(|| drop(Archive::read("traces.otf2", &files).map(|read| read.ranks)));
    assert!(memory.bytes_max < 40 * size, "{memory:?} for {size} bytes");
}
