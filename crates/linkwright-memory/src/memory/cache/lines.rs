//! Holds the lines of equal caches: tags, byte masks, states, data.

use crate::memory::address::LINE;

/// The tag of a place that is kept for a line on its way.
const RESERVED: u64 = u64::MAX;

/// Holds the lines of many caches of one size, set-associative, the least recently used replaced.
///
/// A place is one way of one set of one cache, as a number.
#[derive(Debug, Clone)]
pub struct Lines<L> {
    sets: u64,
    ways: usize,
    /// The line in each place, plus one; zero where none is, [`RESERVED`] where one will be.
    tags: Vec<u64>,
    used: Vec<u64>,
    clock: u64,
    dirty: Vec<u64>,
    states: Vec<L>,
    /// Bytes, where the run has data.
    data: Vec<u8>,
}

impl<L: Copy + Default> Lines<L> {
    /// Makes `caches` empty caches of `size` bytes and `ways` ways.
    #[must_use]
    pub fn new(caches: u32, size: u64, ways: u32, with_data: bool) -> Self {
        let sets = (size / LINE / u64::from(ways)).max(1);
        let places = (u64::from(caches) * sets * u64::from(ways)) as usize;
        Self {
            sets,
            ways: ways as usize,
            tags: vec![0; places],
            used: vec![0; places],
            clock: 0,
            dirty: vec![0; places],
            states: vec![L::default(); places],
            data: if with_data { vec![0; places * LINE as usize] } else { Vec::new() },
        }
    }

    #[inline]
    fn first(&self, cache: u32, index: u64) -> usize {
        ((u64::from(cache) * self.sets + (index & (self.sets - 1))) as usize) * self.ways
    }

    /// The place of a line, whose set `index` picks.
    #[inline]
    #[must_use]
    pub fn find(&self, cache: u32, index: u64, line: u64) -> Option<usize> {
        let first = self.first(cache, index);
        let ways = &self.tags[first..first + self.ways];
        ways.iter().position(|tag| *tag == line + 1).map(|way| first + way)
    }

    /// Notes that a place is used now.
    #[inline]
    pub fn touch(&mut self, place: usize) {
        self.clock += 1;
        self.used[place] = self.clock;
    }

    /// The place that a new line of a set takes: a free one, or that of the line used longest ago.
    #[must_use]
    pub fn oldest(&self, cache: u32, index: u64) -> usize {
        let first = self.first(cache, index);
        (first..first + self.ways)
            .min_by_key(|place| (self.tags[*place] != 0, self.used[*place]))
            .unwrap_or(first)
    }

    /// Finds the same, but takes the place of a line that is `spared` only where all are.
    #[must_use]
    pub fn oldest_but(&self, cache: u32, index: u64, spared: impl Fn(&L) -> bool) -> usize {
        let first = self.first(cache, index);
        let rank = |place: &usize| {
            let taken = self.tags[*place] != 0;
            (taken, taken && spared(&self.states[*place]), self.used[*place])
        };
        (first..first + self.ways).min_by_key(rank).unwrap_or(first)
    }

    /// Finds the place that a new line of a set takes, where memory lacks what is there.
    #[must_use]
    pub fn dirty_victim(&self, cache: u32, index: u64) -> Option<usize> {
        let place = self.oldest(cache, index);
        (self.line(place).is_some() && self.dirty[place] != 0).then_some(place)
    }

    /// Keeps a place, whose last line is forgotten, for a line on its way.
    pub fn reserve(&mut self, place: usize) {
        (self.tags[place], self.dirty[place]) = (RESERVED, 0);
        // Others take it last.
        self.used[place] = u64::MAX;
    }

    /// Finds a place of a set that is kept for a line on its way.
    #[must_use]
    pub fn reserved(&self, cache: u32, index: u64) -> Option<usize> {
        let first = self.first(cache, index);
        (first..first + self.ways).find(|place| self.tags[*place] == RESERVED)
    }

    /// Puts a line into a place, whose last line is forgotten.
    pub fn put(&mut self, place: usize, line: u64) {
        self.tags[place] = line + 1;
        self.dirty[place] = 0;
        self.states[place] = L::default();
        self.touch(place);
    }

