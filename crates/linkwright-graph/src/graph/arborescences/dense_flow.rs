//! Maximum flow on a small, dense network that is asked again and again.
//!
//! Splitting switches off and packing trees ask thousands of maximum flows of networks that
//! differ in a few arcs. A matrix of capacities is restored by one copy, and one bit for each
//! open arc lets Dinic's algorithm look at 64 nodes at once.

/// Limits the sum of capacities: sums of a few of them stay within 64 bits.
pub(super) const LIMIT: u64 = u64::MAX / 8;

/// Holds a square matrix of capacities: how much each vertex can send each other one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Capacities {
    pub(super) vertices: usize,
    values: Vec<u64>,
}

impl Capacities {
    pub(super) fn new(vertices: usize) -> Self {
        Self { vertices, values: vec![0; vertices * vertices] }
    }

    pub(super) fn get(&self, from: usize, to: usize) -> u64 {
        self.values[from * self.vertices + to]
    }

    pub(super) fn set(&mut self, from: usize, to: usize, value: u64) {
        self.values[from * self.vertices + to] = value;
    }

    pub(super) fn add(&mut self, from: usize, to: usize, value: u64) {
        self.values[from * self.vertices + to] += value;
    }

    pub(super) fn total(&self) -> u128 {
        self.values.iter().map(|value| u128::from(*value)).sum()
    }

    /// Lists the arcs with any capacity: from, to, how much.
    pub(super) fn arcs(&self) -> impl Iterator<Item = (usize, usize, u64)> {
        let present = self.values.iter().enumerate().filter(|(_, value)| **value > 0);
        present.map(|(index, value)| (index / self.vertices, index % self.vertices, *value))
    }

    pub(super) fn entering(&self, vertex: usize) -> u128 {
        (0..self.vertices).map(|from| u128::from(self.get(from, vertex))).sum()
    }

    pub(super) fn leaving(&self, vertex: usize) -> u128 {
        (0..self.vertices).map(|to| u128::from(self.get(vertex, to))).sum()
    }

    /// Whether an arc joins the two, either way.
    pub(super) fn adjacent(&self, a: usize, b: usize) -> bool {
        self.get(a, b) > 0 || self.get(b, a) > 0
    }

    /// Each capacity times `factor`; nothing where they would add up to more than [`LIMIT`].
    pub(super) fn scaled(&self, factor: u64) -> Option<Self> {
        let total = self.total().checked_mul(u128::from(factor))?;
        let values = || self.values.iter().map(|value| value * factor).collect();
        (total <= u128::from(LIMIT)).then(|| Self { vertices: self.vertices, values: values() })
    }
}

/// A directed network; it keeps the flow that was sent until it is restored.
#[derive(Debug, Clone)]
pub(super) struct DenseNetwork {
    nodes: usize,
    /// Counts the words of 64 bits in a set of nodes.
    words: usize,
    left: Vec<u64>,
    /// For each node, the set of nodes that it can still send to.
    open: Vec<u64>,
    /// The sets of nodes at each distance from the source, of the walk in progress.
    levels: Vec<u64>,
}

impl DenseNetwork {
    pub(super) fn new(nodes: usize) -> Self {
        let words = nodes.div_ceil(64);
        let (left, open) = (vec![0; nodes * nodes], vec![0; nodes * words]);
        Self { nodes, words, left, open, levels: Vec::new() }
    }

    /// Makes a network of at least the matrix's vertices with its capacities.
    pub(super) fn of(capacity: &Capacities, nodes: usize) -> Self {
        let mut network = Self::new(nodes);
        for (from, to, value) in capacity.arcs() {
            network.set(from, to, value);
        }
        network
    }

    /// Becomes a copy of a network of as many nodes.
    pub(super) fn restore(&mut self, other: &Self) {
        self.left.copy_from_slice(&other.left);
        self.open.copy_from_slice(&other.open);
    }

    pub(super) fn left(&self, from: usize, to: usize) -> u64 {
        self.left[from * self.nodes + to]
    }

    pub(super) fn set(&mut self, from: usize, to: usize, value: u64) {
        self.left[from * self.nodes + to] = value;
        let bit = 1 << (to % 64);
        let word = &mut self.open[from * self.words + to / 64];
        *word = if value > 0 { *word | bit } else { *word & !bit };
    }

    pub(super) fn add(&mut self, from: usize, to: usize, value: u64) {
        self.set(from, to, self.left(from, to) + value);
    }

    pub(super) fn take(&mut self, from: usize, to: usize, value: u64) {
        self.set(from, to, self.left(from, to) - value);
    }

    /// Scales every capacity by `factor`.
    pub(super) fn multiply(&mut self, factor: u64) {
        for left in &mut self.left {
            *left *= factor;
        }
    }

