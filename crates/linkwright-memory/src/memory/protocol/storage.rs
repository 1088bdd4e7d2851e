//! Holds the timestamp storage unit (TSU): the controllers' memory of lines.

use super::CoherenceProtocol;

/// Holds a TSU's state of a line, in logical time.
///
/// Hardware stores timestamps of the controller's epoch; whatever is of an earlier one counts as
/// of that epoch's first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Entry {
    /// When its data were written, at the latest.
    pub written: u64,
    /// Until when copies of them may be read.
    pub until: u64,
}

/// Stores a controller's memory of its lines, set-associatively. It forgets the lowest of a full
/// set (section 4.2.6 of the MGPU-TSM dissertation: 8 ways).
#[derive(Debug, Clone)]
pub struct TimestampStorageUnit<P: CoherenceProtocol> {
    ways: usize,
    sets: usize,
    lines: Vec<Option<(u64, P::Home)>>,
    controller: P::Controller,
    evictions: u64,
}

impl<P: CoherenceProtocol> TimestampStorageUnit<P> {
    /// Makes an empty unit.
    ///
    /// # Panics
    /// When there is no set or no way: readers of presets refuse that.
    #[must_use]
    pub fn new(sets: usize, ways: usize) -> Self {
        assert!(sets > 0 && ways > 0, "a unit has sets and ways");
        Self {
            ways,
            sets,
            lines: vec![None; sets * ways],
            controller: P::Controller::default(),
            evictions: 0,
        }
    }

    /// Returns the controller's own state, and the entry of a line, numbered within the controller.
    ///
    /// Where there is none, one is made. If the set is full, the lowest is forgotten, which no
    /// probe may hinder: directories, which have probes to send, keep entries by themselves.
    #[inline]
    pub fn entry(&mut self, protocol: &P, line: u64) -> (&mut P::Controller, &mut P::Home) {
        let first = (line % self.sets as u64) as usize * self.ways;
        let set = &self.lines[first..first + self.ways];
        let way = match set.iter().position(|slot| slot.is_some_and(|(other, _)| other == line)) {
            Some(way) => way,
            None => self.make(protocol, first, line),
        };
        let home = &mut self.lines[first + way].as_mut().expect("the way was found or filled").1;
        (&mut self.controller, home)
    }

    /// Gives how many entries a full set has forgotten.
    #[must_use]
    pub fn evictions(&self) -> u64 {
        self.evictions
    }

    fn make(&mut self, protocol: &P, first: usize, line: u64) -> usize {
        let set = &mut self.lines[first..first + self.ways];
        let rank = |slot: &Option<(u64, P::Home)>| slot.map(|(_, home)| protocol.rank(&home));
        let way = (0..set.len()).min_by_key(|way| rank(&set[*way])).unwrap_or(0);
        if let Some((_, home)) = set[way] {
            self.evictions += 1;
            let probes = protocol.forget(&mut self.controller, &home);
            debug_assert_eq!(probes.gpus, 0, "a unit forgets at once");
        }
        set[way] = Some((line, protocol.remember(&self.controller)));
        way
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::Ask;
    use super::super::{Mgcc, MgccStamp};
    use super::*;

    #[test]
    fn a_full_set_forgets_the_lowest_and_keeps_its_end_as_a_floor() {
        let mgcc = Mgcc::default();
        let mut unit = TimestampStorageUnit::<Mgcc>::new(2, 2);
        let mut write = |line| {
            let (controller, home) = unit.entry(&mgcc, line);
            mgcc.on_request(controller, home, Some(0), Ask::Write, MgccStamp::default());
            *home
        };
        let first = write(0);
        write(2);
        assert_eq!(write(2).written, first.until + 1, "each write follows the last lease");
        assert_eq!(write(1), first, "another set");
        // The set of even lines is full: line 0 goes, and line 4 comes after its lease.
        assert_eq!(write(4).written, first.until + 1);
        // Line 0 came back unknown: after all that was forgotten, not from 0 on.
        assert!(write(0).written > first.until + 1);
        assert_eq!(unit.evictions(), 2);
    }
}
