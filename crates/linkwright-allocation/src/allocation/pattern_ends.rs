//! Finds the sets of a machine's GPUs that suit a pattern least and most.

use std::cmp::Reverse;

use super::bandwidth::demands::Demands;
use super::candidates::combinations;
use super::effort::Effort;
use super::gpu_set::GpuSet;
use super::matching::plan::Plan;
use super::matching::rank::Floor;
use super::pattern::Pattern;
use super::prepared::{Match, PreparedMachine};
use super::selection::Objective;

impl PreparedMachine {
    /// Gives the best matches of a pattern on the set of GPUs that suits it least, and on the one that suits it most. They
    /// are those by the bandwidth of its edges. Both are the same for a pattern that stands for an all-reduce, and None where the
    /// machine is too small. A set on which the effort does not find the best has the best that was found.
    #[must_use]
    pub fn pattern_ends(&self, pattern: &Pattern, effort: &mut Effort<'_>) -> Option<[Match; 2]> {
        let all = GpuSet::first(self.gpu_count());
        let most = self.best(pattern, all, Objective::Effective, effort)?.chosen;
        if !self.goes_by_edges(pattern, Objective::Effective) {
            return Some([most.clone(), most]);
        }
        let (copies, demands) = (self.copies(), Demands::of(pattern));
        let timed = |set: GpuSet| (set, demands.least_time(copies, set));
        let mut sets: Vec<(GpuSet, u64)> = combinations(all, pattern.size()).map(timed).collect();
        // The slowest sets come first, so that any match rules out most others.
        sets.sort_by_key(|(_, time)| Reverse(*time));
        let plan = Plan::new(pattern);
        let mut least: Option<(f64, Vec<usize>)> = None;
        for set in sets {
            effort.spend(1);
            let by_ids: Vec<usize> = set.0.iter().collect();
            if least.as_ref().is_some_and(|(least, _)| copies.bandwidth(pattern, &by_ids) >= *least)
            {
                continue;
            }
            let (found, _) = self.search_by_edges(&plan, set, Floor::Anything, effort);
            let Some(found) = found else { continue };
            let reached = copies.bandwidth(pattern, &found.gpus);
            if least.as_ref().is_none_or(|(least, _)| reached < *least) {
                least = Some((reached, found.gpus));
            }
        }
        let least = least.map_or_else(|| most.clone(), |(_, gpus)| self.score(pattern, gpus, all));
        Some([least, most])
    }
}
