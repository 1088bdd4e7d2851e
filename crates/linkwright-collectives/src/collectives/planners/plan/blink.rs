//! Blink's own way to trees, beside which the exact packing stands (Wang et al. 2020).
//!
//! Multiplicative weights yield many candidate trees. An integer programme takes as many as fit
//! with a weight of zero or one unit each. Where that loses more than a twentieth of the optimum,
//! weights may be fractions. An all-reduce runs to a root and back along the trees of that root's
//! broadcast. On an NVSwitch every GPU has a one-hop tree. Blink leaves out all-gather and its
//! like, and they are refused here.

use microlp::{ComparisonOp, LinearExpr, OptimizationDirection, Problem, SolveOptions, Variable};

use crate::diagnostic::Registered;
use crate::graph::common_unit;
use crate::graph::max_flow::FlowGraph;
use crate::graph::multiplicative_weights::{RoutedArc, RoutedGraph, WeightedArborescence};
use crate::network::{RouteClass, Routes};
use crate::system::Wiring;
use crate::units::Bandwidth;

use super::ground::Ground;
use super::one_hop::stars;
use super::planner::Planner;
use super::shares::chunks_of;
use super::sized::{Offer, with_two_channels};
use super::trees::{lowered, plan_of_trees};
use super::{Plan, PlanError, Question, answer};
use crate::collectives::nccl::baselines::by_server;
use crate::collectives::planners::link_graph::{LinkClass, LinkGraph};
use crate::collectives::planners::lowering::RootedTree;
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::{Channel, Protocol};

/// How far the candidates may stay below the optimum.
const EPSILON: f64 = 0.05;

/// Limits the loss of the integer programme before weights become fractions (Blink's threshold).
const MOST_LOST: f64 = 0.05;

/// How many candidates, the heaviest, the integer programme chooses from.
const MOST_CANDIDATES: usize = 256;

/// How many nodes its branch and bound visits: a number, not a time, so that a plan is the same
/// on every machine.
const MOST_NODES: u64 = 400;

/// Planning takes these seconds of one core on 64 GPUs of several servers, and grows with this power of their
/// number. Both were measured on 16 to 64 GPUs of eight servers.
const SECONDS_AT_64: f64 = 10.0;
const POWER: f64 = 2.4;

/// The largest denominator that fractions of a unit are taken to have.
const MOST_PARTS: u32 = 64;

/// The parts of a unit that weights without such a denominator are rounded to.
const FINE_PARTS: f64 = 1e6;

/// Chooses trees as Blink does: multiplicative weights, then an integer programme.
#[derive(Debug)]
pub struct Blink;

impl Registered for Blink {
    fn name(&self) -> &'static str {
        "blink"
    }
}

impl Planner for Blink {
    fn description(&self) -> &'static str {
        "Blink: multiplicative weights, then an integer programme for few trees"
    }

    /// Blink copies with CUDA's own transfers.
    fn protocols(&self) -> &'static [Protocol] {
        &[Protocol::Simple]
    }

    fn plan(&self, question: &Question<'_>) -> Result<Plan, PlanError> {
        let Question { gpus, collective, .. } = *question;
        let mut notes = Vec::new();
        let Ground { class, graph, .. } = question.ground(&mut notes)?;
        let over = (class, &graph);
        let (trees, optimum) = pack(question.wiring(), gpus, over, collective, &mut notes)?;
        let name = format!("{}-{}", self.name(), collective.name());
        let trees = lowered(question, &name, trees, Vec::new())?;
        let plan = plan_of_trees(question, self.name(), class, trees, notes)?;
        Ok(Plan { optimum: optimum.map(|most| Bandwidth(most.round() as u64)), ..plan })
    }

    fn offer(&self, question: &Question<'_>) -> Result<Offer, PlanError> {
        let plans = vec![answer(self, question)?];
        let has_trees = !plans[0].trees.is_empty();
        Ok(Offer::of_plans(if has_trees { with_two_channels(plans) } else { plans }))
    }

    fn has_trees(&self) -> bool {
        true
    }

    /// Between servers every pair has an arc. Blink itself has three phases there.
    fn planning_seconds(&self, question: &Question<'_>) -> f64 {
        let gpus = question.gpus;
        let is_across = by_server(question.wiring(), gpus).len() > 1;
        let seconds = SECONDS_AT_64 * (gpus.len() as f64 / 64.0).powf(POWER);
        if is_across { seconds } else { 0.0 }
    }
}

