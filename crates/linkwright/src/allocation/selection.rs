//! The best match by one objective, over all sets of free GPUs.
//!
//! Ties go to the higher aggregated bandwidth, then to the lowest ids. Rings on machines of
//! up to 16 GPUs are looked up; other patterns are searched best bound first, so that most
//! sets are never searched. On larger machines all sets are tried while they are few
//! ([`MAX_SETS`]); beyond that, sets grown from every GPU and improved by exchanges.

use super::gpu_set::GpuSet;
use super::matching::search::{Aggregated, Ahead, BUDGET, MatchScore, Published, best_placement};
use super::pattern::{Pattern, Shape};
use super::prepared::{BandwidthModel, Match, PreparedMachine, Tables};

/// The most sets of GPUs that a machine of more than 16 GPUs tries one by one.
pub const MAX_SETS: u64 = 100_000;

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
    /// Whether none can be better; false only where the search ran out of its budget.
    pub optimal: bool,
}

impl PreparedMachine {
    /// The best match of the pattern on free GPUs, or `None` where too few are free.
    #[must_use]
    pub fn best(&self, pattern: &Pattern, free: GpuSet, objective: Objective) -> Option<Selection> {
        if free.len() < pattern.size() {
            return None;
        }
        if let (Some(tables), Shape::Ring) = (&self.tables, pattern.shape()) {
            return self.best_ring(tables, pattern, free, objective);
        }
        let (sets, complete) = self.candidate_sets(pattern, free, objective);
        let mut budget = BUDGET;
        let chosen =
            if objective == Objective::Effective && self.model() == BandwidthModel::Published {
                self.best_published(pattern, &sets, &mut budget)
            } else {
                let sets = self.ties(&sets, free, objective);
                self.heaviest(pattern, &sets, &mut budget)
            };
        let optimal = complete && budget > 0;
        let candidates = sets.len() as u64;
        let chosen = self.score(pattern, chosen?, free);
        Some(Selection { chosen, candidates, optimal })
    }

    /// The placement with the most aggregated bandwidth on exactly these GPUs, scored.
    #[must_use]
    pub fn place(&self, pattern: &Pattern, gpus: GpuSet, free: GpuSet) -> Selection {
        let mut budget = BUDGET;
        let placement = match (&self.tables, pattern.shape()) {
            (Some(tables), Shape::Ring) => {
                in_ring_order(pattern, &tables.rings.ring(gpus.0 as u16, &self.pairs))
            }
            _ => self.heaviest(pattern, &[gpus], &mut budget).unwrap_or_default(),
        };
        let chosen = self.score(pattern, placement, free);
        Selection { chosen, candidates: 1, optimal: budget > 0 }
    }

    /// Every set of free GPUs of the pattern's size that competes, lowest ids first.
    pub(super) fn every_set(&self, pattern: &Pattern, free: GpuSet) -> Vec<GpuSet> {
        self.candidate_sets(pattern, free, Objective::Aggregated).0
    }

    /// The placement on exactly these GPUs that is best by an objective, scored.
    pub(super) fn best_on(
        &self,
        pattern: &Pattern,
        gpus: GpuSet,
        free: GpuSet,
        objective: Option<Objective>,
    ) -> Match {
        let published = self.model() == BandwidthModel::Published;
        if objective != Some(Objective::Effective) || !published {
            return self.place(pattern, gpus, free).chosen;
        }
        let rings = self.tables.as_ref().and_then(|tables| tables.published_rings.as_ref());
        let placement = match (rings, pattern.shape()) {
            (Some(rings), Shape::Ring) => {
                in_ring_order(pattern, &rings.ring(gpus.0 as u16, &self.pairs))
            }
            _ => {
                let mut budget = BUDGET;
                self.best_published(pattern, &[gpus], &mut budget).unwrap_or_default()
            }
        };
        self.score(pattern, placement, free)
    }

