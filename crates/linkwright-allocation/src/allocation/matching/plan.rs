//! Plans the order in which a pattern's vertices are placed, and holds the facts known before any
//! is.

use crate::allocation::{GpuSet, Pattern, PatternShape};

/// A pattern made ready to be placed on many sets of GPUs.
pub struct Plan<'a> {
    pattern: &'a Pattern,
    steps: Vec<Step>,
    degrees: Vec<(usize, usize)>,
}

/// Describes one vertex to place.
pub struct Step {
    /// Names the vertex to place.
    pub vertex: usize,
    /// Earlier steps that it has edges to, each with the edge's number and whether this vertex is its upper one.
    pub neighbours: Vec<(usize, usize, bool)>,
    /// The last earlier step whose vertex could change places with this one.
    pub twin: Option<usize>,
    /// How many later steps have vertices that could change places with this one.
    pub twins_to_come: usize,
    /// Lists, after it, the earlier steps and itself with edges still to come, and how many.
    pub open: Vec<(usize, usize)>,
    /// Counts, after it, the edges between vertices that come later.
    pub inner: usize,
    /// Counts, after it, all edges still to come.
    pub edges: usize,
}

impl<'a> Plan<'a> {
    /// Vertices in an order that closes edges early: each next has the most placed
    /// neighbours, then the most neighbours, then the lowest number.
    #[must_use]
    pub fn new(pattern: &'a Pattern) -> Self {
        let size = pattern.size();
        // A pattern has at most as many vertices as a machine GPUs, so that sets of them fit.
        let mut neighbours = vec![GpuSet::EMPTY; size];
        for (a, b) in pattern.edges() {
            neighbours[*a] = neighbours[*a].with(*b);
            neighbours[*b] = neighbours[*b].with(*a);
        }
        let mut order: Vec<usize> = Vec::with_capacity(size);
        let mut placed = GpuSet::EMPTY;
        let mut later = GpuSet::first(size);
        let mut steps = Vec::with_capacity(size);
        let closed = |v: usize, placed: GpuSet| neighbours[v].intersection(placed).len();
        let next = |later: GpuSet, placed: GpuSet| {
            later.iter().max_by_key(|v| (closed(*v, placed), neighbours[*v].len(), usize::MAX - v))
        };
        while let Some(vertex) = next(later, placed) {
            let own = neighbours[vertex];
            let alone = |v: usize| GpuSet::EMPTY.with(v);
            let is_twin = |other: &usize| {
                own.without(alone(*other)) == neighbours[*other].without(alone(vertex))
                    && pattern.may_change_places(vertex, *other)
            };
            let earlier = order.iter().enumerate();
            let joined = |(step, other): (usize, &usize)| {
                Some((step, pattern.edge_between(*other, vertex)?, vertex > *other))
            };
            let step_neighbours = earlier.clone().filter_map(joined).collect();
            let twin = earlier.rev().find(|(_, other)| is_twin(other)).map(|(step, _)| step);
            order.push(vertex);
            placed = placed.with(vertex);
            later = later.without(alone(vertex));
            let ahead = |v: &usize| neighbours[*v].intersection(later).len();
            let open = order.iter().map(ahead).enumerate().filter(|(_, edges)| *edges > 0);
            let open: Vec<(usize, usize)> = open.collect();
            let inner = later.iter().map(|v| ahead(&v)).sum::<usize>() / 2;
            let edges = inner + open.iter().map(|(_, edges)| edges).sum::<usize>();
            let neighbours = step_neighbours;
            steps.push(Step { vertex, neighbours, twin, twins_to_come: 0, open, inner, edges });
        }
        for step in (0..size).rev() {
            if let Some(twin) = steps[step].twin {
                steps[twin].twins_to_come = steps[step].twins_to_come + 1;
            }
        }
        Self { pattern, steps, degrees: degrees_of(pattern) }
    }

    /// Returns the pattern to place.
    #[must_use]
    pub const fn pattern(&self) -> &'a Pattern {
        self.pattern
    }

    /// The vertices in the order in which they are placed.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The numbers of edges that vertices have, each with how many vertices have it.
    #[must_use]
    pub fn degrees(&self) -> &[(usize, usize)] {
        &self.degrees
    }

    /// Whether all placements on one set of GPUs are the same match.
    #[must_use]
    pub fn is_symmetric(&self) -> bool {
        self.pattern.shape() == PatternShape::AllToAll
    }
}

fn degrees_of(pattern: &Pattern) -> Vec<(usize, usize)> {
    let mut of_vertex = vec![0; pattern.size()];
    for (a, b) in pattern.edges() {
        of_vertex[*a] += 1;
        of_vertex[*b] += 1;
    }
    of_vertex.sort_unstable();
    of_vertex.chunk_by(|a, b| a == b).map(|same| (same[0], same.len())).collect()
}
