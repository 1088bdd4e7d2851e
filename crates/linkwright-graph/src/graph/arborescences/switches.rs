//! A graph without switches that carries as much.
//!
//! A switch forwards but needs no data. Take γ units of an arc into it and γ units of one out of
//! it. They can be replaced by γ units of one arc past it. This is allowed as long as every
//! terminal still receives all that it must. As much can leave each switch as can enter it, so a
//! switch can be split off whole (Frank 1988; Bang-Jensen, Frank and Jackson 1995). Splitting never
//! raises a cut. So a pair of arcs which cannot be split stays so, and each is tried once.
//!
//! One flow to each terminal tells how much can be split of one pair. Splitting lowers every cut
//! that it touches by γ. So the part that a flow lacks after splitting all was split too much. Many
//! pairs are split at once, and halved where a flow falls short.

use std::collections::BTreeMap;

use super::dense_flow::{Capacities, DenseNetwork, LIMIT};
use super::greatest_common_divisor;

/// Which pairs of arcs are split first, and how far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Splitting {
    /// Takes as much as possible of each pair: few wide arcs, for few trees.
    Wide,
    /// An even share for all pairs first: many arcs, for shallow trees.
    Even,
}

/// Describes the graph to pack: vertices `0..terminals` are terminals, the others switches.
#[derive(Debug, Clone)]
pub(super) struct Problem {
    pub(super) terminals: usize,
    pub(super) capacity: Capacities,
    /// The only root; nothing if every terminal is one.
    pub(super) root: Option<usize>,
    /// Gives the flow that each root sends.
    pub(super) share: u64,
    /// The capacities are the given ones times this.
    pub(super) scale: u64,
    /// Limits the sum of the capacities once they are scaled further.
    pub(super) ceiling: u64,
}

impl Problem {
    /// Each root and what it sends.
    pub(super) fn roots(&self) -> Vec<usize> {
        self.root.map_or_else(|| (0..self.terminals).collect(), |root| vec![root])
    }
}

/// A way through switches, both ends included, and how much goes it.
pub(super) type Route = (Vec<usize>, u64);

/// Holds the problem without switches, and the routes that its arcs stand for.
#[derive(Debug, Clone)]
pub(super) struct Logical {
    pub(super) problem: Problem,
    pub(super) routes: BTreeMap<(usize, usize), Vec<Route>>,
}

/// Splits every switch off.
pub(super) fn split_off(problem: &Problem, splitting: Splitting) -> Logical {
    let mut splitter = Splitter::new(problem);
    let mut switches: Vec<usize> = (problem.terminals..problem.capacity.vertices).collect();
    while !switches.is_empty() {
        // A switch far from other switches comes first. Then it is known how its neighbours reach
        // each other when the wider network is split. Of equal ones the widest comes first.
        let order = |switch: usize| {
            let others = switches.iter().filter(|other| splitter.adjacent(switch, **other));
            (others.count(), std::cmp::Reverse(splitter.widest(switch)), switch)
        };
        let next = (0..switches.len()).min_by_key(|index| order(switches[*index])).unwrap_or(0);
        splitter.split_switch(switches.remove(next), splitting);
    }
    splitter.finish()
}

/// Joins `amount` units of the arc from `from` to the switch with those from there to `to`.
#[derive(Debug, Clone, Copy)]
struct Pair {
    from: usize,
    to: usize,
    amount: u64,
}

struct Splitter {
    problem: Problem,
    /// The vertices and, where every terminal is a root, a source that feeds each its share.
    network: DenseNetwork,
    scratch: DenseNetwork,
    source: usize,
    /// Gives the flow that every terminal must receive.
    demand: u64,
    routes: BTreeMap<(usize, usize), Vec<Route>>,
    /// Lists the terminals, those first that fell short last.
    sinks: Vec<usize>,
}

impl Splitter {
    fn new(problem: &Problem) -> Self {
        let Problem { terminals, capacity, root, share, .. } = problem;
        let vertices = capacity.vertices;
        let mut network = DenseNetwork::of(capacity, vertices + usize::from(root.is_none()));
        if root.is_none() {
            for terminal in 0..*terminals {
                network.set(vertices, terminal, *share);
            }
        }
        let routes = capacity.arcs().map(|(from, to, value)| {
            let way = vec![from, to];
            ((from, to), vec![(way, value)])
        });
        Self {
            scratch: network.clone(),
            network,
            source: root.unwrap_or(vertices),
            demand: share * problem.roots().len() as u64,
            routes: routes.collect(),
            sinks: (0..*terminals).filter(|terminal| Some(*terminal) != *root).collect(),
            problem: problem.clone(),
        }
    }

