//! Plans an all-to-all as a flow of many commodities at once.
//!
//! Every rank sends every other one shard. Where links join the GPUs directly, a linear programme
//! finds the largest rate at which all shards flow together. They pass through other GPUs of the
//! job where that helps (maximum concurrent flow; Shahrokhi and Matula, J. ACM 37, 1990). The flows
//! are then taken apart into paths. Where switches join the GPUs, every shard takes the switches.
//! The rate is right where some GPU's links are full.

use microlp::{ComparisonOp, OptimizationDirection, Problem, Variable};

use super::PlanError;
use crate::collectives::planners::link_graph::{LinkClass, LinkGraph};
use crate::collectives::planners::lowering::RankPath;
use crate::units::Bandwidth;

/// The finest cut of a shard that is tried for exact proportions.
const FINEST: u32 = 64;

/// A smaller part of a shard than this is rounding of the linear programme.
const NEGLIGIBLE: f64 = 1e-6;

/// Paths for every pair, the chunks of a shard, and the largest rate, B/s of the size, where
/// it is known.
pub(super) fn paths(
    graph: &LinkGraph,
    class: LinkClass,
) -> Result<(Vec<RankPath>, u32, Option<f64>), PlanError> {
    let ranks = graph.gpus;
    // Between servers a shard takes the network, which is a switch, too.
    if graph.has_switches() || class == LinkClass::Network {
        let pairs = (0..ranks).flat_map(|from| (1..ranks).map(move |step| (from, step)));
        let path = |(from, step)| RankPath {
            ranks: vec![from, (from + step) % ranks],
            chunks: 1,
            channel: 0,
        };
        return Ok((pairs.map(path).collect(), 1, None));
    }
    let flows = ConcurrentFlows::solve(graph)?;
    let mut shares = Vec::new();
    for source in 0..ranks {
        let mut left = flows.of_source(source);
        // Near ranks come first: the flow that passes through them is then left for those beyond.
        for to in (1..ranks).map(|step| (source + step) % ranks) {
            shares.extend(peel(&mut left, ranks, (source, to), flows.rate));
        }
    }
    let (chunks, counts) = whole_chunks(&shares);
    let paths = shares.into_iter().zip(counts).filter(|(_, chunks)| *chunks > 0);
    let paths =
        paths.map(|(share, chunks)| RankPath { ranks: share.ranks, chunks, channel: 0 }).collect();
    Ok((paths, chunks, Some(flows.rate * flows.unit * ranks as f64)))
}

/// Whether a rate of the size fills some GPU's links, so that no schedule could pass it.
pub(super) fn is_full(graph: &LinkGraph, rate: Bandwidth) -> bool {
    let ranks = graph.gpus as f64;
    (0..graph.gpus).any(|gpu| {
        let own = graph.links.iter().filter(|(a, b, _)| *a == gpu || *b == gpu);
        let capacity: f64 = own.map(|(_, _, capacity)| *capacity as f64).sum();
        rate.0 as f64 * (ranks - 1.0) / ranks >= capacity * (1.0 - NEGLIGIBLE)
    })
}

/// Returns the largest rate without the linear programme's rounding. Where the two are one, this is
/// the rate that the schedule reaches, in whole chunks and so exactly.
pub(super) fn exact(optimum: f64, reached: Bandwidth) -> Bandwidth {
    let same = (optimum - reached.0 as f64).abs() <= NEGLIGIBLE * optimum;
    if same { reached } else { Bandwidth(optimum.round() as u64) }
}

/// Part of one pair's shard and the ranks that it passes.
struct Share {
    ranks: Vec<usize>,
    part: f64,
}

/// Holds the flow of each source over each arc, in units of the widest link.
struct ConcurrentFlows {
    arcs: Vec<(usize, usize)>,
    flow: Vec<Vec<f64>>,
    /// Gives the rate of every pair.
    rate: f64,
    /// Gives the bandwidth of the widest link, B/s.
    unit: f64,
}