    fn best_ring(
        &self,
        tables: &Tables,
        pattern: &Pattern,
        free: GpuSet,
        objective: Objective,
    ) -> Option<Selection> {
        let sets = tables.subsets.of_size(pattern.size());
        let busy = !(free.0 as u16);
        let weight = |set| tables.rings.weight(set);
        let (found, candidates) = match (objective, &tables.published_rings) {
            (Objective::Aggregated, _) => scan(sets, busy, |_| (), weight),
            (Objective::Preserved, _) => {
                scan(sets, busy, |set| tables.inside[usize::from(!busy & !set)], weight)
            }
            (Objective::Effective, None) => {
                scan(sets, busy, |set| tables.effective[usize::from(set)], weight)
            }
            (Objective::Effective, Some(rings)) => {
                scan(sets, busy, |set| rings.effective_bandwidth(set), |set| rings.aggregated(set))
            }
        };
        let set = found?;
        let ring = match (objective, &tables.published_rings) {
            (Objective::Effective, Some(rings)) => rings.ring(set, &self.pairs),
            _ => tables.rings.ring(set, &self.pairs),
        };
        let chosen = self.score(pattern, in_ring_order(pattern, &ring), free);
        Some(Selection { chosen, candidates, optimal: true })
    }

    /// The sets with the highest primary score, for objectives that depend on the set alone.
    fn ties(&self, sets: &[GpuSet], free: GpuSet, objective: Objective) -> Vec<GpuSet> {
        let primary = |set: &GpuSet| match objective {
            Objective::Aggregated => 0.0,
            Objective::Effective => self.sound_bandwidth(*set),
            Objective::Preserved => self.bandwidth_inside(free.without(*set)).0 as f64,
        };
        let scores: Vec<f64> = sets.iter().map(primary).collect();
        let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let paired = sets.iter().zip(scores);
        paired.filter(|(_, score)| *score == best).map(|(set, _)| *set).collect()
    }

    /// The heaviest placement over these sets; among equals the earliest set.
    fn heaviest(&self, pattern: &Pattern, sets: &[GpuSet], budget: &mut u64) -> Option<Vec<usize>> {
        let score = |set: GpuSet| Aggregated::new(&self.pairs, set);
        best_over_sets(pattern, sets, score, budget)
    }

    fn best_published(
        &self,
        pattern: &Pattern,
        sets: &[GpuSet],
        budget: &mut u64,
    ) -> Option<Vec<usize>> {
        let score = |set: GpuSet| Published::new(&self.pairs, set);
        best_over_sets(pattern, sets, score, budget)
    }

    /// The sets that compete, lowest ids first, and whether they are all there are.
    fn candidate_sets(
        &self,
        pattern: &Pattern,
        free: GpuSet,
        objective: Objective,
    ) -> (Vec<GpuSet>, bool) {
        let size = pattern.size();
        if let Some(tables) = &self.tables {
            let all = tables.subsets.of_size(size).iter().map(|set| GpuSet(u128::from(*set)));
            return (all.filter(|set| set.is_subset_of(free)).collect(), true);
        }
        if combinations_up_to(free.len(), size, MAX_SETS) {
            return (combinations(free, size), true);
        }
        let mut grown: Vec<GpuSet> =
            free.iter().map(|seed| self.grow(seed, size, free, objective)).collect();
        grown.sort_by_key(|set| set.lowest_ids_key());
        grown.dedup();
        (grown, false)
    }