    fn vertices(&self) -> usize {
        self.problem.capacity.vertices
    }

    fn adjacent(&self, a: usize, b: usize) -> bool {
        self.network.left(a, b) > 0 || self.network.left(b, a) > 0
    }

    fn widest(&self, vertex: usize) -> u64 {
        (0..self.vertices()).map(|to| self.network.left(vertex, to)).max().unwrap_or(0)
    }

    fn split_switch(&mut self, switch: usize, splitting: Splitting) {
        let vertices = self.vertices();
        let enter = |(network, v): (&DenseNetwork, usize)| network.left(v, switch) > 0;
        let sources: Vec<usize> = (0..vertices).filter(|v| enter((&self.network, *v))).collect();
        let sinks: Vec<usize> =
            (0..vertices).filter(|v| self.network.left(switch, *v) > 0).collect();
        // For each sink the sources from the one before it, in a circle: where all are alike
        // they then form a ring.
        let mut pairs: Vec<Pair> = Vec::new();
        for to in &sinks {
            let before = sources.iter().filter(|from| *from < to).rev();
            let after = sources.iter().filter(|from| *from > to).rev();
            pairs.extend(before.chain(after).map(|from| Pair {
                from: *from,
                to: *to,
                amount: LIMIT,
            }));
        }
        let (near, far): (Vec<Pair>, Vec<Pair>) =
            pairs.into_iter().partition(|pair| self.network.left(pair.from, pair.to) > 0);
        if splitting == Splitting::Even {
            self.split_evenly(switch, far.clone());
            self.split_evenly(switch, far.iter().chain(&near).copied().collect());
        }
        self.split(switch, &far);
        self.split(switch, &near);
        // The rest can only turn back, which serves no one.
        for vertex in 0..vertices {
            for (from, to) in [(vertex, switch), (switch, vertex)] {
                self.network.set(from, to, 0);
                self.routes.remove(&(from, to));
            }
        }
    }

    /// Splits an even share of each pair: of what enters and of what leaves.
    fn split_evenly(&mut self, switch: usize, mut pairs: Vec<Pair>) {
        pairs.retain(|pair| {
            self.network.left(pair.from, switch) > 0 && self.network.left(switch, pair.to) > 0
        });
        let mut fans = vec![(0_u64, 0_u64); self.vertices()];
        for pair in &pairs {
            fans[pair.from].0 += 1;
            fans[pair.to].1 += 1;
        }
        let share = |network: &DenseNetwork, pair: &Pair| {
            let enters = (network.left(pair.from, switch), fans[pair.from].0);
            let leaves = (network.left(switch, pair.to), fans[pair.to].1);
            let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
            if product(enters.0, leaves.1) <= product(leaves.0, enters.1) { enters } else { leaves }
        };
        let mut factor = Some(1_u64);
        for pair in &pairs {
            let (whole, parts) = share(&self.network, pair);
            let missing = parts / greatest_common_divisor(whole, parts);
            factor = factor.and_then(|factor| {
                (factor / greatest_common_divisor(factor, missing)).checked_mul(missing)
            });
        }
        // Where the numbers grow too large the shares are rounded down: a worse start, but what
        // is left is split all the same.
        if let Some(factor) = factor {
            self.scale(factor);
        }
        for pair in &mut pairs {
            let (whole, parts) = share(&self.network, pair);
            pair.amount = whole / parts;
        }
        self.split(switch, &pairs);
    }

    /// Multiplies all capacities, unless they would grow too large.
    fn scale(&mut self, factor: u64) {
        let Problem { capacity, share, scale, ceiling, .. } = &self.problem;
        let (Some(capacity), Some(share), Some(scale), Some(demand)) = (
            capacity.scaled(factor).filter(|scaled| scaled.total() <= u128::from(*ceiling)),
            share.checked_mul(factor),
            scale.checked_mul(factor),
            self.demand.checked_mul(factor).filter(|demand| *demand <= LIMIT),
        ) else {
            return;
        };
        self.problem = Problem { capacity, share, scale, ..self.problem.clone() };
        self.demand = demand;
        self.network.multiply(factor);
        for (_, units) in self.routes.values_mut().flatten() {
            *units *= factor;
        }
    }

