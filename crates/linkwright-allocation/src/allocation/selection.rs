//! The best matches by one objective, over all sets of free GPUs.
//!
//! Ties go to the higher aggregated bandwidth. Then they go to the set that is nearest on the host
//! ([`super::Nearness`]), unless the published rule is asked for. Then they go to the lowest ids,
//! across sets and among the matches on one set. Rings on machines of up to 20 GPUs are looked up,
//! except under the published regression on more than 16. Other patterns are searched best bound
//! first, so that most sets are never searched. Matches that were not tried are bounded.

use super::candidates::{Candidates, combinations};
use super::effort::Effort;
use super::gpu_set::GpuSet;
use super::matching::plan::Plan;
use super::matching::rank::{Primary, Rank};
use super::matching::ring::{RingTable, in_ring_order};
use super::matching::scores::{Aggregated, Published};
use super::matching::search::{Found, Placement, best_over_sets};
use super::nearness::Ties;
use super::pattern::{Pattern, PatternShape};
use super::prepared::{BandwidthModel, Match, PreparedMachine, Tables};
use super::proof::gap;
use serde::{Deserialize, Serialize};

/// Names the score that the best match has most of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Objective {
    /// Stands for aggregated bandwidth, Eq. 1.
    Aggregated,
    /// Stands for effective bandwidth, by the machine's model.
    Effective,
    /// Stands for preserved bandwidth, Eq. 3.
    Preserved,
}

/// Holds the outcome of a selection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Selection {
    /// Holds the match that was chosen.
    pub chosen: Match,
    /// How many sets of GPUs competed.
    pub candidates: u64,
    /// Whether no match can be better by the objective, or, where the rule names the GPUs,
    /// no match on these in aggregated bandwidth. True is a proof.
    pub optimal: bool,
    /// Bounds how much better the objective could be in any match, as a fraction. Where the
    /// objective cannot be better, it bounds the aggregated bandwidth. It is zero where this match
    /// is optimal, and `None` where no bound is known.
    pub gap: Option<f64>,
}

impl Selection {
    pub(super) fn new(chosen: Match, candidates: u64, gap: Option<f64>) -> Self {
        Self { chosen, candidates, optimal: gap == Some(0.0), gap }
    }
}

/// The next best matches behind one that was chosen.
pub(super) struct RunnersUp {
    pub matches: Vec<Match>,
    /// Whether no others are better.
    pub certain: bool,
}

impl PreparedMachine {
    /// The best match of the pattern on free GPUs, or `None` where too few are free.
    #[must_use]
    pub fn best(
        &self,
        pattern: &Pattern,
        free: GpuSet,
        objective: Objective,
        effort: &mut Effort<'_>,
    ) -> Option<Selection> {
        if free.len() < pattern.size() {
            return None;
        }
        if let (Some(tables), PatternShape::Ring) = (&self.tables, pattern.shape()) {
            return self.best_ring(tables, pattern, free, objective);
        }
        if self.goes_by_edges(pattern, objective) {
            return self.best_by_edges(pattern, free, effort);
        }
        let found = self.candidates(pattern.size(), free, objective, effort);
        let (candidates, complete) = (found.compared, found.complete);
        let limit = found.limit;
        let Found { placements, most } = self.searched(pattern, found, objective, 1, effort);
        let best = placements.into_iter().next()?;
        let most = most.filter(|_| complete).unwrap_or_else(|| {
            let most = self.ceiling(&Plan::new(pattern), free, objective, effort);
            Rank { primary: limit.map_or(most.primary, |limit| limit.min(most.primary)), ..most }
        });
        let chosen = self.score(pattern, best.gpus, free);
        Some(Selection::new(chosen, candidates, gap(objective, best.rank, most)))
    }

