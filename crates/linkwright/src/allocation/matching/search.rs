//! The best matches of any pattern over sets of GPUs, by pruned search.
//!
//! Sets are searched best bound first, so that most are never searched. On one set, pattern
//! vertices are placed one by one, each next to as many placed neighbours as can be; a
//! branch is cut where its rank, with the best links that the edges still to come could get,
//! cannot beat the best match found. Vertices that could change places without changing the
//! pattern are placed in the order of their GPUs only. Exact, unless the effort is spent:
//! the cost grows, at worst, with the factorial of the pattern's size.

use super::plan::{Plan, Step};
use super::rank::{Floor, Rank};
use super::scores::{Ahead, MatchScore};
use crate::allocation::effort::Effort;
use crate::allocation::{GpuSet, Shape};

/// A placement: the GPU of each pattern vertex, and its rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// GPU of each vertex.
    pub gpus: Vec<usize>,
    /// Its rank.
    pub rank: Rank,
}

/// The best placement on each of the `count` best sets, best first; among equals the set
/// that comes first in `sets` is better. Where the effort is spent these are the best found
/// so far, which may not be the best and may be fewer, but never none where there is a set.
///
/// # Panics
/// If `count` is zero.
pub fn best_over_sets<S: MatchScore>(
    plan: &Plan<'_>,
    sets: &[GpuSet],
    score: impl Fn(usize, &mut Effort<'_>) -> S,
    count: usize,
    effort: &mut Effort<'_>,
) -> Vec<Placement> {
    let edges = plan.pattern().edges().len();
    let mut order: Vec<(Rank, usize)> = Vec::with_capacity(sets.len());
    for (index, set) in sets.iter().enumerate() {
        let score = score(index, effort);
        let everything = Ahead::everything(edges, *set);
        order.push((score.bound(score.start(), &everything, effort), index));
        if effort.is_spent() {
            break;
        }
    }
    order.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut found: Vec<(Placement, usize)> = Vec::new();
    for (bound, index) in order {
        let floor = match found.get(count - 1) {
            None => Floor::Anything,
            Some((last, holder)) if index < *holder => Floor::AtLeast(last.rank),
            Some((last, _)) => Floor::Above(last.rank),
        };
        let worst = found.last().map_or(Rank::default(), |(last, _)| last.rank);
        if found.len() >= count && bound < worst || effort.is_spent() && !found.is_empty() {
            break;
        }
        let score = score(index, effort);
        let Some(placement) = best_placement(plan, sets[index], &score, floor, effort) else {
            continue;
        };
        let better = |(other, holder): &(Placement, usize)| {
            other.rank > placement.rank || other.rank == placement.rank && *holder < index
        };
        let at = found.partition_point(better);
        found.insert(at, (placement, index));
        found.truncate(count);
    }
    found.into_iter().map(|(placement, _)| placement).collect()
}

/// The best placement of the pattern on exactly these GPUs, or `None` where the floor admits
/// none. Among equals the first found wins; the order of the search is fixed. Where the
/// effort is spent it is the best found so far, without a floor some placement at least.
///
/// # Panics
/// If the set's size is not the pattern's.
#[must_use]
pub fn best_placement<S: MatchScore>(
    plan: &Plan<'_>,
    gpus: GpuSet,
    score: &S,
    floor: Floor,
    effort: &mut Effort<'_>,
) -> Option<Placement> {
    let pattern = plan.pattern();
    assert_eq!(gpus.len(), pattern.size(), "one GPU per vertex");
    let by_ids = || {
        let gpus: Vec<usize> = gpus.iter().collect();
        let add = |sum, (a, b): &(usize, usize)| score.add(sum, gpus[*a], gpus[*b]);
        let rank = score.rank(pattern.edges().iter().fold(score.start(), add));
        Placement { gpus, rank }
    };
    if plan.is_symmetric() {
        effort.spend(1 + pattern.edges().len() as u64 / 64);
        return Some(by_ids()).filter(|only| floor.admits(only.rank));
    }
    let mut search = Search {
        score,
        steps: plan.steps(),
        placed: Vec::with_capacity(pattern.size()),
        best: None,
        floor,
        ring: pattern.shape() == Shape::Ring,
        effort,
    };
    let everything = Ahead::everything(pattern.edges().len(), gpus);
    if floor.admits(score.bound(score.start(), &everything, search.effort)) {
        search.descend(gpus, score.start());
    }
    let Search { best, .. } = search;
    let Some((placed, rank)) = best else {
        return (floor == Floor::Anything).then(by_ids);
    };
    let mut of_vertex = vec![0; pattern.size()];
    for (step, gpu) in plan.steps().iter().zip(placed) {
        of_vertex[step.vertex] = gpu;
    }
    Some(Placement { gpus: of_vertex, rank })
}

struct Search<'a, 'b, S: MatchScore> {
    score: &'a S,
    steps: &'a [Step],
    placed: Vec<usize>,
    /// The GPU of each step, and the rank.
    best: Option<(Vec<usize>, Rank)>,
    floor: Floor,
    ring: bool,
    effort: &'a mut Effort<'b>,
}

impl<S: MatchScore> Search<'_, '_, S> {
    fn descend(&mut self, rest: GpuSet, sum: S::Sum) {
        let depth = self.placed.len();
        let steps = self.steps;
        let Some(step) = steps.get(depth) else {
            let rank = self.score.rank(sum);
            if self.floor.admits(rank) {
                self.best = Some((self.placed.clone(), rank));
                self.floor = Floor::Above(rank);
            }
            return;
        };
        // Rotations of a ring are one match: fix its start.
        let candidates = if self.ring && depth == 0 { 1 } else { rest.len() };
        let after = step.twin.map(|twin| self.placed[twin]);
        for gpu in rest.iter().take(candidates).filter(|gpu| after.is_none_or(|twin| *gpu > twin)) {
            if self.effort.is_spent() {
                return;
            }
            self.effort.spend(1);
            let mut next = sum;
            for neighbour in &step.neighbours {
                next = self.score.add(next, self.placed[*neighbour], gpu);
            }
            let rest = rest.without(GpuSet::EMPTY.with(gpu));
            self.placed.push(gpu);
            let Step { open, inner, edges, .. } = step;
            let placed = &self.placed;
            let ahead = Ahead { edges: *edges, inner: *inner, open, placed, rest };
            let bound = self.score.bound(next, &ahead, self.effort);
            if self.floor.admits(bound) {
                self.descend(rest, next);
            }
            self.placed.pop();
        }
    }
}
