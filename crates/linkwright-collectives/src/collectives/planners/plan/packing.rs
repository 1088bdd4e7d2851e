//! Packs spanning trees on a job's links, at the optimum, and gives them as trees of its ranks.

use std::collections::{BTreeMap, BTreeSet};

use crate::graph::arborescences::{
    Arborescence, ArborescenceError, ArborescencePacking, DirectedGraph, Preference,
    pack_from_every_root, pack_from_root, rate_from_every_root,
};
use crate::graph::partition::exact_strength;
use crate::graph::scatter::share_from_root;
use crate::graph::spanning_trees::{Search, pack_spanning_trees};
use crate::system::Wiring;

use super::PlanError;
use super::shares::chunks_of;
use crate::collectives::planners::link_graph::LinkGraph;
use crate::collectives::planners::lowering::RootedTree;
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::{Channel, ChannelTransport, ChosenPath, ChosenRoute};

/// Trees of a job's ranks.
pub(super) struct Packed {
    pub(super) trees: Vec<RootedTree>,
    /// Gives the most that any trees of their kind reach, B/s of the collective's size.
    pub(super) most: f64,
    /// Holds the paths of the trees' arcs through the devices that forward.
    pub(super) routes: Vec<ChosenRoute>,
}

impl Packed {
    fn times(self, factor: f64) -> Self {
        Self { most: self.most * factor, ..self }
    }
}

/// Trees for a collective.
pub(super) fn pack(
    graph: &LinkGraph,
    collective: Collective,
    transport: ChannelTransport,
    preference: Preference,
) -> Result<Packed, PlanError> {
    let ranks = graph.gpus as f64;
    match collective {
        Collective::AllReduce if !graph.has_switches() => undirected(graph, transport),
        // Reduced to every root and sent from there: each direction serves both halves.
        Collective::AllReduce => {
            let packed = from_every_root(graph, collective, transport, preference)?;
            Ok(packed.times(ranks / 2.0))
        }
        Collective::AllGather | Collective::ReduceScatter => {
            let packed = from_every_root(graph, collective, transport, preference)?;
            Ok(packed.times(ranks))
        }
        Collective::AllToAll => Err(PlanError::Unsupported {
            algorithm: "packing of trees",
            collective: "all-to-all",
            remedy: "packing, nccl-ring".into(),
        }),
        Collective::Barrier | Collective::Scan => {
            Err(super::by_rule_alone("packing of trees", collective))
        }
        Collective::Broadcast { root } | Collective::Reduce { root } => {
            from_root(graph, (collective, root), transport, preference)
        }
        // A tree carries the same part of every rank's shard. The most that other paths than packed
        // trees could reach is known, too.
        Collective::Gather { root } | Collective::Scatter { root } => {
            let packed = from_root(graph, (collective, root), transport, preference)?;
            let links = directed(graph);
            let (share, scale) = share_from_root(links.vertices, graph.gpus, &links.arcs, root);
            Ok(Packed { most: share as f64 / scale as f64 * ranks, ..packed })
        }
    }
}

/// Says whether a rate of the size keeps all GPUs' links busy, so that no all-reduce could pass it.
/// Every byte of the result is merged from as many parts as there are GPUs and then brought to all
/// of them. This makes 2 (n - 1) arrivals of the size at GPUs.
pub(super) fn is_full(graph: &LinkGraph, rate: f64) -> bool {
    let arriving = |(a, b, capacity): &(usize, usize, u64)| {
        let ends = usize::from(*a < graph.gpus) + usize::from(*b < graph.gpus);
        *capacity as f64 * ends as f64
    };
    let capacity: f64 = graph.links.iter().map(arriving).sum();
    rate * 2.0 * (graph.gpus as f64 - 1.0) >= capacity * (1.0 - 1e-9)
}

/// Whether a rate keeps all that enters the job's servers busy: the same count, with a server
/// for each part.
pub(super) fn fills_servers(graph: &LinkGraph, wiring: &Wiring, rate: f64) -> bool {
    let servers: Vec<Option<usize>> = graph
        .devices
        .iter()
        .map(|id| wiring.find(*id).and_then(|device| wiring.devices()[device].server))
        .collect();
    let server = |vertex: usize| servers[vertex];
    let of_job: BTreeSet<Option<usize>> = (0..graph.gpus).map(server).collect();
    let entering = |(a, b, capacity): &(usize, usize, u64)| {
        let (a, b) = (server(*a), server(*b));
        let ends = [a, b].iter().filter(|end| a != b && of_job.contains(end)).count();
        *capacity as f64 * ends as f64
    };
    let capacity: f64 = graph.links.iter().map(entering).sum();
    rate * 2.0 * (of_job.len() as f64 - 1.0) >= capacity * (1.0 - 1e-9)
}

/// The most that trees reach of an all-reduce, B/s of its size, without the trees.
pub(super) fn all_reduce_rate(graph: &LinkGraph) -> Result<f64, PlanError> {
    if !graph.has_switches() {
        let (rate, scale) = exact_strength(graph.gpus, &graph.direct_capacity());
        return Ok(rate as f64 / scale as f64);
    }
    let share = rate_from_every_root(&directed(graph)).map_err(too_fine)?;
    Ok(share.numerator as f64 / share.denominator as f64 * graph.gpus as f64 / 2.0)
}