/// Trees for a collective, and the most that any of their kind reach, B/s, where that is known.
fn pack(
    wiring: &Wiring,
    gpus: &[usize],
    (class, graph): (LinkClass, &LinkGraph),
    collective: Collective,
    notes: &mut Vec<String>,
) -> Result<(Vec<RootedTree>, Option<f64>), PlanError> {
    let remedy = match collective {
        Collective::AllGather | Collective::ReduceScatter => Some("packing, one-hop or nccl-ring"),
        Collective::AllToAll => Some("nccl-ring"),
        _ => None,
    };
    if let Some(remedy) = remedy {
        let collective = collective.name();
        let remedy = remedy.into();
        return Err(PlanError::Unsupported { algorithm: "blink", collective, remedy });
    }
    let transport = class.transport();
    if class == LinkClass::Fabric && graph.has_switches() {
        let channel = Channel::over(transport);
        let star = |parent| RootedTree { parent, chunks: 1, channel: channel.clone() };
        let stars = stars(gpus.len(), collective.root());
        return Ok((stars.into_iter().map(star).collect(), None));
    }
    // Links are as fast in one direction as in the other. So the least cut, and with it the rate,
    // is the same for every root that an all-reduce might take.
    let root = collective.root().unwrap_or(0);
    let (links, unit) = match class {
        LinkClass::Fabric => of_links(graph),
        LinkClass::Host => of_routes(wiring, gpus, &[RouteClass::Host]),
        LinkClass::Network => {
            let classes = [RouteClass::Fabric, RouteClass::Host, RouteClass::Network];
            of_routes(wiring, gpus, &classes)
        }
    };
    let candidates = links.pack(root, EPSILON);
    let optimum = (class == LinkClass::Fabric).then(|| least_flow(graph, root));
    let reached: f64 = candidates.iter().map(|tree| tree.weight).sum();
    let best = optimum.map_or(reached, |optimum| optimum / unit);
    let weights = whole(&links, &candidates, best).unwrap_or_else(|| {
        notes.push(format!(
            "trees of one link unit each lose more than 5 % of the optimum; chose fractions from \
             {} candidate trees",
            candidates.len()
        ));
        fractions(&links, &candidates)
    });
    let used = candidates.iter().zip(weights).filter(|(_, weight)| *weight > 0);
    let (used, weights): (Vec<_>, Vec<_>) = used.unzip();
    let chunks = chunks_of(&[weights]).remove(0);
    let tree = |(tree, chunks): (&WeightedArborescence, u32)| RootedTree {
        parent: tree.parent.clone(),
        chunks,
        channel: Channel::over(transport),
    };
    let trees = used.into_iter().zip(chunks).map(tree).collect();
    // The two directions of a reduction share links in ways that no cut of the broadcast bounds. So
    // do the data that a tree carries on for others.
    let one_way = matches!(collective, Collective::Broadcast { .. } | Collective::Reduce { .. });
    Ok((trees, optimum.filter(|_| one_way)))
}

/// GPUs and the links between them, in the largest unit that all are multiples of, B/s.
fn of_links(graph: &LinkGraph) -> (RoutedGraph, f64) {
    let capacities: Vec<u64> = graph.links.iter().map(|(_, _, capacity)| *capacity).collect();
    let unit = common_unit(&capacities);
    let both = |(a, b, c): &(usize, usize, u64)| [(*a, *b, c / unit), (*b, *a, c / unit)];
    let links: Vec<_> = graph.links.iter().flat_map(both).collect();
    (RoutedGraph::of_links(graph.gpus, &links), unit as f64)
}

