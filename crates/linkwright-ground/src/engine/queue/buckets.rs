//! The events that are not due yet, in buckets that keep the order of their scheduling.
//!
//! A time is read as a number of eleven digits. The origin is a time at or before every event's. An
//! event's level is the highest digit in which its time differs from the origin. Its bucket is that
//! digit's value. So the buckets of a level follow one another in time, and all of a level's events
//! come before those of the next. When the first bucket's turn comes it is handed out in its order,
//! or if large it is spread over the levels below. Equal times always share a bucket, so that they
//! are never compared and never change places.
//!
//! The buckets' events lie in chunks of one pool. A chunk that is read is free for the next
//! event, so that memory follows the most events that ever waited at once.

use super::Entry;

/// The bits of each digit, from the lowest. A packet network schedules 10 ns to 2 us ahead:
/// such an event waits in one of 2,048 buckets of 1,024 ps. With 10^4 events waiting, that is
/// few enough to sort; with 10^5, they are spread once, over 32 buckets of 32 ps.
const DIGIT_BITS: [u32; 11] = [5, 5, 11, 6, 6, 6, 6, 6, 6, 6, 1];
/// The buckets are numbered level by level, each level from a multiple of 64 on. So 42 words have a
/// bit for each bucket, and one word has a bit for each of these words.
const WORDS: usize = 42;
const CHUNK: usize = 32;
/// How many events are sorted rather than spread: two chunks. Few enough that the standard
/// library's stable sort needs no memory from the heap.
pub(super) const SORTED: usize = 2 * CHUNK;
const NO_CHUNK: u32 = u32::MAX;

/// Where the digit lies, and its first bucket.
#[derive(Debug, Clone, Copy)]
struct Level {
    shift: u32,
    mask: u32,
    first: u32,
}

/// The level of the digit that each bit of a time belongs to.
const LEVEL_OF_BIT: [Level; 64] = {
    let mut levels = [Level { shift: 0, mask: 0, first: 0 }; 64];
    let mut shift = 0;
    let mut first = 0;
    let mut digit = 0;
    while digit < DIGIT_BITS.len() {
        let bits = DIGIT_BITS[digit];
        let mut bit = shift;
        while bit < shift + bits {
            levels[bit as usize] = Level { shift, mask: (1 << bits) - 1, first };
            bit += 1;
        }
        shift += bits;
        first += if bits < 6 { 64 } else { 1 << bits };
        digit += 1;
    }
    assert!(shift == 64 && first as usize == 64 * WORDS);
    levels
};

/// The lowest bit of the digit that the buckets of each word are of.
const SHIFT_OF_WORD: [u32; WORDS] = {
    let mut shifts = [0; WORDS];
    let mut bit = 0;
    while bit < 64 {
        let level = LEVEL_OF_BIT[bit];
        let mut word = level.first / 64;
        while word <= (level.first + level.mask) / 64 {
            shifts[word as usize] = level.shift;
            word += 1;
        }
        bit += 1;
    }
    shifts
};

/// Holds a list of chunks. All but the last are full.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    /// Gives the time of its first event.
    earliest: u64,
    head: u32,
    /// Where its next event goes; a multiple of [`CHUNK`] where that takes a new chunk, and
    /// zero where it has none yet.
    cursor: u32,
}

const EMPTY: Bucket = Bucket { earliest: u64::MAX, head: NO_CHUNK, cursor: 0 };

/// Holds the buckets of all levels, and the pool of chunks that they share.
#[derive(Debug, Clone)]
pub(super) struct Buckets<E> {
    origin: u64,
    /// Which words of `occupied` are not zero.
    occupied_words: u64,
    /// Which buckets have events.
    occupied: [u64; WORDS],
    buckets: Vec<Bucket>,
    /// Holds the events. Those of chunk `n` lie from `n * CHUNK` on.
    entries: Vec<Entry<E>>,
    /// The chunk that follows each in its bucket, or among the free ones.
    next: Vec<u32>,
    free: u32,
}

impl<E: Copy> Buckets<E> {
    pub(super) fn new() -> Self {
        Self {
            origin: 0,
            occupied_words: 0,
            occupied: [0; WORDS],
            buckets: vec![EMPTY; 64 * WORDS],
            entries: Vec::new(),
            next: Vec::new(),
            free: NO_CHUNK,
        }
    }