impl ConcurrentFlows {
    fn solve(graph: &LinkGraph) -> Result<Self, PlanError> {
        let ranks = graph.gpus;
        let unit = graph.links.iter().map(|(_, _, capacity)| *capacity).max().unwrap_or(1) as f64;
        let both = |(a, b, _): &(usize, usize, u64)| [(*a, *b), (*b, *a)];
        let arcs: Vec<(usize, usize)> = graph.links.iter().flat_map(both).collect();
        let capacity = |arc: usize| graph.links[arc / 2].2 as f64 / unit;
        let mut problem = Problem::new(OptimizationDirection::Maximize);
        let rate = problem.add_var(1.0, (0.0, f64::INFINITY));
        let flow: Vec<Vec<Variable>> = (0..ranks)
            .map(|_| arcs.iter().map(|_| problem.add_var(0.0, (0.0, f64::INFINITY))).collect())
            .collect();
        for (source, flow) in flow.iter().enumerate() {
            for at in (0..ranks).filter(|at| *at != source) {
                let mut kept = vec![(rate, -1.0)];
                for (arc, (from, to)) in arcs.iter().enumerate() {
                    if *to == at {
                        kept.push((flow[arc], 1.0));
                    } else if *from == at {
                        kept.push((flow[arc], -1.0));
                    }
                }
                problem.add_constraint(&kept, ComparisonOp::Eq, 0.0);
            }
        }
        for arc in 0..arcs.len() {
            let carried: Vec<_> = flow.iter().map(|flow| (flow[arc], 1.0)).collect();
            problem.add_constraint(&carried, ComparisonOp::Le, capacity(arc));
        }
        let outcome = problem.solve().ok().and_then(|outcome| outcome.into_solution().ok());
        let solution = outcome.ok_or(PlanError::Unsolved)?;
        let values = |flow: &Vec<Variable>| flow.iter().map(|v| solution.var_value(*v)).collect();
        let flow = flow.iter().map(values).collect();
        Ok(Self { rate: solution.var_value(rate), arcs, flow, unit })
    }

    fn of_source(&self, source: usize) -> Vec<(usize, usize, f64)> {
        let used = self.arcs.iter().zip(&self.flow[source]);
        used.map(|((from, to), flow)| (*from, *to, *flow)).collect()
    }
}

/// Takes one pair's part out of a source's flow, by shortest paths first.
fn peel(
    flow: &mut [(usize, usize, f64)],
    ranks: usize,
    (source, to): (usize, usize),
    rate: f64,
) -> Vec<Share> {
    let mut shares = Vec::new();
    let mut open = 1.0;
    while open > NEGLIGIBLE {
        let Some(path) = shortest_path(flow, ranks, (source, to), rate) else { break };
        let narrowest = path.iter().map(|arc| flow[*arc].2 / rate).fold(open, f64::min);
        for arc in &path {
            flow[*arc].2 -= narrowest * rate;
        }
        let mut passed = vec![source];
        passed.extend(path.iter().map(|arc| flow[*arc].1));
        shares.push(Share { ranks: passed, part: narrowest });
        open -= narrowest;
    }
    // The part that rounding left over goes with the rest.
    if let Some(last) = shares.last_mut() {
        last.part += open;
    }
    shares
}

/// The arcs of a path of fewest hops that still carries something.
fn shortest_path(
    flow: &[(usize, usize, f64)],
    ranks: usize,
    (source, to): (usize, usize),
    rate: f64,
) -> Option<Vec<usize>> {
    let mut into: Vec<Option<usize>> = vec![None; ranks];
    let mut reached = vec![source];
    let mut next = 0;
    while let Some(at) = reached.get(next).copied() {
        next += 1;
        for (arc, (from, onward, left)) in flow.iter().enumerate() {
            let fresh = *onward != source && into[*onward].is_none();
            if *from == at && fresh && *left > NEGLIGIBLE * rate {
                into[*onward] = Some(arc);
                reached.push(*onward);
            }
        }
    }
    let mut path: Vec<usize> = std::iter::successors(into[to], |arc| into[flow[*arc].0]).collect();
    path.reverse();
    (!path.is_empty()).then_some(path)
}

/// Returns the least number of chunks in which all parts are whole, and the chunks of each part.
/// Else it returns the finest cut, with every pair's parts rounded so that they add up.
fn whole_chunks(shares: &[Share]) -> (u32, Vec<u32>) {
    let whole = |chunks: &u32| {
        shares.iter().all(|share| {
            let exact = share.part * f64::from(*chunks);
            (exact - exact.round()).abs() < 1e-3
        })
    };
    let chunks = (1..FINEST).find(whole).unwrap_or(FINEST);
    let mut counts = Vec::with_capacity(shares.len());
    let ends = |share: &Share| (share.ranks[0], share.ranks[share.ranks.len() - 1]);
    for pair in shares.chunk_by(|a, b| ends(a) == ends(b)) {
        // Rounding the running sum keeps the total, and every part within one chunk.
        let (mut sum, mut given) = (0.0, 0);
        for (index, share) in pair.iter().enumerate() {
            sum += share.part * f64::from(chunks);
            let up_to = if index + 1 == pair.len() { chunks } else { sum.round() as u32 };
            counts.push(up_to - given);
            given = up_to;
        }
    }
    (chunks, counts)
}