/// GPUs and the ways between each two through what forwards, by the first class that joins
/// them.
fn of_routes(wiring: &Wiring, gpus: &[usize], classes: &[RouteClass]) -> (RoutedGraph, f64) {
    let routes = Routes::at_peak(wiring);
    let device = |rank: usize| wiring.gpu(gpus[rank]);
    let ways = |from: usize, to: usize| {
        let mut found = classes.iter().filter_map(|c| routes.route(device(from), device(to), *c));
        found.next().map(|route| RoutedArc { from, to, uses: route.uses })
    };
    let pairs = (0..gpus.len()).flat_map(|from| (0..gpus.len()).map(move |to| (from, to)));
    let mut arcs: Vec<_> = pairs.filter(|(a, b)| a != b).filter_map(|(a, b)| ways(a, b)).collect();
    let mut used: Vec<usize> =
        arcs.iter().flat_map(|arc| &arc.uses).map(|(resource, _)| *resource).collect();
    used.sort_unstable();
    used.dedup();
    for (resource, _) in arcs.iter_mut().flat_map(|arc| &mut arc.uses) {
        *resource = used.binary_search(resource).expect("every resource is listed");
    }
    let capacities: Vec<u64> = used.iter().map(|at| routes.capacities()[*at].0).collect();
    let unit = common_unit(&capacities);
    let capacities = capacities.iter().map(|capacity| (capacity / unit) as f64).collect();
    (RoutedGraph { vertices: gpus.len(), arcs, capacities }, unit as f64)
}

/// Returns the least of the maximum flows from the root to the other GPUs, B/s, which is the
/// broadcast's rate.
fn least_flow(graph: &LinkGraph, root: usize) -> f64 {
    let flow = |to: usize| {
        let mut network = FlowGraph::new(graph.devices.len());
        for (a, b, capacity) in &graph.links {
            network.add_arc(*a, *b, u128::from(*capacity));
            network.add_arc(*b, *a, u128::from(*capacity));
        }
        network.send(root, to)
    };
    let flows = (0..graph.gpus).filter(|to| *to != root).map(flow);
    flows.min().unwrap_or(0) as f64
}

/// Weights of zero or one unit that come near enough to the best, if there are such.
fn whole(links: &RoutedGraph, candidates: &[WeightedArborescence], best: f64) -> Option<Vec<u128>> {
    let candidates = &candidates[..candidates.len().min(MOST_CANDIDATES)];
    let enough = (1.0 - MOST_LOST) * best;
    if (candidates.len() as f64) < enough {
        return None;
    }
    let (problem, variables) = programme(links, candidates, Problem::add_binary_var);
    let mut options = SolveOptions::default();
    options.node_limit = Some(MOST_NODES);
    let solution = problem.solve_with(options).ok()?.into_solution().ok()?;
    let value = |variable: &Variable| solution.var_value(*variable).round() as u128;
    let weights: Vec<u128> = variables.iter().map(value).collect();
    let taken = weights.iter().sum::<u128>() as f64;
    (taken >= enough).then_some(weights)
}

/// Weights in any fractions; those of the candidates where the programme cannot be solved.
fn fractions(links: &RoutedGraph, candidates: &[WeightedArborescence]) -> Vec<u128> {
    let real = |problem: &mut Problem, gain: f64| problem.add_var(gain, (0.0, f64::INFINITY));
    let (problem, variables) = programme(links, candidates, real);
    let solution = problem.solve().ok().and_then(|outcome| outcome.into_solution().ok());
    let weights: Vec<f64> = match solution {
        Some(solution) => variables.iter().map(|at| solution.var_value(*at).max(0.0)).collect(),
        None => candidates.iter().map(|tree| tree.weight).collect(),
    };
    let total: f64 = weights.iter().sum();
    let exact = |parts: &u32| {
        let scaled = weights.iter().map(|weight| weight * f64::from(*parts));
        scaled.into_iter().all(|weight| (weight - weight.round()).abs() < 1e-6)
    };
    let parts = (1..=MOST_PARTS).find(exact).map_or(FINE_PARTS / total, f64::from);
    weights.iter().map(|weight| (weight * parts).round() as u128).collect()
}

/// The most of the candidates' weights together that every link can carry.
fn programme(
    links: &RoutedGraph,
    candidates: &[WeightedArborescence],
    variable: impl Fn(&mut Problem, f64) -> Variable,
) -> (Problem, Vec<Variable>) {
    let mut problem = Problem::new(OptimizationDirection::Maximize);
    let mut carried = vec![LinearExpr::empty(); links.capacities.len()];
    let mut variables = Vec::with_capacity(candidates.len());
    for tree in candidates {
        let weight = variable(&mut problem, 1.0);
        for (resource, load) in links.loads(&links.arcs_of(&tree.parent)) {
            carried[resource].add(weight, load);
        }
        variables.push(weight);
    }
    for (carried, capacity) in carried.into_iter().zip(&links.capacities) {
        problem.add_constraint(carried, ComparisonOp::Le, *capacity);
    }
    (problem, variables)
}

#[cfg(test)]
mod tests;
