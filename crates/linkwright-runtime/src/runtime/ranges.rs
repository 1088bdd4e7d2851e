//! Runs of places in an array that come and go.

use std::collections::BTreeMap;
use std::ops::Range;

/// Says how the jobs of `[jobs]` train networks.
#[derive(Debug, Clone, Default)]
pub(super) struct Ranges {
    /// The gaps, none beside another or behind the last run: where each begins, and how long it is.
    gaps: BTreeMap<u32, u32>,
    /// Gives the end of the last run.
    end: u32,
}

impl Ranges {
    /// Takes a run of places.
    pub(super) fn take(&mut self, length: u32) -> Range<u32> {
        let gap = self.gaps.iter().find(|(_, gap)| **gap >= length).map(|(at, gap)| (*at, *gap));
        let Some((start, gap)) = gap.filter(|_| length > 0) else {
            let start = self.end;
            self.end += length;
            return start..self.end;
        };
        self.gaps.remove(&start);
        if gap > length {
            self.gaps.insert(start + length, gap - length);
        }
        start..start + length
    }

    /// Gives a run back that was taken.
    pub(super) fn give_back(&mut self, run: Range<u32>) {
        if run.is_empty() {
            return;
        }
        let (mut start, mut end) = (run.start, run.end);
        if let Some(after) = self.gaps.remove(&end) {
            end += after;
        }
        if let Some((before, length)) = self.gaps.range(..start).next_back()
            && before + length == start
        {
            start = *before;
        }
        self.gaps.remove(&start);
        if end == self.end {
            self.end = start;
        } else {
            self.gaps.insert(start, end - start);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// No place is taken twice, and none stays unused that a run would fit into.
        #[test]
        fn runs_never_overlap(steps in prop::collection::vec((0_u32..9, any::<prop::sample::Index>(), any::<bool>()), 0..200)) {
            let mut ranges = Ranges::default();
            let mut taken: Vec<Range<u32>> = Vec::new();
            for (length, which, gives) in steps {
                if gives && !taken.is_empty() {
                    ranges.give_back(taken.swap_remove(which.index(taken.len())));
                    continue;
                }
                let free = |at: u32| !taken.iter().any(|run| run.contains(&at));
                let first = (0..).find(|at| (*at..*at + length).all(free)).unwrap();
                let run = ranges.take(length);
                prop_assert_eq!(run.len(), length as usize);
                if length > 0 {
                    prop_assert_eq!(run.start, first);
                }
                taken.push(run);
            }
        }
    }
}
