//! The best matches of patterns that are judged by their edges.
//!
//! A quick bound of each set says which come first. Of sets that tie only those are searched that are nearer than the
//! best so far, so that alike sets cost no more than one.

use std::cmp::Ordering;

use super::candidates::Candidates;
use super::effort::Effort;
use super::gpu_set::GpuSet;
use super::matching::by_edges::{ByEdges, least_time, primary_of};
use super::matching::ceiling::most_aggregated;
use super::matching::plan::Plan;
use super::matching::rank::{Floor, Rank};
use super::matching::search::{Found, Placement, best_over_sets, search_set};
use super::pattern::Pattern;
use super::prepared::{BandwidthModel, PreparedMachine};
use super::proof::gap;
use super::selection::{Objective, Selection};

impl PreparedMachine {
    /// Says whether an objective judges a pattern by its edges.
    pub(super) fn goes_by_edges(&self, pattern: &Pattern, objective: Objective) -> bool {
        let is_sound = self.model() == BandwidthModel::Sound;
        objective == Objective::Effective && is_sound && !pattern.is_collective()
    }

    /// Gives the best match by the pattern's edges among enough free GPUs.
    pub(super) fn best_by_edges(
        &self,
        pattern: &Pattern,
        free: GpuSet,
        effort: &mut Effort<'_>,
    ) -> Option<Selection> {
        let plan = Plan::new(pattern);
        let (found, candidates, complete) = match self.sets_of(pattern.size(), free) {
            Some(sets) => {
                let count = sets.len() as u64;
                (self.nearest_of_the_best(&plan, &sets, free, effort), count, true)
            }
            None => {
                let found = self.candidates(pattern.size(), free, Objective::Aggregated, effort);
                let (compared, complete) = (found.compared, found.complete);
                (self.searched_by_edges(&plan, &found, 1, effort), compared, complete)
            }
        };
        let best = found.placements.into_iter().next()?;
        let most = found.most.filter(|_| complete);
        let most = most.unwrap_or_else(|| self.ceiling_by_edges(&plan, free));
        let gap = gap(Objective::Effective, best.rank, most);
        Some(Selection::new(self.score(pattern, best.gpus, free), candidates, gap))
    }

    /// Gives the best placement on each of the `count` best candidates, best first.
    pub(super) fn searched_by_edges(
        &self,
        plan: &Plan<'_>,
        candidates: &Candidates,
        count: usize,
        effort: &mut Effort<'_>,
    ) -> Found {
        let (degrees, sets) = (plan.degrees(), &candidates.sets);
        let of = (self.copies(), &self.pairs);
        let score = |at: usize, effort: &mut Effort<'_>| {
            let least = least_time(plan, &degrees, of.0, sets[at]);
            ByEdges::new(plan.pattern(), of, (sets[at], least), effort)
        };
        best_over_sets(plan, sets, score, count, effort)
    }

    /// A rank that no match on any of these GPUs exceeds.
    fn ceiling_by_edges(&self, plan: &Plan<'_>, free: GpuSet) -> Rank {
        let primary = primary_of(least_time(plan, &plan.degrees(), self.copies(), free));
        Rank { primary, aggregated: most_aggregated(plan, &self.pairs, free) }
    }

    /// The best placement of all, on the nearest of the sets that have one, then on that of the lowest ids. The sets
    /// stand lowest ids first.
    fn nearest_of_the_best(
        &self,
        plan: &Plan<'_>,
        sets: &[GpuSet],
        free: GpuSet,
        effort: &mut Effort<'_>,
    ) -> Found {
        let (copies, degrees) = (self.copies(), plan.degrees());
        let ceiling = most_aggregated(plan, &self.pairs, free);
        let bounded =
            (0_u32..).zip(sets).map(|(at, set)| (least_time(plan, &degrees, copies, *set), at));
        let mut order: Vec<(u64, u32)> = bounded.collect();
        order.sort_unstable();
        effort.spend(1 + sets.len() as u64 / 4);
        let mut best: Option<(Placement, u32)> = None;
        let mut open: Option<Rank> = None;
        for (least, at) in order {
            let set = sets[at as usize];
            let bound = Rank { primary: primary_of(least), aggregated: ceiling };
            let floor = match &best {
                None => Floor::Anything,
                Some((found, _)) if bound < found.rank => break,
                Some((found, holder))
                    if self.comes_before((set, at), (sets[*holder as usize], *holder), free) =>
                {
                    Floor::AtLeast(found.rank)
                }
                Some((found, _)) => Floor::Above(found.rank),
            };
            if !floor.admits(bound) {
                continue;
            }
            if effort.is_spent() && best.is_some() {
                open = open.max(Some(bound));
                break;
            }
            let score = ByEdges::new(plan.pattern(), (copies, &self.pairs), (set, least), effort);
            let (placement, left) = search_set(plan, set, &score, floor, effort);
            open = open.max(left);
            if let Some(placement) = placement {
                best = Some((placement, at));
            }
        }
        let placements: Vec<Placement> = best.into_iter().map(|(placement, _)| placement).collect();
        let reached = placements.first().map(|best| best.rank);
        Found { placements, most: open.max(reached) }
    }

    /// Whether of two sets that tie, with their places among all, the first wins.
    fn comes_before(&self, one: (GpuSet, u32), other: (GpuSet, u32), free: GpuSet) -> bool {
        match self.compare_ties(one.0, other.0, free) {
            Ordering::Less => true,
            Ordering::Equal => one.1 < other.1,
            Ordering::Greater => false,
        }
    }
}
