//! How much room sets of vertices leave below a rate: two exact oracles with one interface.
//!
//! Edge loads `x` can be split into spanning trees of total weight λ exactly if they add up
//! to `λ (n - 1)` and every set S of two vertices or more has *room*: `λ (|S| - 1) - x(S)`,
//! with x(S) the load of the edges inside S, is not negative (Edmonds). A set without room is
//! *tight*, and each of the trees then has `|S| - 1` edges inside it. For up to
//! [`MAX_TABULATED`] vertices the rooms of all sets fit a table, which is by far the fastest;
//! beyond that minimum cuts find the sets that matter.

use super::super::heaviest_set::heaviest_set;

/// The most vertices for which every set has an entry in a table.
pub(super) const MAX_TABULATED: usize = 16;

/// A set of vertices by its bits.
pub(super) type Set = u128;

/// How much of a tree can be taken off the loads: `numerator / denominator`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub numerator: u128,
    pub denominator: u128,
    /// The set that allows no more, unless an edge's load does.
    pub binding: Option<Set>,
}

/// Loads on the edges of a graph, and the rooms that they leave below a rate.
#[derive(Debug, Clone)]
pub(super) struct Loads<'a> {
    vertices: usize,
    edges: &'a [(usize, usize)],
    pub rate: u128,
    pub load: Vec<u128>,
    /// The room of every set by its bits, if there are few enough.
    table: Vec<u128>,
    /// How many parts less one a tree has inside each set: scratch.
    missing: Vec<u8>,
    /// The lower neighbours of each vertex in a tree, by their bits: scratch.
    neighbours: Vec<usize>,
}

impl<'a> Loads<'a> {
    /// No loads yet.
    pub fn new(vertices: usize, edges: &'a [(usize, usize)], rate: u128) -> Self {
        let sets = if vertices <= MAX_TABULATED { 1_usize << vertices } else { 0 };
        let room = |set: usize| rate * u128::from(set.count_ones().saturating_sub(1));
        Self {
            vertices,
            edges,
            rate,
            load: vec![0; edges.len()],
            table: (0..sets).map(room).collect(),
            missing: vec![0; sets],
            neighbours: vec![0; vertices],
        }
    }

    /// Loads that are known to leave room everywhere.
    pub fn full(vertices: usize, edges: &'a [(usize, usize)], rate: u128, load: &[u128]) -> Self {
        let mut full = Self::new(vertices, edges, rate);
        full.load.copy_from_slice(load);
        if full.table.is_empty() {
            return full;
        }
        let mut between = vec![0_u128; vertices * vertices];
        for ((a, b), load) in edges.iter().zip(load) {
            between[b * vertices + a] = *load;
        }
        // What each set of lower vertices loads the edges to the highest one with.
        let mut to_highest = vec![0_u128; full.table.len() / 2];
        let mut inside = vec![0_u128; full.table.len()];
        for highest in 1..vertices {
            for set in 1..1_usize << highest {
                let lowest = set.trailing_zeros() as usize;
                to_highest[set] =
                    to_highest[set & (set - 1)] + between[highest * vertices + lowest];
                inside[set | 1 << highest] = inside[set] + to_highest[set];
            }
        }
        for (room, inside) in full.table.iter_mut().zip(inside) {
            *room -= inside;
        }
        full
    }

    /// The least room of the sets with both ends of an edge.
    pub fn room(&self, edge: usize) -> u128 {
        let (a, b) = self.edges[edge];
        if !self.table.is_empty() {
            let sets = supersets(1 << a | 1 << b, self.table.len());
            return sets.map(|set| self.table[set]).min().unwrap_or(0);
        }
        // A bonus that no set forgoes keeps both ends in; the set is bound to its last vertex,
        // so the vertices are numbered anew with `b` as that.
        let last = self.vertices - 1;
        let old = |vertex: usize| match vertex {
            _ if vertex == last => b,
            _ if vertex == b => last,
            _ => vertex,
        };
        let between = self.matrix(|edge| self.load[edge]);
        let bonus = self.rate * self.vertices as u128;
        let inside = |x: usize, y: usize| {
            let (x, y) = (old(x), old(y));
            let extra = if (x.min(y), x.max(y)) == (a, b) { bonus } else { 0 };
            between[x * self.vertices + y] + extra
        };
        let (excess, _) = heaviest_set(last, inside, &vec![self.rate; last]);
        bonus - excess
    }

    /// Loads an edge with no more than its room.
    pub fn add(&mut self, edge: usize, more: u128) {
        self.load[edge] += more;
        if !self.table.is_empty() {
            let (a, b) = self.edges[edge];
            for set in supersets(1 << a | 1 << b, self.table.len()) {
                self.table[set] -= more;
            }
        }
    }

