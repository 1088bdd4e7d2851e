//! The best match of any pattern on one set of GPUs, by pruned search.
//!
//! Pattern vertices are placed one by one, each next to as many placed neighbours as can be;
//! a branch is cut where its score, with the best links that the edges still to come could
//! get, cannot beat the best match found. Vertices that could change places without changing
//! the pattern are placed in the order of their GPUs only. Exact, unless it runs out of its budget of
//! placements: the cost grows, at worst, with the factorial of the pattern's size.

use crate::allocation::bandwidth::published;
use crate::allocation::links::{LinkClass, LinkCounts, PairTable};
use crate::allocation::{GpuSet, Pattern, Shape};

/// A score that depends on which pairs a match uses.
pub trait MatchScore {
    /// Partial sums over the edges placed so far.
    type Sum: Copy;
    /// Nothing placed.
    fn start(&self) -> Self::Sum;
    /// With one more edge, between two GPUs.
    fn add(&self, sum: Self::Sum, a: usize, b: usize) -> Self::Sum;
    /// The score of a finished match.
    fn value(&self, sum: Self::Sum) -> f64;
    /// The most that the score can become with the edges that are still to come.
    fn bound(&self, sum: Self::Sum, ahead: &Ahead<'_>) -> f64;
}

/// The edges that a partial placement still has to place.
#[derive(Debug, Clone, Copy)]
pub struct Ahead<'a> {
    /// How many they are.
    pub edges: usize,
    /// How many of them join two vertices that are not placed.
    pub inner: usize,
    /// GPUs that have edges to vertices not placed, and how many; by their step.
    pub open: &'a [(usize, usize)],
    /// The GPU of each step so far.
    pub placed: &'a [usize],
    /// The GPUs that are left.
    pub rest: GpuSet,
}

impl Ahead<'_> {
    /// Before anything is placed.
    #[must_use]
    pub fn everything(edges: usize, gpus: GpuSet) -> Self {
        Self { edges, inner: edges, open: &[], placed: &[], rest: gpus }
    }
}

/// Aggregated bandwidth (Eq. 1) on one set of GPUs.
pub struct Aggregated<'a> {
    pairs: &'a PairTable,
    /// Sum of the set's `n` heaviest pairs, by `n`.
    heaviest: Vec<u64>,
}

impl<'a> Aggregated<'a> {
    /// The score on the pairs of these GPUs.
    #[must_use]
    pub fn new(pairs: &'a PairTable, gpus: GpuSet) -> Self {
        let mut weights: Vec<u64> = gpus
            .iter()
            .flat_map(|b| gpus.iter().take_while(move |a| *a < b).map(move |a| (a, b)))
            .map(|(a, b)| pairs.weight(a, b))
            .collect();
        weights.sort_unstable_by(|a, b| b.cmp(a));
        let mut sum = 0;
        let sums = weights.into_iter().map(|weight| {
            sum += weight;
            sum
        });
        let heaviest = std::iter::once(0).chain(sums).collect();
        Self { pairs, heaviest }
    }
}

impl MatchScore for Aggregated<'_> {
    type Sum = u64;

    fn start(&self) -> u64 {
        0
    }

    fn add(&self, sum: u64, a: usize, b: usize) -> u64 {
        sum + self.pairs.weight(a, b)
    }

    // Sums stay far below 2^53 bytes per second, so that f64 holds them exactly.
    fn value(&self, sum: u64) -> f64 {
        sum as f64
    }

    fn bound(&self, sum: u64, ahead: &Ahead<'_>) -> f64 {
        let from = |(step, edges): &(usize, usize)| {
            let gpu = ahead.placed[*step];
            let weights = ahead.rest.iter().map(|other| self.pairs.weight(gpu, other));
            if *edges == 1 {
                return weights.max().unwrap_or(0);
            }
            let mut weights: Vec<u64> = weights.collect();
            weights.sort_unstable_by(|a, b| b.cmp(a));
            weights.iter().take(*edges).sum()
        };
        let open: u64 = ahead.open.iter().map(from).sum();
        (sum + open + self.heaviest[ahead.inner]) as f64
    }
}

