//! Cuts an all-reduce across servers into partitions, with a root and a tree on each.
//!
//! Every server packs trees on its own links: NVLink where it joins the server's GPUs, else PCIe.
//! The data is cut wherever some server changes its tree or its root. The roots of a server follow
//! one another. GPUs with other network interfaces near them take equal parts, and those with the
//! same ones share theirs. So every interface carries as much. A server of fewer GPUs has each of
//! them as root for longer. Behind NVSwitches trees keep the roots that they are packed from, and
//! every GPU is root for an equal part.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::ground::{Ground, choose_links};
use super::packing;
use super::planner::{Planner, RingBound};
use super::rate::steady_rate;
use super::{Links, Plan, PlanError, Question};
use crate::collectives::nccl::baselines::by_server;
use crate::collectives::planners::link_graph::LinkClass;
use crate::collectives::planners::lowering::{
    LocalTree, Partition, RootedTree, schedule_of_partitions,
};
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::{Channel, ChannelTransport, Protocol};
use crate::diagnostic::Registered;
use crate::graph::arborescences::Preference;
use crate::graph::greatest_common_divisor;
use crate::network::{RouteClass, Routes};
use crate::system::Wiring;
use crate::system::views::wiring::WiredId;

/// Limits the cuts of the data that keep every share exact.
const MOST_PARTS: u128 = 4_096;

/// In how many parts the data is cut where exact shares would need more.
const ROUNDED_PARTS: u128 = 1_024;

/// Holds one server's GPUs and trees.
struct ServerTrees {
    /// Its ranks, each with the weight that it has as a root.
    roots: Vec<(usize, u32)>,
    /// Its trees, each with its weight; none where there is one GPU.
    trees: Vec<(LocalTree, u32)>,
    /// Whether its trees keep their roots: those that are packed from every root.
    rooted: bool,
}

/// Names [`ThreePhase`].
const NAME: &str = "three-phase";

/// Reduces on each server, exchanges between them and sends out on each (Blink).
#[derive(Debug)]
pub struct ThreePhase;

impl Registered for ThreePhase {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl Planner for ThreePhase {
    fn description(&self) -> &'static str {
        "Blink across servers: reduced on each, exchanged, sent out on each"
    }

    /// Blink copies with CUDA's own transfers.
    fn protocols(&self) -> &'static [Protocol] {
        &[Protocol::Simple]
    }

    fn plan(&self, question: &Question<'_>) -> Result<Plan, PlanError> {
        question.ground(&mut Vec::new())?;
        phases(question)
    }

    fn is_quick(&self) -> bool {
        true
    }

    /// The ring of more than two servers has a bound.
    fn hops_within(&self, bound: RingBound) -> Option<u64> {
        (bound.servers > 2).then_some(0)
    }
}

/// Plans an all-reduce on GPUs that have been checked.
pub(super) fn phases(question: &Question<'_>) -> Result<Plan, PlanError> {
    let Question { gpus, collective, links, .. } = *question;
    let wiring = question.wiring();
    if collective != Collective::AllReduce {
        return Err(PlanError::Unsupported {
            algorithm: NAME,
            collective: collective.name(),
            remedy: "packing, nccl-ring".into(),
        });
    }
    let mut notes = Vec::new();
    let groups = by_server(wiring, gpus);
    if groups.len() < 2 {
        return Err(PlanError::OneServer);
    }
    let roots = by_interfaces(wiring, gpus, &groups);
    let servers = roots.into_iter().map(|roots| server(wiring, gpus, roots, links, &mut notes));
    let servers: Vec<ServerTrees> = servers.collect::<Result<_, _>>()?;
    let partitions = partitions(gpus.len(), &servers, &mut notes);
    let name = format!("{NAME}-{}", collective.name());
    let schedule = schedule_of_partitions(&name, gpus, &partitions);
    let rate = steady_rate(&schedule, wiring)?;
    let (algorithm, links) = (Cow::Borrowed(NAME), LinkClass::Network);
    Ok(Plan { schedule, algorithm, links, trees: Vec::new(), rate, optimum: None, notes })
}