    /// Takes bytes into a place; those of `dirty` are newer than memory's.
    #[inline]
    pub fn write(&mut self, place: usize, mask: u64, dirty: bool, bytes: Option<&[u8; 64]>) {
        if dirty {
            self.dirty[place] |= mask;
        }
        if let Some(bytes) = bytes {
            copy_masked(&mut self.data[place * 64..][..64], bytes, mask);
        }
    }

    /// Takes a whole line into a place, but for bytes that are newer here.
    #[inline]
    pub fn fill(&mut self, place: usize, bytes: Option<&[u8; 64]>) {
        self.write(place, !self.dirty[place], false, bytes);
    }

    /// The bytes of a place, where the run has data.
    #[inline]
    #[must_use]
    pub fn bytes(&self, place: usize) -> Option<&[u8; 64]> {
        self.data.get(place * 64..place * 64 + 64).and_then(|bytes| bytes.try_into().ok())
    }

    /// Returns the protocol's state of a place.
    #[inline]
    pub fn state(&mut self, place: usize) -> &mut L {
        &mut self.states[place]
    }

    /// Which bytes of a place memory does not have; they are taken as written back.
    #[inline]
    pub fn clean(&mut self, place: usize) -> u64 {
        std::mem::take(&mut self.dirty[place])
    }

    /// Forgets the line of a place.
    #[inline]
    pub fn forget(&mut self, place: usize) {
        self.tags[place] = 0;
    }

    /// Forgets all lines of a cache, dirty ones too.
    pub fn forget_all(&mut self, cache: u32) {
        let places = self.places(cache);
        self.tags[places].fill(0);
    }

    /// Returns the places of a cache.
    #[must_use]
    pub fn places(&self, cache: u32) -> std::ops::Range<usize> {
        let each = self.sets as usize * self.ways;
        cache as usize * each..(cache as usize + 1) * each
    }

    /// The line of a place, if it has one.
    #[inline]
    #[must_use]
    pub fn line(&self, place: usize) -> Option<u64> {
        self.tags[place].checked_sub(1).filter(|line| line + 1 != RESERVED)
    }
}

/// Copies the bytes whose bits are set.
#[inline]
pub fn copy_masked(to: &mut [u8], from: &[u8; 64], mask: u64) {
    if mask == u64::MAX {
        to.copy_from_slice(from);
        return;
    }
    let mut left = mask;
    while left != 0 {
        let byte = left.trailing_zeros() as usize;
        to[byte] = from[byte];
        left &= left - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fills one set of four ways with lines 0 to 3. Lines 1 and 3 have a state that lasts.
    fn full() -> Lines<bool> {
        let mut lines = Lines::new(1, 4 * LINE, 4, false);
        for line in 0..4 {
            let place = lines.oldest(0, 0);
            lines.put(place, line);
            *lines.state(place) = line % 2 == 1;
        }
        lines
    }

    #[test]
    fn lines_that_last_are_replaced_after_others_and_free_places_before_all() {
        let mut lines = full();
        let line_0 = lines.find(0, 0, 0).unwrap();
        lines.touch(line_0);
        let at = |lines: &Lines<bool>, line| lines.find(0, 0, line);
        assert_eq!(at(&lines, 1), Some(lines.oldest(0, 0)));
        assert_eq!(at(&lines, 2), Some(lines.oldest_but(0, 0, |lasts| *lasts)));
        // Where all last, the oldest goes, as it does where none is spared.
        assert_eq!(lines.oldest_but(0, 0, |_| true), lines.oldest(0, 0));
        lines.forget(line_0);
        assert_eq!(lines.oldest_but(0, 0, |lasts| *lasts), line_0);
    }

    #[test]
    fn a_place_that_is_kept_has_no_line_and_goes_last() {
        let mut lines = full();
        lines.write(0, 1, true, None);
        assert_eq!(lines.dirty_victim(0, 0), Some(0));
        lines.reserve(0);
        assert_eq!((lines.line(0), lines.dirty_victim(0, 0)), (None, None));
        assert_eq!((lines.reserved(0, 0), lines.oldest(0, 0)), (Some(0), 1));
        lines.put(0, 9);
        assert_eq!((lines.reserved(0, 0), lines.find(0, 0, 9)), (None, Some(0)));
    }
}