    /// A set grown from one GPU by the best next GPU, then improved by single exchanges.
    fn grow(&self, seed: usize, size: usize, free: GpuSet, objective: Objective) -> GpuSet {
        let value = |set: GpuSet| match objective {
            Objective::Aggregated => self.bandwidth_inside(set).0 as f64,
            Objective::Effective => self.sound_bandwidth(set),
            Objective::Preserved => self.bandwidth_inside(free.without(set)).0 as f64,
        };
        let best_of = |options: &mut dyn Iterator<Item = GpuSet>| {
            let mut best: Option<(f64, GpuSet)> = None;
            for set in options {
                let score = value(set);
                if best.is_none_or(|(most, _)| score > most) {
                    best = Some((score, set));
                }
            }
            best
        };
        let mut set = GpuSet::EMPTY.with(seed);
        while set.len() < size {
            let mut next = free.without(set).iter().map(|gpu| set.with(gpu));
            set = best_of(&mut next).map_or(set, |(_, grown)| grown);
        }
        loop {
            let others = free.without(set);
            let mut exchanges = set.iter().flat_map(|out| {
                let kept = set.without(GpuSet::EMPTY.with(out));
                others.iter().map(move |gpu| kept.with(gpu))
            });
            match best_of(&mut exchanges) {
                Some((score, better)) if score > value(set) => set = better,
                _ => return set,
            }
        }
    }
}

/// The first free set with the highest primary and then secondary score, and how many
/// free sets there were.
fn scan<P: PartialOrd>(
    sets: &[u16],
    busy: u16,
    primary: impl Fn(u16) -> P,
    secondary: impl Fn(u16) -> u64,
) -> (Option<u16>, u64) {
    let mut best: Option<(P, u64, u16)> = None;
    let mut candidates = 0;
    for set in sets.iter().copied().filter(|set| set & busy == 0) {
        candidates += 1;
        let first = primary(set);
        let better = match &best {
            None => true,
            Some((most, ..)) if first != *most => first > *most,
            Some((_, most, _)) => secondary(set) > *most,
        };
        if better {
            best = Some((first, secondary(set), set));
        }
    }
    (best.map(|(_, _, set)| set), candidates)
}

/// The best placement over several sets, searched by falling bound; among equals the set
/// that comes first in `sets`.
fn best_over_sets<S: MatchScore>(
    pattern: &Pattern,
    sets: &[GpuSet],
    score: impl Fn(GpuSet) -> S,
    budget: &mut u64,
) -> Option<Vec<usize>> {
    let edges = pattern.edges().len();
    let bound = |set: &GpuSet| {
        let score = score(*set);
        score.bound(score.start(), &Ahead::everything(edges, *set))
    };
    let mut order: Vec<(usize, f64)> = sets.iter().map(bound).enumerate().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut best: Option<(f64, usize, Vec<usize>)> = None;
    for (index, bound) in order {
        let (value, holder) = best.as_ref().map_or((f64::NEG_INFINITY, 0), |b| (b.0, b.1));
        if bound < value {
            break;
        }
        // An earlier set wins a tie, so that it needs only to reach the value.
        let floor = if index < holder { value.next_down() } else { value };
        if let Some(found) =
            best_placement(pattern, sets[index], &score(sets[index]), floor, budget)
        {
            best = Some((found.value, index, found.gpus));
        }
    }
    best.map(|(_, _, placement)| placement)
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

fn combinations_up_to(count: usize, size: usize, limit: u64) -> bool {
    let mut total: u64 = 1;
    for step in 0..size.min(count - size) as u64 {
        total = total * (count as u64 - step) / (step + 1);
        if total > limit {
            return false;
        }
    }
    true
}

/// All subsets of that size, lowest ids first.
fn combinations(gpus: GpuSet, size: usize) -> Vec<GpuSet> {
    let ids: Vec<usize> = gpus.iter().collect();
    let mut picked: Vec<usize> = (0..size).collect();
    let mut sets = Vec::new();
    loop {
        sets.push(picked.iter().map(|at| ids[*at]).collect());
        let movable = |at: &usize| picked[*at] < ids.len() - size + at;
        let Some(at) = (0..size).rev().find(movable) else { return sets };
        picked[at] += 1;
        for later in at + 1..size {
            picked[later] = picked[later - 1] + 1;
        }
    }
}