/// Returns the undirected packing, whose trees carry a reduction up and a broadcast down.
fn undirected(graph: &LinkGraph, transport: ChannelTransport) -> Result<Packed, PlanError> {
    let packing = pack_spanning_trees(graph.gpus, &graph.direct_capacity(), Search::default())
        .ok_or(PlanError::TooFine)?;
    let weights = packing.trees.iter().map(|tree| tree.weight).collect();
    let chunks = chunks_of(&[weights]).remove(0);
    let trees = packing.trees.iter().zip(chunks).map(|(tree, chunks)| RootedTree {
        parent: parents(graph.gpus, &tree.edges, tree.root),
        chunks,
        channel: Channel::over(transport),
    });
    let most = packing.rate.0 as f64 / packing.rate.1 as f64;
    Ok(Packed { trees: trees.collect(), most, routes: Vec::new() })
}

fn from_root(
    graph: &LinkGraph,
    (collective, root): (Collective, usize),
    transport: ChannelTransport,
    preference: Preference,
) -> Result<Packed, PlanError> {
    let packing = pack_from_root(&directed(graph), root, preference).map_err(too_fine)?;
    Ok(packed(graph, collective, &packing, transport))
}

fn from_every_root(
    graph: &LinkGraph,
    collective: Collective,
    transport: ChannelTransport,
    preference: Preference,
) -> Result<Packed, PlanError> {
    let packing = pack_from_every_root(&directed(graph), preference).map_err(too_fine)?;
    Ok(packed(graph, collective, &packing, transport))
}

/// Returns trees of one root that carry an all-reduce to it and back. It gives no bound for them:
/// the two directions share links as the trees happen to lie.
pub(super) fn to_root_and_back(
    graph: &LinkGraph,
    root: usize,
    transport: ChannelTransport,
    preference: Preference,
) -> Result<Packed, PlanError> {
    from_root(graph, (Collective::AllReduce, root), transport, preference)
}

fn packed(
    graph: &LinkGraph,
    collective: Collective,
    packing: &ArborescencePacking,
    transport: ChannelTransport,
) -> Packed {
    let (trees, most) = (rooted(graph, packing, transport), share(packing));
    Packed { trees, most, routes: routes(graph, collective, packing) }
}

/// The paths of all arcs, in the directions in which a collective takes them.
fn routes(
    graph: &LinkGraph,
    collective: Collective,
    packing: &ArborescencePacking,
) -> Vec<ChosenRoute> {
    let inward = matches!(
        collective,
        Collective::Reduce { .. } | Collective::Gather { .. } | Collective::ReduceScatter
    );
    let both = collective == Collective::AllReduce;
    let mut found: BTreeMap<(usize, usize), BTreeMap<Vec<usize>, u64>> = BTreeMap::new();
    for arc in &packing.logical_arcs {
        for route in &arc.routes {
            let mut devices: Vec<usize> = route.path.iter().map(|at| graph.devices[*at]).collect();
            let mut add = |ends, devices: Vec<usize>| {
                *found.entry(ends).or_default().entry(devices).or_default() += route.units;
            };
            if !inward {
                add((arc.from, arc.to), devices.clone());
            }
            if inward || both {
                devices.reverse();
                add((arc.to, arc.from), devices);
            }
        }
    }
    let path = |(devices, units)| ChosenPath { devices, units };
    let route = |((from, to), paths): ((usize, usize), BTreeMap<Vec<usize>, u64>)| ChosenRoute {
        from,
        to,
        paths: paths.into_iter().map(path).collect(),
    };
    found.into_iter().map(route).collect()
}

fn directed(graph: &LinkGraph) -> DirectedGraph {
    let both_ways =
        |(a, b, capacity): &(usize, usize, u64)| [(*a, *b, *capacity), (*b, *a, *capacity)];
    DirectedGraph {
        vertices: graph.devices.len(),
        terminals: (0..graph.gpus).collect(),
        arcs: graph.links.iter().flat_map(both_ways).collect(),
    }
}

fn share(packing: &ArborescencePacking) -> f64 {
    packing.rate.numerator as f64 / packing.rate.denominator as f64
}

/// A link graph is connected, full duplex and has at least two GPUs. So only the numbers can be the
/// cause.
fn too_fine(error: ArborescenceError) -> PlanError {
    debug_assert_eq!(error, ArborescenceError::TooLarge);
    PlanError::TooFine
}

/// Returns the packing's trees with as many chunks for every root.
fn rooted(
    graph: &LinkGraph,
    packing: &ArborescencePacking,
    transport: ChannelTransport,
) -> Vec<RootedTree> {
    let of_one_root = |trees: &[Arborescence]| -> Vec<u128> {
        trees.iter().map(|tree| u128::from(tree.weight)).collect()
    };
    let groups: Vec<_> = packing.trees.chunk_by(|a, b| a.root == b.root).map(of_one_root).collect();
    let chunks = chunks_of(&groups).into_iter().flatten();
    let tree = |(tree, chunks): (&Arborescence, u32)| {
        let mut parent = vec![None; graph.gpus];
        for (from, to) in &tree.arcs {
            parent[*to] = Some(*from);
        }
        RootedTree { parent, chunks, channel: Channel::over(transport) }
    };
    packing.trees.iter().zip(chunks).map(tree).collect()
}

/// The parent of every vertex of a tree that hangs from `root`.
fn parents(vertices: usize, edges: &[(usize, usize)], root: usize) -> Vec<Option<usize>> {
    let mut parent = vec![None; vertices];
    let mut reached = vec![root];
    let mut next = 0;
    while let Some(at) = reached.get(next).copied() {
        next += 1;
        for (a, b) in edges {
            for (from, to) in [(*a, *b), (*b, *a)] {
                if from == at && Some(to) != parent[at] {
                    parent[to] = Some(at);
                    reached.push(to);
                }
            }
        }
    }
    parent
}
