//! The best matches of any pattern over sets of GPUs, by pruned search.
//!
//! Sets are searched best bound first, so that most are never searched. On one set, pattern
//! vertices are placed one by one, each next to as many placed neighbours as can be. The bound of a
//! branch assumes the best links that the edges still to come could get. A branch is cut where its
//! bound cannot beat the best match found. Vertices that could change places without changing the
//! pattern are placed in the order of their GPUs only. The search is exact unless the effort is
//! spent: its cost grows, at worst, with the factorial of the pattern's size. Then the bounds of
//! the remaining branches say how far from the best the placement may be.

use super::guess::guess;
use super::plan::{Plan, Step};
use super::rank::{Floor, Rank};
use super::scores::{Ahead, MatchScore};
use crate::allocation::effort::Effort;
use crate::allocation::{GpuSet, PatternShape};

/// Holds a placement: the GPU of each pattern vertex, and its rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// Lists the GPU of each vertex.
    pub gpus: Vec<usize>,
    /// Ranks the placement.
    pub rank: Rank,
}

/// Holds the result of a search over sets.
pub struct Found {
    /// The best placement on each of the best sets, best first.
    pub placements: Vec<Placement>,
    /// Gives a rank that no placement on any of the sets exceeds, where one is known. It is the
    /// first placement's own where that was proven to be the best.
    pub most: Option<Rank>,
}