    /// Splits as much of the pairs as the demand allows, and at most each one's amount.
    fn split(&mut self, switch: usize, pairs: &[Pair]) {
        let mut taken = Vec::new();
        for pair in pairs {
            let narrowest =
                self.network.left(pair.from, switch).min(self.network.left(switch, pair.to));
            let amount = narrowest.min(pair.amount);
            if amount > 0 {
                self.bypass(switch, Pair { amount, ..*pair });
                taken.push(Pair { amount, ..*pair });
            }
        }
        if let ([_], [only]) = (pairs, taken.as_slice()) {
            let kept = only.amount - self.give_back_excess(switch, *only);
            self.join_routes(switch, Pair { amount: kept, ..*only });
        } else if taken.is_empty() || self.all_receive() {
            for pair in taken {
                self.join_routes(switch, pair);
            }
        } else {
            for pair in taken {
                self.undo(switch, pair);
            }
            let (first, second) = pairs.split_at(pairs.len() / 2);
            self.split(switch, first);
            self.split(switch, second);
        }
    }

    fn bypass(&mut self, switch: usize, Pair { from, to, amount }: Pair) {
        self.network.take(from, switch, amount);
        self.network.take(switch, to, amount);
        self.network.add(from, to, amount);
    }

    fn undo(&mut self, switch: usize, Pair { from, to, amount }: Pair) {
        self.network.add(from, switch, amount);
        self.network.add(switch, to, amount);
        self.network.take(from, to, amount);
    }

    /// Whether every terminal receives what it must.
    fn all_receive(&mut self) -> bool {
        for place in 0..self.sinks.len() {
            self.scratch.restore(&self.network);
            if self.scratch.send(self.source, self.sinks[place], self.demand) < self.demand {
                self.sinks[..=place].rotate_right(1);
                return false;
            }
        }
        true
    }

    /// Undoes as much of a pair as terminals lack; how much that was.
    fn give_back_excess(&mut self, switch: usize, pair: Pair) -> u64 {
        let mut excess = 0;
        for place in 0..self.sinks.len() {
            if excess == pair.amount {
                break;
            }
            self.scratch.restore(&self.network);
            let received = self.scratch.send(self.source, self.sinks[place], self.demand);
            let lacking = self.demand - received;
            if lacking > 0 {
                self.undo(switch, Pair { amount: lacking, ..pair });
                excess += lacking;
                self.sinks[..=place].rotate_right(1);
            }
        }
        excess
    }

    /// Joins routes into the switch to routes out of it.
    fn join_routes(&mut self, switch: usize, Pair { from, to, mut amount }: Pair) {
        while amount > 0 {
            let mut head = self.take_route(from, switch, amount);
            let (tail, units) = self.take_route(switch, to, head.1);
            if units < head.1 {
                let rest = (head.0.clone(), head.1 - units);
                self.routes.entry((from, switch)).or_default().push(rest);
            }
            head.0.extend(&tail[1..]);
            let way = without_circles(&head.0);
            let routes = self.routes.entry((from, to)).or_default();
            match routes.iter_mut().find(|(known, _)| *known == way) {
                Some((_, known)) => *known += units,
                None => routes.push((way, units)),
            }
            amount -= units;
        }
    }

    /// Takes up to `most` of one route of an arc.
    fn take_route(&mut self, from: usize, to: usize, most: u64) -> Route {
        let routes = self.routes.entry((from, to)).or_default();
        let (way, units) = routes.last_mut().expect("an arc's routes add up to its capacity");
        if *units <= most {
            return routes.pop().expect("it was just seen");
        }
        *units -= most;
        (way.clone(), most)
    }

    fn finish(self) -> Logical {
        let terminals = self.problem.terminals;
        let mut capacity = Capacities::new(terminals);
        for from in 0..terminals {
            for to in 0..terminals {
                capacity.set(from, to, self.network.left(from, to));
            }
        }
        Logical { problem: Problem { capacity, ..self.problem }, routes: self.routes }
    }
}

/// The way with what lies between two visits of one vertex left out.
fn without_circles(way: &[usize]) -> Vec<usize> {
    let mut simple: Vec<usize> = Vec::with_capacity(way.len());
    for vertex in way {
        if let Some(first) = simple.iter().position(|seen| seen == vertex) {
            simple.truncate(first);
        }
        simple.push(*vertex);
    }
    simple
}