    /// Sends up to `most` and returns how much that was.
    pub(super) fn send(&mut self, source: usize, sink: usize, most: u64) -> u64 {
        let mut sent = 0;
        while sent < most && self.find_levels(source, Some(sink)) {
            sent += self.block(source, sink, most - sent);
        }
        sent
    }

    /// Which nodes the source still reaches: its side of the minimum cut after a flow that
    /// was not limited.
    pub(super) fn reached_from(&mut self, source: usize) -> Vec<bool> {
        self.find_levels(source, None);
        let reached = |node: usize| {
            let level = self.levels.chunks(self.words);
            level.into_iter().any(|level| level[node / 64] >> (node % 64) & 1 == 1)
        };
        (0..self.nodes).map(reached).collect()
    }

    /// Finds the nodes at each distance, up to the sink's; whether the sink is reached. The
    /// sink's own level then holds nothing else.
    fn find_levels(&mut self, source: usize, sink: Option<usize>) -> bool {
        let words = self.words;
        let mut seen = vec![0; words];
        seen[source / 64] = 1 << (source % 64);
        self.levels.clear();
        self.levels.extend_from_slice(&seen);
        loop {
            let (start, end) = (self.levels.len() - words, self.levels.len());
            self.levels.resize(end + words, 0);
            for word in 0..words {
                let mut rest = self.levels[start + word];
                while rest != 0 {
                    let node = word * 64 + rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    for (offset, seen) in seen.iter().enumerate() {
                        self.levels[end + offset] |= self.open[node * words + offset] & !seen;
                    }
                }
            }
            for (offset, seen) in seen.iter_mut().enumerate() {
                *seen |= self.levels[end + offset];
            }
            if let Some(sink) = sink
                && seen[sink / 64] >> (sink % 64) & 1 == 1
            {
                self.levels[end..].fill(0);
                self.levels[end + sink / 64] = 1 << (sink % 64);
                return true;
            }
            if self.levels[end..].iter().all(|word| *word == 0) {
                return false;
            }
        }
    }

    /// Fills the shortest ways until each has a full arc or enough is sent.
    fn block(&mut self, source: usize, sink: usize, most: u64) -> u64 {
        let words = self.words;
        let mut way = vec![source];
        let mut sent = 0;
        while let Some(at) = way.last().copied() {
            if at == sink {
                let narrowest = way.windows(2).map(|arc| self.left(arc[0], arc[1])).min();
                let amount = narrowest.unwrap_or(0).min(most - sent);
                sent += amount;
                if sent == most {
                    self.push_along(&way, amount);
                    return sent;
                }
                let kept = self.push_along(&way, amount);
                way.truncate(kept);
                continue;
            }
            let next = way.len() * words;
            let onward = (0..words).find_map(|word| {
                let set = self.open[at * words + word] & self.levels[next + word];
                (set != 0).then(|| word * 64 + set.trailing_zeros() as usize)
            });
            if let Some(node) = onward {
                way.push(node);
            } else {
                way.pop();
                self.levels[next - words + at / 64] &= !(1 << (at % 64));
            }
        }
        sent
    }

    /// Sends along a way; how many of its nodes come before its first arc that is now full.
    fn push_along(&mut self, way: &[usize], amount: u64) -> usize {
        let mut kept = way.len();
        for (step, arc) in way.windows(2).enumerate().rev() {
            self.take(arc[0], arc[1], amount);
            self.add(arc[1], arc[0], amount);
            if self.left(arc[0], arc[1]) == 0 {
                kept = step + 1;
            }
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::max_flow::FlowGraph;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_agrees_with_the_sparse_network(
            nodes in 2_usize..80,
            arcs in proptest::collection::vec((0_usize..80, 0_usize..80, 0_u64..9), 0..300),
            most in 0_u64..40,
        ) {
            let mut capacity = Capacities::new(nodes);
            let mut sparse = FlowGraph::new(nodes);
            for (from, to, value) in arcs {
                let (from, to) = (from % nodes, to % nodes);
                if from != to {
                    capacity.add(from, to, value);
                    sparse.add_arc(from, to, value.into());
                }
            }
            let full = DenseNetwork::of(&capacity, nodes);
            let mut dense = full.clone();
            let sent = sparse.send(0, nodes - 1);
            prop_assert_eq!(u128::from(dense.send(0, nodes - 1, LIMIT)), sent);
            prop_assert_eq!(dense.reached_from(0), sparse.reached_from(0));
            dense.restore(&full);
            let limited = dense.send(0, nodes - 1, most);
            prop_assert_eq!(u128::from(limited), sent.min(most.into()));
        }
    }
}