/// Returns the best placement on each of the `count` best sets, best first. Among equals the set
/// that comes first in `sets` is better. Where the effort is spent these are the best found so far.
/// They may not be the best and may be fewer, but never none where there is a set.
///
/// # Panics
/// If `count` is zero.
pub fn best_over_sets<S: MatchScore>(
    plan: &Plan<'_>,
    sets: &[GpuSet],
    score: impl Fn(usize, &mut Effort<'_>) -> S,
    count: usize,
    effort: &mut Effort<'_>,
) -> Found {
    let mut order: Vec<(Rank, usize)> = Vec::with_capacity(sets.len());
    for (index, set) in sets.iter().enumerate() {
        let score = score(index, effort);
        order.push((score.most(plan, *set, effort), index));
        if effort.is_spent() {
            break;
        }
    }
    let all_bounded = order.len() == sets.len();
    order.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let guessed = guess_on_the_first(plan, sets, &order, &score, count, effort);
    let mut found: Vec<(Placement, usize)> = Vec::new();
    // This is the best rank that placements which were not looked at may reach.
    let mut open: Option<Rank> = None;
    for (bound, index) in order {
        let floor = match (found.get(count - 1), &guessed) {
            (None, None) => Floor::Anything,
            (None, Some(guess)) => Floor::AtLeast(guess.rank),
            (Some((last, holder)), _) if index < *holder => Floor::AtLeast(last.rank),
            (Some((last, _)), _) => Floor::Above(last.rank),
        };
        let worst = found.last().map_or(Rank::default(), |(last, _)| last.rank);
        if found.len() >= count && bound < worst {
            break;
        }
        if effort.is_spent() && (!found.is_empty() || guessed.is_some()) {
            open = open.max(Some(bound));
            break;
        }
        let score = score(index, effort);
        let (placement, left) = search_set(plan, sets[index], &score, floor, effort);
        open = open.max(left);
        let Some(placement) = placement else { continue };
        let better = |(other, holder): &(Placement, usize)| {
            other.rank > placement.rank || other.rank == placement.rank && *holder < index
        };
        let at = found.partition_point(better);
        found.insert(at, (placement, index));
        found.truncate(count);
    }
    let mut placements: Vec<Placement> =
        found.into_iter().map(|(placement, _)| placement).collect();
    // Only a search that was cut short has not found what was guessed, or better.
    if let Some(guess) = guessed.filter(|guess| placements.iter().all(|p| p.rank < guess.rank)) {
        placements = vec![guess];
    }
    let reached = placements.first().map(|best| best.rank);
    Found { placements, most: open.max(reached).filter(|_| all_bounded) }
}

/// Makes a guess on each of the most promising sets and returns the best. It does so where one
/// placement alone is asked for and the pattern is large enough for a long search.
fn guess_on_the_first<S: MatchScore>(
    plan: &Plan<'_>,
    sets: &[GpuSet],
    order: &[(Rank, usize)],
    score: &impl Fn(usize, &mut Effort<'_>) -> S,
    count: usize,
    effort: &mut Effort<'_>,
) -> Option<Placement> {
    const SETS: usize = 4;
    const SMALL: usize = 8;
    let ring = plan.pattern().shape() == PatternShape::Ring;
    let one_by_one = !plan.is_symmetric() && plan.pattern().size() > SMALL;
    if count > 1 || !one_by_one {
        return None;
    }
    let reserve = effort.left() - effort.left() / 4;
    let mut best: Option<Placement> = None;
    for (most, index) in order.iter().take(SETS) {
        if best.as_ref().is_some_and(|best| best.rank >= *most) || effort.left() <= reserve {
            break;
        }
        let score = score(*index, effort);
        if ring && score.knows_rings() {
            return None;
        }
        let other = guess(plan, sets[*index], &score, (*most, reserve), effort);
        if best.as_ref().is_none_or(|best| other.rank > best.rank) {
            best = Some(other);
        }
    }
    best
}

/// Returns the best placement of the pattern on exactly these GPUs, or `None` where the floor
/// admits none. It also returns the most that placements not looked at may reach. Among equals the
/// first found wins, and the order of the search is fixed. Where the effort is spent it is the best
/// found so far. Without a floor it is some placement at least.
///
/// # Panics
/// If the set's size is not the pattern's.
pub fn search_set<S: MatchScore>(
    plan: &Plan<'_>,
    gpus: GpuSet,
    score: &S,
    floor: Floor,
    effort: &mut Effort<'_>,
) -> (Option<Placement>, Option<Rank>) {
    let pattern = plan.pattern();
    assert_eq!(gpus.len(), pattern.size(), "one GPU per vertex");
    let by_ids = || {
        let gpus: Vec<usize> = gpus.iter().collect();
        let rank = score.rank_of(pattern, &gpus);
        Placement { gpus, rank }
    };
    if plan.is_symmetric() {
        effort.spend(1 + pattern.edges().len() as u64 / 64);
        return (Some(by_ids()).filter(|only| floor.admits(only.rank)), None);
    }
    let most = score.most(plan, gpus, effort);
    if !floor.admits(most) {
        return (None, None);
    }
    let ring = pattern.shape() == PatternShape::Ring;
    if ring
        && pattern.size() > 2
        && let Some((ring, most)) = score.ring(plan, gpus, effort)
    {
        let open = Some(most).filter(|most| *most > ring.rank && floor.admits(*most));
        return (Some(ring).filter(|ring| floor.admits(ring.rank)), open);
    }
    let mut search = Search {
        score,
        steps: plan.steps(),
        placed: Vec::with_capacity(pattern.size()),
        best: None,
        floor,
        ring,
        open: None,
        effort,
    };
    search.descend(gpus, score.start());
    let Search { best, open, .. } = search;
    let open = open.map(|open| open.min(most));
    let Some((placed, rank)) = best else {
        return ((floor == Floor::Anything).then(by_ids), open);
    };
    let mut of_vertex = vec![0; pattern.size()];
    for (step, gpu) in plan.steps().iter().zip(placed) {
        of_vertex[step.vertex] = gpu;
    }
    (Some(Placement { gpus: of_vertex, rank }), open)
}

struct Search<'a, 'b, S: MatchScore> {
    score: &'a S,
    steps: &'a [Step],
    placed: Vec<usize>,
    /// Holds the GPU of each step, and the rank.
    best: Option<(Vec<usize>, Rank)>,
    floor: Floor,
    ring: bool,
    /// Gives the best rank that the branches which the effort did not reach may come to.
    open: Option<Rank>,
    effort: &'a mut Effort<'b>,
}

impl<S: MatchScore> Search<'_, '_, S> {
    fn descend(&mut self, rest: GpuSet, sum: S::Sum) {
        let depth = self.placed.len();
        let steps = self.steps;
        let Some(step) = steps.get(depth) else {
            let rank = self.score.rank(&sum);
            if self.floor.admits(rank) {
                self.best = Some((self.placed.clone(), rank));
                self.floor = Floor::Above(rank);
            }
            return;
        };
        // Rotations of a ring are one match: fix its start.
        let candidates = if self.ring && depth == 0 { 1 } else { rest.len() };
        let after = step.twin.map(|twin| self.placed[twin]);
        // Its twins come later on higher GPUs: there have to be as many.
        let highest = rest.len() - step.twins_to_come;
        let candidates = rest.iter().take(candidates.min(highest));
        for gpu in candidates.filter(|gpu| after.is_none_or(|twin| *gpu > twin)) {
            self.effort.spend(1);
            let mut next = sum.clone();
            for (neighbour, edge, is_upper) in &step.neighbours {
                let other = self.placed[*neighbour];
                let ends = if *is_upper { [other, gpu] } else { [gpu, other] };
                self.score.add(&mut next, *edge, ends);
            }
            let rest = rest.without(GpuSet::EMPTY.with(gpu));
            self.placed.push(gpu);
            let Step { open, inner, edges, .. } = step;
            let placed = &self.placed;
            let ahead = Ahead { edges: *edges, inner: *inner, open, placed, rest };
            let bound = self.score.bound(&next, &ahead, self.effort);
            if self.floor.admits(bound) {
                if self.effort.is_spent() {
                    self.open = self.open.max(Some(bound));
                } else {
                    self.descend(rest, next);
                }
            }
            self.placed.pop();
        }
    }
}
