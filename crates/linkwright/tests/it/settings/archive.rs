//! Writes an archive of the Open Trace Format 2: two ranks loop over a computation and an all-reduce.
//!
//! The ranks are the locations 0 and 1. The all-reduce of 8 KiB counts 4 KiB for each rank. It stands in the region
//! `main_loop`, which each rank enters some times; the region `outer` is entered once around both.

use super::play::Files;

/// A chunk holds a file, and has this many bytes.
const CHUNK: usize = 4096;
/// It is no number.
const NONE: u64 = u32::MAX as u64;
/// Each region has a name, a role and a paradigm: an all-to-all of MPI, and code that its author marked.
const REGIONS: [(&str, u8, u8); 3] =
    [("MPI_Allreduce", 25, 4), ("main_loop", 4, 1), ("outer", 4, 1)];

/// Writes a number without leading zeros, behind its length.
fn number(value: u64) -> Vec<u8> {
    let size = (u64::BITS - value.leading_zeros()).div_ceil(8) as usize;
    [&[size as u8], &value.to_le_bytes()[..size]].concat()
}

fn numbers(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| number(*value)).collect()
}

/// Writes a record of a kind, with its length.
fn record(kind: u8, body: &[Vec<u8>]) -> Vec<u8> {
    let body = body.concat();
    [vec![kind, body.len() as u8], body].concat()
}

/// Writes a file of one chunk.
fn file(records: &[Vec<u8>]) -> Vec<u8> {
    [&[3, 0x42][..], &[0; 16], &records.concat(), &[2, 1]].concat()
}

fn definitions() -> Vec<Vec<u8>> {
    let length = 1_000_u64.to_le_bytes().to_vec();
    let mut made = vec![record(5, &[numbers(&[1_000_000_000, 0, 1_000]), length])];
    let texts = std::iter::once("world").chain(REGIONS.map(|(name, ..)| name));
    made.extend(
        texts
            .zip(0..)
            .map(|(text, id)| record(10, &[number(id), text.as_bytes().to_vec(), vec![0]])),
    );
    made.extend(REGIONS.iter().zip(0..).map(|((_, role, paradigm), id)| {
        let head = numbers(&[id, id + 1, 0]);
        let tail =
            [vec![0], numbers(&[0, 0, 0, id + 1]), vec![*role, *paradigm], number(1)].concat();
        record(15, &[head, tail])
    }));
    made.extend([0, 1].map(|id| record(14, &[numbers(&[id, 0]), vec![1], numbers(&[20, 0])])));
    for (id, kind) in [(1, 4), (2, 5)] {
        let (head, members) = (numbers(&[id, 0]), numbers(&[2, 0, 1]));
        made.push(record(18, &[head, vec![0], members, vec![kind, 4], number(0)]));
    }
    made.push(record(22, &[numbers(&[0, 0, 2]), vec![u8::MAX], number(0)]));
    made
}

fn events(turns: u32) -> Vec<Vec<u8>> {
    let mut time = 0_u64;
    let mut made = Vec::new();
    let mut happens = |kind: u8, after: u64, what: Vec<u8>| {
        time += after;
        made.push([vec![5], time.to_le_bytes().to_vec()].concat());
        made.push([vec![kind], what].concat());
    };
    let (enter, leave) = (12, 13);
    happens(enter, 0, number(2));
    for _ in 0..turns {
        happens(enter, 10, number(1));
        happens(enter, 2_000, number(0));
        happens(22, 0, vec![0]);
        let sizes = numbers(&[0, NONE, 8 << 10, 8 << 10]);
        let ended = [vec![11], sizes].concat();
        happens(23, 100, [vec![ended.len() as u8], ended].concat());
        happens(leave, 0, number(0));
        happens(leave, 0, number(1));
    }
    happens(leave, 10, number(2));
    made
}

/// Gives its files, by the names that the anchor `NAME.otf2` gives them; `turns` is how often ranks loop.
pub fn files(name: &str, turns: u32) -> Files {
    let definitions = definitions();
    let mut anchor = [&[3, 0x42][..], b"OTF2\0", &[3, 2, 3, 1, 1]].concat();
    for size in [CHUNK, CHUNK] {
        anchor.extend((size as u64).to_le_bytes());
    }
    anchor.extend([1, 1]);
    for count in [2, definitions.len() as u64] {
        anchor.extend(count.to_le_bytes());
    }
    anchor.extend(b"machine\0creator\0description\0");
    anchor.extend(0_u32.to_le_bytes());
    anchor.extend([0; 16]);
    anchor.extend([2, 1]);
    let mut files = Files::from([
        (format!("{name}.otf2"), anchor),
        (format!("{name}.def"), file(&definitions)),
    ]);
    for location in [0, 1] {
        files.insert(format!("{name}/{location}.def"), file(&[]));
        files.insert(format!("{name}/{location}.evt"), file(&events(turns)));
    }
    files
}
