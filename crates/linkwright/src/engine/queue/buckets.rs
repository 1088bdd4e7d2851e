//! Buckets of events that are not due yet, in the order of their scheduling.
//!
//! A time is read as a number of [`LEVELS`] digits. An event's level is that of the highest
//! digit in which its time differs from the origin, a time at or before every event's; its
//! bucket is that digit's value. So a level's buckets follow one another in time, and all of
//! a level's events come before all of the next level's. A bucket keeps its events in the
//! order in which they came, and spreading it over the levels below keeps that order too.

use super::Entry;

/// How many bits a digit has.
const DIGIT_BITS: usize = 8;
const DIGITS: usize = 1 << DIGIT_BITS;
const WORDS: usize = DIGITS.div_ceil(64);
/// How many digits a time has.
const LEVELS: usize = 64_usize.div_ceil(DIGIT_BITS);
/// How many events a chunk holds. A bucket of one chunk is sorted, which for up to 20 events
/// the standard library does in place; a larger one is spread.
pub(super) const CHUNK: usize = 16;
const NO_CHUNK: u32 = u32::MAX;

/// A list of chunks, of which all but the last are full.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    /// The time of its first event.
    earliest: u64,
    /// Its first chunk.
    head: u32,
    /// Where its next event goes; a multiple of [`CHUNK`] where its last chunk is full, and
    /// zero where it has none.
    cursor: u32,
}

const EMPTY: Bucket = Bucket { earliest: u64::MAX, head: NO_CHUNK, cursor: 0 };

/// The buckets of all levels, and the pool of chunks that they share.
#[derive(Debug, Clone)]
pub(super) struct Buckets<E> {
    origin: u64,
    /// Which levels have a bucket with events.
    occupied_levels: u32,
    /// Which buckets of each level have events.
    occupied: [[u64; WORDS]; LEVELS],
    buckets: Vec<Bucket>,
    /// The events of chunk `n` lie from `n * CHUNK` on.
    entries: Vec<Entry<E>>,
    /// The chunk after each, in its bucket or among the free ones.
    next: Vec<u32>,
    free: u32,
}

impl<E: Copy> Buckets<E> {
    pub(super) fn new() -> Self {
        Self {
            origin: 0,
            occupied_levels: 0,
            occupied: [[0; WORDS]; LEVELS],
            buckets: vec![EMPTY; LEVELS * DIGITS],
            entries: Vec::new(),
            next: Vec::new(),
            free: NO_CHUNK,
        }
    }

    /// Adds an event that is not before the origin.
    #[inline]
    pub(super) fn push(&mut self, entry: Entry<E>) {
        debug_assert!(entry.time >= self.origin, "the origin lies before every event");
        let level = (63 - ((entry.time ^ self.origin) | 1).leading_zeros() as usize) / DIGIT_BITS;
        let digit = (entry.time >> (level * DIGIT_BITS)) as usize % DIGITS;
        let index = level * DIGITS + digit;
        if (self.buckets[index].cursor as usize).is_multiple_of(CHUNK) {
            self.extend(level, digit, entry);
        }
        let bucket = &mut self.buckets[index];
        self.entries[bucket.cursor as usize] = entry;
        bucket.cursor += 1;
        bucket.earliest = bucket.earliest.min(entry.time);
    }

    /// Gives a bucket an empty chunk, from the free ones where there is one.
    fn extend(&mut self, level: usize, digit: usize, filler: Entry<E>) {
        if self.free == NO_CHUNK {
            self.free = u32::try_from(self.next.len()).expect("chunks are numbered by 32 bits");
            self.entries.resize(self.entries.len() + CHUNK, filler);
            self.next.push(NO_CHUNK);
        }
        let chunk = self.free;
        self.free = self.next[chunk as usize];
        self.next[chunk as usize] = NO_CHUNK;
        let bucket = &mut self.buckets[level * DIGITS + digit];
        if bucket.cursor == 0 {
            bucket.head = chunk;
            self.occupied[level][digit / 64] |= 1 << (digit % 64);
            self.occupied_levels |= 1 << level;
        } else {
            self.next[(bucket.cursor as usize - 1) / CHUNK] = chunk;
        }
        bucket.cursor = chunk * CHUNK as u32;
    }

    /// The level and digit of the first bucket with events.
    fn first(&self) -> Option<(usize, usize)> {
        if self.occupied_levels == 0 {
            return None;
        }
        let level = self.occupied_levels.trailing_zeros() as usize;
        let word = self.occupied[level].iter().position(|word| *word != 0)?;
        Some((level, word * 64 + self.occupied[level][word].trailing_zeros() as usize))
    }

    /// The time of the first event.
    pub(super) fn earliest(&self) -> Option<u64> {
        self.first().map(|(level, digit)| self.buckets[level * DIGITS + digit].earliest)
    }

    /// Moves the first events, in order, by `take`, and gives the last time up to which all
    /// are moved; `None` where there is no event.
    pub(super) fn take_first(&mut self, mut take: impl FnMut(&[Entry<E>])) -> Option<u64> {
        loop {
            let (level, digit) = self.first()?;
            let bucket = std::mem::replace(&mut self.buckets[level * DIGITS + digit], EMPTY);
            let word = &mut self.occupied[level];
            word[digit / 64] &= !(1 << (digit % 64));
            if *word == [0; WORDS] {
                self.occupied_levels &= !(1 << level);
            }
            let shift = level * DIGIT_BITS;
            let below = !(u64::MAX << shift);
            self.origin = bucket.earliest & !below;
            let single = bucket.head as usize == (bucket.cursor as usize - 1) / CHUNK;
            let mut chunk = bucket.head;
            while chunk != NO_CHUNK {
                let start = chunk as usize * CHUNK;
                let end = match self.next[chunk as usize] {
                    NO_CHUNK => bucket.cursor as usize,
                    _ => start + CHUNK,
                };
                if level == 0 {
                    take(&self.entries[start..end]);
                } else if single {
                    self.entries[start..end].sort_by_key(|entry| entry.time);
                    take(&self.entries[start..end]);
                } else {
                    for index in start..end {
                        self.push(self.entries[index]);
                    }
                }
                let next = self.next[chunk as usize];
                self.next[chunk as usize] = self.free;
                self.free = chunk;
                chunk = next;
            }
            if level == 0 || single {
                return Some(self.origin | below);
            }
        }
    }

}
