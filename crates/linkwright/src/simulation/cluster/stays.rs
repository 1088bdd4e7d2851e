//! When ranks were in which regions of their programs.

use crate::runtime::{ProgramJob, RankId};
use crate::units::Picoseconds;

/// Describes a stay in a region of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegionInterval {
    /// Names the rank.
    pub rank: RankId,
    /// Gives the index of the region's name in the program.
    pub region: u32,
    /// How many regions were open around it.
    pub depth: u32,
    /// Says when the rank entered.
    pub start: Picoseconds,
    /// When it left; `None` where it never did.
    pub end: Option<Picoseconds>,
}

/// A region that a rank is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Open {
    region: u32,
    /// Where its interval is kept, if it is.
    kept: Option<usize>,
}

/// Keeps the first stays, by the times of entry. A stay that encloses others is kept before them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stays {
    most: usize,
    /// Keeps them in the order of entry.
    kept: Vec<RegionInterval>,
    /// How many there were in all.
    count: u64,
    /// The regions that each rank of each job is in, the outermost first.
    open: Vec<Vec<Vec<Open>>>,
}

impl Stays {
    /// Watches the ranks of these jobs; keeps at most `most` stays.
    pub(super) fn new(jobs: &[ProgramJob], most: usize) -> Self {
        let open = jobs.iter().map(|job| vec![Vec::new(); job.mapping.len()]).collect();
        Self { most, kept: Vec::new(), count: 0, open }
    }

    /// Those that are kept, in the order of entry.
    #[must_use]
    pub fn kept(&self) -> &[RegionInterval] {
        &self.kept
    }

    /// How many there were in all.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn enter(&mut self, rank: RankId, region: u32, now: Picoseconds) {
        self.count += 1;
        let open = &mut self.open[rank.job as usize][rank.rank as usize];
        let kept = (self.kept.len() < self.most).then_some(self.kept.len());
        if kept.is_some() {
            let depth = open.len() as u32;
            self.kept.push(RegionInterval { rank, region, depth, start: now, end: None });
        } else if open.is_empty() {
            // Nothing that is kept can end with it, and a loop may enter what it never leaves.
            return;
        }
        open.push(Open { region, kept });
    }

    /// Leaves a region, and those entered within it that were never left. Leaving a region
    /// that was never entered means nothing: a trace may start within one.
    pub(super) fn leave(&mut self, rank: RankId, region: u32, now: Picoseconds) {
        let open = &mut self.open[rank.job as usize][rank.rank as usize];
        let Some(depth) = open.iter().rposition(|one| one.region == region) else { return };
        for left in open.drain(depth..) {
            if let Some(index) = left.kept {
                self.kept[index].end = Some(now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::program::Program;

    const RANK: RankId = RankId { job: 0, rank: 0 };

    /// Holds region, depth, start and end of a stay.
    type Stay = (u32, u32, u64, Option<u64>);

    fn program() -> Arc<Program> {
        Arc::new(Program {
            name: "test".to_owned(),
            communicators: vec![vec![0]],
            regions: Vec::new(),
            ranks: Vec::new(),
        })
    }

    /// Returns the stays kept from entries (`+`) and exits (`-`) of regions, one every ten
    /// picoseconds.
    fn kept(most: usize, course: &str) -> (Vec<Stay>, u64) {
        let program = program();
        let mut stays = Stays::new(&[ProgramJob::new(&program, vec![0])], most);
        for (index, step) in (0..).zip(course.split(' ')) {
            let (sign, region) = step.split_at(1);
            let (region, now) = (region.parse().unwrap(), Picoseconds(10 * index));
            if sign == "+" {
                stays.enter(RANK, region, now);
            } else {
                stays.leave(RANK, region, now);
            }
        }
        let of = |it: &RegionInterval| (it.region, it.depth, it.start.0, it.end.map(|end| end.0));
        (stays.kept().iter().map(of).collect(), stays.count())
    }

    #[test]
    fn regions_nest_and_close_with_what_is_around_them() {
        let (found, count) = kept(9, "-1 +0 +1 -0 +1 +1 -1");
        let expected =
            [(0, 0, 10, Some(30)), (1, 1, 20, Some(30)), (1, 0, 40, None), (1, 1, 50, Some(60))];
        assert_eq!((found, count), (expected.to_vec(), 4));
    }

    #[test]
    fn what_encloses_others_is_kept_before_them_and_still_ends() {
        let (found, count) = kept(2, "+0 +1 -1 +1 -1 -0 +0 +0 +0");
        assert_eq!((found, count), (vec![(0, 0, 0, Some(50)), (1, 1, 10, Some(20))], 6));
    }

    #[test]
    fn where_nothing_is_kept_nothing_grows() {
        let program = program();
        let mut stays = Stays::new(&[ProgramJob::new(&program, vec![0])], 0);
        (0..100).for_each(|now| stays.enter(RANK, 0, Picoseconds(now)));
        assert!(stays.kept().is_empty() && stays.open[0][0].is_empty());
        assert_eq!(stays.count(), 100);
    }
}
