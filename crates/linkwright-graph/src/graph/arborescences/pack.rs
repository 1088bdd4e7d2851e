//! Finds spanning out-trees, packed into a graph without switches.
//!
//! The method is Edmonds' theorem as Bérczi and Frank extend it ("Packing arborescences", 2010;
//! Schrijver, Combinatorial Optimization, chapter 53). Let trees have grown to vertex sets R_i with
//! multiplicities m_i. Every set S has a demand: the sum of the m_i whose R_i does not meet S. All
//! trees can be completed exactly if at least that much enters every S. A tree can take an arc from
//! x in R_1 to y outside as often as that stays so:
//!
//! μ is min(g(x, y), m_1, F - Σ_{i≠1} m_i),
//!
//! with F the maximum flow from x to y in the graph with further nodes. For each other tree there
//! is a node that x feeds with m_i and that feeds all of R_i. If μ < m_1 the tree is split in two.
//! An arc that once lacks capacity for a tree never gains it back, so that each tree remembers it.

use super::dense_flow::{Capacities, DenseNetwork, LIMIT};
use super::switches::Problem;

/// The depth of a vertex that a tree has not reached.
const OUTSIDE: usize = usize::MAX;

/// How ties between arcs that a tree could take are broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Order {
    /// Starts from the deepest vertex instead of from the shallowest.
    pub(super) deepest_first: bool,
    /// The arc with the least capacity that is enough, instead of the one with the most.
    pub(super) tightest_first: bool,
    /// The vertex from which others are numbered.
    pub(super) first: usize,
}

/// A tree as it grows.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    pub(super) root: usize,
    pub(super) weight: u64,
    /// In the order in which they were taken, so that a parent is always reached before.
    pub(super) arcs: Vec<(usize, usize)>,
    depth: Vec<usize>,
    /// For each arc what the cuts still allow, where that has been found to be too little.
    slack: Vec<u64>,
}

impl Tree {
    fn new(root: usize, weight: u64, vertices: usize) -> Self {
        let mut depth = vec![OUTSIDE; vertices];
        depth[root] = 0;
        Self { root, weight, arcs: Vec::new(), depth, slack: vec![LIMIT; vertices * vertices] }
    }

    fn holds(&self, vertex: usize) -> bool {
        self.depth[vertex] != OUTSIDE
    }

    fn spans(&self) -> bool {
        self.arcs.len() + 1 == self.depth.len()
    }

    /// Counts the arcs on the longest way from the root.
    pub(super) fn max_depth(&self) -> usize {
        self.depth.iter().copied().max().unwrap_or(0)
    }

    /// Sums over all vertices their arcs from the root.
    pub(super) fn total_depth(&self) -> usize {
        self.depth.iter().sum()
    }
}

/// Trees that add up to each root's share, and how many flows that took.
pub(super) fn pack(problem: &Problem, order: Order) -> (Vec<Tree>, u64) {
    let vertices = problem.terminals;
    let mut roots = problem.roots();
    roots.reverse();
    let growing = roots.iter().map(|root| Tree::new(*root, problem.share, vertices)).collect();
    let capacity = problem.capacity.clone();
    let mut packing = Packing { capacity, growing, order, flows: 0 };
    let mut trees: Vec<Tree> = Vec::new();
    while let Some(mut tree) = packing.growing.pop() {
        while !tree.spans() {
            packing.grow(&mut tree);
        }
        trees.push(tree);
    }
    trees.sort_by(|a, b| (a.root, &a.arcs).cmp(&(b.root, &b.arcs)));
    trees.dedup_by(|again, known| {
        let same = (again.root, &again.arcs) == (known.root, &known.arcs);
        known.weight += if same { again.weight } else { 0 };
        same
    });
    (trees, packing.flows)
}

struct Packing {
    /// Holds the capacity that the trees have left.
    capacity: Capacities,
    /// The trees that do not span yet, besides the one at work.
    growing: Vec<Tree>,
    order: Order,
    flows: u64,
}

/// An arc that a tree could take, and how often at most.
#[derive(Debug, Clone, Copy)]
struct Choice {
    from: usize,
    to: usize,
    most: u64,
}

impl Packing {
    /// Adds one arc to the tree. The part of the tree that cannot take it stays behind as a tree of
    /// its own.
    fn grow(&mut self, tree: &mut Tree) {
        let Choice { from, to, most } = self.choose(tree);
        if most < tree.weight {
            self.growing.push(Tree { weight: tree.weight - most, ..tree.clone() });
            tree.weight = most;
        }
        let left = self.capacity.get(from, to);
        self.capacity.set(from, to, left - most);
        tree.depth[to] = tree.depth[from] + 1;
        tree.arcs.push((from, to));
    }

    /// Returns an arc that the whole tree can take, the first by the order. If there is none, it
    /// returns the one that most of the tree can take.
    fn choose(&mut self, tree: &mut Tree) -> Choice {
        let vertices = self.capacity.vertices;
        let mut choices: Vec<Choice> = Vec::new();
        for (from, to, left) in self.capacity.arcs() {
            let most = left.min(tree.weight).min(tree.slack[from * vertices + to]);
            if tree.holds(from) && !tree.holds(to) && most > 0 {
                choices.push(Choice { from, to, most });
            }
        }
        let Order { deepest_first, tightest_first, first } = self.order;
        choices.sort_by_key(|choice| {
            let depth = tree.depth[choice.from];
            let left = self.capacity.get(choice.from, choice.to);
            let number = |vertex: usize| (vertex + vertices - first) % vertices;
            (
                std::cmp::Reverse(choice.most),
                if deepest_first { vertices - depth } else { depth },
                if tightest_first { left } else { LIMIT - left },
                number(choice.from),
                number(choice.to),
            )
        });
        let base = self.network();
        let mut network = base.clone();
        let mut best = Choice { from: tree.root, to: tree.root, most: 0 };
        for choice in choices {
            if choice.most <= best.most {
                break;
            }
            network.restore(&base);
            let slack = self.slack(&mut network, choice);
            if slack < choice.most {
                tree.slack[choice.from * vertices + choice.to] = slack;
            }
            if slack > best.most {
                best = Choice { most: slack, ..choice };
            }
        }
        assert!(best.most > 0, "a tree that can be completed has an arc to take (Edmonds)");
        best
    }

    /// The graph as it is left, and a node for each other tree that feeds all its vertices.
    fn network(&self) -> DenseNetwork {
        let vertices = self.capacity.vertices;
        let grown = self.growing.iter().filter(|tree| !tree.arcs.is_empty());
        let mut network = DenseNetwork::of(&self.capacity, vertices + grown.clone().count());
        for (tree, node) in grown.zip(vertices..) {
            for vertex in (0..vertices).filter(|vertex| tree.holds(*vertex)) {
                network.set(node, vertex, LIMIT);
            }
        }
        network
    }

    /// How often an arc can be taken, up to what the choice asks for.
    fn slack(&mut self, network: &mut DenseNetwork, choice: Choice) -> u64 {
        let Choice { from, to, most } = choice;
        let mut others = 0;
        let mut node = self.capacity.vertices;
        for tree in &self.growing {
            let feeds = if tree.arcs.is_empty() { tree.root } else { node };
            node += usize::from(!tree.arcs.is_empty());
            // A tree that holds the arc's end adds as much to the flow as to the sum.
            if tree.holds(to) {
                continue;
            }
            others += tree.weight;
            if feeds != from {
                network.add(from, feeds, tree.weight);
            }
        }
        self.flows += 1;
        network.send(from, to, others + most).saturating_sub(others)
    }
}