/// Published effective bandwidth (Eq. 2) on one set of GPUs.
pub struct Published<'a> {
    pairs: &'a PairTable,
    available: LinkCounts,
}

impl<'a> Published<'a> {
    /// The score on the pairs of these GPUs.
    #[must_use]
    pub fn new(pairs: &'a PairTable, gpus: GpuSet) -> Self {
        let all =
            gpus.iter().flat_map(|b| gpus.iter().take_while(move |a| *a < b).map(move |a| (a, b)));
        let available =
            all.fold(LinkCounts::default(), |links, (a, b)| links.plus(pairs.class(a, b)));
        Self { pairs, available }
    }
}

impl MatchScore for Published<'_> {
    type Sum = LinkCounts;

    fn start(&self) -> LinkCounts {
        LinkCounts::default()
    }

    fn add(&self, sum: LinkCounts, a: usize, b: usize) -> LinkCounts {
        sum.plus(self.pairs.class(a, b))
    }

    fn value(&self, sum: LinkCounts) -> f64 {
        published::effective_bandwidth(sum)
    }

    fn bound(&self, sum: LinkCounts, ahead: &Ahead<'_>) -> f64 {
        let edges = ahead.edges;
        let mut most = f64::NEG_INFINITY;
        for double in 0..=edges.min(self.available.double - sum.double) {
            let rest = edges - double;
            for single in 0..=rest.min(self.available.single - sum.single) {
                let pcie = sum.pcie + rest - single;
                if pcie <= self.available.pcie {
                    let links = LinkCounts {
                        double: sum.double + double,
                        single: sum.single + single,
                        pcie,
                    };
                    most = most.max(published::effective_bandwidth(links));
                }
            }
        }
        most
    }
}

/// A placement: the GPU of each pattern vertex, and its score.
#[derive(Debug, Clone, PartialEq)]
pub struct Placement {
    /// GPU of each vertex.
    pub gpus: Vec<usize>,
    /// Its score.
    pub value: f64,
}

/// How many placements of a vertex one decision may try before it settles for the best
/// match found: about a second.
pub const BUDGET: u64 = 5_000_000;

/// The best placement of the pattern on exactly these GPUs, or `None` where none scores
/// above `floor`. Among equals the first found wins; the order of the search is fixed. It
/// takes what it tries from `budget`; where that reaches zero, the result is the best found
/// so far and may not be the best.
///
/// # Panics
/// If the set's size is not the pattern's.
#[must_use]
pub fn best_placement<S: MatchScore>(
    pattern: &Pattern,
    gpus: GpuSet,
    score: &S,
    floor: f64,
    budget: &mut u64,
) -> Option<Placement> {
    assert_eq!(gpus.len(), pattern.size(), "one GPU per vertex");
    let order = placement_order(pattern);
    let mut search = Search {
        score,
        steps: &order,
        placed: Vec::with_capacity(order.len()),
        best: Placement { gpus: Vec::new(), value: floor },
        ring: pattern.shape() == Shape::Ring,
        budget,
    };
    let everything = Ahead::everything(pattern.edges().len(), gpus);
    if score.bound(score.start(), &everything) > floor {
        search.descend(gpus, score.start());
    }
    let Search { best, .. } = search;
    if best.gpus.is_empty() {
        return None;
    }
    let mut of_vertex = vec![0; order.len()];
    for (step, gpu) in order.iter().zip(best.gpus) {
        of_vertex[step.vertex] = gpu;
    }
    Some(Placement { gpus: of_vertex, value: best.value })
}

/// One vertex to place, and what is known before any GPU is.
struct Step {
    vertex: usize,
    /// Earlier steps that it has edges to.
    neighbours: Vec<usize>,
    /// The last earlier step whose vertex could change places with this one.
    twin: Option<usize>,
    /// After it: earlier steps, and itself, with edges still to come, and how many.
    open: Vec<(usize, usize)>,
    /// After it: edges between vertices that come later.
    inner: usize,
    /// After it: all edges still to come.
    edges: usize,
}