fn server(
    wiring: &Wiring,
    gpus: &[usize],
    roots: Vec<(usize, u32)>,
    links: Links,
    notes: &mut Vec<String>,
) -> Result<ServerTrees, PlanError> {
    let ranks: Vec<usize> = roots.iter().map(|(rank, _)| *rank).collect();
    if ranks.len() < 2 {
        return Ok(ServerTrees { roots, trees: Vec::new(), rooted: true });
    }
    let own: Vec<usize> = ranks.iter().map(|rank| gpus[*rank]).collect();
    let Ground { class, graph, .. } = choose_links(wiring, &own, links, notes)?;
    let transport = class.transport();
    let whole = Collective::AllReduce;
    let trees = packing::pack(&graph, whole, transport, Preference::FewTrees)?.trees;
    let weight = |rank: usize| roots.iter().find(|(own, _)| *own == rank).map_or(0, |it| it.1);
    let in_job = |tree: RootedTree| {
        let mut parent = vec![None; gpus.len()];
        for (at, above) in tree.parent.iter().enumerate() {
            parent[ranks[at]] = above.map(|above| ranks[above]);
        }
        let root = ranks[tree.root()];
        // A tree that keeps its root counts as much as what the root sends.
        let chunks = tree.chunks * if graph.has_switches() { weight(root) } else { 1 };
        (LocalTree { root, parent, channel: tree.channel }, chunks)
    };
    let trees = trees.into_iter().map(in_job).filter(|(_, chunks)| *chunks > 0).collect();
    Ok(ServerTrees { roots, trees, rooted: graph.has_switches() })
}

impl ServerTrees {
    /// Returns where the server changes its tree or its root, as parts of the data.
    fn cuts(&self) -> Vec<(u128, u128)> {
        let ends = |weights: Vec<u32>| {
            let whole = total(weights.iter().copied());
            let end = |end: &mut u128, weight| {
                *end += u128::from(weight);
                Some((*end, whole))
            };
            weights.into_iter().scan(0, end).collect::<Vec<_>>()
        };
        let trees = ends(self.trees.iter().map(|(_, weight)| *weight).collect());
        let roots = ends(self.roots.iter().map(|(_, weight)| *weight).collect());
        if self.rooted { [trees, vec![(1, 1)]].concat() } else { [trees, roots].concat() }
    }

    /// Returns the tree for the data at `at` of `parts`.
    fn tree_at(&self, at: u128, parts: u128, ranks: usize) -> LocalTree {
        let Some(tree) = turn(&self.trees, at, parts) else {
            let channel = Channel::over(ChannelTransport::Best);
            return LocalTree { root: self.roots[0].0, parent: vec![None; ranks], channel };
        };
        let root = match turn(&self.roots, at, parts) {
            Some(root) if !self.rooted => *root,
            _ => return tree.clone(),
        };
        LocalTree { root, parent: hung_from(root, &tree.parent), channel: tree.channel.clone() }
    }
}

/// Returns the ranks of each server with their weights as roots. Every set of network interfaces
/// that is nearest to some rank has the same weight. The ranks that it is nearest to share that
/// weight equally.
pub(super) fn roots(
    wiring: &Wiring,
    gpus: &[usize],
    groups: &[Vec<usize>],
) -> Vec<Vec<(usize, u32)>> {
    let weighted = |(ranks, near): (&Vec<usize>, Vec<Vec<WiredId>>)| {
        let alike = |set: &Vec<WiredId>| near.iter().filter(|other| *other == set).count() as u32;
        let shared: Vec<u32> = near.iter().map(alike).collect();
        let common = shared.iter().fold(1, |all, count| common_multiple(all, *count));
        ranks.iter().zip(shared).map(|(rank, count)| (*rank, common / count)).collect()
    };
    groups.iter().zip(nearest(wiring, gpus, groups)).map(weighted).collect()
}

/// As [`roots`], by the interfaces: each is that of the ranks that have the fewest beside it, in equal parts. A rank whose
/// nearest interfaces are all others' own is no root.
fn by_interfaces(wiring: &Wiring, gpus: &[usize], groups: &[Vec<usize>]) -> Vec<Vec<(usize, u32)>> {
    let weighted = |(ranks, near): (&Vec<usize>, Vec<Vec<WiredId>>)| {
        let all: BTreeSet<WiredId> = near.iter().flatten().copied().collect();
        let near = &near;
        let owners = |nic: WiredId| -> Vec<usize> {
            let having = || (0..ranks.len()).filter(move |at| near[*at].contains(&nic));
            let fewest = having().map(|at| near[at].len()).min();
            having().filter(|at| Some(near[*at].len()) == fewest).collect()
        };
        let owned: Vec<Vec<usize>> = all.into_iter().map(owners).collect();
        let common = owned.iter().fold(1, |all, own| common_multiple(all, own.len() as u32));
        let mut weights = vec![0; ranks.len()];
        for own in &owned {
            own.iter().for_each(|at| weights[*at] += common / own.len() as u32);
        }
        if owned.is_empty() {
            weights.fill(1);
        }
        let unit = weights.iter().fold(0, |unit, weight| greatest_common_divisor(unit, *weight));
        ranks.iter().zip(weights).map(|(rank, weight)| (*rank, weight / unit)).collect()
    };
    let weights: Vec<Vec<(usize, u32)>> =
        groups.iter().zip(nearest(wiring, gpus, groups)).map(weighted).collect();
    like_the_least(wiring, gpus, weights)
}

