//! Switches that can be taken as one without loss.
//!
//! Two rules are applied until neither fits:
//!
//! - *Alike*: such switches have the same capacity from and to each terminal and each class of
//!   alike switches (the coarsest equitable partition). They become one with the sum of their
//!   capacities. The flow through the class is spread evenly over its members. Then no arc carries
//!   more than its share of the arc between the classes.
//! - *Joined*: two switches with no common neighbour are joined by at least as much as can enter
//!   the one or leave the other. They become one, since no flow that passes can fill their link.
//!
//! A route through the smaller graph is lifted back, step by step, to routes through the given one.
//! Each carries a fraction of the flow.

use super::ArborescenceError;
use super::dense_flow::Capacities;
use super::greatest_common_divisor;

/// One step from a graph to a smaller one. Vertices keep their numbers; one that was taken
/// into another has no arcs any more.
#[derive(Debug, Clone)]
enum Step {
    /// Gives each vertex's class, by its lowest member.
    Alike { before: Capacities, class_of: Vec<usize> },
    /// `gone` was taken into `kept`.
    Joined { before: Capacities, kept: usize, gone: usize },
}

/// Holds a graph with fewer switches and the way back.
#[derive(Debug, Clone)]
pub(super) struct Reduced {
    pub(super) capacity: Capacities,
    steps: Vec<Step>,
}

/// A route and the fraction of the flow that it carries.
#[derive(Debug, Clone)]
pub(super) struct Share {
    pub(super) path: Vec<usize>,
    pub(super) numerator: u64,
    pub(super) denominator: u64,
}

impl Share {
    /// The route with one more vertex, for `part` of the `whole` that goes on.
    fn extended(&self, vertex: usize, part: u64, whole: u64) -> Option<Self> {
        let divisor = greatest_common_divisor(part, whole);
        let numerator = self.numerator.checked_mul(part / divisor)?;
        let denominator = self.denominator.checked_mul(whole / divisor)?;
        let divisor = greatest_common_divisor(numerator, denominator);
        let mut path = self.path.clone();
        path.push(vertex);
        Some(Self { path, numerator: numerator / divisor, denominator: denominator / divisor })
    }
}

/// Takes switches as one wherever that loses nothing.
pub(super) fn reduce(mut capacity: Capacities, is_terminal: &[bool]) -> Reduced {
    let mut steps = Vec::new();
    loop {
        let class_of = classes(&capacity, is_terminal);
        if class_of.iter().enumerate().any(|(vertex, class)| vertex != *class) {
            let merged = merge(&capacity, &class_of);
            let before = std::mem::replace(&mut capacity, merged);
            steps.push(Step::Alike { before, class_of });
        }
        let Some((kept, gone)) = joined(&capacity, is_terminal) else {
            return Reduced { capacity, steps };
        };
        let mut into: Vec<usize> = (0..capacity.vertices).collect();
        into[gone] = kept;
        let merged = merge(&capacity, &into);
        let before = std::mem::replace(&mut capacity, merged);
        steps.push(Step::Joined { before, kept, gone });
    }
}

/// Returns the same arcs between the vertices that stand for others. Arcs inside a class vanish.
fn merge(capacity: &Capacities, class_of: &[usize]) -> Capacities {
    let mut merged = Capacities::new(capacity.vertices);
    for (from, to, value) in capacity.arcs() {
        if class_of[from] != class_of[to] {
            merged.add(class_of[from], class_of[to], value);
        }
    }
    merged
}