    /// Adds an event that is not before the origin.
    ///
    /// # Panics
    /// Panics where 2^32 events are held, which take 64 GiB or more.
    #[inline(always)]
    pub(super) fn push(&mut self, entry: Entry<E>) {
        debug_assert!(entry.time >= self.origin, "the origin lies before every event");
        let level = &LEVEL_OF_BIT[63 - ((entry.time ^ self.origin) | 1).leading_zeros() as usize];
        let digit = (entry.time >> level.shift) as u32 & level.mask;
        let index = (level.first + digit) as usize;
        let mut cursor = self.buckets[index].cursor as usize;
        if cursor.is_multiple_of(CHUNK) {
            cursor = self.extend(index, entry);
        }
        self.entries[cursor] = entry;
        let bucket = &mut self.buckets[index];
        bucket.cursor = cursor as u32 + 1;
        bucket.earliest = bucket.earliest.min(entry.time);
    }

    /// Gives a bucket one more chunk, a free one or a new one; where its first event goes.
    #[cold]
    fn extend(&mut self, index: usize, filler: Entry<E>) -> usize {
        if self.free == NO_CHUNK {
            let length = self.entries.len() + CHUNK;
            assert!(u32::try_from(length).is_ok(), "fewer than 2^32 events may wait");
            self.free = self.next.len() as u32;
            self.entries.resize(length, filler);
            self.next.push(NO_CHUNK);
        }
        let chunk = self.free;
        self.free = self.next[chunk as usize];
        self.next[chunk as usize] = NO_CHUNK;
        let bucket = &mut self.buckets[index];
        if bucket.cursor == 0 {
            bucket.head = chunk;
            self.occupied[index / 64] |= 1 << (index % 64);
            self.occupied_words |= 1 << (index / 64);
        } else {
            self.next[(bucket.cursor as usize - 1) / CHUNK] = chunk;
        }
        chunk as usize * CHUNK
    }

    /// Returns the first bucket with events.
    fn first(&self) -> Option<usize> {
        if self.occupied_words == 0 {
            return None;
        }
        let word = self.occupied_words.trailing_zeros() as usize;
        Some(word * 64 + self.occupied[word].trailing_zeros() as usize)
    }

    /// Returns the time of the first event.
    pub(super) fn earliest(&self) -> Option<u64> {
        self.first().map(|index| self.buckets[index].earliest)
    }

    /// How many events there is room for.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.entries.capacity()
    }

    /// Takes the first events out, by `take` in the order of their scheduling. Gives the last time
    /// up to which all are out, or `None` where there are none.
    ///
    /// They have one time, or are at most [`SORTED`] and still to be sorted by it.
    pub(super) fn take_first(&mut self, mut take: impl FnMut(&[Entry<E>])) -> Option<u64> {
        loop {
            let index = self.first()?;
            let bucket = std::mem::replace(&mut self.buckets[index], EMPTY);
            self.occupied[index / 64] &= !(1 << (index % 64));
            if self.occupied[index / 64] == 0 {
                self.occupied_words &= !(1 << (index / 64));
            }
            let shift = SHIFT_OF_WORD[index / 64];
            let below = !(u64::MAX << shift);
            self.origin = bucket.earliest & !below;
            let last = (bucket.cursor - 1) / CHUNK as u32;
            let few = bucket.head == last || self.next[bucket.head as usize] == last;
            let taken = few || shift == 0;
            let mut chunk = bucket.head;
            while chunk != NO_CHUNK {
                let start = chunk as usize * CHUNK;
                let end = if chunk == last { bucket.cursor as usize } else { start + CHUNK };
                if taken {
                    take(&self.entries[start..end]);
                } else {
                    for index in start..end {
                        self.push(self.entries[index]);
                    }
                }
                chunk = self.release(chunk);
            }
            if taken {
                return Some(self.origin | below);
            }
        }
    }

    /// Frees a chunk and gives the one after it.
    fn release(&mut self, chunk: u32) -> u32 {
        let next = std::mem::replace(&mut self.next[chunk as usize], self.free);
        self.free = chunk;
        next
    }
}