/// Gives every server the roots of the one that has the fewest, where it has these, too. Then it is all the same how many
/// servers lack an interface.
fn like_the_least(
    wiring: &Wiring,
    gpus: &[usize],
    mut weights: Vec<Vec<(usize, u32)>>,
) -> Vec<Vec<(usize, u32)>> {
    let place = |rank: usize| wiring.in_template(gpus[rank]).1;
    let count = |roots: &&Vec<(usize, u32)>| roots.iter().filter(|(_, weight)| *weight > 0).count();
    let Some(least) = weights.iter().min_by_key(count) else { return weights };
    let model: Vec<(usize, u32)> =
        least.iter().map(|(rank, weight)| (place(*rank), *weight)).collect();
    let fewest = count(&least);
    for roots in weights.iter_mut().filter(|roots| count(&&**roots) > fewest) {
        let of_model = |rank: usize| model.iter().find(|(known, _)| *known == place(rank));
        let adopted: Option<Vec<(usize, u32)>> = roots
            .iter()
            .map(|(rank, weight)| {
                let (_, wanted) = of_model(*rank)?;
                (*weight > 0 || *wanted == 0).then_some((*rank, *wanted))
            })
            .collect();
        if let Some(adopted) = adopted.filter(|adopted| adopted.len() == model.len()) {
            *roots = adopted;
        }
    }
    weights
}

fn common_multiple(a: u32, b: u32) -> u32 {
    a / greatest_common_divisor(a, b) * b
}

/// Lists the interfaces nearest to each rank, by server.
fn nearest(wiring: &Wiring, gpus: &[usize], groups: &[Vec<usize>]) -> Vec<Vec<Vec<WiredId>>> {
    let routes = Routes::at_peak(wiring);
    let device = |rank: usize| wiring.gpu(gpus[rank]);
    let interfaces = |from: usize, to: usize| -> Vec<WiredId> {
        let route = routes.route(device(from), device(to), RouteClass::Network);
        let uses = route.into_iter().flat_map(|route| route.uses);
        let wires = uses.map(|(resource, _)| routes.wire(resource));
        let own = |id: &WiredId| wiring.devices()[*id].server == wiring.server_of(gpus[from]);
        wires.filter(|(wire, _)| wire.is_network()).map(|(_, id)| id).filter(own).collect()
    };
    let of_server = |(at, ranks): (usize, &Vec<usize>)| {
        let other = groups[(at + 1) % groups.len()][0];
        ranks.iter().map(|rank| interfaces(*rank, other)).collect()
    };
    groups.iter().enumerate().map(of_server).collect()
}

fn total(weights: impl Iterator<Item = u32>) -> u128 {
    weights.map(u128::from).sum()
}

/// Whose turn it is at `at` of `parts`, when all follow one another by their weights.
fn turn<T>(all: &[(T, u32)], at: u128, parts: u128) -> Option<&T> {
    let position = at * total(all.iter().map(|(_, weight)| *weight));
    let mut end = 0;
    let found = all.iter().find(|(_, weight)| {
        end += u128::from(*weight);
        position < end * parts
    });
    found.map(|(item, _)| item)
}

/// The same tree with another root: the way from there to the old one is turned round.
fn hung_from(root: usize, parent: &[Option<usize>]) -> Vec<Option<usize>> {
    let mut turned = parent.to_vec();
    turned[root] = None;
    let (mut below, mut next) = (root, parent[root]);
    while let Some(at) = next {
        turned[at] = Some(below);
        (below, next) = (at, parent[at]);
    }
    turned
}

/// The common refinement of every server's cuts, as runs of whole chunks.
fn partitions(ranks: usize, servers: &[ServerTrees], notes: &mut Vec<String>) -> Vec<Partition> {
    let cuts: Vec<(u128, u128)> = servers.iter().flat_map(ServerTrees::cuts).collect();
    let exact = cuts.iter().try_fold(1_u128, |parts, (part, whole)| {
        let unit = whole / greatest_common_divisor(*part, *whole);
        let parts = parts / greatest_common_divisor(parts, unit) * unit;
        (parts <= MOST_PARTS).then_some(parts)
    });
    if exact.is_none() {
        notes.push(format!("shares are rounded to {ROUNDED_PARTS} parts of the data"));
    }
    let parts = exact.unwrap_or(ROUNDED_PARTS);
    let mut ends: Vec<u128> =
        cuts.iter().map(|(part, whole)| (part * parts + whole / 2) / whole).collect();
    ends.sort_unstable();
    ends.dedup();
    ends.retain(|end| *end > 0);
    // A ring of roots needs one run for each of them.
    let fold = if servers.len() > 2 { servers.len() as u128 } else { 1 };
    let starts = [0].into_iter().chain(ends.iter().copied());
    let partition = |(start, end): (u128, &u128)| Partition {
        servers: servers.iter().map(|server| server.tree_at(start, parts, ranks)).collect(),
        chunks: ((end - start) * fold) as u32,
    };
    starts.zip(&ends).map(partition).collect()
}