/// Vertices in an order that closes edges early: each next has the most placed neighbours,
/// then the most neighbours, then the lowest number.
fn placement_order(pattern: &Pattern) -> Vec<Step> {
    let neighbours = |v: usize| {
        let ends = pattern.edges().iter().filter(move |(a, b)| *a == v || *b == v);
        ends.map(move |(a, b)| a + b - v)
    };
    let mut order: Vec<usize> = Vec::with_capacity(pattern.size());
    while order.len() < pattern.size() {
        let placed = |v: usize| neighbours(v).filter(|n| order.contains(n)).count();
        let open = (0..pattern.size()).filter(|v| !order.contains(v));
        let next = open.max_by_key(|v| (placed(*v), neighbours(*v).count(), usize::MAX - v));
        let Some(vertex) = next else { break };
        order.push(vertex);
    }
    let others = |v: usize, without: usize| {
        let mut others: Vec<usize> = neighbours(v).filter(|n| *n != without).collect();
        others.sort_unstable();
        others
    };
    let step = |at: usize| {
        let vertex = order[at];
        let (placed, later) = (&order[..=at], &order[at + 1..]);
        let ahead = |v: &usize| neighbours(*v).filter(|n| later.contains(n)).count();
        let open = placed.iter().map(ahead).enumerate().filter(|(_, edges)| *edges > 0);
        let open: Vec<(usize, usize)> = open.collect();
        let inner = later.iter().map(ahead).sum::<usize>() / 2;
        Step {
            vertex,
            neighbours: (0..at)
                .filter(|step| neighbours(vertex).any(|n| n == order[*step]))
                .collect(),
            twin: (0..at)
                .rev()
                .find(|step| others(vertex, order[*step]) == others(order[*step], vertex)),
            edges: inner + open.iter().map(|(_, edges)| edges).sum::<usize>(),
            open,
            inner,
        }
    };
    (0..order.len()).map(step).collect()
}

struct Search<'a, S: MatchScore> {
    score: &'a S,
    steps: &'a [Step],
    placed: Vec<usize>,
    best: Placement,
    ring: bool,
    budget: &'a mut u64,
}

impl<S: MatchScore> Search<'_, S> {
    fn descend(&mut self, rest: GpuSet, sum: S::Sum) {
        let depth = self.placed.len();
        let steps = self.steps;
        let Some(step) = steps.get(depth) else {
            let value = self.score.value(sum);
            if value > self.best.value {
                self.best = Placement { gpus: self.placed.clone(), value };
            }
            return;
        };
        // Rotations of a ring are one match: fix its start.
        let candidates = if self.ring && depth == 0 { 1 } else { rest.len() };
        let after = step.twin.map(|twin| self.placed[twin]);
        for gpu in rest.iter().take(candidates).filter(|gpu| after.is_none_or(|twin| *gpu > twin)) {
            let Some(left) = self.budget.checked_sub(1) else { return };
            *self.budget = left;
            let mut next = sum;
            for neighbour in &step.neighbours {
                next = self.score.add(next, self.placed[*neighbour], gpu);
            }
            let rest = rest.without(GpuSet::EMPTY.with(gpu));
            self.placed.push(gpu);
            let Step { open, inner, edges, .. } = step;
            let placed = &self.placed;
            let ahead = Ahead { edges: *edges, inner: *inner, open, placed, rest };
            if self.score.bound(next, &ahead) > self.best.value {
                self.descend(rest, next);
            }
            self.placed.pop();
        }
    }
}

/// Which class a pair has, for callers that count a finished match.
#[must_use]
pub fn links_of(pattern: &Pattern, gpus: &[usize], pairs: &PairTable) -> LinkCounts {
    let class = |(a, b): &(usize, usize)| -> LinkClass { pairs.class(gpus[*a], gpus[*b]) };
    pattern.edges().iter().map(class).fold(LinkCounts::default(), LinkCounts::plus)
}