/// The coarsest equitable partition in which each terminal, and each switch without arcs, is
/// alone: for each vertex the lowest of its class.
fn classes(capacity: &Capacities, is_terminal: &[bool]) -> Vec<usize> {
    let vertices = capacity.vertices;
    let alone = |v: usize| is_terminal[v] || (capacity.entering(v) | capacity.leaving(v)) == 0;
    let first_switch = (0..vertices).find(|vertex| !alone(*vertex)).unwrap_or(0);
    let mut class_of: Vec<usize> =
        (0..vertices).map(|vertex| if alone(vertex) { vertex } else { first_switch }).collect();
    loop {
        let signature = |vertex: usize| {
            let mut sums = vec![(0, 0); vertices];
            for (other, class) in class_of.iter().enumerate() {
                sums[*class].0 += capacity.get(other, vertex);
                sums[*class].1 += capacity.get(vertex, other);
            }
            (class_of[vertex], sums)
        };
        let signatures: Vec<_> = (0..vertices).map(signature).collect();
        let lowest = |vertex: usize| {
            (0..vertex).find(|other| signatures[*other] == signatures[vertex]).unwrap_or(vertex)
        };
        let finer: Vec<usize> = (0..vertices).map(lowest).collect();
        if finer == class_of {
            return class_of;
        }
        class_of = finer;
    }
}

/// Two switches whose link cannot be filled.
fn joined(capacity: &Capacities, is_terminal: &[bool]) -> Option<(usize, usize)> {
    let vertices = capacity.vertices;
    let switches = || (0..vertices).filter(|vertex| !is_terminal[*vertex]);
    let never_full = |from: usize, to: usize| {
        let link = u128::from(capacity.get(from, to));
        let back = u128::from(capacity.get(to, from));
        link >= capacity.entering(from) - back || link >= capacity.leaving(to) - back
    };
    let apart = |a: usize, b: usize| {
        (0..vertices).all(|other| !(capacity.adjacent(a, other) && capacity.adjacent(b, other)))
    };
    let mut pairs =
        switches().flat_map(|a| switches().filter(move |b| *b > a).map(move |b| (a, b)));
    pairs.find(|(a, b)| {
        capacity.adjacent(*a, *b) && never_full(*a, *b) && never_full(*b, *a) && apart(*a, *b)
    })
}

impl Reduced {
    /// The routes through the given graph that a route through this one stands for.
    ///
    /// # Errors
    /// [`ArborescenceError::TooLarge`] where a fraction does not fit.
    pub(super) fn lift(&self, path: &[usize]) -> Result<Vec<Share>, ArborescenceError> {
        let mut shares = vec![Share { path: path.to_vec(), numerator: 1, denominator: 1 }];
        for step in self.steps.iter().rev() {
            let lifted: Option<Vec<Vec<Share>>> = shares
                .iter()
                .map(|share| match step {
                    Step::Alike { before, class_of } => spread(share, before, class_of),
                    Step::Joined { before, kept, gone } => {
                        let path = reopen(&share.path, before, *kept, *gone);
                        Some(vec![Share { path, ..share.clone() }])
                    }
                })
                .collect();
            shares = lifted.ok_or(ArborescenceError::TooLarge)?.into_iter().flatten().collect();
        }
        Ok(shares)
    }
}

/// Spreads a route over the members of the classes that it passes, by their capacities.
fn spread(share: &Share, before: &Capacities, class_of: &[usize]) -> Option<Vec<Share>> {
    let mut routes = vec![Share { path: vec![share.path[0]], ..*share }];
    for class in &share.path[1..] {
        let mut onward = Vec::new();
        for route in &routes {
            let at = route.path[route.path.len() - 1];
            let members = (0..before.vertices).filter(|member| class_of[*member] == *class);
            let links: Vec<(usize, u64)> =
                members.map(|to| (to, before.get(at, to))).filter(|(_, part)| *part > 0).collect();
            let whole = links.iter().map(|(_, part)| part).sum();
            for (member, part) in links {
                onward.push(route.extended(member, part, whole)?);
            }
        }
        routes = onward;
    }
    Some(routes)
}

/// Replaces the one switch on a route by those of the two that it passes.
fn reopen(path: &[usize], before: &Capacities, kept: usize, gone: usize) -> Vec<usize> {
    let side = |neighbour: usize| if before.adjacent(neighbour, gone) { gone } else { kept };
    let mut opened = Vec::new();
    for (place, vertex) in path.iter().enumerate() {
        if *vertex == kept {
            let (enters, leaves) = (side(path[place - 1]), side(path[place + 1]));
            opened.push(enters);
            if leaves != enters {
                opened.push(leaves);
            }
        } else {
            opened.push(*vertex);
        }
    }
    opened
}