    /// The most of a spanning tree that can be taken off the loads and off the rate so that
    /// every set keeps its room. Call it just before [`Self::take`].
    pub fn longest_step(&mut self, tree: &[usize]) -> Step {
        let least = tree.iter().map(|edge| self.load[*edge]).min().unwrap_or(0);
        let step = Step { numerator: least.min(self.rate), denominator: 1, binding: None };
        if self.table.is_empty() {
            self.step_by_cuts(tree, step)
        } else {
            self.step_by_table(tree, step)
        }
    }

    fn step_by_table(&mut self, tree: &[usize], mut step: Step) -> Step {
        self.neighbours.fill(0);
        for (a, b) in tree.iter().map(|edge| self.edges[*edge]) {
            self.neighbours[b] |= 1 << a;
        }
        let mut least = [(u128::MAX, 0_usize); MAX_TABULATED];
        for highest in 1..self.vertices {
            let (below, rest) = self.missing.split_at_mut(1 << highest);
            let near = self.neighbours[highest];
            let rooms = &self.table[1 << highest..2 << highest];
            // The empty set's entry would be -1: the vertex alone misses nothing.
            for set in 1..1_usize << highest {
                let missing = below[set] + 1 - (set & near).count_ones() as u8;
                rest[set] = missing;
                let entry = &mut least[usize::from(missing)];
                if rooms[set] < entry.0 {
                    *entry = (rooms[set], set | 1 << highest);
                }
            }
        }
        for (missing, (room, set)) in least.into_iter().enumerate().skip(1) {
            let missing = missing as u128;
            if set != 0 && room * step.denominator < step.numerator * missing {
                step = Step { numerator: room, denominator: missing, binding: Some(set as Set) };
            }
        }
        step
    }

    /// Newton's method: the set that a step violates most gives the next, shorter step.
    fn step_by_cuts(&self, tree: &[usize], mut step: Step) -> Step {
        let mut in_tree = vec![0; self.edges.len()];
        for edge in tree {
            in_tree[*edge] = 1;
        }
        loop {
            let Step { numerator, denominator, .. } = step;
            let left =
                self.matrix(|edge| denominator * self.load[edge] - numerator * in_tree[edge]);
            let cost = vec![denominator * self.rate - numerator; self.vertices];
            let violated = (1..self.vertices)
                .map(|last| {
                    let inside = |a: usize, b: usize| left[a * self.vertices + b];
                    heaviest_set(last, inside, &cost[..last])
                })
                .filter(|(excess, _)| *excess > 0)
                .max_by_key(|(excess, _)| *excess);
            let Some((_, chosen)) = violated else { return step };
            let set = chosen.iter().enumerate().map(|(v, is_in)| Set::from(*is_in) << v).sum();
            let sum = |of: &dyn Fn(usize) -> u128| -> u128 {
                let inside = |edge: &usize| contains(set, self.edges[*edge]);
                (0..self.edges.len()).filter(inside).map(of).sum()
            };
            let joints = u128::from(set.count_ones()) - 1;
            step = Step {
                numerator: self.rate * joints - sum(&|edge| self.load[edge]),
                denominator: joints - sum(&|edge| in_tree[edge]),
                binding: Some(set),
            };
        }
    }

    /// Measures loads and rate in a smaller unit.
    pub fn refine(&mut self, factor: u128) {
        self.rate *= factor;
        let loads = self.load.iter_mut().chain(&mut self.table);
        loads.for_each(|value| *value *= factor);
    }

    /// Takes a tree off, with a whole weight that [`Self::longest_step`] has just allowed.
    /// Tells the sets that become tight; beyond the table the binding one alone is known.
    pub fn take(&mut self, tree: &[usize], weight: u128, mut tight: impl FnMut(Set)) {
        self.rate -= weight;
        for edge in tree {
            self.load[*edge] -= weight;
        }
        for highest in 1..self.table.len().checked_ilog2().unwrap_or(0) as usize {
            for set in (1 << highest) + 1..2_usize << highest {
                let missing = self.missing[set];
                if missing > 0 {
                    self.table[set] -= weight * u128::from(missing);
                    if self.table[set] == 0 {
                        tight(set as Set);
                    }
                }
            }
        }
    }

    fn matrix(&self, value: impl Fn(usize) -> u128) -> Vec<u128> {
        let mut matrix = vec![0; self.vertices * self.vertices];
        for (edge, (a, b)) in self.edges.iter().enumerate() {
            matrix[a * self.vertices + b] = value(edge);
            matrix[b * self.vertices + a] = matrix[a * self.vertices + b];
        }
        matrix
    }
}

/// Whether both ends of an edge are in a set.
pub(super) fn contains(set: Set, (a, b): (usize, usize)) -> bool {
    set >> a & set >> b & 1 == 1
}

/// The sets below `end` that have all of some bits, in rising order.
fn supersets(bits: usize, end: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(bits), move |set| Some((set + 1) | bits))
        .take_while(move |s| *s < end)
}
