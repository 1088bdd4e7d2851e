//! Which lines are under way to a cache, and who waits for each: miss-status holding registers.

/// Stands for no request.
pub const NONE: u32 = u32::MAX;

/// Holds the registers of many equal caches, each a small table with open addressing.
///
/// A register holds the requests that wait for its line, a list through the requests themselves:
/// whoever holds them keeps the links. The request that went out for the line is not of them, since
/// it may wait elsewhere.
#[derive(Debug, Clone)]
pub struct Mshrs {
    capacity: u32,
    slots: usize,
    /// The line of each slot plus one; zero where the slot is free.
    lines: Vec<u64>,
    /// The first and the last request that wait, where the slot is taken.
    waiting: Vec<[u32; 2]>,
    /// Whether others may not look the line up, where the slot is taken.
    holds: Vec<bool>,
    used: Vec<u32>,
}

impl Mshrs {
    /// Makes free registers, `capacity` for each of `caches` caches.
    #[must_use]
    pub fn new(caches: u32, capacity: u32) -> Self {
        let slots = (2 * capacity as usize).next_power_of_two();
        let all = slots * caches as usize;
        // Zeros cost next to nothing: a short run takes few of the slots of a large system.
        Self {
            capacity,
            slots,
            lines: vec![0; all],
            waiting: vec![[0; 2]; all],
            holds: vec![false; all],
            used: vec![0; caches as usize],
        }
    }

    #[inline]
    fn slot(&self, line: u64) -> usize {
        (line.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & (self.slots - 1)
    }

    /// Whether every register of a cache is taken.
    #[inline]
    #[must_use]
    pub fn is_full(&self, cache: u32) -> bool {
        self.used[cache as usize] == self.capacity
    }

    fn find(&self, cache: u32, line: u64) -> Option<usize> {
        if self.used[cache as usize] == 0 {
            return None;
        }
        let base = cache as usize * self.slots;
        let mut slot = self.slot(line);
        loop {
            let known = self.lines[base + slot];
            if known == line + 1 {
                return Some(base + slot);
            }
            if known == 0 {
                return None;
            }
            slot = (slot + 1) & (self.slots - 1);
        }
    }

    /// Puts a request behind those that wait for its line, where the line is under way. Returns the
    /// request that it comes after, or [`NONE`] for the first.
    #[inline]
    pub fn join(&mut self, cache: u32, line: u64, request: u32) -> Option<u32> {
        let at = self.find(cache, line)?;
        let [first, last] = &mut self.waiting[at];
        let before = std::mem::replace(last, request);
        if before == NONE {
            *first = request;
        }
        Some(before)
    }

    /// Whether a line is under way, and nobody else may look it up meanwhile.
    #[inline]
    #[must_use]
    pub fn holds(&self, cache: u32, line: u64) -> bool {
        self.find(cache, line).is_some_and(|at| self.holds[at])
    }

    /// Takes a register for a line that is not under way, of a cache that has one free.
    #[inline]
    pub fn take(&mut self, cache: u32, line: u64) {
        self.take_for(cache, line, true);
    }

    /// The same for an access that lets others look the line up unless it `holds` it.
    #[inline]
    pub fn take_for(&mut self, cache: u32, line: u64, holds: bool) {
        let base = cache as usize * self.slots;
        let mut slot = self.slot(line);
        while self.lines[base + slot] != 0 {
            slot = (slot + 1) & (self.slots - 1);
        }
        self.lines[base + slot] = line + 1;
        self.waiting[base + slot] = [NONE; 2];
        self.holds[base + slot] = holds;
        self.used[cache as usize] += 1;
    }

    /// Frees the register of a line that is under way: the first that waits for it, or [`NONE`].
    pub fn free(&mut self, cache: u32, line: u64) -> u32 {
        let Some(at) = self.find(cache, line) else { return NONE };
        let [first, _] = self.waiting[at];
        self.used[cache as usize] -= 1;
        let base = cache as usize * self.slots;
        let mut hole = at - base;
        let mut slot = hole;
        loop {
            slot = (slot + 1) & (self.slots - 1);
            let line = self.lines[base + slot];
            if line == 0 {
                break;
            }
            // An entry may fill the hole unless its own place lies after it.
            let own = self.slot(line - 1);
            if (slot.wrapping_sub(own) & (self.slots - 1))
                >= (slot.wrapping_sub(hole) & (self.slots - 1))
            {
                self.lines[base + hole] = line;
                self.waiting[base + hole] = self.waiting[base + slot];
                self.holds[base + hole] = self.holds[base + slot];
                hole = slot;
            }
        }
        self.lines[base + hole] = 0;
        first
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn registers_hold_what_a_map_would(calls in prop::collection::vec((0_u32..2, 0_u64..40, any::<bool>()), 1..300)) {
            let mut registers = Mshrs::new(2, 8);
            let mut map = BTreeMap::<(u32, u64), Vec<u32>>::new();
            for (request, (cache, line, frees)) in calls.into_iter().enumerate() {
                let request = request as u32;
                let taken = map.keys().filter(|(at, _)| *at == cache).count();
                prop_assert_eq!(registers.is_full(cache), taken == 8);
                if frees {
                    let first = map.remove(&(cache, line)).and_then(|list| list.first().copied());
                    prop_assert_eq!(registers.free(cache, line), first.unwrap_or(NONE));
                } else if let Some(list) = map.get_mut(&(cache, line)) {
                    let last = list.last().copied().unwrap_or(NONE);
                    prop_assert_eq!(registers.join(cache, line, request), Some(last));
                    list.push(request);
                } else if !registers.is_full(cache) {
                    prop_assert_eq!(registers.join(cache, line, request), None);
                    registers.take_for(cache, line, line % 2 == 0);
                    prop_assert_eq!(registers.holds(cache, line), line % 2 == 0);
                    map.insert((cache, line), vec![]);
                }
            }
        }
    }
}
