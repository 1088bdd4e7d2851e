//! Keeps a table of queues by key, for matching in constant time.

use crate::runtime::slab::NONE;

/// Sorts messages by the receiver, the context, the source and the tag.
pub(super) type Key = [u32; 4];

/// Holds a queue's key, its first and its last record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bin {
    key: Key,
    /// The first record; [`NONE`] marks a free place of the table.
    pub(super) head: u32,
    /// Gives the last record.
    pub(super) tail: u32,
}

const FREE: Bin = Bin { key: [0; 4], head: NONE, tail: NONE };

/// Holds queues that are not empty, by key, in open addressing with linear probing. This needs no
/// memory of its own for each queue, and gives a place back without a trace.
#[derive(Debug, Clone)]
pub(super) struct Bins {
    /// Holds a power of two of them, at most half in use.
    bins: Vec<Bin>,
    used: usize,
    /// How many keys were compared.
    pub(super) comparisons: u64,
}

impl Bins {
    pub(super) fn new() -> Self {
        Self { bins: vec![FREE; 16], used: 0, comparisons: 0 }
    }

    fn home(&self, key: &Key) -> usize {
        spread(key) as usize & (self.bins.len() - 1)
    }

    /// The place of a key's queue, or the free place where it would be.
    fn place(&mut self, key: &Key) -> usize {
        let mut place = self.home(key);
        while self.bins[place].head != NONE {
            self.comparisons += 1;
            if self.bins[place].key == *key {
                break;
            }
            place = (place + 1) & (self.bins.len() - 1);
        }
        place
    }

    /// Finds the queue of a key.
    pub(super) fn find(&mut self, key: &Key) -> Option<&mut Bin> {
        let place = self.place(key);
        let bin = &mut self.bins[place];
        (bin.head != NONE).then_some(bin)
    }

    /// Appends a record to the queue of a key. Returns the last record before this one joined,
    /// [`NONE`] for a new queue.
    pub(super) fn append(&mut self, key: &Key, record: u32) -> u32 {
        if self.used * 2 >= self.bins.len() {
            self.grow();
        }
        let place = self.place(key);
        let bin = &mut self.bins[place];
        if bin.head == NONE {
            *bin = Bin { key: *key, head: record, tail: record };
            self.used += 1;
            return NONE;
        }
        std::mem::replace(&mut bin.tail, record)
    }

    /// Sets a queue's ends; a queue without a head is taken from the table.
    pub(super) fn set(&mut self, key: &Key, head: u32, tail: u32) {
        let place = self.place(key);
        if head != NONE {
            self.bins[place] = Bin { key: *key, head, tail };
            return;
        }
        self.used -= 1;
        self.close(place);
    }

    /// Frees a place, and moves those that were pushed behind it back to where probing finds
    /// them.
    fn close(&mut self, mut gap: usize) {
        let mask = self.bins.len() - 1;
        let mut place = (gap + 1) & mask;
        while self.bins[place].head != NONE {
            let home = self.home(&self.bins[place].key);
            let from_home = place.wrapping_sub(home) & mask;
            let from_gap = place.wrapping_sub(gap) & mask;
            if from_home >= from_gap {
                self.bins[gap] = self.bins[place];
                gap = place;
            }
            place = (place + 1) & mask;
        }
        self.bins[gap] = FREE;
    }

    fn grow(&mut self) {
        let larger = vec![FREE; self.bins.len() * 2];
        let bins = std::mem::replace(&mut self.bins, larger);
        for bin in bins.into_iter().filter(|bin| bin.head != NONE) {
            let place = self.place(&bin.key);
            self.bins[place] = bin;
        }
    }

    /// How many queues there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.used
    }
}

/// Spreads keys over the table: the two halves of a product, so that each bit of the key
/// reaches each bit of the place.
fn spread(key: &Key) -> u64 {
    let first = u64::from(key[0]) << 32 | u64::from(key[1]);
    let second = u64::from(key[2]) << 32 | u64::from(key[3]);
    let folded = fold(first ^ 0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9);
    fold(folded ^ second, 0x94d0_49bb_1331_11eb)
}

fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The table agrees with a map, whatever comes and goes.
        #[test]
        fn the_table_is_a_map(steps in prop::collection::vec((0_u32..40, 0_u32..4, any::<bool>()), 0..400)) {
            let mut bins = Bins::new();
            let mut map: BTreeMap<Key, (u32, u32)> = BTreeMap::new();
            for (record, (source, tag, remove)) in (0_u32..).zip(steps) {
                let key = [7, 0, source, tag];
                if remove {
                    if map.remove(&key).is_some() {
                        bins.set(&key, NONE, NONE);
                    }
                } else {
                    let last = map.get(&key).map_or(NONE, |queue| queue.1);
                    prop_assert_eq!(bins.append(&key, record), last);
                    map.entry(key).or_insert((record, record)).1 = record;
                }
                prop_assert_eq!(bins.len(), map.len());
                for source in 0..40 {
                    let key = [7, 0, source, tag];
                    let found = bins.find(&key).map(|bin| (bin.head, bin.tail));
                    prop_assert_eq!(found, map.get(&key).copied());
                }
            }
        }
    }
}
