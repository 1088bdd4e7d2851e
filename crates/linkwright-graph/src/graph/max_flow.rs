//! Finds the maximum flow, exactly, by Dinic's algorithm.
//!
//! Capacities are integers, wide enough that a caller may scale 64-bit ones to clear
//! fractions. Blocking flows along shortest ways take O(V² E) at worst and far less on
//! graphs of links.

/// The end of a walk that has found nothing.
const UNREACHED: usize = usize::MAX;

#[derive(Debug, Clone, Copy)]
struct Arc {
    to: usize,
    /// Gives the flow that can still be sent; the arc at the index with the last bit flipped is its
    /// reverse.
    left: u128,
}

/// A directed network; it keeps the flow that was sent last.
#[derive(Debug, Clone)]
pub struct FlowGraph {
    arcs: Vec<Arc>,
    /// Lists, for each node, the indices of the arcs that leave it.
    leaving: Vec<Vec<usize>>,
}

impl FlowGraph {
    /// Makes a network of nodes `0..nodes` without arcs.
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        Self { arcs: Vec::new(), leaving: vec![Vec::new(); nodes] }
    }

    /// Adds an arc; parallel arcs add up. The sum of all capacities must fit 128 bits.
    ///
    /// # Panics
    /// If an end is not a node.
    pub fn add_arc(&mut self, from: usize, to: usize, capacity: u128) {
        self.leaving[from].push(self.arcs.len());
        self.leaving[to].push(self.arcs.len() + 1);
        self.arcs.push(Arc { to, left: capacity });
        self.arcs.push(Arc { to: from, left: 0 });
    }

    /// How much flows over the arc that was added as that number, from 0 on.
    ///
    /// # Panics
    /// If there is no such arc.
    #[must_use]
    pub fn flow(&self, arc: usize) -> u128 {
        self.arcs[2 * arc + 1].left
    }

    /// Sends as much as the arcs still allow and returns how much that was.
    ///
    /// # Panics
    /// If an end is not a node, or both are the same one.
    pub fn send(&mut self, source: usize, sink: usize) -> u128 {
        assert_ne!(source, sink, "a flow needs two ends");
        let mut sent = 0;
        loop {
            let level = self.levels(source);
            if level[sink] == UNREACHED {
                return sent;
            }
            sent += self.block(source, sink, &level);
        }
    }

    /// Which nodes the source still reaches. After [`Self::send`] these are the source's
    /// side of the minimum cut, the smallest one where several cuts are minimum.
    #[must_use]
    pub fn reached_from(&self, source: usize) -> Vec<bool> {
        self.levels(source).into_iter().map(|level| level != UNREACHED).collect()
    }

    /// Counts the arcs on a shortest way from the source to each node.
    fn levels(&self, source: usize) -> Vec<usize> {
        let mut level = vec![UNREACHED; self.leaving.len()];
        level[source] = 0;
        let mut queue = vec![source];
        let mut head = 0;
        while let Some(at) = queue.get(head).copied() {
            head += 1;
            for arc in self.leaving[at].iter().map(|index| self.arcs[*index]) {
                if arc.left > 0 && level[arc.to] == UNREACHED {
                    level[arc.to] = level[at] + 1;
                    queue.push(arc.to);
                }
            }
        }
        level
    }

    /// Fills the shortest ways until each has a full arc. Walks with a stack of its own, so
    /// that long ways do not exhaust the thread's.
    fn block(&mut self, source: usize, sink: usize, level: &[usize]) -> u128 {
        let mut tried = vec![0; self.leaving.len()];
        let mut way: Vec<usize> = Vec::new();
        let mut sent = 0;
        let mut at = source;
        loop {
            if at == sink {
                let narrowest = way.iter().map(|arc| self.arcs[*arc].left).min().unwrap_or(0);
                sent += narrowest;
                let mut first_full = 0;
                for (step, arc) in way.iter().enumerate().rev() {
                    self.arcs[*arc].left -= narrowest;
                    self.arcs[arc ^ 1].left += narrowest;
                    if self.arcs[*arc].left == 0 {
                        first_full = step;
                    }
                }
                at = self.arcs[way[first_full] ^ 1].to;
                way.truncate(first_full);
            }
            let onward = self.leaving[at][tried[at]..].iter().position(|index| {
                let arc = self.arcs[*index];
                arc.left > 0 && level[arc.to] == level[at] + 1
            });
            if let Some(skipped) = onward {
                tried[at] += skipped;
                let arc = self.leaving[at][tried[at]];
                way.push(arc);
                at = self.arcs[arc].to;
            } else {
                let Some(arc) = way.pop() else { return sent };
                at = self.arcs[arc ^ 1].to;
                tried[at] += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_flow_is_rerouted_through_a_reverse_arc() {
        let mut network = FlowGraph::new(4);
        for (from, to) in [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)] {
            network.add_arc(from, to, 1);
        }
        assert_eq!(network.send(0, 3), 2);
        assert_eq!(network.send(0, 3), 0, "nothing is left");
        assert_eq!(network.reached_from(0), [true, false, false, false]);
    }

    #[test]
    fn a_network_without_a_way_carries_nothing() {
        let mut network = FlowGraph::new(3);
        network.add_arc(1, 0, 7);
        network.add_arc(1, 2, 7);
        assert_eq!(network.send(0, 2), 0);
    }

    #[test]
    fn capacities_may_exceed_64_bits() {
        let mut network = FlowGraph::new(3);
        network.add_arc(0, 1, 1 << 100);
        network.add_arc(1, 2, (1 << 100) - 1);
        assert_eq!(network.send(0, 2), (1 << 100) - 1);
        assert_eq!(network.reached_from(0), [true, true, false]);
    }

    proptest! {
        #[test]
        fn the_flow_equals_the_least_cut(
            nodes in 2_usize..7,
            arcs in proptest::collection::vec((0_usize..7, 0_usize..7, 0_u128..9), 0..25),
        ) {
            let arcs: Vec<_> = arcs
                .into_iter()
                .map(|(from, to, capacity)| (from % nodes, to % nodes, capacity))
                .filter(|(from, to, _)| from != to)
                .collect();
            let mut network = FlowGraph::new(nodes);
            for (from, to, capacity) in &arcs {
                network.add_arc(*from, *to, *capacity);
            }
            let sent = network.send(0, nodes - 1);
            let cut = |side: usize| -> u128 {
                let inside = |node: usize| side >> node & 1 == 1;
                let leaves = arcs.iter().filter(|(from, to, _)| inside(*from) && !inside(*to));
                leaves.map(|(_, _, capacity)| capacity).sum()
            };
            let sides = (0..1 << nodes).filter(|side| side & 1 == 1 && side >> (nodes - 1) == 0);
            prop_assert_eq!(sent, sides.clone().map(cut).min().unwrap());
            let smallest = sides.filter(|side| cut(*side) == sent).fold(usize::MAX, |a, b| a & b);
            let reached = network.reached_from(0);
            for (node, is_reached) in reached.iter().enumerate() {
                prop_assert_eq!(*is_reached, smallest >> node & 1 == 1);
            }
        }
    }
}
