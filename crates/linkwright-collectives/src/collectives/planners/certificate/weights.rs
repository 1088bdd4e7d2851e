//! Finds lengths of links that bound an all-to-all: the dual of its linear programme.

use std::collections::BTreeMap;

use microlp::{ComparisonOp, OptimizationDirection, Problem, Variable};

use crate::collectives::planners::link_graph::LinkGraph;

/// Lengths are whole numbers: the longest has about this many units where no few do.
const FINE: f64 = 1e9;

/// The most units of a length that are tried for exact proportions.
const MOST_UNITS: u32 = 720;

/// Holds the length of each arc, both ways of the first link first, and each rank's distances.
pub(super) struct Lengths {
    pub(super) arcs: Vec<u64>,
    pub(super) distances: Vec<Vec<u64>>,
}

/// The lengths of direct links with the least capacity over the sum of all distances; None where the programme has
/// no solution.
pub(super) fn lengths(graph: &LinkGraph) -> Option<Lengths> {
    let vertices = graph.gpus;
    let unit = graph.links.iter().map(|(_, _, capacity)| *capacity).max()? as f64;
    let both = |(a, b, capacity): &(usize, usize, u64)| {
        let part = *capacity as f64 / unit;
        [(*a, *b, part), (*b, *a, part)]
    };
    let arcs: Vec<(usize, usize, f64)> = graph.links.iter().flat_map(both).collect();
    let mut problem = Problem::new(OptimizationDirection::Minimize);
    let any = (0.0, f64::INFINITY);
    let length: Vec<Variable> =
        arcs.iter().map(|(_, _, capacity)| problem.add_var(*capacity, any)).collect();
    let mut all = Vec::new();
    for source in 0..graph.gpus {
        let most = |vertex| if vertex == source { (0.0, 0.0) } else { any };
        let from: Vec<Variable> =
            (0..vertices).map(|vertex| problem.add_var(0.0, most(vertex))).collect();
        for ((a, b, _), length) in arcs.iter().zip(&length) {
            let grown = [(from[*b], 1.0), (from[*a], -1.0), (*length, -1.0)];
            problem.add_constraint(grown, ComparisonOp::Le, 0.0);
        }
        all.extend((0..graph.gpus).filter(|to| *to != source).map(|to| (from[to], 1.0)));
    }
    problem.add_constraint(&all, ComparisonOp::Eq, 1.0);
    let solution = problem.solve().ok()?.into_solution().ok()?;
    let found: Vec<f64> = length.iter().map(|at| solution.var_value(*at).max(0.0)).collect();
    let arcs = whole(&found)?;
    let distances = (0..graph.gpus).map(|source| distances(graph, &arcs, source)).collect();
    Some(Lengths { arcs, distances })
}

/// Whole numbers in the same proportions, as small as may be.
fn whole(lengths: &[f64]) -> Option<Vec<u64>> {
    let longest = lengths.iter().copied().fold(0.0, f64::max);
    if longest <= 0.0 {
        return None;
    }
    let parts = |units: f64| lengths.iter().map(move |length| length / longest * units);
    let is_whole = |units: &u32| {
        parts((*units).into()).all(|part| (part - part.round()).abs() < 1e-6 * f64::from(*units))
    };
    let units = (1..=MOST_UNITS).find(is_whole).map_or(FINE, f64::from);
    Some(parts(units).map(|part| part.round() as u64).collect())
}

/// Gives the distances of all vertices from one, by arcs of these lengths.
fn distances(graph: &LinkGraph, lengths: &[u64], source: usize) -> Vec<u64> {
    let mut found: BTreeMap<usize, u64> = BTreeMap::from([(source, 0)]);
    for _ in 0..graph.gpus {
        for (link, (a, b, _)) in graph.links.iter().enumerate() {
            for (from, to, length) in [(*a, *b, lengths[2 * link]), (*b, *a, lengths[2 * link + 1])]
            {
                let Some(before) = found.get(&from).copied() else { continue };
                let known = found.entry(to).or_insert(u64::MAX);
                *known = (*known).min(before + length);
            }
        }
    }
    (0..graph.gpus).map(|vertex| found.get(&vertex).copied().unwrap_or(0)).collect()
}
