//! The best matches by one objective, over all sets of free GPUs.
//!
//! Ties go to the higher aggregated bandwidth, then to the lowest ids: across sets and among
//! the matches on one set. Rings on machines of up to 16 GPUs are looked up; other patterns
//! are searched best bound first, so that most sets are never searched.

use super::candidates::{Candidates, combinations};
use super::effort::Effort;
use super::gpu_set::GpuSet;
use super::matching::plan::Plan;
use super::matching::rank::{Primary, Rank};
use super::matching::scores::{Aggregated, Published};
use super::matching::search::best_over_sets;
use super::pattern::{Pattern, Shape};
use super::prepared::{BandwidthModel, Match, PreparedMachine, Tables};

/// What the best match has most of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Objective {
    /// Aggregated bandwidth, Eq. 1.
    Aggregated,
    /// Effective bandwidth, by the machine's model.
    Effective,
    /// Preserved bandwidth, Eq. 3.
    Preserved,
}

/// The outcome of a selection.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    /// The match.
    pub chosen: Match,
    /// How many sets of GPUs competed.
    pub candidates: u64,
    /// Whether no match can be better by the objective, or, where the rule names the GPUs,
    /// no match on these in aggregated bandwidth. False where the effort was spent, and on
    /// machines of more than 16 GPUs also where not all sets of free GPUs were tried.
    pub optimal: bool,
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
        if let (Some(tables), Shape::Ring) = (&self.tables, pattern.shape()) {
            return self.best_ring(tables, pattern, free, objective);
        }
        let found = self.candidates(pattern.size(), free, objective, effort);
        let (candidates, complete) = (found.sets.len() as u64, found.complete);
        let best = self.searched(pattern, found, objective, 1, effort).into_iter().next()?;
        let optimal = complete && !effort.is_spent();
        Some(Selection { chosen: self.score(pattern, best, free), candidates, optimal })
    }

    /// The placement with the most aggregated bandwidth on exactly these GPUs, scored.
    #[must_use]
    pub fn place(
        &self,
        pattern: &Pattern,
        gpus: GpuSet,
        free: GpuSet,
        effort: &mut Effort<'_>,
    ) -> Selection {
        let placement = match (&self.tables, pattern.shape()) {
            (Some(tables), Shape::Ring) => {
                in_ring_order(pattern, &tables.rings.ring(gpus.0 as u16, &self.pairs))
            }
            _ => {
                let (sets, primaries) = (vec![gpus], vec![Primary::NONE]);
                let only = Candidates { sets, primaries, complete: true };
                let found = self.searched(pattern, only, Objective::Aggregated, 1, effort);
                found.into_iter().next().unwrap_or_default()
            }
        };
        let chosen = self.score(pattern, placement, free);
        Selection { chosen, candidates: 1, optimal: !effort.is_spent() }
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
        let mut found = self.candidates(pattern.size(), free, objective, effort);
        let complete = found.complete;
        if let Some(at) = found.sets.iter().position(|set| *set == chosen) {
            found.sets.remove(at);
            found.primaries.remove(at);
        }
        let placements = match (&self.tables, pattern.shape()) {
            _ if count == 0 || found.sets.is_empty() => Vec::new(),
            (Some(tables), Shape::Ring) => {
                let rank = |set: &GpuSet| self.ring_rank(tables, set.0 as u16, free, objective);
                found.sets.sort_by_cached_key(|set| std::cmp::Reverse(rank(set)));
                let best = found.sets.iter().take(count);
                best.map(|set| self.ring(tables, pattern, set.0 as u16, objective)).collect()
            }
            _ => self.searched(pattern, found, objective, count, effort),
        };
        for placement in placements {
            matches.push(self.score(pattern, placement, free));
        }
        RunnersUp { matches, certain: complete && !effort.is_spent() }
    }

    /// The best placement on each of the `count` best candidates, best first.
    fn searched(
        &self,
        pattern: &Pattern,
        mut candidates: Candidates,
        objective: Objective,
        count: usize,
        effort: &mut Effort<'_>,
    ) -> Vec<Vec<usize>> {
        candidates.keep_best(count);
        let Candidates { sets, primaries, .. } = &candidates;
        let (plan, pairs) = (Plan::new(pattern), &self.pairs);
        let found =
            if objective == Objective::Effective && self.model() == BandwidthModel::Published {
                let score =
                    |at: usize, effort: &mut Effort<'_>| Published::new(pairs, sets[at], effort);
                best_over_sets(&plan, sets, score, count, effort)
            } else {
                let score = |at: usize, effort: &mut Effort<'_>| {
                    Aggregated::new(pairs, sets[at], primaries[at], effort)
                };
                best_over_sets(&plan, sets, score, count, effort)
            };
        found.into_iter().map(|placement| placement.gpus).collect()
    }

    fn best_ring(
        &self,
        tables: &Tables,
        pattern: &Pattern,
        free: GpuSet,
        objective: Objective,
    ) -> Option<Selection> {
        let sets = tables.subsets.of_size(pattern.size());
        let weight = |set| tables.rings.weight(set);
        let (found, candidates) = match (objective, &tables.published_rings) {
            (Objective::Aggregated, _) => scan(sets, free, |_| Primary::NONE, weight),
            (Objective::Preserved, _) => {
                scan(sets, free, |set| tables.preserved(set, free), weight)
            }
            (Objective::Effective, None) => scan(sets, free, |set| tables.effective(set), weight),
            (Objective::Effective, Some(rings)) => {
                scan(sets, free, |set| rings.primary(set), |set| rings.aggregated(set))
            }
        };
        let set = found?;
        let chosen = self.score(pattern, self.ring(tables, pattern, set, objective), free);
        Some(Selection { chosen, candidates, optimal: true })
    }

    /// The rank of a set's best ring.
    fn ring_rank(&self, tables: &Tables, set: u16, free: GpuSet, objective: Objective) -> Rank {
        let (primary, aggregated) = match (objective, &tables.published_rings) {
            (Objective::Aggregated, _) => (Primary::NONE, tables.rings.weight(set)),
            (Objective::Preserved, _) => (tables.preserved(set, free), tables.rings.weight(set)),
            (Objective::Effective, None) => (tables.effective(set), tables.rings.weight(set)),
            (Objective::Effective, Some(rings)) => (rings.primary(set), rings.aggregated(set)),
        };
        Rank { primary, aggregated }
    }

    /// The GPU of each vertex on a set's best ring.
    fn ring(
        &self,
        tables: &Tables,
        pattern: &Pattern,
        set: u16,
        objective: Objective,
    ) -> Vec<usize> {
        let ring = match (objective, &tables.published_rings) {
            (Objective::Effective, Some(rings)) => rings.ring(set, &self.pairs),
            _ => tables.rings.ring(set, &self.pairs),
        };
        in_ring_order(pattern, &ring)
    }
}

/// The first free set with the highest rank, and how many free sets there were. Only ties
/// read what is secondary.
fn scan(
    sets: &[u16],
    free: GpuSet,
    primary: impl Fn(u16) -> Primary,
    aggregated: impl Fn(u16) -> u64,
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
            Some((_, most, _)) => aggregated(set) > most,
        };
        if better {
            best = Some((first, aggregated(set), set));
        }
    }
    (best.map(|(_, _, set)| set), candidates)
}

/// The GPU of each vertex when the pattern's own ring is laid along `ring`.
fn in_ring_order(pattern: &Pattern, ring: &[usize]) -> Vec<usize> {
    let mut placement = ring.to_vec();
    let (mut before, mut at) = (None, 0);
    for gpu in ring {
        placement[at] = *gpu;
        let ends = pattern.edges().iter().filter(|(a, b)| *a == at || *b == at);
        let next = ends.map(|(a, b)| a + b - at).find(|v| Some(*v) != before);
        (before, at) = (Some(at), next.unwrap_or(0));
    }
    placement
}
