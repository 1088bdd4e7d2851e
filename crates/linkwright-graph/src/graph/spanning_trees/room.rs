//! How much room sets of vertices leave below a rate: two exact oracles with one interface.
//!
//! Edge loads `x` can be split into spanning trees of total weight λ under two conditions. They add
//! up to `λ (n - 1)`, and every set S of two vertices or more has *room* (Edmonds). The room `λ
//! (|S| - 1) - x(S)` must not be negative, with x(S) the load of the edges inside S. A set without
//! room is *tight*, and each of the trees then has `|S| - 1` edges inside it. For up to
//! [`MAX_TABULATED`] vertices the rooms of all sets fit a table, which is by far the fastest.
//! Beyond that minimum cuts find the sets that matter.

use super::super::heaviest_set::heaviest_set;

/// The most vertices for which every set has an entry in a table.
pub(super) const MAX_TABULATED: usize = 10;

/// Holds a set of vertices by its bits.
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
}

impl<'a> Loads<'a> {
    /// Starts with no loads.
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
        // This holds the load that each set of lower vertices puts on the edges to the highest one.
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
        // A bonus that no set forgoes keeps both ends in. The set is bound to its last vertex, so
        // the vertices are numbered anew with `b` as the last.
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
        for highest in 1..self.vertices {
            let (below, rest) = self.missing.split_at_mut(1 << highest);
            let rest = &mut rest[..1 << highest];
            for (missing, below) in rest.iter_mut().zip(below) {
                *missing = *below + 1;
            }
            // The highest vertex alone misses nothing.
            rest[0] = 0;
            for lower in tree.iter().map(|edge| self.edges[*edge]).filter(|(_, b)| *b == highest) {
                for chunk in rest.chunks_exact_mut(2 << lower.0) {
                    chunk[1 << lower.0..].iter_mut().for_each(|missing| *missing -= 1);
                }
            }
        }
        let mut least = [(u128::MAX, 0); MAX_TABULATED];
        for (set, (room, missing)) in self.table.iter().zip(&self.missing).enumerate() {
            let entry = &mut least[usize::from(*missing)];
            if *room < entry.0 {
                *entry = (*room, set);
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
    pub fn take(&mut self, tree: &[usize], weight: u128) {
        self.rate -= weight;
        for edge in tree {
            self.load[*edge] -= weight;
        }
        for (room, missing) in self.table.iter_mut().zip(&self.missing) {
            *room -= weight * u128::from(*missing);
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
    let both = 1 << a | 1 << b;
    set & both == both
}

/// The sets below `end` that have all of some bits, in rising order.
fn supersets(bits: usize, end: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(bits), move |set| Some((set + 1) | bits))
        .take_while(move |s| *s < end)
}

#[cfg(test)]
mod tests {
    use super::super::peel::Dice;
    use super::*;

    #[test]
    fn the_table_and_the_cuts_agree() {
        let mut dice = Dice(3);
        for _ in 0..200 {
            let vertices = 2 + dice.below(7);
            let pairs = (0..vertices).flat_map(|a| (a + 1..vertices).map(move |b| (a, b)));
            let edges: Vec<_> = pairs.filter(|(a, b)| a + 1 == *b || dice.below(3) > 0).collect();
            let mut table = Loads::new(vertices, &edges, 60);
            let mut cuts = Loads { table: Vec::new(), ..table.clone() };
            for edge in 0..edges.len() {
                let room = table.room(edge);
                assert_eq!(room, cuts.room(edge));
                let more = room.min(10 + dice.below(60) as u128);
                table.add(edge, more);
                cuts.add(edge, more);
            }
            let full = Loads::full(vertices, &edges, 60, &table.load);
            assert_eq!(full.table, table.table);
            // A path, whether or not it respects tight sets.
            let path: Vec<usize> =
                (0..edges.len()).filter(|edge| edges[*edge].0 + 1 == edges[*edge].1).collect();
            let (by_table, by_cuts) = (table.longest_step(&path), cuts.longest_step(&path));
            assert_eq!(
                by_table.numerator * by_cuts.denominator,
                by_cuts.numerator * by_table.denominator
            );
            table.refine(by_table.denominator);
            table.take(&path, by_table.numerator);
            let left = Loads::full(vertices, &edges, table.rate, &table.load);
            assert_eq!(left.table, table.table, "room is left everywhere");
        }
    }
}