    /// Returns the placement with the most aggregated bandwidth on exactly these GPUs, scored.
    #[must_use]
    pub fn place(
        &self,
        pattern: &Pattern,
        gpus: GpuSet,
        free: GpuSet,
        effort: &mut Effort<'_>,
    ) -> Selection {
        if let (Some(tables), PatternShape::Ring) = (&self.tables, pattern.shape()) {
            let ring = tables.rings.ring(gpus.0 as usize, &self.pairs);
            let chosen = self.score(pattern, in_ring_order(pattern, &ring), free);
            return Selection::new(chosen, 1, Some(0.0));
        }
        let only = [gpus];
        let score = |_: usize, effort: &mut Effort<'_>| {
            Aggregated::new(&self.pairs, gpus, Primary::NONE, effort)
        };
        let found = best_over_sets(&Plan::new(pattern), &only, score, 1, effort);
        let best = found.placements.into_iter().next();
        let gap = best
            .as_ref()
            .zip(found.most)
            .and_then(|(best, most)| gap(Objective::Aggregated, best.rank, most));
        let placement = best.map_or_else(Vec::new, |best| best.gpus);
        Selection::new(self.score(pattern, placement, free), 1, gap)
    }

    /// The best matches, at most `count`, on other sets than the chosen one's; without an
    /// objective those on the lowest ids.
    pub(super) fn runners_up(
        &self,
        pattern: &Pattern,
        free: GpuSet,
        objective: Option<Objective>,
        chosen: GpuSet,
        count: usize,
        effort: &mut Effort<'_>,
    ) -> RunnersUp {
        let mut matches = Vec::new();
        let Some(objective) = objective else {
            let others = combinations(free, pattern.size()).filter(|set| *set != chosen);
            for set in others.take(count) {
                matches.push(self.place(pattern, set, free, effort).chosen);
                if effort.is_spent() {
                    break;
                }
            }
            return RunnersUp { matches, certain: !effort.is_spent() };
        };
        let by_edges = self.goes_by_edges(pattern, objective);
        let by_sets = if by_edges { Objective::Aggregated } else { objective };
        let mut found = self.candidates(pattern.size(), free, by_sets, effort);
        let complete = found.complete;
        if let Some(at) = found.sets.iter().position(|set| *set == chosen) {
            found.sets.remove(at);
            found.primaries.remove(at);
        }
        let placements = match (&self.tables, pattern.shape()) {
            _ if count == 0 || found.sets.is_empty() => Vec::new(),
            (Some(tables), PatternShape::Ring) => {
                let rank = |set: &GpuSet| self.ring_rank(tables, set.0 as u16, free, objective);
                found.sets.sort_by_cached_key(|set| std::cmp::Reverse(rank(set)));
                let best = found.sets.iter().take(count);
                best.map(|set| self.ring(tables, pattern, set.0 as u16, objective)).collect()
            }
            _ => {
                let found = match by_edges {
                    true => self.searched_by_edges(&Plan::new(pattern), &found, count, effort),
                    false => self.searched(pattern, found, objective, count, effort),
                };
                found.placements.into_iter().map(|placement| placement.gpus).collect()
            }
        };
        for placement in placements {
            matches.push(self.score(pattern, placement, free));
        }
        RunnersUp { matches, certain: complete && !effort.is_spent() }
    }

    /// Returns the best placement on each of the `count` best candidates, best first.
    fn searched(
        &self,
        pattern: &Pattern,
        mut candidates: Candidates,
        objective: Objective,
        count: usize,
        effort: &mut Effort<'_>,
    ) -> Found {
        candidates.keep_best(count);
        let Candidates { sets, primaries, .. } = &candidates;
        let (plan, pairs) = (Plan::new(pattern), &self.pairs);
        if objective == Objective::Effective && self.model() == BandwidthModel::Published {
            let score = |at: usize, effort: &mut Effort<'_>| {
                Published::new(pairs, self.regression(), sets[at], effort)
            };
            return best_over_sets(&plan, sets, score, count, effort);
        }
        if pattern.shape() == PatternShape::Ring
            && sets.len() > 1
            && let Some(rings) = self.rings(effort)
        {
            return self.looked_up(rings, pattern, &candidates, count);
        }
        let score = |at: usize, effort: &mut Effort<'_>| {
            Aggregated::new(pairs, sets[at], primaries[at], effort)
        };
        best_over_sets(&plan, sets, score, count, effort)
    }

    /// Returns the heaviest rings on the `count` best candidates, best first.
    fn looked_up(
        &self,
        rings: &RingTable,
        pattern: &Pattern,
        candidates: &Candidates,
        count: usize,
    ) -> Found {
        let both = candidates.sets.iter().zip(&candidates.primaries);
        let ranked = both.map(|(set, primary)| {
            let aggregated = rings.weight(set.0 as usize);
            (Rank { primary: *primary, aggregated }, *set)
        });
        let mut order: Vec<(Rank, GpuSet)> = ranked.collect();
        // Stable: among equals the lowest ids stay first.
        order.sort_by_key(|(rank, _)| std::cmp::Reverse(*rank));
        order.truncate(count);
        let lay = |(rank, set): (Rank, GpuSet)| {
            let ring = rings.ring(set.0 as usize, &self.pairs);
            Placement { gpus: in_ring_order(pattern, &ring), rank }
        };
        let most = order.first().map(|(rank, _)| *rank);
        Found { placements: order.into_iter().map(lay).collect(), most }
    }

    fn best_ring(
        &self,
        tables: &Tables,
        pattern: &Pattern,
        free: GpuSet,
        objective: Objective,
    ) -> Option<Selection> {
        let sets = tables.subsets.of_size(pattern.size());
        let weight = |set: u16| tables.rings.weight(usize::from(set));
        let nearer = |a: u16, b: u16| {
            self.ties() == Ties::Nearest && tables.nearness.compare(a, b, free).is_lt()
        };
        let (found, candidates) = match (objective, &tables.published_rings) {
            (Objective::Aggregated, _) => scan(sets, free, |_| Primary::NONE, weight, nearer),
            (Objective::Preserved, _) => {
                scan(sets, free, |set| tables.preserved(set, free), weight, nearer)
            }
            (Objective::Effective, None) => {
                scan(sets, free, |set| tables.effective(set), weight, nearer)
            }
            (Objective::Effective, Some(rings)) => {
                let weight = |set| rings.aggregated(set);
                scan(sets, free, |set| rings.primary(set), weight, nearer)
            }
        };
        let set = found?;
        let chosen = self.score(pattern, self.ring(tables, pattern, set, objective), free);
        Some(Selection::new(chosen, candidates, Some(0.0)))
    }

    /// Returns the rank of a set's best ring.
    fn ring_rank(&self, tables: &Tables, set: u16, free: GpuSet, objective: Objective) -> Rank {
        let weight = |set: u16| tables.rings.weight(usize::from(set));
        let (primary, aggregated) = match (objective, &tables.published_rings) {
            (Objective::Aggregated, _) => (Primary::NONE, weight(set)),
            (Objective::Preserved, _) => (tables.preserved(set, free), weight(set)),
            (Objective::Effective, None) => (tables.effective(set), weight(set)),
            (Objective::Effective, Some(rings)) => (rings.primary(set), rings.aggregated(set)),
        };
        Rank { primary, aggregated }
    }

    /// Returns the GPU of each vertex on a set's best ring.
    fn ring(
        &self,
        tables: &Tables,
        pattern: &Pattern,
        set: u16,
        objective: Objective,
    ) -> Vec<usize> {
        let ring = match (objective, &tables.published_rings) {
            (Objective::Effective, Some(rings)) => rings.ring(set, &self.pairs),
            _ => tables.rings.ring(usize::from(set), &self.pairs),
        };
        in_ring_order(pattern, &ring)
    }
}

/// The first free set with the highest rank that none of the same rank is nearer than, and how
/// many free sets there were. Only ties read what comes after the primary score.
fn scan(
    sets: &[u16],
    free: GpuSet,
    primary: impl Fn(u16) -> Primary,
    aggregated: impl Fn(u16) -> u64,
    nearer: impl Fn(u16, u16) -> bool,
) -> (Option<u16>, u64) {
    let busy = !(free.0 as u16);
    let mut best: Option<(Primary, u64, u16)> = None;
    let mut candidates = 0;
    for set in sets.iter().copied().filter(|set| set & busy == 0) {
        candidates += 1;
        let first = primary(set);
        let better = match best {
            None => true,
            Some((most, ..)) if first != most => first > most,
            Some((_, most, known)) => {
                let second = aggregated(set);
                second > most || second == most && nearer(set, known)
            }
        };
        if better {
            best = Some((first, aggregated(set), set));
        }
    }
    (best.map(|(_, _, set)| set), candidates)
}
