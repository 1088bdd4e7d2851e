//! The best matches of patterns that are judged by their edges.
//!
//! A quick bound of each set says which come first. Of sets that tie only those are searched that are nearer than the
//! best so far, so that alike sets cost no more than one.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use super::bandwidth::demands::Demands;
use super::candidates::{Candidates, combinations_up_to};
use super::edge_table::{EdgeTable, STEPS};
use super::effort::Effort;
use super::gpu_set::GpuSet;
use super::matching::by_edges::{ByEdges, primary_of};
use super::matching::ceiling::most_aggregated;
use super::matching::plan::Plan;
use super::matching::rank::{Floor, Rank};
use super::matching::search::{Found, Placement, best_over_sets, search_set};
use super::pattern::Pattern;
use super::prepared::{BandwidthModel, PreparedMachine};
use super::proof::gap;
use super::selection::{Objective, Selection};

/// Holds the best placement on a set that is of interest, and a rank that none exceeds that was not looked at.
type Visited = (Option<Placement>, Option<Rank>);

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
        let (found, candidates, complete) = match &self.tables {
            Some(tables) => {
                let sets = tables.subsets.of_size(pattern.size());
                let count = combinations_up_to(free.len(), pattern.size(), u64::MAX).unwrap_or(0);
                (self.nearest_of_the_best(&plan, sets, free, effort), count, true)
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
        let (demands, sets) = (Demands::of(plan.pattern()), &candidates.sets);
        let of = (self.copies(), &self.pairs);
        let score = |at: usize, effort: &mut Effort<'_>| {
            let least = demands.least_time(of.0, sets[at]);
            ByEdges::new(plan.pattern(), of, (sets[at], least), effort)
        };
        best_over_sets(plan, sets, score, count, effort)
    }

    /// A rank that no match on any of these GPUs exceeds.
    fn ceiling_by_edges(&self, plan: &Plan<'_>, free: GpuSet) -> Rank {
        let primary = primary_of(Demands::of(plan.pattern()).least_time(self.copies(), free));
        Rank { primary, aggregated: most_aggregated(plan, &self.pairs, free) }
    }

    /// The best placement of all, on the nearest of the sets that have one, then on that of the lowest ids. The sets
    /// stand lowest ids first.
    fn nearest_of_the_best(
        &self,
        plan: &Plan<'_>,
        sets: &[u16],
        free: GpuSet,
        effort: &mut Effort<'_>,
    ) -> Found {
        let table = self.edge_tables.of(plan.pattern(), || self.edge_table(plan, sets, effort));
        effort.spend(1 + sets.len() as u64 / 64);
        self.walk(plan, (&table, sets), free, |set, (at, least), floor, best| {
            let search = |floor, effort: &mut Effort<'_>| {
                self.search_by_edges(plan, (set, least), floor, effort)
            };
            match table.best_on(at, floor, effort, |own| search(Floor::Anything, own).0) {
                Some(known) => ControlFlow::Continue((known, None)),
                None if effort.is_spent() && best.is_some() => ControlFlow::Break(()),
                None => ControlFlow::Continue(search(floor, effort)),
            }
        })
    }

    /// Makes the table of a pattern, with what a decision on the idle machine comes to.
    fn edge_table(&self, plan: &Plan<'_>, sets: &[u16], effort: &mut Effort<'_>) -> EdgeTable {
        effort.pass(sets.len() as u64 / 4);
        let table = EdgeTable::new(plan.pattern(), self.copies(), sets);
        let mut own = Effort::of(STEPS);
        let mut known = Vec::new();
        let all = GpuSet::first(self.gpu_count());
        self.walk(plan, (&table, sets), all, |set, (at, least), floor, _| {
            let before = own.left();
            let (found, left) = self.search_by_edges(plan, (set, least), floor, &mut own);
            effort.pass(before - own.left());
            if own.is_spent() {
                return ControlFlow::Break(());
            }
            known.push((at, floor, found.clone()));
            ControlFlow::Continue((found, left))
        });
        known.into_iter().fold(table, |table, (at, floor, found)| table.with(at, floor, found))
    }

    /// Gives the best placement on a set that a floor admits, and a rank that none exceeds that was not looked at.
    pub(super) fn search_by_edges(
        &self,
        plan: &Plan<'_>,
        set: (GpuSet, u64),
        floor: Floor,
        effort: &mut Effort<'_>,
    ) -> (Option<Placement>, Option<Rank>) {
        let score = ByEdges::new(plan.pattern(), (self.copies(), &self.pairs), set, effort);
        search_set(plan, set.0, &score, floor, effort)
    }

    /// Visits the free sets that may hold the best placement, the most promising first, and gives the best that was
    /// found on them. A visit may end the walk.
    fn walk(
        &self,
        plan: &Plan<'_>,
        (table, sets): (&EdgeTable, &[u16]),
        free: GpuSet,
        mut visit: impl FnMut(GpuSet, (u32, u64), Floor, Option<&Placement>) -> ControlFlow<(), Visited>,
    ) -> Found {
        let ceiling = most_aggregated(plan, &self.pairs, free);
        let set_of = |at: u32| GpuSet(u128::from(sets[at as usize]));
        let mut best: Option<(Placement, u32)> = None;
        let mut open: Option<Rank> = None;
        for (at, least) in table.most_promising() {
            let set = set_of(at);
            if !set.is_subset_of(free) {
                continue;
            }
            let bound = Rank { primary: primary_of(least), aggregated: ceiling };
            let before = |holder: u32| self.comes_before((set, at), (set_of(holder), holder), free);
            let floor = match &best {
                None => Floor::Anything,
                Some((found, _)) if bound < found.rank => break,
                Some((found, holder)) if before(*holder) => Floor::AtLeast(found.rank),
                Some((found, _)) => Floor::Above(found.rank),
            };
            if !floor.admits(bound) {
                continue;
            }
            let known = best.as_ref().map(|(placement, _)| placement);
            let ControlFlow::Continue((placement, left)) = visit(set, (at, least), floor, known)
            else {
                open = open.max(Some(bound));
                break;
            };
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
